"""Scan conversion: triangles to samples in numpy, a whole body at once, with a depth test for every sample.

A triangle is cut at the height of its middle corner into two trapezoids, those into rows, the rows into samples. Each
of these steps is a `repeat` for the whole body, so no loop runs over triangles. Four samples make a pixel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]
Window = tuple[int, int, int, int]
"""Left, top, right and bottom."""

_HALF = np.float32(0.5)
_TINY = np.float32(1e-6)
EMPTY = np.int32(2**31 - 1)
"""The key of a sample in which there is nothing."""
_CLOSE = 0.015
"""Metres within which neighbouring samples belong to one surface."""


@dataclass(frozen=True, eq=False)
class Triangles:
    """Triangles as the picture sees them: `x` and `y` (3, n) in samples, `depth` (3, n) in metres."""

    x: Floats
    y: Floats
    depth: Floats

    def slopes(self, value: Floats) -> tuple[Floats, Floats]:
        """How a value at the corners (3, n) changes from one sample to the next, to the right and down."""
        ax, ay = self.x[1] - self.x[0], self.y[1] - self.y[0]
        bx, by = self.x[2] - self.x[0], self.y[2] - self.y[0]
        area = ax * by - bx * ay
        share = np.float32(1.0) / np.where(np.abs(area) < _TINY, _TINY, area)
        a, b = value[1] - value[0], value[2] - value[0]
        return (a * by - b * ay) * share, (b * ax - a * bx) * share


@dataclass(frozen=True, eq=False)
class Nearest:
    """What is nearest in every sample of a window: depth in the upper bits of `keys`, the triangle in the lower."""

    keys: Integers
    """(rows, columns)"""
    bits: int
    close: int
    """Keys that differ by less than this lie within `_CLOSE` of each other."""


def scan(triangles: Triangles, window: Window) -> Nearest:
    """The visible triangle in every sample of a window. Of two equally deep ones the first shows."""
    left, top, right, bottom = window
    wide = right - left
    x, y = _by_height(triangles.x, triangles.y)
    rows = np.clip(np.ceil(y - _HALF), top, bottom).astype(np.int32)
    # Rows: `part` is twice a triangle's number, and one more below its middle corner.
    high = np.diff(rows, axis=0).T.ravel()
    part = np.repeat(np.arange(len(high)), high)
    owner = part >> 1
    row = rows[:2].T.ravel()[part] + _count_within(high)
    middle = row.astype(np.float32) + _HALF
    rise = np.maximum(np.stack([y[1] - y[0], y[2] - y[1]], 1), _TINY)
    short = np.stack([x[1] - x[0], x[2] - x[1]], 1) / rise
    foot = x[:2].T - short * y[:2].T
    long = (x[2] - x[0]) / np.maximum(y[2] - y[0], _TINY)
    one = (x[0] - long * y[0])[owner] + long[owner] * middle
    other = foot.ravel()[part] + short.ravel()[part] * middle
    first = np.clip(np.ceil(np.minimum(one, other) - _HALF), left, right)
    length = np.clip(np.ceil(np.maximum(one, other) - _HALF), left, right) - first
    # Depths, as whole numbers. A triangle seen edge-on is as deep as its corners, however steep it is.
    across, down = triangles.slopes(triangles.depth)
    flat = triangles.depth[0] - across * triangles.x[0] - down * triangles.y[0]
    bits = max(1, int(triangles.x.shape[1]).bit_length())
    most = np.float32(2 ** (30 - bits) - 1)
    near, far = triangles.depth.min(initial=np.float32(np.inf)), triangles.depth.max(initial=np.float32(0))
    fine = most / np.maximum(far - near, np.float32(1e-3))
    steep = across[owner]
    begin = flat[owner] + steep * (first + _HALF) + down[owner] * middle
    last = np.maximum(length - 1, 1)
    deep, end = (np.clip((v - near) * fine, 0, most) for v in (begin, begin + steep * last))
    steps = ((end - deep) / last).astype(np.int32)
    steps <<= bits
    keys = deep.astype(np.int32)
    keys <<= bits
    keys |= owner.astype(np.int32)
    # Samples.
    count = length.astype(np.int32)
    within = _count_within(count)
    place = np.repeat((row - top) * wide + (first.astype(np.int32) - left), count)
    place += within
    within *= np.repeat(steps, count)
    within += np.repeat(keys, count)
    nearest = np.full(wide * (bottom - top), EMPTY)
    np.minimum.at(nearest, place.astype(np.intp), within)
    return Nearest(nearest.reshape(bottom - top, wide), bits, int(_CLOSE * fine) << bits)


def _by_height(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Corners (3, n) in the order of their y."""
    x0, x1, x2 = x
    y0, y1, y2 = y
    swap = y0 > y1
    x0, x1 = np.where(swap, x1, x0), np.where(swap, x0, x1)
    y0, y1 = np.minimum(y0, y1), np.maximum(y0, y1)
    swap = y1 > y2
    x1, x2 = np.where(swap, x2, x1), np.where(swap, x1, x2)
    y1, y2 = np.minimum(y1, y2), np.maximum(y1, y2)
    swap = y0 > y1
    x0, x1 = np.where(swap, x1, x0), np.where(swap, x0, x1)
    y0, y1 = np.minimum(y0, y1), np.maximum(y0, y1)
    return np.stack([x0, x1, x2]), np.stack([y0, y1, y2])


def _count_within(lengths: Integers) -> Integers:
    """0, 1, … for each of the lengths in turn."""
    ends = np.cumsum(lengths, dtype=np.int32)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int32) - np.repeat(ends - lengths, lengths)
