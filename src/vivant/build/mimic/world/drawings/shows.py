"""Clips of music, of games, of dance and of things that go wrong."""

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
    Colour,
    Stage,
    between,
    ease,
)
from vivant.build.mimic.world.drawings.clips import DARK, PINK, ROAD, ROOM, SAND, TEAL, WOOD, clip

# ── music ──


@clip((120, 70, 60), (90, 50, 44), 200)
def guitar(s: Stage, t: float) -> None:
    """A hand strums an acoustic guitar, the strings tremble."""
    s.oval(112, 150, 66, 58, (200, 130, 60), 2)
    s.oval(176, 128, 46, 42, (200, 130, 60), 2)
    s.oval(134, 142, 22, 22, INK)
    s.line([(190, 120), (306, 62)], BROWN, 17)
    shake = math.sin(t * 70) * 2
    for string in range(4):
        off = string * 4 - 6
        s.line([(92, 160 + off), (180, 122 + off + shake), (304, 60 + off)], (250, 240, 210), 1)
    stroke = math.sin(t * 6 * math.pi) * 32
    s.line([(60, 60), (118, 140 + stroke)], (60, 90, 150), 17)
    s.oval(124, 144 + stroke, 16, 13, SKIN)
    s.oval(262 + math.sin(t * 8) * 10, 82, 15, 13, SKIN)


@clip(DARK, (60, 40, 70), 200)
def drums(s: Stage, t: float) -> None:
    """A drummer hits a kit with flashing lights behind."""
    for lamp, colour in enumerate((RED, BLUE, GREEN, PURPLE)):
        if (lamp + int(t * 10)) % 2:
            s.shape([(40 + lamp * 80, 0), (10 + lamp * 80, 120), (70 + lamp * 80, 120)], colour)
    hit = math.sin(t * 10 * math.pi)
    hands = s.person(160, 190, RED, size=1.5, arms=(-70 + hit * 40, 70 + hit * 40), face="wow")
    s.line([hands[0], (hands[0][0] - 20, hands[0][1] + 24 + hit * 10)], WOOD, 4)
    s.line([hands[1], (hands[1][0] + 20, hands[1][1] + 24 - hit * 10)], WOOD, 4)
    s.oval(160, 196, 46, 38, (230, 230, 236), 4)
    for x in (84, 236):
        s.box(x - 30, 160, x + 30, 194, RED, 2, 4)
        s.oval(x, 160, 30, 8, WHITE, 1)
    for x, sign in ((46, 1), (274, -1)):
        s.line([(x, 112), (x, 220)], GREY, 3)
        s.oval(x, 110 + hit * sign * 4, 36, 6, YELLOW)


@clip((40, 42, 60), None)
def piano(s: Stage, t: float) -> None:
    """Piano keys go down one by one under two hands."""
    pressed = int(t * 15) % 8
    for key in range(8):
        down = 8 if key == pressed else 0
        s.box(8 + key * 38, 110 + down, 44 + key * 38, 228, (250, 240, 180) if down else WHITE, 1, 3)
    for key in (0, 1, 3, 4, 5):
        s.box(34 + key * 38, 110, 56 + key * 38, 176, INK, round_=2)
    for hand, where in ((0, pressed), (1, (pressed + 4) % 8)):
        x = 26 + where * 38
        s.box(x - 18, 176 - hand * 6, x + 18, 214, SKIN, round_=10)
        for finger in range(4):
            s.line([(x - 13 + finger * 9, 182), (x - 13 + finger * 9, 160)], SKIN, 7)
    for note in range(5):
        left, top = (note * 71 + t * 160) % 320, 50 + math.sin(t * 7 + note) * 22
        s.oval(left, top, 7, 5, YELLOW)
        s.line([(left + 6, top), (left + 6, top - 22)], YELLOW, 2)


@clip((24, 20, 50), (50, 30, 80), 170)
def dj(s: Stage, t: float) -> None:
    """Two records turn on a desk while coloured bars jump behind."""
    for bar in range(16):
        high = 20 + abs(math.sin(t * 14 + bar * 1.7)) * 110
        s.box(4 + bar * 20, 160 - high, 18 + bar * 20, 160, (PINK, TEAL, YELLOW, PURPLE)[bar % 4])
    s.person(160, 178, WHITE, size=1.2, arms=(-50, 60 + math.sin(t * 20) * 30), face="smile")
    s.box(20, 164, 300, 236, (80, 84, 96), 2, 6)
    for x, turn in ((90, 1), (230, -1)):
        s.oval(x, 200, 44, 30, INK)
        s.oval(x, 200, 14, 10, RED)
        angle = t * 12 * math.pi * turn
        s.line([(x, 200), (x + math.cos(angle) * 42, 200 + math.sin(angle) * 28)], WHITE, 2)
    s.box(140, 184, 180, 226, (50, 54, 64), 1)
    s.box(150, 196 + math.sin(t * 9) * 8, 170, 204 + math.sin(t * 9) * 8, ORANGE)


# ── games ──


@clip((110, 170, 250), (180, 110, 60), 200)
def platformer(s: Stage, t: float) -> None:
    """A square hero jumps across platforms and takes coins."""
    shift = t * 150
    for block in range(12):
        s.box(block * 32, 200, block * 32 + 31, 240, (190, 120, 60), 1)
    for left, top in ((120, 150), (210, 110), (320, 150), (420, 100)):
        s.box(left - shift, top, left + 60 - shift, top + 16, (90, 170, 70), 1)
        if left - shift > 66:
            s.oval(left + 30 - shift, top - 22, 9, 11, YELLOW, 1)
    jump = abs(math.sin(t * 3 * math.pi)) * 74
    x, y = 66.0, 176 - jump
    s.box(x - 14, y - 16, x + 14, y + 16, RED, 2, 3)
    s.box(x - 16, y - 24, x + 18, y - 14, (160, 20, 30))
    s.oval(x + 5, y - 4, 3, 4, WHITE)
    s.line([(x - 8, y + 16), (x - 12, y + 24)], BLUE, 6)
    s.line([(x + 8, y + 16), (x + 12, y + 24)], BLUE, 6)
    s.text(270, 22, f"{int(t * 4) * 100:04d}", 20, WHITE)


@clip((12, 12, 30), None)
def bricks(s: Stage, t: float) -> None:
    """A ball bounces off a paddle and breaks a wall of bricks."""
    gone = int(t * 9)
    broken = [(3, 3), (2, 3), (5, 3), (6, 2), (3, 2), (1, 3), (4, 3), (0, 2), (7, 3)][:gone]
    for row, colour in enumerate((RED, ORANGE, GREEN, BLUE)):
        for column in range(8):
            if (column, row) not in broken:
                s.box(6 + column * 39, 20 + row * 20, 41 + column * 39, 36 + row * 20, colour, round_=2)
    x = 160 + math.sin(t * 7) * 130
    y = 110 + abs(math.sin(t * 9 * math.pi / 2)) * 96
    s.box(x - 34, 212, x + 34, 222, WHITE, round_=5)
    s.oval(x + math.cos(t * 5) * 16, y, 8, 8, YELLOW)


@clip(ROAD, None)
def racer(s: Stage, t: float) -> None:
    """Seen from above, a blue car overtakes two others."""
    for side in (40, 270):
        s.box(side - 40 if side < 160 else side, 0, side if side < 160 else side + 60, 240, (80, 150, 70))
    for stripe in range(8):
        y = (stripe * 44 + t * 500) % 320 - 40
        s.box(152, y, 160, y + 24, WHITE)
        s.box(36, y, 44, y + 22, RED if stripe % 2 else WHITE)
        s.box(266, y, 274, y + 22, RED if stripe % 2 else WHITE)

    def car(x: float, y: float, colour: Colour) -> None:
        for dx in (-20, 20):
            for dy in (-20, 20):
                s.box(x + dx - 5, y + dy - 9, x + dx + 5, y + dy + 9, INK)
        s.box(x - 17, y - 34, x + 17, y + 34, colour, 1, 9)
        s.box(x - 12, y - 14, x + 12, y + 2, (180, 220, 240))

    car(100, between(90, 330, t), YELLOW)
    car(216, between(-140, 190, t), GREEN)
    car(100 + 116 * ease(t, 0, 0.3) - 112 * ease(t, 0.5, 0.7), 170, BLUE)


@clip((20, 22, 40), None)
def blocks(s: Stage, t: float) -> None:
    """Falling blocks: a long bar drops into the gap and four rows vanish."""
    s.box(80, 10, 240, 232, (40, 44, 70), 3)
    colours = (RED, GREEN, BLUE, ORANGE, PURPLE, YELLOW)
    landed = t > 0.65
    flash = 0.65 < t < 0.82
    for row in range(4):
        for column in range(8):
            if t >= 0.82 or column == 6:
                continue
            fill = WHITE if flash else colours[(row * 3 + column // 2) % 6]
            s.box(82 + column * 20, 150 + row * 20, 100 + column * 20, 168 + row * 20, fill, 1)
    top = between(10, 150, min(t / 0.65, 1.0))
    if t < 0.82:
        for cell in range(4):
            fill = WHITE if flash else TEAL
            s.box(202, top + cell * 20, 220, top + 18 + cell * 20, fill, 1)
    s.text(280, 40, "next", 14, WHITE)
    s.box(266, 56, 294, 84, YELLOW, 1)
    s.text(40, 40, f"{4 if landed else 0} rows", 14, WHITE)


# ── dance ──


@clip(ROOM, (150, 120, 150), 200)
def spin(s: Stage, t: float) -> None:
    """A dancer in a white dress turns on the spot."""
    s.box(20, 30, 90, 150, (250, 250, 255), 2)
    turn = math.cos(t * 5 * math.pi)
    flare = 22 + 58 * math.sin(t * math.pi)
    lift = 90 + 60 * math.sin(t * math.pi)
    s.person(
        160,
        214,
        WHITE,
        size=1.9,
        arms=(-lift - turn * 14, lift - turn * 14),
        facing=1 if turn > 0 else -1,
        long_hair=True,
    )
    hem = 200 - flare * 0.3
    s.shape([(150, 146), (170, 146), (160 + flare + turn * 12, hem), (160 - flare + turn * 12, hem)], WHITE)
    for fold in (-0.5, 0.0, 0.5):
        s.line([(160, 150), (160 + flare * (fold + turn * 0.3), hem)], (200, 200, 216), 2)
    for ring in range(2):
        s.arc(160, 216, 50 + ring * 20, 190 + turn * 70, 300 + turn * 70, PURPLE, 3)


@clip((246, 214, 150), (190, 110, 70), 196)
def line_dance(s: Stage, t: float) -> None:
    """Three dancers in red, yellow and green step left and right together."""
    for flag in range(9):
        s.shape([(flag * 36, 20), (flag * 36 + 30, 20), (flag * 36 + 15, 44)], (RED, YELLOW, GREEN)[flag % 3])
    shift = math.sin(t * 4 * math.pi) * 30
    lift = math.sin(t * 8 * math.pi)
    for number, shirt in enumerate((RED, YELLOW, GREEN)):
        s.person(
            80 + number * 80 + shift,
            214 - abs(lift) * 8,
            shirt,
            size=1.5,
            arms=(-130 - lift * 20, 130 + lift * 20),
            walk=t * 4,
            face="smile",
        )


@clip((90, 96, 110), (60, 62, 70), 170)
def breakdance(s: Stage, t: float) -> None:
    """A dancer spins on the head, legs in the air."""
    for brick in range(40):
        s.box(
            brick % 8 * 40 + brick // 8 % 2 * 20,
            brick // 8 * 34,
            brick % 8 * 40 + 37 + brick // 8 % 2 * 20,
            brick // 8 * 34 + 30,
            (150, 80, 70),
        )
    s.text(70, 60, "YEAH", 30, YELLOW)
    angle = t * 6 * math.pi
    s.oval(160, 222, 60, 9, (40, 42, 50))
    s.oval(160, 204, 14, 14, SKIN)
    s.box(150, 134, 170, 194, BLUE, round_=6)
    for sign in (-1, 1):
        s.line([(160, 186), (160 + sign * 34, 216)], BLUE, 7)
        reach = math.cos(angle + sign) * 60
        s.line([(160, 138), (160 + reach * 0.6, 104), (160 + reach, 84 + sign * 8)], INK, 9)
        s.oval(160 + reach, 82 + sign * 8, 10, 6, WHITE)


@clip((60, 50, 90), SAND, 190)
def dabke(s: Stage, t: float) -> None:
    """Five dancers in a row hold hands and stamp in turn."""
    for lamp in range(7):
        s.oval(24 + lamp * 45, 34 + lamp % 2 * 8, 9, 9, (255, 220, 120))
    s.line([(0, 24), (320, 24)], INK, 2)
    for number in range(5):
        phase = math.sin(t * 8 * math.pi - number * 0.5)
        s.person(
            44 + number * 58,
            214 - max(phase, 0) * 14,
            (INK, WHITE)[number % 2],
            size=1.3,
            arms=(-66, 66),
            walk=0.25 * phase,
            face="smile",
            hair=INK,
        )


# ── things that go wrong ──


@clip((200, 224, 236), (170, 170, 176), 196)
def banana(s: Stage, t: float) -> None:
    """Somebody steps on a banana peel and lands on the back."""
    s.house(270, 196, (220, 200, 170))
    if t < 0.5:
        s.person(between(30, 146, t / 0.5), 214, BLUE, size=1.5, walk=t * 6, face="smile")
        s.arc(158, 208, 12, 180, 360, YELLOW, 6)
    else:
        fall = ease(t, 0.5, 0.75)
        y = 206 - math.sin(fall * math.pi) * 50
        s.line([(150, y), (206, y - 4)], BLUE, 17)
        s.oval(132, y - 2, 15, 15, SKIN)
        for leg in (-16, 10):
            s.line([(206, y - 4), (238, y - 24 + leg - 20 * (1 - fall))], (60, 60, 80), 8)
        s.arc(between(170, 270, fall), 208 - math.sin(fall * math.pi) * 90, 12, 180, 360, YELLOW, 6)
        if fall == 1:
            for star in range(4):
                angle = star * math.pi / 2 + t * 9
                s.text(128 + math.cos(angle) * 28, 172 + math.sin(angle) * 9, "*", 24, ORANGE)


@clip((236, 216, 224), (180, 130, 140), 200)
def pie(s: Stage, t: float) -> None:
    """A cream pie flies into a waiting face."""
    hit = t > 0.55
    s.person(44, 214, RED, size=1.6, arms=(between(-120, 95, ease(t, 0.1, 0.35)), 20), face="smile")
    s.person(250, 214, BLUE, size=2.0, facing=-1, face="flat", arms=(-15, 15))
    if not hit:
        x = between(80, 236, ease(t, 0.2, 0.55)) if t > 0.2 else 84
        y = 130 - math.sin(ease(t, 0.2, 0.55) * math.pi) * 40
        s.oval(x, y, 22, 10, (226, 180, 110))
        s.oval(x, y - 7, 17, 9, WHITE)
    else:
        drip = ease(t, 0.55, 1.0) * 50
        s.oval(246, 72, 30, 28, WHITE)
        for number, x in enumerate((226, 240, 256, 268)):
            s.box(x - 5, 72, x + 5, 96 + drip * (0.5 + number % 2 * 0.5), WHITE, round_=5)
        s.oval(238, 68, 3.5, 3.5, INK)
        s.oval(254, 68, 3.5, 3.5, INK)


@clip((150, 164, 184), (110, 130, 110), 196)
def umbrella_wind(s: Stage, t: float) -> None:
    """A gust turns an umbrella inside out and takes it away."""
    s.rain(t, 200)
    bend = math.sin(t * 9) * 6 + 12
    s.tree(280 + bend / 3, 200, 1.2, (70, 120, 80))
    s.person(
        120, 214, YELLOW, size=1.5, arms=(150, 160 if t < 0.6 else 100), face="wow" if t > 0.35 else "flat"
    )
    away = ease(t, 0.6, 1.0)
    x, y = 134 + away * 200, 128 - away * 120
    if t < 0.35:
        s.umbrella(x, y, RED)
    else:
        s.line([(x, y), (x, y - 40)], INK, 2)
        s.shape(
            [
                (x - 30, y - 72),
                (x, y - 36),
                (x + 30, y - 72),
                (x + 16, y - 52),
                (x, y - 62),
                (x - 16, y - 52),
            ],
            RED,
        )
    for gust in range(4):
        gx = (t * 500 + gust * 90) % 400 - 40
        s.line([(gx, 50 + gust * 40), (gx + 44, 50 + gust * 40)], WHITE, 2)


@clip((226, 232, 214), (170, 150, 120), 200)
def chair(s: Stage, t: float) -> None:
    """A chair is pulled away just as somebody sits down."""
    pull = ease(t, 0.3, 0.55)
    x = 150 + pull * 86
    for leg in (-16, 16):
        s.line([(x + leg, 172), (x + leg, 214)], BROWN, 5)
    s.box(x - 20, 166, x + 20, 174, BROWN)
    s.line([(x + 18, 170), (x + 18, 118)], BROWN, 6)
    s.person(x + 52, 214, PURPLE, size=1.5, facing=-1, arms=(-70, -60), face="smile")
    down = ease(t, 0.4, 0.75)
    s.person(
        140,
        between(214, 236, down),
        GREEN,
        size=1.5,
        sit=t > 0.25,
        face="wow" if down > 0.3 else "smile",
        facing=-1,
        arms=(-40 - down * 90, 40 + down * 90),
    )
    if down == 1:
        s.text(140, 96, "!", 40, RED)
