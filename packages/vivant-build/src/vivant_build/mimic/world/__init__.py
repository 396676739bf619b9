"""An invented platform of any size to try the pipeline on: uploaders with habits, topics, copies, spam, languages.

`make_world` writes what `ingest` would have written, straight to Parquet; `write_crawl` (crawl.py) writes a small
one as a crawler would have left it, with broken files and people's names; `render` (clips.py) draws a video.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.core.progress import ProgressCallback, ignore_progress
from vivant_build.mimic.steps import BuildStep, begin_step
from vivant_build.mimic.world.platform import DefectShares

TRUTH = "truth.parquet"


class WorldPlan(Struct, frozen=True, kw_only=True):
    """What decides a world."""

    videos: int
    comments: int
    seed: int = 0
    shares: DefectShares = msgspec.field(default_factory=DefectShares)


def make_world(
    work: Path, plan: WorldPlan, progress: ProgressCallback = ignore_progress, *, force: bool = False
) -> BuildStep:
    """WORK/ingest as if a crawl of that size had been taken in, with the truth about each video beside it."""
    import pyarrow.parquet as pq

    from vivant_build.mimic.schema import COMMENTS, QUARANTINE, VIDEOS
    from vivant_build.mimic.world.phrases import Phrases
    from vivant_build.mimic.world.platform import make_platform
    from vivant_build.mimic.world.threads import generate_comments
    from vivant_build.mimic.world.truth import make_truth_table

    with begin_step(work, "ingest", [], plan, force=force) as step:
        if step.done:
            return step
        phrases = Phrases()
        platform = make_platform(phrases, plan.videos, plan.comments, plan.seed, plan.shares)
        for name in ("videos", "comments"):
            (step.folder / name).mkdir()
        pq.write_table(platform.table.cast(VIDEOS), step.folder / "videos" / "0.parquet", compression="zstd")
        total = int(platform.comments.sum())
        done = 0
        for number, table in enumerate(generate_comments(phrases, platform, plan.seed)):
            path = step.folder / "comments" / f"{number:05d}.parquet"
            pq.write_table(table.cast(COMMENTS), path, compression="zstd", compression_level=1)
            done += len(table)
            progress(done, total, "comments written")
        if not total:
            pq.write_table(COMMENTS.empty_table(), step.folder / "comments" / "0.parquet")
        pq.write_table(QUARANTINE.empty_table(), step.folder / "quarantine.parquet")
        pq.write_table(make_truth_table(phrases, platform), step.folder / TRUTH)
        step.count("videos", out=plan.videos)
        step.count("comments", out=total)
    return step
