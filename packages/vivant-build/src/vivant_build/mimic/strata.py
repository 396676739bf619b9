"""Places dealt out over strata, so that a benchmark is not all of the largest category, language and length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from vivant.benchmarks.mimic.names import choose_length_bucket
from vivant_build.mimic.settings import SelectSettings

Stratum = tuple[str, str, str]
_COPY = "near-duplicate of one with a higher score"
ENOUGH = "its uploader has enough videos in"
_PLACES = "its stratum has its places"
RARE = "too few in its language"
LATER_REASONS = (_COPY, ENOUGH, _PLACES, RARE)
"""Why videos that might have been chosen were not; a reason may go on after these words."""


class VideoCandidate(Struct, frozen=True, kw_only=True):
    """A video that may be chosen."""

    ref: str
    score: float
    uploader: str
    dup_group: int | None
    category: str
    language: str
    length: str

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> VideoCandidate:
        """A candidate of a row (ref, score, uploader, dup_group, category, language, duration)."""
        *values, duration = row
        fields = ("ref", "score", "uploader", "dup_group", "category", "language")
        return cls(**dict(zip(fields, values, strict=True)), length=choose_length_bucket(duration))

    @property
    def stratum(self) -> Stratum:
        """Category, language, length."""
        return self.category, self.language, self.length


def choose_videos(
    candidates: Sequence[VideoCandidate], settings: SelectSettings
) -> tuple[list[VideoCandidate], dict[str, str]]:
    """The chosen, the highest score first, and why each of the others is not.

    Fewer than `settings.target` are returned only where there are no more to choose from.
    """
    why: dict[str, str] = {}
    ordered = sorted(candidates, key=lambda c: (-c.score, c.ref))
    ordered = _drop_near_duplicates(ordered, why)
    ordered = _limit_uploaders(ordered, settings.per_uploader, why)
    ordered = _drop_rare_languages(ordered, settings.fewest_in_language, why)
    sizes = Counter(c.stratum for c in ordered)
    quotas = allot_places(sizes, min(settings.target, len(ordered)), settings.balance)
    chosen = []
    for candidate in ordered:
        if quotas[candidate.stratum] > 0:
            quotas[candidate.stratum] -= 1
            chosen.append(candidate)
        else:
            why[candidate.ref] = _PLACES
    return chosen, why


def _drop_near_duplicates(ordered: Sequence[VideoCandidate], why: dict[str, str]) -> list[VideoCandidate]:
    groups: set[int] = set()
    chosen = []
    for candidate in ordered:
        if candidate.dup_group is not None and candidate.dup_group in groups:
            why[candidate.ref] = _COPY
            continue
        if candidate.dup_group is not None:
            groups.add(candidate.dup_group)
        chosen.append(candidate)
    return chosen


def _limit_uploaders(
    ordered: Sequence[VideoCandidate], most: int, why: dict[str, str]
) -> list[VideoCandidate]:
    taken: Counter[str] = Counter()
    chosen = []
    for candidate in ordered:
        taken[candidate.uploader] += 1
        if candidate.uploader and taken[candidate.uploader] > most:
            why[candidate.ref] = ENOUGH
        else:
            chosen.append(candidate)
    return chosen


def _drop_rare_languages(
    ordered: Sequence[VideoCandidate], fewest: int, why: dict[str, str]
) -> list[VideoCandidate]:
    speakers = Counter(c.language for c in ordered)
    for candidate in ordered:
        if speakers[candidate.language] < fewest:
            why[candidate.ref] = f"{RARE} ({candidate.language or 'unknown'})"
    return [c for c in ordered if speakers[c.language] >= fewest]


def allot_places(sizes: Mapping[Stratum, int], places: int, balance: float) -> dict[Stratum, int]:
    """Places per stratum, in proportion to size to the power of `balance`, never more than there are.

    What a full stratum cannot take goes to the others; fractions go to the largest remainders.
    """
    quotas = dict.fromkeys(sizes, 0)
    remaining = min(places, sum(sizes.values()))
    while remaining:
        open_ = sorted(s for s in sizes if quotas[s] < sizes[s])
        weights = {s: sizes[s] ** balance for s in open_}
        total = sum(weights.values())
        ideal = {s: remaining * weights[s] / total for s in open_}
        full = [s for s in open_ if ideal[s] >= sizes[s] - quotas[s]]
        if full:
            for s in full:
                remaining -= sizes[s] - quotas[s]
                quotas[s] = sizes[s]
            continue
        for s in open_:
            quotas[s] += int(ideal[s])
            remaining -= int(ideal[s])
        by_rest = sorted(open_, key=lambda s: (int(ideal[s]) - ideal[s], s))
        for s in by_rest[:remaining]:
            quotas[s] += 1
        remaining = 0
    return quotas
