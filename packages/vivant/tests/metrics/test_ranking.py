"""Ranks that the data allow, and Bradley–Terry strengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vivant.metrics.bootstrap import resample_jointly
from vivant.metrics.ranking import (
    count_wins,
    find_unconnected,
    fit_bradley_terry,
    rank_means,
    rank_strengths,
)

if TYPE_CHECKING:
    import numpy as np


def draw(
    rng: np.random.Generator, rates: list[float], clusters: int, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Competitors that share easy and hard clusters."""

    import numpy as np

    labels = np.repeat(np.arange(clusters), size)
    shift = rng.normal(0, 0.15, clusters)[labels]
    values = rng.random((labels.size, len(rates))) < np.clip(np.array(rates) + shift[:, None], 0, 1)
    return values.astype(float), labels


def test_the_true_ranks_lie_in_all_ranges_together() -> None:
    import numpy as np

    rates = [0.62, 0.58, 0.5, 0.5, 0.4]
    true = [(1, 1), (2, 2), (3, 4), (3, 4), (5, 5)]
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(60):
        ranking = rank_means(*draw(rng, rates, 60, 5), seed=1, resamples=400)
        held += all(
            low <= best and worst <= high
            for (low, high), (best, worst) in zip(ranking.ranks, true, strict=True)
        )
    assert held >= 54  # 57 are meant


def test_a_clear_winner_is_told_apart_and_equals_are_not() -> None:
    import numpy as np

    values, labels = draw(np.random.default_rng(1), [0.9, 0.5, 0.5, 0.1], 100, 3)
    ranking = rank_means(values, labels)
    assert ranking.ranks[0] == (1, 1)
    assert ranking.ranks[1] == ranking.ranks[2] == (2, 3)
    assert ranking.ranks[3] == (4, 4)
    assert sorted(map(sorted, ranking.groups)) == [[0], [1, 2], [3]]
    assert ranking.best[0] == 1.0


def test_the_same_answers_share_a_rank() -> None:
    import numpy as np

    values, labels = draw(np.random.default_rng(2), [0.5, 0.7], 50, 2)
    ranking = rank_means(np.column_stack((values, values[:, 1])), labels)
    assert ranking.ranks[1] == ranking.ranks[2]
    assert not ranking.is_better(1, 2)


def test_the_same_score_is_the_same_place() -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    strong, weak = (rng.random(200) < 0.8).astype(float), (rng.random(200) < 0.3).astype(float)
    ranking = rank_means(np.column_stack([weak, strong, strong, strong[::-1]]), np.arange(200))
    assert [ranking.find_place(index) for index in range(4)] == [(4, False), (1, True), (1, True), (1, True)]


def test_always_right_is_told_apart_from_always_wrong() -> None:
    import numpy as np

    ranking = rank_means(np.column_stack([np.zeros(40), np.ones(40)]), np.arange(40))
    assert ranking.ranks == ((2, 2), (1, 1))
    assert ranking.is_better(1, 0)


def test_pairing_tells_apart_what_means_alone_would_not() -> None:
    import numpy as np

    rng = np.random.default_rng(3)
    base = (rng.random(400) < 0.5).astype(float)
    better = base.copy()
    better[np.flatnonzero(base == 0)[:25]] = 1.0
    ranking = rank_means(np.column_stack((base, better)), np.arange(400))
    assert ranking.ranks == ((2, 2), (1, 1))
    apart = rank_means(np.column_stack((base, rng.permutation(better))), np.arange(400))
    assert apart.ranks == ((1, 2), (1, 2))


def test_resamples_vary_as_the_formula_says() -> None:
    import numpy as np

    rng = np.random.default_rng(4)
    sums, sizes = rng.normal(5, 2, (300, 2)), np.full(300, 10.0)
    drawn = resample_jointly(sums, sizes, resamples=4000)
    assert drawn.mean(axis=0) == pytest.approx(sums.sum(axis=0) / 3000, abs=0.001)
    assert drawn.std(axis=0) == pytest.approx(sums.std(axis=0) / 10 / 300**0.5, rel=0.06)


def test_strengths_maximise_the_likelihood() -> None:
    """Against scipy's own optimum of the penalised likelihood."""

    import numpy as np
    import scipy.optimize

    rng = np.random.default_rng(5)
    wins = rng.integers(1, 40, (5, 5)).astype(float)
    np.fill_diagonal(wins, 0)

    def loss(strengths: np.ndarray) -> float:
        gaps = strengths[:, None] - strengths[None, :]
        points = wins + 0.5
        np.fill_diagonal(points, 0)
        return float((points * np.log1p(np.exp(-gaps))).sum()) + float(strengths.mean() ** 2)

    best = scipy.optimize.minimize(loss, np.zeros(5), tol=1e-12).x
    assert fit_bradley_terry(wins) == pytest.approx(best - best.mean(), abs=1e-4)


def test_matches_rank_runs_that_answered_different_samples() -> None:
    import numpy as np

    rng = np.random.default_rng(6)
    values, labels = draw(rng, [0.8, 0.5, 0.3], 200, 2)
    values[:200, 0] = np.nan  # the first and the last met the middle one only
    values[200:, 2] = np.nan
    wins = count_wins(values, labels)
    total = wins.sum(axis=0)
    assert total[0, 2] == total[2, 0] == 0
    assert total[0, 1] + total[1, 0] == 200
    ranking = rank_strengths(wins, resamples=200)
    assert ranking.order == (0, 1, 2)
    assert ranking.ranks == ((1, 1), (2, 2), (3, 3))
    assert find_unconnected(total) is None
    assert find_unconnected(np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])) == (0, 2)


def test_too_few_clusters_are_refused() -> None:
    import numpy as np

    with pytest.raises(ValueError, match="9 clusters are too few"):
        rank_means(np.zeros((9, 2)), np.arange(9))
