"""Who is first, and how sure is that? Ranks with ranges that hold for all competitors at once.

Two competitors are told apart where their difference, paired over clusters, is larger than the largest that chance
makes among all pairs (95 % of the maxima over bootstrap resamples, studentised). A competitor's rank then lies between
one more than the number of those surely better, and the number of those not surely worse (Mogstad, Romano, Shaikh and
Wilhelm, 2024). All ranges together hold in 95 of 100 such rankings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.metrics.bootstrap import RESAMPLES, resample_jointly
from vivant.metrics.distributions import normal_quantile, t_quantile

Matrix = NDArray[np.float64]
Labels = NDArray[np.intp]
LEVEL = 0.95
FEWEST_CLUSTERS = 10
"""Below this nothing is resampled."""
_TINY = 1e-12


class Ranking(Struct, frozen=True, eq=False, kw_only=True):
    """Competitors in their own order; `order` sorts them, the best first."""

    scores: Matrix
    errors: Matrix
    """Standard error of each pair's difference, a row and a column per competitor."""
    order: tuple[int, ...]
    ranks: tuple[tuple[int, int], ...]
    """The best and the worst rank of each that the data allow."""
    best: Matrix
    """In which share of resamples each is first; ties count for all of them."""
    groups: tuple[tuple[int, ...], ...]
    """Neighbours of the order of whom no two can be told apart; one may be in several."""
    critical: float
    """Differences of more than so many standard errors are told apart."""
    clusters: int

    def find_place(self, index: int) -> tuple[int, bool]:
        """The place by score alone, and whether another shares it."""
        gaps = self.scores - self.scores[index]
        return 1 + int((gaps > _TINY).sum()), int((np.abs(gaps) <= _TINY).sum()) > 1

    def is_better(self, first: int, second: int) -> bool:
        """Whether the first is surely better than the second."""
        gap = self.scores[first] - self.scores[second]
        return bool(gap > max(self.critical * self.errors[first, second], _TINY))


def sum_clusters(values: Matrix, labels: Labels) -> tuple[Matrix, Matrix]:
    """The totals of each column within each cluster, and the sizes of clusters."""
    groups = int(labels.max()) + 1
    sums = np.empty((groups, values.shape[1]))
    for column in range(values.shape[1]):
        sums[:, column] = np.bincount(labels, weights=values[:, column], minlength=groups)
    return sums, np.bincount(labels, minlength=groups).astype(np.float64)


def rank_means(values: Matrix, labels: Labels, *, seed: int = 0, resamples: int = RESAMPLES) -> Ranking:
    """Rank competitors by their means on the same samples.

    Args:
        values: A row per sample, a column per competitor, and no gaps.
        labels: The cluster of each sample, numbered from 0.
        seed: Of the resamples.
        resamples: How many.
    """
    sums, sizes = sum_clusters(values, labels)
    means = values.mean(axis=0)
    count = sizes.size
    if count < FEWEST_CLUSTERS:
        raise ValueError(f"{count} clusters are too few to rank by; {FEWEST_CLUSTERS} are needed")
    residuals = sums - np.outer(sizes, means)
    covariance = residuals.T @ residuals * (count / (count - 1) / sizes.sum() ** 2)
    drawn = resample_jointly(sums, sizes, seed=seed, resamples=resamples)
    return rank_estimates(means, difference_errors(covariance), drawn, count)


def difference_errors(covariance: Matrix) -> Matrix:
    """Standard errors of all differences."""
    variances = np.diag(covariance)
    result: Matrix = np.sqrt(np.maximum(variances[:, None] + variances[None, :] - 2 * covariance, 0.0))
    return result


def rank_estimates(scores: Matrix, errors: Matrix, drawn: Matrix, clusters: int) -> Ranking:
    """Rank estimates of which resamples were drawn: a row per resample, a column per competitor."""
    # Resamples of few clusters vary too little: see `bootstrap.py`.
    widening = math.sqrt(clusters / (clusters - 1)) * t_quantile(0.975, clusters - 1) / normal_quantile(0.975)
    shifted = scores + (drawn - scores) * widening
    critical = _critical_value(scores, errors, shifted)
    size = scores.size
    order = tuple(sorted(range(size), key=lambda index: (-scores[index], index)))
    gaps = scores[:, None] - scores[None, :]
    above = gaps > np.maximum(critical * errors, _TINY)  # also where the gap is the same in all clusters
    ranks = tuple((1 + int(above[:, j].sum()), size - int(above[j].sum())) for j in range(size))
    best = (shifted >= shifted.max(axis=1, keepdims=True) - _TINY).mean(axis=0)
    return Ranking(
        scores=scores,
        errors=errors,
        order=order,
        ranks=ranks,
        best=best,
        groups=_find_groups(order, above | above.T),
        critical=critical,
        clusters=clusters,
    )


def _critical_value(scores: Matrix, errors: Matrix, drawn: Matrix) -> float:
    """What the largest studentised difference of any pair stays below in 95 % of resamples."""
    size = scores.size
    if size < 2:
        return normal_quantile((1 + LEVEL) / 2)
    deviations = drawn - scores
    largest = np.zeros(len(drawn))
    for first in range(size - 1):
        error = errors[first, first + 1 :]
        known = error > 0
        if known.any():
            pairs = np.abs(deviations[:, first, None] - deviations[:, first + 1 :])[:, known] / error[known]
            np.maximum(largest, pairs.max(axis=1), out=largest)
    return max(float(np.quantile(largest, LEVEL)), normal_quantile((1 + LEVEL) / 2))


def _find_groups(order: Sequence[int], apart: NDArray[np.bool_]) -> tuple[tuple[int, ...], ...]:
    """The longest stretches of the order within which nobody is told apart."""
    groups: list[tuple[int, ...]] = []
    last = 0
    for start in range(len(order)):
        end = start + 1
        while end < len(order) and not apart[order[end], list(order[start:end])].any():
            end += 1
        if end > last:
            groups.append(tuple(order[start:end]))
            last = end
    return tuple(groups)


# ── Bradley–Terry ────────────────────────────────────────────────────────────────────────────────

_ROUNDS = 200
_PRIOR = 0.5
"""Half a win and half a loss against everybody met, so that who never lost has a finite strength."""


def count_wins(values: Matrix, labels: Labels) -> Matrix:
    """By cluster, how often each competitor did better than each other on a sample that both answered; ties are half.

    `values` may have gaps (NaN). The result has a row per cluster and, in it, competitors × competitors.
    """
    groups = int(labels.max()) + 1
    size = values.shape[1]
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(groups))
    ordered = values[order].astype(np.float32)
    wins = np.empty((groups, size, size), np.float64)
    for column in range(size):
        mine = ordered[:, column : column + 1]
        # A gap compares as neither more nor equal.
        points = (mine > ordered) + np.float32(0.5) * (mine == ordered)
        wins[:, column, :] = np.add.reduceat(points, starts, axis=0)
    wins[:, np.arange(size), np.arange(size)] = 0.0
    return wins


def fit_bradley_terry(wins: Matrix) -> Matrix:
    """Strengths as log-odds with mean 0: who has 1 more than another wins 73 of 100 (Hunter's algorithm, 2004).

    Args:
        wins: Competitors × competitors, or a stack of such; `wins[i, j]` is how often i beat j.
    """
    played = wins + np.swapaxes(wins, -1, -2)
    games = played + 2 * _PRIOR * (played > 0)
    points = (wins + _PRIOR * (played > 0)).sum(axis=-1)
    strengths = np.ones(wins.shape[:-1])
    for _ in range(_ROUNDS):
        shares = games / (strengths[..., :, None] + strengths[..., None, :])
        updated = points / np.maximum(shares.sum(axis=-1), _TINY)
        updated /= np.exp(np.log(np.maximum(updated, _TINY)).mean(axis=-1, keepdims=True))
        change = float(np.abs(np.log(np.maximum(updated, _TINY) / np.maximum(strengths, _TINY))).max())
        strengths = updated
        if change < 1e-8:
            break
    result: Matrix = np.log(np.maximum(strengths, _TINY))
    return result


def find_unconnected(wins: Matrix) -> tuple[int, int] | None:
    """Two competitors between whom no chain of meetings leads; None where all are connected."""
    played = (wins + wins.T) > 0
    reached = {0}
    frontier = [0]
    while frontier:
        near = [int(index) for index in np.flatnonzero(played[frontier.pop()]) if int(index) not in reached]
        reached.update(near)
        frontier += near
    missing = [index for index in range(len(wins)) if index not in reached]
    return (0, missing[0]) if missing else None


def rank_strengths(wins: Matrix, *, seed: int = 0, resamples: int = 500) -> Ranking:
    """Rank by Bradley–Terry strengths; `wins` is what `count_wins` returns, of one task or several."""
    groups, size = wins.shape[0], wins.shape[1]
    if groups < FEWEST_CLUSTERS:
        raise ValueError(f"{groups} clusters are too few to rank by; {FEWEST_CLUSTERS} are needed")
    strengths = fit_bradley_terry(wins.sum(axis=0))
    sizes = np.ones(groups)
    drawn = resample_jointly(wins.reshape(groups, size * size), sizes, seed=seed, resamples=resamples)
    fits = fit_bradley_terry(np.maximum(drawn, 0.0).reshape(-1, size, size) * groups)
    return rank_estimates(strengths, difference_errors(np.cov(fits, rowvar=False)), fits, groups)
