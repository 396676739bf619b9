"""What `vivant/tiny` learns from: the train split of a world like the one that MIMIC-mini is taken from, and takes of
MIME-mini's actions with other seeds. No video of a mini-edition is among them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from vivant.benchmarks.mimic.format import (
    ITEMS,
    VIDEOS,
    MimicItem,
    MimicOption,
    MimicVideo,
    iter_items,
    iter_videos,
)
from vivant.build.mime.jobs import build
from vivant.build.mime.plan_file import Specification, load_mini_plan
from vivant.build.mimic import mini
from vivant.build.mimic.cleaning import clean
from vivant.build.mimic.selection import select_videos
from vivant.build.mimic.settings import TrainSettings
from vivant.build.mimic.split import split_videos
from vivant.build.mimic.training_set import make_training_set
from vivant.build.mimic.world import WorldPlan, make_world
from vivant.build.mimic.world.phrases import load_topics
from vivant.core.files import write_jsonl
from vivant.core.randomness import derive_generator

MIMIC, DIRECTION, MIME = "mimic", "direction", "mime-train"
ONE_IN = 12
"""Of the world's train split, one video in so many is kept for looks during the training."""
WORLD = WorldPlan(videos=6400, comments=384_000, seed=mini.WORLD.seed + 1000)
Say = Callable[[str], None]


def make_lessons(out: Path, say: Say = lambda _: None, *, videos: int = 1200, takes: int = 3) -> None:
    """Write the folders that the recipe names below `out`; what is there already is left as it is."""
    if not (out / f"{DIRECTION}-train").is_dir():
        _mimic(out, videos, say)
    for number in range(takes):
        folder = out / f"{MIME}-{number}"
        build(takes_plan(number), folder)
        say(f"{folder}: MIME-mini's actions, acted anew")


def takes_plan(number: int) -> Specification:
    """The plan of MIME-mini with a seed of its own, so that every take is another."""
    plan = load_mini_plan()
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
        train=TrainSettings(videos=videos),
    )
    make_world(work, WORLD)
    clean(work, settings)
    select_videos(work, settings)
    split_videos(work, settings)
    make_training_set(work, settings)
    say(f"{work}: the world's train split, with questions")
    made = work / "train"
    lines = [line for _, line in iter_videos(made)]
    shown = mini.read_topics(work)
    clips = out / "clips"
    for line in lines:
        mini.render_mini_clip(shown[line.ref], clips / Path(line.path).name)
    say(f"{clips}: {len(lines)} clips drawn")
    apart = {line.ref for place, line in enumerate(lines) if place % ONE_IN == 0}
    items = [item for _, item in iter_items(made)]
    directions = direction_items({line.ref: shown[line.ref][0] for line in lines})
    for name, asked in ((MIMIC, items), (DIRECTION, directions)):
        for held in (True, False):
            _write(out, f"{name}-{'held-out' if held else 'train'}", lines, apart, held, asked)


def _write(
    out: Path, name: str, lines: Sequence[MimicVideo], apart: set[str], held: bool, items: Sequence[MimicItem]
) -> None:
    """A folder that the benchmark reads. Wrong options come from all videos, so all of them are listed."""
    folder = out / name
    (folder / "videos").mkdir(parents=True, exist_ok=True)
    write_jsonl(folder / VIDEOS, lines)
    chosen = [item for item in items if (item.video in apart) == held]
    write_jsonl(folder / ITEMS, chosen)
    asked = {item.video for item in chosen}
    for line in lines:
        if line.ref in asked:
            shutil.copyfile(out / "clips" / Path(line.path).name, folder / line.path)


def direction_items(topics: Mapping[str, str]) -> list[MimicItem]:
    """Questions whose options are two clips, each played both ways: who knows the pictures alone is right in half."""
    known = {topic.name: topic for topic in load_topics()}
    pairs = [name for name in known if f"{name}/reverse" in known]
    example: dict[str, str] = {}
    for ref, topic in topics.items():
        example.setdefault(topic, ref)
    items = []
    for ref, name in topics.items():
        own = name.removesuffix("/reverse")
        if own not in pairs:
            continue
        chance = derive_generator(0, "direction", ref)
        other = chance.choice([pair for pair in pairs if pair != own])
        shown = [own, f"{own}/reverse", other, f"{other}/reverse"]
        place = chance.randrange(len(known[name].topics))
        options = [MimicOption(text=known[each].topics[place], video=example.get(each, "")) for each in shown]
        items.append(
            MimicItem(
                id=f"direction:{ref}", task="topic", video=ref, options=tuple(options), key=shown.index(name)
            )
        )
    return items
