"""Choose a few items that stand for all: one of each stretch of a list that is sorted by cluster and difficulty.

Where at least half as many are chosen as there are clusters, the list runs through the clusters from easy to hard, and
through the items of each up and down in turn; else it is sorted by difficulty alone. So neighbours are alike. One item
of each stretch is drawn at random; of several such draws the one stays whose means come nearest to those of the past
models on all items (balanced sampling). Chance chooses within a stretch, so that no kind of item is preferred.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.metrics.intervals import Interval
from vivant.metrics.item_response import estimate_ability, predict

Matrix = NDArray[np.float64]
Labels = NDArray[np.intp]
_DRAWS = 20


class SubsetEstimate(Struct, frozen=True):
    """What the answers to a subset say of all items."""

    value: float
    naive: float
    """The plain mean of the answers."""
    error: float
    interval: Interval


def choose_anchors(
    difficulties: Matrix,
    past: Matrix,
    labels: Labels,
    size: int,
    seed: Sequence[int] = (0,),
    *,
    by_cluster: bool | None = None,
) -> Labels:
    """The indices of the chosen items.

    Args:
        difficulties: Of all items.
        past: What past models scored: a row per item, a column per model; NaN for gaps.
        labels: The cluster of each item, numbered from 0.
        size: How many to choose.
        seed: Of the draws: one number or several.
        by_cluster: Whether the list runs through the clusters; None where the number chosen decides it.
    """
    count = difficulties.size
    if not 0 < size <= count:
        raise ValueError(f"Cannot choose {size} of {count} items")
    clusters = int(labels.max()) + 1
    by_cluster = 2 * size >= clusters if by_cluster is None else by_cluster
    totals = np.bincount(labels, weights=difficulties, minlength=clusters)
    cluster_means = totals / np.maximum(np.bincount(labels, minlength=clusters), 1)
    means = np.nanmean(past, axis=0)
    ends = np.linspace(0, count, size + 1).round().astype(np.intp)
    best: tuple[float, Labels] | None = None
    for draw in range(_DRAWS):
        rng = np.random.default_rng([*seed, draw])
        ranks = np.empty(clusters)
        ranks[np.lexsort((rng.random(clusters), cluster_means))] = np.arange(clusters)
        turn = np.where(ranks[labels] % 2 == 0, 1.0, -1.0)
        keys = (difficulties * turn, ranks[labels]) if by_cluster else (difficulties,)
        order = np.lexsort((rng.random(count), *keys))
        chosen = order[ends[:-1] + (rng.random(size) * np.diff(ends)).astype(np.intp)]
        gaps = _mean_columns(past[chosen]) - means
        loss = float(np.square(gaps).mean())
        if best is None or loss < best[0]:
            best = loss, np.sort(chosen)
    assert best is not None
    return best[1]


def _mean_columns(values: Matrix) -> Matrix:
    """Means without gaps; 0 where there are only gaps."""
    known = ~np.isnan(values)
    result: Matrix = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return result


def estimate_from_subset(
    difficulties: Matrix, everything: Matrix, values: Matrix, *, measured: float = 0.0
) -> SubsetEstimate:
    """The score on all items, from answers to some of them.

    Args:
        difficulties: Of the items that were answered.
        everything: The difficulties of all items.
        values: The answers' values, between 0 and 1.
        measured: The error on models that were left out (root mean square). The larger of it and the sampling error
            makes the interval.
    """
    if not values.size:
        raise ValueError("There is no answer to estimate from")
    ability = estimate_ability(difficulties, values)
    value = float(predict(everything, ability).mean())
    residuals = values - predict(difficulties, ability)
    rest = max(0.0, 1 - values.size / everything.size)
    # One answer more and one less: a few answers that are all right are no certainty.
    spread = (float(np.square(residuals).sum()) + 0.5) / (values.size + 1)
    error = max(math.sqrt(spread * rest / values.size), measured)
    half = 1.96 * error
    interval = Interval(max(0.0, value - half), min(1.0, value + half), "subset (Rasch, anchor items)")
    return SubsetEstimate(value, float(values.mean()), error, interval)
