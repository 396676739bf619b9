"""Intervals: known values, behaviour at the edges, and coverage in simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivant.metrics.distributions import normal_quantile, t_quantile
from vivant.metrics.intervals import mean_interval, wilson


@pytest.mark.parametrize("df", [1, 2, 3, 7, 30, 85, 1000, 100_000])
def test_t_quantile_is_scipys(df: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    for probability in (0.001, 0.025, 0.4, 0.5, 0.6, 0.9, 0.975, 0.995, 0.9999):
        assert t_quantile(probability, df) == pytest.approx(stats.t.ppf(probability, df), rel=1e-8, abs=1e-12)


def test_quantiles_from_tables() -> None:
    assert normal_quantile(0.975) == pytest.approx(1.959964, abs=1e-6)
    assert t_quantile(0.975, 1) == pytest.approx(12.706205, abs=1e-6)
    assert t_quantile(0.975, 10) == pytest.approx(2.228139, abs=1e-6)
    with pytest.raises(ValueError, match="degrees"):
        t_quantile(0.975, 0)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Newcombe (1998), table I.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson(successes: int, trials: int, low: float, high: float) -> None:
    found = wilson(successes, trials)
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)
    values = [1.0] * successes + [0.0] * (trials - successes)
    assert mean_interval(values) == found
    assert mean_interval(values, range(trials)) == found


def test_t_interval_of_plain_values() -> None:
    # Mean 3, standard deviation 1.5811, t(4) 2.7764.
    found = mean_interval([1, 2, 3, 4, 5])
    assert found is not None
    assert (found.low, found.high) == pytest.approx((1.03676, 4.96324), abs=1e-5)
    assert found.method == "t"


def test_cluster_variance_by_hand() -> None:
    # Mean 0.5; residual sums of the three clusters 0.4, -0.2, -0.2 (values 0.5 ± …); V = 3/2 * 0.24 / 36.
    values = [0.7, 0.7, 0.5, 0.3, 0.4, 0.4]
    found = mean_interval(values, ["a", "a", "b", "b", "c", "c"])
    assert found is not None
    half = 4.302653 * math.sqrt(1.5 * 0.24 / 36)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-6)
    assert found.method == "clustered t"


def test_identical_members_are_worth_one() -> None:
    """Ten copies of each of 40 answers tell no more than the 40."""
    answers = [1.0] * 12 + [0.0] * 28
    copies = mean_interval([a for a in answers for _ in range(10)], [i for i in range(40) for _ in range(10)])
    single = mean_interval(answers)
    assert copies is not None
    assert single is not None
    assert copies.high - copies.low > 0.97 * (single.high - single.low)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_unanimous_answers_leave_room_for_doubt(value: float) -> None:
    found = mean_interval([value] * 60, [i // 3 for i in range(60)])
    assert found is not None
    bound = t_quantile(0.975, 19) ** 2
    width = bound / (20 + bound)
    expected = (0.0, width) if value == 0 else (1 - width, 1.0)
    assert (found.low, found.high) == pytest.approx(expected)


def test_even_clusters_gain_nothing() -> None:
    """Each cluster half right: no spread between clusters, yet no more certainty than independent samples."""
    values, clusters = [0.0, 1.0] * 10, [i // 2 for i in range(20)]
    found, plain = mean_interval(values, clusters), mean_interval(values)
    assert found is not None
    assert plain is not None
    assert found.high - found.low >= plain.high - plain.low


def test_too_little_to_tell() -> None:
    assert mean_interval([]) is None
    assert mean_interval([0.3]) is None
    assert mean_interval([0, 1, 1], ["x"] * 3) is None
    assert mean_interval([0.2, 0.4], ["x"] * 2) is None
    assert mean_interval([0, 1, 1], ["x"] * 3, method="bootstrap") is None
    assert mean_interval([1.0]) is not None  # one trial: Wilson says nearly nothing, but something
    with pytest.raises(ValueError, match="3 values but 2"):
        mean_interval([1, 2, 3], ["x", "y"])


def test_a_scale_is_not_taken_for_right_and_wrong() -> None:
    zeros = [0.0] * 10
    assert mean_interval(zeros, binary=False).method == "t"  # type: ignore[union-attr]
    assert mean_interval(zeros).method == "Wilson"  # type: ignore[union-attr]


def test_bootstrap_agrees_with_the_formula_and_with_itself() -> None:
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(80), 6)
    values = rng.normal(size=80)[clusters] + rng.normal(size=480)
    formula = mean_interval(values.tolist(), clusters.tolist())
    first, second = (
        mean_interval(values.tolist(), clusters.tolist(), method="bootstrap", seed=4) for _ in range(2)
    )
    assert first == second
    assert formula is not None
    assert first is not None
    assert (first.low, first.high) == pytest.approx((formula.low, formula.high), abs=0.05)
    assert first.method == "cluster bootstrap, t-corrected"


def test_scaled() -> None:
    found = wilson(1, 2).scale(100)
    assert (found.low, found.high) == pytest.approx((9.4531, 90.5469), abs=1e-4)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=1, max_size=40))
def test_intervals_hold_the_mean_and_stay_in_range(pairs: list[tuple[int, int]]) -> None:
    values = [float(value) for _, value in pairs]
    found = mean_interval(values, [cluster for cluster, _ in pairs])
    if found is not None:
        assert 0 <= found.low <= sum(values) / len(values) <= found.high <= 1


@pytest.mark.parametrize(
    ("clusters", "share", "likeness"), [(86, 0.5, 0.4), (86, 0.05, 0.2), (20, 0.3, 0.3), (40, 0.9, 0.1)]
)
def test_coverage_of_clustered_proportions(clusters: int, share: float, likeness: float) -> None:
    rng = np.random.default_rng([clusters, int(share * 100)])
    weight = (1 - likeness) / likeness
    covered = naive = 0
    for _ in range(400):
        chances = rng.beta(share * weight, (1 - share) * weight, clusters)
        labels = np.repeat(np.arange(clusters), rng.integers(1, 20, clusters))
        values = (rng.random(labels.size) < chances[labels]).astype(float).tolist()
        found, ignoring = mean_interval(values, labels.tolist()), mean_interval(values)
        assert found is not None
        assert ignoring is not None
        covered += found.low <= share <= found.high
        naive += ignoring.low <= share <= ignoring.high
    assert covered >= 0.91 * 400
    assert covered > naive
