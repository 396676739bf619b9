"""Cluster bootstrap of many means at once: 100 groups of 10,000 samples in a fraction of a second.

Percentiles of resamples alone are too narrow with few clusters (20 clusters: 0.83 to 0.94 where 0.95 is meant). So they
are taken further out: at Student's t with G − 1 degrees of freedom in place of the normal quantile, times √(G/(G − 1)),
since resampling sees the spread of G clusters and not that of their source; and shifted by the skewness of the clusters
(the acceleration of the BCa bootstrap). `benchmarks/bootstrap_coverage.py` measures what that holds.

Clusters are drawn with replacement, whole, and the mean of a resample is the ratio of its totals. Two ways
lead to the same distribution, and which one is used depends on the data alone:

1. Clusters with the same total and size are interchangeable. Where there are few kinds (right and wrong
   answers, small clusters), how often each kind is drawn is one multinomial draw: exact, whatever the size.
2. Where there are many kinds, every cluster gets a Poisson weight with mean 1. A resample then holds as many
   clusters as the data only on average, which with G clusters widens an interval by a share of about 1/(2G).
   The weights are drawn once for all groups, so that each group costs one matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.metrics.distributions import normal_cdf, t_quantile

Column = NDArray[np.float64]
RESAMPLES = 2000
FEWEST = 10
"""Clusters below which nothing is resampled: no correction makes up for so little."""
_FEW_KINDS = 64
_STEEPEST = 0.2
"""Skewness beyond this would ask for resamples that nobody draws."""
_BLOCK = 8_000_000
"""Weights held at once, which bounds the memory."""


class ClusterTotals(Struct, frozen=True, eq=False):
    """One group: the total and the size of each of its clusters."""

    sums: Column
    sizes: Column


def cluster_totals(values: Column, labels: NDArray[np.intp]) -> ClusterTotals:
    """A group from its values and the number of the cluster that each belongs to."""
    groups = int(labels.max()) + 1 if labels.size else 0
    if groups == labels.size:
        return ClusterTotals(values, np.ones(groups))
    sums = np.bincount(labels, weights=values, minlength=groups).astype(np.float64)
    return ClusterTotals(sums, np.bincount(labels, minlength=groups).astype(np.float64))


def resample_means(
    groups: Sequence[ClusterTotals], *, seed: int = 0, resamples: int = RESAMPLES
) -> list[Column | None]:
    """The means of `resamples` resamples of each group; None where a group has fewer than two clusters."""
    results: list[Column | None] = [None] * len(groups)
    rest: list[int] = []
    for index, group in enumerate(groups):
        if group.sums.size < 2:
            continue
        kinds, counts = _kinds(group)
        if len(counts) <= _FEW_KINDS:
            # Each group has a generator of its own: its interval does not depend on what else is asked.
            draws = np.random.default_rng(seed).multinomial(
                group.sums.size, counts / counts.sum(), size=resamples
            )
            results[index] = (draws @ kinds[:, 0]) / (draws @ kinds[:, 1])
        else:
            rest.append(index)
    if rest:
        for index, means in zip(rest, _weigh([groups[i] for i in rest], seed, resamples), strict=True):
            results[index] = means
    return results


def bootstrap_ends(group: ClusterTotals, means: Column, level: float = 0.95) -> tuple[float, float]:
    """Both ends of the interval: percentiles of the resamples, corrected for the number and skewness of clusters."""
    size = group.sums.size
    residuals = group.sums - group.sums.sum() / group.sizes.sum() * group.sizes
    spread = float(np.square(residuals).sum())
    skewness = float((residuals**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0
    quantile = math.sqrt(size / (size - 1)) * t_quantile((1 + level) / 2, size - 1)
    below = quantile / max(1 + skewness * quantile, _STEEPEST)
    above = quantile / max(1 - skewness * quantile, _STEEPEST)
    low, high = np.quantile(means, (normal_cdf(-below), normal_cdf(above)))
    return float(low), float(high)


def _kinds(group: ClusterTotals) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The distinct pairs of total and size, and how many clusters have each. Stops where there are many."""
    pairs = group.sums + 1j * group.sizes  # one number a pair sorts ten times as fast as a row of two
    if len(np.unique(pairs[: 4 * _FEW_KINDS])) > _FEW_KINDS:
        return np.column_stack((group.sums, group.sizes)), np.ones(pairs.size, np.intp)
    kinds, counts = np.unique(pairs, return_counts=True)
    return np.column_stack((kinds.real, kinds.imag)), counts


def _poisson_table() -> NDArray[np.float32]:
    """Poisson counts with mean 1 by 16 random bits: right to 1/65,536, and quicker than drawing them."""
    probabilities = [math.exp(-1) / math.factorial(count) for count in range(10)]
    ends = np.round(np.cumsum(probabilities) * (1 << 16))
    return np.searchsorted(ends, np.arange(1 << 16), side="right").astype(np.float32)


def _weigh(groups: Sequence[ClusterTotals], seed: int, resamples: int) -> list[Column]:
    widest = max(group.sums.size for group in groups)
    columns = np.zeros((widest, 2 * len(groups)), np.float32)
    for number, group in enumerate(groups):
        # Centred, so that single precision loses nothing that shows: only deviations are weighted.
        mean = group.sums.sum() / group.sizes.sum()
        columns[: group.sums.size, 2 * number] = group.sums - mean * group.sizes
        columns[: group.sizes.size, 2 * number + 1] = group.sizes
    generator, table = np.random.default_rng(seed), _poisson_table()
    means = np.empty((resamples, len(groups)))
    step = max(1, _BLOCK // widest)
    for start in range(0, resamples, step):
        bits = generator.integers(1 << 16, size=(min(step, resamples - start), widest), dtype=np.uint16)
        weights = table[bits]
        products = (weights @ columns).astype(np.float64)
        means[start : start + len(weights)] = products[:, ::2] / products[:, 1::2]
    middles = [group.sums.sum() / group.sizes.sum() for group in groups]
    return [means[:, number] + middle for number, middle in enumerate(middles)]


def resample_jointly(
    sums: Column, sizes: Column, *, seed: int = 0, resamples: int = RESAMPLES
) -> NDArray[np.float64]:
    """Means of several columns in the same resamples of clusters: a row per resample.

    Args:
        sums: A row per cluster, a column per thing whose mean is taken.
        sizes: The size of each cluster.
        seed: Of the resamples.
        resamples: How many.
    """
    middles = sums.sum(axis=0) / sizes.sum()
    columns = np.column_stack((sums - np.outer(sizes, middles), sizes)).astype(np.float32)
    generator, table = np.random.default_rng(seed), _poisson_table()
    means = np.empty((resamples, sums.shape[1]))
    step = max(1, _BLOCK // sizes.size)
    for start in range(0, resamples, step):
        bits = generator.integers(1 << 16, size=(min(step, resamples - start), sizes.size), dtype=np.uint16)
        products = (table[bits] @ columns).astype(np.float64)
        means[start : start + len(products)] = products[:, :-1] / np.maximum(products[:, -1:], 1e-9)
    result: NDArray[np.float64] = means + middles
    return result
