"""What an estimator gets wrong in single frames, mended: points unseen, limbs exchanged, trembling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vivant_build.mime.rotation import Array

_SMOOTH = 0.06
"""Seconds: the width of the smoothing."""
_LIMBS = {
    "legs": ("knee", "ankle", "heel", "foot_index"),
    "arms": ("elbow", "wrist", "pinky", "index", "thumb"),
}
_TRUST = 1.5
"""Metres a second that exchanged limbs must save in movement for as long as they count as exchanged."""


def fill_unseen(values: Array, sure: NDArray[np.bool_]) -> Array:
    """Values with what is not sure drawn straight between its neighbours."""
    times = np.arange(len(values))
    return np.stack([np.interp(times, times[sure], values[sure, axis]) for axis in range(3)], axis=-1)


def smooth_points(values: Array, weights: Array, fps: float) -> Array:
    """Values without trembling; a frame counts by its weight."""
    width = max(1, round(3 * _SMOOTH * fps))
    kernel = np.exp(-0.5 * (np.arange(-width, width + 1) / max(_SMOOTH * fps, 1e-6)) ** 2)
    pad = ((width, width),)
    total = np.convolve(np.pad(weights, pad, mode="edge"), kernel, mode="valid")
    padded = np.pad(values * weights[:, None], (*pad, (0, 0)), mode="edge")
    return np.stack(
        [np.convolve(padded[:, axis], kernel, mode="valid") / total for axis in range(3)], axis=-1
    )


def restore_sides(points: dict[str, Array], weights: dict[str, Array], fps: float, scale: float) -> list[str]:
    """Put legs or arms back that an estimator exchanged for some frames, left for right; say how many.

    Of all ways to exchange a limb's sides frame by frame, the one with the least movement is taken, where a frame
    that is exchanged costs `_TRUST`.
    """
    notes = []
    for limb, names in _LIMBS.items():
        left = ["left_" + name for name in names if {"left_" + name, "right_" + name} <= points.keys()]
        if len(left) < 2:
            continue
        right = [name.replace("left_", "right_") for name in left]
        # Hands and feet tremble by themselves: elbows, wrists, knees and ankles tell.
        one, other = (np.stack([points[name] for name in side[:2]], axis=1) for side in (left, right))
        exchanged = _find_exchanged(one, other, _TRUST * scale / fps)
        if not exchanged.any():
            continue
        for table in (points, weights):
            for a, b in zip(left, right, strict=True):
                mask = exchanged if table[a].ndim == 1 else exchanged[:, None]
                table[a], table[b] = np.where(mask, table[b], table[a]), np.where(mask, table[a], table[b])
        count = int(exchanged.sum())
        notes.append(f"left and right {limb} were exchanged in {count} of {len(exchanged)} frames: put back")
    return notes


def _find_exchanged(left: Array, right: Array, price: float) -> NDArray[np.bool_]:
    """Frames whose sides are exchanged: the cheapest path through both states (Viterbi)."""

    def way(start: Array, end: Array) -> Array:
        return np.asarray(np.linalg.norm(end[1:] - start[:-1], axis=-1).sum(axis=1))

    same, crossed = way(left, left) + way(right, right), way(left, right) + way(right, left)
    cost = np.array([0.0, price])
    came = np.empty((len(same), 2), dtype=int)
    for step, (stay, change) in enumerate(zip(same.tolist(), crossed.tolist(), strict=True)):
        ways = cost + np.array([[stay, change], [change, stay]])
        came[step] = np.argmin(ways, axis=1)
        cost = ways.min(axis=1) + np.array([0.0, price])
    states = np.empty(len(left), dtype=int)
    states[-1] = int(np.argmin(cost))
    for step in range(len(came) - 1, -1, -1):
        states[step] = came[step, states[step + 1]]
    return states.astype(bool)
