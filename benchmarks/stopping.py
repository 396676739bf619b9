"""How often the interval of `--until` holds the benchmark's score when the run stops, and what that saves: simulated.

Cells: share of right answers 0.1 to 0.9, clusters of 1, 3 and 10, intraclass correlation 0 to 0.6 (beta-binomial). Each
round draws a benchmark of 300 clusters, asks them in random order and stops at a half-width of 5 points. Beside it:

- `peeking`: the usual clustered interval, looked at after each cluster and stopped at the same half-width (peer)
- `fixed`: what a sample of fixed size would ask for the same half-width, if the spread were known beforehand (limit: no
  method that looks at the data can ask less for an interval of this kind)

0.95 is meant as the least. A cell that is surely below makes the script fail. A second table has the paired difference
of two equal models: how often `--until-better-than` calls one of them better (0.05 at most). A third has groups of a
run that stopped: how often the interval holds the score of the whole group.

    python benchmarks/stopping.py [ROUNDS]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vivant.benchmarks.sample_units import SampleUnit, StoppedOrder, Target, TaskOrder, group_intervals
from vivant.metrics.confidence_sequence import ConfidenceSequence
from vivant.metrics.intervals import mean_interval

CLUSTERS = 300
TARGET = 0.05
RATES = (0.1, 0.3, 0.5, 0.7, 0.9)
SHAPES = ((1, 0.0), (3, 0.0), (3, 0.3), (3, 0.6), (10, 0.0), (10, 0.3), (10, 0.6))
"""Size of clusters, and how alike their samples are."""
ROUNDS = 400
FIRST_LOOK = 10
"""Clusters before the peer looks at its interval."""

Column = NDArray[np.float64]


def draw(rng: np.random.Generator, size: int, correlation: float, rate: float) -> Column:
    """The right answers in each cluster of a benchmark."""
    rates = np.full(CLUSTERS, rate)
    if correlation:
        weight = (1 - correlation) / correlation
        rates = rng.beta(rate * weight, (1 - rate) * weight, CLUSTERS)
    return rng.binomial(size, rates).astype(np.float64)


def stop(totals: Column, size: int) -> ConfidenceSequence:
    """Ask cluster by cluster until it is enough."""
    sequence = ConfidenceSequence(units=CLUSTERS, largest=size, target=TARGET)
    for total in totals:
        sequence.update(float(total), size)
        if sequence.half_width <= TARGET:
            break
    return sequence


def peek(totals: Column, size: int) -> tuple[float, float]:
    """The usual interval, with the correction for a finite benchmark, at the moment when it is narrow enough."""
    low, high = 0.0, 1.0
    for count in range(FIRST_LOOK, CLUSTERS + 1):
        values = np.repeat(totals[:count] / size, size)
        means = totals[:count] / size
        spread = float(means.std(ddof=1))
        half = 1.96 * spread * math.sqrt((1 - count / CLUSTERS) / count)
        if half <= TARGET:
            usual = mean_interval(values.tolist(), np.repeat(np.arange(count), size).tolist(), binary=False)
            if usual is None:
                continue
            middle = float(means.mean())
            half = (usual.high - usual.low) / 2 * math.sqrt(1 - count / CLUSTERS)
            return middle - half, middle + half
    return low, high


def fixed_share(totals: Column, size: int) -> float:
    """The share of clusters that a fixed sample of the same half-width asks."""
    needed = (1.96 * float((totals / size).std(ddof=1)) / TARGET) ** 2
    return needed / (1 + needed / CLUSTERS) / CLUSTERS


def measure(rate: float, size: int, correlation: float, rounds: int) -> tuple[float, float, float, float]:
    """Coverage at the stop, that of the peer, the share asked, and that of a fixed sample."""
    rng = np.random.default_rng([round(rate * 10), size, round(correlation * 10)])
    held = peeked = asked = fixed = 0.0
    for _ in range(rounds):
        totals = draw(rng, size, correlation, rate)
        truth = float(totals.sum()) / (size * CLUSTERS)
        sequence = stop(totals, size)
        held += sequence.low <= truth <= sequence.high
        low, high = peek(totals, size)
        peeked += low <= truth <= high
        asked += sequence.count / CLUSTERS
        fixed += fixed_share(totals, size)
    return held / rounds, peeked / rounds, asked / rounds, fixed / rounds


def measure_false_calls(rate: float, size: int, correlation: float, rounds: int) -> float:
    """How often two models that are equally good are called different, looked at after each cluster."""
    rng = np.random.default_rng([round(rate * 10), size, round(correlation * 10), 1])
    called = 0
    for _ in range(rounds):
        changes = draw(rng, size, correlation, rate) - draw(rng, size, correlation, rate)
        sequence = ConfidenceSequence(largest=size, bounds=(-1.0, 1.0))
        for change in changes:
            sequence.update(float(change), size)
            if sequence.low > 0 or sequence.high < 0:
                called += 1
                break
    return called / rounds


def measure_groups(rate: float, size: int, correlation: float, rounds: int) -> dict[str, float]:
    """How often the interval of a group holds its score: one sample of each cluster, and every tenth cluster."""
    rng = np.random.default_rng([round(rate * 10), size, round(correlation * 10), 2])
    order = TaskOrder(
        units=tuple(
            SampleUnit(tuple(f"{unit}-{number}" for number in range(size)), size) for unit in range(CLUSTERS)
        ),
        targets=(Target(0, TARGET),),
    )
    within: dict[str, Callable[[int, int], bool]] = {
        "one of each": lambda _, number: number == 0,
        "every tenth": lambda unit, _: unit % 10 == 0,
    }
    members = {
        group: [(unit, number) for unit in range(CLUSTERS) for number in range(size) if test(unit, number)]
        for group, test in within.items()
    }
    names = {group: [f"{unit}-{number}" for unit, number in pairs] for group, pairs in members.items()}
    held = dict.fromkeys(members, 0)
    for _ in range(rounds):
        totals = draw(rng, size, correlation, rate)
        right = rng.permuted(np.arange(size) < totals[:, None], axis=1).astype(np.float64)
        stopped = StoppedOrder(order, stop(totals, size).count)
        values = [
            (group, f"{unit}-{number}", right[unit, number])
            for group, pairs in members.items()
            for unit, number in pairs
        ]
        intervals = group_intervals(stopped, values, names)
        for group, pairs in members.items():
            truth = float(np.mean([right[pair] for pair in pairs]))
            held[group] += intervals[group].low <= truth <= intervals[group].high
    return {group: count / rounds for group, count in held.items()}


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    tolerance = 2.6 * math.sqrt(0.95 * 0.05 / rounds)
    failed = 0
    print(f"{CLUSTERS} clusters, until {100 * TARGET:g} points, {rounds} rounds a cell")
    print(
        f"{'right':>6} {'size':>5} {'ICC':>5} {'holds':>7} {'peeking':>8} {'asked':>7} {'saved':>7} {'fixed':>7}"
    )
    for size, correlation in SHAPES:
        for rate in RATES:
            held, peeked, asked, fixed = measure(rate, size, correlation, rounds)
            wrong = held < 0.95 - tolerance
            failed += wrong
            print(
                f"{rate:6.1f} {size:5d} {correlation:5.1f} {held:7.3f} {peeked:8.3f} {asked:7.0%} {1 - asked:7.0%} "
                f"{fixed:7.0%}{'  !' * wrong}",
                flush=True,
            )
    print("\nTwo equal models: how often one is called better")
    for size, correlation in SHAPES[::3]:
        share = measure_false_calls(0.5, size, correlation, rounds // 2)
        wrong = share > 0.05 + 2.6 * math.sqrt(0.95 * 0.05 / (rounds // 2))
        failed += wrong
        print(f"{0.5:6.1f} {size:5d} {correlation:5.1f} {share:7.3f}{'  !' * wrong}", flush=True)
    print("\nGroups of a run that stopped: how often the interval holds the score of the whole group")
    for size, correlation in SHAPES[1::2]:
        for group, held in measure_groups(0.7, size, correlation, rounds // 4).items():
            wrong = held < 0.95 - 2.6 * math.sqrt(0.95 * 0.05 / (rounds // 4))
            failed += wrong
            print(f"{0.7:6.1f} {size:5d} {correlation:5.1f} {held:7.3f}  {group}{'  !' * wrong}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
