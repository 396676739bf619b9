"""Dividing a benchmark's samples by one of their facets, so that no kind is both in training and in the test.

MIME's fine-tuning experiment divides its 86 actions into 36 to learn from, 14 to choose by and 36 to test on; all
videos of an action, whatever avatar, angle or background, stay together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from vivant.core.errors import DataError
from vivant.core.randomness import derive_generator
from vivant.core.types import Sample

SplitPart = Literal["train", "validation", "test"]
SPLIT_PARTS: tuple[SplitPart, ...] = ("train", "validation", "test")


class Split(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One part of a division."""

    part: SplitPart
    by: str = "action"
    """The facet whose values are divided."""
    sizes: tuple[int, int, int] = (36, 14, 36)
    """Values in each part; where there are more or fewer in all, they are divided in this proportion."""
    seed: int = 0
    """Another seed is another division: for several folds."""

    def select_values(self, samples: Iterable[Sample]) -> tuple[str, ...]:
        """The facet's values in this part."""
        values = sorted({sample.facets[self.by] for sample in samples if self.by in sample.facets})
        if not values:
            raise DataError(f"split: no sample has the facet '{self.by}'")
        parts = divide_values(values, self.sizes, self.seed, self.by)
        chosen = parts[SPLIT_PARTS.index(self.part)]
        if not chosen:
            raise DataError(
                f"split: {len(values)} values of '{self.by}' leave none for the part '{self.part}'"
            )
        return chosen

    def format_condition(self, samples: Iterable[Sample]) -> str:
        """The part as a condition of `--where`."""
        return f"{self.by}={','.join(self.select_values(samples))}"


def divide_values(values: Sequence[str], sizes: Sequence[int], seed: int, name: str) -> list[tuple[str, ...]]:
    """Values in parts of these sizes, or of sizes in this proportion, drawn by chance; each part is sorted."""
    total = sum(sizes)
    if total <= 0 or min(sizes) < 0:
        raise DataError(f"split: sizes {', '.join(map(str, sizes))} divide nothing")
    order = sorted(values)
    derive_generator(seed, "split", name).shuffle(order)
    ends = [round(len(order) * sum(sizes[: index + 1]) / total) for index in range(len(sizes))]
    return [tuple(sorted(order[start:end])) for start, end in zip([0, *ends], ends, strict=False)]
