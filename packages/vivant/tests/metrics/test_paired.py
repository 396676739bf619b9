"""Paired and clustered differences against scipy and statsmodels, and their coverage in simulation."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vivant.metrics.distributions import chi_square_p_value, normal_p_value
from vivant.metrics.intervals import mean_interval, wilson
from vivant.metrics.paired import (
    anytime_difference,
    group_difference,
    holm,
    holm_within,
    paired_difference,
    power_factor,
    sign_flip_test,
)


def table(both: int, gained: int, lost: int, neither: int) -> tuple[list[float], list[float]]:
    first = [1.0] * both + [0.0] * gained + [1.0] * lost + [0.0] * neither
    second = [1.0] * both + [1.0] * gained + [0.0] * lost + [0.0] * neither
    return first, second


@pytest.mark.parametrize("cells", [(40, 12, 5, 43), (0, 1, 0, 9), (10, 8, 8, 10), (900, 60, 95, 300)])
def test_mcnemar_is_that_of_statsmodels(cells: tuple[int, int, int, int]) -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    both, gained, lost, neither = cells
    found = paired_difference(*table(*cells))
    expected = mcnemar([[both, lost], [gained, neither]], exact=True).pvalue
    assert found.p == pytest.approx(expected, rel=1e-9)
    assert found.test == "McNemar, exact"
    assert found.value == pytest.approx((gained - lost) / sum(cells))


def test_very_many_changes_use_the_chi_square() -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    found = paired_difference(*table(1000, 4100, 4300, 1000))
    expected = mcnemar([[1000, 4300], [4100, 1000]], exact=False, correction=False).pvalue
    assert found.p == pytest.approx(expected, rel=1e-9)
    assert found.test == "McNemar, χ²"


def test_the_interval_adds_half_a_pair_to_each_cell() -> None:
    # Agresti and Min (2005), by hand: n 100, 12 gained, 5 lost.
    found = paired_difference(*table(40, 12, 5, 43)).interval
    assert found is not None
    centre = (12 - 5) / 102
    half = 1.959964 * math.sqrt((12.5 + 5.5) - (12 - 5) ** 2 / 102) / 102
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half), abs=1e-6)
    assert found.method == "Agresti–Min"


def test_no_change_is_no_certainty() -> None:
    found = paired_difference([1.0] * 30 + [0.0] * 20, [1.0] * 30 + [0.0] * 20)
    assert found.p == 1
    assert found.interval is not None
    assert found.interval.low < -0.03
    assert found.interval.high > 0.03
    assert found.smallest is not None
    assert found.smallest > 0.04
    # On a scale there is nothing to go by: no interval rather than one of width zero.
    still = paired_difference([0.25] * 9, [0.25] * 9)
    assert (still.interval, still.smallest, still.p) == (None, None, 1)


def test_clustered_differences_are_those_of_statsmodels() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(30), rng.integers(1, 9, 30))
    first = rng.normal(size=labels.size) + rng.normal(size=30)[labels]
    second = first + 0.2 + rng.normal(size=30)[labels] * 0.5 + rng.normal(size=labels.size)
    fitted = sm.OLS(second - first, np.ones(labels.size)).fit(
        cov_type="cluster", cov_kwds={"groups": labels}, use_t=True
    )
    found = paired_difference(first.tolist(), second.tolist(), labels.tolist())
    assert found.error == pytest.approx(float(fitted.bse[0]), rel=1e-9)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(
        tuple(fitted.conf_int()[0]), rel=1e-7, abs=1e-9
    )
    assert found.interval.method == "clustered t"
    # The same for a plain mean.
    plain = mean_interval(first.tolist(), labels.tolist())
    fitted = sm.OLS(first, np.ones(labels.size)).fit(
        cov_type="cluster", cov_kwds={"groups": labels}, use_t=True
    )
    assert plain is not None
    assert (plain.low, plain.high) == pytest.approx(tuple(fitted.conf_int()[0]), rel=1e-7, abs=1e-9)


def test_groups_that_share_clusters_are_those_of_statsmodels() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(6)
    labels = np.repeat(np.arange(25), 6)
    side = rng.integers(2, size=labels.size)
    values = rng.normal(size=labels.size) + rng.normal(size=25)[labels] + 0.3 * side
    fitted = sm.OLS(values, np.column_stack((np.ones(labels.size), side))).fit(
        cov_type="cluster", cov_kwds={"groups": labels}, use_t=True
    )
    found = group_difference(
        values[side == 0].tolist(),
        values[side == 1].tolist(),
        labels[side == 0].tolist(),
        labels[side == 1].tolist(),
    )
    # Regression spends a second degree of freedom in its correction for small samples.
    correction = math.sqrt((labels.size - 1) / (labels.size - 2))
    assert found.value == pytest.approx(float(fitted.params[1]))
    assert found.error is not None
    assert found.error * correction == pytest.approx(float(fitted.bse[1]), rel=1e-9)
    assert found.p == pytest.approx(float(fitted.pvalues[1]), rel=0.05)


def test_groups_without_spread_still_have_an_interval() -> None:
    found = group_difference([1.0] * 10, [1.0] * 12, list("abcdefghij"), list("abcdefghijkl"), binary=True)
    assert found.p is None
    assert found.interval is not None
    assert found.interval.method == "Newcombe"
    assert found.interval.low < 0 < found.interval.high
    with pytest.raises(ValueError, match="at least one"):
        group_difference([], [1.0], [], ["a"])


@pytest.mark.parametrize("size", [3, 7, 11])
def test_signs_are_flipped_as_scipy_does(size: int) -> None:
    from scipy import stats as scipy_stats

    totals = np.random.default_rng(size).normal(0.4, 1, size)
    expected = scipy_stats.permutation_test(
        (totals,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=True, axis=0
    )
    p, how = sign_flip_test(totals)
    assert p == pytest.approx(expected.pvalue, rel=1e-9)
    assert how == "exact permutation"


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9), st.sampled_from([1, 2, 3]))
def test_whole_totals_are_counted_out(totals: list[int], unit: int) -> None:
    scaled = np.array(totals, float) / unit
    sums = [
        abs(sum(s * t for s, t in zip(signs, totals, strict=True)))
        for signs in product((1, -1), repeat=len(totals))
    ]
    expected = sum(value >= abs(sum(totals)) for value in sums) / len(sums)
    assert sign_flip_test(scaled)[0] == pytest.approx(expected)


def test_many_uneven_totals_are_drawn() -> None:
    from scipy import stats as scipy_stats

    totals = np.random.default_rng(8).normal(0.15, 1, 80)
    p, how = sign_flip_test(totals)
    assert how == "permutation, 9,999 draws"
    assert p is not None
    assert p == pytest.approx(normal_p_value(totals.sum() / math.sqrt(np.square(totals).sum())), abs=0.02)
    assert sign_flip_test(totals) == (p, how)
    many = np.random.default_rng(9).normal(0.05, 1, 3000)
    p, how = sign_flip_test(many)
    assert how == "permutation, normal"
    assert p == pytest.approx(float(scipy_stats.ttest_1samp(many, 0).pvalue), abs=0.003)
    assert sign_flip_test(np.zeros(0)) == (None, "")


def test_tests_of_another_family_change_nothing() -> None:
    assert holm_within([0.004, 0.03, 0.5, None, 0.2], ["a", "b", "b", "b", "b"]) == pytest.approx(
        [0.004, 0.09, 0.5, None, 0.4]
    )


@settings(max_examples=30)
@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=12))
def test_holm_is_that_of_statsmodels(values: list[float | None]) -> None:
    from statsmodels.stats.multitest import multipletests

    known = [value for value in values if value is not None]
    found = holm(values)
    assert [value is None for value in found] == [value is None for value in values]
    if known:
        expected = multipletests(known, method="holm")[1]
        assert [value for value in found if value is not None] == pytest.approx(list(expected))


def test_the_detectable_difference_has_the_power_it_states() -> None:
    from statsmodels.stats.power import TTestPower

    rng = np.random.default_rng(9)
    changes = rng.normal(size=120)
    found = paired_difference([0.0] * 120, changes.tolist())
    assert found.smallest is not None
    effect = TTestPower().solve_power(nobs=120, alpha=0.05, power=0.8, alternative="two-sided")
    assert found.smallest == pytest.approx(float(np.asarray(effect).item()) * changes.std(ddof=1), rel=0.01)
    assert power_factor(1) == pytest.approx(1)
    # 2.8016 at 5 %, 3.6486 at 0.5 %: z of 0.9975 is 2.8070, of 0.8 it is 0.8416.
    assert power_factor(10) == pytest.approx((2.8070 + 0.8416) / (1.9600 + 0.8416), rel=1e-4)


@pytest.mark.parametrize(
    ("value", "df"), [(0.0, 1), (0.5, 1), (3.84, 1), (7.8, 3), (2.0, 11), (60.0, 4), (500.0, 40)]
)
def test_chi_square_is_scipys(value: float, df: int) -> None:
    from scipy import stats as scipy_stats

    assert chi_square_p_value(value, df) == pytest.approx(scipy_stats.chi2.sf(value, df), rel=1e-9)


def test_wilson_is_that_of_statsmodels() -> None:
    from statsmodels.stats.proportion import proportion_confint

    for right, total in ((0, 7), (3, 40), (86, 86), (431, 860)):
        found = wilson(right, total)
        assert (found.low, found.high) == pytest.approx(
            proportion_confint(right, total, method="wilson"), abs=1e-12
        )


@pytest.mark.parametrize(
    ("clusters", "size", "shares", "likeness"),
    [(86, (10, 10), (0.5, 0.5), 0.3), (40, (1, 10), (0.9, 0.95), 0.2), (60, (1, 1), (0.3, 0.4), 0.01)],
)
def test_coverage_of_paired_differences(
    clusters: int, size: tuple[int, int], shares: tuple[float, float], likeness: float
) -> None:
    """A 95 % interval holds the truth about 95 times in 100, and ignoring clusters would not."""
    rng = np.random.default_rng([clusters, size[1]])
    weight = (1 - likeness) / likeness
    covered = rejected = naive = 0
    rounds = 300
    for _ in range(rounds):
        labels = np.repeat(np.arange(clusters), rng.integers(size[0], size[1] + 1, clusters))
        drawn = [
            (rng.random(labels.size) < rng.beta(p * weight, (1 - p) * weight, clusters)[labels]).astype(float)
            for p in shares
        ]
        truth = shares[1] - shares[0]
        found = paired_difference(drawn[0].tolist(), drawn[1].tolist(), labels.tolist())
        alone = paired_difference(drawn[0].tolist(), drawn[1].tolist())
        assert found.interval is not None
        assert alone.interval is not None
        assert found.p is not None
        covered += found.interval.low <= truth <= found.interval.high
        naive += alone.interval.low <= truth <= alone.interval.high
        rejected += found.p < 0.05
    assert 0.92 <= covered / rounds <= 0.985
    if size[1] > 1:
        assert covered > naive
    if shares[0] == shares[1]:
        assert rejected / rounds < 0.08


def test_bad_pairs() -> None:
    with pytest.raises(ValueError, match="1 and 2"):
        paired_difference([1.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="2 pairs but 1"):
        paired_difference([1.0, 0.0], [1.0, 0.0], ["x"])


def _simulate_pairs(
    seed: int, better: float, units: int = 100, size: int = 3
) -> tuple[list[float], list[float]]:
    """Two models on units of alike samples; the second is right more often by `better`."""
    chance = np.random.default_rng(seed)
    hardness = np.repeat(chance.beta(2, 2, units), size)
    first = (chance.random(units * size) < hardness).astype(float)
    second = (chance.random(units * size) < np.minimum(1, hardness + better)).astype(float)
    return first.tolist(), second.tolist()


def test_a_test_that_looks_after_every_unit_errs_no_more_often_than_it_says() -> None:
    """The p value is the smallest of all moments, which is what somebody sees who stops when it pleases."""
    places = [number // 3 for number in range(300)]
    false_alarms = sum(
        (anytime_difference(*_simulate_pairs(seed, 0.0), places, count=100, largest=3).p or 1.0) <= 0.05
        for seed in range(60)
    )
    assert false_alarms <= 6  # 3 are expected at most; 7 and more in 3 of 100 such simulations


def test_a_difference_that_is_there_is_found_and_interval_and_test_agree() -> None:
    places = [number // 3 for number in range(300)]
    for seed in range(8):
        first, second = _simulate_pairs(seed, 0.3)
        found = anytime_difference(first, second, places, count=100, largest=3)
        usual = paired_difference(first, second, places)
        assert found.interval is not None and usual.interval is not None
        assert found.value == pytest.approx(usual.value)
        assert found.p is not None and (found.p <= 0.05) == (found.interval.low > 0)
        assert found.interval.high - found.interval.low > usual.interval.high - usual.interval.low
    assert found.p is not None and found.p < 0.001
