"""Groups of samples inside one run against each other: avatars, backgrounds, angles, abilities.

Where a data set crosses a facet with others (the same action with two avatars, all else equal), samples are
paired with those that differ in that facet alone, and what the action adds to both cancels out. Where it does
not (a question has one ability), the two groups are compared as they are, with clusters counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

from vivant.analysis.comparison import Comparison, RunPair, correct_p_values
from vivant.benchmarks import registry, summary
from vivant.benchmarks.base import Protocol, ScoredRun
from vivant.benchmarks.conditions import restrict
from vivant.core.errors import UsageError
from vivant.metrics.paired import Difference, group_difference, paired_difference
from vivant.runs.run import Run, choose_common_protocol

REST = "the others"
NOT_APPLICABLE = ("", "n/a")


def compare_groups(
    runs: Sequence[Run],
    between: Sequence[str],
    *,
    protocol: Protocol | None = None,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    match: Sequence[str] | None = None,
    rest: bool = False,
    values: Mapping[str, Any] | None = None,
) -> Comparison:
    """The values of each facet of `between`, pair by pair, or each against all others (`rest`).

    `match` names the facets in which paired samples must agree; left out, they are found in the data, and an
    empty list leaves samples unpaired.
    """
    protocol = choose_common_protocol(runs, protocol)
    overlap = set(between) & set(match or ())
    if overlap:
        raise UsageError(f"--match {overlap.pop()}: samples cannot agree in what is compared")
    pairs: list[RunPair] = []
    notes: list[str] = []
    names = [run.name for run in runs]
    for name, run in zip(names, runs, strict=True):
        for part in restrict(run.scores(protocol, values), where):
            for facet in dict.fromkeys(between):
                task_pairs = _compare_task(name, part, facet, tuple(dict.fromkeys(by)), match, rest)
                if not task_pairs:
                    notes.append(f"{name}, {part.task}: all samples have the same {facet}.")
                pairs += task_pairs
    if not pairs:
        raise UsageError(f"There is nothing to compare: {' '.join(notes)}")
    return Comparison(
        pairs=tuple(correct_p_values(pairs)),
        models={name: run.model for name, run in zip(names, runs, strict=True)},
        notes=tuple(notes),
        protocol=protocol,
    )


def _compare_task(
    run: str, part: ScoredRun, facet: str, by: tuple[str, ...], match: Sequence[str] | None, rest: bool
) -> list[RunPair]:
    benchmark = registry.get_by_task(part.task)
    summary.group_rows(part, benchmark, (facet, *by, *(match or ())))  # refuses a facet that no sample has
    samples = summary.group_by_sample(part, benchmark)
    single = all(len(scores.values) == 1 for scores in samples.values())
    binary = single and summary.is_binary(part, benchmark.unparsed_value)
    scale = benchmark.task(part.task).scale
    groups: dict[tuple[str, ...], list[summary.SampleScores]] = {}
    for scores in samples.values():
        groups.setdefault(tuple(scores.sample.facets.get(name, "") for name in by), []).append(scores)
    pairs: list[RunPair] = []
    for key in sorted(groups, key=lambda values: [summary.natural_sort_key(value) for value in values]):
        members = groups[key]
        value_of = _values(facet)
        values = sorted(
            {value_of(scores) for scores in members} - set(NOT_APPLICABLE), key=summary.natural_sort_key
        )
        if len(values) < 2:
            continue
        chosen = [scores for scores in members if value_of(scores) in values]
        facets = find_crossed_facets(chosen, facet) if match is None else tuple(match)
        for first, second in _couples(values, rest):
            a = [scores for scores in chosen if value_of(scores) == first]
            b = [
                scores
                for scores in chosen
                if (value_of(scores) != first if second == REST else value_of(scores) == second)
            ]
            result, matched = _contrast(a, b, facets, binary)
            pairs.append(
                RunPair(
                    first=f"{facet}={first}",
                    second=REST if second == REST else f"{facet}={second}",
                    task=part.task,
                    group=dict(zip(by, key, strict=True)),
                    scale=scale,
                    result=result,
                    run=run,
                    matched=matched,
                )
            )
    return pairs


def _values(facet: str) -> Callable[[summary.SampleScores], str]:
    return lambda scored: scored.sample.facets.get(facet, "")


def _couples(values: Sequence[str], rest: bool) -> list[tuple[str, str]]:
    if rest and len(values) > 2:
        return [(value, REST) for value in values]
    return list(combinations(values, 2))


def find_crossed_facets(samples: Sequence[summary.SampleScores], facet: str) -> tuple[str, ...]:
    """The other facets that a pair can agree in: those that do not change with this one in every cluster.

    A facet that differs between any two samples of a cluster with different values of `facet` (a name that
    spells out the whole variant, say) follows from it, and cannot be held fixed.
    """
    clusters: dict[str, list[Mapping[str, str]]] = {}
    for scores in samples:
        clusters.setdefault(summary.cluster_of(scores.sample), []).append(scores.sample.facets)
    names = dict.fromkeys(name for scores in samples for name in scores.sample.facets if name != facet)
    return tuple(
        name for name in names if any(_is_shared(members, facet, name) for members in clusters.values())
    )


def _is_shared(cluster: Sequence[Mapping[str, str]], facet: str, other: str) -> bool:
    """Whether a value of `other` occurs in a cluster with two values of `facet`."""
    values_by_other: dict[str, set[str]] = {}
    for facets in cluster:
        values_by_other.setdefault(facets.get(other, ""), set()).add(facets.get(facet, ""))
    return any(len(values) > 1 for values in values_by_other.values())


def _contrast(
    a: Sequence[summary.SampleScores],
    b: Sequence[summary.SampleScores],
    facets: tuple[str, ...],
    binary: bool,
) -> tuple[Difference, tuple[str, ...]]:
    before, after = _cells(a, facets), _cells(b, facets)
    both = [cell for cell in before if cell in after] if facets else []
    # A handful of chance matches among many samples is no crossed design.
    if 2 * len(both) >= min(len(before), len(after)) and len({cell[0] for cell in both}) > 1:
        single = all(len(cells[cell]) == 1 for cell in both for cells in (before, after))
        result = paired_difference(
            [_mean(before[cell]) for cell in both],
            [_mean(after[cell]) for cell in both],
            [cell[0] for cell in both],
            binary=binary and single,
        )
        return result, facets
    result = group_difference(
        [scores.mean for scores in a],
        [scores.mean for scores in b],
        [summary.cluster_of(scores.sample) for scores in a],
        [summary.cluster_of(scores.sample) for scores in b],
        binary=binary,
    )
    return result, ()


def _cells(
    samples: Sequence[summary.SampleScores], facets: Sequence[str]
) -> dict[tuple[str, ...], list[float]]:
    """Values by cluster and matched facets: several where the data hold several of a kind."""
    cells: dict[tuple[str, ...], list[float]] = {}
    for scores in samples:
        cell = (summary.cluster_of(scores.sample), *(scores.sample.facets.get(facet, "") for facet in facets))
        cells.setdefault(cell, []).append(scores.mean)
    return cells


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
