"""Image retrieval in MileBench-mini: the same emblem again."""

from __future__ import annotations

from pathlib import Path

from minis.milebench.dataset import COUNT, DatasetWriter
from minis.milebench.drawing import COLOURS, Canvas, regular, star


def build(root: Path) -> None:
    """GPR1200 of the mini: find the picture with the emblem of the first one."""
    out = DatasetWriter(
        root,
        "GPR1200",
        "The first picture shows an emblem. Exactly one of the others shows the same emblem, in another size "
        "and on another ground. Choose that picture.",
    )
    grounds = [(226, 220, 206), (206, 222, 226), (228, 212, 214), (214, 226, 206)]
    for number in range(COUNT):
        chance = out.chance(number)
        count = (6, 9, 12)[number % 3]
        designs = [
            (sides, outer, points, inner)
            for sides in (3, 4, 5, 6)
            for outer in ("red", "blue", "green", "purple")
            for points in (4, 5, 6)
            for inner in ("yellow", "grey")
        ]
        chosen = chance.sample(designs, count)
        place = chance.randrange(count)
        order = [chosen[place], *chosen]
        images = []
        for index, (sides, outer, points, inner) in enumerate(order):
            c = Canvas(120, 120, fill=chance.choice(grounds))
            x, y = chance.uniform(48, 72), chance.uniform(48, 72)
            size = chance.uniform(30, 44)
            turn = chance.uniform(-0.25, 0.25)
            c.shape(regular(sides, x, y, size, turn), COLOURS[outer])
            c.shape(star(points, x, y, size * 0.42, turn), COLOURS[inner])
            images.append(out.picture(c, f"{number}-{index}"))
        choices = [f"Image {index + 2}" for index in range(count)]
        listed = " ".join(f"Image {index + 2}: {{image#{index + 2}}}" for index in range(count))
        out.ask(
            f"The emblem: {{image#1}}\n{listed}\nWhich picture shows the same emblem?",
            images,
            f"Image {place + 2}",
            choices,
            evidence=(place + 2,),
        )
    out.write()
