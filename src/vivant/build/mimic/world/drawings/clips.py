"""A clip: a backdrop, and what happens before it between the times 0 and 1. Other files here draw them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from PIL import Image

from vivant.build.mimic.world.drawings.canvas import GRASS, Colour, Stage

SIZE = (192, 144)

Draw = Callable[[Stage, float], None]
CLIPS: dict[str, Clip] = {}
"""All clips by name, filled by the modules that draw them."""

WOOD: Colour = (196, 152, 104)
KITCHEN: Colour = (247, 236, 214)
ROOM: Colour = (226, 214, 236)
DARK: Colour = (30, 28, 44)
SEA: Colour = (58, 128, 178)
ROAD: Colour = (92, 94, 102)
SAND: Colour = (232, 204, 150)
TEAL: Colour = (60, 160, 160)
PINK: Colour = (238, 130, 170)


class Clip(Struct, frozen=True):
    """How to draw one clip."""

    draw: Draw
    sky: Colour
    ground: Colour | None
    horizon: float


def clip(sky: Colour, ground: Colour | None = GRASS, horizon: float = 180) -> Callable[[Draw], Draw]:
    """Register a drawing function under its name."""

    def register(draw: Draw) -> Draw:
        CLIPS[draw.__name__.replace("_", "-")] = Clip(draw, sky, ground, horizon)
        return draw

    return register


def load_clips() -> dict[str, Clip]:
    """All clips by name."""
    for module in ("home", "outdoors", "shows"):
        import_module(f"{__package__}.{module}")
    return dict(CLIPS)


def draw(made: Clip, time: float) -> NDArray[np.uint8]:
    """The clip at a time from 0 to 1."""
    stage = Stage(made.sky, made.ground, made.horizon)
    made.draw(stage, time)
    return np.asarray(stage.picture().resize(SIZE, Image.Resampling.LANCZOS))
