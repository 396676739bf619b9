"""How many items people should judge, and which: formulas against simulation, draws against their chances."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from vivant.metrics.prediction_powered import correct_mean
from vivant.metrics.sampling_plan import Precision, draw_items, left_out_p_value


@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.9])
def test_the_predicted_width_is_the_one_that_comes_out(correlation: float) -> None:
    rng = np.random.default_rng(1)
    widths = []
    for _ in range(60):
        people = rng.normal(3, 1.2, 900)
        judge = correlation * (people - 3) + rng.normal(0, 1.2 * (1 - correlation**2) ** 0.5, 900)
        part = np.where(rng.permutation(900) < 100, people, np.nan)
        interval = correct_mean(judge, part, binary=False).interval
        assert interval is not None
        widths.append((interval.high - interval.low) / 2)
    plan = Precision(spread=1.2, correlation=correlation, total=900)
    assert plan.half_width(100) == pytest.approx(np.mean(widths), rel=0.05)


def test_the_number_found_is_the_fewest_that_will_do() -> None:
    plan = Precision(spread=1.5, correlation=0.8, total=2000, design_effect=1.4)
    count = plan.find_count(0.3)
    assert count is not None
    assert plan.half_width(count) <= 0.3 < plan.half_width(count - 1)
    alone = plan.find_count(0.3, with_judge=False)
    assert alone is not None
    assert count < 0.6 * alone
    assert plan.find_count(0.01) is None


def test_items_come_up_as_often_as_their_chances_say() -> None:
    rng = np.random.default_rng(2)
    doubt, strata = rng.random(80), np.arange(80) % 3
    judged = np.zeros(80, bool)
    counts = np.zeros(80)
    rounds = 3000
    for seed in range(rounds):
        draw = draw_items(doubt, strata.tolist(), 20, judged=judged, seed=seed)
        assert draw.chosen.sum() == 20
        counts += draw.chosen
    assert np.abs(counts / rounds - draw.probabilities).max() < 0.04
    assert draw.probabilities.min() > 0.1  # nothing is left out, however sure the judge is
    assert np.corrcoef(draw.probabilities, doubt)[0, 1] > 0.8


def test_what_is_judged_is_not_drawn_again_and_counts_in_the_chances() -> None:
    judged = np.arange(50) < 10
    draw = draw_items(np.ones(50), ["x"] * 50, 15, judged=judged)
    assert not (draw.chosen & judged).any()
    assert draw.probabilities == pytest.approx(np.full(50, 25 / 50))
    everything = draw_items(np.ones(50), ["x"] * 50, 99, judged=judged)
    assert everything.chosen.sum() == 40
    assert everything.probabilities == pytest.approx(np.ones(50))


def test_a_small_stratum_is_not_forgotten() -> None:
    strata = ["large"] * 190 + ["small"] * 10
    draw = draw_items(np.ones(200), strata, 20)
    assert draw.chosen[190:].sum() >= 2
    with pytest.raises(ValueError, match="from 0 up"):
        draw_items([-1.0, 1.0], ["x", "x"], 1)


def test_what_chance_leaves_out_agrees_with_all_cases_counted() -> None:
    sizes, chances = [5, 5, 3, 1, 2], [0.1, 0.3, 0.5, 0.9, 0.2]
    for total in range(18):
        counted = 0.0
        for case in product((0, 1), repeat=5):
            if sum(size for size, out in zip(sizes, case, strict=True) if out) >= total:
                counted += math.prod(c if out else 1 - c for c, out in zip(chances, case, strict=True))
        assert left_out_p_value(sizes, chances, total) == pytest.approx(counted, abs=1e-12)
