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

from vivant.scoring.distributions import normal_quantile, t_quantile

Method = Literal["auto", "bootstrap"]
_RESAMPLES = 2000


class Interval(Struct, frozen=True):
    """Both ends, and how they were found."""

    low: float
    high: float
    method: str

    def scaled(self, factor: float) -> Interval:
        """The same interval in another unit (percent)."""
        return Interval(self.low * factor, self.high * factor, self.method)


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
    values at hand cannot (all of them 0 on a scale to 6). `bootstrap` resamples clusters instead.
    """
    if clusters is not None and len(clusters) != len(values):
        raise ValueError(f"{len(values)} values but {len(clusters)} clusters")
    data = np.asarray(values, np.float64)
    if not data.size:
        return None
    labels = _numbered(clusters) if clusters is not None else np.arange(data.size)
    groups = int(labels.max()) + 1
    if method == "bootstrap":
        return _bootstrap(data, labels, groups, level, seed)
    if binary is None:
        binary = bool(np.isin(data, (0.0, 1.0)).all())
    if groups == data.size:
        return wilson(float(data.sum()), data.size, level) if binary else _student(data, level)
    if groups < 2:
        return None
    mean = float(data.mean())
    variance = _cluster_variance(data, labels, groups, mean)
    quantile = t_quantile((1 + level) / 2, groups - 1)
    if binary:
        low, high = _score_ends(mean, _effective_size(mean, variance, data.size, groups), quantile)
        return Interval(low, high, "clustered Wilson")
    half = quantile * math.sqrt(variance)
    return Interval(mean - half, mean + half, "clustered t")


def wilson(successes: float, trials: int, level: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion of independent trials."""
    low, high = _score_ends(successes / trials, trials, normal_quantile((1 + level) / 2))
    return Interval(low, high, "Wilson")


def _score_ends(share: float, size: float, quantile: float) -> tuple[float, float]:
    square = quantile * quantile / size
    centre = (share + square / 2) / (1 + square)
    half = quantile / (1 + square) * math.sqrt(share * (1 - share) / size + square / (4 * size))
    # The ends are exact at 0 and 1; rounding must not put them beside.
    low = 0.0 if share == 0 else max(0.0, centre - half)
    high = 1.0 if share == 1 else min(1.0, centre + half)
    return low, high


def _student(data: NDArray[np.float64], level: float) -> Interval | None:
    if data.size < 2:
        return None
    half = t_quantile((1 + level) / 2, data.size - 1) * float(data.std(ddof=1)) / math.sqrt(data.size)
    mean = float(data.mean())
    return Interval(mean - half, mean + half, "t")


def _cluster_variance(data: NDArray[np.float64], labels: NDArray[np.intp], groups: int, mean: float) -> float:
    """Variance of the mean, seen as a ratio of cluster totals, from the clusters' summed residuals."""
    residuals = np.bincount(labels, weights=data - mean, minlength=groups)
    return float(groups / (groups - 1) * np.square(residuals).sum() / data.size**2)


def _effective_size(share: float, variance: float, size: int, groups: int) -> float:
    """How many independent samples would tell as much as these.

    Where all samples agree they say nothing about how alike the members of a cluster are: then a cluster
    counts as one sample. Clusters more even than chance gain nothing.
    """
    spread = share * (1 - share)
    if spread == 0:
        return groups
    return size if variance * size <= spread else spread / variance


def _bootstrap(
    data: NDArray[np.float64], labels: NDArray[np.intp], groups: int, level: float, seed: int
) -> Interval | None:
    if groups < 2:
        return None
    sums = np.bincount(labels, weights=data, minlength=groups)
    sizes = np.bincount(labels, minlength=groups).astype(np.float64)
    generator = np.random.default_rng(seed)
    means = np.empty(_RESAMPLES)
    step = max(1, 4_000_000 // groups)  # bounds the memory of the draws
    for start in range(0, _RESAMPLES, step):
        draws = generator.integers(groups, size=(min(step, _RESAMPLES - start), groups))
        means[start : start + len(draws)] = sums[draws].sum(axis=1) / sizes[draws].sum(axis=1)
    low, high = np.quantile(means, ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(low), float(high), "cluster bootstrap")


def _numbered(clusters: Sequence[Hashable]) -> NDArray[np.intp]:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], np.intp)
