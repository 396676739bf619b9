"""Scan conversion: triangles to pixels in numpy, a whole body at once, with a depth test for every pixel.

A triangle is cut at the height of its middle corner into two trapezoids, those into rows, the rows into pixels. Each
of these steps is a `repeat` for the whole body, so no loop runs over triangles. A pixel shows what is in its middle.
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
_SLIVER = np.float32(0.25)
"""Twice the area in pixels below which a triangle is everywhere as at its first corner: slopes would mean nothing."""
_ROOM = np.float32(0.1)
"""Metres by which rounding may put a pixel before the nearest corner or behind the farthest."""
EMPTY = np.int32(2**31 - 1)
"""The key of a pixel in which there is nothing."""

_SPAN = np.dtype([("place", np.int64), ("key", np.int32), ("step", np.int32)])
"""Of 16 bytes: numpy repeats it as fast as one number."""


@dataclass(frozen=True, eq=False)
class Triangles:
    """Triangles as the picture sees them: `x` and `y` (3, n) in pixels, `depth` (3, n) in metres."""

    x: Floats
    y: Floats
    depth: Floats

    def planes(self, *values: Floats) -> Floats:
        """Values at the corners, (3, n) each, as (values, 3, n): what to multiply x and y by, and what to add."""
        (x0, x1, x2), (y0, y1, y2) = self.x, self.y
        ax, ay, bx, by = x1 - x0, y1 - y0, x2 - x0, y2 - y0
        area = ax * by - bx * ay
        share = np.float32(1.0) / np.where(np.abs(area) < _SLIVER, np.float32(np.inf), area)
        planes = np.empty((len(values), 3, len(area)), np.float32)
        for (across, down, base), value in zip(planes, values, strict=True):
            a, b = value[1] - value[0], value[2] - value[0]
            np.multiply(a * by - b * ay, share, out=across)
            np.multiply(b * ax - a * bx, share, out=down)
            np.subtract(value[0] - across * x0, down * y0, out=base)
        return planes


@dataclass(frozen=True, eq=False)
class Nearest:
    """What is nearest in every pixel of a window: depth in the upper bits of `keys`, the triangle in the lower."""

    keys: Integers
    """(rows, columns)"""
    bits: int
    near: np.float32
    """The depth at which keys begin."""
    fine: np.float32
    """Steps a metre."""

    def owners(self, keys: Integers) -> NDArray[np.intp]:
        """The triangles that keys name."""
        return (keys & np.int32(2**self.bits - 1)).astype(np.intp)

    def key(self, depth: Floats) -> Integers:
        """The key of the first triangle at a depth."""
        return np.asarray(((depth - self.near) * self.fine).astype(np.int32) << self.bits)


def scan(triangles: Triangles, window: Window) -> Nearest:
    """The visible triangle in every pixel of a window. Of two equally deep ones the first shows."""
    left, top, right, bottom = window
    wide, amount = right - left, triangles.x.shape[1]
    bits = max(1, amount.bit_length())
    near = triangles.depth.min(initial=np.float32(9)) - _ROOM
    far = triangles.depth.max(initial=np.float32(0)) + _ROOM
    fine = np.float32(2 ** (30 - bits) - 1) / np.maximum(far - near, _ROOM)
    deep = triangles.planes((triangles.depth - near) * fine)[0]
    rows, edges = _cut(triangles, top, bottom)
    nearest = np.full(wide * (bottom - top), EMPTY)
    np.minimum.at(nearest, *_fill(rows, edges, deep, bits, window))
    return Nearest(nearest.reshape(bottom - top, wide), bits, near, fine)


def _cut(triangles: Triangles, top: int, bottom: int) -> tuple[Integers, Floats]:
    """Triangles as an upper and a lower trapezoid: the rows (3, n) at which these begin and end, and their edges.

    Edges (4, 2, n), left and right: how far each goes from row to row, and where it is at y 0, half a pixel further
    left, so that the next whole number is the first pixel whose middle lies behind it.
    """
    x, y = _by_height(triangles.x, triangles.y)
    rows = np.minimum(np.maximum(np.ceil(y - _HALF), top), bottom).astype(np.int32)
    begin, end = [0, 1, 0], [1, 2, 2]
    by = (x[end] - x[begin]) / np.maximum(y[end] - y[begin], _TINY)
    foot = x[begin] - by * y[begin] - _HALF
    # The two short edges are on one side, the long one is on the other.
    bent = foot[2] + by[2] * y[1] > x[1] - _HALF
    return rows, np.stack(
        [np.where(side, line[:2], line[2]) for side in (bent, ~bent) for line in (by, foot)]
    )


def _fill(
    rows: Integers, edges: Floats, deep: Floats, bits: int, window: Window
) -> tuple[NDArray[np.int64], Integers]:
    """The pixels of all triangles: their places in the window and their keys."""
    left, top, right, _ = window
    high = np.diff(rows, axis=0).ravel()
    amount = rows.shape[1]
    part = np.repeat(np.arange(2 * amount), high)
    row = np.arange(len(part), dtype=np.int32)
    row += (rows[:2].ravel() - (np.cumsum(high, dtype=np.int32) - high)).take(part)
    y = row + _HALF
    left_by, left_foot, right_by, right_foot = (v.ravel().take(part) for v in edges)
    first = np.ceil(left_by * y + left_foot)
    last = np.ceil(right_by * y + right_foot)
    np.minimum(np.maximum(first, left, out=first), right, out=first)
    np.minimum(np.maximum(last, first, out=last), right, out=last)
    owner = part.copy()
    owner[int(high[:amount].sum()) :] -= amount
    across, down, base = (v.take(owner) for v in deep)
    depth = across * (first + _HALF) + down * y + base
    np.minimum(np.maximum(depth, 0, out=depth), np.float32(2 ** (30 - bits) - 1), out=depth)
    key = (depth.astype(np.int32) << bits) + owner.astype(np.int32)
    length = (last - first).astype(np.intp)
    begin = np.cumsum(length) - length
    # Pixels are counted through, so a row is moved back to where it would be at the first of all. Keys overflow on
    # that way, and come back by the same amount.
    spans = np.empty(len(part), _SPAN)
    spans["step"] = across.astype(np.int32) << bits
    spans["key"] = key - spans["step"] * begin.astype(np.int32)
    spans["place"] = (row - top) * (right - left) + (first.astype(np.int32) - left) - begin
    pixel = np.repeat(spans, length)
    place = np.arange(len(pixel))
    key = place.astype(np.int32)
    key *= pixel["step"]
    key += pixel["key"]
    place += pixel["place"]
    return place, key


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


def count_within(lengths: NDArray[np.intp]) -> NDArray[np.intp]:
    """0, 1, … for each of the lengths in turn."""
    ends = np.cumsum(lengths)
    return np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)
