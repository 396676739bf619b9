"""Light, shade and shadow: a posed body as a layer that can be laid over a background."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vivant.build.mime.camera import Camera
from vivant.build.mime.figure.scan import EMPTY, Floats, Nearest, Triangles, Window, scan
from vivant.build.mime.figure.shadow import FloorShadow
from vivant.build.mime.figure.skin import Skin, pose
from vivant.build.mime.rasterizer import LIGHT, Layer

Pixels = NDArray[np.intp]
FINE = 2
"""Samples per pixel, across and down."""
_NEAR = np.float32(0.2)
_ONE = np.float32(1.0)
_TONES = 256


def _ramp() -> Floats:
    """The colour of light from none to full: (3, tones). Shade is cool, light is warm."""
    share = np.linspace(0, 1, _TONES, dtype=np.float32)
    cool, warm = np.array([0.90, 0.95, 1.10]), np.array([1.06, 1.0, 0.93])
    tint = cool[:, None] * (1 - share) + warm[:, None] * share
    # Bright light is held back, so that white cloth keeps its folds.
    strength = np.minimum(1.5 * share, 0.8 + 0.5 * np.maximum(1.5 * share - 0.8, 0))
    return np.asarray(tint * strength, np.float32)


_RAMP = _ramp()


class FigurePainter:
    """Draws the frames of one body before one camera."""

    def __init__(self, camera: Camera, skin: Skin) -> None:
        self.camera, self.skin = camera, skin
        self._axes = camera.axes.astype(np.float32)
        self._position = camera.position.astype(np.float32)
        self._lamp = np.array(LIGHT, np.float32) @ self._axes
        self._shadow = FloorShadow(camera, self._lamp)

    def paint(self, bones: Floats) -> Layer:
        """The body under the transforms of one frame, with its shadow."""
        points, normals = pose(self.skin, bones)
        dark = self._shadow.cast(points, self.skin.areas)
        seen = _turn(self._axes, points - self._position[:, None])
        light = self._light(normals, seen)
        camera = self.camera
        scale = np.float32(camera.focal * FINE) / np.maximum(seen[2], _NEAR)
        x = seen[0] * scale + np.float32(camera.width * FINE / 2)
        y = seen[1] * scale + np.float32(camera.height * FINE / 2)
        window = _window(x, y, camera)
        body = np.zeros((4, window[3] - window[1], window[2] - window[0]), np.float32)
        self._fill(body, window, x, y, seen[2], light)
        layer = Layer(window[1], window[0], body)
        return layer if dark is None else layer.with_shadow(dark)

    def _light(self, normals: Floats, seen: Floats) -> Floats:
        """How bright each corner is, as a place on the ramp."""
        normals /= np.maximum(_length(normals), np.float32(1e-6))
        lamp = _turn(self._lamp[None], normals)[0]
        key = np.maximum(lamp * np.float32(0.9) + np.float32(0.1), 0)
        sky = normals[1] * np.float32(0.5) + np.float32(0.5)
        facing = -(_turn(self._axes, normals) * seen).sum(axis=0) / _length(seen)
        edge = _ONE - np.clip(facing, 0, 1)
        light = np.float32(0.26) + np.float32(0.17) * sky + np.float32(0.40) * key
        light *= _ONE - np.float32(0.30) * edge * edge
        return np.asarray(light)

    def _fill(
        self, planes: Floats, window: Window, x: Floats, y: Floats, depth: Floats, light: Floats
    ) -> None:
        skin = self.skin
        one, two, three = skin.faces
        area = (x[two] - x[one]) * (y[three] - y[one]) - (x[three] - x[one]) * (y[two] - y[one])
        faces = skin.faces[:, np.flatnonzero(area < 0)]
        if depth.min() < _NEAR:
            faces = faces[:, (depth[faces] > _NEAR).all(axis=0)]
        triangles = Triangles(x[faces], y[faces], depth[faces])
        left, top, right, bottom = window
        nearest = scan(triangles, (left * FINE, top * FINE, right * FINE, bottom * FINE))
        chosen = _choose(nearest, window)
        owner, px, py = chosen.triangle, chosen.x, chosen.y

        def spread(values: Floats) -> Floats:
            right_by, down_by = triangles.slopes(values)
            base = values[0] - right_by * triangles.x[0] - down_by * triangles.y[0]
            made = base[owner]
            made += right_by[owner] * px
            made += down_by[owner] * py
            # A sample may lie just outside of its triangle, which changes a lot where that is seen edge-on.
            np.maximum(made, values.min(axis=0)[owner], out=made)
            return np.asarray(np.minimum(made, values.max(axis=0)[owner], out=made))

        tone = spread(np.clip(light, 0, 1)[faces] * np.float32(_TONES - 1)).astype(np.intp)
        column, row = (spread(skin.spots[n][faces]) for n in range(2))
        spot = row.astype(np.intp) * skin.wide
        spot += column.astype(np.intp)
        whole, edges, number = chosen.whole, chosen.edges, chosen.number
        share = np.float32(1 / FINE**2)
        flat = planes.reshape(4, -1)
        for plane in range(3):
            colour = skin.atlas[plane].take(spot)
            colour *= _RAMP[plane].take(tone)
            flat[plane, whole] = colour[: len(whole)]
            flat[plane, edges] = np.bincount(number, colour[len(whole) :], len(edges)) * share
        flat[3, whole] = 1.0
        flat[3, edges] = np.bincount(number, minlength=len(edges)) * share


@dataclass(frozen=True, eq=False)
class _Chosen:
    """The samples to shade: one for each whole pixel, then those of the edges."""

    whole: Pixels
    edges: Pixels
    number: Pixels
    """Which of the edges each of their samples belongs to."""
    triangle: Pixels
    x: Floats
    y: Floats


def _choose(nearest: Nearest, window: Window) -> _Chosen:
    """One sample in the middle of a pixel that shows one surface, else all that are covered."""
    left, top, right, _ = window
    keys = nearest.keys
    four = (keys[::2, ::2], keys[::2, 1::2], keys[1::2, ::2], keys[1::2, 1::2])
    low = np.minimum(np.minimum(four[0], four[1]), np.minimum(four[2], four[3])).ravel()
    high = np.maximum(np.maximum(four[0], four[1]), np.maximum(four[2], four[3])).ravel()
    seen = np.flatnonzero(low != EMPTY)
    even = high[seen] - low[seen] < nearest.close
    whole, edge = seen[even], seen[~even]
    numbers, found = [], [low[whole]]
    wide = right - left
    down, across = np.divmod(whole, wide)
    xs, ys = [across * 2 + (2 * left + 1)], [down * 2 + (2 * top + 1)]
    down, across = np.divmod(edge, wide)
    for number, part in enumerate(four):
        key = part[down, across]
        there = np.flatnonzero(key != EMPTY)
        numbers.append(there)
        found.append(key[there])
        xs.append(across[there] * 2 + (2 * left + number % 2 + 0.5))
        ys.append(down[there] * 2 + (2 * top + number // 2 + 0.5))
    keys = np.concatenate(found)
    triangle = (keys & np.int32(2**nearest.bits - 1)).astype(np.intp)
    x, y = (np.concatenate(v).astype(np.float32) for v in (xs, ys))
    return _Chosen(whole, edge, np.concatenate(numbers), triangle, x, y)


def _window(x: Floats, y: Floats, camera: Camera) -> Window:
    """The pixels that a body touches."""
    left, right = (min(max(int(v // FINE), 0), camera.width - 1) for v in (x.min(), x.max()))
    top, bottom = (min(max(int(v // FINE), 0), camera.height - 1) for v in (y.min(), y.max()))
    return left, top, right + 1, bottom + 1


def _turn(matrix: Floats, points: Floats) -> Floats:
    """A matrix (m, 3) by points (3, n), summed in the same order on every machine."""
    return np.stack([row[0] * points[0] + row[1] * points[1] + row[2] * points[2] for row in matrix])


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(vectors[0] ** 2 + vectors[1] ** 2 + vectors[2] ** 2))
