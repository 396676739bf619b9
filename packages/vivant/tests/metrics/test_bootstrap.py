"""The cluster bootstrap against scipy's, in both of its ways, and its coverage."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vivant.metrics.bootstrap import ClusterTotals, bootstrap_ends, cluster_totals, resample_means
from vivant.metrics.intervals import ClusteredValues, mean_interval, mean_intervals


def ratio(sums: NDArray[np.float64], sizes: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
    found: NDArray[np.float64] = sums.sum(axis=axis) / sizes.sum(axis=axis)
    return found


@pytest.mark.parametrize("kind", ["right or wrong", "on a scale"])
def test_resampling_clusters_is_scipys(kind: str) -> None:
    """Two ways, one distribution: spread and ends agree with 10,000 resamples of scipy's."""

    from scipy import stats as scipy_stats

    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(120), rng.integers(1, 8, 120))
    values = rng.random(labels.size) + rng.normal(size=120)[labels]
    if kind == "right or wrong":
        values = (values > 0.6).astype(float)
    group = cluster_totals(values, labels)
    ours = resample_means([group], resamples=10_000)[0]
    assert ours is not None
    theirs = scipy_stats.bootstrap(
        (group.sums, group.sizes), ratio, paired=True, vectorized=True, n_resamples=10_000,
        method="percentile", rng=np.random.default_rng(4),
    )  # fmt: skip
    spread = float(theirs.standard_error)
    assert float(ours.std(ddof=1)) == pytest.approx(spread, rel=0.04)
    interval = theirs.confidence_interval
    ends = np.quantile(ours, (0.025, 0.975))
    assert ends == pytest.approx((interval.low, interval.high), abs=0.15 * spread)
    low, high = bootstrap_ends(group, ours)
    # With 120 clusters the correction is small, and it widens.
    assert (low, high) == pytest.approx((interval.low, interval.high), abs=0.3 * spread)
    assert high - low > interval.high - interval.low


def test_groups_do_not_touch_each_other() -> None:
    rng = np.random.default_rng(1)
    groups = [ClusteredValues(rng.random(n).tolist()) for n in (90, 500, 90)]
    together = mean_intervals(groups, method="bootstrap")
    small = mean_interval([0.0, 1.0, 1.0, 0.0, 1.0], method="bootstrap")
    assert together[0] != together[2]
    assert (
        mean_intervals([groups[0]], method="bootstrap")[0]
        == mean_intervals([groups[0]], method="bootstrap")[0]
    )
    with_other = mean_intervals([ClusteredValues([0.0, 1.0, 1.0, 0.0, 1.0]), groups[1]], method="bootstrap")
    assert with_other[0] == small


def test_nothing_to_resample() -> None:
    assert resample_means(
        [ClusterTotals(np.ones(1), np.ones(1)), ClusterTotals(np.zeros(0), np.zeros(0))]
    ) == [None, None]
    same = mean_interval([1.0] * 20, [i // 2 for i in range(20)], method="bootstrap")
    assert same is not None
    assert same.low < 0.8
    assert same.method == "clustered Wilson (nothing to resample)"


def test_few_clusters_are_not_resampled() -> None:
    few = mean_interval([0.0, 1.0, 1.0, 0.0, 1.0], method="bootstrap")
    assert few is not None
    assert few.method == "Wilson (under 10 clusters: not resampled)"
    assert mean_interval([0.2] * 4 + [0.4] * 6, method="bootstrap").method == "cluster bootstrap, t-corrected"  # type: ignore[union-attr]


def test_rare_answers_are_never_narrower_than_the_formula() -> None:
    values, clusters = [1.0] * 12 + [0.0] * 188, [i // 10 for i in range(200)]
    resampled = mean_interval(values, clusters, method="bootstrap")
    formula = mean_interval(values, clusters)
    assert resampled is not None
    assert formula is not None
    assert resampled.low <= formula.low
    assert resampled.high >= formula.high


@pytest.mark.full
@pytest.mark.parametrize(("clusters", "correlation"), [(20, 0.0), (20, 0.6), (60, 0.3)])
def test_coverage(clusters: int, correlation: float) -> None:
    """Plain percentiles hold the truth 0.91 to 0.93 of the time with 20 clusters."""
    rng = np.random.default_rng(2)
    rounds = 500
    groups = []
    for _ in range(rounds):
        labels = np.repeat(np.arange(clusters), rng.integers(1, 12, clusters))
        own = rng.normal(size=clusters)[labels] * correlation**0.5
        values = 0.4 + own + rng.normal(size=labels.size) * (1 - correlation) ** 0.5
        groups.append(ClusteredValues(values.tolist(), labels.tolist()))
    found = [interval for interval in mean_intervals(groups, method="bootstrap") if interval is not None]
    covered = sum(interval.low <= 0.4 <= interval.high for interval in found)
    assert 0.93 <= covered / rounds <= 0.975
