"""Clean: language, length, spam, copies, unreadable files, too few comments, rules in data. Linear in what comes in."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vivant.core.errors import UsageError
from vivant.core.progress import ProgressCallback, ignore_progress
from vivant.core.worker_pool import make_pool
from vivant.runs.settings import digest
from vivant_build.mimic.cleaning.comment_partitions import (
    DEALT,
    LEFT,
    PartitionJob,
    PartitionReport,
    RowGroupRange,
    hash_refs,
    list_row_groups,
    partition_comments,
)
from vivant_build.mimic.cleaning.comment_threads import (
    KEPT_VIDEOS,
    PASTED_KEYS,
    ThreadJob,
    ThreadReport,
    clean_threads,
)
from vivant_build.mimic.cleaning.frame_hashes import find_same_pictures, hash_videos
from vivant_build.mimic.cleaning.languages import load_detector
from vivant_build.mimic.cleaning.rules import ContentRule, read_rules
from vivant_build.mimic.cleaning.tokens import I64
from vivant_build.mimic.cleaning.videos import ExaminedVideos, examine_videos, read_videos
from vivant_build.mimic.database import connect, parquet_source
from vivant_build.mimic.ingestion import media_root
from vivant_build.mimic.notes import count_noun
from vivant_build.mimic.schema import CLEAN_COMMENTS, CLEAN_VIDEOS
from vivant_build.mimic.settings import PipelineSettings
from vivant_build.mimic.steps import BuildStep, begin_step
from vivant_build.part_store import PartStore, join_location

_PART = 400_000
"""Comments that are looked at together."""
_WORTH_PROCESSES = 300_000
_FEW = "too few comments"
INGESTED = "ingested"
"""In object storage: the comments as they were taken in."""


def clean(
    work: Path,
    settings: PipelineSettings,
    progress: ProgressCallback = ignore_progress,
    *,
    ray: str = "",
    store: str = "",
    media: str = "",
    force: bool = False,
) -> BuildStep:
    """WORK/ingest → WORK/clean. With `ray`, comments and video files are looked at on the cluster of that address.

    Its nodes must find WORK and the media under the same paths; or, in object storage, the comments at `store`, where
    they are put for the time of the step, and the video files at `media`. What is written is the same.
    """
    for address in filter(None, (store, media)):
        _check_address(address)
    rules_file = Path(settings.clean.rules) if settings.clean.rules else None
    inputs: list[str | Path] = ["ingest", rules_file] if rules_file else ["ingest"]
    parameters = msgspec.to_builtins(settings.clean)
    if media:
        parameters["media"] = _digest_media(work, media)
    with begin_step(
        work, "clean", inputs, parameters, version=2, resume=True, scratch=(DEALT, LEFT), force=force
    ) as step:
        if not step.done:
            _clean(step, settings, read_rules(rules_file), progress, ray, store, media)
    if store and not step.kept:  # an interrupted run needs the parts
        _open_store(step, store).remove()
    return step


def _open_store(step: BuildStep, address: str) -> PartStore:
    """The step's folder in object storage, named by its fingerprint: parts of another crawl are never taken for its."""
    return PartStore(join_location(address, f"clean-{step.record.fingerprint[:16]}"))


def _digest_media(work: Path, media: str) -> str:
    """A digest of an address and of the crawl's files as they lie there: one uploaded later is looked at."""
    table = PartStore(str(work / "ingest")).read_tables("videos", ["file"])
    files = [] if table is None else sorted(filter(None, table.column("file").to_pylist()))
    states = PartStore(media).list_states()
    return digest([media, [(file, states.get(file)) for file in files]])


def _check_address(address: str) -> None:
    if "://" not in address:
        raise UsageError(f"{address} is no address of object storage; write for example s3://bucket/folder")


def _clean(
    step: BuildStep,
    settings: PipelineSettings,
    rules: tuple[ContentRule, ...],
    progress: ProgressCallback,
    ray: str,
    address: str,
    media: str,
) -> None:
    # Whole paths: processes of a cluster work in folders of their own.
    source, folder = (step.work / "ingest").resolve(), step.folder.resolve()
    for name in ("videos", "comments", DEALT, LEFT):
        (folder / name).mkdir(exist_ok=True)
    store, comments = PartStore(str(folder)), PartStore(str(source))
    if address:
        store = comments = _open_store(step, address)
        store.check()
        for file in sorted((source / "comments").glob("*.parquet")):
            store.push(file, f"{INGESTED}/{file.name}")
    table = read_videos(source / "videos")
    unreadable, pairs = _check_files(step, table, settings, progress, ray, media)
    videos = examine_videos(table, settings.clean, rules, unreadable, pairs)

    ranges = list_row_groups(comments, INGESTED if address else "comments")
    total = sum(part.rows for part in ranges)
    parts = max(1, -(-total // _PART))
    workers = settings.workers if total >= _WORTH_PROCESSES else 1
    read = 0

    def report(part: RowGroupRange | int) -> None:
        nonlocal read
        read += part.rows if isinstance(part, RowGroupRange) else total // parts
        progress(read, 2 * total, "comments read")

    first_pass = partial(partition_comments, job=PartitionJob(store.location, parts, settings.clean, rules))
    partitioned = make_pool(workers, first_pass, ray).map(ranges, report)
    saved = _save_kept(store, videos) + _save_pasted(store, step, settings)
    inputs = hashlib.sha256(saved).hexdigest()[:16]
    second_pass = partial(clean_threads, job=ThreadJob(store.location, settings.clean, inputs))
    cleaned = make_pool(workers, second_pass, ray).map(range(parts), report)
    if address:
        for name in ("comments", LEFT):
            store.pull(name, folder)
    if not any((folder / "comments").iterdir()):
        pq.write_table(CLEAN_COMMENTS.empty_table(), folder / "comments" / "0000.parquet")
    _finish(step, videos, total, partitioned, cleaned, settings)


def _check_files(
    step: BuildStep,
    table: pa.Table,
    settings: PipelineSettings,
    progress: ProgressCallback,
    ray: str,
    media: str,
) -> tuple[dict[str, str], I64]:
    """Why files cannot be used, and rows whose pictures are the same."""
    none = np.zeros((0, 2), np.int64)
    refs, files = table.column("ref").to_pylist(), table.column("file").to_pylist()
    unreadable = {}
    if settings.clean.need_files:
        unreadable = {ref: "no file" for ref, file in zip(refs, files, strict=True) if not file}
    named = [row for row, file in enumerate(files) if file]
    root = media or media_root(step.work)
    if not named or root is None:
        return unreadable, none
    if isinstance(root, Path) and not root.is_dir():
        raise step.fail(f"the videos' folder {root} is gone; put it back, or run ingest again with --media")
    hashes = hash_videos([files[row] for row in named], root, step.work, settings.workers, progress, ray)
    good = []
    for row in named:
        problem = hashes[files[row]].problem
        if problem:
            unreadable[refs[row]] = problem
        else:
            good.append(row)
    if not good:
        return unreadable, none
    return unreadable, find_same_pictures(
        [hashes[files[row]] for row in good], np.array(good), settings.clean.hash_distance
    )


def _save_kept(store: PartStore, videos: ExaminedVideos) -> bytes:
    codes = {name: number for number, name in enumerate(load_detector().languages)}
    kept = np.flatnonzero(videos.kept)
    hashes = (
        hash_refs(videos.table.column("ref").take(pa.array(kept))) if len(kept) else np.zeros(0, np.uint64)
    )
    language = np.array([codes.get(videos.language[row], 0) for row in kept], np.int64)
    order = np.argsort(hashes)
    content = io.BytesIO()
    np.savez(content, hashes=hashes[order], codes=language[order])
    store.write(KEPT_VIDEOS, content.getvalue())
    return content.getvalue()


def _save_pasted(store: PartStore, step: BuildStep, settings: PipelineSettings) -> bytes:
    """Keys of long texts that stand under many videos."""
    with connect(step.work, settings.memory, settings.workers) as db:
        db.execute("CREATE TEMP TABLE long_texts (key UBIGINT, video UBIGINT)")
        for name in store.list_tables(DEALT):
            with store.open_table(name) as file:
                batch = file.read(["key", "video", "long"])
            batch = batch.filter(batch.column("long"))
            if len(batch):
                db.execute("INSERT INTO long_texts SELECT DISTINCT key, video FROM batch")
        keys = db.execute(
            "SELECT key FROM long_texts GROUP BY key "
            f"HAVING count(DISTINCT video) >= {settings.clean.pasted[1]} ORDER BY key"
        ).fetchnumpy()["key"]
    content = io.BytesIO()
    np.save(content, np.asarray(keys, np.uint64))
    store.write(PASTED_KEYS, content.getvalue())
    return content.getvalue()


def _finish(
    step: BuildStep,
    videos: ExaminedVideos,
    total: int,
    partitioned: Sequence[PartitionReport],
    cleaned: Sequence[ThreadReport],
    settings: PipelineSettings,
) -> None:
    with connect(step.work, settings.memory, settings.workers) as db:
        rows = db.execute(f"SELECT DISTINCT ref FROM {parquet_source(step.folder / 'comments')}").fetchall()
        commented = {ref for (ref,) in rows}
        few = np.array([ref not in commented for ref in videos.table.column("ref").to_pylist()], bool)
        if settings.clean.fewest_comments:
            videos.reason[few & videos.kept] = _FEW
        _write_videos(step.folder, videos)
        _write_quarantine(db, step.folder, videos)
    why: Counter[str] = Counter()
    for left_out in (*(report.left for report in partitioned), *(report.left for report in cleaned)):
        why.update(left_out)
    kept = int(videos.kept.sum())
    step.count("videos", into=len(videos.reason), out=kept, why=Counter(str(r) for r in videos.reason if r))
    step.count("comments", into=total, out=sum(report.kept for report in cleaned), why=why)
    sizes = np.bincount(videos.group[videos.kept], minlength=1)
    step.note(
        f"near-duplicates among the videos kept: {count_noun(int(sizes[sizes > 1].sum()), 'video')} "
        f"in {count_noun(int((sizes > 1).sum()), 'group')}"
    )
    languages = Counter(
        language or "unknown" for language, good in zip(videos.language, videos.kept, strict=True) if good
    )
    step.note("languages: " + ", ".join(f"{name} {number:,}" for name, number in languages.most_common(12)))
    if not kept:
        reasons = Counter(str(r) for r in videos.reason)
        text = "; ".join(f"{reason} ({number:,})" for reason, number in reasons.most_common(3))
        raise step.fail(f"no video is left of {len(videos.reason):,}: {text}; loosen `clean` in the settings")


def _write_videos(folder: Path, videos: ExaminedVideos) -> None:
    table = videos.table
    index = table.schema.get_field_index("language")
    table = table.set_column(index, "language", pa.array(videos.language, pa.string()))
    table = table.append_column("dup_group", pa.array(videos.group, pa.int64()))
    kept = table.filter(pa.array(videos.kept)).cast(CLEAN_VIDEOS)
    pq.write_table(kept, folder / "videos" / "0.parquet", compression="zstd", row_group_size=20_000)


def _write_quarantine(db: Any, folder: Path, videos: ExaminedVideos) -> None:
    """Each video with its reason; of comments, one row for each video and reason."""
    removed = np.flatnonzero(~videos.kept)
    table = pa.table(
        {
            "ref": pc.cast(videos.table.column("ref").take(pa.array(removed)), pa.string()),
            "reason": pa.array([str(videos.reason[row]) for row in removed], pa.string()),
        }
    )
    db.register("gone", table)
    query = "SELECT 'clean' AS step, ref AS source, 'video' AS item, reason FROM gone"
    if any((folder / LEFT).glob("*.parquet")):
        query += (
            " UNION ALL SELECT 'clean', ref, sum(count_all)::BIGINT::VARCHAR || ' comments', reason "
            f"FROM {parquet_source(folder / LEFT)} GROUP BY ref, reason"
        )
    target = str(folder / "quarantine.parquet").replace("'", "''")
    db.execute(
        f"COPY (SELECT * FROM ({query}) ORDER BY ALL) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
    )


__all__ = ["clean"]
