"""Scores to figures: a row for a run, or one for each group of samples; and which samples `--where` names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from vivant.benchmarks.base import Benchmark, ScoredRun
from vivant.errors import DataError, UsageError, unknown
from vivant.report.table import Row
from vivant.types import Sample, Score


class Condition(Struct, frozen=True):
    """One `--where`: a facet that must have one of these values, or none of them."""

    facet: str
    values: frozenset[str]
    negated: bool = False


def parse_where(conditions: Sequence[str], samples: Iterable[Sample]) -> tuple[Condition, ...]:
    """Read `facet=value[,value]` and `facet!=value[,value]` against the facets that the samples have."""
    if not conditions:
        return ()
    known = _facet_values(samples)
    return tuple(_parse_condition(text, known) for text in conditions)


def matches(sample: Sample, where: Sequence[Condition]) -> bool:
    """Whether a sample fulfils all conditions; a facet that it lacks has no value."""
    return all((sample.facets.get(c.facet) in c.values) != c.negated for c in where)


def summarise(run: ScoredRun, benchmark: Benchmark, by: Sequence[str] = ()) -> list[Row]:
    """One row for all samples, or one for each combination of the facets `by`, naturally sorted."""
    by = tuple(dict.fromkeys(by))
    known = set(benchmark.facets).union(*(sample.facets for sample, _, _ in run.rows))
    for facet in by:
        if facet not in known:
            raise unknown("facet", facet, known)
    groups: dict[tuple[str, ...], list[tuple[Sample, Score]]] = {} if by else {(): []}
    for sample, _, score in run.rows:
        groups.setdefault(tuple(sample.facets.get(facet, "") for facet in by), []).append((sample, score))
    unparsed_value = benchmark.unparsed_value(run.protocol)
    binary = all(
        value in (0.0, 1.0) for _, _, s in run.rows if (value := _value(run, s, unparsed_value)) is not None
    )
    return [
        _row(run, benchmark, dict(zip(by, group, strict=True)), groups[group], binary)
        for group in sorted(groups, key=lambda values: [natural(value) for value in values])
    ]


def natural(text: str) -> list[tuple[int, int, str]]:
    """A sorting key under which 90 comes before 180."""
    parts = re.findall(r"\d{1,18}|\D+", text)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part.casefold()) for part in parts]


def _row(
    run: ScoredRun,
    benchmark: Benchmark,
    group: dict[str, str],
    items: list[tuple[Sample, Score]],
    binary: bool,
) -> Row:
    # Late: numpy is not needed to plan a run, which reads conditions with this module.
    from vivant.scoring.stats import mean_interval

    task = benchmark.task(run.task)
    unparsed_value = benchmark.unparsed_value(run.protocol)
    counted = [(s, v) for s, score in items if (v := _value(run, score, unparsed_value)) is not None]
    values = [value for _, value in counted]
    clusters = [sample.cluster or f"\x00{sample.id}" for sample, _ in counted]
    interval = mean_interval(values, clusters, binary=binary)
    scaled = interval.scaled(task.scale) if interval else None
    return Row(
        run=run.run,
        benchmark=benchmark.name,
        task=run.task,
        group=group,
        metric=task.metric,
        value=math.fsum(values) / len(values) * task.scale if values else None,
        n=len(values),
        errors=sum(score.status == "missing" for _, score in items),
        unparsed=sum(score.status == "unparsed" for _, score in items),
        guessed=sum(score.guessed for _, score in items),
        interval=(scaled.low, scaled.high) if scaled else None,
        interval_method=scaled.method if scaled else "",
        model=run.model,
        style=run.style,
        protocol=run.protocol,
    )


def _value(run: ScoredRun, score: Score, unparsed_value: float | None) -> float | None:
    """What a score adds to a mean; None where it stays out of it."""
    if score.status in ("missing", "excluded"):
        return None
    if score.status == "unparsed":
        return unparsed_value
    if score.value is None or not math.isfinite(score.value):
        raise DataError(
            f"{run.run}: {score.key} is scored but its value is {score.value}; score the run again"
        )
    return score.value


def _facet_values(samples: Iterable[Sample]) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}
    for sample in samples:
        for facet, value in sample.facets.items():
            known.setdefault(facet, set()).add(value)
    return known


def _parse_condition(text: str, known: dict[str, set[str]]) -> Condition:
    match = re.fullmatch(r"\s*([^=!]+?)\s*(!?=)\s*(.*?)\s*", text, re.DOTALL)
    if not match or not match[3]:
        raise UsageError(f"'{text}' is no condition; write --where facet=value or facet!=value")
    facet, sign, written = match.groups()
    if facet not in known:
        raise unknown("facet", facet, known)
    # A value may itself hold commas.
    values = [written] if written in known[facet] else [value.strip() for value in written.split(",")]
    for value in values:
        if value not in known[facet]:
            raise unknown(facet, value, known[facet])
    return Condition(facet, frozenset(values), sign == "!=")
