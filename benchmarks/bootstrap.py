"""Bootstrap intervals of 100 groups of 10,000 samples: right or wrong and on a scale, alone and in clusters.

Peer: scipy.stats.bootstrap with the same number of resamples (percentile ends), on the first groups of each
kind and scaled up, since it takes long. Limits: 2 s for all 100 groups of each kind, and quicker than the peer.

    python benchmarks/bootstrap.py
"""

from __future__ import annotations

import importlib.metadata
import sys
import time

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from vivant.metrics.bootstrap import RESAMPLES, Totals, totals
from vivant.metrics.intervals import MetricGroup, mean_intervals, numbered

GROUPS, SAMPLES = 100, 10_000
PEER_GROUPS = 4
LIMIT = 2.0
"""Seconds for all groups of a kind."""
RATIO_LIMIT = 1.0

Column = NDArray[np.float64]
Ends = list[tuple[float, float]]


def ratio(sums: Column, sizes: Column, axis: int = -1) -> Column:
    """The mean of a resample of clusters."""
    found: Column = sums.sum(axis=axis) / sizes.sum(axis=axis)
    return found


def ours(groups: list[MetricGroup]) -> tuple[float, Ends]:
    """Seconds (the best of five rounds) from plain lists and names of clusters, and the ends."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        found = mean_intervals(groups, method="bootstrap")
        best = min(best, time.perf_counter() - start)
    return best, [(interval.low, interval.high) for interval in found if interval is not None]


def peer(groups: list[Totals]) -> tuple[float, Ends]:
    """The same by scipy, from arrays made beforehand: the mean of samples, or the ratio of cluster totals."""
    start = time.perf_counter()
    ends: Ends = []
    for group in groups:
        alone = bool((group.sizes == 1).all())
        found = stats.bootstrap(
            (group.sums,) if alone else (group.sums, group.sizes),
            np.mean if alone else ratio,
            n_resamples=RESAMPLES,
            method="percentile",
            paired=not alone,
            vectorized=True,
            batch=200,
            rng=np.random.default_rng(1),
        ).confidence_interval
        ends.append((float(found.low), float(found.high)))
    return time.perf_counter() - start, ends


def kinds() -> dict[str, list[MetricGroup]]:
    """The data: scores of 10,000 samples in each group."""
    rng = np.random.default_rng(0)
    alone = [f"sample{i}" for i in range(SAMPLES)]
    tens = [f"action{i // 10}" for i in range(SAMPLES)]
    right = [(rng.random(SAMPLES) < rng.uniform(0.2, 0.9)).astype(np.float64).tolist() for _ in range(GROUPS)]
    scale = [rng.beta(2, 3, SAMPLES).tolist() for _ in range(GROUPS)]
    return {
        "right or wrong": [MetricGroup(values, alone) for values in right],
        "right or wrong, clusters of 10": [MetricGroup(values, tens) for values in right],
        "on a scale": [MetricGroup(values, alone) for values in scale],
        "on a scale, clusters of 10": [MetricGroup(values, tens) for values in scale],
    }


def prepared(group: MetricGroup) -> Totals:
    """What the peer works on."""
    return totals(np.asarray(group.values), numbered(group.clusters or ()))


def main() -> int:
    """Measure, compare the ends, print the ratios."""
    version = importlib.metadata.version("scipy")
    print(
        f"{GROUPS} groups × {SAMPLES:,} samples, {RESAMPLES:,} resamples; peer: scipy.stats.bootstrap {version}"
    )
    good = True
    for name, groups in kinds().items():
        seconds, found = ours(groups)
        theirs, expected = peer([prepared(group) for group in groups[:PEER_GROUPS]])
        scaled = theirs / PEER_GROUPS * GROUPS
        widths = [high - low for low, high in expected]
        apart = max(
            max(abs(a[0] - b[0]), abs(a[1] - b[1])) / width
            for a, b, width in zip(found, expected, widths, strict=False)
        )
        fine = seconds <= LIMIT and scaled / seconds >= RATIO_LIMIT
        good = good and fine
        print(
            f"{name:32} {seconds:6.2f} s  peer {scaled:7.1f} s  ratio {scaled / seconds:6.1f}  "
            f"ends differ by {apart:.1%} of the width  {'ok' if fine else 'MISSED'}"
        )
    print(f"limits: at most {LIMIT:.0f} s, and a ratio of at least {RATIO_LIMIT:.0f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
