"""The examples of a training: those that are loaded at the start, and those that shards bring as they are read.

An epoch is a sequence of windows. Without shards it is one window with everything. With shards a window holds a few of
them, drawn in another order each epoch, and an even share of what is loaded; the next window's shards are read in
the background. All is fixed by the seed and the epoch, so that processes and resumed trainings agree.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from vivant.core.errors import DataError
from vivant.core.randomness import shuffled_indices
from vivant_train.data.shards import list_shards
from vivant_train.data.sources import (
    Example,
    TrainingSource,
    check_source,
    list_answers,
    load_examples,
    load_folder,
)

logger = logging.getLogger("vivant")
_WINDOW = 2
"""Shards whose examples are mixed with each other."""


class ExampleSet:
    """All examples of a recipe's sources.

    Args:
        sources: what a recipe learns from.
        base: the folder that their paths are relative to.
        seed: draws the order of shards.
    """

    def __init__(self, sources: Sequence[TrainingSource], base: Path, seed: int = 0) -> None:
        for source in sources:
            check_source(source)
        loaded = load_examples(sources, base, seed, shards=False)
        self.fixed, self.warnings = loaded.examples, loaded.warnings
        self._seed = seed
        self._shards = [
            (number, source, shard)
            for number, source in enumerate(sources)
            if source.shards
            for shard in list_shards(source.shards, base)
        ]

    @property
    def streams(self) -> bool:
        """Whether shards are read on the way, so that the number of examples is not known beforehand."""
        return bool(self._shards)

    def describe(self) -> str:
        """How much there is."""
        shards = f"{len(self._shards):,} shards" if self._shards else ""
        fixed = f"{len(self.fixed):,} examples" if self.fixed or not shards else ""
        return " and ".join(part for part in (fixed, shards) if part)

    def iter_windows(self, epoch: int) -> Iterator[tuple[Example, ...]]:
        """The windows of an epoch in order."""
        if not self._shards:
            yield self.fixed
            return
        order = shuffled_indices(len(self._shards), self._seed, "shards", str(epoch))
        windows = [order[start : start + _WINDOW] for start in range(0, len(order), _WINDOW)]
        dealt = shuffled_indices(len(self.fixed), self._seed, "dealt", str(epoch))
        pool = ThreadPoolExecutor(1, thread_name_prefix="vivant-shards")
        try:
            ahead = pool.submit(self._unpack, windows[0])
            for number, window in enumerate(windows):
                folders = ahead.result()
                if number + 1 < len(windows):
                    ahead = pool.submit(self._unpack, windows[number + 1])
                examples = [self.fixed[index] for index in sorted(dealt[number :: len(windows)])]
                for index, folder in zip(window, folders, strict=True):
                    examples += self._load_shard(index, folder)
                yield tuple(examples)
        finally:  # what is being read goes on into the cache; nobody waits for it
            pool.shutdown(wait=False, cancel_futures=True)

    def sample_examples(self, count: int) -> tuple[Example, ...]:
        """About so many examples, spread evenly over the first window."""
        first = next(self.iter_windows(0))
        return first[:: max(1, len(first) // count)]

    def _unpack(self, window: Sequence[int]) -> list[Path]:
        return [self._shards[index][2].unpack() for index in window]

    def _load_shard(self, index: int, folder: Path) -> list[Example]:
        number, source, shard = self._shards[index]
        loaded = list(load_folder(source, number, source.benchmark, str(folder), self._seed))
        answered = [example for example in loaded if list_answers(example)]
        if not answered:
            raise DataError(
                f"None of the {len(loaded)} samples of {source.benchmark} in {shard.address} has an answer to "
                "learn from (a key, answers, or comments)"
            )
        return answered
