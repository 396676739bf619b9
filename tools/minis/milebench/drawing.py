"""A small canvas for the pictures of MileBench-mini: flat shapes, smooth edges, few colours, few bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]
Point = tuple[float, float]

INK: Colour = (45, 48, 56)
WHITE: Colour = (252, 251, 247)
PAPER: Colour = (240, 236, 226)
COLOURS: dict[str, Colour] = {
    "red": (205, 70, 60),
    "blue": (58, 108, 178),
    "green": (78, 146, 88),
    "yellow": (232, 190, 66),
    "purple": (138, 92, 158),
    "grey": (132, 136, 142),
}
_SCALE = 2
"""Drawn larger and shrunk, for smooth edges."""
_PALETTE = 48


class Canvas:
    """Coordinates are in pixels of the finished picture."""

    def __init__(self, width: int = 240, height: int = 180, fill: Colour = PAPER) -> None:
        self.width, self.height = width, height
        self._picture = Image.new("RGB", (width * _SCALE, height * _SCALE), fill)
        self._draw = ImageDraw.Draw(self._picture)

    def rect(self, x: float, y: float, w: float, h: float, fill: Colour, line: Colour | None = None) -> None:
        """A box by its corner and size."""
        box = [v * _SCALE for v in (x, y, x + w, y + h)]
        self._draw.rectangle(box, fill=fill, outline=line, width=_SCALE)

    def disc(self, x: float, y: float, r: float, fill: Colour, line: Colour | None = None) -> None:
        """A circle by its centre."""
        box = [v * _SCALE for v in (x - r, y - r, x + r, y + r)]
        self._draw.ellipse(box, fill=fill, outline=line, width=_SCALE)

    def oval(self, x: float, y: float, w: float, h: float, fill: Colour) -> None:
        """An ellipse by its centre and size."""
        self._draw.ellipse([v * _SCALE for v in (x - w / 2, y - h / 2, x + w / 2, y + h / 2)], fill=fill)

    def shape(self, points: Sequence[Point], fill: Colour) -> None:
        """A filled polygon."""
        self._draw.polygon([(x * _SCALE, y * _SCALE) for x, y in points], fill=fill)

    def line(self, points: Sequence[Point], fill: Colour = INK, width: float = 2) -> None:
        """A stroke through points."""
        scaled = [(x * _SCALE, y * _SCALE) for x, y in points]
        self._draw.line(scaled, fill=fill, width=round(width * _SCALE), joint="curve")

    def arc_arrow(self, x1: float, x2: float, y: float, lift: float, fill: Colour = INK) -> None:
        """A curved arrow from x1 to x2, bent by `lift`."""
        steps = [i / 16 for i in range(17)]
        points = [(x1 + (x2 - x1) * t, y - math.sin(math.pi * t) * lift) for t in steps]
        self.line(points[:-1], fill, 3)
        tip = math.copysign(9, lift)
        self.shape([(x2 - 7, y - tip), (x2 + 7, y - tip), (x2, y + tip * 0.4)], fill)

    def text(
        self, x: float, y: float, text: str, size: int = 14, fill: Colour = INK, anchor: str = "lm"
    ) -> None:
        """One line of text; the anchor as Pillow names it."""
        font = ImageFont.load_default(size * _SCALE)
        self._draw.text((x * _SCALE, y * _SCALE), text, font=font, fill=fill, anchor=anchor)

    @property
    def content(self) -> bytes:
        """What tells pictures apart."""
        return self._picture.tobytes()

    def save(self, path: Path) -> None:
        """As a PNG with a small palette."""
        small = self._picture.resize((self.width, self.height), Image.Resampling.BOX)
        small.quantize(_PALETTE, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
            path, optimize=True
        )


def regular(sides: int, x: float, y: float, r: float, turn: float = 0.0) -> list[Point]:
    """The corners of a regular polygon."""
    angles = [turn + 2 * math.pi * i / sides for i in range(sides)]
    return [(x + r * math.sin(a), y - r * math.cos(a)) for a in angles]


def star(points: int, x: float, y: float, r: float, turn: float = 0.0) -> list[Point]:
    """The corners of a star."""
    angles = [turn + math.pi * i / points for i in range(2 * points)]
    radii = [r if i % 2 == 0 else r * 0.45 for i in range(2 * points)]
    return [(x + q * math.sin(a), y - q * math.cos(a)) for a, q in zip(angles, radii, strict=True)]
