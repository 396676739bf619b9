"""Five stories of screen and street: a trick, three cups, an advertisement, a cat, a morning."""

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
    PURPLE,
    RED,
    SKIN,
    WHITE,
    YELLOW,
    Face,
    between,
    ease,
)

_CURTAIN = (120, 30, 45)
_WALL = (225, 215, 195)
_WOOD = (170, 130, 95)


# ── The coin ─────────────────────────────────────────────────────────────────────────────────────


def _curtain(stage: StoryStage) -> None:
    for fold in range(9):
        stage.box(fold * 38, 0, fold * 38 + 16, 190, (135, 38, 55))
    stage.sign(55, 24, "LIVE", 48)


def _hat(stage: StoryStage, x: float, y: float) -> None:
    stage.box(x - 16, y, x + 16, y + 4, INK)
    stage.box(x - 11, y - 18, x + 11, y + 1, INK)


def _wizard(
    stage: StoryStage, arms: tuple[float, float], face: Face = "flat"
) -> tuple[tuple[float, float], ...]:
    hands = stage.person(160, 215, (45, 45, 60), arms=arms, face=face, size=1.2)
    _hat(stage, 160, 112)
    return hands


def _shows_coin(stage: StoryStage, t: float) -> None:
    _curtain(stage)
    hands = _wizard(stage, (-80, 80 + 10 * math.sin(t * 8)))
    stage.oval(hands[1][0] + 4, hands[1][1] - 6, 6, 6, YELLOW, 1)


def _close_up(stage: StoryStage, t: float) -> None:
    """The hand seen from near: the coin slides into the sleeve while the cloth passes before it."""
    stage.box(190, 90, 320, 160, (45, 45, 60))
    stage.box(180, 84, 200, 166, (70, 70, 90))
    stage.oval(150, 125, 42, 30, SKIN, 1.5)
    for finger in range(4):
        stage.line([(120, 108 + finger * 11), (92 + 8 * ease(t, 0.1, 0.3), 106 + finger * 12)], SKIN, 9)
    slide = ease(t, 0.35, 0.75)
    x = between(140, 212, slide)
    if slide < 0.95:
        stage.oval(x, 125, 15, 15, YELLOW, 1.5)
        if x > 180:
            stage.box(180, 90, 240, 160, (45, 45, 60))
            stage.box(180, 84, 200, 166, (70, 70, 90))
    wave = between(-90, 60, ease(t, 0.0, 0.9))
    stage.shape([(wave, 30), (wave + 70, 20), (wave + 80, 95), (wave + 8, 100)], PURPLE)


def _empty_hand(stage: StoryStage, t: float) -> None:
    _curtain(stage)
    _wizard(stage, (-80 - 10 * t, 80 + 10 * t), "smile")
    for place in range(5):
        stage.person(25 + place * 68, 262, (90, 80, 120), face="wow", size=0.7)
    stage.sign(250, 60, "GONE!", 66)


def _from_hat(stage: StoryStage, t: float) -> None:
    _curtain(stage)
    lift = ease(t, 0, 0.5)
    hands = stage.person(160, 215, (45, 45, 60), arms=(-60, between(80, 150, lift)), face="smile", size=1.2)
    x, y = between(160, hands[1][0] + 14, lift), between(112, hands[1][1] - 2, lift)
    if t > 0.5:
        stage.oval(x + 4, y + between(-8, 40, ease(t, 0.5, 0.9)), 6, 6, YELLOW, 1)
    _hat(stage, x, y)
    for place in range(5):
        stage.person(25 + place * 68, 262, (90, 80, 120), face="smile", size=0.7, arms=(-150, 150))


COIN = Story(
    "Coin on Stage.mp4",
    (
        Scene(1.4, _shows_coin, sky=_CURTAIN, ground=_WOOD, horizon=205),
        Scene(2.0, _close_up, sky=_CURTAIN, ground=None),
        Scene(1.4, _empty_hand, sky=_CURTAIN, ground=_WOOD, horizon=205),
        Scene(1.6, _from_hat, sky=_CURTAIN, ground=_WOOD, horizon=205),
    ),
)


# ── Three cups ───────────────────────────────────────────────────────────────────────────────────

_ROOM = (70, 80, 120)
_PLACES = (80.0, 160.0, 240.0)


def _cup(stage: StoryStage, x: float, y: float) -> None:
    stage.shape([(x - 16, y), (x - 11, y - 40), (x + 11, y - 40), (x + 16, y)], (60, 140, 160))


def _table(stage: StoryStage) -> None:
    stage.sign(160, 24, "WHERE IS IT?", 110)
    stage.box(20, 190, 300, 200, _WOOD)
    stage.box(40, 200, 48, 240, _WOOD)
    stage.box(272, 200, 280, 240, _WOOD)


def _hide(stage: StoryStage, t: float) -> None:
    _table(stage)
    stage.oval(_PLACES[0], 182, 8, 8, RED)
    for x in _PLACES:
        _cup(stage, x, 190 - 50 * (1 - ease(t, 0.3, 0.8)))


def _swap(first: int, second: int) -> Scene:
    def draw(stage: StoryStage, t: float) -> None:
        _table(stage)
        share = ease(t, 0.1, 0.9)
        for place, x in enumerate(_PLACES):
            goal = {first: _PLACES[second], second: _PLACES[first]}.get(place, x)
            arc = math.sin(share * math.pi) * (26 if place == first else -14 if place == second else 0)
            _cup(stage, between(x, goal, share), 190 - max(arc, -6))

    return Scene(1.2, draw, sky=_ROOM, ground=None)


def _guess(stage: StoryStage, t: float) -> None:
    _table(stage)
    lift = 46 * ease(t, 0.4, 0.7)
    for place, x in enumerate(_PLACES):
        _cup(stage, x, 190 - (lift if place == 0 else 0))
    hand = between(-10, 52, ease(t, 0, 0.3))
    stage.line([(-20, 110), (hand, 140)], BLUE, 12)
    stage.oval(hand, 140, 8, 8, SKIN)
    stage.line([(hand, 140), (hand + 14, 148)], SKIN, 5)
    if t > 0.6:
        stage.sign(80, 90, "WRONG", 66)


CUPS = Story(
    "Three Cups.mp4",
    (
        Scene(1.6, _hide, sky=_ROOM, ground=None),
        _swap(0, 1),
        _swap(1, 2),
        _swap(0, 1),
        Scene(1.6, _guess, sky=_ROOM, ground=None),
    ),
)

# ── An advertisement ─────────────────────────────────────────────────────────────────────────────


def _shirt(stage: StoryStage, x: float, y: float, dirt: float, scale: float = 1.0) -> None:
    white = 250 - int(40 * dirt)
    s = scale
    outline = [(-30, -30), (-50, -8), (-38, 2), (-28, -8), (-28, 45), (28, 45), (28, -8), (38, 2), (50, -8),
               (30, -30), (10, -30), (0, -22), (-10, -30)]  # fmt: skip
    stage.shape([(x + dx * s, y + dy * s) for dx, dy in outline], (white, white, white - int(20 * dirt)))
    for dx, dy, r in ((-12, 0, 9), (10, 14, 11), (-4, 30, 7), (16, -10, 6)):
        if dirt > 0.05:
            stage.oval(x + dx * s, y + dy * s, r * s * dirt, r * s * dirt, (120, 90, 60))


def _box_of_soap(stage: StoryStage, x: float, y: float) -> None:
    stage.box(x - 26, y - 36, x + 26, y + 36, BLUE, 2, 3)
    stage.oval(x, y - 8, 20, 14, YELLOW)
    stage.text(x, y - 8, "BRITE", 12)
    stage.text(x, y + 22, "SOAP", 12, WHITE)


def _muddy(stage: StoryStage, t: float) -> None:
    stage.person(75, 210, (220, 120, 150), face="sad", long_hair=True, arms=(-130, 130))
    _shirt(stage, 210, 120 + 3 * math.sin(t * 6), 1.0, 1.2)


def _wash(stage: StoryStage, t: float) -> None:
    _box_of_soap(stage, between(-30, 90, ease(t, 0, 0.4)), 110)
    stage.box(160, 120, 280, 200, GREY, 2, 8)
    stage.oval(220, 160, 30, 30, (180, 215, 240), 2)
    for bubble in range(9):
        rise = (t * 1.5 + bubble / 9) % 1
        stage.oval(160 + (bubble * 41) % 120, 120 - rise * 100, 5 + bubble % 4, 5 + bubble % 4, WHITE, 1)


def _shining(stage: StoryStage, t: float) -> None:
    stage.person(75, 210, (220, 120, 150), face="smile", long_hair=True, arms=(-150, 150))
    _shirt(stage, 210, 120, 0.0, 1.2)
    for star in range(5):
        size = 6 * abs(math.sin(t * 8 + star))
        x, y = 165 + (star * 37) % 95, 80 + (star * 53) % 90
        stage.line([(x - size, y), (x + size, y)], YELLOW, 2)
        stage.line([(x, y - size), (x, y + size)], YELLOW, 2)


def _offer(stage: StoryStage, t: float) -> None:
    _box_of_soap(stage, 90, 120)
    stage.text(215, 80, "BRITE", 36, BLUE)
    stage.text(215, 118, "ONLY 2.99", 22, RED)
    if t > 0.4:
        stage.text(215, 150, "in shops now", 16, INK)


AD = Story(
    "Bright Side.mp4",
    (
        Scene(1.4, _muddy, sky=(200, 195, 190)),
        Scene(1.6, _wash, sky=(170, 205, 225), ground=WHITE, horizon=200),
        Scene(1.4, _shining, sky=(215, 235, 250)),
        Scene(1.6, _offer, sky=(250, 245, 220), ground=None),
    ),
    notes=(262, 262, 330, 330, 392, 392, 523, 523, 440, 523, 587, 659, 784, 784, 1047, 1047),
)


# ── The cat ──────────────────────────────────────────────────────────────────────────────────────


def _poster(stage: StoryStage, x: float, y: float) -> None:
    stage.box(x - 26, y - 30, x + 26, y + 30, WHITE, 1.5)
    stage.text(x, y - 20, "LOST", 12, RED)
    stage.cat(x - 4, y + 20, facing=1)


def _nails(stage: StoryStage, t: float) -> None:
    stage.box(218, 40, 226, 205, BROWN)
    _poster(stage, 222, 105)
    stage.person(175, 205, PURPLE, long_hair=True, face="sad", arms=(-10, 95 + 15 * math.sin(t * 25)))
    stage.cat(between(-20, 90, ease(t, 0.4, 1.0)), 207, step=t * 4)


def _park(stage: StoryStage, t: float) -> None:
    for trunk in (60, 170, 280):
        stage.tree(trunk, 190, 1.0)
    x = between(60, 300, t)
    stage.person(x, 210, PURPLE, long_hair=True, face="sad", walk=t * 4, arms=(-20, 120))
    stage.cat(x - 62, 212, step=t * 6)
    stage.sign(min(x + 20, 270), 105, "KITTY?", 60)


def _night_street(stage: StoryStage, t: float) -> None:
    stage.moon(275, 40)
    for wall in (50, 130, 210):
        stage.box(wall - 34, 80, wall + 34, 190, (60, 60, 90))
    x = between(40, 260, t)
    _, hand = stage.person(x, 210, PURPLE, long_hair=True, face="sad", walk=t * 4, arms=(-10, 60))
    stage.shape([hand, (hand[0] + 60, hand[1] - 16), (hand[0] + 60, hand[1] + 26)], (240, 230, 150))
    stage.cat(x - 58, 212, step=t * 6)


def _turns(stage: StoryStage, t: float) -> None:
    stage.house(250, 195, (200, 190, 215), PURPLE, 80)
    turned = t > 0.5
    stage.person(
        175, 208, PURPLE, long_hair=True, facing=-1 if turned else 1, face="wow" if turned else "sad",
        arms=(-60, 10) if turned else (-10, 20),
    )  # fmt: skip
    stage.cat(115, 210)
    if t > 0.7:
        stage.sign(115, 160, "MEOW", 54)


CAT = Story(
    "Where Is Kitty.mp4",
    (
        Scene(1.6, _nails),
        Scene(1.6, _park),
        Scene(1.6, _night_street, sky=NIGHT, ground=(50, 48, 70), horizon=190),
        Scene(1.6, _turns),
    ),
)


# ── The morning ──────────────────────────────────────────────────────────────────────────────────


def _wakes(stage: StoryStage, t: float) -> None:
    stage.box(240, 30, 300, 90, WHITE, 2)
    stage.box(240, 30, 300, 46, RED)
    stage.text(270, 68, "SUN", 18)
    stage.clock(60, 60, 22, 9.0)
    stage.box(60, 160, 220, 190, (200, 200, 215), 1, 6)
    up = ease(t, 0.3, 0.6)
    if up < 0.3:
        stage.oval(90, 154, 14, 12, SKIN)
        stage.oval(82, 149, 10, 9, BROWN)
        stage.box(108, 148, 220, 185, GREEN, round_=8)
    else:
        stage.person(150, 208 - 14 * math.sin(up * math.pi), WHITE, face="wow", arms=(-150, 150))


def _dressed(stage: StoryStage, x: float, t: float, face: Face) -> None:
    stage.person(
        x, 210, (80, 90, 120), face=face, walk=t * 6 if face == "wow" else None,
        arms=(-50, 60),
    )  # fmt: skip
    stage.line([(x, 154), (x - 2, 172)], RED, 3)


def _dashes(stage: StoryStage, t: float) -> None:
    for x, wall in ((50, (190, 170, 160)), (150, (170, 180, 160)), (255, (175, 165, 185))):
        stage.box(x - 40, 70, x + 40, 190, wall)
    stage.box(20, 100, 80, 118, WHITE, 1)
    stage.text(50, 109, "CLOSED", 12)
    stage.box(225, 100, 285, 118, WHITE, 1)
    stage.text(255, 109, "CLOSED", 12)
    _dressed(stage, between(-20, 340, t), t, "wow")


def _office(stage: StoryStage, t: float) -> None:
    stage.box(130, 40, 300, 205, (150, 160, 175), 2)
    stage.sign(215, 60, "OFFICE", 80)
    for row in range(2):
        for column in range(3):
            stage.box(145 + column * 52, 84 + row * 34, 175 + column * 52, 106 + row * 34, (70, 75, 90))
    stage.box(195, 155, 235, 205, BROWN, 1)
    _dressed(stage, between(60, 165, ease(t, 0, 0.3)), t, "wow" if t < 0.5 else "sad")
    stage.line([(226, 178), (226 + 3 * math.sin(t * 60) * (t < 0.5), 186)], YELLOW, 3)


def _laughs(stage: StoryStage, t: float) -> None:
    stage.sun(270, 45)
    stage.tree(250, 195, 1.1)
    stage.box(80, 190, 190, 196, _WOOD)
    stage.box(90, 196, 96, 214, _WOOD)
    stage.box(174, 196, 180, 214, _WOOD)
    bounce = 2 * abs(math.sin(t * 14))
    _, hand = stage.person(130, 212 - bounce, (80, 90, 120), sit=True, face="smile", arms=(-30, 100))
    stage.line([(126, 166 - bounce), (112, 176)], RED, 3)
    stage.shape([(hand[0] - 6, hand[1] - 8), (hand[0] + 6, hand[1] - 8), (hand[0], hand[1] + 8)], ORANGE)
    stage.oval(hand[0], hand[1] - 11, 7, 6, (250, 190, 200))


SUNDAY = Story(
    "Late Again.mp4",
    (
        Scene(1.6, _wakes, sky=_WALL, ground=_WOOD, horizon=195),
        Scene(1.3, _dashes, ground=GREY, horizon=190),
        Scene(1.7, _office, ground=GREY, horizon=200),
        Scene(1.5, _laughs),
    ),
)

STORIES = (COIN, CUPS, AD, CAT, SUNDAY)
