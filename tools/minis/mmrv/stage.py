"""What MMR-V-mini's stories need beside the shapes of MIMIC's clips: shots, and three more things to draw."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from vivant_build.mimic.world.drawings.canvas import (
    BLUE,
    DAY,
    GRASS,
    INK,
    ORANGE,
    WHITE,
    Colour,
    Stage,
    darken,
)


class StoryStage(Stage):
    """One frame of a story."""

    def bird(self, x: float, y: float, flap: float, fill: Colour = BLUE, facing: int = 1) -> None:
        wing = math.sin(flap * 2 * math.pi) * 12
        self.oval(x, y, 10, 6, fill)
        self.oval(x + facing * 9, y - 5, 5, 5, fill)
        self.shape([(x + facing * 13, y - 6), (x + facing * 20, y - 4), (x + facing * 13, y - 2)], ORANGE)
        self.shape([(x - 6, y - 2), (x + 5, y - 2), (x - 3, y - 4 - wing)], darken(fill))
        self.shape([(x - facing * 8, y), (x - facing * 18, y - 4), (x - facing * 18, y + 4)], darken(fill))
        self.oval(x + facing * 10, y - 6, 1.1, 1.1, INK)

    def clock(self, x: float, y: float, r: float, hours: float) -> None:
        self.oval(x, y, r, r, WHITE, 2)
        for hand, reach, width in ((hours / 12, 0.5, 2.5), (hours % 1, 0.8, 1.5)):
            angle = hand * 2 * math.pi
            self.line(
                [(x, y), (x + math.sin(angle) * r * reach, y - math.cos(angle) * r * reach)], INK, width
            )

    def sign(self, x: float, y: float, words: str, w: float = 70, h: float = 24, size: float = 14) -> None:
        self.box(x - w / 2, y - h / 2, x + w / 2, y + h / 2, WHITE, 1.5, 3)
        self.text(x, y, words, size)


class Scene(Struct, frozen=True):
    """A shot: how long it lasts, and how to draw it at a time from 0 to 1."""

    seconds: float
    draw: Callable[[StoryStage, float], None]
    sky: Colour = DAY
    ground: Colour | None = GRASS
    horizon: float = 180


class Story(Struct, frozen=True):
    """A video: its file name, its shots, and the notes (in hertz, each equally long) of its sound track."""

    name: str
    scenes: tuple[Scene, ...]
    notes: tuple[float, ...] = ()
    quality: int = 20
    """x264's crf."""
