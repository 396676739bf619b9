"""Options of a run that contradict each other, or need a package that isn't installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vivant.core.errors import UsageError
from vivant.core.optional_packages import require_package
from vivant.core.types import FramePolicy

if TYPE_CHECKING:
    from vivant.engine.options import RunOptions


def check_combinations(options: RunOptions) -> None:
    """Raise UsageError if options contradict each other, or need a package that isn't installed."""
    if sum(value is not None for value in (options.frames, options.fps, options.every)) > 1:
        raise UsageError("Choose one of --frames, --fps and --every")
    if options.max_frames is not None and options.fps is None and options.every is None:
        raise UsageError("--max-frames goes with --fps or --every; --frames N is already a number")
    if options.every_start is not None and options.every is None:
        raise UsageError("--every-start goes with --every K")
    details = (options.longest_side, options.spread, options.jpeg_quality)
    if isinstance(options.frames, FramePolicy) and any(value is not None for value in details):
        raise UsageError("Give longest side, spread and quality as part of the frame policy")
    if options.jpeg_quality is not None and options.jpeg_quality > 100:
        raise UsageError(f"--jpeg-quality {options.jpeg_quality}: must be at most 100")
    if options.fps is not None and options.fps <= 0:
        raise UsageError(f"--fps {options.fps}: must be above 0")
    if options.no_thinking and (options.effort is not None or options.thinking_tokens is not None):
        raise UsageError("--no-thinking goes without --effort and --thinking-tokens")
    if options.address is not None and options.executor != "ray":
        raise UsageError("--address is that of a Ray cluster: add --executor ray")
    if options.executor == "ray":
        require_package("ray", "ray", "--executor ray")
    if options.until is not None and not options.until > 0:  # nan too
        raise UsageError(f"--until {options.until:g}: must be above 0")
    if options.subset and (options.limit is not None or options.where or stops_early(options)):
        raise UsageError("--subset names the samples to ask: leave out --limit, --where and --until")


def stops_early(options: RunOptions) -> bool:
    """Whether the run may end before everything is asked."""
    return options.until is not None or bool(options.until_better_than) or options.until_rank
