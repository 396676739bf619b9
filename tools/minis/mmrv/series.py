"""Three series of short drawn stories and their questions, both from the same draw, so that a key is what is shown.

`Visits`: people pass a table, and one of them takes what lies on it. `Cups`: a ball under cups that change places, and
at times a hand that takes it away. `Races`: runners whose order changes. Nothing of a question's text tells its key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import permutations
from random import Random
from typing import Any

from minis.mmrv.stage import Scene, Story, StoryStage
from vivant.core.randomness import derive_generator
from vivant_build.mimic.world.drawings.canvas import (
    BLUE,
    BROWN,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    WHITE,
    YELLOW,
    Colour,
    Face,
    between,
    ease,
)

SHIRTS: dict[str, Colour] = {
    "red": RED, "blue": BLUE, "green": GREEN, "yellow": YELLOW, "orange": ORANGE, "purple": PURPLE,
    "white": WHITE, "brown": BROWN, "black": (50, 50, 56), "pink": (238, 150, 180),
}  # fmt: skip
_WALLS: tuple[Colour, ...] = ((225, 215, 195), (205, 218, 226), (222, 206, 214), (210, 222, 202))
_WOOD = (170, 130, 95)
_QUALITY = 29
EACH = 32
"""Stories of a series."""


def _choose(chance: Random, key: str, wrong: Sequence[str], size: int) -> list[str]:
    """The key first, then so many others that there are `size` in all."""
    return [key, *chance.sample([text for text in dict.fromkeys(wrong) if text != key], size - 1)]


def _ask(ability: tuple[str, str], question: str, options: Sequence[str]) -> dict[str, Any]:
    return {"ability": list(ability), "question": question, "options": list(options)}


# ── visits ──

_THINGS: dict[str, Callable[[StoryStage, float, float], None]] = {
    "cake": lambda stage, x, y: stage.box(x - 13, y - 12, x + 13, y, (240, 190, 200), 1, 3),
    "ball": lambda stage, x, y: stage.oval(x, y - 9, 9, 9, RED, 1),
    "hat": lambda stage, x, y: stage.shape([(x - 16, y), (x, y - 22), (x + 16, y)], (60, 70, 110)),
    "book": lambda stage, x, y: stage.box(x - 12, y - 7, x + 12, y, GREEN, 1),
    "jug": lambda stage, x, y: stage.box(x - 7, y - 20, x + 7, y, (120, 160, 200), 1, 5),
}
_MOODS: dict[str, Face] = {"calm": "flat", "joy": "smile", "grief": "sad", "shock": "wow", "anger": "angry"}


def _table(stage: StoryStage) -> None:
    stage.box(110, 160, 210, 167, _WOOD)
    for leg in (118, 196):
        stage.box(leg, 167, leg + 6, 205, _WOOD)


def _visit(number: int) -> tuple[Story, str, list[dict[str, Any]]]:
    chance = derive_generator(0, "mmrv-visits", str(number))
    thing = chance.choice(list(_THINGS))
    visitors = chance.sample(list(SHIRTS), 3)
    taker = chance.randrange(3)
    moods = chance.sample(list(_MOODS), 2)
    wall = chance.choice(_WALLS)

    def leave(stage: StoryStage, t: float) -> None:
        _table(stage)
        _THINGS[thing](stage, 160, 160)
        x = between(90, -40, ease(t, 0.4, 1.0))
        stage.person(x, 205, GREY, face=_MOODS[moods[0]], facing=-1, walk=t * 2 if t > 0.4 else None)

    def pass_by(index: int) -> Callable[[StoryStage, float], None]:
        def draw(stage: StoryStage, t: float) -> None:
            x = between(350, -30, t)
            gone = index > taker or (index == taker and t > 0.5)
            if not gone:
                _THINGS[thing](stage, 160, 160)
            _table(stage)
            reaches = index == taker and 0.35 < t < 0.6
            lift = -75 if reaches else -20
            stage.person(x, 208, SHIRTS[visitors[index]], facing=-1, walk=t * 3, arms=(lift, 20))
            if index == taker and t > 0.5:
                _THINGS[thing](stage, x - 24, 150)

        return draw

    def return_(stage: StoryStage, t: float) -> None:
        _table(stage)
        x = between(-30, 80, ease(t, 0, 0.5))
        face = _MOODS[moods[1]] if t > 0.5 else "flat"
        stage.person(x, 205, GREY, face=face, walk=t * 2 if t < 0.5 else None, size=1.15)

    scenes = (
        Scene(0.9, leave, sky=wall, ground=BROWN, horizon=200),
        *(Scene(1.0, pass_by(index), sky=wall, ground=BROWN, horizon=200) for index in range(3)),
        Scene(0.9, return_, sky=wall, ground=BROWN, horizon=200),
    )
    who = [f"The person in {shirt} took it away." for shirt in SHIRTS]
    orders = [", then ".join(chance.sample(list(SHIRTS), 3)) for _ in range(20)]
    pairs = [f"From {first} to {second}" for first, second in permutations(_MOODS, 2)]
    questions = [
        _ask(
            ("Causal Reasoning", "Backward Reasoning"),
            f"Why is there no {thing} on the table when the person in grey comes back?",
            _choose(chance, who[list(SHIRTS).index(visitors[taker])], who, 9),
        )
    ]
    if number % 2:
        questions.append(
            _ask(
                ("Sequential Structure Reasoning", "Narrative Structure"),
                "In which order do the visitors between the first and the last shot pass the table?",
                _choose(chance, ", then ".join(visitors), orders, 8),
            )
        )
    else:
        questions.append(
            _ask(
                ("Emotion Recognition", "Explicit Emotion"),
                "How does the mood of the person in grey change from the first shot to the end?",
                _choose(chance, f"From {moods[0]} to {moods[1]}", pairs, 10),
            )
        )
    return Story(f"Visit {number:02d}.mp4", scenes, quality=_QUALITY), "Life", questions


# ── cups ──

_CUPS = (60.0, 126.0, 192.0, 258.0)
_ORDINALS = ("first", "second", "third", "fourth")
_UNDER = tuple(f"Under the {ordinal} cup" for ordinal in _ORDINALS)
_ELSEWHERE = {
    "Inside the black hat": 20.0,
    "Inside the brown box": 160.0,
    "Inside the green bag": 296.0,
    "Inside the open hand": None,
}
"""Where a hand may take the ball: along the floor, or away with it."""


def _cup(stage: StoryStage, x: float, lift: float = 0.0) -> None:
    stage.shape(
        [(x - 15, 120 - lift), (x + 15, 120 - lift), (x + 22, 168 - lift), (x - 22, 168 - lift)], BLUE
    )


def _cups(number: int) -> tuple[Story, str, list[dict[str, Any]]]:
    chance = derive_generator(0, "mmrv-cups", str(number))
    start = ball = chance.randrange(4)
    swaps: list[tuple[int, int]] = []
    while len(swaps) < 3:
        pair = tuple(sorted(chance.sample(range(4), 2)))
        if not swaps or pair != swaps[-1]:
            swaps.append((pair[0], pair[1]))
    for first, second in swaps:
        ball = {first: second, second: first}.get(ball, ball)
    end = _UNDER[ball] if number % 2 else chance.choice(list(_ELSEWHERE))
    colour = chance.choice(list(SHIRTS))
    wall = chance.choice(_WALLS)

    def furnish(stage: StoryStage) -> None:
        stage.box(20, 168, 300, 178, _WOOD)
        stage.shape([(4, 236), (20, 206), (36, 236)], SHIRTS["black"])
        stage.box(144, 210, 176, 236, BROWN, 1)
        stage.box(282, 208, 310, 236, GREEN, 1, 8)

    def show(stage: StoryStage, t: float) -> None:
        furnish(stage)
        stage.oval(_CUPS[start], 160, 8, 8, SHIRTS[colour], 1)
        for index, x in enumerate(_CUPS):
            _cup(stage, x, 46 * (1 - ease(t, 0.4, 0.9)) if index == start else 0)

    def swap(pair: tuple[int, int]) -> Callable[[StoryStage, float], None]:
        def draw(stage: StoryStage, t: float) -> None:
            furnish(stage)
            share, bend = ease(t), 40 * math.sin(math.pi * ease(t))
            for index, x in enumerate(_CUPS):
                if index not in pair:
                    _cup(stage, x)
            first, second = (_CUPS[index] for index in pair)
            _cup(stage, between(first, second, share), bend)
            _cup(stage, between(second, first, share), -bend * 0.4)

        return draw

    def rest(stage: StoryStage, _: float) -> None:
        furnish(stage)
        for x in _CUPS:
            _cup(stage, x)

    def steal(stage: StoryStage, t: float) -> None:
        furnish(stage)
        away = _ELSEWHERE[end]
        x = between(_CUPS[ball], _CUPS[ball] if away is None else away, ease(t, 0.5, 0.8))
        down = between(0, 148, ease(t, 0, 0.35)) - 110 * ease(t, 0.4, 0.6)
        if away is not None:
            down += 160 * ease(t, 0.75, 1.0)
        for index, each in enumerate(_CUPS):
            _cup(stage, each, 44 * math.sin(math.pi * min(t / 0.7, 1)) if index == ball else 0)
        stage.line([(x, 0), (x, down)], (90, 70, 60), 12)
        stage.oval(x, down + 6, 10, 8, (240, 200, 170))
        if t > 0.35 and (away is None or t < 0.97):
            stage.oval(x, down + 13, 8, 8, SHIRTS[colour], 1)

    def room(seconds: float, draw: Callable[[StoryStage, float], None]) -> Scene:
        return Scene(seconds, draw, sky=wall, ground=(150, 120, 100), horizon=205)

    last = room(0.5, rest) if number % 2 else room(1.6, steal)
    scenes = (room(0.9, show), *(room(0.8, swap(pair)) for pair in swaps), last)
    colours = [f"It is {name}." for name in SHIRTS]
    balls = [f"A {name} ball, under the {ordinal} cup" for name in SHIRTS for ordinal in _ORDINALS]
    follow_up = (
        ("What colour has the ball that is hidden?", _choose(chance, f"It is {colour}.", colours, 8))
        if number % 4 < 2
        else (
            "Which ball is shown at first, and under which cup, counted from the left?",
            _choose(chance, f"A {colour} ball, under the {_ORDINALS[start]} cup", balls, 7),
        )
    )
    questions = [
        _ask(
            ("Counterintuitive Reasoning", "Magic Deconstruction"),
            "Where is the ball when the video ends, with cups counted from the left?",
            _choose(chance, end, [*_UNDER, *_ELSEWHERE], 8),
        ),
        _ask(("Sequential Structure Reasoning", "Core Connecting Elements"), *follow_up),
    ]
    return Story(f"Cups {number:02d}.mp4", scenes, quality=_QUALITY), "TV", questions


# ── races ──

_LANES = (70.0, 115.0, 160.0, 205.0)


def _race(number: int) -> tuple[Story, str, list[dict[str, Any]]]:
    chance = derive_generator(0, "mmrv-races", str(number))
    runners = chance.sample(list(SHIRTS), 4)
    marks = [chance.sample([start + 24.0 * step for step in range(4)], 4) for start in (45, 115, 190)]
    paths = [[20.0, *(mark[lane] for mark in marks)] for lane in range(4)]

    def leg(index: int) -> Callable[[StoryStage, float], None]:
        def draw(stage: StoryStage, t: float) -> None:
            for lane, y in enumerate(_LANES):
                stage.line([(0, y + 4), (320, y + 4)], WHITE, 1)
                x = between(paths[lane][index], paths[lane][index + 1], ease(t, 0, 0.8))
                stage.person(x, y, SHIRTS[runners[lane]], size=0.5, walk=t * 4, arms=(40, -40))
            stage.line([(285, 20), (285, 210)], RED if index == 2 else GREY, 4)

        return draw

    track: Colour = chance.choice(((176, 110, 80), (120, 140, 150), (150, 160, 110)))
    scenes = tuple(Scene(1.1, leg(index), sky=track, ground=None) for index in range(3))
    last = sorted(runners, key=lambda name: -marks[2][runners.index(name)])
    middle = sorted(runners, key=lambda name: -marks[1][runners.index(name)])
    who = [f"The runner in {shirt}" for shirt in SHIRTS]
    orders = [", ".join(order) for order in permutations(runners)]
    questions = [
        _ask(
            ("Causal Reasoning", "Forward Reasoning"),
            "If the race ended with the last picture, who would win it?",
            _choose(chance, f"The runner in {last[0]}", who, 9),
        ),
        _ask(
            ("Sequential Structure Reasoning", "Narrative Structure"),
            "In which order, from the first to the last, do the runners lie at the end of the second shot?",
            _choose(chance, ", ".join(middle), orders, 10),
        )
        if number % 2
        else _ask(
            ("Counterintuitive Reasoning", "Artistic Techniques"),
            "Who is last at the end of the second shot?",
            _choose(chance, f"The runner in {middle[-1]}", who, 8),
        ),
    ]
    return Story(f"Race {number:02d}.mp4", scenes, quality=_QUALITY), "Animation", questions


def make_series() -> list[tuple[Story, str, list[dict[str, Any]]]]:
    """Every story of the three series, with the type of its video and its questions, the right option first."""
    return [make(number) for make in (_visit, _cups, _race) for number in range(EACH)]
