"""A drawn body and its shadow in one frame: only the pixels that they touch, in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vivant_build.mime.rasterizer import Picture, Plane

Bytes = NDArray[np.uint8]
Indices = NDArray[np.intp]
_PIXEL = np.dtype([("colour", "V3"), ("spare", np.uint8)])


@dataclass(frozen=True, eq=False)
class Shadow:
    """How dark the floor is in a window of the picture."""

    top: int
    left: int
    alpha: Bytes

    @property
    def window(self) -> tuple[slice, slice]:
        """The rows and columns of a picture that it covers."""
        height, width = self.alpha.shape
        return slice(self.top, self.top + height), slice(self.left, self.left + width)

    def darken(self, picture: Picture) -> None:
        """Lay it over a picture, in place."""
        patch, clear = picture[self.window], np.uint16(255) - self.alpha
        clear += clear >> 7
        for number in range(3):
            plane = patch[..., number] * clear
            plane += 128
            plane >>= 8
            patch[..., number] = plane


@dataclass(frozen=True, eq=False)
class Outline:
    """Pixels that take a share, from 0 to 128 of 256, of a neighbour's colour."""

    pixels: Indices
    neighbours: Indices
    shares: NDArray[np.uint16]

    def soften(self, flat: NDArray[np.uint8]) -> None:
        """Mix the colours of a picture (pixels, channels), in place."""
        share = self.shares[:, None]
        mixed = flat[self.pixels] * (256 - share) + flat[self.neighbours] * share
        flat[self.pixels] = (mixed + 128) >> 8


@dataclass(frozen=True, eq=False)
class FigureLayer:
    """A body before its shadow (`DrawnFrame`). Pixels are counted row by row."""

    pixels: Indices
    """Those in whose middle there is the body."""
    colours: Bytes
    """(n, 4); the last is always 255."""
    outline: Outline
    shadow: Shadow | None

    def over(self, background: Plane, still: Picture) -> Picture:  # noqa: ARG002
        """See `DrawnFrame.over`; the finished picture is enough here."""
        picture = still.copy()
        if self.shadow is not None:
            self.shadow.darken(picture)
        flat = picture.reshape(-1, 3)
        # Three bytes at once.
        flat.reshape(-1).view("V3")[self.pixels] = self.colours.view(_PIXEL)["colour"].ravel()
        self.outline.soften(flat)
        return picture

    def alone(self, width: int, height: int) -> Picture:
        """The whole frame as RGBA (height, width, 4), alpha straight, as PNG stores it."""
        picture = np.zeros((height, width, 4), np.uint8)
        if self.shadow is not None:
            picture[..., 3][self.shadow.window] = self.shadow.alpha
        flat = picture.reshape(-1, 4)
        flat[self.pixels] = self.colours
        self.outline.soften(flat)
        # Up to here colours are multiplied by alpha: a shadow is black.
        body = np.union1d(self.outline.pixels, self.pixels)
        alpha = np.maximum(flat[body, 3:], 1).astype(np.uint16)
        flat[body, :3] = np.minimum((flat[body, :3] * np.uint16(255) + alpha // 2) // alpha, 255)
        return picture

    @property
    def solid(self) -> int:
        """How many pixels the body itself covers."""
        return len(self.pixels)
