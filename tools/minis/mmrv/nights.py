"""Four stories that turn on themselves: a theft, a dream, a chase and a stone."""

from __future__ import annotations

import math

from minis.mmrv.stage import Scene, Story, StoryStage
from vivant_build.mimic.world.drawings.canvas import (
    BLUE,
    BROWN,
    GREEN,
    GREY,
    INK,
    NIGHT,
    ORANGE,
    RED,
    SKIN,
    WHITE,
    YELLOW,
    between,
    ease,
)

_WALL = (225, 215, 195)
_WOOD = (170, 130, 95)
_DUSK = (240, 170, 120)


# ── The night watch ──────────────────────────────────────────────────────────────────────────────


def _gem(stage: StoryStage, x: float, y: float) -> None:
    stage.shape([(x - 9, y - 4), (x - 4, y - 9), (x + 4, y - 9), (x + 9, y - 4), (x, y + 8)], (90, 215, 225))


def _guard(stage: StoryStage, x: float, feet: float, **pose: object) -> None:
    stage.person(x, feet, (50, 70, 130), **pose)  # type: ignore[arg-type]
    stage.box(x - 11, feet - 84, x + 13, feet - 79, (35, 45, 90))
    stage.box(x - 9, feet - 92, x + 9, feet - 82, (35, 45, 90), round_=3)
    stage.oval(x + 4, feet - 52, 3, 3, YELLOW)


def _hall(stage: StoryStage) -> None:
    stage.box(60, 40, 120, 90, (150, 120, 80), 2)
    stage.box(66, 46, 114, 84, (120, 160, 150))
    stage.sign(235, 40, "MUSEUM", 76)
    stage.box(185, 150, 225, 205, WHITE, 1)


def _on_duty(stage: StoryStage, t: float) -> None:
    _hall(stage)
    _gem(stage, 205, 141)
    _guard(stage, between(20, 130, ease(t, 0, 0.6)), 205, walk=t * 3 if t < 0.6 else None, face="flat")
    stage.clock(290, 80, 14, 11.9)


def _thief(stage: StoryStage, t: float) -> None:
    _hall(stage)
    stage.clock(290, 80, 14, 2.0)
    x = between(between(-20, 165, ease(t, 0, 0.5)), -30, ease(t, 0.65, 1.0))
    _, hand = stage.person(
        x,
        205,
        (35, 35, 40),
        hair=(35, 35, 40),
        skin=(60, 60, 68),
        facing=1 if t < 0.65 else -1,
        walk=t * 4,
        arms=(-10, 60 if 0.4 < t < 0.7 else 20),
    )
    stage.oval(x + 3, 135, 9, 4, SKIN)
    stage.oval(x + 1, 135, 1.5, 1.5, INK)
    stage.oval(x + 7, 135, 1.5, 1.5, INK)
    if t < 0.6:
        _gem(stage, 205, 141)
    else:
        _gem(stage, *hand)


def _at_home(stage: StoryStage, t: float) -> None:
    stage.clock(290, 50, 14, 3.0)
    stage.box(30, 70, 100, 205, BROWN, 2)
    if t > 0.35:
        stage.box(35, 75, 95, 205, (60, 45, 35))
        stage.box(50, 105, 80, 160, (50, 70, 130), round_=4)
        stage.oval(72, 118, 3, 3, YELLOW)
        stage.box(52, 84, 78, 94, (35, 45, 90), round_=3)
    bare = t > 0.2
    _, hand = stage.person(
        180,
        205,
        (35, 35, 40),
        hair=BROWN if bare else (35, 35, 40),
        skin=SKIN if bare else (60, 60, 68),
        facing=-1,
        arms=(-80 if t > 0.3 else -10, 50),
        face="smile",
    )
    _gem(stage, *hand)


def _morning(stage: StoryStage, t: float) -> None:
    _hall(stage)
    stage.clock(290, 80, 14, 8.0)
    stage.person(270, 205, (170, 60, 60), facing=-1, face="wow", arms=(-150, 150), hair=INK)
    _guard(stage, between(60, 130, ease(t)), 205, walk=t * 2, face="flat")
    stage.sign(205, 125, "?", 24)


MUSEUM = Story(
    "Night Watch.mp4",
    (
        Scene(1.4, _on_duty, sky=(95, 90, 110), ground=(80, 70, 75), horizon=200),
        Scene(2.0, _thief, sky=(55, 52, 70), ground=(48, 42, 48), horizon=200),
        Scene(1.8, _at_home, sky=(120, 110, 90), ground=_WOOD, horizon=205),
        Scene(1.4, _morning, sky=(205, 200, 190), ground=(150, 140, 140), horizon=200),
    ),
)


# ── A dream of bars ──────────────────────────────────────────────────────────────────────────────


def _bars(stage: StoryStage, x: float, y: float, w: float, h: float, open_: float = 0.0) -> None:
    for bar in range(int(w // 10) + 1):
        if not open_ or bar < 2:
            stage.line([(x + bar * 10, y), (x + bar * 10, y + h)], (90, 80, 40), 2)
    stage.line([(x, y), (x + w, y)], (90, 80, 40), 3)
    stage.line([(x, y + h), (x + w, y + h)], (90, 80, 40), 4)
    if open_:
        reach = x + w + 26 * open_
        stage.line([(x + w, y), (reach, y + 8), (reach, y + h - 4), (x + w, y + h)], (90, 80, 40), 2)


def _keeps(stage: StoryStage, t: float) -> None:
    stage.line([(90, 20), (90, 60)], INK, 2)
    stage.bird(88, 98, 0.25, BLUE)
    _bars(stage, 60, 60, 60, 55)
    stage.person(220, 205, (180, 120, 70), facing=-1, face="smile", arms=(-20 - 20 * t, 10))


def _asleep(stage: StoryStage, t: float) -> None:
    stage.moon(270, 45)
    stage.box(70, 150, 250, 185, (200, 200, 215), 1, 6)
    stage.box(70, 135, 78, 205, BROWN)
    stage.oval(105, 146, 14, 12, SKIN)
    stage.oval(97, 141, 10, 9, BROWN)
    stage.line([(106, 146), (112, 146)], INK, 1.5)
    stage.box(125, 140, 250, 180, (120, 90, 140), round_=8)
    for number in range(3):
        stage.text(130 + number * 16, 115 - number * 16 - 4 * math.sin(t * 6), "Z", 12 + number * 4, WHITE)


def _dream(stage: StoryStage, t: float) -> None:
    x = 110 + 18 * math.sin(t * 7)
    stage.person(x, 210, (180, 120, 70), face="sad", walk=t * 2, arms=(-60, 60 + 20 * math.sin(t * 20)))
    _bars(stage, 60, 60, 100, 155)
    stage.bird(between(230, 250, t), 120 + 6 * math.sin(t * 8), t * 3, BLUE, facing=-1)
    stage.oval(240, 150, 26, 8, (230, 200, 240))


def _opens(stage: StoryStage, t: float) -> None:
    stage.line([(90, 20), (90, 60)], INK, 2)
    stage.box(240, 40, 305, 110, (170, 215, 240), 2)
    open_ = ease(t, 0.1, 0.4)
    fly = ease(t, 0.45, 1.0)
    _bars(stage, 60, 60, 60, 55, open_)
    stage.person(175, 205, (180, 120, 70), facing=-1, face="smile", arms=(-110, 20 + 120 * fly))
    stage.bird(between(88, 275, fly), 98 - 50 * math.sin(fly * math.pi / 2), t * 4 if fly else 0.25, BLUE)


DREAM = Story(
    "The Open Cage.mp4",
    (
        Scene(1.4, _keeps, sky=_WALL, ground=_WOOD, horizon=205),
        Scene(1.3, _asleep, sky=NIGHT, ground=(70, 60, 60), horizon=205),
        Scene(1.7, _dream, sky=(190, 160, 205), ground=(165, 130, 185), horizon=215),
        Scene(2.0, _opens, sky=_WALL, ground=_WOOD, horizon=205),
    ),
)


# ── The chase ────────────────────────────────────────────────────────────────────────────────────


def _bag(stage: StoryStage, x: float, y: float) -> None:
    stage.oval(x, y, 15, 14, (190, 150, 70), 1)
    stage.box(x - 6, y - 20, x + 6, y - 10, (190, 150, 70), 1, 2)
    stage.text(x, y + 1, "$", 16)


def _run(hair: tuple[int, int, int], hours: float, tree: tuple[int, int, int]) -> Scene:
    def draw(stage: StoryStage, t: float) -> None:
        stage.clock(280, 40, 20, hours + t * 2)
        for place in range(4):
            stage.tree((place * 110 - t * 160) % 440 - 60, 190, 0.9, leaf=tree)
        pant = 3 * abs(math.sin(t * 12))
        stage.person(
            100 + 8 * math.sin(t * 5), 215 - pant, RED, hair=hair, walk=t * 5, arms=(-40, 80), face="flat"
        )
        _bag(stage, 200 + 10 * math.sin(t * 6), 150 + 6 * math.sin(t * 9))
        stage.line([(185, 150), (172, 152)], GREY, 1)
        stage.line([(186, 158), (170, 162)], GREY, 1)

    return Scene(1.3, draw)


def _friends(stage: StoryStage, t: float) -> None:
    stage.clock(280, 40, 20, 10.0)
    stage.tree(240, 200, 1.3)
    stage.box(190, 196, 270, 200, (200, 80, 80))
    stage.person(210, 214, GREEN, sit=True, face="smile", arms=(-40, 60))
    stage.person(
        255, 214, (220, 120, 150), sit=True, face="smile", facing=-1, long_hair=True, arms=(-130, 40)
    )
    stage.sign(226, 120, "JOIN US!", 70)
    x = between(-20, 350, t)
    stage.person(x, 225, RED, hair=(170, 170, 175), walk=t * 6, arms=(-40, 80), face="flat")
    _bag(stage, x + 90, 170)


def _empty(stage: StoryStage, t: float) -> None:
    stage.clock(280, 40, 20, 12.0)
    stage.person(120, 210, RED, hair=WHITE, face="sad", sit=t > 0.3, arms=(-10, 50))
    stage.shape([(160, 212), (170, 198), (196, 196), (206, 212)], (190, 150, 70))
    stage.oval(183, 197, 12, 3, INK)
    for leaf in range(4):
        stage.oval((leaf * 71 + t * 90) % 320, 60 + leaf * 25 + t * 60, 4, 2, ORANGE)


CHASE = Story(
    "The Chase.mp4",
    (
        _run(BROWN, 6.0, GREEN),
        _run((120, 105, 95), 8.0, (150, 170, 70)),
        Scene(1.5, _friends),
        _run((215, 215, 220), 10.0, ORANGE),
        Scene(1.8, _empty, sky=_DUSK, ground=(150, 120, 90)),
    ),
)


# ── The stone ────────────────────────────────────────────────────────────────────────────────────


def _slope(stage: StoryStage) -> None:
    stage.shape([(20, 225), (250, 90), (320, 90), (320, 240), (20, 240)], (130, 115, 105))


def _on_slope(share: float) -> tuple[float, float]:
    return between(60, 245, share), between(202, 93, share)


def _push(tries: int) -> Scene:
    def draw(stage: StoryStage, t: float) -> None:
        _slope(stage)
        stage.sign(50, 40, f"TRY {tries}", 58)
        up = ease(t, 0, 0.55) if t < 0.6 else 1 - ease(t, 0.6, 0.95)
        x, y = _on_slope(up)
        man, feet = _on_slope(ease(t, 0, 0.55) - 0.13 if t < 0.6 else 0.87)
        stage.person(
            man, feet, BLUE, walk=t * 4 if t < 0.55 else None, arms=(80, 70) if t < 0.6 else (-150, 150),
            face="flat" if t < 0.6 else "wow",
        )  # fmt: skip
        stage.oval(x + 10, y - 12, 20, 20, GREY, 1.5)
        angle = up * 9
        stage.line([(x + 10, y - 12), (x + 10 + 15 * math.cos(angle), y - 12 + 15 * math.sin(angle))], INK, 2)

    return Scene(1.5, draw)


def _rest(stage: StoryStage, t: float) -> None:
    stage.sun(90, between(90, 150, t), 22)
    stage.shape([(0, 200), (320, 185), (320, 240), (0, 240)], (110, 90, 85))
    stage.oval(190, 183, 21, 21, GREY, 1.5)
    stage.person(188, 196, BLUE, sit=True, facing=-1, face="smile", arms=(-20, 30 + 70 * ease(t, 0.3, 0.7)))
    if t > 0.45:
        stage.bird(225, 128, t * 2, ORANGE, facing=-1)


STONE = Story(
    "The Stone.mp4",
    (_push(1), _push(2), _push(99), Scene(2.0, _rest, sky=_DUSK, ground=None)),
)

STORIES = (MUSEUM, DREAM, CHASE, STONE)
