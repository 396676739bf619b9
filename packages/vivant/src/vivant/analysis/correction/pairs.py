"""Which of two runs is preferred: a judge's comparisons of all answers, and people's of some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

from msgspec import Struct

from vivant.analysis.correction.judged_scores import JudgedScores
from vivant.benchmarks.base import Protocol
from vivant.benchmarks.conditions import matches, parse_where
from vivant.benchmarks.summary import cluster_of
from vivant.core.errors import UsageError
from vivant.judging.pairs import find_pairs
from vivant.runs.run import Run, choose_common_protocol

_WORTH = {"first": 1.0, "second": 0.0, "tie": 0.5, "inconsistent": 0.5}


class PairPreference(Struct, frozen=True):
    """What one person said of one pair."""

    person: str
    preferred: Path | None
    """The folder of the run that they preferred; None: a tie."""


class PairPreferences(Struct, frozen=True):
    """People's preferences, by task and sample."""

    source: str
    runs: frozenset[Path]
    """Folders of the two runs."""
    by_sample: Mapping[tuple[str, str], Sequence[PairPreference]]
    probabilities: Mapping[tuple[str, str], float] = {}


def join_pairs(
    runs: Sequence[Run], people: PairPreferences, protocol: Protocol | None = None, where: Sequence[str] = ()
) -> list[JudgedScores]:
    """The share of pairs in which the first of the two runs is preferred; a tie counts half."""
    protocol = choose_common_protocol(runs, protocol)
    for first, second in combinations(runs, 2):
        if {first.dir.path.resolve(), second.dir.path.resolve()} == people.runs:
            break
    else:
        names = " and ".join(sorted(map(str, people.runs)))
        raise UsageError(f"{people.source} compares {names}; name these two runs")
    samples = {(sample.task, sample.id): sample for sample in first.dir.samples()}
    conditions = parse_where(where, samples.values())
    records = first.records()
    figures: list[JudgedScores] = []
    for judge, fingerprint, pairs in find_pairs(first, second, protocol):
        figure = JudgedScores(
            run=first.name,
            model=first.model,
            task="",
            metric=f"preferred to {second.model}",
            judge=f"{judge} ({fingerprint[:8]})",
        )
        for pair in pairs:
            record = records.get(pair.key)
            if pair.winner not in _WORTH or record is None:
                continue
            sample = samples[record.task, record.id]
            if not matches(sample, conditions):
                continue
            figure.task = figure.task or record.task.partition("/")[0]
            name = (record.task, record.id)
            scores = [
                (preference.person, _read_preference(preference, first.dir.path.resolve()))
                for preference in people.by_sample.get(name, ())
            ]
            chance = people.probabilities.get(name, 1.0) if people.probabilities else None
            # A judge that names the same place twice, or neither answer, does not know.
            unsure = 0.5 if pair.winner in ("tie", "inconsistent") else 0.0
            worth = _WORTH[pair.winner]
            figure.add(name, worth, scores, cluster_of(sample), sample.facets, chance, unsure)
        if figure.judged:
            figures.append(figure)
    if not figures:
        raise UsageError(
            f"No judge has compared {first.name} and {second.name}: "
            f"vivant judge-check PEOPLE.csv {first.dir.path} {second.dir.path} --pairs --judge MODEL"
        )
    return figures


def _read_preference(preference: PairPreference, first: Path) -> float:
    if preference.preferred is None:
        return 0.5
    return 1.0 if preference.preferred == first else 0.0
