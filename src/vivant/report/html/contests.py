"""On each task the best run against each other, sample by sample, with Holm's correction over all of them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.base import ScoredRun
from vivant.benchmarks.summary import by_sample, cluster_of, is_binary
from vivant.core.table import Row
from vivant.metrics.paired import holm, paired_difference

_LEVEL = 0.05


class Contest(Struct, frozen=True, kw_only=True):
    """The best run of a task and another one."""

    task: str
    best: str
    other: str
    lead: float
    interval: tuple[float, float] | None
    """Of the lead, 95 %, in the table's unit."""
    smallest: float | None
    """The lead that would have shown four times out of five."""
    n: int
    p: float | None
    adjusted: float | None = None

    @property
    def shown(self) -> bool:
        """Whether the lead is more than chance."""
        return self.adjusted is not None and self.adjusted < _LEVEL


def contests(parts: Sequence[ScoredRun], rows: Sequence[Row]) -> list[Contest]:
    """All tasks with two runs or more, the nearest rival of each first."""
    found: list[Contest] = []
    for task in dict.fromkeys(part.task for part in parts):
        own = {part.run: part for part in parts if part.task == task}
        order = sorted(
            (row for row in rows if row.task == task and row.value is not None),
            key=lambda row: -(row.value or 0.0),
        )
        found += [
            contest for row in order[1:] if (contest := _contest(own[order[0].run], own[row.run])) is not None
        ]
    adjusted = holm([contest.p for contest in found])
    return [msgspec.structs.replace(c, adjusted=p) for c, p in zip(found, adjusted, strict=True)]


def _contest(best: ScoredRun, other: ScoredRun) -> Contest | None:
    benchmark = registry.of_task(best.task)
    a, b = by_sample(best, benchmark), by_sample(other, benchmark)
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
    return Contest(
        task=best.task,
        best=best.run,
        other=other.run,
        lead=result.value * scale,
        interval=(ends.low, ends.high) if ends else None,
        smallest=None if result.smallest is None else result.smallest * scale,
        n=result.n,
        p=result.p,
    )
