"""The step pool: people's comments for the blind packs, the best-liked few of each video that read like comments.

`WORK/pool` is a folder that `vivant mimic pack … --data WORK/pool` reads. A comment is left out if it is in another
language than its video, longer than a reader of packs would take, without a word, or without known likes:
"most liked" must mean something.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from vivant.benchmarks.mimic.format import VIDEOS, Comment, MimicVideo
from vivant.benchmarks.mimic.text_metrics import split_words
from vivant.core.files import write_jsonl
from vivant.core.progress import ProgressCallback, ignore_progress
from vivant_build.mimic.settings import PipelineSettings, PoolSettings
from vivant_build.mimic.steps import BuildStep, begin_step
from vivant_build.mimic.tasks import read_bench_videos
from vivant_build.mimic.video_records import VideoRecord

STEP = "pool"


def make_comment_pool(
    work: Path, settings: PipelineSettings, progress: ProgressCallback = ignore_progress, force: bool = False
) -> BuildStep:
    """Gather the pool of human comments."""
    parameters = {
        "pool": msgspec.to_builtins(settings.pool),
        "comments": settings.tasks.comments,
        "description": settings.tasks.description_characters,
    }
    with begin_step(work, STEP, ["clean", "split"], parameters, force=force) as step:
        if not step.done:
            progress(0, 1, "gathering comments")
            lines: list[MimicVideo] = []
            why: Counter[str] = Counter()
            reasons: Counter[str] = Counter()
            total = chosen = 0
            for video in read_bench_videos(work, settings):
                comments = choose_comments(video, settings.pool, reasons)
                total += len(video.line.comments)
                if len(comments) < max(settings.pool.fewest, 1):
                    why["too few comments to show"] += 1
                    reasons["its video is left out"] += len(comments)
                    continue
                chosen += len(comments)
                lines.append(msgspec.structs.replace(video.line, comments=tuple(comments)))
            if not lines:
                raise step.fail(
                    "no video has a comment to show; see pool.longest and the languages found by clean"
                )
            write_jsonl(step.folder / VIDEOS, lines)
            step.count("videos", into=len(lines) + why.total(), out=len(lines), why=why)
            step.count("comments", into=total, out=chosen, why=reasons)
    return step


def choose_comments(video: VideoRecord, settings: PoolSettings, reasons: Counter[str]) -> list[Comment]:
    """The most-liked comments that can be shown, the most liked first; counts why others cannot."""
    comments: list[Comment] = []
    for comment, language in zip(video.line.comments, video.spoken, strict=True):
        if comment.likes is None:
            reasons["likes not known"] += 1
        elif language != video.line.language:
            reasons["in another language than its video"] += 1
        elif len(comment.text) > settings.longest:
            reasons[f"longer than {settings.longest} characters"] += 1
        elif not split_words(comment.text):
            reasons["without a word"] += 1
        elif len(comments) == settings.comments:
            reasons["others are liked more"] += 1
        else:
            comments.append(comment)
    return comments
