"""Item response theory with one parameter per item (Rasch, 1960): how hard each item is, and how able each model.

The chance of a right answer is 1 / (1 + exp(difficulty − ability)). Values between 0 and 1 count as shares of one. A
weak normal prior keeps items that all models solve at a finite difficulty; few models say little about an item.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
_PRIOR = 1 / 2.5**2
"""Precision of the prior of difficulties and abilities."""
_ROUNDS = 60
_STEP = 3.0
_WIDEST = 12.0


class RaschFit(Struct, frozen=True, eq=False):
    """A fitted model."""

    difficulties: Matrix
    abilities: Matrix


def fit_rasch(values: Matrix) -> RaschFit:
    """Fit difficulties and abilities together; `values` has a row per item and a column per model, NaN for gaps."""
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    difficulties, abilities = np.zeros(values.shape[0]), np.zeros(values.shape[1])
    for _ in range(_ROUNDS):
        chances = predict(difficulties[:, None], abilities[None, :])
        residuals = np.where(known, filled - chances, 0.0)
        weights = np.where(known, chances * (1 - chances), 0.0)
        step = (residuals.sum(axis=0) - _PRIOR * abilities) / (weights.sum(axis=0) + _PRIOR)
        abilities = abilities + np.clip(step, -_STEP, _STEP)
        chances = predict(difficulties[:, None], abilities[None, :])
        residuals = np.where(known, filled - chances, 0.0)
        weights = np.where(known, chances * (1 - chances), 0.0)
        change = (residuals.sum(axis=1) + _PRIOR * difficulties) / (weights.sum(axis=1) + _PRIOR)
        difficulties = difficulties - np.clip(change, -_STEP, _STEP)
        if max(np.abs(step).max(), np.abs(change).max()) < 1e-4:
            break
    return RaschFit(difficulties, abilities)


def predict(difficulties: Matrix, ability: Matrix | float) -> Matrix:
    """Chances of right answers."""
    result: Matrix = 1 / (1 + np.exp(np.clip(difficulties - ability, -30, 30)))
    return result


def estimate_ability(difficulties: Matrix, values: Matrix) -> float:
    """The ability at which as many right answers are expected as there are."""
    low, high = -_WIDEST + float(difficulties.min()), _WIDEST + float(difficulties.max())
    for _ in range(80):
        middle = (low + high) / 2
        if predict(difficulties, middle).sum() < values.sum():
            low = middle
        else:
            high = middle
    return (low + high) / 2
