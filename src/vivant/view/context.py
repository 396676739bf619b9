"""What pages need of runs: indexes kept up to date behind the scenes, and whole samples read where they lie."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

import msgspec
from msgspec import Struct

from vivant.core.errors import VivantError
from vivant.core.types import Record, Sample, Score
from vivant.view.catalog import Shelf, Shelved
from vivant.view.index import Index
from vivant.view.query import Filter, TaskSum, count, facets, flip_counts, sums

_T = TypeVar("_T")
_WAIT = 1.0
"""Seconds that a page waits for an index before it shows how far it is."""
_KEPT = 512


class BusyError(VivantError):
    """The index is still being made."""

    def __init__(self, share: float) -> None:
        super().__init__(f"Reading the run: {share:.0%}")
        self.share = share


class Full(Struct, frozen=True):
    """A sample with all that belongs to it; what cannot be read is None, and `problem` says why."""

    row: sqlite3.Row
    sample: Sample | None
    record: Record | None
    score: Score | None
    problem: str = ""


class _Making:
    def __init__(self, index: Index) -> None:
        self.index = index
        self.share = 0.0
        self.failure: VivantError | None = None
        self.thread = threading.Thread(target=self._work, daemon=True)

    def _work(self) -> None:
        try:
            self.index.update(self._tell)
        except (OSError, sqlite3.Error) as error:
            self.failure = VivantError(
                f"{self.index.run} cannot be indexed in {self.index.file.parent}: {error}"
            )

    def _tell(self, share: float) -> None:
        self.share = share


class Desk:
    """One per server."""

    def __init__(self, root: Path, protocol: str = "paper") -> None:
        self.shelf = Shelf(root)
        self.protocol = protocol
        self._making: dict[str, _Making] = {}
        self._lock = threading.Lock()
        self._facts: dict[tuple[str, str, str], object] = {}

    @contextmanager
    def open(self, run: Shelved, other: Shelved | None = None) -> Iterator[sqlite3.Connection]:
        """A fresh index to read; with `other` attached. Raises BusyError while it is being made."""
        index = self._ready(run)
        second = self._ready(other) if other is not None else None
        db = index.open()
        try:
            if second is not None:
                db.execute("ATTACH DATABASE ? AS other", (f"file:{second.file}?mode=ro",))
            yield db
        finally:
            db.close()

    def _ready(self, run: Shelved) -> Index:
        index = Index(run.path, self.protocol)
        with self._lock:
            making = self._making.get(run.rid)
            if making is None:
                if index.fresh():
                    return index
                making = self._making[run.rid] = _Making(index)
                making.thread.start()
        making.thread.join(_WAIT)
        if making.thread.is_alive():
            raise BusyError(making.share)
        with self._lock:
            self._making.pop(run.rid, None)
        if making.failure is not None:
            raise making.failure
        return index

    # ── facts that do not change until the run's files do ──

    def count(self, run: Shelved, db: sqlite3.Connection, wanted: Filter) -> int:
        """How many samples a filter leaves."""
        return self._fact((run.rid, _state(db), "count " + wanted.address()), lambda: count(db, wanted))

    def facets(self, run: Shelved, db: sqlite3.Connection, task: str = "") -> dict[str, list[str]]:
        """What can be filtered by, in a task or in all."""
        return self._fact((run.rid, _state(db), f"facets {task}"), lambda: facets(db, task))

    def sums(self, run: Shelved, db: sqlite3.Connection) -> list[TaskSum]:
        """Counts and scores per task."""
        return self._fact((run.rid, _state(db), "sums"), lambda: sums(db))

    def flip_counts(self, a: Shelved, b: Shelved, db: sqlite3.Connection, task: str) -> dict[str, int]:
        """How two runs agree."""
        state = _state(db) + _state(db, "other.meta")
        return self._fact((a.rid, state, f"flips {b.rid} {task}"), lambda: flip_counts(db, task))

    def _fact(self, key: tuple[str, str, str], find: Callable[[], _T]) -> _T:
        if key not in self._facts:
            if len(self._facts) > _KEPT:
                self._facts.clear()
            self._facts[key] = find()
        return cast(_T, self._facts[key])

    # ── whole samples ──

    def full(self, run: Shelved, row: sqlite3.Row) -> Full:
        """Read a sample, its record and its score from the run's own files."""
        problems: list[str] = []
        sample = _read(run.path / "samples.jsonl", row["sample_at"], row["sample_size"], Sample, problems)
        record = _read(run.path / "log.jsonl", row["log_at"], row["log_size"], Record, problems)
        scores = run.path / "scores" / f"{self.protocol}.jsonl"
        score = _read(scores, row["score_at"], row["score_size"], Score, problems)
        return Full(row, sample, record, score, "; ".join(problems))


def _state(db: sqlite3.Connection, table: str = "main.meta") -> str:
    found = db.execute(f"SELECT value FROM {table} WHERE name = 'state'").fetchone()
    return str(found[0]) if found else ""


def troubles(db: sqlite3.Connection) -> list[str]:
    """Lines of a run's files that cannot be read."""
    known = dict(db.execute("SELECT name, value FROM meta WHERE name LIKE 'bad%'").fetchall())
    said = []
    if known.get("bad_lines"):
        said.append(f"log.jsonl: these lines are not records and are left out: {known['bad_lines']}")
    if known.get("bad_samples"):
        said.append(f"samples.jsonl: these lines are not samples and are left out: {known['bad_samples']}")
    return said


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
