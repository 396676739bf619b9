"""Where a run is right and where it is not: which options are mixed up, and accuracy against what may explain it."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.sample_units import StoppedOrder, group_intervals
from vivant.core.errors import VivantError
from vivant.metrics.intervals import ClusteredValues, Interval, mean_intervals
from vivant.view.outcomes import RIGHT, UNPARSED, WRONG

_BINS = 6
_OPTIONS = 12
_ROWS = 2_000_000


class BreakdownBin(Struct, frozen=True, kw_only=True):
    """Samples that are alike in one respect."""

    label: str
    n: int
    value: float
    """Percent right."""
    interval: tuple[float, float] | None
    key_index: int | None = None
    """Of the key, where samples are grouped by it."""


class Breakdown(Struct, frozen=True, kw_only=True):
    """Accuracy against one respect."""

    title: str
    bins: tuple[BreakdownBin, ...]


class Confusion(Struct, frozen=True, kw_only=True):
    """Which option was read where which was right, by the places at which they were shown."""

    names: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    """A line per place of the key; a column per place of the answer, the last for none of them."""

    @property
    def largest(self) -> int:
        """The largest count off the diagonal: what shading is relative to."""
        off = [c for i, line in enumerate(self.counts) for j, c in enumerate(line) if i != j]
        return max(off, default=0)


def find_confusion(db: sqlite3.Connection, task: str) -> Confusion | None:
    """The confusion of options over a task; None where questions have no options, or too many."""
    rows = db.execute(
        "SELECT key_place, answer_place, count(*) FROM row WHERE key_place IS NOT NULL AND names IS NOT NULL "
        f"AND outcome IN ({RIGHT}, {WRONG}, {UNPARSED}) AND task = (SELECT id FROM task WHERE name = ?) "
        "GROUP BY 1, 2",
        (task,),
    ).fetchall()
    if not rows:
        return None
    size = 1 + max(index for key, answer, _ in rows for index in (key, answer) if index is not None)
    if size > _OPTIONS or size < 2:
        return None
    counts = [[0] * (size + 1) for _ in range(size)]
    for key, answer, count in rows:
        counts[key][size if answer is None else answer] += count
    return Confusion(names=_name_places(db, size), counts=tuple(map(tuple, counts)))


def _name_places(db: sqlite3.Connection, size: int) -> tuple[str, ...]:
    """What options are called, where all are called alike everywhere; else their numbers."""
    lists = [msgspec.json.decode(text)[0] for (text,) in db.execute("SELECT value FROM names LIMIT 1000")]
    names = [{each[index] for each in lists if index < len(each)} for index in range(size)]
    if all(len(each) == 1 for each in names):
        return tuple(each.pop() for each in names)
    return tuple(str(index + 1) for index in range(size))


class _CountedSamples:
    """What a score is the mean of, column by column."""

    def __init__(self, db: sqlite3.Connection, task: str, stopped: StoppedOrder | None) -> None:
        self.stopped = stopped
        places = stopped.places if stopped else {}
        name = "(SELECT id FROM place WHERE place.n = row.n)" if stopped else "NULL"
        outcomes, unparsed = _find_counted(task)
        rows = db.execute(
            f"SELECT CASE outcome WHEN {UNPARSED} THEN ? ELSE value END, coalesce(cluster, base, n), video, frames, "
            f"key_place, size, {name} FROM row WHERE task = (SELECT id FROM task WHERE name = ?) "
            f"AND outcome IN ({outcomes}) LIMIT {_ROWS}",
            (unparsed, task),
        ).fetchall()
        if stopped:
            rows = [row for row in rows if row[6] in places]
        self.values: list[float] = [row[0] for row in rows]
        self.clusters: list[int] = [row[1] for row in rows]
        self.video: list[float | None] = [row[2] for row in rows]
        self.frames: list[float | None] = [row[3] or None for row in rows]
        self.positions: list[int | None] = [row[4] for row in rows]
        self.size: list[float | None] = [row[5] for row in rows]
        self.ids: list[str] = [row[6] for row in rows]

    def measure(self, groups: Sequence[Sequence[int]]) -> list[Interval | None]:
        """The interval of each group's mean, of the kind that the score's own interval has."""
        if self.stopped is None:
            return mean_intervals(
                [
                    ClusteredValues([self.values[i] for i in group], [self.clusters[i] for i in group])
                    for group in groups
                ],
                binary=all(value in (0.0, 1.0) for value in self.values),
                method="auto",
            )
        # The index does not know the groups of samples that were not asked, so these are wider than a table's.
        intervals = group_intervals(
            self.stopped,
            ((number, self.ids[i], self.values[i]) for number, group in enumerate(groups) for i in group),
        )
        return [intervals.get(number) for number in range(len(groups))]


def _find_counted(task: str) -> tuple[str, float | None]:
    """The outcomes that a task's score is the mean of, as SQL lists them, and what an unread answer counts."""
    try:
        unparsed = registry.get_by_task(task).unparsed_value
    except VivantError:  # its benchmark is not installed here
        unparsed = 0.0
    return (f"{RIGHT}, {WRONG}" if unparsed is None else f"{RIGHT}, {WRONG}, {UNPARSED}"), unparsed


def list_breakdowns(
    db: sqlite3.Connection, task: str, stopped: StoppedOrder | None = None
) -> list[Breakdown]:
    """Accuracy against length of the video, frames, place of the key, and length of the reply.

    Args:
        db: The index of a run.
        task: One of its tasks. Tasks differ in metric and difficulty, so there is no breakdown of all of them.
        stopped: What counts of the task, where the run stopped early: intervals then hold whenever it stopped.
    """
    samples = _CountedSamples(db, task, stopped)
    if not samples.values:
        return []
    breakdowns = [
        _break_down("Length of the video, seconds", samples.video, samples),
        _break_down("Frames shown", samples.frames, samples),
        _break_down("Length of the reply, characters", samples.size, samples),
    ]
    top = max((position for position in samples.positions if position is not None), default=-1)
    if 0 < top < _OPTIONS:
        names = _name_places(db, top + 1)
        groups = [[i for i, at in enumerate(samples.positions) if at == place] for place in range(top + 1)]
        bins = _measure([(names[at], group, at) for at, group in enumerate(groups)], samples)
        breakdowns.insert(2, Breakdown(title="Place of the key", bins=bins))
    return [each for each in breakdowns if len(each.bins) > 1]


def _break_down(title: str, column: Sequence[float | None], samples: _CountedSamples) -> Breakdown:
    """A bin per value where they are few, else so many bins of about equal size."""
    known = sorted(value for value in column if value is not None)
    distinct = sorted(set(known)) if len(known) < 5000 or len(set(known)) <= _BINS else []
    if not known:
        return Breakdown(title=title, bins=())
    if distinct and len(distinct) <= _BINS:
        starts = distinct
    else:
        cuts = sorted({known[len(known) * k // _BINS] for k in range(1, _BINS)})
        starts = [known[0], *(cut for cut in cuts if cut > known[0])]
    groups: list[list[int]] = [[] for _ in starts]
    for index, value in enumerate(column):
        if value is not None:
            groups[max(0, bisect_right(starts, value) - 1)].append(index)
    labelled = []
    for group in groups:
        inside = [value for value in (column[i] for i in group) if value is not None]
        low, high = f"{min(inside):.4g}", f"{max(inside):.4g}"  # those that there are: ranges do not overlap
        labelled.append((low if low == high else f"{low} – {high}", group, None))
    return Breakdown(title=title, bins=_measure(labelled, samples))


def _measure(
    groups: Sequence[tuple[str, list[int], int | None]], samples: _CountedSamples
) -> tuple[BreakdownBin, ...]:
    filled = [(label, group, key_index) for label, group, key_index in groups if group]
    intervals = samples.measure([group for _, group, _ in filled])
    return tuple(
        BreakdownBin(
            label=label,
            n=len(group),
            value=100 * sum(samples.values[i] for i in group) / len(group),
            interval=(100 * interval.low, 100 * interval.high) if interval else None,
            key_index=key_index,
        )
        for (label, group, key_index), interval in zip(filled, intervals, strict=True)
    )
