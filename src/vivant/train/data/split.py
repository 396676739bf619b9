"""Dividing a benchmark's samples by one of their facets, so that nothing of a kind is both learnt and tested.

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

Part = Literal["train", "validation", "test"]
PARTS: tuple[Part, ...] = ("train", "validation", "test")


class Split(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One part of a division."""

    part: Part
    by: str = "action"
    """The facet whose values are divided."""
    sizes: tuple[int, int, int] = (36, 14, 36)
    """Values in each part; where there are more or fewer in all, they are divided in this proportion."""
    seed: int = 0
    """Another seed is another division: for several folds."""

    def values(self, samples: Iterable[Sample]) -> tuple[str, ...]:
        """The facet's values in this part."""
        found = sorted({sample.facets[self.by] for sample in samples if self.by in sample.facets})
        if not found:
            raise DataError(f"split: no sample has the facet '{self.by}'")
        parts = divide(found, self.sizes, self.seed, self.by)
        chosen = parts[PARTS.index(self.part)]
        if not chosen:
            raise DataError(
                f"split: {len(found)} values of '{self.by}' leave none for the part '{self.part}'"
            )
        return chosen

    def condition(self, samples: Iterable[Sample]) -> str:
        """The same as `--where` takes it."""
        return f"{self.by}={','.join(self.values(samples))}"


def divide(values: Sequence[str], sizes: Sequence[int], seed: int, name: str) -> list[tuple[str, ...]]:
    """Values in parts of these sizes, or of sizes in this proportion, drawn by chance; each part is sorted."""
    total = sum(sizes)
    if total <= 0 or min(sizes) < 0:
        raise DataError(f"split: sizes {', '.join(map(str, sizes))} divide nothing")
    order = sorted(values)
    derive_generator(seed, "split", name).shuffle(order)
    ends = [round(len(order) * sum(sizes[: place + 1]) / total) for place in range(len(sizes))]
    return [tuple(sorted(order[start:end])) for start, end in zip([0, *ends], ends, strict=False)]
