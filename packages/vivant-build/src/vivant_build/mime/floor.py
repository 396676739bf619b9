"""The floor under a recording: levelled where a studio's was not, and put under the feet that stand on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vivant_build.mime.motion import Motion
from vivant_build.mime.rotation import Array
from vivant_build.mime.skeleton import ANKLE_HEIGHT, INDEX, OFFSETS, Skeleton, forward

_SELDOM = 0.02
"""Share of the frames in which a foot may be below the floor: a toe that pushes off must not make all others float."""
_STILL = 0.25
"""Metres a second over the floor below which a foot stands."""
_TILT = (0.004, 0.035)
"""Slopes that are a studio's fault: less is not seen, more is a ramp (2°)."""
_EVEN, _DROP, _WAY = 0.025, 0.03, 1.0
"""Metres by which standing feet may be off a slope, that the floor must rise, and over how long a way."""
_WIDTH = 0.15
"""Metres of the way walked that tell nothing of a slope."""


def find_floor(motion: Motion) -> tuple[Motion, list[str]]:
    """The motion on the floor, in the middle of the stage, and a note if the floor was levelled."""
    positions, _ = forward(Skeleton(), motion.root, motion.rotations)
    soles, places = _find_soles(positions)
    slope = _find_slope(soles, places, motion.fps)
    root = motion.root.copy()
    rise = root[:, [0, 2]] @ slope
    root[:, 1] -= rise
    lowest = soles.min(axis=1) - rise
    middle = (root.min(axis=0) + root.max(axis=0)) / 2
    root -= [middle[0], float(np.quantile(lowest, _SELDOM, method="lower")), middle[2]]
    tilt = float(np.degrees(np.arctan(np.linalg.norm(slope))))
    notes = [f"the floor rises by {tilt:.1f}° along the way: levelled"] if tilt else []
    return replace(motion, root=root), notes


def _find_soles(positions: Array) -> tuple[Array, Array]:
    """Heights of both soles (frames, 2), by ankle or ball, and where over the floor they are (frames, 2, 2)."""
    ankles, balls = (
        positions[:, [INDEX["Left" + joint], INDEX["Right" + joint]]] for joint in ("Foot", "Toe")
    )
    ball = ANKLE_HEIGHT + OFFSETS[INDEX["LeftToe"], 1]
    return np.minimum(ankles[..., 1] - ANKLE_HEIGHT, balls[..., 1] - ball), balls[..., [0, 2]]


def _find_slope(soles: Array, places: Array, fps: float) -> Array:
    """How much the floor rises with each metre along X and Z; zeros unless all who stand do so on one gentle slope."""
    flat = np.zeros(2)
    if len(soles) < 3:
        return flat
    speed = np.linalg.norm(np.gradient(places, axis=0), axis=-1) * fps
    standing = (speed < _STILL) & (soles <= soles.min(axis=1, keepdims=True) + 0.02)
    where, height = places[standing], soles[standing]
    if len(height) < 3:
        return flat
    way = where - where.mean(axis=0)
    # Beside a straight way nothing tells the slope: what is narrow is taken for level.
    narrow = np.eye(2) * len(way) * _WIDTH**2
    slope = np.linalg.solve(way.T @ way + narrow, way.T @ (height - height.mean()))
    off = height - height.mean() - way @ slope
    steep = float(np.linalg.norm(slope))
    gentle, drop = _TILT[0] < steep < _TILT[1], float(np.ptp(way @ slope))
    if gentle and drop > max(_DROP, _WAY * steep) and np.quantile(np.abs(off), 0.9) < _EVEN:
        return np.asarray(slope)
    return flat
