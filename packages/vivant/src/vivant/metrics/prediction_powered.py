"""The mean that people would have given, from a judge's scores of everything and people's scores of a part.

The estimate is prediction-powered and power-tuned (Angelopoulos et al. 2023: PPI, PPI++):

    people's mean on their part − weight × (judge's mean on that part − judge's mean on everything)

A judge that is too kind is too kind on both parts, so its bias drops out. The weight minimises the estimated variance:
a judge that agrees with people narrows the interval, one that does not gets the weight 0 and leaves people's own.
The variance sums the influence of whole clusters, which may lie in both parts. Items that were drawn for people with
unequal probabilities are weighted by the inverse of them (Zrnic and Candès 2024).

With a weight that is not tuned this is the same figure as `ppi_py.ppi_mean_pointestimate`; tests compare the two.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from vivant.metrics.distributions import t_quantile
from vivant.metrics.intervals import Interval, encode_labels, score_ends

Column = NDArray[np.float64]
FEWEST_CLUSTERS = 20
"""Clusters with people's scores below which no weight is tuned."""
FEWEST_RATERS = 10
"""People from whom on the interval also counts that other people might have been asked."""


class RaterScores(Struct, frozen=True, eq=False):
    """Single scores by people, as columns: the item (its index), the person, the score."""

    items: NDArray[np.intp]
    raters: NDArray[np.intp]
    values: Column


class CorrectedMean(Struct, frozen=True, kw_only=True):
    """A judge's mean, people's mean, and the judge's corrected by people's."""

    value: float
    interval: Interval | None
    people: float
    people_interval: Interval | None
    judge: float
    """The judge's own mean over everything, on the judge's scale."""
    weight: float
    """How far the judge counts: 0 leaves people's own estimate."""
    labelled: int
    """Items that people scored."""
    total: int
    """Items that the judge scored."""
    gain: float
    """How many times as many items people would have had to score for the same precision without the judge."""
    fallback: str = ""
    """Why the judge does not count, where it does not."""


def correct_mean(
    judge: ArrayLike,
    people: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    probabilities: ArrayLike | None = None,
    raters: RaterScores | None = None,
    weight: float | None = None,
    binary: bool | None = None,
    bounds: tuple[float, float] | None = None,
    level: float = 0.95,
) -> CorrectedMean:
    """The mean of people's scores over all items, with an interval.

    Args:
        judge: the judge's score of every item.
        people: people's (mean) score of every item; NaN where nobody scored it.
        clusters: what items belong together, e.g. the video. None: each item stands alone.
        probabilities: the chance that each item had to be scored by people. None: the same for all.
        raters: the single scores behind `people`, where it is known who gave them.
        weight: how far the judge counts. None tunes it.
        binary: whether people's scores are 0 or 1; None looks.
        bounds: the ends of the scale, beyond which no interval reaches.
        level: of the intervals.

    Raises:
        ValueError: where the columns do not fit together, or nothing was scored by people.
    """
    part = _Parts(judge, people, clusters, probabilities, raters)
    if binary is None:
        binary = bool(np.isin(part.scores, (0.0, 1.0)).all())
    if binary:
        bounds = (0.0, 1.0)
    alone = part.people_mean
    alone_interval = part.interval(alone, 0.0, level, binary, bounds, fitted=0)
    fallback = ""
    value, interval, chosen = alone, alone_interval, 0.0
    if weight is None:
        tuned, fallback = part.tune()
    else:
        tuned = weight
    if tuned:
        shifted = alone - tuned * (part.judge_on_part - part.judge_mean)
        fitted = part.interval(shifted, tuned, level, binary, bounds, fitted=int(weight is None))
        if weight is not None or _is_narrower(fitted, alone_interval):
            value, interval, chosen = shifted, fitted, tuned
        else:
            fallback = "the judge agrees too little with people to narrow their interval"
    return CorrectedMean(
        value=value,
        interval=interval,
        people=alone,
        people_interval=alone_interval,
        judge=part.judge_mean,
        weight=chosen,
        labelled=part.scores.size,
        total=part.judge.size,
        gain=_gain(interval, alone_interval) if chosen else 1.0,
        fallback=fallback,
    )


def _is_narrower(first: Interval | None, second: Interval | None) -> bool:
    return first is not None and second is not None and first.high - first.low < second.high - second.low


def _gain(interval: Interval | None, alone: Interval | None) -> float:
    if interval is None or alone is None or interval.high <= interval.low:
        return 1.0
    return ((alone.high - alone.low) / (interval.high - interval.low)) ** 2


class _Parts:
    """Both parts as columns, and the influence of each cluster on the two means."""

    def __init__(
        self,
        judge: ArrayLike,
        people: ArrayLike,
        clusters: Sequence[Hashable] | None,
        probabilities: ArrayLike | None,
        raters: RaterScores | None,
    ) -> None:
        self.judge = np.asarray(judge, np.float64)
        everyone = np.asarray(people, np.float64)
        if self.judge.shape != everyone.shape or self.judge.ndim != 1:
            raise ValueError(f"{self.judge.size} scores by the judge but {everyone.size} places for people's")
        if not np.isfinite(self.judge).all():
            raise ValueError("The judge scored some items with no number")
        labels = np.arange(self.judge.size) if clusters is None else encode_labels(clusters)
        if labels.size != self.judge.size:
            raise ValueError(f"{self.judge.size} items but {labels.size} clusters")
        self.where = np.flatnonzero(np.isfinite(everyone))
        if not self.where.size:
            raise ValueError("People scored none of the items")
        self.scores = everyone[self.where]
        chances = np.ones(self.judge.size) if probabilities is None else np.asarray(probabilities, np.float64)
        if chances.size != self.judge.size or not (chances[self.where] > 0).all():
            raise ValueError("Every item that people scored needs a probability above 0")
        shares = 1 / chances[self.where]
        self.shares = shares / shares.sum()
        # Rounding must not put a mean beyond the scores that it is a mean of.
        self.people_mean = float(np.clip(self.shares @ self.scores, self.scores.min(), self.scores.max()))
        self.judge_mean = float(self.judge.mean())
        self.judge_on_part = float(self.shares @ self.judge[self.where])
        groups = int(labels.max()) + 1
        own = labels[self.where]
        self.clusters = int(np.unique(own).size)
        self.raters = raters
        # The influence of each cluster on people's mean, and on the difference of the judge's two means.
        self.on_people = np.bincount(own, self.shares * (self.scores - self.people_mean), groups)
        on_part = np.bincount(own, self.shares * (self.judge[self.where] - self.judge_on_part), groups)
        on_all = np.bincount(labels, self.judge - self.judge_mean, groups) / self.judge.size
        self.on_gap = on_part - on_all

    def tune(self) -> tuple[float, str]:
        """The weight that minimises the variance, or 0 and why."""
        if self.where.size == self.judge.size:
            return 0.0, "people scored everything"
        if self.clusters < FEWEST_CLUSTERS:
            return (
                0.0,
                f"people scored items of {self.clusters} clusters; from {FEWEST_CLUSTERS} on the judge counts",
            )
        spread = float(self.on_gap @ self.on_gap)
        if np.ptp(self.judge) <= 1e-12 or spread <= 1e-24:
            return 0.0, "the judge gives every item the same score"
        if np.ptp(self.scores) <= 1e-12:
            return 0.0, "people give every item the same score"
        weight = float(self.on_people @ self.on_gap) / spread
        if weight <= 0:
            return 0.0, "the judge does not agree with people"
        return weight, ""

    def interval(
        self,
        value: float,
        weight: float,
        level: float,
        binary: bool,
        bounds: tuple[float, float] | None,
        *,
        fitted: int,
    ) -> Interval | None:
        freedom = self.clusters - 1 - fitted
        if freedom < 1:
            return None
        influence = self.on_people - weight * self.on_gap
        variance = self.clusters / freedom * float(influence @ influence)
        method = "prediction-powered" if weight else "people alone"
        people = self._rater_variance(weight)
        if people is not None:
            variance += people[0]
            freedom = min(freedom, people[1] - 1)
            method += ", by item and person"
        quantile = t_quantile((1 + level) / 2, freedom)
        if binary:
            if not 0 <= value <= 1:
                return None
            spread = value * (1 - value)
            # Where all scores agree they say nothing about their spread: each cluster then counts as one.
            known = np.ptp(self.scores) > 0 and spread > 0 and variance > 0
            size = spread / variance if known else float(self.clusters)
            low, high = score_ends(value, size, quantile)
            return Interval(low, high, f"{method}, Wilson")
        if variance <= 0:
            return None
        half = quantile * math.sqrt(variance)
        low, high = value - half, value + half
        if bounds is not None:
            low, high = max(low, bounds[0]), min(high, bounds[1])
        return Interval(low, high, f"{method}, t")

    def _rater_variance(self, weight: float) -> tuple[float, int] | None:
        """What the choice of people adds to the variance (Cameron, Gelbach and Miller), and how many there are."""
        if self.raters is None:
            return None
        _, persons = np.unique(self.raters.raters, return_inverse=True)
        count = int(persons.max()) + 1 if persons.size else 0
        if count < FEWEST_RATERS:
            return None
        position = np.full(self.judge.size, -1, np.intp)
        position[self.where] = np.arange(self.where.size)
        rows = position[self.raters.items]
        times = np.bincount(rows, minlength=self.where.size)[rows]
        middle = self.people_mean - weight * self.judge_on_part
        residuals = self.raters.values - weight * self.judge[self.raters.items] - middle
        influence = self.shares[rows] / times * residuals
        by_person = np.bincount(persons, influence, count)
        added = count / (count - 1) * float(by_person @ by_person) - float(influence @ influence)
        return max(0.0, added), count
