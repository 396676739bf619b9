"""What the benchmarks' own tables share: runs grouped and merged, intervals as text."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vivant.benchmarks.base import Benchmark, ScoredRun
from vivant.benchmarks.summary import summarise
from vivant.core.table import Cell, Row


def group_by_run(runs: Sequence[ScoredRun]) -> dict[str, list[ScoredRun]]:
    """The tasks of each run."""
    grouped: dict[str, list[ScoredRun]] = {}
    for part in runs:
        grouped.setdefault(part.run, []).append(part)
    return grouped


def summarise_together(parts: Sequence[ScoredRun], benchmark: Benchmark, task: str) -> Row:
    """All items of several tasks as one row: each item counts the same."""
    rows = tuple(row for part in parts for row in part.rows)
    summary = summarise(msgspec.structs.replace(parts[0], rows=rows), benchmark)[0]
    return msgspec.structs.replace(summary, task=task)


def format_interval(row: Row) -> str | None:
    """The ends of a row's interval; None where it has none."""
    return f"{row.interval[0]:.1f} – {row.interval[1]:.1f}" if row.interval else None


def count_cells(row: Row) -> tuple[Cell, Cell, Cell]:
    """The columns n, errors and unparsed."""
    return row.n, row.errors, row.unparsed
