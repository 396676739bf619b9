"""Ranks as ranges."""

from __future__ import annotations

import pytest

from vivant.metrics.rank_ranges import format_rank, rank_ranges


@pytest.mark.parametrize(
    ("intervals", "ranges"),
    [
        ([(80, 90), (60, 70), (10, 20)], [(1, 1), (2, 2), (3, 3)]),
        ([(80, 90), (75, 85), (10, 20)], [(1, 2), (1, 2), (3, 3)]),
        # The middle one overlaps both its neighbours, which do not overlap each other.
        ([(80, 90), (65, 82), (60, 70)], [(1, 2), (1, 3), (2, 3)]),
        ([(50, 60), (60, 70)], [(1, 2), (1, 2)]),
        ([(80, 90), None, (10, 20)], [(1, 1), None, (2, 2)]),
        ([(80, 90), None], [None, None]),  # nothing was compared
        ([], []),
    ],
)
def test_overlapping_intervals_share_ranks(
    intervals: list[tuple[float, float] | None], ranges: list[tuple[int, int] | None]
) -> None:
    assert rank_ranges(intervals) == ranges


def test_a_range_is_written_with_a_dash() -> None:
    assert [format_rank(rank) for rank in ((1, 1), (2, 4), None)] == ["1", "2–4", "–"]
