"""Agreement: Krippendorff's alpha of 100,000 judgements at three levels, and all other figures.

Peer: the `krippendorff` package on the same table, where it is installed; else none, and the output says so.
Limit: at least as fast as the peer, and all figures together under 2 s of CPU.

    python benchmarks/agreement.py
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from vivant.metrics.agreement import (
    Level,
    flatten,
    fleiss_kappa,
    krippendorff_alpha,
    pearson,
    percent_agreement,
    quadratic_kappa,
    spearman,
)

RATERS, ITEMS = 5, 22_400
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
RATIO_LIMIT = 1.0
CPU_LIMIT = 2.0


def timed(work: Callable[[], list[float]], rounds: int = 5) -> tuple[float, list[float]]:
    """Median CPU seconds, and the result."""
    spent = []
    for _ in range(rounds):
        start = time.process_time()
        result = work()
        spent.append(time.process_time() - start)
    return statistics.median(spent), result


def main() -> int:
    """Measure, compare the figures, print the ratio."""
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 8, ITEMS)
    table = np.clip(truth + rng.integers(-1, 2, (RATERS, ITEMS)), 1, 7).astype(float)
    full = flatten(table)
    first, second = table[0].copy(), table[1].copy()
    table[rng.random(table.shape) < 0.1] = np.nan
    items, values = flatten(table)

    def alphas() -> list[float]:
        return [krippendorff_alpha(items, values, level) for level in LEVELS]

    def others() -> list[float]:
        pair = [quadratic_kappa(first, second), pearson(first, second), spearman(first, second)]
        return [percent_agreement(items, values), fleiss_kappa(*full), *pair]

    ours, found = timed(alphas)
    rest, _ = timed(others)
    good = ours + rest <= CPU_LIMIT
    print(
        f"vivant   {values.size} judgements: alpha at three levels {ours:.3f} s, the rest {rest:.3f} s of CPU"
    )
    print(f"limit    together at most {CPU_LIMIT:.0f} s  {'ok' if good else 'MISSED'}")
    if importlib.util.find_spec("krippendorff") is None:
        print("peer     krippendorff is not installed: nothing to compare with")
        return 0 if good else 1
    package = importlib.import_module("krippendorff")
    version = importlib.metadata.version("krippendorff")
    theirs, expected = timed(
        lambda: [float(package.alpha(reliability_data=table, level_of_measurement=lv)) for lv in LEVELS]
    )
    ratio = theirs / ours
    apart = max(abs(a - b) for a, b in zip(found, expected, strict=True))
    good = good and ratio >= RATIO_LIMIT
    print(f"peer     krippendorff {version}: {theirs:.3f} s; figures differ by at most {apart:.1e}")
    print(f"ratio    {ratio:.1f} (limit: at least {RATIO_LIMIT:.0f})  {'ok' if good else 'MISSED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
