"""Numbers in the sentences that steps print."""

from __future__ import annotations


def count_noun(number: int, noun: str, plural: str = "") -> str:
    """`1 video`, `2,000 videos`; `plural` where it is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
