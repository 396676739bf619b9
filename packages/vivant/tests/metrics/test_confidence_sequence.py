"""Intervals that may be looked at after every unit, and the order of asking that makes them valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vivant.metrics.confidence_sequence import ConfidenceSequence
from vivant.metrics.sampling_order import order_in_units

if TYPE_CHECKING:
    import numpy as np

REFERENCE = {
    None: {
        0.35: 508.01338609405013,
        0.5: 2.629010998224743,
        0.62: 0.5616534007133033,
        0.8: 308.32167743954636,
    },
    200: {0.35: 25466.80847246305, 0.5: 10.602069918272246, 0.62: 1.2584231822471645},
}
"""By population size and mean: `confseq.betting.betting_mart(x, m, N=N, convex_comb=True, trunc_scale=0.75)` of
confseq 0.0.11 on the values below, with all bets 0.3."""


@pytest.mark.parametrize("units", [None, 200])
def test_the_capital_is_that_of_the_reference_implementation(
    units: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    values = (np.random.default_rng(5).random(120) < 0.6).astype(float)
    sequence = ConfidenceSequence(units=units, target=0.1, level=1 - 1e-15)
    monkeypatch.setattr(ConfidenceSequence, "_bets", lambda *_: np.full(7, 0.3))
    sequence.extend((value, 1) for value in values)
    for mean, capital in REFERENCE[units].items():
        assert sequence.capital(mean) == pytest.approx(capital, rel=1e-9)


INTERVALS = {
    (0.1, None): ((0.055, 0.245), (0.064, 0.215), (0.071, 0.196)),
    (0.1, 400): ((0.060, 0.237), (0.074, 0.198), (0.090, 0.172)),
    (0.3, None): ((0.252, 0.536), (0.267, 0.478), (0.268, 0.446)),
    (0.3, 400): ((0.263, 0.521), (0.285, 0.458), (0.293, 0.414)),
    (0.5, None): ((0.416, 0.723), (0.432, 0.667), (0.443, 0.649)),
    (0.5, 400): ((0.429, 0.709), (0.455, 0.646), (0.477, 0.616)),
    (0.9, None): ((0.815, 0.974), (0.854, 0.965), (0.865, 0.953)),
    (0.9, 400): ((0.826, 0.969), (0.869, 0.957), (0.882, 0.930)),
}
"""By share right and population size, the ends after 100, 200 and 300 values of
`confseq.betting.betting_cs(x, N=N, running_intersection=True)` of confseq 0.0.11, built with Boost 1.74."""


@pytest.mark.parametrize(("rate", "units"), INTERVALS)
def test_the_interval_is_as_narrow_as_that_of_the_reference_implementation(
    rate: float, units: int | None
) -> None:
    import numpy as np

    values = (np.random.default_rng(11).random(400) < rate).astype(float)
    sequence = ConfidenceSequence(units=units, target=0.05)
    for count, (low, high) in zip((100, 200, 300), INTERVALS[rate, units], strict=True):
        sequence.extend((value, 1) for value in values[sequence.count : count])
        assert max(low, sequence.low) < min(high, sequence.high)  # they agree on some means
        if count > 100:  # before that, this one saves its bets for the target
            assert sequence.high - sequence.low < 1.1 * (high - low)


def draw(rng: np.random.Generator, clusters: int, size: int, correlation: float, rate: float) -> np.ndarray:
    import numpy as np

    rates = np.full(clusters, rate)
    if correlation:
        weight = (1 - correlation) / correlation
        rates = rng.beta(rate * weight, (1 - rate) * weight, clusters)
    return rng.binomial(size, rates).astype(float)


@pytest.mark.parametrize(("rate", "size", "correlation"), [(0.5, 1, 0.0), (0.1, 5, 0.6), (0.9, 10, 0.2)])
def test_the_interval_holds_the_score_of_all_at_the_moment_of_stopping(
    rate: float, size: int, correlation: float
) -> None:
    import numpy as np

    rng = np.random.default_rng(7)
    held = asked = 0
    for _ in range(30):
        totals = draw(rng, 150, size, correlation, rate)
        sequence = ConfidenceSequence(units=150, largest=size, target=0.06)
        for total in totals:
            sequence.update(total, size)
            if sequence.half_width <= 0.06:
                break
        held += sequence.low <= totals.sum() / (150 * size) <= sequence.high
        asked += sequence.count
    assert held >= 26  # at exactly 95 %, fewer would come in 2 of 100 such tests
    assert asked < 0.9 * 30 * 150


def test_looking_often_at_the_usual_interval_would_be_wrong() -> None:
    """The same stop by the usual interval misses far more often: what the confidence sequence is for."""

    import numpy as np

    rng = np.random.default_rng(3)
    wrong = 0
    for _ in range(200):
        values = (rng.random(400) < 0.5).astype(float)
        means = values.cumsum() / np.arange(1, 401)
        half = 1.96 * np.sqrt(0.25 / np.arange(1, 401))
        wrong += bool((np.abs(means - 0.5) > half)[9:].any())
    assert wrong > 40
    wrong = 0
    for _ in range(40):
        sequence = ConfidenceSequence()
        for value in rng.random(200) < 0.5:
            sequence.update(float(value), 1)
        wrong += not sequence.low <= 0.5 <= sequence.high
    assert wrong <= 5


def test_clusters_of_different_size_count_by_their_samples() -> None:
    import numpy as np

    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 12, 120)
    totals = rng.binomial(sizes, 0.7)
    sequence = ConfidenceSequence(units=120, largest=11, target=0.03)
    for total, size in zip(totals, sizes, strict=True):
        sequence.update(float(total), float(size))
    assert sequence.low == sequence.high == pytest.approx(totals.sum() / sizes.sum())


def test_a_narrower_target_goes_on_from_where_it_was() -> None:
    import numpy as np

    values = (np.random.default_rng(2).random(2000) < 0.7).astype(float)
    sequence = ConfidenceSequence(units=2000, target=0.08)
    moments: list[int] = []
    for value in values:
        sequence.update(value, 1)
        if len(moments) == 0 and sequence.half_width <= 0.08:
            moments.append(sequence.count)
            sequence.aim(0.04)
        if sequence.half_width <= 0.04:
            moments.append(sequence.count)
            break
    assert moments[0] < moments[1] < 1500
    assert sequence.low <= values.mean() <= sequence.high


def test_resembling_samples_of_a_cluster_ask_for_more() -> None:
    import numpy as np

    def count(correlation: float) -> int:
        totals = draw(np.random.default_rng(4), 400, 10, correlation, 0.5)
        sequence = ConfidenceSequence(units=400, largest=10, target=0.05)
        for total in totals:
            sequence.update(total, 10)
            if sequence.half_width <= 0.05:
                break
        return sequence.count

    assert count(0.6) > 2 * count(0.0)


def test_values_outside_of_the_bounds_are_refused() -> None:
    with pytest.raises(ValueError, match="values lie outside"):
        ConfidenceSequence().update(3.0, 1)
    with pytest.raises(ValueError, match="largest"):
        ConfidenceSequence(largest=2).update(1.0, 3)


def test_clusters_stay_whole_and_each_sample_comes_once() -> None:
    clusters = [f"c{index // 3}" for index in range(900)]
    facets = [{"kind": "ab"[index // 3 % 2], "id": str(index)} for index in range(900)]
    units = order_in_units(clusters, facets, 0, "t")
    assert sorted(index for unit in units for index in unit) == list(range(900))
    assert all(len({clusters[index] for index in unit}) * 3 == len(unit) for unit in units)
    assert units != order_in_units(clusters, facets, 1, "t")
    assert units == order_in_units(clusters, facets, 0, "t")


def test_each_unit_spreads_over_the_facets_of_clusters() -> None:
    facets = [{"kind": "aaab"[index % 4], "length": "xy"[index % 2]} for index in range(1200)]
    units = order_in_units([str(index) for index in range(1200)], facets, 0, "t")
    assert all(len(unit) == 3 for unit in units)  # one of each kind of cluster: a x, a y, b y
    for unit in units[:50]:
        assert sum(facets[index]["kind"] == "b" for index in unit) <= 1
    few = order_in_units([str(index) for index in range(50)], facets[:50], 0, "t")
    assert all(len(unit) == 1 for unit in few)


def test_a_target_that_comes_later_bets_on_what_comes_later_alone() -> None:
    import numpy as np

    values = (np.random.default_rng(6).random(800) < 0.6).astype(float)
    sequence = ConfidenceSequence(units=800).extend((value, 1) for value in values[:200])
    before = sequence.low, sequence.high
    sequence.aim(0.03)
    assert (sequence.low, sequence.high) == before  # what was known is not bet on again
    without = ConfidenceSequence(units=800).extend((value, 1) for value in values[:600])
    sequence.extend((value, 1) for value in values[200:600])
    assert sequence.half_width < without.half_width  # the new target has a stake
    assert sequence.low <= values.mean() <= sequence.high
