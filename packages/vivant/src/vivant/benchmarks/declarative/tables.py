"""The harness's own summary of a described benchmark: its groups, and the average in which they weigh the same."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun
from vivant.benchmarks.declarative.benchmark import Declarative
from vivant.benchmarks.declarative.spec import ALL
from vivant.benchmarks.summary import make_published_row, summarise
from vivant.core.table import Cell, Row, Table


def build_official_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """One line per run and group, then the mean over groups and the mean over questions."""
    if not isinstance(benchmark, Declarative):
        raise AssertionError("only described benchmarks have this table")
    by_run: dict[str, list[ScoredRun]] = {}
    for run in runs:
        by_run.setdefault(run.run, []).append(run)
    body: list[tuple[Cell, ...]] = []
    behind: list[Row] = []
    for parts in by_run.values():
        groups: dict[str, list[float]] = {}
        for part in parts:
            facet = benchmark.spec(part.task).macro
            rows = summarise(part, benchmark, () if facet in ("", "task") else (facet,))
            for row in rows:
                name = part.task.rpartition("/")[2] if facet in ("", "task") else row.group.get(facet, "")
                if row.value is not None:
                    behind.append(row)
                    groups.setdefault(name, []).append(row.value)
                    body.append((part.model, name, row.n, row.value))
        means = [math.fsum(values) / len(values) for values in groups.values()]
        counted = [row for part in parts for row in summarise(part, benchmark) if row.value is not None]
        n = sum(row.n for row in counted)
        if means and n:
            micro = math.fsum((row.value or 0.0) * row.n for row in counted) / n
            body.append((parts[0].model, f"mean over {len(means)} groups", n, math.fsum(means) / len(means)))
            body.append((parts[0].model, "mean over questions", n, micro))
    # Figures of no task in particular are means over all of them.
    figures = [figure for figure in benchmark.published.rows() if figure.task == f"{benchmark.name}/{ALL}"]
    body += [(f"{figure.model} †", "mean, published", None, figure.value) for figure in figures]
    return Table(
        title=f"{benchmark.title}, protocol {protocol}",
        columns=("model", "group", "n", "score"),
        body=tuple(body),
        notes=("† Published.",) if figures else (),
        rows=(*behind, *map(make_published_row, figures)),
    )
