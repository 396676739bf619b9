"""The normal, Student's t and chi-square distributions, so that scoring needs no scipy."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_TINY = 1e-300


def normal_quantile(probability: float) -> float:
    """The z below which a standard normal value falls with this probability."""
    return NormalDist().inv_cdf(probability)


def normal_cdf(z: float) -> float:
    """How often a standard normal value falls below z."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_p_value(z: float) -> float:
    """The two-sided p value of a standard normal value."""
    return math.erfc(abs(z) / math.sqrt(2))


def chi_square_p_value(statistic: float, df: int) -> float:
    """How often chance alone gives a chi-square value of at least this."""
    if statistic < 0 or df <= 0:
        raise ValueError(f"No p value for the chi-square {statistic} with {df} degrees of freedom")
    a, x = df / 2, statistic / 2
    if x == 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:  # the series of the lower tail is quick there
        term = total = 1 / a
        step = a
        while term > total * 1e-17:
            step += 1
            term *= x / step
            total += term
        return 1 - front * total
    # Lentz's algorithm for the continued fraction of the upper tail.
    b = x + 1 - a
    c, d = 1 / _TINY, 1 / b
    fraction = d
    for i in range(1, 10_000):
        b += 2
        d = 1 / _away_from_zero(-i * (i - a) * d + b)
        c = _away_from_zero(b - i * (i - a) / c)
        fraction *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return front * fraction


@lru_cache(maxsize=1024)
def t_quantile(probability: float, df: float) -> float:
    """The t below which Student's t with `df` degrees of freedom falls with this probability."""
    if not 0 < probability < 1 or df <= 0:
        raise ValueError(f"No t quantile for probability {probability} and {df} degrees of freedom")
    if probability < 0.5:
        return -t_quantile(1 - probability, df)
    # The upper tail is compared, not the distribution function: near 1 that has lost its digits.
    target = 1 - probability
    low, high = 0.0, 1.0
    while _upper_tail(high, df) > target:
        low, high = high, high * 2
    while high - low > 1e-15 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _upper_tail(middle, df) > target:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def t_p_value(t: float, df: float) -> float:
    """The two-sided p value of Student's t: how often chance alone gives one at least as far from zero."""
    return 2 * _upper_tail(t, df)


def _upper_tail(t: float, df: float) -> float:
    return 0.5 * _incomplete_beta(df / 2, 0.5, df / (df + t * t))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz's algorithm)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _incomplete_beta(b, a, 1 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1.0 / _away_from_zero(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d = 1.0 / _away_from_zero(1 + step * d)
            c = _away_from_zero(1 + step / c)
            fraction *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return math.exp(log_front) * fraction / a


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
