"""Questions about the train split: the classifiers that see only options learn from them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from vivant.benchmarks.mimic.format import MimicItem
from vivant.benchmarks.mimic.names import OWN
from vivant.build.mimic.database import connect, parquet_source
from vivant.build.mimic.items import ItemMaker
from vivant.build.mimic.settings import PipelineSettings
from vivant.build.mimic.split import TRAIN
from vivant.build.mimic.video_records import read_video_records
from vivant.core.progress import ProgressCallback, ignore_progress
from vivant.core.randomness import sample_ids


def make_practice_items(
    work: Path, settings: PipelineSettings, progress: ProgressCallback = ignore_progress
) -> dict[str, tuple[MimicItem, ...]]:
    """Questions about some videos, made by the benchmark's rules (but for meaning, which costs hours)."""
    return _make_items(work, settings, _sample_practice(work, settings), progress)


def make_ranking_practice(work: Path, settings: PipelineSettings) -> tuple[MimicItem, ...]:
    """Questions of comment popularity alone, about other videos than `practice` asks about: as many as it may."""
    apart = set(_sample_practice(work, settings))
    ranked = _list_train_refs(work, settings, most_ranks=settings.tasks.ranks[-1])
    refs = sample_ids(
        [ref for ref in ranked if ref not in apart], settings.audit.practice, settings.seed, "dealing"
    )
    alone = msgspec.structs.replace(settings, tasks=msgspec.structs.replace(settings.tasks, tasks=(OWN,)))
    return _make_items(work, alone, refs)[OWN]


def _sample_practice(work: Path, settings: PipelineSettings) -> list[str]:
    return sample_ids(_list_train_refs(work, settings), settings.audit.practice, settings.seed, "practice")


def _list_train_refs(work: Path, settings: PipelineSettings, most_ranks: int = 0) -> list[str]:
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
