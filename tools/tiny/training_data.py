"""What `vivant/tiny` learns from: the train split of a world like the one that MIMIC-mini is taken from, and takes of
MIME-mini's actions with other seeds.

No video of a mini-edition is among them, and no backdrop, no scene and no woman that a mini-edition shows: what is
behind an action is drawn by chance, so that it says nothing about the action.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
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
from vivant.core.files import write_jsonl
from vivant.core.randomness import derive_generator
from vivant_build.mime.bundled_characters import CHARACTERS
from vivant_build.mime.jobs import build
from vivant_build.mime.plan import Variant
from vivant_build.mime.plan_file import Specification, load_mini_plan
from vivant_build.mime.scenes import BLANK, SCENES
from vivant_build.mimic import mini
from vivant_build.mimic.cleaning import clean
from vivant_build.mimic.selection import select_videos
from vivant_build.mimic.settings import TrainSettings
from vivant_build.mimic.split import split_videos
from vivant_build.mimic.training_set import make_training_set
from vivant_build.mimic.world import WorldPlan, make_world
from vivant_build.mimic.world.backdrops import PATTERNS
from vivant_build.mimic.world.phrases import load_topics

MIMIC, DIRECTION, MIME = "mimic", "direction", "mime-train"
HELD_OUT_EVERY = 12
"""Of the world's train split, one video in so many is kept for evaluations during the training."""
WORLD = WorldPlan(videos=14_000, comments=840_000, seed=mini.WORLD.seed + 1000)
BACKDROPS = tuple(name for name in PATTERNS if name not in mini.BACKDROPS)
TAKE_VARIANTS = 12
HELD_OUT_CHARACTERS = ("woman",)
logger = logging.getLogger("vivant")


def make_training_data(out: Path, *, videos: int = 3000, takes: int = 5) -> None:
    """Write the folders that the recipe names below `out`; what exists already is not written again.

    Args:
        out: the folder to write to.
        videos: videos of the generated world to learn from.
        takes: how many times MIME-mini's actions are rendered, each with another seed.
    """
    if not (out / f"{DIRECTION}-train").is_dir():
        _make_mimic_data(out, videos)
    for number in range(takes):
        folder = out / f"{MIME}-{number}"
        build(make_take_plan(number), folder)
        logger.info(f"{folder}: MIME-mini's actions, acted anew")


def make_take_plan(number: int) -> Specification:
    """MIME-mini's actions with a seed of its own, so that every take is another, smaller and in other surroundings."""
    plan = load_mini_plan()
    return msgspec.structs.replace(
        plan,
        seed=plan.seed + 1000 * (number + 1),
        variants=_draw_variants(number),
        width=160,
        height=120,
        fps=10.0,
        split="train",
        effort="veryfast",
    )


def _draw_variants(number: int) -> tuple[Variant, ...]:
    """Ways to show every action of a take: half before a scene that is not the mini's, a third not from the front."""
    generator = derive_generator(0, "take", str(number))
    characters = [name for name in CHARACTERS if name not in HELD_OUT_CHARACTERS]
    scenes = list_training_scenes()
    drawn: dict[tuple[str, str, int], Variant] = {}
    while len(drawn) < TAKE_VARIANTS:
        character = generator.choice(characters)
        background = generator.choice(scenes) if len(drawn) % 2 else BLANK
        angle = generator.choice((90, 180, 270)) if len(drawn) % 3 == 2 else 0
        drawn.setdefault((character, background, angle), Variant("", character, background, angle))
    return tuple(drawn.values())


def list_training_scenes() -> list[str]:
    """The scenes that fit no action of MIME-mini and so stand behind none of its videos."""
    shown = {action.background for action in load_mini_plan().cast}
    return [scene for scene in SCENES if scene not in shown]


def _make_mimic_data(out: Path, videos: int) -> None:
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
    logger.info(f"{work}: the world's train split, with questions")
    folder = work / "train"
    lines = [line for _, line in iter_videos(folder)]
    topics = mini.read_topics(work)
    clips = out / "clips"
    for line in lines:
        mini.render_mini_clip(topics[line.ref], clips / Path(line.path).name, BACKDROPS)
    logger.info(f"{clips}: {len(lines)} clips drawn")
    held_out = {line.ref for index, line in enumerate(lines) if index % HELD_OUT_EVERY == 0}
    items = [item for _, item in iter_items(folder)]
    directions = make_direction_items({line.ref: topics[line.ref][0] for line in lines})
    for name, chosen in ((MIMIC, items), (DIRECTION, directions)):
        for part in ("held-out", "train"):
            in_part = [item for item in chosen if (item.video in held_out) == (part == "held-out")]
            _write_folder(out, f"{name}-{part}", lines, in_part)


def _write_folder(out: Path, name: str, lines: Sequence[MimicVideo], items: Sequence[MimicItem]) -> None:
    """A folder that the benchmark reads. Wrong options come from all videos, so all of them are listed."""
    folder = out / name
    (folder / "videos").mkdir(parents=True, exist_ok=True)
    write_jsonl(folder / VIDEOS, lines)
    write_jsonl(folder / ITEMS, items)
    used = {item.video for item in items}
    for line in lines:
        if line.ref in used:
            shutil.copyfile(out / "clips" / Path(line.path).name, folder / line.path)


def make_direction_items(topics: Mapping[str, str]) -> list[MimicItem]:
    """Questions whose options are two clips, each played both ways: knowing the pictures alone is right in half."""
    by_name = {topic.name: topic for topic in load_topics()}
    pairs = [name for name in by_name if f"{name}/reverse" in by_name]
    example: dict[str, str] = {}
    for ref, topic in topics.items():
        example.setdefault(topic, ref)
    items = []
    for ref, name in topics.items():
        clip = name.removesuffix("/reverse")
        if clip not in pairs:
            continue
        generator = derive_generator(0, "direction", ref)
        other = generator.choice([pair for pair in pairs if pair != clip])
        choices = [clip, f"{clip}/reverse", other, f"{other}/reverse"]
        index = generator.randrange(len(by_name[name].topics))
        options = [
            MimicOption(text=by_name[choice].topics[index], video=example.get(choice, ""))
            for choice in choices
        ]
        items.append(
            MimicItem(
                id=f"direction:{ref}",
                task="topic",
                video=ref,
                options=tuple(options),
                key=choices.index(name),
            )
        )
    return items
