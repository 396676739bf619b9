"""Intervals around a mean whose samples may come in clusters (one action, one video).

Samples of a cluster resemble each other, so ten videos of one action are not ten independent trials. Each
interval here counts clusters, not samples, wherever a cluster holds more than one.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.metrics.bootstrap import FEWEST, bootstrap_ends, cluster_totals, resample_means
from vivant.metrics.distributions import normal_quantile, t_quantile

Method = Literal["auto", "bootstrap"]
Values = NDArray[np.float64]
Labels = NDArray[np.intp]


class Interval(Struct, frozen=True):
    """Both ends, and how they were found."""

    low: float
    high: float
    method: str

    def scale(self, factor: float) -> Interval:
        """The same interval in another unit (percent)."""
        return Interval(self.low * factor, self.high * factor, self.method)


class ClusteredValues(Struct, frozen=True, eq=False):
    """Values that belong together, and the cluster of each."""

    values: Sequence[float]
    clusters: Sequence[Hashable] | None = None


def mean_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    level: float = 0.95,
    binary: bool | None = None,
    method: Method = "auto",
    seed: int = 0,
) -> Interval | None:
    """An interval for the mean of `values`; None where there is too little to tell.

    Right or wrong (0 or 1): Wilson's interval, with the effective sample size and Student's t where samples
    come in clusters. Other values: Student's t on samples or on clusters. `binary` says which, where the
    values at hand cannot (all of them 0 on a scale to 6). `bootstrap` resamples clusters instead, where there are
    ten or more.
    """
    group = ClusteredValues(values, clusters)
    return mean_intervals([group], level=level, binary=binary, method=method, seed=seed)[0]


def mean_intervals(
    groups: Sequence[ClusteredValues],
    *,
    level: float = 0.95,
    binary: bool | None = None,
    method: Method = "auto",
    seed: int = 0,
) -> list[Interval | None]:
    """`mean_interval` of many groups: resampling them together is much quicker than one by one."""
    prepared = [_prepare(group) for group in groups]
    if method == "bootstrap":
        return _bootstrap(prepared, level, binary, seed)
    return [_compute_interval(data, labels, level, binary) for data, labels in prepared]


def _prepare(group: ClusteredValues) -> tuple[Values, Labels]:
    values, clusters = group.values, group.clusters
    if clusters is not None and len(clusters) != len(values):
        raise ValueError(f"{len(values)} values but {len(clusters)} clusters")
    data = np.asarray(values, np.float64)
    return data, encode_labels(clusters) if clusters is not None else np.arange(data.size)


def _compute_interval(data: Values, labels: Labels, level: float, binary: bool | None) -> Interval | None:
    if not data.size:
        return None
    groups = int(labels.max()) + 1
    if binary is None:
        binary = bool(np.isin(data, (0.0, 1.0)).all())
    if groups == data.size:
        return wilson(float(data.sum()), data.size, level) if binary else _student(data, level)
    if groups < 2:
        return None
    mean = float(data.mean())
    variance = cluster_variance(data, labels, mean)
    quantile = t_quantile((1 + level) / 2, groups - 1)
    if binary:
        low, high = score_ends(mean, effective_size(mean, variance, data.size, groups), quantile)
        return Interval(low, high, "clustered Wilson")
    half = quantile * math.sqrt(variance)
    return Interval(mean - half, mean + half, "clustered t")


def wilson(successes: float, trials: int, level: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion of independent trials."""
    low, high = score_ends(successes / trials, trials, normal_quantile((1 + level) / 2))
    return Interval(low, high, "Wilson")


def score_ends(share: float, size: float, quantile: float) -> tuple[float, float]:
    square = quantile * quantile / size
    centre = (share + square / 2) / (1 + square)
    half = quantile / (1 + square) * math.sqrt(share * (1 - share) / size + square / (4 * size))
    # The ends are exact at 0 and 1; rounding must not put them beside.
    low = 0.0 if share == 0 else max(0.0, centre - half)
    high = 1.0 if share == 1 else min(1.0, centre + half)
    return low, high


def _student(data: Values, level: float) -> Interval | None:
    if data.size < 2:
        return None
    half = t_quantile((1 + level) / 2, data.size - 1) * float(data.std(ddof=1)) / math.sqrt(data.size)
    mean = float(data.mean())
    return Interval(mean - half, mean + half, "t")


def cluster_variance(data: Values, labels: Labels, mean: float) -> float:
    """Variance of the mean, seen as a ratio of cluster totals, from the clusters' summed residuals."""
    residuals = np.bincount(labels, weights=data - mean)
    groups = residuals.size
    return float(groups / (groups - 1) * np.square(residuals).sum() / data.size**2)


def effective_size(share: float, variance: float, size: int, groups: int) -> float:
    """How many independent samples would tell as much as these.

    Where all samples agree they say nothing about how alike the members of a cluster are: then a cluster
    counts as one sample. Clusters more even than chance gain nothing.
    """
    spread = share * (1 - share)
    if spread == 0:
        return groups
    return size if variance * size <= spread else spread / variance


def _bootstrap(
    prepared: Sequence[tuple[Values, Labels]], level: float, binary: bool | None, seed: int
) -> list[Interval | None]:
    """Resampled intervals, and the formula's where there is too little to resample.

    Where fewer than ten clusters hold any of the rarer answers (right or wrong), each end is the farther of the
    bootstrap's and the formula's: these few decide what is drawn, and resamples alone would claim too much.
    """
    totals = [cluster_totals(data, labels) for data, labels in prepared]
    resampled = resample_means(totals, seed=seed)
    intervals: list[Interval | None] = []
    for (data, labels), group, means in zip(prepared, totals, resampled, strict=True):
        formula = _compute_interval(data, labels, level, binary)
        reason = "" if data.size and (data != data[0]).any() else "nothing to resample"
        if means is not None and group.sums.size < FEWEST:
            reason = f"under {FEWEST} clusters: not resampled"
        if means is None:
            intervals.append(None)
        elif reason:
            # Equal values stay equal however often they are drawn, which is no certainty.
            intervals.append(formula and Interval(formula.low, formula.high, f"{formula.method} ({reason})"))
        else:
            low, high = bootstrap_ends(group, means, level)
            rarer = group.sums if data.mean() < 0.5 else group.sizes - group.sums
            few = np.count_nonzero(rarer) < FEWEST
            if formula is not None and "Wilson" in formula.method and few:
                low, high = min(low, formula.low), max(high, formula.high)
            intervals.append(Interval(low, high, "cluster bootstrap, t-corrected"))
    return intervals


def encode_labels(clusters: Sequence[Hashable]) -> Labels:
    """Clusters numbered from 0, in the order in which they first occur."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], np.intp)
