"""A judge corrected by people: against ppi_py, in small simulations, and where there is nothing to correct with."""

from __future__ import annotations

import numpy as np
import pytest

from vivant.metrics.panel_weights import fit_panel, weigh_panel
from vivant.metrics.prediction_powered import RaterScores, correct_mean


def _draw(
    seed: int, total: int = 600, labelled: int = 120, agreement: float = 0.8
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A judge that is a point too kind, people's scores of a random part, and their scores of everything."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(3, 1, total)
    people = quality + rng.normal(0, 0.3, total)
    judge = 1 + 3 * (1 - agreement) + agreement * quality + rng.normal(0, 1 - agreement + 0.05, total)
    part = np.full(total, np.nan)
    chosen = rng.choice(total, labelled, replace=False)
    part[chosen] = people[chosen]
    return judge, part, people


@pytest.mark.parametrize("weight", [1.0, 0.4, 0.0])
def test_a_fixed_weight_gives_the_figures_of_ppi_py(weight: float) -> None:
    import ppi_py

    judge, part, _ = _draw(1)
    known = np.isfinite(part)
    # ppi_py keeps the two parts apart; here the judge's mean runs over both.
    other = weight * (~known).sum() / known.size
    result = correct_mean(judge, part, weight=weight)
    expected = ppi_py.ppi_mean_pointestimate(part[known], judge[known], judge[~known], lam=other)
    low, high = ppi_py.ppi_mean_ci(part[known], judge[known], judge[~known], alpha=0.05, lam=other)
    assert result.value == pytest.approx(float(expected[0]), abs=1e-12)
    assert result.interval is not None
    assert result.interval.low == pytest.approx(float(low[0]), abs=0.005)
    assert result.interval.high == pytest.approx(float(high[0]), abs=0.005)


def test_the_tuned_weight_comes_near_to_that_of_ppi_py() -> None:
    import ppi_py

    judge, part, _ = _draw(2, total=4000, labelled=800)
    known = np.isfinite(part)
    result = correct_mean(judge, part)
    expected = ppi_py.ppi_mean_pointestimate(part[known], judge[known], judge[~known])
    low, high = ppi_py.ppi_mean_ci(part[known], judge[known], judge[~known], alpha=0.05)
    assert result.interval is not None
    assert result.value == pytest.approx(float(expected[0]), abs=0.003)
    assert result.interval.high - result.interval.low == pytest.approx(float(high[0] - low[0]), rel=0.03)


def test_a_biased_judge_is_corrected_and_the_interval_holds_the_truth() -> None:
    errors, held, ratios, judged = [], 0, [], []
    for seed in range(300):
        judge, part, people = _draw(seed)
        result = correct_mean(judge, part)
        assert result.interval is not None
        assert result.people_interval is not None
        errors.append(result.value - 3)
        judged.append(result.judge - 3)
        held += result.interval.low <= 3 <= result.interval.high
        ratios.append(
            (result.interval.high - result.interval.low)
            / (result.people_interval.high - result.people_interval.low)
        )
        assert people.size == result.total
    assert abs(np.mean(errors)) < 3 * np.std(errors) / len(errors) ** 0.5
    assert np.mean(judged) > 0.9
    assert 0.92 <= held / len(errors) <= 0.98
    assert max(ratios) <= 1.02
    assert np.mean(ratios) < 0.7


def test_clusters_widen_the_interval_as_they_should() -> None:
    rng = np.random.default_rng(3)
    held = {True: 0, False: 0}
    for _ in range(200):
        labels = np.repeat(np.arange(80), 10)
        shared = rng.normal(0, 1, 80)[labels]
        people = 3 + shared + rng.normal(0, 0.5, 800)
        judge = people + rng.normal(0.7, 1, 800)
        part = np.where(np.isin(labels, rng.choice(80, 30, replace=False)), people, np.nan)
        for clustered in held:
            interval = correct_mean(judge, part, labels.tolist() if clustered else None).interval
            assert interval is not None
            held[clustered] += interval.low <= 3 <= interval.high
    assert held[True] >= 182
    assert held[False] < 160  # what a formula that knows of no clusters would claim


def test_unequal_chances_are_weighted_back() -> None:
    rng = np.random.default_rng(4)
    errors, naive = [], []
    for _ in range(200):
        people = rng.normal(3, 1, 800)
        judge = people + rng.normal(1, 1, 800)
        chances = np.where(judge > 4.5, 0.4, 0.08)
        part = np.where(rng.random(800) < chances, people, np.nan)
        errors.append(correct_mean(judge, part, probabilities=chances).value - 3)
        naive.append(np.nanmean(part) - 3)
    assert abs(np.mean(errors)) < 3.5 * np.std(errors) / len(errors) ** 0.5
    assert np.mean(naive) > 0.2


@pytest.mark.parametrize(
    ("judge", "part", "reason"),
    [
        (np.full(100, 5.0), np.r_[np.arange(40) % 7, np.full(60, np.nan)], "same score"),
        (np.arange(100.0), np.r_[np.full(40, 4.0), np.full(60, np.nan)], "people give every item"),
        (np.arange(100.0), np.r_[-np.arange(40.0), np.full(60, np.nan)], "does not agree"),
        (np.arange(100.0), np.r_[np.arange(12.0), np.full(88, np.nan)], "12 clusters"),
        (np.arange(40.0), np.arange(40.0) % 6, "everything"),
    ],
)
def test_without_a_useful_judge_people_stand_alone_and_it_is_said(
    judge: np.ndarray, part: np.ndarray, reason: str
) -> None:
    result = correct_mean(judge, part, binary=False)
    assert reason in result.fallback
    assert result.weight == 0
    assert result.value == pytest.approx(np.nanmean(part))
    assert result.interval == result.people_interval


def test_shares_stay_within_their_ends_and_all_right_is_no_certainty() -> None:
    judge = (np.arange(200) % 3 > 0).astype(float)
    part = np.where(np.arange(200) % 4 == 0, 1.0, np.nan)
    result = correct_mean(judge, part)
    assert result.interval is not None
    assert result.value == 1
    assert result.interval.high == 1
    assert 0.9 < result.interval.low < 0.95


def test_ten_people_or_more_widen_the_interval_by_how_they_differ() -> None:
    rng = np.random.default_rng(5)
    items, persons = np.arange(300), rng.integers(12, size=300)
    quality = rng.normal(3, 0.5, 300)
    single = quality + rng.normal(0, 1, 12)[persons]
    judge = np.r_[quality, rng.normal(3, 0.5, 300)]
    part = np.r_[single, np.full(300, np.nan)]
    without = correct_mean(judge, part).interval
    with_people = correct_mean(judge, part, raters=RaterScores(items, persons, single)).interval
    few = correct_mean(judge, part, raters=RaterScores(items, persons % 5, single)).interval
    assert without is not None
    assert with_people is not None
    assert with_people.high - with_people.low > 2 * (without.high - without.low)
    assert few == without


def test_columns_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="places for people"):
        correct_mean([1, 2], [1])
    with pytest.raises(ValueError, match="People scored none"):
        correct_mean([1, 2], [np.nan, np.nan])
    with pytest.raises(ValueError, match="above 0"):
        correct_mean([1, 2], [1, 2], probabilities=[0, 1])


def test_a_panel_leans_on_the_judge_that_agrees_with_people() -> None:
    rng = np.random.default_rng(6)
    people = rng.normal(3, 1, 200)
    judges = np.c_[people + rng.normal(2, 0.3, 200), rng.normal(3, 1, 200), people + rng.normal(0, 1, 200)]
    weights = fit_panel(judges, people)
    assert weights.sum() == pytest.approx(1)
    assert weights[0] > 0.8
    assert weights[1] < 0.1
    # Four scores by people are too few to drop a judge.
    assert fit_panel(judges[:4], people[:4]).min() > 0.1
    part = np.where(np.arange(200) < 80, people, np.nan)
    panel = weigh_panel(judges, part)
    equal = correct_mean(judges.mean(axis=1), part).interval
    weighted = correct_mean(panel.scores, part).interval
    assert equal is not None
    assert weighted is not None
    assert weighted.high - weighted.low < 0.9 * (equal.high - equal.low)
