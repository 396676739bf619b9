"""Jumps in keypoints: how far both feet are over the floor, where a recording tells how high points are.

Estimators put the hips in the origin, so a jump straight up looks like legs that are bent. In the picture both feet
rise and fall within a second, and the body falls as bodies do. That tells a jump from a squat, from a step towards
the camera and from a camera that moves.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vivant_build.mime.bad_frames import find_runs
from vivant_build.mime.keypoints import Keypoints
from vivant_build.mime.rotation import Array

SURE = 0.3
"""Confidence below which a point counts as not seen."""
_FEET = ("ankle", "heel", "foot_index")
_BODY = ("hip", "shoulder")
_SMOOTH = 0.03
"""Seconds: the width of the smoothing, short beside a flight."""
_LONGEST, _SHORTEST = 1.1, 0.12
"""Seconds that nobody stays in the air, and below which nobody has left the floor."""
_OFF, _PEAK, _TIPTOE = 0.02, 0.07, 0.12
"""Metres over the floor from which feet have left it, that a jump reaches at least, and that ankles do in one."""
_WIDER = 0.2
"""Seconds at each end of a flight in which feet may be below the higher of the two places they stand in."""
_GRAVITY = 9.81
_FALL = (0.55, 3.3)
"""Shares of gravity with which a body may seem to fall: sizes are estimated, and drawn figures fall faster."""
_SEEN = 0.5
"""Share of the frames in which a point is seen at least."""
_ENOUGH = 8
"""Points by which a body's size in the picture is told."""
_STEADY = 0.4
"""Seconds over which a body's size in the picture is smoothed: it changes as fast as people come nearer."""


def add_heights(keypoints: Keypoints, picture: Array) -> Keypoints:
    """World landmarks with their heights, by where in the picture they are.

    Args:
        keypoints: In metres around the hips.
        picture: How far down in the picture points are (frames, points), in pixels or shares; NaN if not known.
    """
    known = np.isfinite(picture + keypoints.positions[..., 1]) & (keypoints.confidence >= SURE)
    down, below = (np.where(known, values, np.nan) for values in (picture, keypoints.positions[..., 1]))
    usable = known.sum(axis=1) >= _ENOUGH
    if not usable.any():
        return keypoints
    # The slope of the line through a frame's points is the length of a metre in the picture.
    aside, away = (
        values[usable] - np.nanmean(values[usable], axis=1, keepdims=True) for values in (down, below)
    )
    size = np.nansum(aside * away, axis=1) / np.maximum(np.nansum(away**2, axis=1), 1e-9)
    size = np.maximum(size, 0.2 * np.median(size))
    if np.median(size) <= 0:
        return keypoints
    metre = _smooth(_fill(size, usable), _STEADY * keypoints.fps)
    level = float(np.median(np.nanmax(down[usable], axis=1)))
    return replace(keypoints, heights=(level - down) / metre[:, None])


def find_jumps(heights: Array, names: tuple[str, ...], fps: float) -> tuple[Array, int]:
    """Metres by which the lower foot is over the floor in each frame, 0 where it stands, and how many jumps there are.

    Args:
        heights: Of the points (frames, points) in metres over any level; NaN where one is not seen.
        names: The points.
        fps: Frames a second.
    """
    none = np.zeros(len(heights))
    feet, body = (
        [
            _fill(heights[:, names.index(point)], np.isfinite(heights[:, names.index(point)]))
            for part in parts
            for point in (f"left_{part}", f"right_{part}")
            if point in names and np.isfinite(heights[:, names.index(point)]).mean() > _SEEN
        ]
        for parts in (_FEET, _BODY)
    )
    if len(feet) < 2 or not body:
        return none, 0
    lower = _smooth(np.min(feet, axis=0), _SMOOTH * fps)
    middle = np.mean(body, axis=0)
    # What is lower before and after within the time of a flight is the floor; a floor that comes nearer stays one.
    reach = max(1, round(_LONGEST * fps / 2))
    floor = _highest(-_highest(-lower, reach), reach)
    over = lower - floor
    over = np.maximum(over - np.quantile(over, 0.2), 0.0)
    lift, jumps = none, 0
    least = _PEAK if {"left_foot_index", "right_foot_index"} <= set(names) else _TIPTOE
    for first, last in find_runs(over > _OFF):
        start, end = _widen(lower, first, last, round(_WIDER * fps))
        # Who lands nearer to the camera lands lower in the picture: the floor leads from one stand to the other.
        before = lower[start] if start else lower[end - 1]
        after = lower[end - 1] if end < len(lower) else before
        flight = lower[start:end] - np.linspace(before, after, end - start)
        if flight.max() < least or not _SHORTEST <= (last - first) / fps <= _LONGEST or last - first < 4:
            continue
        fall = -2 * np.polyfit(np.arange(last - first) / fps, middle[first:last], 2)[0] / _GRAVITY
        if _FALL[0] < fall < _FALL[1]:
            lift[start:end] = np.maximum(flight, 0.0)
            jumps += 1
    return lift, jumps


def _widen(lower: Array, start: int, end: int, most: int) -> tuple[int, int]:
    """A flight with the frames before and after it in which the feet still rise or fall, `most` of them at each end."""
    for _ in range(most):
        start -= int(start > 0 and lower[start - 1] < lower[start])
        end += int(end < len(lower) and lower[end] < lower[end - 1])
    return start, end


def _fill(values: Array, known: Array) -> Array:
    """Values at all frames; those that are not known lie between their neighbours."""
    times = np.arange(len(known))
    return np.interp(times, times[known], values[known] if len(values) == len(known) else values)


def _smooth(values: Array, width: float) -> Array:
    reach = max(1, round(3 * width))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / max(width, 1e-6)) ** 2)
    return np.convolve(np.pad(values, reach, mode="edge"), kernel / kernel.sum(), mode="valid")


def _highest(values: Array, reach: int) -> Array:
    """The largest value within `reach` frames of each."""
    padded = np.pad(values, reach, mode="edge")
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1).max(axis=-1))
