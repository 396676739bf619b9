"""What `vivant/tiny` learns from: the train split of a world like the one that MIMIC-mini is taken from, and takes of
MIME-mini's actions with other seeds. No video of a mini-edition is among them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from vivant.benchmarks.mimic.format import ITEMS, VIDEOS, iter_items, iter_videos, write_jsonl
from vivant.build.mime.jobs import build
from vivant.build.mime.planfile import Specification, mini_plan
from vivant.build.mimic import mini
from vivant.build.mimic.clean import clean
from vivant.build.mimic.select import select
from vivant.build.mimic.split import split
from vivant.build.mimic.task_settings import Train
from vivant.build.mimic.train import train
from vivant.build.mimic.world import WorldPlan, make_world

MIMIC, HELD_OUT, MIME = "mimic-train", "mimic-held-out", "mime-train"
ONE_IN = 12
"""Of the world's train split, one video in so many is kept for looks during the training."""
WORLD = WorldPlan(videos=4000, comments=240_000, seed=mini.WORLD.seed + 1000)
Say = Callable[[str], None]


def make_lessons(out: Path, say: Say = lambda _: None, *, videos: int = 1200, takes: int = 4) -> None:
    """Write the folders that the recipe names below `out`; what is there already is left as it is."""
    if not (out / HELD_OUT).is_dir():
        _mimic(out, videos, say)
    for number in range(takes):
        folder = out / f"{MIME}-{number}"
        build(takes_plan(number), folder)
        say(f"{folder}: MIME-mini's actions, acted anew")


def takes_plan(number: int) -> Specification:
    """The plan of MIME-mini with a seed of its own, so that every take is another."""
    plan = mini_plan()
    return msgspec.structs.replace(
        plan, seed=plan.seed + 1000 * (number + 1), split="train", effort="veryfast"
    )


def _mimic(out: Path, videos: int, say: Say) -> None:
    """The train split of a world like the mini's with another seed: none of its videos, threads or uploaders is the
    mini's."""
    work = out / "work"
    settings = msgspec.structs.replace(
        mini.SETTINGS,
        clean=msgspec.structs.replace(mini.SETTINGS.clean, fewest_comments=10),
        select=msgspec.structs.replace(mini.SETTINGS.select, fewest_comments=10),
        train=Train(videos=videos),
    )
    make_world(work, WORLD)
    clean(work, settings)
    select(work, settings)
    split(work, settings)
    train(work, settings)
    say(f"{work}: the world's train split, with questions")
    made = work / "train"
    lines = [line for _, line in iter_videos(made)]
    shown = mini.shown_topics(work)
    for line in lines:
        mini.draw_clip(shown[line.ref], out / MIMIC / line.path)
    say(f"{out / MIMIC}: {len(lines)} clips drawn")
    apart = {line.ref for place, line in enumerate(lines) if place % ONE_IN == 0}
    items = [item for _, item in iter_items(made)]
    for name, held in ((MIMIC, False), (HELD_OUT, True)):
        folder = out / name
        folder.mkdir(exist_ok=True)
        # Wrong options come from all videos, so both folders list all of them.
        shutil.copyfile(made / VIDEOS, folder / VIDEOS)
        write_jsonl(folder / ITEMS, [item for item in items if (item.video in apart) == held])
    (out / HELD_OUT / "videos").mkdir()
    for line in lines:
        if line.ref in apart:
            (out / MIMIC / line.path).rename(out / HELD_OUT / line.path)
