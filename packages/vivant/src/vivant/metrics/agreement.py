"""How far raters agree: people among each other, judges with people.

Judgements of many raters come flat, as two columns: the item and the value given to it, one line a judgement;
who gave it does not matter, and an item not judged has no line. Two raters come as two columns over the same
items. NaN is "not rated". A figure that the data cannot give (no item rated twice, no variation at all) is
NaN, never an exception and never a perfect score.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from vivant.core.errors import DataError

Level = Literal["nominal", "ordinal", "interval"]
Column = NDArray[np.float64]
_NAN = float("nan")


def flatten(table: ArrayLike) -> tuple[NDArray[np.intp], Column]:
    """Items and values from a table with one row a rater and one column an item."""
    array = np.asarray(table, np.float64)
    if array.ndim != 2:
        raise DataError("Ratings must be a table: one row a rater, one column an item")
    rated = ~np.isnan(array)
    return np.nonzero(rated)[1], array[rated]


def percent_agreement(items: ArrayLike, values: ArrayLike) -> float:
    """Share of pairs of judgements of the same item that are equal, each pair counting once."""
    rated = _pairable(items, values)
    pairs = (rated.sizes * (rated.sizes - 1)).sum()
    return float((rated.squares - rated.sizes).sum() / pairs) if pairs else _NAN


def krippendorff_alpha(items: ArrayLike, values: ArrayLike, level: Level = "nominal") -> float:
    """Krippendorff's alpha: 1 is perfect, 0 is chance. Items with a single judgement do not count."""
    rated = _pairable(items, values)
    total = rated.values.size
    if level == "nominal":
        # Unequal pairs within an item, weighted so that an item counts by its judgements; then among all.
        within = ((np.square(rated.sizes) - rated.squares) / (rated.sizes - 1)).sum()
        among = total**2 - float(np.square(np.bincount(rated.codes)).sum())
    elif level in ("ordinal", "interval"):
        # An ordinal distance counts the judgements in between: it is the distance of mean ranks.
        scale = _ranks(rated.codes) if level == "ordinal" else rated.values
        centred = scale - scale.mean() if total else scale
        sums = np.bincount(rated.items, weights=centred)
        powers = np.bincount(rated.items, weights=np.square(centred))
        within = ((rated.sizes * powers - np.square(sums)) / (rated.sizes - 1)).sum()
        among = total * float(np.square(centred).sum()) - float(centred.sum()) ** 2
    else:
        raise DataError(f"Krippendorff's alpha has the levels nominal, ordinal and interval, not '{level}'")
    varied = total and rated.codes.max() > 0
    return float(1 - (total - 1) * within / among) if varied else _NAN


def fleiss_kappa(items: ArrayLike, values: ArrayLike) -> float:
    """Fleiss' kappa, for equally many judgements of every item."""
    rated = _prepare_ratings(items, values)
    sizes = rated.sizes
    if not sizes.size or sizes.max() < 2:
        return _NAN
    if (sizes != sizes[0]).any():
        raise DataError(
            f"Fleiss' kappa needs equally many judgements of every item, but there are {int(sizes.min())} "
            f"to {int(sizes.max())}; use Krippendorff's alpha"
        )
    observed = ((rated.squares - sizes) / (sizes * (sizes - 1))).mean()
    expected = np.square(np.bincount(rated.codes) / rated.values.size).sum()
    return float((observed - expected) / (1 - expected)) if rated.codes.max() > 0 else _NAN


def quadratic_kappa(first: ArrayLike, second: ArrayLike) -> float:
    """Cohen's kappa of two raters with quadratic weights, over the items that both rated."""
    a, b = _pair(first, second)
    if not a.size:
        return _NAN
    # With squared distances no table is needed: the expected disagreement follows from means and variances.
    observed = np.square(a - b).mean()
    expected = a.var() + b.var() + (a.mean() - b.mean()) ** 2
    return float(1 - observed / expected) if expected > 0 else _NAN


def pearson(first: ArrayLike, second: ArrayLike) -> float:
    """Pearson's correlation over the items that both rated."""
    a, b = _pair(first, second)
    if a.size < 2 or (a == a[0]).all() or (b == b[0]).all():
        return _NAN
    a, b = a - a.mean(), b - b.mean()
    return float(np.clip((a @ b) / np.sqrt((a @ a) * (b @ b)), -1, 1))


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Spearman's rank correlation over the items that both rated; equal values share their mean rank."""
    a, b = _pair(first, second)
    return pearson(_ranks(_number_values(a)), _ranks(_number_values(b)))


class _Rated(Struct, frozen=True, eq=False):
    """Judgements with items and values numbered from 0."""

    items: NDArray[np.intp]
    values: Column
    codes: NDArray[np.intp]
    sizes: Column
    """Judgements of each item."""
    squares: Column
    """For each item, the sum over values of the squared number of times it was given."""


def _prepare_ratings(items: ArrayLike, values: ArrayLike) -> _Rated:
    what, ratings = np.asarray(items), np.asarray(values, np.float64)
    if what.shape != ratings.shape or what.ndim != 1:
        raise DataError(
            f"Each judgement needs an item and a value, but there are {what.size} and {ratings.size}"
        )
    present = ~np.isnan(ratings)
    ratings = ratings[present]
    numbers, codes = _number_values(what[present]), _number_values(ratings)
    width = int(codes.max(initial=0)) + 1
    cells = numbers * width + codes
    sizes = np.bincount(numbers)
    if sizes.size * width <= 16 * max(1, ratings.size):
        squares = np.square(np.bincount(cells, minlength=sizes.size * width)).reshape(-1, width).sum(axis=1)
    else:  # too many values for a table of items by values
        distinct, counts = np.unique(cells, return_counts=True)
        squares = np.bincount(distinct // width, weights=np.square(counts))
    return _Rated(numbers, ratings, codes, sizes.astype(np.float64), squares.astype(np.float64))


def _pairable(items: ArrayLike, values: ArrayLike) -> _Rated:
    """The judgements of items that were judged at least twice."""
    rated = _prepare_ratings(items, values)
    several = (rated.sizes >= 2)[rated.items]
    return rated if several.all() else _prepare_ratings(rated.items[several], rated.values[several])


def _pair(first: ArrayLike, second: ArrayLike) -> tuple[Column, Column]:
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise DataError(f"Two raters need one value an item each, but there are {a.size} and {b.size} values")
    both = ~(np.isnan(a) | np.isnan(b))
    return a[both], b[both]


def _number_values(column: NDArray[Any]) -> NDArray[np.intp]:
    """Each entry's place among the distinct ones, ascending. Whole numbers close together need no sorting."""
    if column.size and column.dtype.kind in "iuf":
        column = column.astype(np.int64) if column.dtype.kind == "i" else column  # small ones would overflow
        low, high = column.min(), column.max()
        if np.isfinite(low) and np.isfinite(high) and float(high) - float(low) <= 4 * column.size:
            offsets = (column - low).astype(np.intp)
            if column.dtype.kind != "f" or (offsets == column - low).all():
                numbers: NDArray[np.intp] = (np.cumsum(np.bincount(offsets) > 0) - 1)[offsets]
                return numbers
    _, inverse = np.unique(column, return_inverse=True)
    return inverse


def _ranks(codes: NDArray[np.intp]) -> Column:
    """Mean ranks of numbered values."""
    counts = np.bincount(codes)
    ranks: Column = (np.cumsum(counts) - (counts - 1) / 2)[codes]
    return ranks
