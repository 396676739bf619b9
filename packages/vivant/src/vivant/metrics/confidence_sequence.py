"""An interval that holds at every moment at once: a run may look at it after each reply and stop when it likes.

The usual interval is meant for a number of samples that was fixed beforehand. Who looks at it again and again, and
stops when it pleases, is wrong far more often than one time in twenty. A confidence sequence is right at all times
together.

This one is made by betting (Waudby-Smith and Ramdas, 2024). For each mean that is possible, somebody bets against it
on each unit that comes, at fair odds. If the mean is the true one, nobody can expect to win, and the chance ever to
multiply the stake by 20 is at most 1/20. Means against which that succeeded are ruled out; the others are the interval.

- A unit is a cluster, or a block of several, asked whole and in random order. Bets are on its total less mean × size,
  so that clusters may differ in size, and samples of one cluster may resemble each other in any way.
- Where `units` says how many there are in all, the interval is for the mean of all of them, drawn without replacement:
  it shrinks to a point when the last has come. Without it, it is for the source that the units come from.
- Bets are spread over several sizes of error. Most of the stake is on `target`, the half-width that is wanted.

No assumption is made but that values lie between two bounds, that units come in random order, and that what a unit
holds does not depend on the order. `benchmarks/stopping.py` measures how often it is right.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from vivant.metrics.intervals import Interval

METHOD = "anytime-valid (betting)"
_CANDIDATES = 1000
"""Means that are tried, evenly over the range: ends are right to a thousandth of it, and err outwards."""
_SPREAD = (0.32, 0.16, 0.08, 0.04, 0.02, 0.01)
"""Errors, as shares of the range, that a part of the stake is always on."""
_ON_TARGET = 0.8
"""The share of the stake on the target."""
_BOLDEST = 0.75
"""No more of the capital is ever at stake than this."""
_LIMITS = (1e-290, 1e290)
"""Capital is kept between these, so that long sequences neither vanish nor overflow. No interval depends on it."""

Column = NDArray[np.float64]


class ConfidenceSequence:
    """Bets against every possible mean, unit by unit. `low` and `high` are the interval at this moment."""

    def __init__(
        self,
        *,
        units: int | None = None,
        largest: float = 1.0,
        bounds: tuple[float, float] = (0.0, 1.0),
        target: float | None = None,
        level: float = 0.95,
    ) -> None:
        """Args:
        units: How many units there are in all; None where they are without end.
        largest: The size of the largest unit.
        bounds: The lowest and the highest value that a sample can have.
        target: The half-width that is wanted.
        level: How often the interval is to be right, at all moments together.
        """
        if not bounds[0] < bounds[1] or largest <= 0 or not 0 < level < 1:
            raise ValueError(f"No interval for bounds {bounds}, largest unit {largest}, level {level}")
        self._units = units
        self._largest = largest
        self._floor, self._ceiling = bounds
        self._threshold = 1 / (1 - level)
        self._means: Column = np.linspace(*bounds, _CANDIDATES + 1)
        self._step = (bounds[1] - bounds[0]) / _CANDIDATES
        self._errors: Column = np.array((0.0, *_SPREAD)) * (bounds[1] - bounds[0])
        share = 0.0 if target is None else _ON_TARGET
        stakes = np.array((share, *[(1 - share) / len(_SPREAD)] * len(_SPREAD)))
        self._capital: Column = np.empty((2, stakes.size, self._means.size))
        self._capital[:] = stakes[:, None] / 2
        self._ruled_out = np.zeros(self._means.size, bool)
        self._aimed = target is not None
        if target is not None:
            self.aim(target)
        self.count = 0
        """Units so far."""
        self.total = self.size = 0.0
        """Their totals and sizes, summed."""
        self._squares = self._products = self._sizes = 0.0
        self.low, self.high = bounds

    def aim(self, target: float) -> None:
        """Bet on another half-width from now on; what was won and lost so far stays.

        Where there was no target at first, nothing is at stake on one: the stake nearest to it moves there.
        """
        index = 0 if self._aimed else 1 + int(np.abs(self._errors[1:] - target).argmin())
        self._errors[index] = target

    @property
    def mean(self) -> float | None:
        """The mean so far."""
        return self.total / self.size if self.size else None

    @property
    def half_width(self) -> float:
        """Half of the interval."""
        return (self.high - self.low) / 2

    @property
    def interval(self) -> Interval:
        """The interval at this moment."""
        return Interval(self.low, self.high, METHOD)

    @property
    def spread(self) -> float:
        """Standard deviation of a unit's total less mean × size, as a share of the mean size."""
        if not self.size:
            return math.inf
        mean = self.total / self.size
        squares = self._squares - 2 * mean * self._products + mean * mean * self._sizes
        return math.sqrt(max(0.0, squares) / self.count) / (self.size / self.count)

    def capital(self, mean: float) -> float:
        """What a stake of 1 against this mean has become; 20 and more rules it out at 95 %. Infinite outside."""
        index = int(np.abs(self._means - mean).argmin())
        if abs(float(self._means[index]) - mean) > self._step:
            return math.inf
        return float(self._capital[:, :, index].sum())

    def update(self, total: float, size: float) -> None:
        """The next unit: the sum of its values, and how many they are."""
        floor, ceiling = self._floor, self._ceiling
        if not -1e-9 <= size <= self._largest + 1e-9:
            raise ValueError(f"A unit of size {size}, where the largest should be {self._largest}")
        if not floor * size - 1e-9 <= total <= ceiling * size + 1e-9:
            raise ValueError(
                f"A unit of size {size} has the total {total}: values lie outside {floor} to {ceiling}"
            )
        if self._units is not None and self.count >= self._units:
            raise ValueError(f"More than {self._units} units")
        means = self._means
        expected: Column = np.zeros(means.size)
        remaining = math.inf
        if self._units is not None:
            remaining = self._units - self.count
            expected = -(self.total - means * self.size) / remaining
        lowest, highest = (floor - means) * self._largest, (ceiling - means) * self._largest
        # A mean that what is still to come cannot make true any more.
        tolerance = 1e-9 * self._largest
        impossible = (expected < lowest - tolerance) | (expected > highest + tolerance)
        bets = self._bets(remaining)[:, None]
        gain = total - means * size - expected
        up = np.minimum(bets, _BOLDEST / np.maximum(expected - lowest, 1e-12)) * gain
        down = np.minimum(bets, _BOLDEST / np.maximum(highest - expected, 1e-12)) * -gain
        self._capital[0] *= 1 + np.maximum(up, -_BOLDEST)
        self._capital[1] *= 1 + np.maximum(down, -_BOLDEST)
        np.clip(self._capital, *_LIMITS, out=self._capital)
        self._ruled_out |= impossible | (self._capital.sum(axis=(0, 1)) >= self._threshold)
        self.count += 1
        self.total += total
        self.size += size
        self._squares += total * total
        self._products += total * size
        self._sizes += size * size
        self._shrink()

    def extend(self, units: Iterable[tuple[float, float]]) -> ConfidenceSequence:
        """Several units, in order."""
        for total, size in units:
            self.update(total, size)
        return self

    def _bets(self, remaining: float) -> Column:
        """What to put on each error, from what came before alone: error / variance is best where it is true."""
        count = self.count
        size = self.size / count if self.size else self._largest
        middle = (self._floor + self._ceiling) / 2
        mean = (self.total + middle * size) / (self.size + size)
        spread = self._squares - 2 * mean * self._products + mean * mean * self._sizes
        prior = ((self._ceiling - self._floor) * self._largest / 2) ** 2
        variance = (prior + max(0.0, spread)) / (count + 1)
        # Where units run out, an error in the mean of all is a larger one in the mean of the rest.
        growth = 1.0 if math.isinf(remaining) else (remaining + count) / remaining
        shifts = self._errors * size * growth
        bets: Column = shifts / (variance + shifts * shifts)
        return bets

    def _shrink(self) -> None:
        """Forget means outside of the interval: it never grows again."""
        kept = np.flatnonzero(~self._ruled_out)
        if not kept.size:  # the bets were lost by the one in twenty: the last interval stays
            self._ruled_out[:] = False
            return
        first, last = int(kept[0]), int(kept[-1]) + 1
        self._means = self._means[first:last]
        self._capital = self._capital[:, :, first:last]
        self._ruled_out = self._ruled_out[first:last]
        self.low = max(self.low, float(self._means[0]) - self._step)
        self.high = min(self.high, float(self._means[-1]) + self._step)
        if self._units == self.count and self.size:
            self.low = self.high = float(self.total / self.size)


def count_to_settle(sequence: ConfidenceSequence, level: float) -> float:
    """Units after which a difference would probably show, if it were as large as may be hoped for: an estimate.

    Hoped for is the mean so far plus 1.64 standard errors, so that few that would show are given up. It decides only
    when to stop trying; the interval stays valid whatever it says.
    """
    mean, count = sequence.mean, sequence.count
    if mean is None or count < 2:
        return math.inf
    spread = sequence.spread
    hoped = abs(mean) + 1.64 * spread / math.sqrt(count)
    if hoped == 0:
        return math.inf
    # Bets win as the square of difference / spread; spreading the stake costs about two units on the logarithm.
    return 2 * (spread / hoped) ** 2 * (math.log(1 / (1 - level)) + 2)
