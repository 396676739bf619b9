"""Spans of time: how far two sets of them are the same."""

from __future__ import annotations

from collections.abc import Sequence

Spans = Sequence[Sequence[float]]
"""Each with its start and end."""


def overlap(first: Spans, second: Spans) -> float:
    """Time in both as a share of the time in either; 1 where both are empty."""
    left, right = _merge(first), _merge(second)
    both = sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in left for b in right)
    either = _length(left) + _length(right) - both
    return both / either if either else 1.0


def _length(spans: Sequence[tuple[float, float]]) -> float:
    return sum(end - start for start, end in spans)


def _merge(spans: Spans) -> list[tuple[float, float]]:
    """Spans that overlap or touch as one, in their order."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted((float(start), float(end)) for start, end in spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
