"""A video that a model is shown: what its processor is told of it, and what the record says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from vivant.core.records import MediaUse
from vivant.core.types import Clip, ClipTiming, Picture


def describe_clip(use: MediaUse, clip: Clip, shown_as: Literal["images", "video"]) -> MediaUse:
    """A use with the times, rate and size of the frames that a clip holds."""
    first = clip.frames[0]
    return msgspec.structs.replace(
        use,
        times=list_times(clip.frames),
        shown_as=shown_as,
        fps=round_rate(clip.fps),
        size=(first.width, first.height),
    )


def list_times(pictures: Sequence[Picture]) -> tuple[float, ...]:
    """Times of frames, in their order."""
    return tuple(picture.time for picture in pictures if picture.time is not None)


def round_rate(fps: float | None) -> float | None:
    """A rate as it is sent and recorded."""
    return None if fps is None else float(f"{fps:.5g}")


def frame_metadata(clip: Clip) -> dict[str, Any]:
    """The times of a clip's frames as model processors state them: indices of frames at a constant rate.

    Where the file's own rate is not constant, the rate is a thousand a second, so that the times stay right. Under a
    control that reorders frames, the clock still runs forward: the order is what is tested.
    """
    count = len(clip.frames)
    timing = clip.timing or ClipTiming(1.0, count, float(count))
    times = sorted(list_times(clip.frames)) or [index / timing.rate for index in range(count)]
    rate, total = timing.rate, timing.total
    if any(abs(time * rate - round(time * rate)) > _TOLERANCE for time in times):
        rate, total = 1000.0, round(timing.duration * 1000)
    return {
        "total_num_frames": max(total, count),
        "fps": rate,
        "duration": timing.duration,
        "frames_indices": [round(time * rate) for time in times],
    }


_TOLERANCE = 0.02
"""Of a frame: how far times may be from a constant rate."""
