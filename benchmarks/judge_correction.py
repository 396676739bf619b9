"""Judges corrected by people, simulated: coverage, bias and width beside people alone and beside the judge alone.

Scores from 0 to 6 and shares (0 or 1), a judge that is a standard deviation too kind and correlates with people by 0,
0.5 or 0.9, items in clusters of one or five, 30 to 150 of 1,000 items judged by people, drawn item by item, cluster by
cluster, or with unequal chances; and scored by 15 persons of whom some are kinder than others. A cell fails where
coverage is surely outside 93 to 97 %, where the mean error exceeds four standard errors, or where any interval is more
than 2 % wider than that of people alone.

    python benchmarks/judge_correction.py [ROUNDS]
"""

from __future__ import annotations

import sys
from statistics import NormalDist

import numpy as np
from msgspec import Struct

from vivant.metrics.prediction_powered import RaterScores, correct_mean

TOTAL = 1000
ALIKE = 0.3
"""Intraclass correlation of clusters."""
PERSONS, KINDNESS = 15, 0.5
"""People who score, where they differ, and the standard deviation of how kind they are, in points of 6."""
ROUNDS = 1000
LOWEST, HIGHEST, WIDEST = 0.93, 0.97, 1.02


class Cell(Struct, frozen=True):
    """One setting."""

    kind: str
    rate: float
    labelled: int
    size: int
    drawn: str
    agreement: float


def list_cells() -> list[Cell]:
    """All settings. Fewer than 20 clusters judged by people are left out: there no weight is tuned."""
    return [
        Cell(kind, rate, labelled, size, drawn, agreement)
        for kind, rate in (("score", 0.5), ("share", 0.2), ("share", 0.5), ("share", 0.8))
        for labelled, size, drawn in (
            *((n, 1, "items") for n in (30, 60, 150)),
            *((n, 5, "items") for n in (60, 150)),
            (150, 5, "clusters"),
            (100, 1, "unequally"),
        )
        for agreement in (0.0, 0.5, 0.9)
    ] + [
        Cell("score", 0.5, 150, size, "by persons", agreement)
        for size in (1, 5)
        for agreement in (0.0, 0.5, 0.9)
    ]


def simulate(cell: Cell, rounds: int) -> tuple[float, float, float, float, float]:
    """Coverage, mean error in standard errors, mean and largest width over people alone, the judge's own error."""
    rng = np.random.default_rng([round(10 * cell.rate), cell.labelled, cell.size, round(10 * cell.agreement)])
    labels = np.repeat(np.arange(TOTAL // cell.size), cell.size)
    cut = NormalDist().inv_cdf(1 - cell.rate)
    truth = _mean_score() if cell.kind == "score" else cell.rate
    errors, ratios, judged, held = [], [], [], 0
    for _ in range(rounds):
        quality = ALIKE**0.5 * rng.normal(size=labels[-1] + 1)[labels] + (1 - ALIKE) ** 0.5 * rng.normal(
            size=TOTAL
        )
        seen = cell.agreement * quality + (1 - cell.agreement**2) ** 0.5 * rng.normal(size=TOTAL)
        if cell.kind == "score":
            people, judge = (np.clip(np.round(3 + 1.5 * x), 0, 6) for x in (quality, seen + 1))
        else:
            people, judge = (quality > cut).astype(float), (seen + 1 > cut).astype(float)
        chances = raters = None
        if cell.drawn == "unequally":
            doubt = 0.3 + np.abs(judge - judge.mean())
            chances = np.minimum(1, cell.labelled * doubt / doubt.sum())
            taken = rng.random(TOTAL) < chances
        elif cell.drawn == "clusters":
            taken = np.isin(labels, rng.choice(labels[-1] + 1, cell.labelled // cell.size, replace=False))
        else:
            taken = rng.permutation(TOTAL) < cell.labelled
        if cell.drawn == "by persons":
            items = np.flatnonzero(taken)
            persons = rng.permutation(np.resize(np.arange(PERSONS), items.size))
            kind = rng.normal(0, KINDNESS, PERSONS)[persons]
            people[items] = np.clip(np.round(3 + 1.5 * quality[items] + kind), 0, 6)
            raters = RaterScores(items, persons, people[items])
        result = correct_mean(
            judge,
            np.where(taken, people, np.nan),
            labels.tolist(),
            probabilities=chances,
            raters=raters,
            binary=cell.kind == "share",
            bounds=(0, 6),
        )
        interval, alone = result.interval, result.people_interval
        assert interval is not None
        assert alone is not None
        errors.append(result.value - truth)
        judged.append(result.judge - truth)
        ratios.append((interval.high - interval.low) / (alone.high - alone.low))
        held += interval.low <= truth <= interval.high
    bias = float(np.mean(errors) / (np.std(errors) / rounds**0.5))
    return held / rounds, bias, float(np.mean(ratios)), float(np.max(ratios)), float(np.mean(judged))


def _mean_score() -> float:
    """The mean of a normal score, rounded and cut to 0–6: symmetric around 3."""
    return 3.0


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    noise = 3 * (0.95 * 0.05 / rounds) ** 0.5
    failed = 0
    print("kind   rate people size drawn      agreement  coverage  bias(se)  width  widest  judge alone")
    for cell in list_cells():
        coverage, bias, width, widest, judged = simulate(cell, rounds)
        bad = not LOWEST - noise <= coverage <= HIGHEST + noise or abs(bias) > 4 or widest > WIDEST
        failed += bad
        print(
            f"{cell.kind:6} {cell.rate:4.1f} {cell.labelled:6} {cell.size:4} {cell.drawn:10} {cell.agreement:9.1f}  "
            f"{coverage:8.3f}  {bias:8.2f}  {width:5.2f}  {widest:6.3f}  {judged:+11.2f}{'  <-- fails' if bad else ''}",
            flush=True,
        )
    print(f"{failed} of {len(list_cells())} cells fail ({rounds} rounds each)")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
