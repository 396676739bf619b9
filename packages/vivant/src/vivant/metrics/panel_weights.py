"""How far each judge of a panel should count, from its agreement with people.

The weights are not negative, sum to one, and minimise the variance of people's scores around the weighted panel. They
are drawn towards equal weights, by as much as a handful of items is worth, so that few scores by people cannot let one
judge win by luck. An item's own score never decides on its own weights: they are fitted on the other folds.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from vivant.metrics.intervals import encode_labels

Column = NDArray[np.float64]
_FOLDS = 5
_PRIOR = 10.0
"""Equal weights count as much as so many items."""
_STEPS = 500


class PanelWeights(Struct, frozen=True, eq=False):
    """Weights of judges, and the panel's score of every item."""

    weights: Column
    """Fitted on all items that people scored."""
    scores: Column
    """By weights fitted on other folds than the item's own."""


def fit_panel(judges: ArrayLike, people: ArrayLike) -> Column:
    """Weights for judges (one row an item, one column a judge) that come nearest to people, up to a constant."""
    values, target = np.asarray(judges, np.float64), np.asarray(people, np.float64)
    count = values.shape[1]
    equal = np.full(count, 1 / count)
    if len(values) < 2 or count == 1:
        return equal
    centred, wanted = values - values.mean(axis=0), target - target.mean()
    strength = _PRIOR * float(centred.var(axis=0).mean())
    gram = centred.T @ centred + strength * np.eye(count)
    cross = centred.T @ wanted + strength * equal
    largest = float(np.linalg.eigvalsh(gram)[-1])
    weights = equal
    if largest <= 1e-12:
        return equal
    for _ in range(_STEPS):
        weights = _project(weights - (gram @ weights - cross) / largest)
    return weights


def weigh_panel(
    judges: ArrayLike, people: ArrayLike, clusters: Sequence[Hashable] | None = None
) -> PanelWeights:
    """The panel's score of every item, weighted by agreement with people.

    Args:
        judges: one row an item, one column a judge.
        people: people's score of every item; NaN where nobody scored it.
        clusters: what items belong together; a cluster is never in two folds.
    """
    values, target = np.asarray(judges, np.float64), np.asarray(people, np.float64)
    scored = np.isfinite(target)
    labels = np.arange(len(values)) if clusters is None else encode_labels(clusters)
    folds = labels % _FOLDS
    by_fold = [
        fit_panel(values[scored & (folds != fold)], target[scored & (folds != fold)])
        for fold in range(_FOLDS)
    ]
    scores = values @ np.mean(by_fold, axis=0)
    for fold, weights in enumerate(by_fold):
        chosen = scored & (folds == fold)
        scores[chosen] = values[chosen] @ weights
    return PanelWeights(fit_panel(values[scored], target[scored]), scores)


def _project(weights: Column) -> Column:
    """The nearest weights that are not negative and sum to one."""
    ordered = np.sort(weights)[::-1]
    excess = np.cumsum(ordered) - 1
    last = np.flatnonzero(ordered - excess / np.arange(1, weights.size + 1) > 0)[-1]
    projected: Column = np.maximum(weights - excess[last] / (last + 1), 0.0)
    return projected
