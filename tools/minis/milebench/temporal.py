"""The temporal half of MileBench-mini: what happens in a row of frames, and in which order."""

from __future__ import annotations

from pathlib import Path

from minis.milebench.dataset import COUNT, DatasetWriter, marks, shuffled
from minis.milebench.drawing import COLOURS, INK, WHITE, Canvas

_EVENTS = {
    "door": "the door opens",
    "lamp": "the lamp goes on",
    "blind": "the blind comes down",
    "cat": "the cat lies down on the rug",
    "vase": "the vase falls over",
    "box": "the box is opened",
}


def build(root: Path) -> None:
    """All datasets of T-1 to T-4 that the mini has."""
    _actions(root)
    _cups(root)
    _directions(root)
    _letters(root)
    _glasses(root)


# ── T-1: what happens after what ──


def _actions(root: Path) -> None:
    out = DatasetWriter(
        root, "ActionSequence", "The pictures show one room at successive moments. Choose the right answer."
    )
    for number in range(COUNT):
        chance = out.chance(number)
        order = chance.sample(list(_EVENTS), 6)
        frames = [out.picture(_room(set(order[:step])), f"{number}-{step}") for step in range(len(order) + 1)]
        place = chance.randrange(len(order) - 1)
        first, then = order[place], order[place + 1]
        others = [_EVENTS[event] for event in order if event not in (first, then)]
        out.ask(
            f"{marks(len(frames))}\nWhat is the next thing to happen after {_EVENTS[first]}?",
            frames,
            _EVENTS[then],
            shuffled(chance, _EVENTS[then], others),
            evidence=(place + 2, place + 3),
        )
    out.write()


def _room(done: set[str]) -> Canvas:
    c = Canvas(fill=(226, 218, 200))
    c.rect(0, 130, 240, 50, (176, 146, 112))
    c.oval(110, 156, 86, 22, (150, 92, 88))
    c.rect(14, 48, 40, 84, (96, 70, 54))
    if "door" in done:
        c.rect(17, 51, 34, 79, (250, 240, 190))
        c.shape([(17, 51), (30, 58), (30, 137), (17, 130)], (132, 92, 66))
    else:
        c.rect(17, 51, 34, 79, (132, 92, 66))
        c.disc(46, 92, 2.5, (230, 200, 90))
    c.rect(84, 30, 56, 48, WHITE, INK)
    c.rect(87, 33, 50, 42, (160, 204, 232))
    if "blind" in done:
        for y in range(33, 75, 6):
            c.rect(87, y, 50, 5, (214, 196, 150), (170, 150, 110))
    lit = "lamp" in done
    if lit:
        c.shape([(176, 62), (204, 62), (226, 130), (154, 130)], (252, 240, 170))
    c.line([(190, 0), (190, 42)], INK, 2)
    c.shape([(180, 42), (200, 42), (208, 62), (172, 62)], (252, 214, 80) if lit else (120, 124, 132))
    c.rect(158, 112, 70, 6, (110, 80, 60))
    c.rect(162, 118, 5, 34, (110, 80, 60))
    c.rect(219, 118, 5, 34, (110, 80, 60))
    if "vase" in done:
        c.oval(186, 107, 26, 11, COLOURS["blue"])
        c.shape([(200, 102), (212, 98), (212, 111), (200, 111)], COLOURS["blue"])
    else:
        c.oval(180, 100, 16, 24, COLOURS["blue"])
        c.line([(180, 88), (176, 72)], COLOURS["green"], 2)
        c.disc(176, 70, 5, COLOURS["red"])
    _box(c, "box" in done)
    if "cat" in done:
        c.oval(108, 152, 44, 15, INK)
        c.disc(130, 147, 8, INK)
        c.shape([(124, 142), (126, 134), (131, 140)], INK)
        c.shape([(131, 140), (136, 134), (137, 143)], INK)
        c.line([(88, 152), (78, 146), (74, 138)], INK, 3)
    return c


def _box(c: Canvas, is_open: bool) -> None:
    c.rect(20, 146, 44, 26, (196, 160, 104), INK)
    if is_open:
        c.rect(22, 146, 40, 6, (90, 70, 50))
        c.shape([(20, 146), (8, 134), (24, 130), (30, 146)], (176, 140, 88))
        c.shape([(64, 146), (76, 134), (60, 130), (54, 146)], (176, 140, 88))
    else:
        c.line([(42, 146), (42, 172)], (150, 116, 70), 3)


# ── T-2: where the ball goes ──

_PLACES = ("the left cup", "the middle cup", "the right cup")


def _cups(root: Path) -> None:
    out = DatasetWriter(
        root,
        "ObjectShuffle",
        "Three cups stand in a row. The first picture shows under which of them the ball lies. In each of "
        "the next pictures, arrows show which two cups change places. Choose the right answer.",
    )
    swaps = ((0, 1), (1, 2), (0, 2))
    for number in range(COUNT):
        chance = out.chance(number)
        ball = start = chance.randrange(3)
        frames = [out.picture(_table(start, None), f"{number}-0")]
        last = None
        for step in range(1, 5):
            pair = chance.choice([swap for swap in swaps if swap != last])
            last = pair
            frames.append(out.picture(_table(None, pair), f"{number}-{step}"))
            if ball in pair:
                ball = pair[1] if ball == pair[0] else pair[0]
        out.ask(
            f"{marks(len(frames))}\nUnder which cup is the ball at the end?",
            frames,
            _PLACES[ball],
            _PLACES,
        )
    out.write()


def _table(ball: int | None, swap: tuple[int, int] | None) -> Canvas:
    c = Canvas(fill=(214, 228, 224))
    c.rect(0, 134, 240, 46, (168, 132, 98))
    for place, x in enumerate((54, 120, 186)):
        lift = 44 if place == ball else 0
        if place == ball:
            c.disc(x, 136, 10, COLOURS["red"])
        c.shape(
            [(x - 16, 96 - lift), (x + 16, 96 - lift), (x + 23, 146 - lift), (x - 23, 146 - lift)],
            (70, 92, 140),
        )
        c.rect(x - 24, 141 - lift, 48, 6, (52, 70, 112))
    if swap:
        left, right = (54 + 66 * place for place in swap)
        c.arc_arrow(left, right, 88, 46)
        c.arc_arrow(right, left, 152, -20)
    return c


# ── T-3: which way it moves ──

_WAYS = {
    "to the left": (-34.0, 0.0),
    "to the right": (34.0, 0.0),
    "upwards": (0.0, -26.0),
    "downwards": (0.0, 26.0),
    "it does not move": (0.0, 0.0),
}


def _directions(root: Path) -> None:
    out = DatasetWriter(
        root, "MovingDirection", "The pictures are frames of a film, in order. Choose the right answer."
    )
    for number in range(COUNT):
        chance = out.chance(number)
        colours = chance.sample(["red", "blue", "green", "yellow"], 3)
        ways = chance.sample(list(_WAYS), 3)
        centres = [(60, 60), (178, 78), (112, 126)]
        frames = []
        for step in range(5):
            c = Canvas(fill=(230, 230, 234))
            for x in range(0, 240, 40):
                c.line([(x, 0), (x, 180)], (212, 212, 218), 1)
            for colour, way, (x, y) in zip(colours, ways, centres, strict=True):
                dx, dy = _WAYS[way]
                c.disc(x + dx * (step - 2) / 2, y + dy * (step - 2) / 2, 15, COLOURS[colour], INK)
            frames.append(out.picture(c, f"{number}-{step}"))
        asked = chance.randrange(3)
        out.ask(
            f"{marks(len(frames))}\nIn which direction does the {colours[asked]} ball move?",
            frames,
            ways[asked],
            shuffled(chance, ways[asked], list(_WAYS), 5),
        )
    out.write()


# ── T-4: order, and counting changes ──


def _letters(root: Path) -> None:
    out = DatasetWriter(
        root,
        "CharacterOrder",
        "Someone lays cards with letters on a table, one after the other; each picture shows the newest. "
        "Choose the right answer.",
    )
    for number in range(COUNT):
        chance = out.chance(number)
        base = tuple(chance.sample("FHKLMNRTUXZ", 5))
        orders = {base}
        while len(orders) < 4:
            other = list(base)
            i, j = chance.sample(range(5), 2)
            other[i], other[j] = other[j], other[i]
            orders.add(tuple(other))
        # Any of the four is the right one: the order from which the others are one exchange away is no hint.
        letters = chance.choice(sorted(orders))
        frames = []
        for step, letter in enumerate(letters):
            c = Canvas(160, 120, fill=(150, 112, 82))
            x, y = chance.uniform(20, 70), chance.uniform(14, 30)
            c.rect(x, y, 62, 76, WHITE, INK)
            c.text(x + 31, y + 38, letter, 44, COLOURS[chance.choice(("red", "blue", "green"))], "mm")
            frames.append(out.picture(c, f"{number}-{step}"))
        texts = [" ".join(order) for order in sorted(orders)]
        key = " ".join(letters)
        out.ask(
            f"{marks(len(frames))}\nIn which order were the letters laid down?",
            frames,
            key,
            shuffled(chance, key, texts),
        )
    out.write()


def _glasses(root: Path) -> None:
    out = DatasetWriter(
        root, "StateChange", "The pictures show one glass at successive moments. Choose the right answer."
    )
    for number in range(COUNT):
        chance = out.chance(number)
        levels, filled = [chance.randint(1, 3)], 0
        refills = chance.randint(1, 4)
        while filled < refills or len(levels) < 7:
            if levels[-1] == 0 or (filled < refills and levels[-1] < 4 and chance.random() < 0.4):
                if filled == refills:
                    break
                levels.append(chance.randint(levels[-1] + 1, 4))
                filled += 1
            else:
                levels.append(levels[-1] - 1)
        frames = [out.picture(_glass(amount), f"{number}-{step}") for step, amount in enumerate(levels)]
        counts = ["once", "twice", "three times", "four times"]
        out.ask(
            f"{marks(len(frames))}\nHow often was something poured into the glass after the first picture?",
            frames,
            counts[filled - 1],
            counts,
        )
    out.write()


def _glass(amount: int) -> Canvas:
    c = Canvas(120, 140, fill=(232, 224, 212))
    c.rect(0, 116, 120, 24, (140, 104, 78))
    c.shape([(34, 24), (86, 24), (80, 118), (40, 118)], (214, 230, 236))
    if amount:
        share = amount / 4 * 0.86
        top, inset = 118 - 94 * share, 6 * (1 - share)
        c.shape([(34 + inset, top), (86 - inset, top), (80, 118), (40, 118)], (222, 140, 60))
    c.line([(34, 24), (40, 118), (80, 118), (86, 24)], INK, 2)
    return c
