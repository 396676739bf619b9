"""What is left of a score without pictures, without motion, without the order of frames.

A run as it is usually asked is paired, sample by sample, with runs of the same model under a control. The share
that is left is taken above chance: of the points that the model has over a guesser, how many it keeps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct, field

from vivant.analysis.comparison import name_family
from vivant.benchmarks import registry, summary
from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun
from vivant.benchmarks.conditions import restrict
from vivant.core.errors import UsageError
from vivant.metrics.bootstrap import FEWEST, ClusterTotals, bootstrap_ends, resample_means
from vivant.metrics.intervals import Interval, encode_labels, mean_interval
from vivant.metrics.paired import Difference, holm_within, paired_difference
from vivant.runs.run import Run, choose_common_protocol
from vivant.runs.settings import list_differences

CONTROL_LABELS: Mapping[str, str] = {
    "blind": "pictures and video",
    "one-frame": "all frames but one",
    "shuffled": "the order of frames",
    "reversed": "the direction of time",
}


class ControlEffect(Struct, frozen=True, kw_only=True):
    """One control on one task or group: the score with everything, the score without, and what is left."""

    model: str
    task: str
    control: str
    run: str
    """The run under the control."""
    group: Mapping[str, str] = field(default_factory=dict)
    scale: float = 100.0
    result: Difference
    """From the run as asked to the run under the control."""
    adjusted: float | None = None
    chance: float | None = None
    share: float | None = None
    """Of the score above chance, the share that is left; None where the score itself is not above chance."""
    share_interval: Interval | None = None


class ControlEffects(Struct, frozen=True, kw_only=True):
    """All controls of all models given."""

    effects: tuple[ControlEffect, ...]
    notes: tuple[str, ...] = ()
    protocol: Protocol = "paper"


def measure_controls(
    runs: Sequence[Run], protocol: Protocol | None = None, by: Sequence[str] = (), where: Sequence[str] = ()
) -> ControlEffects:
    """Pair each run under a control with the run of the same model without one."""
    protocol = choose_common_protocol(runs, protocol)
    baselines = [run for run in runs if run.manifest.settings.control == "none"]
    controlled = [run for run in runs if run.manifest.settings.control != "none"]
    if not controlled:
        raise UsageError("None of these runs has a control; make one with --control blind (or another)")
    effects: list[ControlEffect] = []
    notes: list[str] = []
    for run in controlled:
        base = _base(run, baselines)
        other = [
            entry
            for entry in list_differences(base.manifest.settings, run.manifest.settings)
            if entry.partition(":")[0] not in ("control", "tasks")
        ]
        if other:
            notes.append(f"{base.name} and {run.name} differ in more than the control: {'; '.join(other)}.")
        before = {part.task: part for part in restrict(base.scores(protocol), where)}
        after = {part.task: part for part in restrict(run.scores(protocol), where)}
        for task in (task for task in before if task in after):
            effects += _compare_task(before[task], after[task], run, tuple(dict.fromkeys(by)))
    if not effects:
        raise UsageError("The runs with and without a control have no scored sample in common")
    families = [name_family(effect.task) for effect in effects]
    adjusted = holm_within([effect.result.p for effect in effects], families)
    return ControlEffects(
        effects=tuple(
            msgspec.structs.replace(effect, adjusted=p) for effect, p in zip(effects, adjusted, strict=True)
        ),
        notes=tuple(dict.fromkeys(notes)),
        protocol=protocol,
    )


def _base(run: Run, plain: Sequence[Run]) -> Run:
    """The run of the same model without a control; of several, the one whose settings differ least."""
    same = [other for other in plain if other.manifest.settings.model == run.manifest.settings.model]
    if not same:
        raise UsageError(
            f"{run.name} has the control {run.manifest.settings.control}, and no run of {run.model} without "
            "one is given; name it too"
        )
    return min(same, key=lambda other: len(list_differences(other.manifest.settings, run.manifest.settings)))


def _compare_task(
    baseline: ScoredRun, controlled: ScoredRun, run: Run, by: tuple[str, ...]
) -> list[ControlEffect]:
    benchmark = registry.get_by_task(baseline.task)
    a, b = summary.group_by_sample(baseline, benchmark), summary.group_by_sample(controlled, benchmark)
    unparsed_value = benchmark.unparsed_value
    binary = summary.is_binary(baseline, unparsed_value) and summary.is_binary(controlled, unparsed_value)
    binary = binary and all(len(s.values) == 1 for s in (*a.values(), *b.values()))
    groups: dict[tuple[str, ...], list[str]] = {}
    for key, rows in summary.group_rows(baseline, benchmark, by).items():
        names = [name for name in dict.fromkeys(row[0].id for row in rows) if name in a and name in b]
        if names:
            groups[key] = names
    effects: list[ControlEffect] = []
    for key in sorted(groups, key=lambda values: [summary.natural_sort_key(value) for value in values]):
        before, after = [a[name] for name in groups[key]], [b[name] for name in groups[key]]
        clusters = [summary.cluster_of(baseline.sample) for baseline in before]
        floor, chance = _floor(before, benchmark, baseline.settings)
        share, interval = (None, None) if floor is None else _share(before, after, floor, clusters)
        effects.append(
            ControlEffect(
                model=baseline.model,
                task=baseline.task,
                control=run.manifest.settings.control,
                run=run.name,
                group=dict(zip(by, key, strict=True)),
                scale=benchmark.task(baseline.task).scale,
                result=paired_difference(
                    [s.mean for s in before], [s.mean for s in after], clusters, binary=binary
                ),
                chance=chance,
                share=share,
                share_interval=interval,
            )
        )
    return effects


def _floor(
    samples: Sequence[summary.SampleScores], benchmark: Benchmark, settings: Mapping[str, Any]
) -> tuple[list[float] | None, float | None]:
    """What a guess is worth on each sample, and on average: nothing where answers are free, None where it
    is known for some samples alone."""
    chances = [benchmark.chance_as_scored(scores.sample, settings) for scores in samples]
    levels = [chance for chance in chances if chance is not None]
    if not levels:
        return [0.0] * len(chances), None
    return (levels, math.fsum(levels) / len(levels)) if len(levels) == len(chances) else (None, None)


def _share(
    before: Sequence[summary.SampleScores],
    after: Sequence[summary.SampleScores],
    floor: Sequence[float],
    clusters: Sequence[str],
) -> tuple[float | None, Interval | None]:
    """What is left, over what there was, both above chance; nothing where there was surely nothing."""
    above = np.array([scores.mean - chance for scores, chance in zip(before, floor, strict=True)])
    remaining = np.array([scores.mean - chance for scores, chance in zip(after, floor, strict=True)])
    lowest = mean_interval(above.tolist(), clusters, binary=False)
    if lowest is None or lowest.low <= 0:
        return None, None
    labels = encode_labels(clusters)
    tops = np.bincount(labels, weights=remaining).astype(np.float64)
    bases = np.bincount(labels, weights=above).astype(np.float64)
    totals = ClusterTotals(tops, bases)
    means = resample_means([totals])[0] if tops.size >= FEWEST else None
    share = float(remaining.sum() / above.sum())
    if means is None:
        return share, None
    return share, Interval(*bootstrap_ends(totals, means), "cluster bootstrap, t-corrected")
