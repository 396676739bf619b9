"""How many items people should judge for an interval of a wanted width, and which: drawn, so that nothing is biased.

With a judge that correlates with people by r, n items judged by people and N by the judge, the tuned estimate has the
variance s² ((1 − r²) / n + r² / N), times what clusters add. Without the judge it is s² / n.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from vivant.metrics.distributions import normal_quantile, t_quantile

Column = NDArray[np.float64]
_EVEN = 0.5
"""The share of the chances that is spread evenly, however sure the judge is of an item."""


class Precision(Struct, frozen=True, kw_only=True):
    """What the width of an interval depends on."""

    spread: float
    """Standard deviation of people's scores."""
    correlation: float
    """Of the judge's scores with people's."""
    total: int
    """Items that the judge scored."""
    design_effect: float = 1.0
    """What clusters multiply the variance by."""

    def half_width(self, count: int, *, with_judge: bool = True, level: float = 0.95) -> float:
        """Half the interval's width when people judge so many items."""
        share = self.correlation**2 if with_judge else 0.0
        count = min(count, self.total)
        variance = self.spread**2 * ((1 - share) / count + share / self.total)
        quantile = (
            t_quantile((1 + level) / 2, count - 2) if count > 3 else normal_quantile((1 + level) / 2) * 3
        )
        return quantile * math.sqrt(self.design_effect * variance)

    def find_count(self, half_width: float, *, with_judge: bool = True, level: float = 0.95) -> int | None:
        """The fewest items for an interval no wider; None where all items are too few."""
        low, high = 4, self.total
        if high < low or self.half_width(high, with_judge=with_judge, level=level) > half_width:
            return None
        while low < high:
            middle = (low + high) // 2
            if self.half_width(middle, with_judge=with_judge, level=level) <= half_width:
                high = middle
            else:
                low = middle + 1
        return low


class Draw(Struct, frozen=True, eq=False):
    """Which items are asked about now, and the chance that each item had to be asked about at all."""

    chosen: NDArray[np.bool_]
    probabilities: Column


def draw_items(
    uncertainty: ArrayLike,
    strata: Sequence[Hashable],
    count: int,
    *,
    judged: ArrayLike | None = None,
    earlier: ArrayLike | None = None,
    seed: int = 0,
) -> Draw:
    """Draw items at random: more of those that the judge is unsure of, some of every stratum.

    Every item has a chance, half of it the same for all, so that weighting by the inverse of the chances is unbiased
    and stays steady. Strata get items by their size times their mean uncertainty.

    Args:
        uncertainty: how far people may be from the judge on each item; only ratios count.
        strata: the stratum of each item.
        count: how many to draw.
        judged: which items people have judged already; they are not drawn again.
        earlier: the chance that each item had to be among those. None: the share of them in each stratum.
        seed: of the draw.
    """
    doubt = np.asarray(uncertainty, np.float64)
    done = np.zeros(doubt.size, bool) if judged is None else np.asarray(judged, bool)
    if doubt.min(initial=0.0) < 0 or not np.isfinite(doubt).all():
        raise ValueError("Uncertainties are numbers from 0 up")
    names: dict[Hashable, int] = {}
    labels = np.array([names.setdefault(name, len(names)) for name in strata], np.intp)
    if earlier is None:
        before = (np.bincount(labels, done) / np.bincount(labels))[labels]
    else:
        before = np.asarray(earlier, np.float64)
    rng = np.random.default_rng(seed)
    chosen = np.zeros(doubt.size, bool)
    now = np.zeros(doubt.size)
    sizes = _allocate(doubt, labels, ~done, min(count, int((~done).sum())), len(names))
    for stratum, size in enumerate(sizes):
        members = np.flatnonzero(labels == stratum)
        chances = _mix(doubt[members], ~done[members], int(size))
        now[members] = chances
        open_ = members[~done[members]]
        chosen[open_[_draw_systematically(now[open_], rng)]] = True
    return Draw(chosen, 1 - (1 - before) * (1 - now))


def _allocate(
    doubt: Column, labels: NDArray[np.intp], open_: NDArray[np.bool_], count: int, strata: int
) -> Column:
    """Items for each stratum: by its number times its mean uncertainty, at least two where it has them."""
    left = np.bincount(labels, open_, strata)
    total = np.bincount(labels, minlength=strata)
    mean = np.bincount(labels, doubt, strata) / total
    overall = float(doubt.mean())
    weight = total * ((1 - _EVEN) * mean / overall + _EVEN if overall > 0 else np.ones(strata))
    least = np.minimum(left, 2) if count >= 2 * strata else np.zeros(strata)
    sizes: Column = least.astype(np.float64)
    for _ in range(strata):  # what a full stratum cannot take goes to the others
        rest = count - sizes.sum()
        room = left - sizes
        active = room > 1e-9
        if rest <= 1e-9 or not active.any():
            break
        sizes = sizes + np.minimum(room, np.where(active, weight, 0) / weight[active].sum() * rest)
    return _round_to(sizes, count)


def _round_to(sizes: Column, count: int) -> Column:
    """Whole numbers that add up."""
    whole = np.floor(sizes + 1e-9)
    for index in np.argsort(whole - sizes)[: round(count - whole.sum())]:
        whole[index] += 1
    return whole


def _mix(doubt: Column, open_: NDArray[np.bool_], size: int) -> Column:
    """Chances of the items of one stratum that add up to `size` over those that are open."""
    if size == 0:
        return np.zeros(doubt.size)
    mean = float(doubt.mean())
    weight = _EVEN + (1 - _EVEN) * (doubt / mean if mean > 0 else np.ones(doubt.size))
    chances = np.zeros(doubt.size)
    full = np.zeros(doubt.size, bool)
    for _ in range(doubt.size):
        rest = size - float((open_ & full).sum())
        scale = rest / max(1e-12, float(weight[open_ & ~full].sum())) if (open_ & ~full).any() else 0.0
        chances = np.where(full, 1.0, weight * scale)
        over = (chances > 1) & ~full
        if not over.any():
            break
        full |= over
    return np.minimum(chances, 1.0)


def _draw_systematically(chances: Column, rng: np.random.Generator) -> NDArray[np.intp]:
    """As many items as the chances add up to, each with its own chance, in a random order."""
    order = rng.permutation(chances.size)
    ends = np.cumsum(chances[order])
    marks = rng.random() + np.arange(round(float(ends[-1]))) if chances.size else np.zeros(0)
    index: NDArray[np.intp] = order[np.minimum(np.searchsorted(ends, marks, side="right"), chances.size - 1)]
    return np.unique(index)


def left_out_p_value(sizes: Sequence[int], chances: Sequence[float], total: int) -> float:
    """How often chance leaves out groups that hold `total` units or more together. Exact.

    Args:
        sizes: units of each group.
        chances: how likely each group is left out.
        total: units that were left out.
    """
    below = np.zeros(total)  # the chance of each sum under the total
    below[:1] = 1.0
    for size, chance in zip(sizes, chances, strict=True):
        moved = below * chance
        below -= moved
        if size < total:
            below[size:] += moved[: total - size]
    return max(0.0, 1.0 - float(below.sum()))
