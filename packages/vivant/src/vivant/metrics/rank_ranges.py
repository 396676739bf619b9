"""Ranks as ranges: which places a value may hold, as far as its interval tells."""

from __future__ import annotations

from collections.abc import Sequence

Ends = tuple[float, float]


def rank_ranges(intervals: Sequence[Ends | None]) -> list[tuple[int, int] | None]:
    """The best and the worst rank of each value; None where it has no interval, or no other value has one.

    One value is ahead of another where its whole interval is above the other's. Intervals that overlap share
    ranks.
    """
    known = [ends for ends in intervals if ends is not None]
    ranges: list[tuple[int, int] | None] = []
    for ends in intervals:
        if ends is None or len(known) < 2:
            ranges.append(None)
            continue
        ahead = sum(other[0] > ends[1] for other in known)
        behind = sum(other[1] < ends[0] for other in known)
        ranges.append((1 + ahead, len(known) - behind))
    return ranges


def format_rank(rank: tuple[int, int] | None) -> str:
    """`1`, `2–4`, or a dash."""
    if rank is None:
        return "–"
    return str(rank[0]) if rank[0] == rank[1] else f"{rank[0]}–{rank[1]}"
