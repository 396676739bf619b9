"""Clips of sports, of journeys, of experiments and of the road."""

from __future__ import annotations

import math

from vivant.build.mimic.world.drawings.canvas import (
    BLUE,
    BROWN,
    DAY,
    GREEN,
    GREY,
    INK,
    NIGHT,
    ORANGE,
    PURPLE,
    RED,
    WHITE,
    YELLOW,
    Colour,
    Stage,
    between,
    ease,
)
from vivant.build.mimic.world.drawings.clips import KITCHEN, ROAD, SAND, SEA, clip

# ── sports ──


@clip((222, 196, 160), (196, 140, 84), 196)
def basketball(s: Stage, t: float) -> None:
    """A throw from far away drops through the hoop."""
    s.box(276, 40, 284, 200, GREY)
    s.box(262, 36, 272, 96, WHITE, 2)
    s.person(50, 214, BLUE, size=1.5, arms=(between(20, 150, ease(t, 0, 0.2)), 140), face="smile")
    go = ease(t, 0.12, 0.72)
    if t < 0.72:
        x, y = between(70, 242, go), 110 - math.sin(go * math.pi) * 90 - 14 * go
    else:
        x, y = 242, between(96, 200, ease(t, 0.72, 1.0))
    s.line([(224, 96), (260, 96)], RED, 4)
    sway = 6 if 0.74 < t < 0.88 else 0
    for strand in range(5):
        s.line([(226 + strand * 8, 98), (231 + strand * 5.5, 126 + sway)], WHITE, 1.5)
    s.oval(x, y, 13, 13, ORANGE, 1.5)
    s.line([(x - 13, y), (x + 13, y)], INK, 1)


@clip(DAY, (96, 168, 84), 110)
def penalty(s: Stage, t: float) -> None:
    """A striker shoots, the keeper dives to the wrong side, the net bulges."""
    s.box(90, 40, 300, 44, WHITE)
    s.box(90, 40, 95, 130, WHITE)
    s.box(295, 40, 300, 130, WHITE)
    for line in range(8):
        s.line([(95 + line * 26, 44), (95 + line * 26, 128)], (230, 240, 230), 1)
        s.line([(95, 50 + line * 10), (295, 50 + line * 10)], (230, 240, 230), 1)
    dive = ease(t, 0.45, 0.7)
    s.person(between(195, 130, dive), 132 - 20 * dive, YELLOW, arms=(-60 - 60 * dive, 60 - 150 * dive))
    run = ease(t, 0, 0.4)
    s.person(between(20, 84, run), 226, RED, size=1.4, walk=t * 5 if run < 1 else 0.2)
    go = ease(t, 0.4, 0.65)
    r = between(10, 6, go)
    s.oval(between(112, 270, go), between(218, 66, go), r, r, WHITE, 1)


@clip((246, 206, 170), (150, 150, 158), 178)
def skateboard(s: Stage, t: float) -> None:
    """A skater rolls up, jumps over a bench with the board spinning below, and lands."""
    s.box(0, 120, 320, 178, (210, 170, 150))
    for house in range(0, 320, 64):
        s.box(house + 10, 92, house + 54, 178, (190, 150, 140))
    s.box(140, 176, 200, 184, BROWN)
    for leg in (146, 188):
        s.box(leg, 184, leg + 6, 204, INK)
    x = between(10, 310, t)
    air = max(0.0, math.sin((t - 0.3) / 0.45 * math.pi)) * 62 if 0.3 < t < 0.75 else 0.0
    tilt = math.sin((t - 0.3) / 0.45 * 2 * math.pi) * 14 if air else 0.0
    y = 206 - air
    s.line([(x - 26, y + tilt), (x + 26, y - tilt)], PURPLE, 5)
    for wheel in (-17, 17):
        s.oval(x + wheel, y + 6 - wheel / 17 * tilt * 0.6, 4.5, 4.5, INK)
    s.person(x, y - 3 - air * 0.18, GREEN, size=1.2, arms=(-80, 80) if air else (-40, 50), sit=bool(air))


@clip((110, 190, 220), (40, 140, 200), 0)
def swimming(s: Stage, t: float) -> None:
    """Three swimmers race along their lanes; the lowest touches first."""
    for lane in range(1, 3):
        for bead in range(16):
            s.oval(bead * 22 + (t * 10) % 22, lane * 80, 6, 4, RED if bead % 2 else WHITE)
    s.box(300, 0, 320, 240, (230, 230, 220), 2)
    for lane, (pace, cap) in enumerate(((0.72, YELLOW), (0.84, RED), (1.0, GREEN))):
        x = between(24, 286, min(t * 1.08, 1.0) * pace)
        y = 40 + lane * 80
        arm = t * 10 * math.pi + lane
        s.line([(x - 46, y), (x - 8, y)], (236, 190, 160), 11)
        s.line([(x - 10, y), (x - 10 + math.cos(arm) * 30, y - math.sin(arm) * 22)], (236, 190, 160), 7)
        s.oval(x, y, 12, 11, cap)
        for drop in range(4):
            s.oval(x - 60 - drop * 9, y + math.sin(t * 50 + drop * 2) * 9, 3.5, 3.5, WHITE)


# ── journeys ──


@clip((186, 216, 240), (120, 170, 110), 190)
def train(s: Stage, t: float) -> None:
    """A red train passes below a snowy mountain."""
    s.hill(160, 30, 190, 150, (110, 120, 150))
    s.shape([(160, 30), (128, 72), (148, 64), (160, 80), (174, 64), (192, 72)], WHITE)
    s.box(0, 196, 320, 200, BROWN)
    for tie in range(20):
        s.box(tie * 18, 200, tie * 18 + 8, 206, (90, 66, 50))
    head = between(-40, 420, t)
    for car in range(4):
        x = head - car * 92
        s.box(x - 84, 146, x, 194, RED, 1.5, 8 if car == 0 else 3)
        s.box(x - 84, 178, x, 184, WHITE)
        for window in range(3):
            s.box(x - 76 + window * 24, 154, x - 60 + window * 24, 170, (200, 230, 245))
        for wheel in (-66, -18):
            s.oval(x + wheel, 196, 7, 7, INK)


@clip((246, 150, 90), SEA, 130)
def sailboat(s: Stage, t: float) -> None:
    """A sailing boat crosses before a sinking sun."""
    sun = between(70, 132, t)
    s.oval(160, sun, 36, 36, (255, 222, 120))
    s.box(0, 130, 320, 240, SEA)
    for glint in range(7):
        w = 44 - glint * 5
        s.line(
            [(160 - w + math.sin(t * 9 + glint) * 8, 142 + glint * 13), (160 + w, 142 + glint * 13)],
            (255, 200, 110),
            2,
        )
    x, rock = between(40, 280, t), math.sin(t * 4 * math.pi) * 4
    s.shape([(x - 40, 160 + rock), (x + 40, 160 - rock), (x + 26, 180), (x - 26, 180)], (110, 60, 40))
    s.line([(x, 160), (x + rock, 66)], INK, 4)
    s.shape([(x + 4 + rock, 70), (x + 4, 152), (x + 46, 152)], WHITE)
    s.shape([(x - 4 + rock, 80), (x - 4, 152), (x - 34, 152)], (236, 226, 210))


@clip((150, 206, 240), (150, 180, 110), 205)
def balloons(s: Stage, t: float) -> None:
    """Five hot-air balloons rise, each in other colours."""
    s.hill(70, 150, 205, 110, (120, 150, 100))
    s.hill(250, 160, 205, 100, (106, 140, 96))
    colours = ((RED, YELLOW), (BLUE, WHITE), (PURPLE, ORANGE), (GREEN, YELLOW), (ORANGE, RED))
    for number, (a, b) in enumerate(colours):
        x = 42 + number * 60 + math.sin(t * 3 + number) * 6
        y = between(230 + number % 2 * 40, 40 + number % 3 * 34, t)
        s.line([(x - 12, y + 20), (x - 5, y + 42)], INK, 1)
        s.line([(x + 12, y + 20), (x + 5, y + 42)], INK, 1)
        s.oval(x, y, 25, 28, a)
        s.oval(x, y, 10, 28, b)
        s.box(x - 7, y + 42, x + 7, y + 54, BROWN, round_=2)


@clip((250, 214, 150), SAND, 150)
def camels(s: Stage, t: float) -> None:
    """Three camels walk over the dunes."""
    s.oval(260, 46, 24, 24, (255, 240, 190))
    s.hill(70, 96, 160, 140, (222, 188, 130))
    s.hill(280, 110, 160, 120, (214, 178, 120))
    fur: Colour = (176, 124, 70)
    for number in range(3):
        x = between(-60, 250, t) + number * 84 - 60
        y = 176 + number % 2 * 10
        step = math.sin(t * 8 * math.pi + number) * 8
        for leg, lift in ((-20, step), (-12, -step), (14, step), (22, -step)):
            s.line([(x + leg, y), (x + leg + lift, y + 40)], fur, 5)
        s.oval(x, y - 6, 32, 16, fur)
        s.oval(x - 12, y - 22, 11, 14, fur)
        s.oval(x + 12, y - 22, 11, 14, fur)
        s.line([(x + 30, y - 8), (x + 46, y - 40)], fur, 9)
        s.oval(x + 53, y - 42, 12, 7, fur)
        s.oval(x + 56, y - 45, 1.6, 1.6, INK)


# ── experiments ──


@clip(NIGHT, (70, 74, 70), 205)
def rocket(s: Stage, t: float) -> None:
    """A rocket lights its engine and leaves the ground."""
    s.moon(60, 50)
    s.box(206, 80, 214, 206, GREY)
    for rung in range(6):
        s.line([(206, 90 + rung * 20), (186, 100 + rung * 20)], GREY, 2)
    rise = 190 * max(0.0, (t - 0.3) / 0.7) ** 2
    y = 196 - rise
    if t > 0.15:
        flame = 30 + 14 * math.sin(t * 90)
        s.shape([(146, y), (174, y), (160, y + flame)], ORANGE)
        s.shape([(152, y), (168, y), (160, y + flame * 0.6)], YELLOW)
        for puff in range(7):
            grow = 10 + 26 * min(t, 0.8)
            s.oval(70 + puff * 32, 208 + math.sin(puff * 2 + t * 6) * 5, grow, grow * 0.5, (210, 210, 216))
    s.box(146, y - 84, 174, y, WHITE, 1)
    s.shape([(146, y - 84), (160, y - 116), (174, y - 84)], RED)
    s.shape([(146, y - 24), (130, y + 2), (146, y)], RED)
    s.shape([(174, y - 24), (190, y + 2), (174, y)], RED)
    s.oval(160, y - 58, 8, 8, (140, 200, 240), 2)


@clip((232, 238, 240), (200, 170, 130), 190)
def volcano(s: Stage, t: float) -> None:
    """A model volcano on a school table foams over in red."""
    s.box(20, 186, 300, 198, BROWN)
    s.shape([(80, 186), (138, 80), (182, 80), (240, 186)], (130, 100, 80))
    s.oval(160, 80, 22, 6, INK)
    foam = ease(t, 0.2, 0.9)
    if foam:
        for bubble in range(int(foam * 22)):
            x = 160 + math.sin(bubble * 2.4) * 18
            y = 80 - (bubble * 13 + t * 120) % (70 * foam + 1)
            s.oval(x, y, 7, 7, (240, 90, 70))
        s.shape(
            [(144, 80), (176, 80), (186 + 30 * foam, 80 + 96 * foam), (150, 84 + 60 * foam)], (226, 70, 60)
        )
        s.shape(
            [(142, 80), (158, 80), (140, 80 + 90 * foam), (112 - 8 * foam, 80 + 70 * foam)], (240, 100, 70)
        )
    s.person(40, 182, PURPLE, size=0.9, face="wow" if foam > 0.3 else "smile", arms=(-40, 40 + 100 * foam))
    s.person(
        284, 182, GREEN, size=0.9, face="wow" if foam > 0.3 else "smile", arms=(-140 * foam, 20), facing=-1
    )


@clip((220, 226, 234), (120, 124, 134), 200)
def robot_arm(s: Stage, t: float) -> None:
    """A robot arm lifts a yellow block onto a tower."""
    s.box(30, 196, 80, 214, INK, round_=4)
    for block, colour in enumerate((BLUE, GREEN, RED)):
        s.box(226, 172 - block * 26, 262, 198 - block * 26, colour, 1.5)
    go = ease(t, 0.3, 0.8)
    x, y = between(130, 244, go), between(172, 94, ease(t, 0.25, 0.55))
    mid = ((55 + x) / 2 - 10, min(y, 150) - 46)
    s.line([(55, 198), mid], (240, 140, 40), 14)
    s.line([mid, (x, y - 22)], (240, 140, 40), 10)
    s.oval(*mid, 11, 11, INK)
    grip = 13 if 0.15 < t < 0.9 else 20
    for sign in (-1, 1):
        s.line([(x, y - 22), (x + sign * grip, y - 14), (x + sign * grip, y + 4)], INK, 4)
    placed = t > 0.9
    s.box(
        226 if placed else x - 18,
        94 if placed else y - 6,
        262 if placed else x + 18,
        120 if placed else y + 20,
        YELLOW,
        1.5,
    )


@clip((240, 230, 206), None)
def pendulum(s: Stage, t: float) -> None:
    """Five steel balls on threads: the outer ones swing in turn."""
    s.line([(80, 40), (240, 40)], INK, 8)
    s.line([(80, 40), (60, 220)], INK, 5)
    s.line([(240, 40), (260, 220)], INK, 5)
    swing = math.sin(t * 4 * math.pi)
    for ball in range(5):
        top = 112 + ball * 24
        angle = 0.0
        if ball == 0 and swing > 0:
            angle = -0.75 * swing
        if ball == 4 and swing < 0:
            angle = -0.75 * swing
        x, y = top + math.sin(angle) * 130, 40 + math.cos(angle) * 130
        s.line([(top, 40), (x, y)], GREY, 1.5)
        s.oval(x, y, 12, 12, (150, 156, 170), 1)
        s.oval(x - 4, y - 4, 3.5, 3.5, WHITE)


# ── the road ──


def _car(s: Stage, x: float, y: float, colour: Colour, lean: float = 0.0) -> None:
    s.shape([(x - 26, y - 34 - lean), (x + 22, y - 34 + lean), (x + 38, y - 14), (x - 42, y - 14)], colour)
    s.shape(
        [(x - 18, y - 30 - lean), (x + 16, y - 30 + lean), (x + 26, y - 16), (x - 28, y - 16)],
        (190, 225, 240),
    )
    s.box(x - 60, y - 16, x + 62, y + 8, colour, round_=8)
    for wheel in (-34, 36):
        s.oval(x + wheel, y + 8, 13, 13, INK)
        s.oval(x + wheel, y + 8, 5, 5, GREY)


@clip((70, 60, 110), ROAD, 130)
def drift(s: Stage, t: float) -> None:
    """A red car slides round a bend in a cloud of smoke."""
    for lamp in range(5):
        s.oval(20 + lamp * 70, 60, 7, 7, YELLOW)
        s.line([(20 + lamp * 70, 66), (20 + lamp * 70, 130)], GREY, 2)
    x = between(270, 60, t)
    y = 168 + math.sin(t * math.pi) * 34
    for puff in range(9):
        share = puff / 9
        r = 8 + share * 26
        s.oval(x + 60 + share * 120, y + 8 + math.sin(puff * 2) * 9, r, r * 0.6, (190, 186, 196))
    _car(s, x, y, RED, math.sin(t * math.pi) * 9)


@clip((200, 226, 240), ROAD, 190)
def wheelie(s: Stage, t: float) -> None:
    """A motorbike rides on its back wheel."""
    for stripe in range(7):
        x = (stripe * 60 - t * 300) % 380 - 30
        s.box(x, 212, x + 30, 218, WHITE)
    s.cloud(280 - t * 60, 50)
    s.cloud(120 - t * 60, 34)
    x, y = 130.0, 188.0
    lift = math.radians(between(0, 48, ease(t, 0.1, 0.4)) - between(0, 48, ease(t, 0.8, 1.0)))
    fx, fy = x + 92 * math.cos(lift), y - 92 * math.sin(lift)
    mx, my = x + 46 * math.cos(lift) - 26 * math.sin(lift), y - 46 * math.sin(lift) - 26 * math.cos(lift)
    for wx, wy in ((x, y), (fx, fy)):
        s.oval(wx, wy, 26, 26, INK)
        s.oval(wx, wy, 15, 15, (210, 214, 220))
    s.line([(x, y), (mx, my), (fx, fy)], (30, 130, 90), 9)
    s.oval(mx + 8, my - 4, 22, 13, (40, 170, 110))
    s.line([(mx - 10, my - 8), (mx - 6, my - 50)], INK, 13)
    s.line([(mx - 6, my - 44), (fx - 16, fy - 42)], INK, 7)
    s.oval(mx - 4, my - 66, 16, 16, RED)
    s.box(mx + 2, my - 70, mx + 14, my - 62, (180, 220, 240))


@clip(KITCHEN, (150, 170, 190), 190)
def car_wash(s: Stage, t: float) -> None:
    """Brushes turn, foam runs over a yellow car, then water."""
    x = between(60, 240, t)
    _car(s, x, 188, (240, 190, 40))
    for bubble in range(26):
        if t < 0.75:
            s.oval(x - 60 + bubble * 13 % 124, 150 + (bubble * 29 + t * 80) % 44, 7, 7, WHITE)
    for brush in (110, 210):
        for bristle in range(12):
            angle = bristle * math.pi / 6 + t * 20
            s.line([(brush, 84), (brush + math.cos(angle) * 42, 84 + math.sin(angle) * 42)], BLUE, 5)
        s.oval(brush, 84, 10, 10, INK)
    for drop in range(14):
        s.line(
            [
                (20 + drop * 22, 20 + (t * 400 + drop * 37) % 150),
                (20 + drop * 22, 34 + (t * 400 + drop * 37) % 150),
            ],
            (110, 180, 230),
            2,
        )


@clip(DAY, (166, 126, 76), 120)
def tractor(s: Stage, t: float) -> None:
    """A green tractor ploughs dark furrows into a field."""
    s.sun(270, 40)
    x = between(40, 280, t)
    for furrow in range(6):
        s.line([(0, 186 + furrow * 9), (x - 66, 186 + furrow * 9)], (96, 66, 40), 4)
    s.line([(x - 66, 176), (x - 40, 160)], GREY, 6)
    for tooth in range(3):
        s.line([(x - 76 + tooth * 10, 172), (x - 82 + tooth * 10, 206)], INK, 4)
    s.box(x - 40, 128, x + 50, 164, (50, 140, 60), round_=4)
    s.box(x - 36, 84, x + 4, 130, (190, 225, 240), 3)
    s.line([(x + 34, 128), (x + 34, 92)], INK, 5)
    for puff in range(3):
        s.oval(
            x + 34 - (t * 80 + puff * 16) % 48, 86 - puff * 12, 6 + puff * 3, 5 + puff * 2, (170, 170, 176)
        )
    s.oval(x - 20, 176, 34, 34, INK)
    s.oval(x - 20, 176, 16, 16, YELLOW)
    s.oval(x + 40, 188, 20, 20, INK)
    s.oval(x + 40, 188, 9, 9, YELLOW)
