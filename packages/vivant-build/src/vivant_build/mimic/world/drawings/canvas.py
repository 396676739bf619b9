"""A stage of 320 × 240 and what acts on it: people, animals and things drawn with a few shapes each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT = 320, 240
_SCALE = 2  # drawn twice as large, then reduced: smooth edges

Colour = tuple[int, int, int]
Point = tuple[float, float]
Face = Literal["flat", "smile", "sad", "wow", "sleep", "angry"]

INK: Colour = (40, 38, 46)
SKIN: Colour = (240, 200, 170)
WHITE: Colour = (250, 250, 250)
RED: Colour = (205, 50, 50)
BLUE: Colour = (60, 100, 190)
GREEN: Colour = (70, 150, 80)
YELLOW: Colour = (245, 205, 70)
GREY: Colour = (140, 142, 150)
BROWN: Colour = (125, 85, 55)
ORANGE: Colour = (235, 140, 50)
PURPLE: Colour = (130, 85, 170)
DAY: Colour = (180, 220, 245)
NIGHT: Colour = (32, 36, 70)
GRASS: Colour = (130, 185, 110)


def ease(t: float, start: float = 0.0, end: float = 1.0) -> float:
    """Progress between two times, with a soft start and stop."""
    x = min(max((t - start) / (end - start), 0.0), 1.0)
    return x * x * (3 - 2 * x)


def between(a: float, b: float, share: float) -> float:
    """The value at a share of the way from a to b."""
    return a + (b - a) * share


class Stage:
    """One frame, in units of the final picture. The clips' descriptions call its methods by name."""

    def __init__(self, sky: Colour = DAY, ground: Colour | None = GRASS, horizon: float = 180) -> None:
        self._image = Image.new("RGB", (WIDTH * _SCALE, HEIGHT * _SCALE), sky)
        self._draw = ImageDraw.Draw(self._image)
        if ground is not None:
            self.box(0, horizon, WIDTH, HEIGHT, ground)

    def picture(self) -> Image.Image:
        return self._image.resize((WIDTH, HEIGHT), Image.Resampling.BOX)

    # ── shapes ──

    def box(
        self,
        x0: float,
        y0: float,
        x1: float,
        y1: float,
        fill: Colour | None,
        line: float = 0,
        round_: float = 0,
    ) -> None:
        bounds = [_SCALE * v for v in (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))]
        self._draw.rounded_rectangle(
            bounds, round_ * _SCALE, fill, INK if line else None, max(int(line * _SCALE), 1)
        )

    def oval(self, x: float, y: float, rx: float, ry: float, fill: Colour | None, line: float = 0) -> None:
        bounds = [_SCALE * v for v in (x - rx, y - ry, x + rx, y + ry)]
        self._draw.ellipse(bounds, fill, INK if line else None, max(int(line * _SCALE), 1))

    def line(self, points: Sequence[Point], fill: Colour = INK, width: float = 2) -> None:
        scaled = [(x * _SCALE, y * _SCALE) for x, y in points]
        self._draw.line(scaled, fill, max(int(width * _SCALE), 1), joint="curve")
        for x, y in (points[0], points[-1]):
            self.oval(x, y, width / 2, width / 2, fill)

    def shape(self, points: Sequence[Point], fill: Colour) -> None:
        self._draw.polygon([(x * _SCALE, y * _SCALE) for x, y in points], fill)

    def arc(
        self, x: float, y: float, r: float, start: float, end: float, fill: Colour = INK, width: float = 2
    ) -> None:
        bounds = [_SCALE * v for v in (x - r, y - r, x + r, y + r)]
        self._draw.arc(bounds, start, end, fill, max(int(width * _SCALE), 1))

    def text(self, x: float, y: float, words: str, size: float = 16, fill: Colour = INK) -> None:
        font = ImageFont.load_default(size * _SCALE)
        self._draw.text((x * _SCALE, y * _SCALE), words, fill, font, anchor="mm", align="center")

    # ── people ──

    def person(
        self,
        x: float,
        feet: float,
        shirt: Colour = BLUE,
        *,
        size: float = 1.0,
        face: Face = "flat",
        facing: int = 1,
        walk: float | None = None,
        arms: tuple[float, float] = (20, -20),
        hair: Colour = BROWN,
        long_hair: bool = False,
        sit: bool = False,
        skin: Colour = SKIN,
    ) -> tuple[Point, Point]:
        """A person; `walk` is the phase of the stride, `arms` degrees from hanging. Returns both hands."""
        s = size
        hip = feet - (16 if sit else 30) * s
        neck = hip - 30 * s
        swing = math.sin(walk * 2 * math.pi) * 11 * s if walk is not None else 5 * s
        for sign in (-1, 1):
            foot = (x + sign * swing, feet)
            knee = (x + sign * swing * 0.4 + facing * 2 * s, (hip + feet) / 2)
            if sit:
                knee, foot = (x + facing * 16 * s, hip + 2 * s), (x + facing * (17 + sign * 3) * s, feet)
            self.line([(x, hip), knee, foot], (60, 60, 80), 5 * s)
        hands: list[Point] = []
        for angle in arms:
            bend = math.radians(angle)
            hands.append((x + math.sin(bend) * 26 * s, neck + 5 * s + math.cos(bend) * 26 * s))
        self.line([(x, neck + 5 * s), hands[0]], darken(shirt), 5 * s)
        self.box(x - 9 * s, neck, x + 9 * s, hip + 3 * s, shirt, round_=5 * s)
        self.line([(x, neck + 5 * s), hands[1]], darken(shirt), 5 * s)
        for hand in hands:
            self.oval(*hand, 3.2 * s, 3.2 * s, skin)
        self._head(x, neck - 11 * s, s, face, facing, hair, long_hair, skin)
        return hands[0], hands[1]

    def _head(
        self,
        x: float,
        y: float,
        s: float,
        face: Face,
        facing: int,
        hair: Colour,
        long_hair: bool,
        skin: Colour,
    ) -> None:
        if long_hair:
            self.box(x - 12 * s, y - 8 * s, x + 12 * s, y + 16 * s, hair, round_=8 * s)
        self.oval(x, y - 2 * s, 12 * s, 12 * s, hair)
        self.oval(x + facing * 1.5 * s, y + 1 * s, 10.5 * s, 10.5 * s, skin)
        centre = x + facing * 3 * s
        for sign in (-1, 1):
            eye = centre + sign * 4 * s
            if face == "sleep":
                self.line([(eye - 2 * s, y), (eye + 2 * s, y)], INK, 1.2 * s)
            else:
                big = 2.2 if face == "wow" else 1.5
                self.oval(eye, y, big * s, big * s, INK)
            if face == "angry":
                self.line(
                    [(eye - 3 * s, y - (4 - sign) * s), (eye + 3 * s, y - (4 + sign) * s)], INK, 1.4 * s
                )
        if face == "smile":
            self.arc(centre, y + 3 * s, 4.5 * s, 10, 170, INK, 1.4 * s)
        elif face in ("sad", "angry"):
            self.arc(centre, y + 9 * s, 4 * s, 195, 345, INK, 1.4 * s)
        elif face == "wow":
            self.oval(centre, y + 6 * s, 2 * s, 2.8 * s, INK)
        else:
            self.line([(centre - 3 * s, y + 6 * s), (centre + 3 * s, y + 6 * s)], INK, 1.3 * s)
        if face == "sad":
            self.oval(centre + 5 * s, y + 4 * s, 1.4 * s, 2 * s, (90, 150, 230))

    # ── nature ──

    def sun(self, x: float, y: float, r: float = 16) -> None:
        for ray in range(8):
            angle = ray * math.pi / 4
            tip = (x + math.cos(angle) * r * 1.7, y + math.sin(angle) * r * 1.7)
            self.line([(x, y), tip], YELLOW, 2)
        self.oval(x, y, r, r, YELLOW)

    def moon(self, x: float, y: float, sky: Colour = NIGHT) -> None:
        self.oval(x, y, 14, 14, (245, 240, 205))
        self.oval(x + 6, y - 4, 12, 12, sky)
        for sx, sy in ((40, 30), (90, 55), (150, 24), (215, 60), (280, 34)):
            self.oval(sx, sy, 1.3, 1.3, (245, 240, 205))

    def cloud(self, x: float, y: float, fill: Colour = WHITE) -> None:
        for dx, dy, r in ((-16, 4, 12), (0, -3, 16), (17, 4, 12)):
            self.oval(x + dx, y + dy, r, r * 0.75, fill)

    def rain(self, t: float, until: float = 200) -> None:
        for drop in range(46):
            x = (drop * 53 + 17) % WIDTH
            y = (drop * 97 + t * 900) % until
            self.line([(x, y), (x - 2, y + 8)], (120, 150, 200), 1)

    def tree(self, x: float, ground: float, size: float = 1.0, leaf: Colour = GREEN, fruit: int = 0) -> None:
        self.box(x - 4 * size, ground - 34 * size, x + 4 * size, ground, BROWN)
        for dx, dy, r in ((-15, -46, 17), (15, -46, 17), (0, -60, 20)):
            self.oval(x + dx * size, ground + dy * size, r * size, r * size, leaf)
        for number in range(fruit):
            angle = number * 2.4
            reach = (8 + number * 2.2) * size
            self.oval(
                x + math.cos(angle) * reach, ground + math.sin(angle) * reach * 0.8 - 50 * size, 3.2, 3.2, RED
            )

    def hill(self, x: float, top: float, base: float, half: float, fill: Colour) -> None:
        self.shape([(x - half, base), (x, top), (x + half, base)], fill)

    # ── things ──

    def house(
        self, x: float, ground: float, wall: Colour, roof: Colour = (150, 70, 60), w: float = 60
    ) -> None:
        self.box(x - w / 2, ground - 50, x + w / 2, ground, wall, 1)
        self.shape([(x - w / 2 - 8, ground - 50), (x, ground - 84), (x + w / 2 + 8, ground - 50)], roof)
        self.box(x - 7, ground - 26, x + 7, ground, BROWN, 1)

    def umbrella(self, x: float, y: float, fill: Colour = RED) -> None:
        self.line([(x, y), (x, y - 40)], INK, 2)
        points = [(x - 30, y - 36)]
        points += [
            (x - 30 * math.cos(a * math.pi / 12), y - 36 - 24 * math.sin(a * math.pi / 12)) for a in range(13)
        ]
        self.shape(points, fill)

    def cat(self, x: float, ground: float, fill: Colour = ORANGE, facing: int = 1, step: float = 0.0) -> None:
        lift = math.sin(step * 2 * math.pi) * 2
        for leg, up in ((-9, lift), (-4, -lift), (5, lift), (10, -lift)):
            self.line([(x + leg, ground - 9), (x + leg + up, ground)], fill, 3)
        self.line([(x - facing * 12, ground - 13), (x - facing * 21, ground - 26 - lift)], fill, 3)
        self.oval(x, ground - 12, 14, 7, fill)
        head = x + facing * 14
        for sign in (-1, 1):
            self.shape(
                [(head + sign * 6, ground - 20), (head + sign * 6, ground - 31), (head, ground - 25)], fill
            )
        self.oval(head, ground - 20, 7.5, 7, fill)
        for sign in (-1, 1):
            self.oval(head + facing * 2 + sign * 3, ground - 21, 1.2, 1.2, INK)

    def car(self, x: float, y: float, fill: Colour, lean: float = 0.0) -> None:
        self.shape(
            [(x - 26, y - 34 - lean), (x + 22, y - 34 + lean), (x + 38, y - 14), (x - 42, y - 14)], fill
        )
        self.shape(
            [(x - 18, y - 30 - lean), (x + 16, y - 30 + lean), (x + 26, y - 16), (x - 28, y - 16)],
            (190, 225, 240),
        )
        self.box(x - 60, y - 16, x + 62, y + 8, fill, round_=8)
        for wheel in (-34, 36):
            self.oval(x + wheel, y + 8, 13, 13, INK)
            self.oval(x + wheel, y + 8, 5, 5, GREY)


def darken(colour: Colour) -> Colour:
    """The colour a fifth darker."""
    red, green, blue = (int(value * 0.8) for value in colour)
    return red, green, blue
