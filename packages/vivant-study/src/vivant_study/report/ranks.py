"""Ratings of one person beside the mean of the others: rank correlation, and two tests of it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, median

from vivant.metrics.agreement import spearman
from vivant.metrics.distributions import normal_p_value, t_p_value
from vivant_study.export.native import total_score
from vivant_study.judgement import StudyJudgement
from vivant_study.results import StudyResults

Tests = tuple[float | None, float | None, float | None]
"""How like the others; how often chance alone gives that; how often somebody like the others does."""
NO_RANKS: Tests = (None, None, None)
_FEW = 5
"""Items that two need in common before a correlation says anything."""


def compute_rank_tests(collected: StudyResults, judgements: Sequence[StudyJudgement]) -> dict[str, Tests]:
    """For each person with enough ratings that others rated too."""
    criteria = [criterion.name for criterion in collected.loaded.study.criteria]
    ratings: dict[str, dict[str, float]] = defaultdict(dict)
    for judgement in judgements:
        score = total_score(judgement.answer, criteria) if judgement.page == "rate" else None
        if score is not None:
            ratings[f"{judgement.item}\x1f{judgement.part}"][judgement.annotator] = score
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for by_person in ratings.values():
        for name, own in by_person.items():
            others = [score for other, score in by_person.items() if other != name]
            if others:
                pairs[name].append((own, fmean(others)))
    correlations: dict[str, tuple[float, int]] = {}
    for name, both in pairs.items():
        rho = spearman([own for own, _ in both], [mean for _, mean in both])
        # Ratings that never vary go along with nothing.
        correlations[name] = (0.0 if math.isnan(rho) else rho, len(both))
    reliable = {name: pair for name, pair in correlations.items() if pair[1] >= _FEW}
    return {name: _test(name, reliable) for name in reliable}


def _test(name: str, reliable: dict[str, tuple[float, int]]) -> Tests:
    rho, size = reliable[name]
    chance = _one_sided(rho, size)
    others = [value for other, (value, _) in reliable.items() if other != name]
    if not others or size <= 3:
        return rho, chance, None
    # Fisher's z: below the others' median, how often by chance?
    distance = (math.atanh(_inside(rho)) - math.atanh(_inside(median(others)))) * math.sqrt(size - 3)
    lower = normal_p_value(distance) / 2
    return rho, chance, lower if distance < 0 else 1 - lower


def _inside(rho: float) -> float:
    return min(max(rho, -0.999), 0.999)


def _one_sided(rho: float, size: int) -> float:
    """How often ratings that go along with nothing correlate as much."""
    t = _inside(rho) * math.sqrt((size - 2) / (1 - _inside(rho) ** 2))
    both = t_p_value(abs(t), size - 2)
    return both / 2 if t > 0 else 1 - both / 2
