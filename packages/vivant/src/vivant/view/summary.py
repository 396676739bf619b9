"""What pages show of a run as a whole, computed when its index changes: a row per task, time, tokens, rate."""

from __future__ import annotations

import sqlite3
from array import array
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.sample_units import StoppedOrder, follow_targets
from vivant.core.errors import VivantError
from vivant.core.table import Row
from vivant.metrics.intervals import ClusteredValues, mean_intervals
from vivant.runs.directory import Manifest, RunDir
from vivant.runs.stopping import Stopping, find_stopped_order, read_stopping
from vivant.view.outcomes import ERROR, OUTCOMES, RIGHT, TRUNCATED, UNPARSED, WAITING, WRONG

_RECENT = 200
"""The rate of a run is that of so many replies, the last ones."""


class TaskCounts(Struct, frozen=True, kw_only=True):
    """One task of a run: how many samples became what, and the score so far."""

    task: str
    counts: dict[str, int]
    """By outcome, without those that are 0."""
    row: Row
    lost: int = 0
    """Replies whose sample is not in samples.jsonl. Their clusters are not known, so there is no interval."""

    @property
    def samples(self) -> int:
        """All of them."""
        return sum(self.counts.values())


class RunSummary(Struct, frozen=True, kw_only=True):
    """A run at a glance."""

    tasks: tuple[TaskCounts, ...] = ()
    first: float | None = None
    """Unix time of the first reply, where the log says so."""
    last: float | None = None
    rate: float | None = None
    """Replies per second of late."""
    seconds: float = 0.0
    """Time that requests took, added up."""
    tokens: tuple[tuple[int, int, int], ...] = ()
    """Tokens sent and written, apart for requests of a batch: (is a batch, sent, written)."""
    reported: bool = False
    """Whether every reply that was not cached says its tokens."""
    enough: bool = False
    """Whether the run met the target of `--until` and its like, so that what was not asked is not missing."""

    def count(self, outcome: str) -> int:
        """Samples of all tasks with this outcome."""
        return sum(task.counts.get(outcome, 0) for task in self.tasks)

    @property
    def lost(self) -> int:
        """Replies whose sample is not there."""
        return sum(task.lost for task in self.tasks)

    @property
    def samples(self) -> int:
        """All rows."""
        return sum(task.samples for task in self.tasks)


def read_summary(connection: sqlite3.Connection) -> RunSummary:
    """The stored summary."""
    row = connection.execute("SELECT value FROM meta WHERE name = 'summary'").fetchone()
    return msgspec.json.decode(row[0], type=RunSummary) if row else RunSummary()


def write_summary(connection: sqlite3.Connection, run: Path) -> None:
    """Compute and store the summary of an index."""
    try:
        manifest: Manifest | None = RunDir(run).manifest()
    except VivantError:
        manifest = None
    stopping = _read_stopping(run)
    tasks = connection.execute("SELECT id, name FROM task ORDER BY id").fetchall()
    times = connection.execute(
        "SELECT min(finished), max(finished), coalesce(sum(seconds), 0) FROM row"
    ).fetchone()
    summary = RunSummary(
        tasks=tuple(
            _count_task(
                connection, number, name, manifest, run.name, _find_order(connection, number, name, stopping)
            )
            for number, name in tasks
        ),
        # A log that has grown since is that of a run which goes on, with another target or none.
        enough=stopping is not None and stopping.enough > 0 and _measure_log(run) == stopping.enough,
        first=times[0],
        last=times[1],
        seconds=times[2],
        rate=_measure_rate(connection),
        tokens=tuple(
            tuple(row)
            for row in connection.execute(
                "SELECT batch, coalesce(sum(sent), 0), coalesce(sum(written), 0) FROM row "
                "WHERE failed = 0 GROUP BY batch"
            )
        ),
        reported=not connection.execute(
            "SELECT 1 FROM row WHERE failed = 0 AND sent IS NULL AND cached = 0 LIMIT 1"
        ).fetchone(),
    )
    connection.execute(
        "INSERT OR REPLACE INTO meta VALUES ('summary', ?)", (msgspec.json.encode(summary).decode(),)
    )


def _measure_rate(connection: sqlite3.Connection) -> float | None:
    recent: list[float] = [
        finished
        for (finished,) in connection.execute(
            f"SELECT finished FROM row WHERE finished IS NOT NULL ORDER BY finished DESC LIMIT {_RECENT}"
        )
    ]
    if len(recent) < 2 or recent[0] <= recent[-1]:
        return None
    return (len(recent) - 1) / (recent[0] - recent[-1])


def _count_task(
    connection: sqlite3.Connection,
    number: int,
    task: str,
    manifest: Manifest | None,
    run: str,
    stopped: StoppedOrder | None,
) -> TaskCounts:
    """The same figures as `benchmarks/summary.py: summarise`, from the index; samples that wait are no errors."""
    counts = {
        OUTCOMES[outcome]: count
        for outcome, count in connection.execute(
            "SELECT outcome, count(*) FROM row WHERE task = ? GROUP BY outcome ORDER BY outcome", (number,)
        )
    }
    counted_ids = stopped.ids if stopped else None
    lost: int = connection.execute(
        "SELECT count(*) FROM row r JOIN place p ON p.n = r.n WHERE r.task = ? AND p.sample_at IS NULL",
        (number,),
    ).fetchone()[0]
    outcome_counts = counts if counted_ids is None else _count_among(connection, number, counted_ids)
    row = Row(
        run=manifest.run if manifest else run,
        benchmark=task.partition("/")[0],
        task=task,
        group={},
        metric="",
        value=None,
        n=0,
        errors=outcome_counts.get(OUTCOMES[ERROR], 0),
        unparsed=outcome_counts.get(OUTCOMES[UNPARSED], 0),
        truncated=outcome_counts.get(OUTCOMES[TRUNCATED], 0),
        model=manifest.model if manifest else "",
        style=manifest.style if manifest else "",
    )
    try:
        benchmark = registry.get_by_task(task)
        info = benchmark.task(task)
    except VivantError:  # a run of a benchmark that is not installed here can be looked at all the same
        return TaskCounts(task=task, counts=counts, row=row, lost=lost)
    row = msgspec.structs.replace(row, metric=info.metric)
    read = _read_values(connection, number, benchmark.unparsed_value, stopped)
    values, chances = read.values, read.chances
    if not values:
        return TaskCounts(task=task, counts=counts, row=row, lost=lost)
    interval = None
    if stopped and not lost:
        interval = follow_targets(stopped.order, [(total, size) for total, size in read.sums]).interval
    elif not lost:
        binary = all(value in (0.0, 1.0) for value in values)
        (interval,) = mean_intervals([ClusteredValues(values, read.clusters)], binary=binary, method="auto")
    scaled = interval.scale(info.scale) if interval else None
    row = msgspec.structs.replace(
        row,
        value=sum(values) / len(values) * info.scale,
        n=len(values),
        interval=(scaled.low, scaled.high) if scaled else None,
        interval_method=scaled.method if scaled else "",
        chance=sum(chances) / len(chances) * info.scale if len(chances) == len(values) else None,
    )
    return TaskCounts(task=task, counts=counts, row=row, lost=lost)


class _TaskValues(NamedTuple):
    """What the scores of a task are, one after another."""

    values: array[float]
    clusters: array[int]
    chances: array[float]
    sums: list[list[float]]
    """Of a run that stopped early: total and number of the values of each unit that counts."""


def _read_values(
    connection: sqlite3.Connection, number: int, unparsed: float | None, stopped: StoppedOrder | None
) -> _TaskValues:
    """The values that count; of a run that stopped early, those of its complete units."""
    counted = (RIGHT, WRONG) if unparsed is None else (RIGHT, WRONG, UNPARSED)
    read = _TaskValues(array("d"), array("q"), array("d"), [])
    places = stopped.places if stopped else {}
    read.sums.extend([0.0, 0.0] for _ in range(stopped.complete if stopped else 0))
    name_column = "(SELECT id FROM place WHERE place.n = row.n)" if stopped else "NULL"
    for value, cluster, chance, name in connection.execute(
        f"SELECT CASE outcome WHEN {UNPARSED} THEN ? ELSE value END, coalesce(cluster, base, n), chance, {name_column} "
        f"FROM row WHERE task = ? AND outcome IN ({', '.join(map(str, counted))})",
        (unparsed, number),
    ):
        if stopped:
            if name not in places:
                continue
            read.sums[places[name]][0] += value
            read.sums[places[name]][1] += 1
        read.values.append(value)
        read.clusters.append(cluster)
        if chance is not None:
            read.chances.append(chance)
    return read


def _measure_log(run: Path) -> int:
    try:
        return RunDir(run).log_file.stat().st_size
    except FileNotFoundError:
        return 0


def _read_stopping(run: Path) -> Stopping | None:
    try:
        return read_stopping(RunDir(run))
    except VivantError:  # tables refuse such a run
        return None


def find_stopped(connection: sqlite3.Connection, task: str, run: Path) -> StoppedOrder | None:
    """What counts of a task of a run that stopped early; None where all of it does."""
    row = connection.execute("SELECT id FROM task WHERE name = ?", (task,)).fetchone()
    return _find_order(connection, row[0], task, _read_stopping(run)) if row else None


def _find_order(
    connection: sqlite3.Connection, number: int, task: str, stopping: Stopping | None
) -> StoppedOrder | None:
    if stopping is None:
        return None
    query = "SELECT p.id FROM row r JOIN place p ON p.n = r.n WHERE r.task = ? AND p.log_at IS NOT NULL"
    return find_stopped_order(stopping, task, (name for (name,) in connection.execute(query, (number,))))


def _count_among(connection: sqlite3.Connection, number: int, ids: frozenset[str]) -> dict[str, int]:
    """Outcomes of these samples alone."""
    query = "SELECT r.outcome, p.id FROM row r JOIN place p ON p.n = r.n WHERE r.task = ?"
    return Counter(OUTCOMES[outcome] for outcome, name in connection.execute(query, (number,)) if name in ids)


def describe_lost(count: int) -> str:
    """What to say where replies have no sample; empty where all have one."""
    if not count:
        return ""
    return (
        f"samples.jsonl is missing or cut: {count:,} replies have no sample, so no interval is shown. "
        "Copy the file again from where the run was made."
    )


def count_waiting(summary: RunSummary) -> int:
    """Samples that were not asked yet."""
    return summary.count(OUTCOMES[WAITING])
