"""On each task the best model against each other run, sample by sample, with Holm's correction within a benchmark."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
from msgspec import Struct

from vivant.analysis.comparison import name_family
from vivant.benchmarks import registry
from vivant.benchmarks.base import ScoredRun
from vivant.benchmarks.summary import cluster_of, group_by_sample, is_binary
from vivant.core.table import Row
from vivant.metrics.paired import holm_within, paired_difference


class LeaderComparison(Struct, frozen=True, kw_only=True):
    """The best model of a task and another run."""

    task: str
    best: str
    other: str
    lead: float
    interval: tuple[float, float] | None
    """Of the lead, 95 %, in the table's unit."""
    detectable: float | None
    """The lead that such data would show four times out of five."""
    n: int
    p: float | None
    adjusted: float | None = None

    @property
    def is_significant(self) -> bool:
        """Whether the lead is more than chance, at the level of 5 %, after correction."""
        return self.lead > 0 and self.adjusted is not None and self.adjusted < 0.05


def compare_leaders(
    parts: Sequence[ScoredRun], rows: Sequence[Row], contestants: Collection[str] = ()
) -> list[LeaderComparison]:
    """Compare the best model with each other run on every task, the nearest rival first.

    Args:
        parts: The runs, scored.
        rows: One row per run and task.
        contestants: The runs that may lead. Where none of them has a task, the best run of all does.
    """
    comparisons: list[LeaderComparison] = []
    for task in dict.fromkeys(part.task for part in parts):
        by_run = {part.run: part for part in parts if part.task == task}
        order = sorted(
            (row for row in rows if row.task == task and row.value is not None),
            key=lambda row: -(row.value or 0.0),
        )
        best = next((row for row in order if row.run in contestants), order[0] if order else None)
        comparisons += [
            comparison
            for row in order
            if best is not None
            and row is not best
            and (comparison := _compare(by_run[best.run], by_run[row.run])) is not None
        ]
    families = [name_family(comparison.task) for comparison in comparisons]
    adjusted = holm_within([comparison.p for comparison in comparisons], families)
    return [msgspec.structs.replace(c, adjusted=p) for c, p in zip(comparisons, adjusted, strict=True)]


def _compare(best: ScoredRun, other: ScoredRun) -> LeaderComparison | None:
    benchmark = registry.of_task(best.task)
    a, b = group_by_sample(best, benchmark), group_by_sample(other, benchmark)
    shared = [name for name in a if name in b]
    if not shared:
        return None
    unparsed = benchmark.unparsed_value
    single = all(len(s.values) == 1 for name in shared for s in (a[name], b[name]))
    result = paired_difference(
        [b[name].mean for name in shared],
        [a[name].mean for name in shared],
        [cluster_of(a[name].sample) for name in shared],
        binary=single and is_binary(best, unparsed) and is_binary(other, unparsed),
    )
    scale = benchmark.task(best.task).scale
    ends = result.interval.scaled(scale) if result.interval else None
    return LeaderComparison(
        task=best.task,
        best=best.run,
        other=other.run,
        lead=result.value * scale,
        interval=(ends.low, ends.high) if ends else None,
        detectable=None if result.smallest is None else result.smallest * scale,
        n=result.n,
        p=result.p,
    )
