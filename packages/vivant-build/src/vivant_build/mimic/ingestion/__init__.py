"""Ingest: metadata in many shapes → Parquet in one, with names taken out and broken records set aside."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vivant.core.errors import UsageError, VivantError
from vivant.core.progress import ProgressCallback, ignore_progress
from vivant.core.worker_pool import make_pool
from vivant.runs.settings import digest
from vivant_build.mimic.ingestion.source_files import (
    MAPPINGS,
    READ,
    find_mapping_error,
    is_mapping,
    list_files,
    list_mapped_files,
    read_file,
)
from vivant_build.mimic.ingestion.tables import NOT_READ, ingest_tables
from vivant_build.mimic.ingestion.values import VideoRow
from vivant_build.mimic.ingestion.writer import PARTS, IngestReport, RecordWriter, write_missing_tables
from vivant_build.mimic.ingestion.ytdlp import SourceDefaults, ingest_info
from vivant_build.mimic.settings import IngestSettings, PipelineSettings
from vivant_build.mimic.steps import BuildStep, StepError, begin_step, explain_errors
from vivant_build.privacy import Anonymizer, read_salt

MEDIA = "media.txt"
_VERSION = 3
"""Of what the step writes."""
_PART = 1000
"""Files of one part: what is lost when a run is killed, and what one process does at a time. To prepare the search for
personal data costs as much as some hundred files."""
_WORTH_PROCESSES = 1600
_MOST_COMMENTS = 400
"""Comments per video that a sample reads at most."""
_NAMED = 5
"""Tables that a note names; the others stand in the quarantine."""


class _Task(Struct, frozen=True):
    """One part, as it is sent to a process."""

    name: str
    files: tuple[str, ...]
    kind: str
    media: str
    folder: str
    salt: bytes
    settings: IngestSettings


def ingest(
    work: Path,
    sources: Sequence[Path],
    settings: PipelineSettings,
    progress: ProgressCallback = ignore_progress,
    *,
    media: Path | None = None,
    ray: str = "",
    force: bool = False,
) -> BuildStep:
    """Take sources in: folders, `.info.json` files, JSON and tables of known forms, mappings (.yaml).

    `media` is the folder that paths of video files are relative to; by default the one that holds all sources.
    With `ray`, files are read on the cluster of that address, whose nodes must find them and WORK under the same paths.
    """
    _check_sources(sources)
    inputs = [*sources, *_list_tables(sources)]
    with explain_errors(work, "ingest"):
        work.mkdir(parents=True, exist_ok=True)
        salt = read_salt(work)
    root = (media or _common_folder(sources)).resolve()
    named = {
        "ingest": msgspec.to_builtins(settings.ingest),
        "salt": digest(salt.hex())[:8],
        "media": str(root),
    }
    with begin_step(
        work, "ingest", inputs, named, version=_VERSION, resume=True, scratch=(PARTS,), force=force
    ) as step:
        if step.done:
            return step
        # A whole path: processes of a cluster work in folders of their own.
        parts = (step.folder / PARTS).resolve()
        parts.mkdir(exist_ok=True)
        tasks = list(_list_parts(parts, step.work, sources, root, salt, settings.ingest))
        if not tasks:
            raise step.fail(f"no .info.json file, API answer or mapping in {', '.join(map(str, sources))}")
        reports = _run_parts(tasks, parts, settings.workers, progress, ray)
        _finish(step, reports, sources, root, settings)
    return step


def sample_sources(
    folder: Path,
    sources: Sequence[Path],
    settings: PipelineSettings,
    videos: int,
    *,
    media: Path | None = None,
    work: Path | None = None,
) -> None:
    """Take in some `videos` as Parquet into an empty `folder`.

    All `.info.json` files together give as many as any other file, which may hold thousands; what a small file leaves
    over goes to the next. Of a large file only the beginning is read.
    """
    _check_sources(sources)
    root = (media or _common_folder(sources)).resolve()
    tasks = list(_list_parts(folder, work or folder, sources, root, b"sample" * 4, settings.ingest))
    infos = [(task, file) for task in tasks for file in task.files if task.kind == "info"]
    others = [(task, file) for task in tasks for file in task.files if task.kind != "info"]
    others = others[:: max(1, len(others) // videos)]
    writer = _SampleWriter(folder, "sample", Anonymizer(b"sample" * 4, "keep", "keep"), settings.ingest.batch)
    shares = len(others) + bool(infos)
    for number, (task, file) in enumerate(others, 1):
        _sample_file(task, file, writer, -(-videos * number // shares))
    missing = max(videos - writer.report.videos, 1)
    for task, file in infos[:: max(1, len(infos) // missing)]:
        _sample_file(task, file, writer, videos)
    report = writer.close()
    write_missing_tables(folder)
    named = [row for row in sorted(report.quarantine) if row[2].startswith(NOT_READ)]
    if not report.videos_in or (named and not report.videos):
        unread = [f"; {source}: {reason}" for source, _, reason in named[:1]]
        raise UsageError(
            f"no .info.json file, API answer or mapping in {', '.join(map(str, sources))}{''.join(unread)}"
        )


def _sample_file(task: _Task, file: str, writer: _SampleWriter, most_videos: int) -> None:
    """Read a file until the writer holds as many videos as are wanted by its end."""
    writer.most_videos = most_videos
    with suppress(_SampleFullError):
        _read_files(msgspec.structs.replace(task, files=(file,)), writer)


class _SampleFullError(Exception):
    """Enough of one file has been read."""


class _SampleWriter(RecordWriter):
    """Stops a reader when it has taken its share in."""

    most_videos = 0
    _taken = 0

    def video(self, row: VideoRow) -> str:
        if self.report.videos >= self.most_videos:
            raise _SampleFullError
        return super().video(row)

    def comments(self, ref: str, ids: Sequence[str], *columns: Any) -> None:
        super().comments(ref, ids, *columns)
        self._taken += len(ids)
        if self._taken > _MOST_COMMENTS * max(self.most_videos, 1):
            raise _SampleFullError


def _check_sources(sources: Sequence[Path]) -> None:
    if not sources:
        raise UsageError("ingest: name at least one folder of .info.json files, API answer or mapping")
    for source in sources:
        if not source.exists():
            raise UsageError(f"ingest: {source} does not exist")


def _list_tables(sources: Sequence[Path]) -> list[Path]:
    """The tables of mappings that are sources themselves: what they hold is in no folder that is looked at."""
    mappings = [source for source in sources if source.is_file() and source.suffix in MAPPINGS]
    try:
        named = set[str]().union(*(list_mapped_files(str(mapping)) for mapping in mappings))
    except VivantError as error:
        raise StepError(f"ingest: {error}") from error
    return [path for path in map(Path, sorted(named)) if path.is_file()]


def _finish(
    step: BuildStep,
    reports: Sequence[IngestReport],
    sources: Sequence[Path],
    root: Path,
    settings: PipelineSettings,
) -> None:
    from vivant_build.mimic.ingestion.consolidation import consolidate
    from vivant_build.mimic.ingestion.datasheet import write_datasheet

    report = consolidate(
        step.folder,
        reports,
        memory=settings.memory,
        workers=settings.workers,
        keep_names=settings.ingest.mentions == "keep",
    )
    write_datasheet(step.folder, report, sources, settings.ingest, settings.memory, settings.workers)
    (step.folder / MEDIA).write_text(f"{root}\n", encoding="utf-8")
    step.count("videos", into=report.videos_in, out=report.videos, why=report.left)
    step.count("comments", into=report.comments_in, out=report.comments, why=report.left_comments)
    if report.mended:
        step.note(
            f"values that could not be used and were taken as unknown: {report.mended:,}; see quarantine.parquet"
        )
    for note, number in sorted(report.notes.items()):
        step.note(f"{note}: {number:,}")
    unread = sorted(source for source, _, reason in report.quarantine if reason.startswith(NOT_READ))
    if unread:
        more = f" and {len(unread) - _NAMED:,} more" if len(unread) > _NAMED else ""
        step.note(
            f"Not read: {', '.join(unread[:_NAMED])}{more}. quarantine.parquet says why; a mapping reads any table"
        )
    if not report.videos:
        reasons = "; ".join(f"{reason} ({number})" for reason, number in sorted(report.left.items())[:5])
        first = (
            f"; the first: {' '.join(filter(None, sorted(report.quarantine)[0]))}"
            if report.quarantine
            else ""
        )
        raise step.fail(
            f"not one of {report.videos_in:,} records could be used: {reasons or 'there are none'}{first}"
        )


def media_root(work: Path) -> Path | None:
    """Where the video files of the data taken in lie; None where the data came without files."""
    path = work / "ingest" / MEDIA
    return Path(path.read_text(encoding="utf-8").rstrip("\n")) if path.is_file() else None


def _common_folder(sources: Sequence[Path]) -> Path:
    folders = [str((source if source.is_dir() else source.parent).resolve()) for source in sources]
    return Path(os.path.commonpath(folders))


def _list_parts(
    target: Path, work: Path, sources: Sequence[Path], media: Path, salt: bytes, settings: IngestSettings
) -> Iterator[_Task]:
    def task(name: str, files: Sequence[str], kind: str) -> _Task:
        return _Task(name, tuple(files), kind, str(media), str(target), salt, settings)

    infos: list[str] = []
    others: list[tuple[str, str]] = []
    files = [(source, path) for source in sources for path in sorted(list_files(source.resolve(), work))]
    mapped: set[str] = set()
    for source, path in files:
        if path.endswith(MAPPINGS) and (source.is_file() or is_mapping(path)):
            others.append((path, "table"))
            mapped |= list_mapped_files(path)
    for source, path in files:
        if path in mapped or (path.endswith(MAPPINGS) and not find_mapping_error(path)):
            continue
        if path.endswith(".info.json"):
            infos.append(path)
        elif path.lower().endswith(READ):
            others.append((path, "file"))
        elif source.is_file():
            raise StepError(
                f"ingest: {source} is no .info.json, .json, .jsonl, .csv, .parquet or mapping (.yaml)"
            )
        else:
            others.append((path, "closed"))
    for number in range(0, len(infos), _PART):
        yield task(f"info-{number // _PART:06d}", infos[number : number + _PART], "info")
    for number, (path, kind) in enumerate(others):
        yield task(f"{kind}-{number:06d}", [path], kind)


def _run_parts(
    tasks: Sequence[_Task], folder: Path, workers: int, progress: ProgressCallback, ray: str = ""
) -> list[IngestReport]:
    """All parts' reports in their order; parts that an interrupted run has finished are not done again."""
    total = sum(len(task.files) for task in tasks)
    reports_by_name: dict[str, IngestReport] = {}
    for task in tasks:
        before = folder / f"{task.name}.json"
        if before.is_file():
            reports_by_name[task.name] = msgspec.json.decode(before.read_bytes(), type=IngestReport)
    remaining = [task for task in tasks if task.name not in reports_by_name]
    read = total - sum(len(task.files) for task in remaining)

    def done(task: _Task) -> None:
        nonlocal read
        read += len(task.files)
        progress(read, total, "files read")

    pool = make_pool(workers if total >= _WORTH_PROCESSES else 1, _ingest_part, ray)
    reports = pool.map(remaining, done)
    reports_by_name |= {task.name: report for task, report in zip(remaining, reports, strict=True)}
    return [reports_by_name[task.name] for task in tasks]


def _ingest_part(task: _Task) -> IngestReport:
    settings = task.settings
    anonymizer = Anonymizer(task.salt, settings.mentions, settings.links)
    writer = RecordWriter(Path(task.folder), task.name, anonymizer, settings.batch)
    _read_files(task, writer)
    return writer.close()


def _read_files(task: _Task, writer: RecordWriter) -> None:
    defaults = SourceDefaults(task.settings.platform, task.settings.licence)
    if task.kind == "info":
        for file in task.files:
            ingest_info(file, task.media, writer, defaults)
    elif task.kind == "table":
        ingest_tables(Path(task.files[0]), writer, defaults)
    elif task.kind == "file":
        read_file(Path(task.files[0]), Path(task.media), Path(task.folder), writer, defaults)
    else:
        source = os.path.relpath(task.files[0], task.media)
        reason = f"{NOT_READ}the folder cannot be opened; look at its rights"
        writer.report.quarantine.append((source, "", reason))


__all__ = ["ingest", "media_root", "sample_sources"]
