"""A canvas with a handful of figures, for pictures of a few kilobytes that look the same on every machine."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

WIDTH, HEIGHT = 320, 240
_FINE = 3
"""Drawn larger by this and scaled down, for smooth edges."""
_COLOURS = 40

Point = tuple[float, float]


class Canvas:
    """Coordinates from (0, 0) at the top left to (320, 240)."""

    def __init__(self, background: str = "white") -> None:
        from PIL import Image, ImageDraw

        self._picture = Image.new("RGB", (WIDTH * _FINE, HEIGHT * _FINE), background)
        self._pen: Any = ImageDraw.Draw(self._picture)

    def png(self) -> bytes:
        """Encoded with a small palette."""
        from PIL import Image

        small = self._picture.resize((WIDTH, HEIGHT), Image.Resampling.BOX)
        data = io.BytesIO()
        small.quantize(_COLOURS, dither=Image.Dither.NONE).save(data, "PNG", optimize=True)
        return data.getvalue()

    # ── shapes ──

    def box(
        self, x: float, y: float, w: float, h: float, fill: str, edge: str = "", radius: float = 0
    ) -> None:
        """A rectangle by its corner and size."""
        corners = [x * _FINE, y * _FINE, (x + w) * _FINE, (y + h) * _FINE]
        line = {"outline": edge, "width": 2 * _FINE} if edge else {}
        self._pen.rounded_rectangle(corners, radius * _FINE, fill=fill or None, **line)

    def disc(self, x: float, y: float, r: float, fill: str, edge: str = "", ry: float = 0) -> None:
        """A circle by its centre, or an ellipse."""
        ry = ry or r
        corners = [(x - r) * _FINE, (y - ry) * _FINE, (x + r) * _FINE, (y + ry) * _FINE]
        line = {"outline": edge, "width": 2 * _FINE} if edge else {}
        self._pen.ellipse(corners, fill=fill or None, **line)

    def shape(self, points: Sequence[Point], fill: str, edge: str = "") -> None:
        """A polygon."""
        scaled = [(x * _FINE, y * _FINE) for x, y in points]
        self._pen.polygon(scaled, fill=fill or None)
        if edge:
            self._pen.line([*scaled, scaled[0]], fill=edge, width=2 * _FINE, joint="curve")

    def line(self, points: Sequence[Point], fill: str = "#333333", width: float = 2) -> None:
        """A line through points."""
        scaled = [(x * _FINE, y * _FINE) for x, y in points]
        self._pen.line(scaled, fill=fill, width=round(width * _FINE), joint="curve")

    def slice(self, x: float, y: float, r: float, start: float, end: float, fill: str) -> None:
        """A slice of a disc, in degrees clockwise from three o'clock."""
        corners = [(x - r) * _FINE, (y - r) * _FINE, (x + r) * _FINE, (y + r) * _FINE]
        self._pen.pieslice(corners, start, end, fill=fill, outline="#333333", width=2 * _FINE)

    def text(self, x: float, y: float, text: str, size: float = 18, fill: str = "#222222") -> None:
        """Centred on a point."""
        from PIL import ImageFont

        font = ImageFont.load_default(round(size * _FINE))
        self._pen.text((x * _FINE, y * _FINE), text, fill=fill, font=font, anchor="mm")

    # ── outdoors ──

    def outdoors(self, sky: str = "#bfe3f7", ground: str = "#9fce7a", horizon: float = 170) -> None:
        """Sky above, ground below."""
        self.box(0, 0, WIDTH, HEIGHT, sky)
        self.box(0, horizon, WIDTH, HEIGHT - horizon, ground)

    def sun(self, x: float, y: float, r: float = 20) -> None:
        """With rays."""
        for n in range(12):
            turn = n * math.pi / 6
            self.line(
                [
                    (x + math.cos(turn) * r * 1.2, y + math.sin(turn) * r * 1.2),
                    (x + math.cos(turn) * r * 1.6, y + math.sin(turn) * r * 1.6),
                ],
                "#f4b400",
                3,
            )
        self.disc(x, y, r, "#ffd54a")

    def moon(self, x: float, y: float, sky: str) -> None:
        """A crescent, cut out with the colour of the sky; and a few stars."""
        self.disc(x, y, 18, "#fdf3c0")
        self.disc(x + 8, y - 5, 15, sky)
        for n in range(9):
            self.disc(20 + n * 37 % 290, 15 + n * 53 % 80, 1.6, "#fdf3c0")

    def cloud(self, x: float, y: float, fill: str = "white") -> None:
        """Three puffs."""
        for dx, dy, r in ((-20, 4, 14), (0, -4, 18), (20, 4, 14)):
            self.disc(x + dx, y + dy, r, fill)

    def rain(self, fill: str = "#5b8db8") -> None:
        """All over."""
        for n in range(40):
            x, y = n * 137 % WIDTH, (n * 71 + n * n * 13) % HEIGHT
            self.line([(x, y), (x - 4, y + 11)], fill, 1.5)

    def tree(self, x: float, base: float, crown: str = "#4f9a45", size: float = 1.0) -> None:
        """A trunk and a round crown; no crown in winter."""
        self.box(x - 5 * size, base - 50 * size, 10 * size, 50 * size, "#7a5230")
        if crown:
            for dx, dy, r in ((-18, -62, 22), (18, -62, 22), (0, -82, 26)):
                self.disc(x + dx * size, base + dy * size, r * size, crown)
        else:
            for dx in (-24, -10, 12, 26):
                self.line([(x, base - 40 * size), (x + dx * size, base - 80 * size)], "#7a5230", 3)

    def house(
        self, x: float, base: float, wall: str = "#e8c9a0", roof: str = "#b5473c", lit: bool = False
    ) -> None:
        """With a door and two windows."""
        self.box(x - 40, base - 60, 80, 60, wall)
        self.shape([(x - 48, base - 60), (x + 48, base - 60), (x, base - 100)], roof)
        self.box(x - 9, base - 34, 18, 34, "#7a5230")
        for dx in (-26, 26):
            self.box(x + dx - 9, base - 48, 18, 16, "#ffe27a" if lit else "#6d8fa8")

    def sea(self, horizon: float = 150, fill: str = "#3f86b5") -> None:
        """From the horizon down, with waves."""
        self.box(0, horizon, WIDTH, HEIGHT - horizon, fill)
        for row in range(3):
            y = horizon + 22 + row * 24
            for n in range(7):
                x = n * 50 + row * 20
                self.line([(x, y), (x + 10, y - 5), (x + 20, y)], "#8fc1e0", 2)

    # ── figures ──

    def person(
        self, x: float, base: float, coat: str, size: float = 1.0, arms: str = "down", hair: str = "#5a3b22"
    ) -> None:
        """Head, body, legs; arms down, up, or held out to the left or right."""
        s = size
        self.line([(x - 6 * s, base - 26 * s), (x - 8 * s, base)], "#3b3b4f", 5 * s)
        self.line([(x + 6 * s, base - 26 * s), (x + 8 * s, base)], "#3b3b4f", 5 * s)
        ends = {
            "down": ((-18, -34), (18, -34)),
            "up": ((-18, -84), (18, -84)),
            "left": ((-28, -58), (16, -34)),
            "right": ((-16, -34), (28, -58)),
        }[arms]
        for dx, dy in ends:
            self.line([(x, base - 56 * s), (x + dx * s, base + dy * s)], coat, 6 * s)
        self.box(x - 12 * s, base - 62 * s, 24 * s, 38 * s, coat, radius=7 * s)
        self.disc(x, base - 75 * s, 14 * s, hair)
        self.disc(x, base - 73 * s, 12 * s, "#f3cfa8")
        for dx in (-4, 4):
            self.disc(x + dx * s, base - 75 * s, 1.6 * s, "#222222")
        self.line([(x - 4 * s, base - 68 * s), (x + 4 * s, base - 68 * s)], "#aa5544", 1.5 * s)

    def cat(self, x: float, base: float, fur: str = "#d98a3d") -> None:
        """Sitting."""
        self.line([(x + 12, base - 4), (x + 28, base - 12), (x + 26, base - 26)], fur, 5)
        self.disc(x, base - 14, 14, fur, ry=16)
        self.disc(x - 2, base - 36, 12, fur)
        self.shape([(x - 13, base - 40), (x - 11, base - 54), (x - 3, base - 46)], fur)
        self.shape([(x + 9, base - 40), (x + 7, base - 54), (x - 1, base - 46)], fur)
        for dx in (-6, 2):
            self.disc(x + dx, base - 38, 1.8, "#222222")

    def bird(self, x: float, y: float, fill: str = "#3d5fa8") -> None:
        """In flight."""
        self.disc(x, y, 11, fill, ry=7)
        self.disc(x + 11, y - 5, 6, fill)
        self.shape([(x + 16, y - 6), (x + 24, y - 4), (x + 16, y - 2)], "#e09a2b")
        self.shape([(x - 4, y - 3), (x + 6, y - 3), (x - 6, y - 22)], fill)
        self.disc(x + 12, y - 6, 1.3, "white")

    def boat(self, x: float, y: float, sail: str = "white", tilt: float = 0) -> None:
        """A hull and a sail; `tilt` raises its bow."""
        self.shape(
            [
                (x - 34, y - 4 + tilt),
                (x + 34, y - 4 - tilt),
                (x + 20, y + 16 - tilt),
                (x - 20, y + 16 + tilt),
            ],
            "#8a4b2d",
        )
        self.line([(x, y), (x, y - 56)], "#5a3b22", 3)
        self.shape([(x + 3, y - 54), (x + 3, y - 8), (x + 34, y - 10)], sail, "#777777")

    def kite(self, x: float, y: float, hand: Point) -> None:
        """Red, with a string to a hand."""
        self.line([(x, y + 20), hand], "#777777", 1)
        self.shape([(x, y - 22), (x + 16, y), (x, y + 22), (x - 16, y)], "#d93636", "#8c1d1d")
        self.line([(x, y + 22), (x - 8, y + 34), (x + 2, y + 42), (x - 6, y + 52)], "#d93636", 2)

    def balloon(self, x: float, y: float, fill: str, hand: Point | None = None) -> None:
        """With a string."""
        self.line([(x, y + 16), hand or (x, y + 50)], "#777777", 1)
        self.disc(x, y, 13, fill, ry=16)

    def umbrella(self, x: float, y: float, fill: str = "#c23b5a") -> None:
        """Open."""
        self.line([(x, y), (x, y + 52)], "#5a3b22", 3)
        self.slice(x, y + 8, 44, 180, 360, fill)

    def lantern(self, x: float, y: float) -> None:
        """Burning."""
        self.disc(x, y, 20, "#f7dc7a")
        self.box(x - 7, y - 9, 14, 18, "#ffb300", "#5a3b22", 2)

    def arrow(self, start: Point, end: Point, fill: str = "#c0392b") -> None:
        """From one point to another."""
        self.line([start, end], fill, 4)
        turn = math.atan2(end[1] - start[1], end[0] - start[0])
        wings = [(end[0] - 14 * math.cos(turn + d), end[1] - 14 * math.sin(turn + d)) for d in (0.45, -0.45)]
        self.shape([end, *wings], fill)
