"""Intervals for a mean whose values are grouped in two ways at once: by what was judged, and by who judged.

Judgements of one video resemble each other, and so do judgements of one person; neither grouping lies inside
the other. The variance counts both, and what they share once (Cameron, Gelbach and Miller 2011).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vivant.metrics.distributions import t_quantile
from vivant.metrics.intervals import Interval, effective_size, score_ends

Labels = NDArray[np.intp]


def two_way_interval(
    values: ArrayLike, first: ArrayLike, second: ArrayLike, *, binary: bool, level: float = 0.95
) -> Interval | None:
    """An interval for the mean; a grouping with a single group drops out, and with neither there is none.

    Student's t with one less degree of freedom than the smaller number of groups: with two or three
    annotators an interval is wide, because two or three people are few.
    """
    data = np.asarray(values, np.float64)
    groupings = [labels for labels in map(number_groups, (first, second)) if labels.size and labels.max() > 0]
    if not data.size or not groupings:
        return None
    mean = float(data.mean())
    variances = [_variance(data - mean, labels) for labels in groupings]
    variance = variances[0]
    if len(groupings) == 2:
        both = number_groups(groupings[0] * (int(groupings[1].max()) + 1) + groupings[1])
        # The difference can fall below zero by chance; the larger of the two is then the careful figure.
        variance = max(sum(variances) - _variance(data - mean, both), *variances)
    groups = min(int(labels.max()) + 1 for labels in groupings)
    quantile = t_quantile((1 + level) / 2, groups - 1)
    way = "two-way" if len(groupings) == 2 else "one-way"
    if binary:
        low, high = score_ends(mean, effective_size(mean, variance, data.size, groups), quantile)
        return Interval(low, high, f"{way} clustered Wilson")
    half = quantile * math.sqrt(variance)
    return Interval(mean - half, mean + half, f"{way} clustered t")


def number_groups(labels: ArrayLike) -> Labels:
    """Groups numbered from 0, in sorted order."""
    return np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.intp).reshape(-1)


def _variance(residuals: NDArray[np.float64], labels: Labels) -> float:
    sums = np.bincount(labels, weights=residuals)
    groups = sums.size
    return float(groups / (groups - 1) * np.square(sums).sum() / residuals.size**2)
