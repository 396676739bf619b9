"""On each task the best model against each other run, sample by sample, with Holm's correction within a benchmark.

Where a run stopped early, interval and p value are those that hold whenever it stopped, as in `vivant compare`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec import Struct

from vivant.analysis.comparison import name_family
from vivant.benchmarks import registry
from vivant.benchmarks.base import ScoredRun
from vivant.benchmarks.summary import cluster_of, group_by_sample, is_binary
from vivant.core.table import Row
from vivant.metrics.paired import anytime_difference, holm_within, paired_difference
from vivant.runs.stopping_table import StoppedTask, find_shared_order


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
    too_sure: tuple[str, ...] = ()
    """The two runs, where they stopped early in orders of their own: interval and p value are for a fixed sample."""

    @property
    def is_significant(self) -> bool:
        """Whether the lead is more than chance, at the level of 5 %, after correction."""
        return self.lead > 0 and self.adjusted is not None and self.adjusted < 0.05


def compare_leaders(
    parts: Sequence[ScoredRun],
    rows: Sequence[Row],
    contestants: Collection[str] = (),
    stopped: Mapping[tuple[str, str], StoppedTask] | None = None,
) -> list[LeaderComparison]:
    """Compare the best model with each other run on every task, the nearest rival first.

    Args:
        parts: The runs, scored.
        rows: One row per run and task.
        contestants: The runs that may lead. Where none of them has a task, the best run of all does.
        stopped: By run and task, what was asked where not everything was.
    """
    stopped = stopped or {}
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
            and (comparison := _compare(by_run[best.run], by_run[row.run], stopped)) is not None
        ]
    families = [name_family(comparison.task) for comparison in comparisons]
    adjusted = holm_within([comparison.p for comparison in comparisons], families)
    return [msgspec.structs.replace(c, adjusted=p) for c, p in zip(comparisons, adjusted, strict=True)]


def _compare(
    best: ScoredRun, other: ScoredRun, stopped: Mapping[tuple[str, str], StoppedTask]
) -> LeaderComparison | None:
    benchmark = registry.get_by_task(best.task)
    a, b = group_by_sample(best, benchmark), group_by_sample(other, benchmark)
    early = [task for part in (best, other) if (task := stopped.get((part.run, part.task)))]
    order = find_shared_order(early)
    places = order.places if order else {}
    shared = [name for name in a if name in b and (order is None or name in places)]
    if not shared:
        return None
    unparsed = benchmark.unparsed_value
    single = all(len(s.values) == 1 for name in shared for s in (a[name], b[name]))
    means, others = [a[name].mean for name in shared], [b[name].mean for name in shared]
    if order is None:
        clusters = [cluster_of(a[name].sample) for name in shared]
        binary = single and is_binary(best, unparsed) and is_binary(other, unparsed)
        result = paired_difference(others, means, clusters, binary=binary)
    else:
        result = anytime_difference(
            others,
            means,
            [places[name] for name in shared],
            count=order.complete,
            largest=max(len(unit.ids) for unit in order.order.units),
        )
    scale = benchmark.task(best.task).scale
    ends = result.interval.scale(scale) if result.interval else None
    return LeaderComparison(
        task=best.task,
        best=best.run,
        other=other.run,
        lead=result.value * scale,
        interval=(ends.low, ends.high) if ends else None,
        detectable=None if result.smallest is None else result.smallest * scale,
        n=result.n,
        p=result.p,
        too_sure=(best.run, other.run) if early and order is None else (),
    )
