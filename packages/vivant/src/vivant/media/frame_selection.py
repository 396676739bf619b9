"""Which frames a policy shows: pure functions over the times of a video's frames."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from vivant.core.errors import MediaError, UsageError
from vivant.core.randomness import shuffled_indices
from vivant.core.types import Control, FramePolicy, FrameSpread

# Times in seconds are decimal approximations of a stream's own ticks: 0.7 must mean the frame at 21/30.
_TOLERANCE = Fraction(1, 1_000_000)


class Timeline(Struct, frozen=True, eq=False):
    """When each frame is shown: timestamps in ascending order, in ticks of `base` seconds."""

    pts: Sequence[int]
    base: Fraction
    origin: int
    """The timestamp of second zero."""
    end: int
    """The timestamp at which the last frame ceases to be shown."""

    def time(self, index: int) -> float:
        """Seconds into the video at which frame `index` appears."""
        return float((self.pts[index] - self.origin) * self.base)

    def ticks(self, seconds: float | Fraction) -> Fraction:
        """The (fractional) timestamp of a time in seconds."""
        return self.origin + Fraction(seconds) / self.base

    @property
    def duration(self) -> float:
        """Seconds from zero to the end of the last frame."""
        return float((self.end - self.origin) * self.base)


class FrameSelection(Struct, frozen=True):
    """A policy as it applies to one use of a video: the part's own limits and the control included."""

    policy: FramePolicy
    start: float | None = None
    end: float | None = None
    middle: bool = False
    """Only the middle frame of the window (control `one-frame`)."""

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """Start and end that the part and the policy set together: the later start, the earlier end."""
        starts = [value for value in (self.start, self.policy.start) if value is not None]
        ends = [value for value in (self.end, self.policy.end) if value is not None]
        return max(starts, default=None), min(ends, default=None)


def check_policy(policy: FramePolicy) -> None:
    """Refuse a policy that no video could satisfy."""

    def refuse(setting: str, value: object, need: str) -> None:
        raise UsageError(f"Frame policy: {setting} is {value}, must be {need}")

    if policy.count < 1:
        refuse("count", policy.count, "at least 1")
    if not (policy.fps > 0 and math.isfinite(policy.fps)):
        refuse("fps", policy.fps, "above 0")
    if policy.every < 1:
        refuse("every", policy.every, "at least 1")
    if policy.cap is not None and policy.cap < 1:
        refuse("cap", policy.cap, "at least 1")
    if policy.longest_side is not None and policy.longest_side < 1:
        refuse("longest_side", policy.longest_side, "at least 1")
    if not 1 <= policy.quality <= 100:
        refuse("quality", policy.quality, "between 1 and 100")
    for name, value in (("start", policy.start), ("end", policy.end)):
        if value is not None and not (value >= 0 and math.isfinite(value)):
            refuse(name, value, "a time in seconds from 0")


def spread_evenly(available: int, count: int) -> list[int]:
    """`count` indices from the first to the last of `available`, evenly; each one once where there are fewer.

    The same as `numpy.linspace(0, available - 1, count)` truncated to integers, to the last bit.
    """
    if available <= count:
        return list(range(available))
    if count == 1:
        return [0]
    step = (available - 1) / (count - 1)
    return [int(i * step) for i in range(count - 1)] + [available - 1]


def spread_by(rule: FrameSpread, available: int, count: int) -> list[int]:
    """`count` of `available` indices by a rule; each one once where there are fewer.

    `middles` takes int((i + 1/2) · available / count), so that one frame is the middle one (of two, the later).
    `segments` takes int(part / 2 + round(part · i)) with part = (available - 1) / count, halves to even.
    """
    if rule == "ends" or available <= count:
        return spread_evenly(available, count)
    if rule == "middles":
        gap = available / count
        return [int(i * gap + gap / 2) for i in range(count)]
    part = (available - 1) / count
    return sorted({int(part / 2 + round(part * i)) for i in range(count)})


def select_window(timeline: Timeline, want: FrameSelection, name: str = "the video") -> range:
    """Indices of the frames shown between start and end: from the one on screen at `start` up to `end`.

    The part's limits and the policy's both hold. Raises MediaError where nothing is left between them.
    """
    start, end = want.limits
    first, stop = 0, len(timeline.pts)
    if start is not None:
        if end is not None and start > end:
            raise MediaError(f"{name}: the part starts at {start:g} s, after its end at {end:g} s")
        if timeline.ticks(start) >= timeline.end:
            raise MediaError(
                f"{name}: the part starts at {start:g} s, but the video ends at {timeline.duration:g} s"
            )
        first = max(
            bisect_right(timeline.pts, math.floor(timeline.ticks(Fraction(start) + _TOLERANCE))) - 1, 0
        )
    if end is not None:
        stop = bisect_left(timeline.pts, math.ceil(timeline.ticks(Fraction(end) - _TOLERANCE)))
    return range(first, max(stop, first + 1))


def select_frames(timeline: Timeline, want: FrameSelection, name: str = "the video") -> list[int]:
    """Indices of the frames that a policy shows, ascending, each one once."""
    frames = select_window(timeline, want, name)
    policy = want.policy
    if want.middle:
        return [frames[(len(frames) - 1) // 2]]
    if policy.select == "count":
        return [frames[i] for i in spread_by(policy.spread, len(frames), policy.count)]
    if policy.select == "every":
        first = policy.every - 1 if policy.every_start == "kth" else 0
        chosen = list(frames[first :: policy.every])
        if not chosen:
            raise MediaError(
                f"{name} has {len(frames)} frames, and each {policy.every}th, counted from 1, is none of them; "
                "leave out --every-start kth, or take a smaller --every"
            )
    elif policy.select == "fps":
        chosen = _at_rate(timeline, frames, policy.fps)
    else:
        chosen = list(frames)
    if policy.cap is not None:
        chosen = [chosen[i] for i in spread_by(policy.spread, len(chosen), policy.cap)]
    return chosen


def _at_rate(timeline: Timeline, frames: range, fps: float) -> list[int]:
    """The frame on screen at each tick of a clock that starts with the window's first frame."""
    pts = timeline.pts
    interval = 1 / (Fraction(fps) * timeline.base)
    tolerance = _TOLERANCE / timeline.base
    start = pts[frames[0]]
    stop = pts[frames.stop] if frames.stop < len(pts) else timeline.end
    chosen: list[int] = []
    tick = 0
    while (moment := start + tick * interval + tolerance) < stop or not chosen:
        frame = bisect_right(pts, math.floor(moment), frames.start, frames.stop) - 1
        chosen.append(frame)
        if frame + 1 == frames.stop:
            break
        # Ticks at which the same frame is still on screen are passed over.
        tick = math.ceil((pts[frame + 1] - start - tolerance) / interval)
    return chosen


def order_frames(length: int, control: Control, seed: int, name: str) -> tuple[int, ...]:
    """The order in which `length` frames (or pictures) are shown under a control."""
    if control == "shuffled":
        return shuffled_indices(length, seed, "frames", name)
    if control == "reversed":
        return tuple(range(length - 1, -1, -1))
    return tuple(range(length))
