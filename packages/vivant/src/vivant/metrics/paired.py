"""Is one set of scores higher than another? Differences of means with intervals, tests and their limits.

Paired: two scores of the same sample, in clusters that are exchanged whole under the null hypothesis. The test
flips the signs of cluster totals; where every sample is a cluster of its own and scores are right or wrong,
that is McNemar's test. Where a run stopped early, interval and test come from bets that hold at any moment.
Unpaired: two groups of samples that may share clusters, compared with a clustered t.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.metrics.confidence_sequence import ConfidenceSequence
from vivant.metrics.distributions import normal_p_value, normal_quantile, t_p_value, t_quantile
from vivant.metrics.intervals import Interval, Labels, Values, cluster_variance, encode_labels, mean_interval

LEVEL = 0.95
POWER = 0.80
_SMALLEST_P = 1e-6
"""Of bets: what they win beyond this says no more."""


class Difference(Struct, frozen=True, kw_only=True):
    """The second mean less the first, and how far that can be trusted."""

    n: int
    """Pairs; samples in all, where they are not paired."""
    clusters: int
    first: float
    second: float
    interval: Interval | None
    """95 %, of the difference."""
    error: float | None
    """Standard error of the difference."""
    smallest: float | None
    """The difference that a test at 5 % would have shown four times out of five (80 % power)."""
    p: float | None
    """Two-sided, for this test alone."""
    test: str

    @property
    def value(self) -> float:
        """The difference."""
        return self.second - self.first


def anytime_difference(
    first: Sequence[float] | Values,
    second: Sequence[float] | Values,
    units: Sequence[int],
    *,
    count: int,
    largest: int,
) -> Difference:
    """Two scores of each sample, where what was seen decided when to stop asking.

    A confidence sequence by betting, over units in the order of asking: interval and p value hold whenever it stopped.
    They are for other samples of the same kind, as those of `paired_difference` are.

    Args:
        first: One score of each sample.
        second: The other.
        units: By sample, the number of its unit.
        count: Units that were asked, in order from 0 on.
        largest: Samples of the largest unit.
    """
    a, b, places = np.asarray(first, np.float64), np.asarray(second, np.float64), np.asarray(units, np.int64)
    if not a.shape == b.shape == places.shape or not a.size:
        raise ValueError(f"Pairs need one value each, but there are {a.size} and {b.size} in {places.size}")
    totals = np.bincount(places, weights=b - a, minlength=count)
    sizes = np.bincount(places, minlength=count)
    interval = ConfidenceSequence(largest=largest, bounds=(-1.0, 1.0), level=LEVEL)
    # The bets do not depend on the level; with this one they go on where the interval has left 0 behind.
    against_none = ConfidenceSequence(largest=largest, bounds=(-1.0, 1.0), level=1 - _SMALLEST_P)
    p = 1.0
    for total, size in zip(totals.tolist(), sizes.tolist(), strict=True):
        interval.update(total, size)
        against_none.update(total, size)
        p = max(_SMALLEST_P, min(p, 1 / against_none.capital(0.0)))
    return Difference(
        n=a.size,
        clusters=int((sizes > 0).sum()),
        first=float(a.mean()),
        second=float(b.mean()),
        interval=interval.interval,
        error=None,
        smallest=None,
        p=p,
        test="betting on clusters, valid whenever the run stopped",
    )


def paired_difference(
    first: Sequence[float] | Values,
    second: Sequence[float] | Values,
    clusters: Sequence[Hashable] | None = None,
    *,
    binary: bool | None = None,
    seed: int = 0,
) -> Difference:
    """Two scores of each sample. `binary` says that they are right or wrong, where they alone cannot."""
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if a.shape != b.shape or not a.size:
        raise ValueError(f"Pairs need one value each, but there are {a.size} and {b.size}")
    labels = encode_labels(clusters) if clusters is not None else np.arange(a.size)
    if labels.size != a.size:
        raise ValueError(f"{a.size} pairs but {labels.size} clusters")
    if binary is None:
        binary = bool(np.isin(np.concatenate((a, b)), (0.0, 1.0)).all())
    changes = b - a
    groups = int(labels.max()) + 1
    p, test = sign_flip_test(np.bincount(labels, weights=changes).astype(np.float64), seed=seed)
    single = groups == a.size
    if binary and single:
        test = "McNemar, exact" if test == EXACT else "McNemar, χ²"
    elif not single and test:
        test += " of clusters"
    interval, error, quantile, power_quantile = _interval(changes, labels, groups, binary)
    return Difference(
        n=a.size,
        clusters=groups,
        first=float(a.mean()),
        second=float(b.mean()),
        interval=interval,
        error=error,
        smallest=None if error is None else error * (quantile + power_quantile),
        p=p,
        test=test,
    )


def _interval(
    changes: Values, labels: Labels, groups: int, binary: bool
) -> tuple[Interval | None, float | None, float, float]:
    """The interval, the standard error behind it, and the quantiles for level and power."""
    if groups < 2:
        return None, None, 0.0, 0.0
    single = groups == changes.size
    if binary and single:
        quantile, power_quantile = normal_quantile((1 + LEVEL) / 2), normal_quantile(POWER)
    else:
        quantile = t_quantile((1 + LEVEL) / 2, groups - 1)
        power_quantile = t_quantile(POWER, groups - 1)
    mean = float(changes.mean())
    variance = cluster_variance(changes, labels, mean)
    way = "" if single else "clustered "
    if not binary:
        if variance <= 0:  # equal changes throughout say nothing of others that might have come
            return None, None, quantile, power_quantile
        error = math.sqrt(variance)
        half = quantile * error
        return Interval(mean - half, mean + half, f"{way}t"), error, quantile, power_quantile
    # Agresti and Min (2005): half a pair is added to each cell, so that pairs without a change do not pass for
    # certainty. In clusters the pairs count as the effective number of independent ones.
    up, down = float((changes > 0).mean()), float((changes < 0).mean())
    spread = up + down - mean * mean
    size = float(changes.size)
    if not single:
        size = float(groups) if spread <= 0 else size if variance * size <= spread else spread / variance
    total = size + 2
    centre = size * mean / total
    error = math.sqrt(max(0.0, (size * (up + down) + 1) / total - centre * centre) / total)
    half = quantile * error
    low, high = max(-1.0, centre - half), min(1.0, centre + half)
    return Interval(low, high, f"{way}Agresti–Min"), error, quantile, power_quantile


# ── the test ─────────────────────────────────────────────────────────────────────────────────────

EXACT = "exact permutation"


_DRAWS = 9_999
_LARGEST_TOTAL = 5_000
"""Up to this sum of integer totals the permutation distribution is written out in full."""
_LISTED = 12
"""Up to this many clusters all sign changes are listed, whatever the totals."""
_DRAWN = 1_000
"""Above this many clusters a sum of so many signs is normal enough not to be drawn."""
_LARGEST_UNIT = 60


def sign_flip_test(totals: Values, *, seed: int = 0) -> tuple[float | None, str]:
    """How often a sum as far from zero comes about when each total could as well have the other sign.

    Exact for totals that are multiples of a common unit, and for few of them; else by drawing signs, or,
    for very many, by the normal approximation.
    """
    nonzero = totals[np.abs(totals) > 1e-12]
    if not nonzero.size:
        return (1.0, EXACT) if totals.size else (None, "")
    multiples = _whole(nonzero)
    if multiples is not None and int(np.abs(multiples).sum()) <= _LARGEST_TOTAL:
        return _exact_p(multiples), EXACT
    if nonzero.size <= _LISTED:
        signs = 1 - 2 * ((np.arange(1 << nonzero.size)[:, None] >> np.arange(nonzero.size)) & 1)
        return float(_as_far(signs @ nonzero, nonzero).mean()), EXACT
    if multiples is not None or nonzero.size > _DRAWN:
        return normal_p_value(
            float(nonzero.sum() / math.sqrt(np.square(nonzero).sum()))
        ), "permutation, normal"
    generator = np.random.default_rng(seed)
    extreme = 0
    for start in range(0, _DRAWS, 1000):
        size = (min(1000, _DRAWS - start), nonzero.size)
        signs = generator.integers(2, size=size, dtype=np.int8) * 2 - 1
        extreme += int(_as_far(signs @ nonzero, nonzero).sum())
    return (extreme + 1) / (_DRAWS + 1), f"permutation, {_DRAWS:,} draws"


def _as_far(sums: Values, totals: Values) -> NDArray[np.bool_]:
    # Rounding must not make a sum that equals the observed one pass for a smaller one.
    far: NDArray[np.bool_] = np.abs(sums) >= abs(float(totals.sum())) - 1e-9 * float(np.abs(totals).sum())
    return far


def _whole(totals: Values) -> Labels | None:
    """The totals as multiples of their common unit (means of k repeats are multiples of 1/k), if small."""
    for unit in range(1, _LARGEST_UNIT + 1):
        scaled = totals * unit
        rounded = np.rint(scaled)
        if np.abs(scaled - rounded).max() < 1e-9 * unit:
            return rounded.astype(np.intp)
    return None


def _exact_p(totals: Labels) -> float:
    """By convolution: a sum of ± t is twice the sum of those with a plus, less all of them."""
    distribution = np.ones(1)
    for size, count in zip(*np.unique(np.abs(totals), return_counts=True), strict=True):
        piece = np.zeros(int(size * count) + 1)
        piece[::size] = _fair_binomial(int(count))
        distribution = np.convolve(distribution, piece)
    total = int(np.abs(totals).sum())
    sums = np.abs(2 * np.arange(total + 1) - total)
    return min(1.0, float(distribution[sums >= abs(int(totals.sum()))].sum()))


def _fair_binomial(n: int) -> Values:
    logs = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)]
    probabilities: Values = np.exp(np.array(logs) - n * math.log(2))
    return probabilities


# ── groups that are not paired ───────────────────────────────────────────────────────────────────


def group_difference(
    first: Sequence[float],
    second: Sequence[float],
    first_clusters: Sequence[Hashable],
    second_clusters: Sequence[Hashable],
    *,
    binary: bool = False,
) -> Difference:
    """Two groups of samples that may share clusters: what a cluster adds to both means cancels out."""
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if not a.size or not b.size:
        raise ValueError("Both groups need at least one value")
    labels = encode_labels([*first_clusters, *second_clusters])
    groups = int(labels.max()) + 1
    shares = np.concatenate(((a.mean() - a) / a.size, (b - b.mean()) / b.size))
    influence = np.bincount(labels, weights=shares)
    value = float(b.mean() - a.mean())
    interval: Interval | None = None
    error = p = smallest = None
    test = ""
    variance = groups / (groups - 1) * float(np.square(influence).sum()) if groups > 1 else 0.0
    if variance > 1e-18:
        error = math.sqrt(variance)
        quantile = t_quantile((1 + LEVEL) / 2, groups - 1)
        interval = Interval(value - quantile * error, value + quantile * error, "clustered t, not paired")
        smallest = error * (quantile + t_quantile(POWER, groups - 1))
        p, test = t_p_value(value / error, groups - 1), "clustered t, not paired"
    elif binary:
        interval = _square_and_add(a, b, first_clusters, second_clusters)
    return Difference(
        n=a.size + b.size,
        clusters=groups,
        first=float(a.mean()),
        second=float(b.mean()),
        interval=interval,
        error=error,
        smallest=smallest,
        p=p,
        test=test,
    )


def _square_and_add(
    a: Values, b: Values, first_clusters: Sequence[Hashable], second_clusters: Sequence[Hashable]
) -> Interval | None:
    """Newcombe's interval from those of the two shares, for groups that are all right or all wrong."""
    first = mean_interval(a.tolist(), first_clusters, binary=True)
    second = mean_interval(b.tolist(), second_clusters, binary=True)
    if first is None or second is None:
        return None
    p, q = float(a.mean()), float(b.mean())
    low = q - p - math.hypot(q - second.low, first.high - p)
    high = q - p + math.hypot(second.high - q, p - first.low)
    return Interval(low, high, "Newcombe")


# ── many tests ───────────────────────────────────────────────────────────────────────────────────


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's correction: the chance of even one false finding among all tests stays below the level."""
    ordered = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    worst = 0.0
    for rank, (p, index) in enumerate(ordered):
        worst = max(worst, min(1.0, p * (len(ordered) - rank)))
        adjusted[index] = worst
    return adjusted


def holm_within(p_values: Sequence[float | None], families: Sequence[Hashable]) -> list[float | None]:
    """Holm's correction within each family of tests: what is asked elsewhere changes nothing here."""
    adjusted: list[float | None] = [None] * len(p_values)
    for family in dict.fromkeys(families):
        members = [index for index, name in enumerate(families) if name == family]
        for index, p in zip(members, holm([p_values[index] for index in members]), strict=True):
            adjusted[index] = p
    return adjusted


def power_factor(tests: int) -> float:
    """How much larger a difference must be to show as the first of so many tests under Holm's correction."""
    single = normal_quantile((1 + LEVEL) / 2) + normal_quantile(POWER)
    return (normal_quantile(1 - (1 - LEVEL) / (2 * tests)) + normal_quantile(POWER)) / single
