"""Two tests of the difference of two means: the published one and Welch's."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from vivant.metrics.distributions import t_p_value


class TTest(Struct, frozen=True):
    """The statistic, its degrees of freedom and the two-sided p value; None where there is no spread."""

    t: float | None
    freedom: float
    p: float | None


def pooled_t_test(first: Sequence[float], second: Sequence[float]) -> TTest:
    """As published: equal variances, from the two groups' variances divided by n instead of n − 1."""
    n, m = len(first), len(second)
    freedom = n + m - 2
    spread = (
        ((n - 1) * _variance(first, 0) + (m - 1) * _variance(second, 0)) / freedom if freedom > 0 else 0.0
    )
    return _compute_test(first, second, spread / n + spread / m if n and m else 0.0, freedom)


def welch_t_test(first: Sequence[float], second: Sequence[float]) -> TTest:
    """Unequal variances, unbiased estimates: the sound default for groups of different size."""
    n, m = len(first), len(second)
    if n < 2 or m < 2:
        return TTest(None, 0.0, None)
    a, b = _variance(first, 1) / n, _variance(second, 1) / m
    freedom = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1)) if a + b > 0 else 0.0
    return _compute_test(first, second, a + b, freedom)


def _compute_test(
    first: Sequence[float], second: Sequence[float], squared_error: float, freedom: float
) -> TTest:
    if squared_error <= 0 or freedom <= 0:
        return TTest(None, freedom, None)
    t = (_mean(first) - _mean(second)) / math.sqrt(squared_error)
    return TTest(t, freedom, t_p_value(t, freedom))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float], lost: int) -> float:
    if len(values) <= lost:
        return 0.0
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - lost)
