"""The shadow of a body on the floor: sharp where it stands, softer the higher the part that casts it."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageFilter

from vivant_build.mime.camera import Camera
from vivant_build.mime.figure.layer import Shadow
from vivant_build.mime.figure.scan import Floats

_CELL = np.float32(0.05)
_WIDEST = 120
"""Cells that a shadow has at most, across and along: a corner astray must not fill the memory."""
_MARGIN = 10
"""Cells about it, into which it is blurred."""
_STEP = 4
_NEAR = 0.2
# Up to which height a part casts the layer, how far it is blurred (cells), how dark it is, how dense.
_LAYERS = ((0.16, 0.7, 0.62, 0.55), (0.70, 1.6, 0.50, 0.55), (np.inf, 2.9, 0.40, 0.55))
_CONTACT = (0.45, 2.1, 0.55, 0.80)
"""Below this height a body also keeps the sky's light from the floor under it."""


class FloorShadow:
    """The floor in cells, and where each pixel (every fourth) lies on it."""

    def __init__(self, camera: Camera, lamp: Floats) -> None:
        self._slant = (lamp[[0, 2]] / lamp[1]).astype(np.float32)[:, None]
        self._camera = camera
        x, z = camera.floor(_STEP)
        self._sky = int(np.isnan(x).any(axis=1).sum())
        self._x, self._z = ((v[self._sky :] / _CELL).astype(np.float32) for v in (x, z))

    def cast(self, points: Floats, areas: Floats) -> Shadow | None:
        """The darkened floor under corners (3, n) that stand for so many square metres each."""
        height, below = np.maximum(points[1], 0), points[::2] / _CELL
        behind = below - self._slant / _CELL * height
        first = np.floor(np.minimum(below.min(axis=1), behind.min(axis=1)))[:, None]
        # Whole cells of the floor, so that the shadow of what stands still stays as it is.
        (x, z), (low_x, low_z) = (
            np.minimum((v - first).astype(np.intp), _WIDEST) + _MARGIN for v in (behind, below)
        )
        wide = max(int(x.max()), int(low_x.max())) + _MARGIN + 1
        deep = max(int(z.max()), int(low_z.max())) + _MARGIN + 1
        number = sum((height >= row[0]).astype(np.intp) for row in _LAYERS[:-1])
        cells = np.concatenate([(number * deep + z) * wide + x, (3 * deep + low_z) * wide + low_x])
        near = np.maximum(1 - height / np.float32(_CONTACT[0]), 0)
        cover = np.bincount(cells, np.concatenate([areas, areas * near]), 4 * deep * wide)
        lit = np.ones((deep, wide), np.float32)
        for part, (_, blur, strength, dense) in zip(
            cover.astype(np.float32).reshape(4, deep, wide), (*_LAYERS, _CONTACT), strict=True
        ):
            lit *= 1 - np.float32(strength / 255) * _blurred(part * np.float32(dense / _CELL**2), blur)
        return self._look(1 - lit, first[:, 0] - _MARGIN)

    def _look(self, dark: Floats, corner: Floats) -> Shadow | None:
        """The grid, whose first cell is at `corner`, as the camera sees it."""
        deep, wide = dark.shape
        window = self._window(corner, corner + np.array([wide, deep], np.float32))
        column, row = (
            self._x[window] - (corner[0] + np.float32(0.5)),
            self._z[window] - (corner[1] + np.float32(0.5)),
        )
        # Outside the grid is what is at its edge: nothing.
        np.clip(column, 0, np.float32(wide - 1.001), out=column)
        np.clip(row, 0, np.float32(deep - 1.001), out=row)
        left, top = column.astype(np.intp), row.astype(np.intp)
        column -= left
        row -= top
        place = top * wide + left
        flat = dark.ravel()
        upper, lower = flat.take(place), flat.take(place + wide)
        upper += (flat.take(place + 1) - upper) * column
        lower += (flat.take(place + (wide + 1)) - lower) * column
        upper += (lower - upper) * row
        small = np.rint(upper * np.float32(255)).astype(np.uint8)
        rows, columns = np.flatnonzero(small.any(axis=1)), np.flatnonzero(small.any(axis=0))
        if not len(rows):
            return None
        y, x = max(int(rows[0]) - 1, 0), max(int(columns[0]) - 1, 0)
        part = small[y : int(rows[-1]) + 2, x : int(columns[-1]) + 2]
        size = (part.shape[1] * _STEP, part.shape[0] * _STEP)
        alpha = np.asarray(Image.fromarray(part).resize(size, Image.Resampling.BILINEAR))
        y, x = (y + window[0].start + self._sky) * _STEP, (x + window[1].start) * _STEP
        return Shadow(y, x, alpha[: self._camera.height - y, : self._camera.width - x])

    def _window(self, low: Floats, high: Floats) -> tuple[slice, slice]:
        """The part of the floor's pixels in which a rectangle of cells lies."""
        rows, columns = self._x.shape
        ends = np.array([(x, 0.0, z) for x in (low[0], high[0]) for z in (low[1], high[1])]) * float(_CELL)
        seen = self._camera.view(ends)
        if seen[:, 2].min() < _NEAR:
            return slice(0, rows), slice(0, columns)
        x, y = (seen[:, :2] * (self._camera.focal / _STEP) / seen[:, 2:]).T
        x, y = x + self._camera.width / (2 * _STEP), y + (self._camera.height / (2 * _STEP) - self._sky)
        return (
            slice(min(max(int(y.min()) - 1, 0), rows), min(max(int(y.max()) + 2, 0), rows)),
            slice(min(max(int(x.min()) - 1, 0), columns), min(max(int(x.max()) + 2, 0), columns)),
        )


def _blurred(cover: Floats, blur: float) -> Floats:
    """How dark cells are that corners cover so many times, from 0 to 255."""
    # Nearly 1 - exp(-cover), and the same on every processor.
    dark = np.float32(255) - np.float32(255) / (1 + cover * (1 + cover * np.float32(0.5)))
    picture = Image.fromarray(dark.astype(np.uint8))
    return np.asarray(picture.filter(ImageFilter.GaussianBlur(blur)), np.float32)
