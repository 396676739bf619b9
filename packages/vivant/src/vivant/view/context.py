"""What pages need of runs: indexes kept up to date behind the scenes, and whole samples read where they lie."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

import msgspec
from msgspec import Struct

from vivant.analysis.correction.people import PeopleSource
from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.core.errors import VivantError
from vivant.core.records import Record, Score
from vivant.core.structs import learn_structs
from vivant.core.types import Sample
from vivant.runs.live_scores import open_scorer
from vivant.view.catalog import RunCatalog, RunEntry
from vivant.view.index import RunIndex
from vivant.view.query import (
    RowSelection,
    SampleFilter,
    count_rows,
    find_row,
    list_facets,
    order_rows,
    select_rows,
)
from vivant.view.summary import RunSummary, describe_lost, read_summary

_T = TypeVar("_T")
_WAIT = 1.0
"""Seconds that a page waits for an index before it shows how far it is."""
_WAIT_STALE = 0.1
"""Seconds that a page waits for an index that grows; then it shows what there was."""
_CACHED = 4096
"""Small values: a summary of each run, what can be filtered by, counts."""
_ORDERED = 4
"""Filters whose rows are kept, 8 bytes a row."""


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


class _Update(Struct, eq=False):
    """An index on its way."""

    future: Future[None]
    share: float = 0.0


class ViewerContext:
    """One per server."""

    def __init__(
        self, root: Path, protocol: Protocol | None = None, people: PeopleSource | None = None
    ) -> None:
        learn_structs()
        self.catalog = RunCatalog(root)
        self.protocol = protocol
        self.people = people
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="index")
        self._updates: dict[str, _Update] = {}
        self._failures: dict[str, tuple[str, VivantError]] = {}
        self._lock = threading.Lock()
        self._cache: dict[tuple[Hashable, ...], object] = {}
        self._ordered: dict[tuple[Hashable, ...], RowSelection] = {}
        self._indexes: dict[Path, RunIndex] = {}

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def find_run(self, rid: str) -> RunEntry:
        """A run by its name in addresses. Raises NotFoundError where there is none."""
        run = self.catalog.get(rid)
        if run is None:
            raise NotFoundError(f"There is no run {rid[:200]} in {self.catalog.root}")
        return run

    def protocol_of(self, run: RunEntry) -> Protocol:
        """The protocol that a run is shown under: the one asked for, else its benchmarks' default."""
        if self.protocol is None and run.manifest is not None:
            with suppress(VivantError):  # a benchmark that is not installed here
                return registry.choose_protocol(run.manifest.tasks)
        return self.protocol or "paper"

    # ── indexes ──

    @contextmanager
    def open(self, run: RunEntry) -> Iterator[sqlite3.Connection]:
        """An index to read: a fresh one, or of a run under way the one before. Raises BusyError where there is none."""
        db = self.open_index(run).open()
        try:
            yield db
        finally:
            db.close()

    def open_index(self, run: RunEntry, seconds: float = _WAIT) -> RunIndex:
        """A run's index, made or brought up to date in the background if need be."""
        index = self._find_index(run)
        state, meta = index.state(), index.read_meta()
        if meta.get("state") == state:
            return index
        with self._lock:
            failure = self._failures.get(run.rid)
            if failure is not None and failure[0] == state:
                raise failure[1]
            update = self._updates.get(run.rid)
            if update is None or update.future.done():
                update = self._updates[run.rid] = _Update(Future())
                update.future = self._pool.submit(self._update, run.rid, index, state, update)
        wait([update.future], timeout=min(seconds, _WAIT_STALE) if meta else seconds)
        if update.future.done():
            failure = self._failures.get(run.rid)
            if failure is not None:
                raise failure[1]
            return index
        if meta:
            return index
        raise BusyError(update.share)

    def _find_index(self, run: RunEntry) -> RunIndex:
        """The same object each time: to make one takes longer than to ask whether it is fresh."""
        protocol = self.protocol_of(run)
        index = self._indexes.get(run.path)
        if index is None or index.protocol != protocol:
            index = self._indexes[run.path] = RunIndex(run.path, protocol)
        return index

    def _update(self, rid: str, index: RunIndex, state: str, update: _Update) -> None:
        def report(share: float) -> None:
            update.share = share

        try:
            index.update(report)
            self._failures.pop(rid, None)
        except (OSError, sqlite3.Error, VivantError) as error:
            message = f"{index.run} cannot be indexed in {index.file.parent}: {error}"
            self._failures[rid] = (state, VivantError(message))

    def summary(self, run: RunEntry, seconds: float = _WAIT) -> RunSummary:
        """What a run is as a whole. Raises BusyError while it is read for the first time."""
        return self.summary_and_state(run, seconds)[0]

    def summary_and_state(self, run: RunEntry, seconds: float = _WAIT) -> tuple[RunSummary, str]:
        """A run as a whole, and what its files were when that was read."""
        index = self.open_index(run, seconds)
        state = index.read_meta().get("state", "")

        def read() -> RunSummary:
            db = index.open()
            try:
                return read_summary(db)
            finally:
                db.close()

        return self.remember((run.rid, state, "summary"), read), state

    # ── facts that do not change until the run's files do ──

    def select(
        self, run: RunEntry, db: sqlite3.Connection, selected: SampleFilter
    ) -> tuple[RowSelection, int]:
        """What a filter asks for, and how many samples it leaves."""

        key = (run.rid, read_state(db), "select", selected.address())
        if selected.facets or selected.places or selected.text:  # each page would look for its rows again
            return self._select_ordered(key, db, selected)

        def compute() -> tuple[RowSelection, int]:
            selection = select_rows(db, selected)
            return selection, count_rows(db, selection)

        return self.remember(key, compute)

    def _select_ordered(
        self, key: tuple[Hashable, ...], db: sqlite3.Connection, selected: SampleFilter
    ) -> tuple[RowSelection, int]:
        """The rows themselves, kept for the last few filters."""
        selection = self._ordered.get(key)
        if selection is None:
            selection = select_rows(db, selected)
            if selection.row_numbers is None:
                selection = order_rows(db, selection)
        with self._lock:  # the last used stands last
            self._ordered.pop(key, None)
            self._ordered[key] = selection
            if len(self._ordered) > _ORDERED:
                del self._ordered[next(iter(self._ordered))]
        return selection, count_rows(db, selection)

    def facets(self, run: RunEntry, db: sqlite3.Connection, task: str = "") -> dict[str, list[str]]:
        """What can be filtered by, in a task or in all."""
        return self.remember((run.rid, read_state(db), "facets", task), lambda: list_facets(db, task))

    def remember(self, key: tuple[Hashable, ...], compute: Callable[[], _T]) -> _T:
        """A value that stays the same while its key does."""
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
            return self.load_details(run, [self.find_row(db, run, key)])[0]

    def load_details(self, run: RunEntry, rows: Sequence[sqlite3.Row]) -> list[SampleDetails]:
        """Read samples, their records and scores from the run's own files; scores that it lacks are made."""
        protocol = self.protocol_of(run)
        names = ("samples.jsonl", "log.jsonl", f"scores/{protocol}.jsonl")
        with ExitStack() as stack:
            paths = [run.path / name for name in names]
            files = [stack.enter_context(path.open("rb")) if path.exists() else None for path in paths]
            details = [_read_details(row, files) for row in rows]
        return [self._add_score(run, each) for each in details]

    def _add_score(self, run: RunEntry, details: SampleDetails) -> SampleDetails:
        if details.score is not None or details.sample is None or details.record is None:
            return details
        scorer = open_scorer(run.path, self.protocol_of(run))
        task = details.row["task"]
        with suppress(VivantError):  # without its benchmark, or its judge, it is shown without a score
            if scorer is not None and scorer.scores_apart(task):
                (score,) = scorer.score(task, [(details.sample, details.record)])
                return msgspec.structs.replace(details, score=score)
        return details


def read_state(db: sqlite3.Connection) -> str:
    """What the run's files were when the index was made."""
    row = db.execute("SELECT value FROM meta WHERE name = 'state'").fetchone()
    return str(row[0]) if row else ""


def list_problems(db: sqlite3.Connection) -> list[str]:
    """Lines of a run's files that cannot be read."""
    meta = dict(db.execute("SELECT name, value FROM meta WHERE name LIKE 'bad%'").fetchall())
    problems = []
    if meta.get("bad_lines"):
        problems.append(f"log.jsonl: these lines are not records and are left out: {meta['bad_lines']}")
    if meta.get("bad_samples"):
        problems.append(f"samples.jsonl: these lines are not samples and are left out: {meta['bad_samples']}")
    lost = describe_lost(read_summary(db).lost)
    return [*problems, lost] if lost else problems


def _read_details(row: sqlite3.Row, files: Sequence[BinaryIO | None]) -> SampleDetails:
    problems: list[str] = []
    sample = _read(files[0], row["sample_at"], row["sample_size"], Sample, problems)
    record = _read(files[1], row["log_at"], row["log_size"], Record, problems)
    score = _read(files[2], row["score_at"], row["score_size"], Score, problems)
    return SampleDetails(row, sample, record, score, "; ".join(problems))


def _read(
    file: BinaryIO | None, at: int | None, size: int | None, kind: type[_T], problems: list[str]
) -> _T | None:
    if at is None or size is None or file is None:
        return None
    try:
        file.seek(at)
        return msgspec.json.decode(file.read(size), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        problems.append(f"{Path(file.name).name}: {error}")
        return None
