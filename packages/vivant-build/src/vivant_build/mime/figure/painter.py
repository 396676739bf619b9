"""Light and shade: a posed body as a layer that can be laid over a background."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vivant_build.mime.camera import Camera
from vivant_build.mime.figure.layer import Bytes, FigureLayer, Indices
from vivant_build.mime.figure.outline import trace
from vivant_build.mime.figure.scan import EMPTY, Floats, Triangles, Window, scan
from vivant_build.mime.figure.shadow import FloorShadow
from vivant_build.mime.figure.skin import Skin, pose
from vivant_build.mime.rasterizer import LIGHT

_NEAR = np.float32(0.2)
_HALF, _ONE = np.float32(0.5), np.float32(1.0)
_TONES = 256


def _ramp() -> Floats:
    """The colour of light from none to full: (tones, 4). Shade is cool, light is warm; alpha stays as it is."""
    share = np.linspace(0, 1, _TONES, dtype=np.float32)[:, None]
    cool, warm = np.array([0.90, 0.95, 1.10]), np.array([1.06, 1.0, 0.93])
    tint = cool * (1 - share) + warm * share
    # Bright light is held back, so that white cloth keeps its folds.
    strength = np.minimum(1.5 * share, 0.8 + 0.5 * np.maximum(1.5 * share - 0.8, 0))
    return np.concatenate([tint * strength, np.ones_like(share)], 1).astype(np.float32)


_RAMP = _ramp()


class FigurePainter:
    """Draws the frames of one body before one camera."""

    def __init__(self, camera: Camera, skin: Skin) -> None:
        self.camera, self.skin = camera, skin
        self._axes = camera.axes.astype(np.float32)
        self._position = camera.position.astype(np.float32)
        self._lamp = np.array(LIGHT, np.float32) @ self._axes
        self._shadow = FloorShadow(camera, self._lamp)
        self._texels = skin.atlas.view(np.uint32).ravel()

    def paint(self, bones: Floats) -> FigureLayer:
        """The body under the transforms of one frame, with its shadow."""
        camera, skin = self.camera, self.skin
        points, normals = pose(skin, bones)
        rays = points - self._position[:, None]
        across, down, depth = _turn(self._axes, rays)
        scale = np.float32(camera.focal) / np.maximum(depth, _NEAR)
        x = across * scale + np.float32(camera.width / 2)
        y = down * scale + np.float32(camera.height / 2)
        front = self._front(x, y, depth)
        faces = skin.faces[:, front]
        triangles = Triangles(x.take(faces), y.take(faces), depth.take(faces))
        left, top, right, _ = window = _window(x, y, camera)
        nearest = scan(triangles, window)
        values = (self._light(normals, rays), *skin.spots)
        planes = triangles.planes(*(value.take(faces) for value in values))
        pixels = np.flatnonzero(nearest.keys != EMPTY)
        row = pixels // (right - left)
        column = pixels - row * (right - left)
        colours = self._colour(
            planes,
            nearest.owners(nearest.keys.ravel().take(pixels)),
            (column + (left + 0.5)).astype(np.float32),
            (row + (top + 0.5)).astype(np.float32),
        )
        row += top
        column += left
        row *= camera.width
        row += column
        outline = trace(skin, front, (x, y, depth), nearest, window, camera.width)
        return FigureLayer(row, colours, outline, self._shadow.cast(points, skin.areas))

    def _light(self, normals: Floats, rays: Floats) -> Floats:
        """How bright each corner is, to which a ray goes from the camera, as a place on the ramp."""
        normals /= np.maximum(_length(normals), np.float32(1e-6))
        lamp = _along(self._lamp, normals)
        key = np.maximum(lamp * np.float32(0.9) + np.float32(0.1), 0)
        sky = normals[1] * np.float32(0.5) + np.float32(0.5)
        facing = -_along(normals, rays) / _length(rays)
        edge = _ONE - np.clip(facing, 0, 1)
        light = np.float32(0.26) + np.float32(0.17) * sky + np.float32(0.40) * key
        light *= _ONE - np.float32(0.30) * edge * edge
        return np.asarray(np.clip(light, 0, 1) * np.float32(_TONES - 1))

    def _front(self, x: Floats, y: Floats, depth: Floats) -> NDArray[np.bool_]:
        """Which faces are turned to the camera, and before it."""
        faces = self.skin.faces
        (x0, x1, x2), (y0, y1, y2) = x.take(faces), y.take(faces)
        front = (x1 - x0) * (y2 - y0) < (x2 - x0) * (y1 - y0)
        if depth.min() < _NEAR:
            front &= (depth.take(faces) > _NEAR).all(axis=0)
        return np.asarray(front)

    def _colour(self, planes: Floats, owner: Indices, x: Floats, y: Floats) -> Bytes:
        """The texture in the light, in the middle of pixels that triangles own: (n, 4)."""
        tone, column, row = (
            across.take(owner) * x + down.take(owner) * y + base.take(owner) for across, down, base in planes
        )
        spot = row.astype(np.intp) * self.skin.atlas.shape[1]
        spot += column.astype(np.intp)
        # Where a triangle is seen edge-on, rounding may leave the atlas and the ramp.
        texels = self._texels.take(spot, mode="clip").view(np.uint8).reshape(-1, 4)
        colours = texels.astype(np.float32)
        colours *= _RAMP.take(tone.astype(np.intp), axis=0, mode="clip")
        colours += _HALF
        return np.asarray(np.minimum(colours, np.float32(255), out=colours), np.uint8)


def _window(x: Floats, y: Floats, camera: Camera) -> Window:
    """The pixels that a body touches and those beside them, at least one."""
    left, top = (
        int(np.clip(v.min() - 1, 0, size - 1)) for v, size in ((x, camera.width), (y, camera.height))
    )
    right, bottom = (
        int(np.clip(v.max() + 2, 1, size)) for v, size in ((x, camera.width), (y, camera.height))
    )
    return left, top, right, bottom


def _turn(matrix: Floats, points: Floats) -> Floats:
    """A matrix (m, 3) by points (3, n), summed in the same order on every machine."""
    return np.stack([_along(row, points) for row in matrix])


def _along(one: Floats, other: Floats) -> Floats:
    """The scalar products of vectors (3, n)."""
    return np.asarray(one[0] * other[0] + one[1] * other[1] + one[2] * other[2])


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(_along(vectors, vectors)))
