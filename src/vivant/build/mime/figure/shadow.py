"""The shadow of a body on the floor: sharp where it stands, softer the higher the part that casts it."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageFilter

from vivant.build.mime.camera import Camera
from vivant.build.mime.figure.scan import Floats
from vivant.build.mime.rasterizer import Layer, enlarge

_CELL = 0.04
_CELLS = 112
_STEP = 4
# Up to which height a part casts the layer, how far it is blurred (cells), how dark it is.
_LAYERS = ((0.16, 0.9, 0.62), (0.70, 2.0, 0.50), (9.0, 3.6, 0.40))
_CONTACT = (0.45, 2.6, 0.55)
"""Below this height a body also keeps the sky's light from the floor under it."""


class FloorShadow:
    """A grid on the floor about the figure, and where each pixel lies in it."""

    def __init__(self, camera: Camera, lamp: Floats) -> None:
        self._slant = (lamp[[0, 2]] / lamp[1]).astype(np.float32)
        self._camera = camera
        x, z = camera.floor(_STEP)
        self._x, self._z = x.astype(np.float32), z.astype(np.float32)

    def cast(self, points: Floats, areas: Floats) -> Layer | None:
        """The darkened floor under corners (3, n) that stand for so many square metres each."""
        height = np.maximum(points[1], 0)
        x, z = points[0] - self._slant[0] * height, points[2] - self._slant[1] * height
        middle = np.array([x.min() + x.max(), z.min() + z.max()]) / 2
        corner = (middle - _CELL * _CELLS / 2).astype(np.float32)
        lit = np.ones((_CELLS, _CELLS), np.float32)
        low = 0.0
        for high, blur, strength in _LAYERS:
            part = (height >= low) & (height < high)
            lit *= _shade(x, z, areas * part, corner, blur, strength, 0.55)
            low = high
        near = np.maximum(1 - height / _CONTACT[0], 0)
        lit *= _shade(points[0], points[2], areas * near, corner, _CONTACT[1], _CONTACT[2], 0.8)
        return self._look(1 - lit, corner)

    def _look(self, dark: Floats, corner: Floats) -> Layer | None:
        """The grid as the camera sees it."""
        column, row = (
            (self._x - corner[0]) / np.float32(_CELL) - np.float32(0.5),
            (self._z - corner[1]) / np.float32(_CELL) - np.float32(0.5),
        )
        with np.errstate(invalid="ignore"):
            inside = (column >= 0) & (column < _CELLS - 1) & (row >= 0) & (row < _CELLS - 1)
        where = np.flatnonzero(inside)
        if not len(where):
            return None
        column, row = column.ravel()[where], row.ravel()[where]
        left, top = column.astype(np.intp), row.astype(np.intp)
        a, b = column - left, row - top
        grid, first = dark.ravel(), top * _CELLS + left
        tone = (grid[first] * (1 - a) + grid[first + 1] * a) * (1 - b) + (
            grid[first + _CELLS] * (1 - a) + grid[first + _CELLS + 1] * a
        ) * b
        small = np.zeros(self._x.shape, np.float32)
        small.ravel()[where] = tone
        touched = small > 0.004
        rows, columns = np.flatnonzero(touched.any(axis=1)), np.flatnonzero(touched.any(axis=0))
        if not len(rows):
            return None
        y, x = max(int(rows[0]) - 1, 0), max(int(columns[0]) - 1, 0)
        part = small[y : int(rows[-1]) + 2, x : int(columns[-1]) + 2]
        height = min(part.shape[0] * _STEP, self._camera.height - y * _STEP)
        width = min(part.shape[1] * _STEP, self._camera.width - x * _STEP)
        return Layer(y * _STEP, x * _STEP, enlarge(part, _STEP, height, width)[None])


def _shade(
    x: Floats, z: Floats, areas: Floats, corner: Floats, blur: float, strength: float, dense: float
) -> Floats:
    """What light is left where corners darken the grid; a cell fully under the body counts as dark."""
    column = np.clip((x - corner[0]) / np.float32(_CELL), 0, _CELLS - 1).astype(np.intp)
    row = np.clip((z - corner[1]) / np.float32(_CELL), 0, _CELLS - 1).astype(np.intp)
    cover = np.bincount(row * _CELLS + column, areas, _CELLS * _CELLS).astype(np.float32)
    dark = np.float32(255) - np.float32(255) * np.exp(cover * np.float32(-dense / _CELL**2))
    picture = Image.fromarray(dark.astype(np.uint8).reshape(_CELLS, _CELLS))
    soft = np.asarray(picture.filter(ImageFilter.GaussianBlur(blur)))
    return np.float32(1) - np.float32(strength / 255) * soft
