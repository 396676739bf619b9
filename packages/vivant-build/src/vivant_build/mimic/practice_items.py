"""Questions about the train split: the classifiers that see only options learn from them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from vivant.benchmarks.mimic.format import MimicItem
from vivant.benchmarks.mimic.names import OWN
from vivant.core.progress import ProgressCallback, ignore_progress
from vivant.core.randomness import derive_seed, sample_ids
from vivant_build.mimic.database import connect, parquet_source
from vivant_build.mimic.items import ItemMaker
from vivant_build.mimic.rank_matching import RankMatcher
from vivant_build.mimic.settings import PipelineSettings
from vivant_build.mimic.split import TRAIN
from vivant_build.mimic.video_records import read_video_records

_POPULAR = 5
"""So many of a video's most-liked comments show what well-liked ones are like."""


def make_practice_items(
    work: Path, settings: PipelineSettings, progress: ProgressCallback = ignore_progress
) -> dict[str, tuple[MimicItem, ...]]:
    """Questions about some videos, made by the benchmark's rules (but for meaning, which costs hours).

    Not of comment popularity, which has a practice of its own.
    """
    tasks = tuple(task for task in settings.tasks.tasks if task != OWN)
    if not tasks:
        return {}
    others = msgspec.structs.replace(settings, tasks=msgspec.structs.replace(settings.tasks, tasks=tasks))
    return _make_items(work, others, sample_practice(work, settings), progress)


class RankingPractice:
    """Questions of comment popularity about the train split, in two halves that share no video.

    Some classifiers learn from one half and deal options out; another learns from the other half and judges them.
    """

    def __init__(self, work: Path, settings: PipelineSettings) -> None:
        alone = msgspec.structs.replace(settings.tasks, tasks=(OWN,))
        ranked = list_train_refs(work, settings, most_ranks=settings.tasks.ranks[-1])
        drawn = sample_ids(ranked, 2 * settings.audit.practice, settings.seed, "ranking")
        shuffled = sorted(drawn, key=lambda ref: (derive_seed(settings.seed, "ranking half", ref), ref))
        dealing, judging = shuffled[::2], shuffled[1::2]
        with connect(work, settings.memory, settings.workers) as connection:
            videos = list(read_video_records(connection, work, TRAIN, alone, judging))
            self._judging = ItemMaker(videos, alone, settings.seed, None)
            videos = list(read_video_records(connection, work, TRAIN, alone, dealing))
        first, *others = alone.ranks
        self._dealing = [
            ItemMaker(videos, msgspec.structs.replace(alone, ranks=(rank, *others)), settings.seed, None)
            for rank in range(first, min(first + _POPULAR, others[0]))
        ]

    def make_dealing(self, matcher: RankMatcher | None = None) -> tuple[MimicItem, ...]:
        """For those that deal; the next-best comments serve as right ones too, for there is more to learn from then."""
        return tuple(item for maker in self._dealing for item in maker.make(OWN, 0, matcher).items)

    def make_judging(self, matcher: RankMatcher | None = None) -> tuple[MimicItem, ...]:
        """For the one that judges: made by the rule whose items it will see."""
        return self._judging.make(OWN, 0, matcher).items


def sample_practice(work: Path, settings: PipelineSettings) -> list[str]:
    """The videos of the train split that are practised on: as many as asked for, or all there are."""
    return sample_ids(list_train_refs(work, settings), settings.audit.practice, settings.seed, "practice")


def list_train_refs(work: Path, settings: PipelineSettings, most_ranks: int = 0) -> list[str]:
    """The train split by name; with `most_ranks`, those that have so many comments with likes."""
    query = f"SELECT ref FROM {parquet_source(work / 'split' / 'videos.parquet')} WHERE part = '{TRAIN}'"
    if most_ranks:
        query += (
            f" AND ref IN (SELECT ref FROM {parquet_source(work / 'clean' / 'comments')} "
            f"WHERE reply_to = '' AND likes IS NOT NULL GROUP BY ref HAVING count(*) >= {most_ranks})"
        )
    with connect(work, settings.memory, settings.workers) as connection:
        return [ref for (ref,) in connection.execute(f"{query} ORDER BY ref").fetchall()]


def _make_items(
    work: Path, settings: PipelineSettings, refs: list[str], progress: ProgressCallback = ignore_progress
) -> dict[str, tuple[MimicItem, ...]]:
    with connect(work, settings.memory, settings.workers) as connection:
        videos = list(read_video_records(connection, work, TRAIN, settings.tasks, refs))
    results = ItemMaker(videos, settings.tasks, settings.seed, None).make_all(progress)
    return {task: task_items.items for task, task_items in results.items()}
