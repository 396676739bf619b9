"""What pages need of runs: indexes kept up to date behind the scenes, and whole samples read where they lie."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar, cast

import msgspec
from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.core.errors import VivantError
from vivant.core.types import Record, Sample, Score
from vivant.view.catalog import RunCatalog, RunEntry
from vivant.view.index import RunIndex
from vivant.view.query import (
    SampleFilter,
    TaskSummary,
    count_flips,
    count_rows,
    find_row,
    list_facets,
    summarize_tasks,
)

_T = TypeVar("_T")
_WAIT = 1.0
"""Seconds that a page waits for an index before it shows how far it is."""
_CACHED = 512


class BusyError(VivantError):
    """The index is still being made."""

    def __init__(self, share: float) -> None:
        super().__init__(f"Reading the run: {share:.0%}")
        self.share = share


class NotFoundError(VivantError):
    """No such run or sample."""


class SampleDetails(Struct, frozen=True):
    """A sample with all that belongs to it; what cannot be read is None, and `problem` says why."""

    row: sqlite3.Row
    sample: Sample | None
    record: Record | None
    score: Score | None
    problem: str = ""


class _IndexUpdate:
    def __init__(self, index: RunIndex) -> None:
        self.index = index
        self.share = 0.0
        self.failure: VivantError | None = None
        self.thread = threading.Thread(target=self._work, daemon=True)

    def _work(self) -> None:
        try:
            self.index.update(self._report)
        except (OSError, sqlite3.Error) as error:
            self.failure = VivantError(
                f"{self.index.run} cannot be indexed in {self.index.file.parent}: {error}"
            )

    def _report(self, share: float) -> None:
        self.share = share


class ViewerContext:
    """One per server."""

    def __init__(self, root: Path, protocol: Protocol | None = None) -> None:
        self.catalog = RunCatalog(root)
        self.protocol = protocol
        self._updates: dict[str, _IndexUpdate] = {}
        self._lock = threading.Lock()
        self._cache: dict[tuple[str, str, str], object] = {}

    def protocol_of(self, run: RunEntry) -> Protocol:
        """The protocol that a run is shown under: the one asked for, else its benchmarks' default."""
        if self.protocol is None and run.manifest is not None:
            with suppress(VivantError):  # a benchmark that is not installed here
                return registry.choose_protocol(run.manifest.tasks)
        return self.protocol or "paper"

    @contextmanager
    def open(self, run: RunEntry, other: RunEntry | None = None) -> Iterator[sqlite3.Connection]:
        """A fresh index to read; with `other` attached. Raises BusyError while it is being made."""
        index = self._open_index(run)
        second = self._open_index(other) if other is not None else None
        db = index.open()
        try:
            if second is not None:
                db.execute("ATTACH DATABASE ? AS other", (f"file:{second.file}?mode=ro",))
            yield db
        finally:
            db.close()

    def _open_index(self, run: RunEntry) -> RunIndex:
        index = RunIndex(run.path, self.protocol_of(run))
        with self._lock:
            update = self._updates.get(run.rid)
            if update is None:
                if index.is_fresh():
                    return index
                update = self._updates[run.rid] = _IndexUpdate(index)
                update.thread.start()
        update.thread.join(_WAIT)
        if update.thread.is_alive():
            raise BusyError(update.share)
        with self._lock:
            self._updates.pop(run.rid, None)
        if update.failure is not None:
            raise update.failure
        return index

    # ── facts that do not change until the run's files do ──

    def count(self, run: RunEntry, db: sqlite3.Connection, selected: SampleFilter) -> int:
        """How many samples a filter leaves."""
        return self._remember(
            (run.rid, _state(db), "count " + selected.address()), lambda: count_rows(db, selected)
        )

    def facets(self, run: RunEntry, db: sqlite3.Connection, task: str = "") -> dict[str, list[str]]:
        """What can be filtered by, in a task or in all."""
        return self._remember((run.rid, _state(db), f"facets {task}"), lambda: list_facets(db, task))

    def sums(self, run: RunEntry, db: sqlite3.Connection) -> list[TaskSummary]:
        """Counts and scores per task."""
        return self._remember((run.rid, _state(db), "sums"), lambda: summarize_tasks(db))

    def flip_counts(self, a: RunEntry, b: RunEntry, db: sqlite3.Connection, task: str) -> dict[str, int]:
        """How two runs agree."""
        state = _state(db) + _state(db, "other.meta")
        return self._remember((a.rid, state, f"flips {b.rid} {task}"), lambda: count_flips(db, task))

    def _remember(self, key: tuple[str, str, str], compute: Callable[[], _T]) -> _T:
        if key not in self._cache:
            if len(self._cache) > _CACHED:
                self._cache.clear()
            self._cache[key] = compute()
        return cast(_T, self._cache[key])

    # ── whole samples ──

    def find_row(self, db: sqlite3.Connection, run: RunEntry, key: str) -> sqlite3.Row:
        """The row of a sample. Raises NotFoundError where the run has none."""
        row = find_row(db, key)
        if row is None:
            raise NotFoundError(f"{run.name} has no sample {key[:200]}")
        return row

    def find_details(self, run: RunEntry, key: str) -> SampleDetails:
        """A sample by its key, with all that belongs to it."""
        with self.open(run) as db:
            return self.load_details(run, self.find_row(db, run, key))

    def load_details(self, run: RunEntry, row: sqlite3.Row) -> SampleDetails:
        """Read a sample, its record and its score from the run's own files."""
        problems: list[str] = []
        sample = _read(run.path / "samples.jsonl", row["sample_at"], row["sample_size"], Sample, problems)
        record = _read(run.path / "log.jsonl", row["log_at"], row["log_size"], Record, problems)
        scores = run.path / "scores" / f"{self.protocol_of(run)}.jsonl"
        score = _read(scores, row["score_at"], row["score_size"], Score, problems)
        return SampleDetails(row, sample, record, score, "; ".join(problems))


def _state(db: sqlite3.Connection, table: str = "main.meta") -> str:
    row = db.execute(f"SELECT value FROM {table} WHERE name = 'state'").fetchone()
    return str(row[0]) if row else ""


def list_problems(db: sqlite3.Connection) -> list[str]:
    """Lines of a run's files that cannot be read."""
    meta = dict(db.execute("SELECT name, value FROM meta WHERE name LIKE 'bad%'").fetchall())
    problems = []
    if meta.get("bad_lines"):
        problems.append(f"log.jsonl: these lines are not records and are left out: {meta['bad_lines']}")
    if meta.get("bad_samples"):
        problems.append(f"samples.jsonl: these lines are not samples and are left out: {meta['bad_samples']}")
    return problems


def _read(path: Path, at: int | None, size: int | None, kind: type[_T], problems: list[str]) -> _T | None:
    if at is None or size is None:
        return None
    try:
        with path.open("rb") as file:
            file.seek(at)
            return msgspec.json.decode(file.read(size), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        problems.append(f"{path.name}: {error}")
        return None
