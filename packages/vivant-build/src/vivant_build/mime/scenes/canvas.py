"""What scenes are drawn with: a floor in true perspective and upright boards at a depth, seen by a camera."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from vivant_build.mime.camera import Camera
from vivant_build.mime.rotation import Array

Colour = tuple[int, int, int]
Pattern = Callable[[Array, Array], Array]
"""Stage x and z of floor points → colours (…, 3) from 0 to 255."""
_NEAR = 0.3
"""Metres before the camera from which on things are drawn."""
_FINE = 2
"""Scenes are drawn this many times larger and scaled down, for smooth edges."""


@dataclass(frozen=True)
class Surface:
    """Something drawn: metres behind the figure (NaN: lying on the floor), and the pixels that it spans."""

    depth: float
    box: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)
    """Left, top, right, bottom."""
    rounded: bool = False


class Canvas:
    """A picture in the making. Depths are metres behind the figure; the floor runs on to the horizon.

    Scenes are seen from the front whatever the camera's angle, as a painted backdrop is.
    """

    def __init__(self, camera: Camera) -> None:
        self.size = (camera.width, camera.height)
        target = (0.0, camera.target[1], 0.0)
        self.camera = replace(
            camera, angle=0.0, target=target, width=camera.width * _FINE, height=camera.height * _FINE
        )
        self.picture = Image.new("RGB", (self.camera.width, self.camera.height))
        self.pen = ImageDraw.Draw(self.picture)
        self.surfaces = [Surface(np.inf), Surface(0.0)]
        """What has been drawn: the sky, the floor, then one for each shape."""
        self.end = np.inf
        """Where the floor ends, in metres behind the figure."""
        self._numbers = Image.new("I", self.picture.size)
        self._marker = ImageDraw.Draw(self._numbers)

    def sky(self, top: Colour, bottom: Colour) -> None:
        """A gradient from the upper edge down to the horizon (and on below it)."""
        rows = np.clip(np.arange(self.camera.height) / max(self.camera.horizon, 1.0), 0.0, 1.0)[:, None]
        shades = np.asarray(top) * (1 - rows) + np.asarray(bottom) * rows
        picture = np.broadcast_to(shades[:, None], (self.camera.height, self.camera.width, 3))
        self.picture.paste(Image.fromarray(np.rint(picture).astype(np.uint8)))

    def floor(self, pattern: Pattern, far: Colour, haze: float = 18.0, end: float = 200.0) -> None:
        """Paint the floor down from `end` metres behind the figure; details fade into `far` with distance."""
        x, z = self.camera.floor()
        seen = ~np.isnan(z) & (z > -end)
        colours = np.asarray(self.picture, dtype=float).copy()
        behind = np.maximum(-z[seen], 0.0)[:, None]
        clear = np.exp(-behind / haze)
        colours[seen] = pattern(x[seen], z[seen]) * clear + np.asarray(far) * (1 - clear)
        self.picture.paste(Image.fromarray(np.clip(np.rint(colours), 0, 255).astype(np.uint8)))
        self.end = end
        self._numbers.paste(1, mask=Image.fromarray(seen))

    def shape(self, depth: float, points: Sequence[tuple[float, float]], colour: Colour) -> None:
        """A polygon of (x, height) points in metres, upright at a depth."""
        self._polygon([(x, y, -depth) for x, y in points], colour)

    def board(self, depth: float, left: float, right: float, low: float, high: float, colour: Colour) -> None:
        """An upright rectangle at a depth."""
        self.shape(depth, [(left, low), (right, low), (right, high), (left, high)], colour)

    def disc(
        self, depth: float, x: float, y: float, radius: float, colour: Colour, tall: float = 1.0
    ) -> None:
        """An upright disc at a depth, or an ellipse `tall` × as high as wide."""
        self._polygon([(a, b, -depth) for a, b in ellipse(x, y, radius, tall * radius)], colour, rounded=True)

    def line(self, start: Sequence[float], end: Sequence[float], width: float, colour: Colour) -> None:
        """A line between two stage points, `width` metres thick at their mean depth."""
        seen = _clip(self.camera.view(np.array([start, end], dtype=float)))
        if len(seen) >= 2:
            thick = max(1, round(width * self.camera.focal / float(seen[:, 2].mean())))
            corners = self._pixels(seen[:2])
            self.pen.line(corners, fill=colour, width=thick)
            self._marker.line(corners, fill=len(self.surfaces), width=thick)
            self._note(corners, (start[2] + end[2]) / -2, thick)

    def ground(self, points: Sequence[tuple[float, float]], colour: Colour) -> None:
        """A polygon of (x, depth) points lying on the floor."""
        self._polygon([(x, 0.0, -depth) for x, depth in points], colour)

    def tree(self, depth: float, x: float, height: float, leaves: Colour) -> None:
        """A trunk and a crown of three discs."""
        self.board(depth, x - 0.035 * height, x + 0.035 * height, 0.0, 0.5 * height, (96, 74, 54))
        for dx, dy, size in ((-0.16, 0.55, 0.22), (0.17, 0.58, 0.21), (0.0, 0.75, 0.26)):
            self.disc(depth, x + dx * height, dy * height, size * height, leaves)

    def finished(self) -> NDArray[np.uint8]:
        """The picture (height, width, 3) at the camera's size."""
        return np.asarray(self.picture.resize(self.size, Image.Resampling.BOX))

    def numbers(self) -> NDArray[np.int32]:
        """Which of the surfaces is seen in each pixel, at the camera's size."""
        return np.asarray(self._numbers)[::_FINE, ::_FINE]

    def _polygon(self, points: Sequence[Sequence[float]], colour: Colour, *, rounded: bool = False) -> None:
        seen = _clip(self.camera.view(np.array(points, dtype=float)))
        if len(seen) >= 3:
            corners = self._pixels(seen)
            self.pen.polygon(corners, fill=colour)
            self._marker.polygon(corners, fill=len(self.surfaces))
            lies = all(point[1] == 0.0 for point in points)
            self._note(
                corners, np.nan if lies else -float(np.mean([p[2] for p in points])), 0, rounded=rounded
            )

    def _note(
        self, corners: Sequence[tuple[float, float]], depth: float, thick: float, *, rounded: bool = False
    ) -> None:
        low, high = np.min(corners, axis=0) - thick / 2, np.max(corners, axis=0) + thick / 2
        self.surfaces.append(Surface(depth, tuple(np.concatenate([low, high]) / _FINE), rounded))

    def _pixels(self, seen: Array) -> list[tuple[float, float]]:
        """Pixels of points that are given as the camera sees them."""
        camera = self.camera
        return [
            (camera.width / 2 + camera.focal * x / z, camera.height / 2 + camera.focal * y / z)
            for x, y, z in seen.tolist()
        ]


def _clip(seen: Array) -> Array:
    """A polygon without its part behind the camera, which would come out upside down."""
    corners = []
    for here, after in zip(seen, np.roll(seen, -1, axis=0), strict=True):
        if here[2] >= _NEAR:
            corners.append(here)
        if (here[2] >= _NEAR) != (after[2] >= _NEAR):
            corners.append(here + (after - here) * ((_NEAR - here[2]) / (after[2] - here[2])))
    return np.array(corners)


def ellipse(
    x: float, y: float, wide: float, high: float, turn: float = 2 * np.pi, points: int = 40
) -> list[tuple[float, float]]:
    """Points on an ellipse around (x, y)."""
    return [(x + wide * np.cos(a), y + high * np.sin(a)) for a in np.linspace(0, turn, points)]


def plain(colour: Colour) -> Pattern:
    """A floor of one colour."""
    return lambda x, _: np.broadcast_to(np.asarray(colour, dtype=float), (*x.shape, 3))


def stripes(width: float, first: Colour, second: Colour, *, across: bool = False) -> Pattern:
    """Bands `width` metres wide that run away from the viewer, or across the view."""

    def pattern(x: Array, z: Array) -> Array:
        band = np.floor((z if across else x) / width) % 2
        return np.where(band[..., None] == 0, np.asarray(first, float), np.asarray(second, float))

    return pattern


def tiles(size: float, colour: Colour, joint: Colour, gap: float = 0.02) -> Pattern:
    """Square tiles with joints between them."""

    def pattern(x: Array, z: Array) -> Array:
        edge = (np.abs((x / size) % 1 - 0.5) > 0.5 - gap / size) | (
            np.abs((z / size) % 1 - 0.5) > 0.5 - gap / size
        )
        return np.where(edge[..., None], np.asarray(joint, float), np.asarray(colour, float))

    return pattern


def planks(width: float, colour: Colour, spread: float = 10.0) -> Pattern:
    """Boards that run away from the viewer, each a shade of its own."""

    def pattern(x: Array, z: Array) -> Array:
        board = np.floor(x / width)
        length = np.floor((z + 0.7 * board) / 2.4)
        # Any fixed scatter of shades will do; this one needs no generator.
        shade = np.sin(board * 12.9898 + length * 78.233) * spread
        joint = np.abs((x / width) % 1 - 0.5) > 0.47
        return np.asarray(colour, float) + (shade - 22.0 * joint)[..., None]

    return pattern
