"""Three tales: a seed, a letter, an umbrella. Each needs several of its shots to be understood."""

from __future__ import annotations

import math

from minis.mmrv.stage import Scene, Story, StoryStage
from vivant_build.mimic.world.drawings.canvas import (
    BROWN,
    GREEN,
    GREY,
    INK,
    PURPLE,
    RED,
    WHITE,
    YELLOW,
    Face,
    between,
    ease,
)

_WALL = (225, 215, 195)
_WOOD = (170, 130, 95)
_STORM = (150, 165, 180)


# ── A seed that takes its time ───────────────────────────────────────────────────────────────────


def _gardener(stage: StoryStage, x: float, t: float, pours: bool, face: Face = "flat") -> None:
    lift = 70 if pours else 25
    _, hand = stage.person(x, 205, (220, 120, 150), face=face, arms=(10, lift), long_hair=True)
    stage.box(hand[0] - 2, hand[1] - 6, hand[0] + 12, hand[1] + 6, (90, 130, 170), 1, 2)
    stage.line(
        [(hand[0] + 12, hand[1]), (hand[0] + 20, hand[1] - 6 + (8 if pours else 0))], (90, 130, 170), 2
    )
    if pours:
        for drop in range(5):
            fall = (t * 6 + drop / 5) % 1
            stage.oval(hand[0] + 22 + fall * 3, hand[1] + 4 + fall * 26, 1.6, 2.4, (70, 130, 220))


def _mound(stage: StoryStage, x: float = 190) -> None:
    stage.oval(x, 208, 18, 6, BROWN)


def _plant(stage: StoryStage, t: float) -> None:
    stage.sun(50, 45)
    _mound(stage)
    _, hand = stage.person(
        150, 205, (220, 120, 150), arms=(10, between(60, 40, ease(t))), long_hair=True, face="smile"
    )
    stage.oval(
        between(hand[0] + 6, 190, ease(t, 0.3, 0.9)), between(hand[1], 203, ease(t, 0.3, 0.9)), 3, 4, INK
    )


def _day(number: int) -> Scene:
    def draw(stage: StoryStage, t: float) -> None:
        stage.sun(between(30, 300, t), 60 - 25 * math.sin(t * math.pi))
        _mound(stage)
        stage.sign(280, 110, f"DAY {number}", 62)
        _gardener(stage, 140, t, pours=True)
        if number == 20:
            stage.person(
                between(330, 235, ease(t, 0, 0.5)),
                205,
                GREEN,
                facing=-1,
                walk=t * 3 if t < 0.5 else None,
                arms=(-70 if t > 0.5 else 10, 20),
                face="smile",
            )
            if t > 0.5:
                stage.sign(235, 92, "HA HA", 54)

    return Scene(1.2, draw)


def _orchard(stage: StoryStage, t: float) -> None:
    stage.sign(285, 60, "DAY 900", 66)
    stage.tree(180, 206, 1.5, fruit=9)
    give = ease(t, 0.3, 0.8)
    _, hand = stage.person(
        110, 205, (220, 120, 150), arms=(10, between(20, 80, give)), long_hair=True, face="smile"
    )
    x = between(hand[0], 222, ease(t, 0.6, 1.0))
    stage.person(
        245, 205, GREEN, facing=-1, arms=(-75 if t > 0.5 else 10, 15), face="wow" if t < 0.7 else "smile"
    )
    stage.oval(x, hand[1], 5, 5, RED)


SEED = Story("The Seed.mp4", (Scene(1.4, _plant), _day(1), _day(20), _day(60), Scene(2.0, _orchard)))


# ── A letter by balloon ──────────────────────────────────────────────────────────────────────────


def _balloon(stage: StoryStage, x: float, y: float) -> None:
    stage.line([(x, y + 14), (x - 2, y + 38)], INK, 1)
    stage.oval(x, y, 12, 15, RED)
    stage.box(x - 10, y + 38, x + 6, y + 49, WHITE, 1)


def _writes(stage: StoryStage, t: float) -> None:
    stage.box(20, 60, 75, 120, (150, 190, 220), 2)
    stage.box(130, 160, 230, 166, _WOOD)
    stage.box(140, 166, 146, 205, _WOOD)
    stage.box(214, 166, 220, 205, _WOOD)
    stage.person(130, 208, YELLOW, size=0.85, sit=True, arms=(40, 62 + 6 * math.sin(t * 30)), face="sad")
    stage.box(165, 154, 185, 160, WHITE, 1)
    stage.sign(250, 60, "TO: ANYONE", 96, 24, 13)


def _release(stage: StoryStage, t: float) -> None:
    stage.house(60, 190, _WALL)
    stage.person(150, 205, YELLOW, size=0.8, arms=(10, 150), face="flat")
    _balloon(stage, between(165, 230, t), between(90, -30, ease(t)))


def _over_mountains(stage: StoryStage, t: float) -> None:
    for x, top in ((60, 90), (150, 70), (250, 100)):
        stage.hill(x, top, 200, 90, (120, 130, 150))
        stage.hill(x, top, top + 24, 20, WHITE)
    _balloon(stage, between(-20, 340, t), 50 + 8 * math.sin(t * 9))


def _over_sea(stage: StoryStage, t: float) -> None:
    for wave in range(6):
        stage.arc(30 + wave * 56, 205, 20, 200, 340, WHITE, 2)
    _balloon(stage, between(-20, 340, t), 60 + 10 * math.sin(t * 7))


def _found(stage: StoryStage, t: float) -> None:
    stage.house(250, 190, (200, 215, 190), PURPLE)
    for stem in (40, 60, 80):
        stage.line([(stem, 205), (stem, 190)], GREEN, 2)
        stage.oval(stem, 188, 4, 4, RED)
    near = ease(t, 0.2, 0.7)
    x = between(220, 170, near)
    _, hand = stage.person(
        x,
        205,
        PURPLE,
        facing=-1,
        hair=(225, 225, 225),
        walk=t * 4 if 0.2 < t < 0.7 else None,
        arms=(-40, -60),
        face="wow" if t < 0.75 else "smile",
    )
    if t < 0.7:
        _balloon(stage, 135, between(120, 155, ease(t, 0, 0.3)))
    else:
        stage.box(hand[0] - 10, hand[1] - 8, hand[0] + 6, hand[1] + 3, WHITE, 1)


def _visit(stage: StoryStage, t: float) -> None:
    stage.house(60, 190, _WALL)
    x = between(330, 215, ease(t, 0, 0.6))
    stage.person(
        x,
        205,
        PURPLE,
        facing=-1,
        hair=(225, 225, 225),
        walk=t * 4 if t < 0.6 else None,
        arms=(-60, 10),
        face="smile",
    )
    stage.oval(x - 26, 152, 10, 5, (215, 170, 100))
    stage.oval(x - 26, 147, 8, 4, (240, 210, 150))
    joy = ease(t, 0.5, 0.8)
    stage.person(
        130,
        205 - 10 * abs(math.sin(t * 14)) * joy,
        YELLOW,
        size=0.8,
        arms=(between(-10, -150, joy), between(10, 150, joy)),
        face="smile" if joy > 0.5 else "wow",
    )


LETTER = Story(
    "Balloon Letter.mp4",
    (
        Scene(1.3, _writes, sky=_WALL, ground=_WOOD, horizon=205),
        Scene(1.2, _release),
        Scene(1.0, _over_mountains, horizon=200),
        Scene(1.0, _over_sea, ground=(70, 120, 180), horizon=170),
        Scene(1.6, _found),
        Scene(1.8, _visit),
    ),
)


# ── The red umbrella ─────────────────────────────────────────────────────────────────────────────


def _street(stage: StoryStage) -> None:
    for x, wall in ((40, (160, 150, 150)), (120, (140, 145, 155)), (285, (150, 140, 145))):
        stage.box(x - 38, 60, x + 38, 185, wall)
        for row in range(3):
            stage.box(x - 18, 76 + row * 32, x - 4, 94 + row * 32, (200, 205, 190))
            stage.box(x + 6, 76 + row * 32, x + 20, 94 + row * 32, (200, 205, 190))


def _child_wet(stage: StoryStage, t: float) -> None:
    _street(stage)
    stage.person(205, 205, YELLOW, size=0.7, face="sad", facing=-1, arms=(-5, 5))
    x = between(-20, 140, ease(t))
    _, hand = stage.person(x, 205, (90, 95, 110), walk=t * 4, arms=(-10, 130))
    stage.umbrella(hand[0], hand[1] + 8)
    stage.rain(t)


def _gives(stage: StoryStage, t: float) -> None:
    _street(stage)
    passed = ease(t, 0.1, 0.45)
    leaves = ease(t, 0.5, 1.0)
    x = between(160, -30, leaves)
    stage.person(
        x,
        205,
        (90, 95, 110),
        facing=1 if t < 0.5 else -1,
        walk=t * 5 if t > 0.5 else None,
        arms=(-10, between(130, 80, passed) if t < 0.5 else 15),
        face="smile",
    )
    stage.person(205, 205, YELLOW, size=0.7, face="wow" if t < 0.5 else "smile", facing=-1, arms=(-120, 5))
    stage.umbrella(between(180, 190, passed), between(165, 172, passed))
    stage.rain(t)


def _years(stage: StoryStage, t: float) -> None:
    stage.text(160, 105, "TWENTY", 26, WHITE)
    stage.text(160, 137, "YEARS LATER", 26, WHITE)
    stage.line([(60, 165), (between(60, 260, t), 165)], WHITE, 2)


def _again(stage: StoryStage, t: float) -> None:
    _street(stage)
    near = ease(t, 0.0, 0.4)
    passed = ease(t, 0.45, 0.65)
    leaves = ease(t, 0.7, 1.0)
    stage.person(215, 205, (90, 95, 110), hair=(230, 230, 230), facing=-1, arms=(-130 * passed - 5, 5),
                 face="sad" if t < 0.5 else "smile")  # fmt: skip
    x = between(between(-20, 150, near), -30, leaves)
    _, hand = stage.person(
        x,
        205,
        YELLOW,
        facing=1 if t < 0.7 else -1,
        walk=t * 5 if t < 0.4 or t > 0.7 else None,
        arms=(-10, 130 if t < 0.55 else 15),
        face="smile",
    )
    if passed < 0.5:
        stage.umbrella(hand[0], hand[1] + 8)
    else:
        stage.umbrella(193, 160)
    stage.rain(t)


UMBRELLA = Story(
    "The Red Umbrella.mp4",
    (
        Scene(1.5, _child_wet, sky=_STORM, ground=GREY, horizon=185),
        Scene(1.8, _gives, sky=_STORM, ground=GREY, horizon=185),
        Scene(1.0, _years, sky=INK, ground=None),
        Scene(2.4, _again, sky=_STORM, ground=GREY, horizon=185),
    ),
)

STORIES = (SEED, LETTER, UMBRELLA)
