"""The plain renderer: capsules, shaded, with a soft shadow on the floor, as RGBA pictures.

Each capsule is seen along parallel rays in its own window of pixels (its ends are projected in perspective,
so only the bend of perspective within one limb is lost). There the visible surface has a closed form: the
pixel's ray touches exactly one of the balls that the capsule is swept from, at the share `s` of its length.
Depth, normal and edge coverage all follow from that ball.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vivant_build.mime.camera import Camera
from vivant_build.mime.characters import Shapes
from vivant_build.mime.rotation import Array, unit

Plane = NDArray[np.float32]
Picture = NDArray[np.uint8]

LIGHT = tuple(np.float32(v) for v in unit([-0.45, -0.75, -0.55]))
"""Towards the lamp, as right, down and forward from the camera: above its left shoulder."""
_AMBIENT, _LAMP = np.float32(0.50), np.float32(0.56)
_RIM = np.float32(0.30)
"""How much a surface darkens as it turns away: limbs stand out against a body of the same colour."""
_SHADOW_STEP = 4
_SHADOW_STRENGTH = 0.62
_NEAR = 0.2
"""Metres before the camera within which nothing is drawn."""
_SOLID = np.float32(0.9)
_ONE = np.float32(1.0)


@dataclass(frozen=True, eq=False)
class Layer:
    """The part of a frame that is not empty, its colours multiplied by alpha: all from 0 to 1."""

    top: int
    left: int
    planes: Plane
    """(4, height, width): red, green, blue, alpha."""

    def over(self, background: Plane, still: Picture) -> Picture:
        """This layer laid over a background (3, height, width), which `still` holds as a finished picture."""
        picture = still.copy()
        height, width = self.planes.shape[1:]
        window = (slice(self.top, self.top + height), slice(self.left, self.left + width))
        patch, clear = picture[window], _ONE - self.planes[3]
        # Plane by plane: one at a time stays in the processor's cache.
        for number in range(3):
            plane = background[number][window] * clear
            plane += self.planes[number]
            patch[..., number] = _scaled(plane)
        return picture

    def alone(self, width: int, height: int) -> Picture:
        """The whole frame as RGBA (height, width, 4), alpha straight, as PNG stores it."""
        picture = np.zeros((height, width, 4), np.uint8)
        straight = self.planes.copy()
        straight[:3] /= np.maximum(straight[3], 1e-6)
        high, wide = straight.shape[1:]
        picture[self.top : self.top + high, self.left : self.left + wide] = to_picture(straight)
        return picture

    def with_shadow(self, shadow: Layer) -> Layer:
        """This layer over a shadow, whose only plane is alpha."""
        (high, wide), (deep, broad) = self.planes.shape[1:], shadow.planes.shape[1:]
        top, left = min(self.top, shadow.top), min(self.left, shadow.left)
        bottom = max(self.top + high, shadow.top + deep)
        right = max(self.left + wide, shadow.left + broad)
        planes = np.zeros((4, bottom - top, right - left), np.float32)
        y, x = shadow.top - top, shadow.left - left
        planes[3, y : y + deep, x : x + broad] = shadow.planes[0]
        y, x = self.top - top, self.left - left
        view = planes[:, y : y + high, x : x + wide]
        view *= _ONE - self.planes[3]
        view += self.planes
        return Layer(top, left, planes)

    @property
    def solid(self) -> int:
        """How many pixels the body itself covers; its shadow is thinner."""
        return int(np.count_nonzero(self.planes[3] > _SOLID))


def to_picture(planes: Plane) -> Picture:
    """Planes from 0 to 1 as a picture (height, width, channels) of bytes."""
    return np.ascontiguousarray(_scaled(planes.copy()).astype(np.uint8).transpose(1, 2, 0))


def _scaled(planes: Plane) -> Plane:
    """In place: from 0 to 1 made 0 to 255, ready to be cut to whole numbers."""
    planes *= np.float32(255)
    planes += np.float32(0.5)
    # Light adds up, so it may pass 1; it is never below 0.
    return np.minimum(planes, np.float32(255), out=planes)


class Painter:
    """Draws the frames of one camera; the floor under it is worked out once."""

    def __init__(self, camera: Camera) -> None:
        self.camera = camera
        x, z = camera.floor(_SHADOW_STEP)
        self._floor_x, self._floor_z = x.astype(np.float32), z.astype(np.float32)
        self._focal = camera.focal
        self._columns = np.arange(camera.width, dtype=np.float32) + np.float32(0.5)
        self._rows = (np.arange(camera.height, dtype=np.float32) + np.float32(0.5))[:, None]

    def frames(self, shapes: Shapes) -> Iterator[Picture]:
        """RGBA pictures of every frame (`Layer.alone`)."""
        for number in range(len(shapes)):
            yield self.paint(shapes, number).alone(self.camera.width, self.camera.height)

    def paint(self, shapes: Shapes, number: int) -> Layer:
        """One frame, ready to be laid over a background."""
        a, b = shapes.a[number], shapes.b[number]
        widest = np.maximum(shapes.r1, shapes.r2)
        dark = self.shadow(shapes, number)
        seen_a, seen_b = self.camera.view(a), self.camera.view(b)
        drawn = np.minimum(seen_a[:, 2], seen_b[:, 2]) > _NEAR
        left, top, right, bottom = self._window(seen_a[drawn], seen_b[drawn], widest[drawn], dark)
        planes = np.zeros((4, bottom - top, right - left), np.float32)
        if dark is not None:
            y, x = dark.top - top, dark.left - left
            height, width = dark.planes.shape[1:]
            planes[3, y : y + height, x : x + width] = dark.planes[0]
        canvas = _Canvas(planes, np.full(planes.shape[1:], np.inf, np.float32), left, top)
        # Far ones first: soft edges then lie over what is behind them.
        for n in np.argsort(-(seen_a[:, 2] + seen_b[:, 2])):
            if drawn[n]:
                self._paint_capsule(
                    canvas, seen_a[n], seen_b[n], shapes.r1[n], shapes.r2[n], shapes.colours[n]
                )
        return Layer(top, left, planes)

    def shadow(self, shapes: Shapes, number: int) -> Layer | None:
        """The darkened floor under the body in one frame, as a layer of alpha alone."""
        cast = shapes.shadow
        widest = np.maximum(shapes.r1, shapes.r2)[cast]
        return self._shadow(shapes.a[number][cast], shapes.b[number][cast], widest)

    def _window(self, a: Array, b: Array, radius: Array, dark: Layer | None) -> tuple[int, int, int, int]:
        """The pixels that body and shadow touch, as left, top, right, bottom."""
        camera = self.camera
        centre = np.array([camera.width / 2, camera.height / 2])
        lows, highs = [], []
        for end in (a, b):
            scale = self._focal / end[:, 2]
            spot, spread = centre + end[:, :2] * scale[:, None], (radius * scale)[:, None] + 2
            lows.append(spot - spread)
            highs.append(spot + spread)
        low, high = (
            np.concatenate([*lows, [centre]]).min(axis=0),
            np.concatenate([*highs, [centre]]).max(axis=0),
        )
        if dark is not None:
            height, width = dark.planes.shape[1:]
            low = np.minimum(low, [dark.left, dark.top])
            high = np.maximum(high, [dark.left + width, dark.top + height])
        size = [camera.width, camera.height]
        (left, top), (right, bottom) = (
            np.clip(low, 0, size).astype(int),
            np.clip(high + 1, 0, size).astype(int),
        )
        return int(left), int(top), int(right), int(bottom)

    def _paint_capsule(
        self, canvas: _Canvas, a: Array, b: Array, radius_a: float, radius_b: float, colour: Plane
    ) -> None:
        camera = self.camera
        # The larger ball first, so that the taper is never negative.
        if radius_b > radius_a:
            a, b, radius_a, radius_b = b, a, radius_b, radius_a
        scale_a, scale_b = self._focal / float(a[2]), self._focal / float(b[2])
        ax, ay = camera.width / 2 + float(a[0]) * scale_a, camera.height / 2 + float(a[1]) * scale_a
        bx, by = camera.width / 2 + float(b[0]) * scale_b, camera.height / 2 + float(b[1]) * scale_b
        ra, rb = float(radius_a) * scale_a, float(radius_b) * scale_b
        left, top = int(max(min(ax - ra, bx - rb) - 1, 0)), int(max(min(ay - ra, by - rb) - 1, 0))
        right = int(min(max(ax + ra, bx + rb) + 2, camera.width))
        bottom = int(min(max(ay + ra, by + rb) + 2, camera.height))
        if left >= right or top >= bottom:
            return
        scale = (scale_a + scale_b) / 2
        dx: Plane = self._columns[left:right] - np.float32(ax)
        dy: Plane = self._rows[top:bottom] - np.float32(ay)
        lx, ly, lz = np.float32(bx - ax), np.float32(by - ay), np.float32((float(b[2]) - float(a[2])) * scale)
        taper, r1 = np.float32(ra - rb), np.float32(ra)
        flat = lx * lx + ly * ly - taper * taper
        nx: Plane
        ny: Plane
        # `flat` > 0: neither disc on the screen hides the other, so there is a side to see.
        if flat > 1e-3:
            along = (lx * dx - taper * r1) + ly * dy
            share = along * along
            share -= flat * (dx * dx) + flat * (dy * dy - r1 * r1)
            np.maximum(share, 0.0, out=share)
            np.sqrt(share, out=share)
            share *= -lz / np.sqrt(flat + lz * lz)
            share += along
            share *= np.float32(1.0 / flat)
            np.maximum(share, 0.0, out=share)
            np.minimum(share, 1.0, out=share)
            nx = np.asarray(dx - lx * share, np.float32)
            ny = np.asarray(dy - ly * share, np.float32)
            radius = r1 - taper * share
            bulge = lz * share
        elif lz < 0:
            # The smaller ball is before the larger: the side between them shows too little to matter.
            self._paint_capsule(canvas, a, a, radius_a, radius_a, colour)
            self._paint_capsule(canvas, b, b, radius_b, radius_b, colour)
            return
        else:
            nx, ny = dx + np.zeros_like(dy), dy + np.zeros_like(dx)
            radius = np.full(nx.shape, r1, np.float32)
            bulge = np.zeros_like(nx)
        height = radius * radius
        square = nx * nx
        square += ny * ny
        height -= square
        cover = radius - np.sqrt(square, out=square)
        cover += np.float32(0.5)
        np.maximum(cover, 0.0, out=cover)
        np.minimum(cover, 1.0, out=cover)
        np.maximum(height, 0.0, out=height)
        np.sqrt(height, out=height)
        bulge -= height
        bulge *= np.float32(1.0 / scale)
        bulge += np.float32(a[2])
        light = _shade(nx, ny, height, radius)
        canvas.lay(left, top, light, cover, bulge, colour)

    def _shadow(self, a: Array, b: Array, radius: Array) -> Layer | None:
        """The darkened floor under the body: a capsule's shadow is softer and fainter the higher it is."""
        lit = np.ones_like(self._floor_x)
        spots = self.camera.project(np.concatenate([a, b]) * [1.0, 0.0, 1.0]) / _SHADOW_STEP
        count = len(a)
        rows, columns = lit.shape
        lift = np.maximum(np.minimum(a[:, 1], b[:, 1]) - radius, 0.0)
        strength = (_SHADOW_STRENGTH / (1.0 + 3.0 * lift)).astype(np.float32)
        soft = (radius + 0.06 + 0.35 * lift).astype(np.float32)
        reach = (self._focal * soft / max(self.camera.distance - 1.5, 1.0) / _SHADOW_STEP)[:, None]
        low = np.minimum(spots[:count], spots[count:]) - reach
        high = np.maximum(spots[:count], spots[count:]) + reach + 2
        low, high = (np.clip(v, 0, [columns, rows]).astype(int) for v in (low, high))
        ground = a.astype(np.float32)
        line = (b - a).astype(np.float32)
        length = np.maximum(line[:, 0] ** 2 + line[:, 2] ** 2, np.float32(1e-6))
        for n in range(count):
            (left, top), (right, bottom) = low[n], high[n]
            if left >= right or top >= bottom:
                continue
            x = self._floor_x[top:bottom, left:right] - ground[n, 0]
            z = self._floor_z[top:bottom, left:right] - ground[n, 2]
            lx, lz = line[n, 0], line[n, 2]
            share = x * (lx / length[n]) + z * (lz / length[n])
            np.minimum(np.maximum(share, 0.0, out=share), 1.0, out=share)
            x -= lx * share
            z -= lz * share
            away = (x * x + z * z) / (soft[n] * soft[n])
            patch = lit[top:bottom, left:right]
            # The floor is NaN above the horizon; fmin leaves such pixels lit.
            np.fmin(patch, _ONE - strength[n] * np.maximum(_ONE - away, 0.0), out=patch)
        touched = np.argwhere(lit < 1.0)
        if not len(touched):
            return None
        (top, left), (bottom, right) = np.maximum(touched.min(axis=0) - 1, 0), touched.max(axis=0) + 2
        dark = _ONE - lit[top:bottom, left:right]
        y, x = int(top) * _SHADOW_STEP, int(left) * _SHADOW_STEP
        height = min(dark.shape[0] * _SHADOW_STEP, self.camera.height - y)
        width = min(dark.shape[1] * _SHADOW_STEP, self.camera.width - x)
        return Layer(y, x, enlarge(dark, _SHADOW_STEP, height, width)[None])


@dataclass(frozen=True, eq=False)
class _Canvas:
    """A frame in the making: colours, and the depth of what is nearest, from a corner of the picture on."""

    planes: Plane
    depth: Plane
    left: int
    top: int

    def lay(self, left: int, top: int, light: Plane, cover: Plane, distance: Plane, colour: Plane) -> None:
        """Put a lit surface where it is nearer than what is there, blended at its edges by `cover`."""
        height, width = cover.shape
        y, x = top - self.top, left - self.left
        window = (slice(y, y + height), slice(x, x + width))
        depth, view = self.depth[window], self.planes[:, window[0], window[1]]
        front = distance < depth
        np.copyto(depth, distance, where=front & (cover > 0.5))
        # Behind a soft edge, a surface fills only what that edge leaves open.
        weight = cover if front.all() else np.where(front, cover, cover * (_ONE - view[3]))
        view *= _ONE - weight
        view[3] += weight
        light *= weight
        for plane, tone in enumerate(colour):
            view[plane] += light * np.float32(tone / 255.0)


def _shade(nx: Plane, ny: Plane, height: Plane, radius: Plane) -> Plane:
    """Lambert's light plus an even one, darker towards the outline; `height` is the normal's depth."""
    inverse = _ONE / radius
    light = nx * LIGHT[0]
    light += ny * LIGHT[1]
    light -= height * LIGHT[2]
    light *= inverse
    np.maximum(light, 0.0, out=light)
    light *= _LAMP
    light += _AMBIENT
    height *= inverse
    height *= _RIM
    height += _ONE - _RIM
    light *= height
    return light


def enlarge(small: Plane, step: int, height: int, width: int) -> Plane:
    """Linear interpolation from every `step`-th pixel to all."""

    def stretch(array: Plane, length: int) -> Plane:
        position = np.clip(
            (np.arange(length, dtype=np.float32) + np.float32(0.5)) / step - 0.5, 0, len(array) - 1
        )
        low = position.astype(int)
        high = np.minimum(low + 1, len(array) - 1)
        share = (position - low).astype(np.float32)[:, None]
        return np.asarray(array[low] * (_ONE - share) + array[high] * share)

    return np.ascontiguousarray(stretch(stretch(small, height).T, width).T)
