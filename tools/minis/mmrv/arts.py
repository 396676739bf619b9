"""Two works of art: a painting that finds its colours, and a dance of two shapes that runs backwards."""

from __future__ import annotations

import math

from minis.mmrv.stage import Scene, Story, StoryStage
from vivant_build.mimic.world.drawings.canvas import (
    BLUE,
    BROWN,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    RED,
    WHITE,
    YELLOW,
    Face,
    between,
    ease,
)

_RAINBOW = (RED, ORANGE, YELLOW, GREEN, BLUE, PURPLE)


# ── The grey painter ─────────────────────────────────────────────────────────────────────────────


def _canvas(stage: StoryStage, strokes: int, coloured: int) -> None:
    stage.line([(195, 205), (225, 60), (255, 205)], BROWN, 4)
    stage.box(170, 70, 285, 160, WHITE, 2)
    for stroke in range(strokes):
        colour = _RAINBOW[stroke] if stroke < coloured else (120 + stroke * 12,) * 3
        stage.arc(227, 150, 54 - stroke * 7, 190, 350, (colour[0], colour[1], colour[2]), 6)


def _painter(stage: StoryStage, t: float, face: Face, lift: float = 95) -> None:
    _, hand = stage.person(120, 208, GREY, arms=(-20, lift + 12 * math.sin(t * 16)), face=face)
    stage.line([hand, (hand[0] + 16, hand[1] - 6)], BROWN, 2)
    stage.shape([(108, 118), (132, 112), (136, 120), (112, 124)], GREY)


def _paints_grey(stage: StoryStage, t: float) -> None:
    _canvas(stage, int(t * 6.99), 0)
    _painter(stage, t, "sad")


def _gives_up(stage: StoryStage, t: float) -> None:
    _canvas(stage, 6, 0)
    _painter(stage, 0.0, "sad", between(95, 15, ease(t, 0, 0.4)))


def _note(stage: StoryStage, x: float, y: float, colour: tuple[int, int, int]) -> None:
    stage.oval(x, y, 5, 4, colour)
    stage.line([(x + 4, y), (x + 4, y - 16), (x + 11, y - 13)], colour, 2)


def _plays(stage: StoryStage, t: float) -> None:
    """A girl with a violin comes; with every note that reaches the canvas a stroke takes on its colour."""
    _canvas(stage, 6, int(ease(t, 0.25, 1.0) * 6.99))
    _painter(stage, 0.0, "smile" if t > 0.4 else "sad", 15)
    x = between(-20, 45, ease(t, 0, 0.25))
    _, hand = stage.person(
        x, 208, YELLOW, size=0.85, long_hair=True, face="smile", arms=(60, 75 + 14 * math.sin(t * 22))
    )
    stage.oval(x + 14, 150, 10, 5, BROWN)
    stage.line([(hand[0] - 14, hand[1] + 8), (hand[0] + 8, hand[1] - 12)], INK, 1.5)
    for number in range(6):
        share = (t * 1.6 - 0.3 - number * 0.14) % 1.0
        if t > 0.25:
            _note(stage, between(70, 220, share), 110 - 45 * math.sin(share * math.pi), _RAINBOW[number])


def _finished(stage: StoryStage, t: float) -> None:
    for number in range(6):
        stage.arc(160, 190, 150 - number * 13, 180, 180 + 180 * ease(t, 0, 0.6), _RAINBOW[number], 12)
    stage.person(125, 214, RED, face="smile", arms=(-30, 60 + 80 * ease(t, 0.5, 0.9)))
    stage.person(195, 214, YELLOW, size=0.85, face="smile", facing=-1, long_hair=True, arms=(-140, 30))


PAINTER = Story(
    "Grey Canvas.mp4",
    (
        Scene(1.6, _paints_grey, sky=(190, 190, 192), ground=(150, 148, 148), horizon=195),
        Scene(1.0, _gives_up, sky=(175, 175, 178), ground=(140, 138, 138), horizon=195),
        Scene(2.4, _plays, sky=(205, 205, 200), ground=(165, 160, 150), horizon=195),
        Scene(1.8, _finished, sky=(225, 240, 250)),
    ),
    notes=(110, 104, 98, 104, 110, 98, 196, 247, 294, 392, 494, 587, 659, 784, 880, 988),
)


# ── The two shapes ───────────────────────────────────────────────────────────────────────────────


def _circle(stage: StoryStage, x: float, y: float, r: float = 26) -> None:
    stage.oval(x, y, r, r, ORANGE)


def _square(stage: StoryStage, x: float, y: float, turn: float, half: float = 24) -> None:
    corners = [turn + math.pi / 4 + corner * math.pi / 2 for corner in range(4)]
    reach = half * math.sqrt(2)
    stage.shape([(x + reach * math.cos(a), y + reach * math.sin(a)) for a in corners], BLUE)


def _meeting(stage: StoryStage, t: float) -> None:
    """From far apart, through a dance round one another, to one figure: the circle inside the square."""
    apart = between(115, 0, ease(t, 0.15, 0.95))
    round_ = 2.5 * math.pi * ease(t, 0.1, 0.95)
    dx, dy = apart * math.cos(round_), apart * 0.6 * math.sin(round_)
    _square(
        stage, 160 - dx, 120 - dy, round_ * 0.6 * (1 - ease(t, 0.8, 1.0)), between(24, 42, ease(t, 0.6, 1.0))
    )
    _circle(stage, 160 + dx, 120 + dy)


def _parting(stage: StoryStage, t: float) -> None:
    """The same pictures in the opposite order."""
    _meeting(stage, 1 - t)


def _alone(stage: StoryStage, t: float) -> None:
    """The circle waits on the right; on the left a shape falls, and breaks."""
    _circle(stage, 275, 120)
    fall = ease(t, 0.1, 0.5)
    if t < 0.55:
        _square(stage, 45, between(120, 215, fall), fall * 2)
        return
    for piece in range(6):
        spread = ease(t, 0.55, 0.9)
        _square(stage, 45 + (piece - 2.5) * 16 * spread, 222 - 10 * math.sin(piece + spread * 3), piece, 6)


SHAPES = Story(
    "Two Shapes.mp4",
    (
        Scene(2.4, _meeting, sky=(245, 240, 230), ground=None),
        Scene(2.4, _parting, sky=(245, 240, 230), ground=None),
        Scene(1.6, _alone, sky=(200, 195, 195), ground=None),
    ),
)

STORIES = (PAINTER, SHAPES)
