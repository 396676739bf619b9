"""Clips of the kitchen, of pets, of the workshop and of the mirror."""

from __future__ import annotations

import math

from vivant.build.mimic.world.drawings.canvas import (
    BLUE,
    BROWN,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    RED,
    SKIN,
    WHITE,
    YELLOW,
    Stage,
    between,
    ease,
)
from vivant.build.mimic.world.drawings.clips import DARK, KITCHEN, PINK, ROOM, TEAL, WOOD, clip

# ── food ──


@clip(KITCHEN, (150, 158, 170), 190)
def pancake(s: Stage, t: float) -> None:
    """A pancake flies out of the pan, turns over and lands again."""
    s.box(60, 168, 260, 190, (70, 72, 80), round_=4)
    for x in (110, 160, 210):
        s.shape([(x - 8, 190), (x, 176), (x + 8, 190)], (90, 150, 240))
    air = math.sin(min(t / 0.75, 1.0) * math.pi)
    dip = 6 * math.sin(t * 2 * math.pi)
    s.line([(235, 160 + dip), (305, 148 + dip)], INK, 8)
    s.box(85, 152 + dip, 240, 168 + dip, (50, 52, 58), round_=6)
    turn = math.cos(min(t / 0.75, 1.0) * 3 * math.pi)
    side = (214, 150, 70) if turn > 0 else (240, 200, 120)
    s.oval(162, 148 - air * 108, 44, 5 + 16 * abs(turn) * air, side)
    s.oval(40, 60, 18, 26, WHITE, 1)
    s.text(40, 60, "milk", 12)


@clip(KITCHEN, WOOD, 120)
def carrots(s: Stage, t: float) -> None:
    """A knife goes up and down and slices of carrot gather."""
    s.box(40, 130, 285, 215, (228, 196, 150), round_=8)
    cut = between(200, 120, t)
    s.shape([(70, 172), (cut, 150), (cut, 194)], ORANGE)
    s.box(70, 150, cut, 194, ORANGE, round_=10)
    for leaf in (-14, 0, 14):
        s.line([(70, 172), (44, 172 + leaf)], GREEN, 4)
    for number in range(int(t * 8)):
        s.oval(218 + number % 4 * 18, 160 + number // 4 * 28, 10, 12, (245, 160, 80), 1)
    up = abs(math.sin(t * 8 * math.pi)) * 50
    s.shape([(cut + 2, 120 - up), (cut + 10, 205 - up), (cut + 2, 205 - up)], (215, 220, 228))
    s.box(cut - 2, 80 - up, cut + 12, 122 - up, BROWN, round_=3)


@clip((232, 240, 228), (120, 84, 60), 170)
def tea(s: Stage, t: float) -> None:
    """Green tea runs from a pot into a bowl, steam rises."""
    s.oval(225, 190, 46, 9, (90, 60, 45))
    level = between(0, 22, ease(t, 0.2, 0.9))
    s.box(190, 150, 260, 190, WHITE, 2, 16)
    s.box(196, 186 - level, 254, 186, (140, 170, 70), round_=8)
    tip = 24 * ease(t, 0, 0.25)
    s.oval(110, 95 - tip / 2, 40, 32, (70, 90, 80))
    s.shape([(140, 90 - tip), (182, 84), (176, 98), (140, 106 - tip)], (70, 90, 80))
    s.arc(88, 70 - tip / 2, 30, 180, 330, INK, 5)
    if 0.2 < t < 0.9:
        s.line([(180, 92), (214, 110), (222, 178 - level)], (150, 190, 80), 5)
    for puff in range(3):
        y = 140 - ((t * 60 + puff * 24) % 72)
        s.arc(212 + puff * 14, y, 7, 90, 270, (180, 190, 185), 2)


@clip((250, 226, 200), (176, 60, 56), 165)
def pizza(s: Stage, t: float) -> None:
    """A slice is lifted from a pizza, and the cheese stretches."""
    s.oval(140, 180, 118, 46, (228, 178, 96), 2)
    s.oval(140, 176, 104, 38, (250, 214, 110))
    for x, y in ((90, 170), (130, 192), (165, 160), (110, 156), (185, 188)):
        s.oval(x, y, 11, 6, RED)
    s.shape([(140, 176), (240, 150), (236, 200)], (176, 60, 56))
    lift = 92 * ease(t, 0.1, 0.9)
    for strand in range(5):
        x = 165 + strand * 14
        s.line([(x, 176), (x + 10, 176 - lift)], (252, 222, 130), max(1.0, 5 - lift / 30))
    s.shape([(142, 176 - lift), (250, 152 - lift), (244, 204 - lift)], (250, 214, 110))
    s.oval(214, 176 - lift, 11, 6, RED)
    s.oval(262, 176 - lift, 22, 15, SKIN)


# ── pets ──


@clip((214, 226, 236), (150, 120, 96), 200)
def cat_cup(s: Stage, t: float) -> None:
    """A cat walks along a table and pushes a red cup over its edge."""
    s.box(20, 130, 230, 142, BROWN)
    for leg in (36, 210):
        s.box(leg, 142, leg + 10, 214, BROWN)
    walk = ease(t, 0, 0.45)
    s.cat(between(60, 165, walk), 130, ORANGE, 1, t * 4 if walk < 1 else 0)
    push = ease(t, 0.45, 0.6)
    fall = ease(t, 0.6, 0.85)
    x, y = 204 + push * 36, 130 + fall * 78
    if fall < 1:
        s.box(x, y - 24, x + 20, y, RED, 1, 3)
        s.arc(x + 22, y - 12, 7, 270, 90, RED, 3)
    else:
        for dx, dy in ((-14, 0), (0, -7), (12, -1), (24, -5)):
            s.shape([(250 + dx, 208 + dy), (258 + dx, 200 + dy), (262 + dx, 210 + dy)], RED)


@clip((170, 214, 240), (140, 190, 110), 150)
def dog_tail(s: Stage, t: float) -> None:
    """A dog runs in circles after its own tail."""
    s.tree(280, 160, 1.1)
    s.sun(40, 40)
    angle = t * 6 * math.pi
    x, y = 150 + math.cos(angle) * 26, 176 + math.sin(angle) * 12
    face = 1 if math.sin(angle) < 0 else -1
    for leg in (-26, -14, 14, 26):
        s.line([(x + leg, y), (x + leg + math.sin(angle * 2 + leg) * 7, y + 30)], (150, 100, 60), 7)
    s.oval(x, y - 8, 40, 19, (176, 120, 72))
    s.line([(x - face * 36, y - 14), (x - face * 58, y - 40)], (150, 100, 60), 7)
    s.oval(x + face * 42, y - 26, 18, 16, (176, 120, 72))
    s.oval(x + face * 34, y - 22, 7, 14, (120, 78, 46))
    s.oval(x + face * 58, y - 22, 5, 4, INK)
    s.oval(x + face * 46, y - 31, 2.5, 2.5, INK)
    for ring in range(3):
        s.arc(150, 214, 40 + ring * 16, 190 + t * 720 % 90, 250 + t * 720 % 90, WHITE, 2)


@clip((244, 232, 206), (206, 178, 128), 196)
def hamster(s: Stage, t: float) -> None:
    """A hamster runs in a wheel."""
    s.line([(120, 214), (160, 118), (200, 214)], GREY, 5)
    for spoke in range(10):
        angle = t * 5 * math.pi + spoke * math.pi / 5
        s.line([(160, 118), (160 + math.cos(angle) * 88, 118 + math.sin(angle) * 88)], (210, 150, 170), 2)
    s.arc(160, 118, 90, 0, 360, PINK, 7)
    bounce = abs(math.sin(t * 10 * math.pi)) * 5
    y = 182 - bounce
    s.oval(160, y, 34, 20, (232, 196, 140))
    s.oval(190, y - 8, 16, 14, (232, 196, 140))
    s.oval(184, y - 22, 6, 7, (214, 160, 130))
    s.oval(196, y - 10, 2.5, 2.5, INK)
    s.oval(168, y + 6, 16, 9, WHITE)
    for leg in (-18, -4, 10, 22):
        s.line([(160 + leg, y + 14), (160 + leg + math.sin(t * 40 + leg) * 8, y + 24)], (214, 160, 130), 4)


@clip((206, 236, 220), None)
def parrot(s: Stage, t: float) -> None:
    """A green parrot on a perch nods and spreads its wings to a beat."""
    s.box(30, 188, 290, 198, BROWN, round_=5)
    beat = math.sin(t * 8 * math.pi)
    x, y = 160 + beat * 10, 130 - abs(beat) * 14
    wing = abs(beat) * 44
    s.shape([(x - 24, y - 6), (x - 50 - wing, y - 10 - wing), (x - 34, y + 40)], (40, 120, 70))
    s.shape([(x + 24, y - 6), (x + 50 + wing, y - 10 - wing), (x + 34, y + 40)], (40, 120, 70))
    s.oval(x, y + 16, 34, 48, (90, 190, 90))
    s.shape([(x - 14, y + 50), (x + 14, y + 50), (x, 226)], (40, 120, 190))
    s.oval(x + beat * 8, y - 46, 27, 25, (220, 70, 60))
    s.shape([(x + 16 + beat * 8, y - 52), (x + 44 + beat * 8, y - 40), (x + 18 + beat * 8, y - 32)], YELLOW)
    s.oval(x + 8 + beat * 8, y - 52, 4, 4, INK)
    for note in range(3):
        s.text(60 + note * 100, 40 + math.sin(t * 12 + note) * 10, "#", 22, PURPLE)


# ── workshop ──


@clip((238, 232, 222), (170, 140, 110), 205)
def painting_wall(s: Stage, t: float) -> None:
    """A roller turns a wall from white to teal, lane by lane."""
    lanes = 4
    done = t * lanes
    for lane in range(lanes):
        share = min(max(done - lane, 0.0), 1.0)
        x = 30 + lane * 56
        if share > 0:
            s.box(x, 205 - 185 * share, x + 56, 205, TEAL)
    lane = min(int(done), lanes - 1)
    y = 205 - 185 * min(done - lane, 1.0)
    x = 30 + lane * 56
    s.line([(x + 28, y), (x + 40, y + 40), (x + 60, y + 90)], INK, 4)
    s.box(x, y - 8, x + 56, y + 10, (245, 245, 245), 2, 4)
    s.person(between(100, 260, t), 226, ORANGE, size=1.3, arms=(140, 150), facing=-1)
    s.box(272, 196, 306, 224, GREY, 1)
    s.oval(289, 196, 17, 5, TEAL)


@clip((228, 222, 210), (160, 128, 94), 210)
def shelf(s: Stage, t: float) -> None:
    """A hammer drives a nail into a board."""
    s.box(40, 150, 280, 176, WOOD, 2)
    s.box(60, 176, 82, 216, WOOD, 2)
    s.box(238, 176, 260, 216, WOOD, 2)
    hits = min(int(t * 4), 3)
    height = 44 - hits * 13
    s.line([(160, 150), (160, 150 - height)], GREY, 4)
    s.line([(152, 150 - height), (168, 150 - height)], GREY, 4)
    swing = math.radians(between(70, 0, abs(math.sin(t * 4 * math.pi))))
    hx, hy = 250, 128 - height
    ex, ey = hx - 92 * math.cos(swing), hy - 92 * math.sin(swing)
    s.line([(hx, hy), (ex, ey)], BROWN, 8)
    s.box(ex - 14, ey - 12, ex + 14, ey + 16, (80, 84, 92), 1, 3)
    s.oval(hx, hy, 15, 13, SKIN)
    if abs(math.sin(t * 4 * math.pi)) > 0.9:
        for ray in range(6):
            angle = ray * math.pi / 3
            s.line(
                [(160, 150 - height), (160 + math.cos(angle) * 24, 150 - height + math.sin(angle) * 24)],
                YELLOW,
                2,
            )


@clip((232, 220, 226), (150, 110, 120), 210)
def knitting(s: Stage, t: float) -> None:
    """Two needles move and a striped scarf grows."""
    rows = 3 + int(t * 9)
    for row in range(rows):
        y = 118 + row * 9
        s.box(110, y, 210, y + 8, RED if row % 4 < 2 else WHITE, round_=3)
    tick = math.sin(t * 12 * math.pi) * 10
    s.line([(60, 60 + tick), (196, 122)], (200, 170, 120), 6)
    s.line([(260, 60 - tick), (124, 122)], (200, 170, 120), 6)
    s.oval(56, 58 + tick, 18, 15, SKIN)
    s.oval(264, 58 - tick, 18, 15, SKIN)
    s.oval(268, 196, 30, 27, RED)
    for arc in range(4):
        s.arc(268, 196, 10 + arc * 6, 20 + arc * 50, 200 + arc * 50, (150, 30, 40), 2)
    s.line([(240, 196), (214, 200), (210, 124)], RED, 2)


@clip((206, 228, 246), (214, 200, 180), 200)
def paper_plane(s: Stage, t: float) -> None:
    """A paper plane leaves a hand and makes a loop through the room."""
    s.box(230, 40, 296, 110, (160, 210, 240), 3)
    s.line([(263, 40), (263, 110)], INK, 2)
    hand = s.person(44, 214, GREEN, size=1.4, arms=(between(-150, 80, ease(t, 0, 0.2)), 20), face="smile")[0]
    go = ease(t, 0.12, 1.0)
    if go == 0:
        x, y, angle = hand[0], hand[1], 0.0
    elif go < 0.35:
        share = go / 0.35
        x, y, angle = between(hand[0], 170, share), between(120, 130, share), 0.0
    elif go < 0.8:
        angle = (go - 0.35) / 0.45 * 2 * math.pi
        x, y = 170 + math.sin(angle) * 45, 85 + math.cos(angle) * 45
    else:
        share = (go - 0.8) / 0.2
        x, y, angle = between(170, 290, share), between(130, 150, share), 0.0

    def point(dx: float, dy: float) -> tuple[float, float]:
        return x + dx * math.cos(angle) + dy * math.sin(angle), y - dx * math.sin(angle) + dy * math.cos(
            angle
        )

    s.shape([point(26, 0), point(-22, -14), point(-12, 0)], WHITE)
    s.shape([point(26, 0), point(-22, 12), point(-12, 0)], (200, 206, 216))


# ── mirror ──


@clip((250, 222, 230), (240, 200, 212), 150)
def nails(s: Stage, t: float) -> None:
    """A brush paints five finger nails blue, one after the other."""
    s.box(90, 150, 240, 240, SKIN, round_=30)
    painted = t * 5.5
    for finger, (x, top) in enumerate(((84, 118), (114, 66), (150, 50), (186, 62), (220, 84))):
        s.box(x, top, x + 27, 180, SKIN, round_=13)
        s.box(x + 5, top + 5, x + 22, top + 32, BLUE if finger < painted - 0.4 else (250, 226, 214), 1, 8)
        if finger <= painted < finger + 1:
            y = top + 18 + math.sin(t * 60) * 7
            s.line([(x + 14, y), (x + 30, y - 50)], INK, 4)
            s.line([(x + 14, y), (x + 17, y - 10)], BLUE, 6)
    s.box(262, 176, 300, 226, BLUE, 1, 5)
    s.box(272, 150, 290, 178, INK, round_=3)


@clip(ROOM, (190, 170, 200), 205)
def outfits(s: Stage, t: float) -> None:
    """With each snap a person stands there in other clothes."""
    s.box(90, 20, 230, 214, (240, 240, 250), 4, 6)
    number = min(int(t * 4), 3)
    shirt = (RED, YELLOW, GREEN, PURPLE)[number]
    s.person(
        160,
        208,
        shirt,
        size=2.0,
        arms=((-30, 30), (-80, 80), (-30, 140), (-140, 140))[number],
        face="smile",
        long_hair=True,
    )
    if number == 0:
        s.shape([(130, 60), (190, 60), (176, 44), (144, 44)], BLUE)
    elif number == 1:
        s.box(138, 68, 158, 80, INK, round_=4)
        s.box(164, 68, 184, 80, INK, round_=4)
    elif number == 2:
        s.shape([(138, 130), (182, 130), (206, 186), (114, 186)], GREEN)
    else:
        s.line([(144, 104), (150, 128), (172, 128), (178, 104)], YELLOW, 4)
    if t * 4 - number < 0.2:
        s.oval(60, 60, 24, 24, WHITE)
        s.oval(262, 70, 18, 18, WHITE)


@clip((210, 226, 222), None)
def hair_dye(s: Stage, t: float) -> None:
    """Long brown hair turns pink from the top to the tips."""
    level = 60 + 170 * ease(t, 0.05, 0.95)
    s.box(92, 60, 228, 230, BROWN, round_=40)
    s.box(92, 60, 228, max(level, 110), (236, 96, 160), round_=40)
    s.oval(160, 118, 50, 60, SKIN)
    s.shape([(106, 112), (160, 62), (214, 112), (160, 84)], (236, 96, 160) if t > 0.1 else BROWN)
    for sign in (-1, 1):
        s.oval(160 + sign * 20, 118, 5, 4, INK)
    s.arc(160, 140, 14, 20, 160, RED, 4)
    s.box(70 + 150 * (t * 3 % 1), level - 8, 96 + 150 * (t * 3 % 1), level + 14, INK, round_=3)


@clip(DARK, None)
def lipstick(s: Stage, t: float) -> None:
    """A lipstick is turned up and draws red lips on a face in a lit mirror."""
    s.box(60, 20, 260, 230, (250, 236, 220), 4, 20)
    for bulb in range(6):
        glow = YELLOW if (bulb + int(t * 8)) % 2 else WHITE
        s.oval(46, 40 + bulb * 34, 8, 8, glow)
        s.oval(274, 40 + bulb * 34, 8, 8, glow)
    s.oval(160, 118, 62, 78, SKIN)
    for sign in (-1, 1):
        s.oval(160 + sign * 24, 98, 7, 5, INK)
        s.arc(160 + sign * 24, 92, 14, 200, 340, BROWN, 3)
    reach = ease(t, 0.2, 0.8)
    s.line([(130, 152), (148, 148), (160, 152), (172, 148), (190, 152)], (220, 160, 150), 6)
    s.line([(130, 152), (130 + 60 * reach, 152)], RED, 11)
    x = 130 + 60 * reach
    s.box(x - 6, 160, x + 6, 182, RED, round_=4)
    s.box(x - 9, 180, x + 9, 220, (190, 160, 80), 1)
