"""The viewer as a folder of files: read-only, for any file server, or to open from disk.

Of each run, the first samples are exported with their pages; of runs that asked the same questions, comparisons. Media
are included on demand, thinned, within a limit for the whole export. Every page states these limits.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from importlib.resources import files
from itertools import combinations
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.analysis.correction.people import PeopleSource
from vivant.benchmarks.base import Protocol
from vivant.core.errors import UsageError, VivantError
from vivant.core.files import atomic_path, remove
from vivant.view.catalog import RunEntry
from vivant.view.context import BusyError, SampleDetails, ViewerContext
from vivant.view.export_links import FileLinks
from vivant.view.export_media import PICTURES, RATE, SIDE, MediaExporter
from vivant.view.joint import MOST
from vivant.view.pages import ViewerPages, is_comparable
from vivant.view.query import SampleFilter, list_page

SAMPLES = 500
COMPARISONS = 40
COMPARED = 50
"""Samples of a comparison that are shown side by side, and the most that each of its lists shows."""
_MARKER = "vivant-export.json"


class ExportResult(Struct, frozen=True, kw_only=True):
    """What was written."""

    folder: Path
    runs: int
    samples: int
    comparisons: int
    pictures: int
    videos: int
    megabytes: float
    """Of media."""
    skipped: tuple[str, ...] = ()
    """Why runs, or media, are left out: a sentence each."""


def export_site(
    root: Path,
    out: Path,
    *,
    samples: int = SAMPLES,
    media: float = 0.0,
    protocol: Protocol | None = None,
    people: PeopleSource | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> ExportResult:
    """Write the runs in a folder as a static site.

    Args:
        root: the folder of runs.
        out: the folder to write; an earlier export in it is replaced once the new one is whole, anything else refused.
        samples: pages of samples per run.
        media: megabytes of pictures and videos in all; 0 for none.
        protocol: whose scores are shown.
        people: their judgements, to stand beside judges' and to correct them.
        report: called with a line for each run.
    """
    if not root.is_dir():
        raise UsageError(f"{root} is no folder; name the one that holds your runs")
    _check_target(out)
    target = out.resolve()
    with atomic_path(target, keep_suffix=False) as folder:
        folder.mkdir()
        context = ViewerContext(root, protocol, people)
        try:
            result = _Exporter(context, folder, samples, media).write(report)
        finally:
            context.close()
        earlier = folder.with_name(f"{folder.name}.earlier")
        if target.exists():
            target.rename(earlier)
    remove(earlier)
    return msgspec.structs.replace(result, folder=out)


def _check_target(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; name a folder")
    if out.is_mount():
        raise UsageError(f"{out} is a mount point, which cannot be replaced; name a folder in it")
    if out.exists() and any(out.iterdir()) and not (out / _MARKER).exists():
        raise UsageError(f"{out} is not empty and no earlier export; name another folder")
    parent = out.resolve().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"Cannot write {out}: {error.strerror}; name another folder") from error
    if not os.access(parent, os.W_OK):
        raise UsageError(f"Cannot write {out}: nothing may be written to {parent}; name another folder")


class _Exporter:
    def __init__(self, context: ViewerContext, out: Path, samples: int, megabytes: float) -> None:
        self._context, self._out, self._samples = context, out, samples
        self._links = FileLinks()
        self._pages = ViewerPages(context, self._links)
        self._media = MediaExporter(out, self._links, megabytes)
        self._skipped: list[str] = []

    def write(self, report: Callable[[str], None]) -> ExportResult:
        runs = [run for run in self._context.catalog.runs() if self._read(run)]
        if not runs:
            raise UsageError(f"{self._context.catalog.root} holds no run that can be shown")
        for run in runs:
            self._links.slugs[run.rid] = _make_slug(run.rid)
            self._links.tasks[run.rid] = tuple(each.task for each in self._context.summary(run).tasks)
        details = {run.rid: self._select(run) for run in runs}
        comparisons = self._choose_comparisons(runs)
        if self._media.limit:
            asyncio.run(self._media.add(runs, details))
        self._links.note = self._describe_limits()
        self._copy_static()
        for run in runs:
            self._write_run(run, details[run.rid])
            report(f"{run.name}: {len(details[run.rid]):,} samples")
        for compared in comparisons:
            self._write_comparison(compared)
        self._links.folder = ""
        self._save("index.html", self._pages.home({}))
        self._save("runs.html", self._pages.runs({}))
        count = sum(map(len, details.values()))
        marker = {"vivant": version("vivant"), "runs": len(runs), "samples": count, "note": self._links.note}
        self._save(_MARKER, msgspec.json.encode(marker).decode())
        return ExportResult(
            folder=self._out,
            runs=len(runs),
            samples=count,
            comparisons=len(comparisons),
            pictures=len(self._links.pictures),
            videos=self._media.videos,
            megabytes=self._media.used / 1e6,
            skipped=(*self._skipped, *self._media.problems),
        )

    def _read(self, run: RunEntry) -> bool:
        """Wait until a run is read; one that cannot be is named."""
        while True:
            try:
                self._context.open_index(run, 60.0)
            except BusyError:
                continue
            except VivantError as error:
                self._skipped.append(str(error))
                return False
            break
        if run.manifest is None:
            self._skipped.append(run.problem)
            return False
        return True

    def _select(self, run: RunEntry) -> list[SampleDetails]:
        with self._context.open(run) as db:
            selection, total = self._context.select(run, db, SampleFilter())
            details = self._context.load_details(run, list_page(db, selection, 1, total, self._samples))
        for number, each in enumerate(details, 1):
            self._links.samples[run.rid, each.row["key"]] = number
        return details

    def _write_run(self, run: RunEntry, details: Sequence[SampleDetails]) -> None:
        self._links.folder = "../../"
        folder = f"run/{self._links.slugs[run.rid]}"
        self._save(f"{folder}/index.html", self._pages.samples(run, {}, self._samples))
        for task in self._links.tasks[run.rid] or ("",):
            name = self._links.breakdown(run.rid, task).removeprefix(self._links.folder)
            self._save(name, self._pages.breakdown(run, {"task": task}))
        for number, each in enumerate(details, 1):
            self._save(f"{folder}/{number}.html", self._pages.sample(run, {"key": each.row["key"]}))

    def _save(self, name: str, text: str) -> None:
        path = self._out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")

    def _copy_static(self) -> None:
        folder = self._out / "static"
        folder.mkdir()
        for file in (files("vivant.view") / "static").iterdir():
            (folder / file.name).write_bytes(file.read_bytes())

    # ── comparisons ──

    def _choose_comparisons(self, runs: Sequence[RunEntry]) -> list[list[RunEntry]]:
        """Runs that asked the same questions: all of a task together, then two at a time, newest first."""
        chosen: list[list[RunEntry]] = []
        for compared in _list_comparable(runs):
            if len(chosen) == COMPARISONS:
                break
            rids = frozenset(run.rid for run in compared)
            keys = (
                self._pages.list_compared(compared, COMPARED) if rids not in self._links.comparisons else []
            )
            if not keys:
                continue
            folder = f"compare/{len(chosen) + 1}"
            self._links.comparisons[rids] = folder
            for number, key in enumerate(keys, 1):
                self._links.compared[rids, key] = f"{folder}/{number}.html"
            chosen.append(compared)
        return chosen

    def _write_comparison(self, compared: Sequence[RunEntry]) -> None:
        self._links.folder = "../../"
        rids = frozenset(run.rid for run in compared)
        folder = self._links.comparisons[rids]
        for kind in self._pages.list_kinds(compared):
            self._save(f"{folder}/{kind.name}.html", self._pages.compare(compared, {"kind": kind.name}))
        for (of, key), page in self._links.compared.items():
            if of == rids:
                self._save(page, self._pages.compare_sample(compared, key))

    def _describe_limits(self) -> str:
        timestamp = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
        text = (
            f"Exported {timestamp} UTC by Vivant {version('vivant')}: at most {self._samples:,} samples of each run, "
            f"{COMPARISONS} comparisons with {COMPARED} samples side by side"
        )
        if not self._media.limit:
            return f"{text}; without pictures and videos."
        return (
            f"{text}; pictures (at most {PICTURES} of each sample) and videos (at most {RATE} frames a second, without "
            f"sound) no longer than {SIDE} pixels, within {self._media.limit / 1e6:g} MB "
            f"({self._media.used / 1e6:.1f} MB used)."
        )


def _list_comparable(runs: Sequence[RunEntry]) -> Iterator[list[RunEntry]]:
    tasks = dict.fromkeys(task for run in runs if run.manifest for task in run.manifest.tasks)
    for task in tasks:
        group = [run for run in runs if run.manifest and task in run.manifest.tasks][:MOST]
        if len(group) > 2:
            yield group
    for first, second in combinations(runs, 2):
        if is_comparable(first, second):
            yield [first, second]


def _make_slug(rid: str) -> str:
    """A folder's name for a run: its own where that is plain."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", rid).strip(".-")[:60]
    return plain if plain == rid else f"{plain or 'run'}-{hashlib.sha256(rid.encode()).hexdigest()[:8]}"
