"""What `vivant/tiny` learns from: the train split of the world that MIMIC-mini is taken from, and takes of MIME-mini's
actions with other seeds. No video of a mini-edition is among them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from vivant.build.mime.jobs import build
from vivant.build.mime.planfile import Specification, mini_plan
from vivant.build.mimic import mini
from vivant.build.mimic.clean import clean
from vivant.build.mimic.select import select
from vivant.build.mimic.settings import Settings
from vivant.build.mimic.split import split
from vivant.build.mimic.task_settings import Train
from vivant.build.mimic.train import train
from vivant.build.mimic.world import make_world

MIMIC, HELD_OUT, MIME = "mimic-train", "mimic-held-out", "mime-train"
Say = Callable[[str], None]


def make_lessons(out: Path, say: Say = lambda _: None, *, videos: int = 700, takes: int = 4) -> None:
    """Write the training folders below `out`; what is there already is left as it is."""
    if not (out / MIMIC).is_dir():
        _mimic(out, videos, say)
    for number in range(takes):
        folder = out / f"{MIME}-{number}"
        build(takes_plan(number), folder, say)
        say(f"{folder}: MIME's actions, acted anew")


def takes_plan(number: int) -> Specification:
    """The plan of MIME-mini with a seed of its own, so that every take is another."""
    mini_of = mini_plan()
    return msgspec.structs.replace(
        mini_of, seed=mini_of.seed + 1000 * (number + 1), split="train", effort="veryfast"
    )


def _mimic(out: Path, videos: int, say: Say) -> None:
    """The train split of the mini's own world: the benchmark's videos, their copies and their uploaders are not in it."""
    work = out / "work"
    settings = learning(videos)
    make_world(work, mini.WORLD)
    clean(work, settings)
    select(work, settings)
    split(work, settings)
    train(work, settings)
    say(f"{work}: the world's train split, with questions")
    draw(work, work / "train", out / MIMIC, say)


def learning(videos: int) -> Settings:
    """The mini's own settings, with so many videos to learn from."""
    return msgspec.structs.replace(mini.SETTINGS, train=Train(videos=videos))
