"""Rasch difficulties, the choice of anchor items, and what a few answers say of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vivant.metrics.anchor_items import choose_anchors, estimate_from_subset
from vivant.metrics.item_response import estimate_ability, fit_rasch, predict

if TYPE_CHECKING:
    import numpy as np


def draw(
    rng: np.random.Generator, items: int, models: int, size: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Answers of models to items in clusters, the clusters, and the items' true difficulties."""

    import numpy as np

    labels = np.arange(items) // size
    difficulties = rng.normal(0, 1.2, items // size)[labels] + rng.normal(0, 0.8, items)
    abilities = rng.normal(0, 0.8, models)
    values = (rng.random((items, models)) < predict(difficulties[:, None], abilities[None])).astype(float)
    return values, labels, difficulties


def test_difficulties_agree_with_the_reference_implementation() -> None:
    import girth
    import numpy as np

    values, _, true = draw(np.random.default_rng(0), 60, 400)
    fit = fit_rasch(values)
    reference = girth.rasch_mml(values.astype(int))["Difficulty"]
    assert np.corrcoef(fit.difficulties, reference)[0, 1] > 0.999
    assert fit.difficulties - fit.difficulties.mean() == pytest.approx(reference - reference.mean(), abs=0.2)
    assert np.corrcoef(fit.difficulties, true)[0, 1] > 0.98


def test_items_that_all_or_none_solve_have_a_finite_difficulty_and_gaps_are_left_out() -> None:
    import numpy as np

    values = np.array([[1.0, 1, 1], [0, 0, 0], [1, 0, np.nan], [np.nan, 1, 0]])
    fit = fit_rasch(values)
    assert np.isfinite(fit.difficulties).all()
    assert fit.difficulties[0] < fit.difficulties[2] < fit.difficulties[1]
    assert estimate_ability(fit.difficulties, np.ones(4)) > 3


def test_a_subset_predicts_new_models_better_than_as_many_items_at_random() -> None:
    import numpy as np

    rng = np.random.default_rng(1)
    values, labels, _ = draw(rng, 1200, 30, size=4)
    past, new = values[:, :15], values[:, 15:]
    difficulties = fit_rasch(past).difficulties
    errors, at_random, held = [], [], 0
    for seed in range(20):
        chosen = choose_anchors(difficulties, past, labels, 80, (seed,))
        assert len(set(chosen.tolist())) == 80
        for column in new.T:
            estimate = estimate_from_subset(difficulties[chosen], difficulties, column[chosen])
            errors.append(estimate.value - column.mean())
            held += estimate.interval.low <= column.mean() <= estimate.interval.high
            at_random.append(column[rng.choice(1200, 80, replace=False)].mean() - column.mean())
    assert np.square(errors).mean() < 0.85 * np.square(at_random).mean()
    assert abs(np.mean(errors)) < 0.015
    assert held >= 0.92 * len(errors)


def test_an_unlucky_subset_is_corrected_by_its_difficulty() -> None:
    import numpy as np

    values, _, true = draw(np.random.default_rng(2), 1000, 40)
    difficulties = fit_rasch(values[:, 1:]).difficulties
    easiest = np.argsort(true)[:200]
    estimate = estimate_from_subset(difficulties[easiest], difficulties, values[easiest, 0])
    truth = values[:, 0].mean()
    assert abs(estimate.naive - truth) > 0.2
    assert abs(estimate.value - truth) < 0.5 * abs(estimate.naive - truth)


def test_the_interval_is_at_least_as_wide_as_the_measured_error() -> None:
    import numpy as np

    difficulties = np.zeros(500)
    estimate = estimate_from_subset(difficulties[:200], difficulties, np.tile([0.0, 1.0], 100), measured=0.2)
    assert estimate.interval.high - estimate.interval.low == pytest.approx(2 * 1.96 * 0.2)
    certain = estimate_from_subset(difficulties[:20], difficulties, np.ones(20)).interval
    assert certain.high - certain.low > 0.02
    with pytest.raises(ValueError, match="Cannot choose 9 of 8"):
        choose_anchors(np.zeros(8), np.zeros((8, 2)), np.arange(8), 9)
