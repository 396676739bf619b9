"""A judge's scores with people's beside some of them, as columns; and what comes of correcting one by the other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, field

from vivant.benchmarks.summary import natural_sort_key
from vivant.core.errors import UsageError, unknown_name_error
from vivant.metrics.prediction_powered import CorrectedMean, RaterScores, correct_mean
from vivant.metrics.sampling_plan import left_out_p_value

_EXPECTED = 8.0
"""So many scores by people are expected of a stratum before none at all is taken for a gap: chance leaves one empty
once in 3,000 times."""
_UNLIKELY = 0.01
"""How rarely chance may leave out as much as people did, over all facets, for a note on it."""


class JudgedScores(Struct, kw_only=True, eq=False):
    """One figure to be corrected: a judge's score of every item, and people's of some. Lists have one length."""

    run: str
    model: str
    task: str
    metric: str
    judge: str
    """Who judged; several judges are one panel."""
    scale: float = 100.0
    """From 0–1 to the table's figures."""
    binary: bool | None = None
    samples: list[tuple[str, str]] = field(default_factory=list)
    """Task and id of the sample that each item belongs to."""
    judged: list[float] = field(default_factory=list)
    people: list[float] = field(default_factory=list)
    """NaN where nobody scored the item."""
    clusters: list[str] = field(default_factory=list)
    facets: list[Mapping[str, str]] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)
    """The probability that each item had to be scored by people; empty: the same for all."""
    ratings: list[tuple[int, str, float]] = field(default_factory=list)
    """Single scores by people: item, person, score; empty where it is not known who gave them."""
    spreads: list[float] = field(default_factory=list)
    """How far the judge's verdicts on each item differ: its own uncertainty, 0 where it gave one verdict."""
    notes: tuple[str, ...] = ()

    def add(
        self,
        sample: tuple[str, str],
        judged: float,
        people: Sequence[tuple[str, float]],
        cluster: str,
        facets: Mapping[str, str],
        chance: float | None = None,
        spread: float = 0.0,
    ) -> None:
        """One more item, with the scores of those who scored it: (person, score)."""
        index = len(self.judged)
        self.samples.append(sample)
        self.judged.append(judged)
        self.people.append(math.fsum(score for _, score in people) / len(people) if people else math.nan)
        self.clusters.append(cluster)
        self.facets.append(facets)
        self.spreads.append(spread)
        if chance is not None:
            self.chances.append(chance)
        self.ratings += [(index, person, score) for person, score in people if person]


class Correction(Struct, frozen=True, kw_only=True):
    """One row: a judge's figure, people's, and the corrected one, between 0 and 1."""

    run: str
    model: str
    task: str
    metric: str
    judge: str
    scale: float
    group: Mapping[str, str]
    result: CorrectedMean | None
    """None where people scored nothing of the group."""
    total: int
    people: int
    """Persons who scored, where known."""
    notes: tuple[str, ...] = ()


def correct_scores(scores: Sequence[JudgedScores], by: Sequence[str] = ()) -> list[Correction]:
    """A correction for each figure, or one for each group of its items.

    Raises:
        UsageError: where people left out a whole stratum, so that their part says nothing about the rest.
    """
    known = {facet for entry in scores for facets in entry.facets for facet in facets}
    for facet in by:
        if facet not in known:
            raise unknown_name_error("facet", facet, known)
    corrections: list[Correction] = []
    for entry in scores:
        groups: dict[tuple[str, ...], list[int]] = {}
        for index, facets in enumerate(entry.facets):
            groups.setdefault(tuple(facets.get(facet, "") for facet in by), []).append(index)
        corrections += [
            _correct_group(entry, dict(zip(by, name, strict=True)), groups[name])
            for name in sorted(groups, key=lambda values: [natural_sort_key(value) for value in values])
        ]
    if scores and not any(correction.result for correction in corrections):
        raise UsageError(
            "People scored none of the answers that a judge scored in these runs; name the study or file that holds "
            "scores of these very answers"
        )
    return corrections


def _correct_group(entry: JudgedScores, group: Mapping[str, str], rows: Sequence[int]) -> Correction:
    people = np.array([entry.people[index] for index in rows])
    scored = np.isfinite(people)
    position = {index: place for place, index in enumerate(rows)}
    ratings = [(position[index], who, value) for index, who, value in entry.ratings if index in position]
    persons = sorted({who for _, who, _ in ratings})
    result = None
    gaps: list[str] = []
    if scored.any():
        check_strata(entry, rows, scored)
        gaps = describe_gaps(entry, rows, scored)
        numbers = {who: number for number, who in enumerate(persons)}
        complete = len({index for index, _, _ in ratings}) == int(scored.sum())
        result = correct_mean(
            [entry.judged[index] for index in rows],
            people,
            [entry.clusters[index] for index in rows],
            probabilities=[entry.chances[index] for index in rows] if entry.chances else None,
            raters=RaterScores(
                np.array([index for index, _, _ in ratings], np.intp),
                np.array([numbers[who] for _, who, _ in ratings], np.intp),
                np.array([value for _, _, value in ratings], np.float64),
            )
            if ratings and complete
            else None,
            binary=entry.binary,
            bounds=(0.0, 1.0),
        )
    return Correction(
        run=entry.run,
        model=entry.model,
        task=entry.task,
        metric=entry.metric,
        judge=entry.judge,
        scale=entry.scale,
        group=group,
        result=result,
        total=len(rows),
        people=len(persons),
        notes=(*entry.notes, *gaps),
    )


def check_strata(entry: JudgedScores, rows: Sequence[int], scored: np.typing.NDArray[np.bool_]) -> None:
    """Raise where people scored nothing of a value of a facet that holds a good part of the items."""
    share = float(scored.mean())
    for facet in sorted({name for index in rows for name in entry.facets[index]}):
        values = [entry.facets[index].get(facet, "") for index in rows]
        total = Counter(values)
        reached = {value for value, seen in zip(values, scored, strict=True) if seen}
        missing = [value for value in total if value not in reached and total[value] * share >= _EXPECTED]
        if missing:
            count = sum(total[value] for value in missing)
            raise UsageError(
                f"{entry.run}, {entry.task}: people scored nothing with {facet}={', '.join(missing)}, which is "
                f"{count} of {len(rows)} answers, so that their scores say nothing about these. Ask people about them "
                f"too (vivant judge plan --by {facet}), or leave them out with --where '{facet}="
                f"{','.join(sorted(reached))}'"
            )


def describe_gaps(entry: JudgedScores, rows: Sequence[int], scored: np.typing.NDArray[np.bool_]) -> list[str]:
    """A note on values of facets that people left out: too small to refuse, too many for a part drawn at random.

    Chance leaves out a value where it leaves out all of its clusters, each by itself.
    """
    share = float(scored.mean())
    facets = sorted({name for index in rows for name in entry.facets[index]})
    gaps: list[str] = []
    for facet in facets:
        # By value, the chance that each of its clusters has to be left out.
        misses: dict[str, dict[str, float]] = {}
        reached: set[str] = set()
        for index, seen in zip(rows, scored, strict=True):
            value = entry.facets[index].get(facet, "")
            miss = 1 - (entry.chances[index] if entry.chances else share)
            misses.setdefault(value, {})[entry.clusters[index]] = miss
            reached.update([value] if seen else [])
        missing = [value for value in misses if value not in reached]
        sizes = [len(clusters) for clusters in misses.values()]
        chances = [math.prod(clusters.values()) for clusters in misses.values()]
        total = sum(len(misses[value]) for value in missing)
        if missing and left_out_p_value(sizes, chances, total) < _UNLIKELY / len(facets):
            first = ", ".join(value or "unstated" for value in sorted(missing, key=natural_sort_key)[:5])
            gaps.append(f"{facet}={first}" + (f" and {len(missing) - 5} more" if len(missing) > 5 else ""))
    if not gaps:
        return []
    return [
        f"{entry.run}, {entry.task}: people scored nothing with {'; '.join(gaps)}. A part drawn at random would hardly "
        "leave these out; if people chose what to score, the corrected figure does not hold for them."
    ]
