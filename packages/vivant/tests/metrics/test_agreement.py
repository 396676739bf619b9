"""Agreement: published worked examples, values worked out by hand, and a plain reference for the rest."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivant.core.errors import DataError
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

NAN = float("nan")
# Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), example C: four observers, twelve units.
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]
# Fleiss (1971) as reworked in many textbooks: ten subjects, fourteen raters, five categories; kappa 0.210.
FLEISS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107)]
)
def test_krippendorffs_own_example(level: Level, alpha: float) -> None:
    assert krippendorff_alpha(*flatten(KRIPPENDORFF), level) == pytest.approx(alpha, abs=1e-6)


def test_fleiss_example() -> None:
    items = [item for item, row in enumerate(FLEISS) for count in row for _ in range(count)]
    values = [value for row in FLEISS for value, count in enumerate(row) for _ in range(count)]
    assert fleiss_kappa(items, values) == pytest.approx(0.20993, abs=1e-5)
    assert percent_agreement(items, values) == pytest.approx(0.37802, abs=1e-5)


def test_percent_agreement_by_hand() -> None:
    # Item x: a, a, b gives one equal pair of three; item y: a, a gives one of one; z alone gives none.
    items = ["x", "x", "x", "y", "y", "z"]
    assert percent_agreement(items, [1, 1, 2, 1, 1, 2]) == pytest.approx(2 / 4)


def test_quadratic_kappa_by_hand() -> None:
    # Squared disagreements 0, 1, 0, 4: mean 1.25. Over all 16 pairings of the raters' values the mean is 2.
    assert quadratic_kappa([1, 2, 3, 4], [1, 3, 3, 2]) == pytest.approx(1 - 1.25 / 2)


def test_correlations_by_hand() -> None:
    assert pearson([1, 2, 3, 4], [2, 4, 6, 9]) == pytest.approx(11.5 / math.sqrt(5 * 26.75))
    assert spearman([1, 2, 3, 4], [10, 20, 40, 30]) == pytest.approx(0.8)
    assert spearman([1, 2, 2, 3], [1, 2, 2, 9]) == pytest.approx(1)
    assert pearson([1, 2, NAN, 3], [3, 2, 9, 1]) == pytest.approx(-1)


def test_correlations_equal_scipys() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(3)
    a = rng.integers(0, 7, 300).astype(float)
    b = np.clip(a + rng.integers(-2, 3, 300), 0, 6)
    assert pearson(a, b) == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-12)
    assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_is_that_of_the_krippendorff_package(level: Level) -> None:
    package = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(5)
    for _ in range(50):
        table = rng.integers(1, 6, (4, 25)).astype(float)
        table[rng.random(table.shape) < 0.3] = NAN
        expected = package.alpha(reliability_data=table, level_of_measurement=level)
        assert krippendorff_alpha(*flatten(table), level) == pytest.approx(expected, abs=1e-12)


def _plain_alpha(items: list[int], values: list[float], level: Level) -> float:
    """Alpha from its definition: all ordered pairs within items against all ordered pairs."""
    units = {item: [v for i, v in zip(items, values, strict=True) if i == item] for item in set(items)}
    units = {item: unit for item, unit in units.items() if len(unit) > 1}
    pool = [v for unit in units.values() for v in unit]

    def distance(a: float, b: float) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        low, high = min(a, b), max(a, b)
        between = sum(low <= v <= high for v in pool)
        return (between - (pool.count(low) + pool.count(high)) / 2) ** 2 if a != b else 0.0

    within = sum(
        sum(distance(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units.values()
    )
    among = sum(distance(a, b) for a, b in permutations(pool, 2))
    return 1 - within * (len(pool) - 1) / among if among else NAN


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=25),
    st.sampled_from(["nominal", "ordinal", "interval"]),
)
def test_alpha_follows_its_definition(judgements: list[tuple[int, int]], level: Level) -> None:
    items = [item for item, _ in judgements]
    values = [float(value) for _, value in judgements]
    expected = _plain_alpha(items, values, level)
    assert krippendorff_alpha(items, values, level) == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_how_items_and_values_are_written_changes_nothing() -> None:
    rng = np.random.default_rng(9)
    items, values = rng.integers(0, 60, 400), rng.integers(0, 5, 400)
    codes = rng.permutation(256)[:60] - 128
    levels: tuple[Level, ...] = ("nominal", "ordinal", "interval")
    for level in levels:
        expected = krippendorff_alpha([f"item {item}" for item in items], values, level)
        small = krippendorff_alpha(codes[items].astype(np.int8), values.astype(np.int8), level)
        assert small == pytest.approx(expected, abs=1e-12)
        # Values that are no whole numbers, and so many items apart that they must be sorted.
        far = krippendorff_alpha(items * 10.0**9, values * 0.1, level)
        assert far == pytest.approx(expected, abs=1e-12)
    many = rng.normal(size=400)
    assert krippendorff_alpha(items, many, "nominal") == pytest.approx(
        _plain_alpha(items.tolist(), many.tolist(), "nominal"), abs=1e-9
    )


def test_what_cannot_be_told_is_nan() -> None:
    levels: tuple[Level, ...] = ("nominal", "ordinal", "interval")
    for level in levels:
        assert math.isnan(krippendorff_alpha([], [], level))
        assert math.isnan(krippendorff_alpha(["x", "y"], [1, 2], level))
        assert math.isnan(krippendorff_alpha(["x", "x", "y", "y"], [1, 1, 1, 1], level))
    assert math.isnan(fleiss_kappa(["x", "x"], [0.1, 0.1]))
    assert math.isnan(fleiss_kappa(["x", "y"], [1, 2]))
    assert math.isnan(percent_agreement(["x", "y"], [1, 2]))
    assert math.isnan(pearson([0.1, 0.1, 0.1], [1, 2, 3]))
    assert math.isnan(spearman([], []))
    assert math.isnan(quadratic_kappa([NAN], [1]))


def test_bad_input_is_named() -> None:
    with pytest.raises(DataError, match="2 to 3"):
        fleiss_kappa(["x", "x", "y", "y", "y"], [1, 2, 1, 2, 1])
    with pytest.raises(DataError, match="2 and 3"):
        pearson([1, 2], [1, 2, 3])
    with pytest.raises(DataError, match="item and a value"):
        krippendorff_alpha(["x"], [1, 2])
    with pytest.raises(DataError, match="ratio"):
        krippendorff_alpha(["x", "x"], [1, 2], "ratio")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="table"):
        flatten([1, 2, 3])
