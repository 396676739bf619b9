"""Tables of lmms-eval's tasks: every metric by the task's own aggregation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun
from vivant.bridges.lmms_benchmark import LmmsEval
from vivant.bridges.lmms_task import aggregate
from vivant.core.errors import UsageError
from vivant.core.table import Cell, Table


def build_metrics_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """One line per run, task, filter and metric: the figure that lmms-eval prints, on its own scale."""
    if not isinstance(benchmark, LmmsEval):
        raise UsageError(f"{benchmark.name} has no tasks of lmms-eval")
    body: list[tuple[Cell, ...]] = []
    for run in runs:
        gathered: dict[tuple[str, str], list[Any]] = {}
        for _, _, score in run.rows:
            for name, metrics in score.detail.get("results", {}).items():
                for metric, value in metrics.items():
                    gathered.setdefault((name, metric), []).append(value)
        built = benchmark.find_built(run.task.partition("/")[2]) if gathered else None
        for (name, metric), values in gathered.items():
            figure = aggregate(built, metric, values) if built is not None else None
            if figure is not None:
                body.append((run.model, run.task, metric, name, f"{figure:.4f}", len(values), run.run))
    return Table(
        title=f"lmms-eval's metrics, protocol {protocol}",
        columns=("model", "task", "metric", "filter", "value", "n", "run"),
        body=tuple(body),
        notes=("Values are lmms-eval's own aggregates, on its scale; replies without a score are left out.",),
        optional=("run", "filter"),
    )
