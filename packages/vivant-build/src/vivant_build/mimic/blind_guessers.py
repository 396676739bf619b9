"""Guessers that see only a question's options, and how often each is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.benchmarks.mimic.format import MimicItem
from vivant.benchmarks.mimic.text_metrics import count_emoji
from vivant.core.randomness import derive_seed
from vivant.metrics.intervals import wilson
from vivant_build.mimic.option_classifier import OptionClassifier
from vivant_build.mimic.vectors import VectorStore

CHANCE = 0.25
LEARNED = "classifier"
SOLVERS = ("longest", "most emoji", "most alike", LEARNED)
"""An item that all of these get right is suspect."""
GUESSERS = (*SOLVERS, "shortest", "least alike")
Picks = NDArray[np.int64]


class GuesserResult(Struct, frozen=True, kw_only=True):
    """How one guesser does on one task."""

    task: str
    guesser: str
    right: int
    n: int
    low: float
    high: float
    """The interval shown."""
    floor: float
    """Lower end, corrected for the number of comparisons: above chance, the task gives something away."""
    ceiling: float
    """Its upper end."""

    @property
    def passes(self) -> bool:
        """Whether chance explains it."""
        return self.floor <= CHANCE

    @property
    def share(self) -> float:
        """Of items guessed right."""
        return self.right / self.n if self.n else 0.0


def guess(items: Sequence[MimicItem], store: VectorStore, learned: OptionClassifier) -> dict[str, Picks]:
    """The option that each guesser takes; of equals one by the item's own chance."""
    if not items:
        return {name: np.zeros(0, np.int64) for name in GUESSERS}
    picks = guess_quickly(items, learned)
    vectors = store.get([o.text for item in items for o in item.options], f"options of {items[0].task}")
    grid = vectors.reshape(len(items), 4, -1)
    alike = np.round(np.einsum("nid,njd->ni", grid, grid), 3)
    return picks | _pick(items, {"most alike": alike, "least alike": -alike})


def guess_quickly(items: Sequence[MimicItem], learned: OptionClassifier) -> dict[str, Picks]:
    """What those guessers take that need no MiniLM."""
    texts = [[option.text for option in item.options] for item in items]
    lengths = np.array([[len(text) for text in row] for row in texts], np.float64)
    emoji = np.array([[count_emoji(text) for text in row] for row in texts], np.float64)
    scores = {"longest": lengths, "shortest": -lengths, "most emoji": emoji, LEARNED: learned.scores(items)}
    return _pick(items, scores)


def _pick(items: Sequence[MimicItem], scores: Mapping[str, NDArray[np.float64]]) -> dict[str, Picks]:
    return {name: _top(score, _chances(items, name)) for name, score in scores.items()}


def _chances(items: Sequence[MimicItem], guesser: str) -> NDArray[np.float64]:
    """Numbers that break ties, each guesser's own: equals must not make guessers agree."""
    return np.array(
        [np.random.default_rng(derive_seed(0, guesser, item.id)).random(4) for item in items], np.float64
    )


def _top(score: NDArray[np.float64], tie_breaks: NDArray[np.float64]) -> Picks:
    best = score >= score.max(axis=1, keepdims=True) - 1e-9
    picks: Picks = np.where(best, tie_breaks, -1.0).argmax(axis=1)
    return picks


def score_guessers(
    items: Sequence[MimicItem], picks: Mapping[str, Picks], comparisons: int, level: float
) -> list[GuesserResult]:
    """Every guesser on one task. `comparisons` is how many such figures there are in all."""
    keys = np.array([item.key for item in items], np.int64)
    corrected = 1 - (1 - level) / max(comparisons, 1)
    results = []
    for name, picked in picks.items():
        right, n = int((picked == keys).sum()), len(items)
        interval, strict = (wilson(right, n, at) for at in (level, corrected)) if n else (None, None)
        results.append(
            GuesserResult(
                task=items[0].task if items else "",
                guesser=name,
                right=right,
                n=n,
                low=interval.low if interval else 0.0,
                high=interval.high if interval else 1.0,
                floor=strict.low if strict else 0.0,
                ceiling=strict.high if strict else 1.0,
            )
        )
    return results


def find_best_guesser(results: Sequence[GuesserResult]) -> GuesserResult | None:
    """The guesser that is right most often: a task is as guessable as that."""
    return max(results, key=lambda result: (result.share, result.guesser), default=None)


def find_solved(items: Sequence[MimicItem], picks: Mapping[str, Picks]) -> list[str]:
    """Items that every one of the solvers gets right."""
    keys = np.array([item.key for item in items], np.int64)
    every = np.ones(len(items), bool)
    for name in SOLVERS:
        every &= picks[name] == keys
    return [item.id for item, solved in zip(items, every, strict=True) if solved]


def detectable_advantage(n: int, level: float = 0.95, power: float = 0.8) -> float:
    """The smallest advantage over chance that so many items would have shown, as a share."""
    normal = NormalDist()
    reach = normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(power)
    return float(reach * np.sqrt(CHANCE * (1 - CHANCE) / n)) if n else 1.0
