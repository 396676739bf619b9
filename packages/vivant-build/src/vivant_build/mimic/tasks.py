"""The step tasks: a folder in the benchmark's own format, without the video files."""

from __future__ import annotations

from pathlib import Path

import msgspec

from vivant.benchmarks.mimic.format import ITEMS, VIDEOS
from vivant.core.files import write_jsonl
from vivant.core.progress import ProgressCallback, ignore_progress
from vivant_build.mimic.database import connect
from vivant_build.mimic.items import ALONE, ItemMaker, TaskItems
from vivant_build.mimic.settings import PipelineSettings
from vivant_build.mimic.split import BENCH
from vivant_build.mimic.steps import BuildStep, begin_step
from vivant_build.mimic.vectors import RayEncoder, TextEncoder, VectorStore
from vivant_build.mimic.video_records import VideoRecord, read_video_records
from vivant_build.mimic.video_table import LACKS

STEP = "tasks"
_REQUIRED = {
    "title": "title",
    "description": "description",
    "tag": "tags",
    "topic": "topics",
    "category": "category",
}
"""Task → what select.require calls its answer."""
MEDIA = "media.json"
"""Where each video's file is under the media root, by name."""


def make_tasks(
    work: Path,
    settings: PipelineSettings,
    progress: ProgressCallback = ignore_progress,
    *,
    ray: str = "",
    force: bool = False,
    encoder: TextEncoder | None = None,
) -> BuildStep:
    """Make the seven tasks about the benchmark's videos: `videos.jsonl`, `items.jsonl`, `media.json`.

    With `ray`, MiniLM reads texts on the cluster of that address.
    """
    parameters = {"tasks": msgspec.to_builtins(settings.tasks), "seed": settings.seed}
    with begin_step(work, STEP, ["clean", "split"], parameters, version=3, force=force) as step:
        if not step.done:
            videos = read_bench_videos(work, settings)
            store = VectorStore(work, progress, RayEncoder(ray, encoder) if ray else encoder)
            results = ItemMaker(videos, settings.tasks, settings.seed, store).make_all(progress)
            _check(step, results, len(videos), settings)
            write_jsonl(step.folder / VIDEOS, [video.line for video in videos])
            write_jsonl(step.folder / ITEMS, [item for task in results.values() for item in task.items])
            media = {video.line.ref: video.media for video in videos if video.media}
            (step.folder / MEDIA).write_bytes(msgspec.json.encode(media))
            for task in results.values():
                step.count(f"{task.task} items", into=len(videos), out=len(task.items), why=task.without)
    return step


def read_bench_videos(work: Path, settings: PipelineSettings) -> list[VideoRecord]:
    """The benchmark's videos with the comments that it carries."""
    with connect(work, settings.memory, settings.workers) as connection:
        return list(read_video_records(connection, work, BENCH, settings.tasks))


def _check(step: BuildStep, results: dict[str, TaskItems], videos: int, settings: PipelineSettings) -> None:
    for task in results.values():
        if len(task.items) < settings.tasks.least * videos:
            related = settings.tasks.other_category and task.without.get(ALONE)
            wider = "set tasks.other_category: false, " if related else ""
            lacked = _REQUIRED.get(task.task)
            if lacked and lacked not in settings.select.require and task.without.get(LACKS[task.task]):
                require = ", ".join((*settings.select.require, lacked))
                wider = f"choose only videos that have any (select: {{require: [{require}]}}), {wider}"
            raise step.fail(
                f"only {len(task.items):,} of {videos:,} videos can be asked for their {task.task} "
                f"({_list_reasons(task)}); {wider}leave {task.task} out of tasks.tasks, or lower "
                f"tasks.least ({settings.tasks.least:g})"
            )
    if not any(task.items for task in results.values()):
        reasons = "; ".join(f"{task.task}: {_list_reasons(task)}" for task in results.values())
        raise step.fail(f"not one of {videos:,} videos can be asked about ({reasons})")


def _list_reasons(task: TaskItems) -> str:
    reasons = sorted(task.without.items(), key=lambda item: -item[1])
    return ", ".join(f"{count:,} {reason}" for reason, count in reasons) or "no videos"
