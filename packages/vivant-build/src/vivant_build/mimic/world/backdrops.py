"""Backdrops: what lies behind a drawn clip. Two colours and a pattern, drawn from a seed."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from PIL import Image

Floats = NDArray[np.float32]
Colour = tuple[float, float, float]


class Backdrop(Struct, frozen=True, kw_only=True):
    """A pattern of two colours."""

    pattern: str
    colours: tuple[Colour, Colour]
    angle: float
    """In radians."""
    period: float
    """Length of a repeat, as a share of the picture's height."""
    phase: float
    seed: int
    """Of the pattern's own chance, where it has one."""


def draw_backdrop(rng: np.random.Generator, patterns: tuple[str, ...]) -> Backdrop:
    """A backdrop by chance, of one of the patterns."""
    return Backdrop(
        pattern=patterns[int(rng.integers(len(patterns)))],
        colours=(_draw_colour(rng), _draw_colour(rng)),
        angle=float(rng.uniform(0, math.pi)),
        period=float(rng.uniform(0.2, 0.6)),
        phase=float(rng.random()),
        seed=int(rng.integers(1 << 31)),
    )


def _draw_colour(rng: np.random.Generator) -> Colour:
    hue, saturation, value = rng.random(), rng.uniform(0.1, 0.75), rng.uniform(0.2, 1.0)
    red, green, blue = (255 * part for part in colorsys.hsv_to_rgb(hue, saturation, value))
    return red, green, blue


def paint_backdrop(backdrop: Backdrop, size: tuple[int, int]) -> Floats:
    """The backdrop as a picture of that width and height, from 0 to 255."""
    width, height = size
    y, x = np.mgrid[0:height, 0:width].astype(np.float32) / height
    cos, sin = math.cos(backdrop.angle), math.sin(backdrop.angle)
    along = (x * cos + y * sin) / backdrop.period + backdrop.phase
    across = (y * cos - x * sin) / backdrop.period + backdrop.phase
    share = PATTERNS[backdrop.pattern](along, across, backdrop)[..., None]
    first, second = (np.array(colour, np.float32) for colour in backdrop.colours)
    return np.asarray(first * (1 - share) + second * share, np.float32)


def _wave(turns: Floats) -> Floats:
    return np.asarray(np.sin(2 * np.pi * turns), np.float32)


def _sharpen(values: Floats) -> Floats:
    """Values around 0 to shares from 0 to 1 with soft edges."""
    return np.asarray(np.clip(0.5 + 3 * values, 0, 1), np.float32)


def _spread(values: Floats) -> Floats:
    low, high = float(values.min()), float(values.max())
    return (values - low) / max(high - low, 1e-6)


def _cloud(along: Floats, _across: Floats, backdrop: Backdrop) -> Floats:
    coarse = np.random.default_rng(backdrop.seed).random((5, 6)).astype(np.float32)
    height, width = along.shape
    picture = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    return np.asarray(np.clip(np.asarray(picture), 0, 1), np.float32)


Pattern = Callable[[Floats, Floats, Backdrop], Floats]
PATTERNS: dict[str, Pattern] = {
    "plain": lambda along, _across, _: np.zeros_like(along),
    "gradient": lambda along, _across, _: _spread(along),
    "stripes": lambda along, _across, _: _sharpen(_wave(along)),
    "spots": lambda along, across, _: _sharpen(_wave(along) * _wave(across) - 0.3),
    "clouds": _cloud,
    "checks": lambda along, across, _: _sharpen(4 * _wave(along) * _wave(across)),
    "rings": lambda along, across, _: _sharpen(_wave(np.hypot(along - 1, across))),
    "waves": lambda along, across, _: _sharpen(_wave(along + 0.2 * _wave(across))),
    "bands": lambda along, _across, _: (along % 1).astype(np.float32),
}
"""From how far along and across a repeat each pixel lies to its share of the second colour."""
