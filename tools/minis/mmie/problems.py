"""Multi-step reasoning: twelve problems whose data stand in the picture; half of them with options."""

from __future__ import annotations

import math
from collections.abc import Callable

from minis.mmie.canvas import Canvas

Problem = tuple[str, str, Callable[[Canvas], None], tuple[str, ...], str]
"""Field, question, picture, options, worked answer."""

BLUE, RED, GREEN, YELLOW = "#2f6db5", "#d93636", "#4f9a45", "#f4b400"


def _bars(c: Canvas) -> None:
    c.line([(50, 30), (50, 200), (300, 200)], "#333333", 2)
    for n, (name, value, fill) in enumerate(
        (("Mon", 4, BLUE), ("Tue", 7, RED), ("Wed", 3, GREEN), ("Thu", 6, YELLOW))
    ):
        c.box(70 + n * 56, 200 - value * 20, 36, value * 20, fill)
        c.text(88 + n * 56, 214, name, 14)
    for value in (2, 4, 6, 8):
        c.line([(45, 200 - value * 20), (55, 200 - value * 20)])
        c.text(32, 200 - value * 20, str(value), 14)


def _field(c: Canvas) -> None:
    c.shape([(60, 60), (250, 60), (250, 130), (150, 130), (150, 190), (60, 190)], "#d5e8c8", "#333333")
    for x, y, text in (
        (155, 44, "10 m"),
        (274, 95, "4 m"),
        (200, 146, "6 m"),
        (172, 164, "3 m"),
        (105, 206, "4 m"),
        (36, 125, "7 m"),
    ):
        c.text(x, y, text, 15)


def _pie(c: Canvas) -> None:
    for n in range(8):
        c.slice(160, 120, 90, n * 45, n * 45 + 45, "#f2d2ae" if n < 3 else "white")


def _clocks(c: Canvas) -> None:
    for x, hour, minute in ((85, 9, 40), (235, 11, 5)):
        c.disc(x, 120, 64, "white", "#333333")
        for n in range(12):
            turn = n * math.pi / 6
            c.line(
                [
                    (x + 54 * math.sin(turn), 120 - 54 * math.cos(turn)),
                    (x + 61 * math.sin(turn), 120 - 61 * math.cos(turn)),
                ]
            )
        short, long = (hour + minute / 60) * math.pi / 6, minute * math.pi / 30
        c.line([(x, 120), (x + 32 * math.sin(short), 120 - 32 * math.cos(short))], "#222222", 5)
        c.line([(x, 120), (x + 50 * math.sin(long), 120 - 50 * math.cos(long))], "#222222", 3)
    c.text(85, 205, "leaves", 16)
    c.text(235, 205, "arrives", 16)


def _dots(c: Canvas) -> None:
    for n in range(3):
        side = n + 2
        for row in range(side):
            for column in range(side):
                c.disc(40 + n * 95 + column * 15, 70 + row * 15, 5, BLUE)
        c.text(60 + n * 95, 180, f"figure {n + 1}", 15)


def _beads(c: Canvas) -> None:
    fills = [RED, BLUE, BLUE, YELLOW, RED, BLUE, BLUE, YELLOW, RED]
    c.line([(10, 120), (310, 120)], "#777777", 2)
    for n, fill in enumerate(fills):
        c.disc(28 + n * 30, 120, 13, fill, "#333333")
    c.text(302, 120, "…", 22)


def _scales(c: Canvas) -> None:
    c.shape([(160, 90), (140, 200), (180, 200)], "#777777")
    c.line([(60, 90), (260, 90)], "#333333", 5)
    c.box(48, 56, 34, 34, BLUE)
    c.box(84, 56, 34, 34, BLUE)
    c.disc(215, 72, 18, RED)
    c.disc(250, 72, 18, RED)
    c.disc(232, 40, 18, RED)
    c.text(65, 73, "?", 18, "white")
    c.text(101, 73, "?", 18, "white")
    for x, y in ((215, 72), (250, 72), (232, 40)):
        c.text(x, y, "2 kg", 12, "white")


def _lever(c: Canvas) -> None:
    c.line([(30, 150), (290, 150)], "#8a5a2b", 7)
    c.shape([(118, 153), (100, 195), (136, 195)], "#777777")
    c.box(32, 108, 44, 40, BLUE)
    c.text(54, 128, "6 kg", 15, "white")
    c.arrow((280, 95), (280, 143))
    c.text(280, 82, "?", 20)
    c.text(84, 216, "1 m", 15)
    c.text(198, 216, "2 m", 15)
    c.line([(54, 204), (118, 204)], "#555555", 1.5)
    c.line([(118, 204), (280, 204)], "#555555", 1.5)


def _pendulums(c: Canvas) -> None:
    c.box(20, 20, 280, 8, "#777777")
    for n, (length, fill) in enumerate(((60, RED), (150, BLUE), (100, GREEN))):
        x = 70 + n * 90
        c.line([(x, 28), (x + length * 0.25, 28 + length)], "#333333", 2)
        c.disc(x + length * 0.25, 28 + length, 14, fill)
        c.text(x, 225, "ABC"[n], 16)


def _circuit(c: Canvas) -> None:
    c.line([(50, 60), (270, 60), (270, 190), (50, 190), (50, 60)], "#333333", 3)
    c.line([(50, 125), (150, 125)], "#333333", 3)
    c.line([(150, 125), (182, 105)], "#333333", 3)
    c.line([(190, 125), (270, 125)], "#333333", 3)
    c.box(38, 140, 24, 36, "white", "#333333")
    c.text(50, 158, "+ -", 12)
    for x, y, name in ((160, 60, "1"), (110, 125, "2"), (225, 125, "3")):
        c.disc(x, y, 16, "#fff3b0", "#333333")
        c.text(x, y, name, 15)
    c.text(168, 92, "switch", 13)


def _ramp(c: Canvas) -> None:
    c.shape([(40, 60), (40, 200), (240, 200)], "#d8c4a0", "#777777")
    c.disc(66, 64, 14, RED)
    c.arrow((100, 80), (170, 130))
    c.text(24, 130, "5 m", 15)
    c.line([(240, 200), (310, 200)], "#777777", 3)


def _shadow(c: Canvas) -> None:
    c.outdoors("#e4f1fa", "#cfe3b8", 190)
    c.sun(40, 40, 16)
    c.box(92, 160, 6, 30, "#8a5a2b")
    c.line([(95, 190), (125, 190)], "#444444", 6)
    c.text(78, 175, "1 m", 13)
    c.text(112, 206, "1 m", 13)
    c.tree(200, 190, size=0.9)
    c.line([(200, 190), (296, 190)], "#444444", 6)
    c.text(252, 208, "5 m", 15)


PROBLEMS: tuple[Problem, ...] = (
    (
        "Math",
        "The bars show how many books were lent each day. How many books were lent on the four days in all?",
        _bars,
        ("18", "20", "21", "24"),
        "The bars read 4, 7, 3 and 6. Their sum is 4 + 7 + 3 + 6 = 20. The answer is B.",
    ),
    (
        "Math",
        "What is the area of this field?",
        _field,
        (),
        "Cut the field in two: above 10 m by 4 m, below 4 m by 3 m. That is 40 + 12 = 52 square metres.",
    ),
    (
        "Math",
        "Two people share the marked part of the pie equally. Which part of the whole does each get?",
        _pie,
        ("3/8", "3/16", "1/4", "5/16"),
        "Three of eight slices are marked, 3/8. Half of it is 3/16. The answer is B.",
    ),
    (
        "Math",
        "The clocks show when a train leaves and arrives, on the same morning. How long does the journey take?",
        _clocks,
        (),
        "It leaves at 9:40 and arrives at 11:05. To 10:40 it is one hour, to 11:05 another 25 minutes: 1 h 25 min.",
    ),
    (
        "Math",
        "The figures go on in the same way. How many dots has figure 8?",
        _dots,
        ("64", "72", "81", "100"),
        "Figure n is a square of n + 1 by n + 1 dots: 4, 9, 16. Figure 8 has 9 times 9 = 81 dots. The answer is C.",
    ),
    (
        "Math",
        "The string of beads goes on in the same way. Which colour has bead number 30?",
        _beads,
        (),
        "Red, blue, blue, yellow repeats every four beads. 30 = 7 times 4 + 2, so bead 30 is as bead 2: blue.",
    ),
    (
        "Physics",
        "The scales are in balance. How heavy is one blue cube?",
        _scales,
        ("2 kg", "3 kg", "4 kg", "6 kg"),
        "Three red balls weigh 3 times 2 kg = 6 kg. Two cubes weigh as much, so one weighs 3 kg. The answer is B.",
    ),
    (
        "Physics",
        "Which mass would have to press down at the right end of the lever to hold the block in balance?",
        _lever,
        (),
        "Torques must be equal: 6 kg times 1 m on the left, the unknown mass times 2 m on the right. It is 3 kg.",
    ),
    (
        "Physics",
        "Three pendulums swing freely. Which one takes longest for one swing?",
        _pendulums,
        ("A, red", "B, blue", "C, green", "all take equally long"),
        "The longer the string, the slower the swing; mass does not matter. B's is the longest. The answer is B.",
    ),
    (
        "Physics",
        "The switch is open. Which of the lamps 1, 2 and 3 are lit?",
        _circuit,
        (),
        "No current flows in the branch with the open switch, so lamps 2 and 3 are dark. The outer loop is closed: "
        "only lamp 1 is lit.",
    ),
    (
        "Physics",
        "The ball slides down the ramp from rest, without friction (g = 10 m/s²). How fast is it at the bottom?",
        _ramp,
        ("5 m/s", "7 m/s", "10 m/s", "50 m/s"),
        "Height becomes speed: v² = 2 g h = 2 times 10 times 5 = 100, so v = 10 m/s. The answer is C.",
    ),
    (
        "Physics",
        "A stick of 1 m throws a shadow of 1 m. How tall is the tree?",
        _shadow,
        (),
        "The sun's rays are parallel, so shadow and height are in the same proportion, 1 to 1. The tree is 5 m tall.",
    ),
)
