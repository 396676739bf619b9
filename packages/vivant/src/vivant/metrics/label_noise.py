"""What accuracy can be reached where some keys are wrong, estimated from people who answered the same items.

Where people agree with each other but not with the key, the key is the likelier slip; where they scatter, the item is
hard. A mixture with two levels of difficulty keeps the two apart: an item's key is wrong with probability e, and people
choose the true option with a probability that depends on whether the item is easy or hard (after Dawid and Skene 1979).
The reachable accuracy is 1 − e: what somebody scores who always gives the true answer.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.metrics.intervals import wilson

Counts = NDArray[np.float64]
Column = NDArray[np.float64]
_STEPS = 300


class LabelNoise(Struct, frozen=True, eq=False):
    """What people's answers say about the keys of a benchmark."""

    noise: float
    """The share of wrong keys."""
    interval: tuple[float, float] | None
    """95 %, by resampling clusters of items."""
    person: float
    """How often one person agrees with the key."""
    majority: float
    """How often most people agree with it; a tie counts by its share."""
    items: int
    """Items that two people or more answered."""
    wrong: Column
    """The probability that each item's key is wrong."""


def estimate_noise(
    counts: Counts, sizes: Column, clusters: NDArray[np.intp] | None = None, resamples: int = 200
) -> LabelNoise:
    """Fit the mixture.

    Args:
        counts: one row an item, one column an option, the key first: how many people chose it.
        sizes: how many options each item has.
        clusters: what items belong together.
        resamples: for the interval; 0 for none.
    """
    counts = np.asarray(counts, np.float64)
    sizes = np.maximum(np.asarray(sizes, np.float64), 2)
    total = counts.sum(axis=1)
    several = total >= 2
    if not several.any():
        raise ValueError("No item was answered by two people")
    votes, options, inverse = _count_kinds(counts[several], sizes[several])
    fitted = _fit(votes, options, np.asarray(np.bincount(inverse), np.float64))
    noise, wrong = fitted.noise, fitted.wrong[inverse]
    every = np.zeros(len(counts))
    every[several] = wrong
    top = counts.max(axis=1, keepdims=True)
    ties = (counts == top).sum(axis=1)
    majority = np.where(counts[:, 0] == top[:, 0], 1 / ties, 0.0)
    interval = None
    groups = np.arange(len(counts)) if clusters is None else np.asarray(clusters)
    _, labels = np.unique(groups[several], return_inverse=True)
    size = int(labels.max()) + 1
    if resamples and size >= 10:
        rng = np.random.default_rng(0)
        draws = []
        for _ in range(resamples):
            weights = rng.multinomial(size, np.full(size, 1 / size))[labels].astype(np.float64)
            times = np.asarray(np.bincount(inverse, weights, len(votes)), np.float64)
            draws.append(_fit(votes, options, times, fitted, steps=40).noise)
        low, high = np.quantile(draws, (0.025, 0.975))
        # Resamples of items without a doubtful key have none either, which is no certainty.
        interval = (float(low), max(float(high), wilson(noise * size, size).high))
    return LabelNoise(
        noise,
        interval,
        float(counts[several, 0].sum() / total[several].sum()),
        float(majority[several].mean()),
        int(several.sum()),
        every,
    )


class _Fit(Struct, frozen=True, eq=False):
    noise: float
    hard: float
    skill: Column
    wrong: Column
    """For each kind of item."""


def _count_kinds(counts: Counts, sizes: Column) -> tuple[Counts, Column, NDArray[np.intp]]:
    """Items with the same counts are one kind, and there are few: their counts, their options, each item's kind."""
    ordered = np.concatenate([counts[:, :1], -np.sort(-counts[:, 1:], axis=1), sizes[:, None]], axis=1)
    kinds, inverse = np.unique(ordered, axis=0, return_inverse=True)
    return kinds[:, :-1], kinds[:, -1], inverse.reshape(-1)


def _fit(
    votes: Counts, options: Column, times: Column, start: _Fit | None = None, steps: int = _STEPS
) -> _Fit:
    """Expectation maximisation over kinds of items, each met so many times."""
    total = votes.sum(axis=1)
    noise, hard, skill = (
        (0.03, 0.3, np.array([0.95, 0.5])) if start is None else (start.noise, start.hard, start.skill)
    )
    posterior = np.zeros((len(votes), votes.shape[1], 2))
    exists = np.arange(votes.shape[1])[None, :] < options[:, None]
    for _ in range(steps):
        truth = np.where(exists, np.log(max(noise, 1e-9) / (options - 1))[:, None], -np.inf)
        truth[:, 0] = np.log(1 - noise)
        hit, miss = np.log(skill), np.log((1 - skill)[None, :] / (options - 1)[:, None])
        logs = (
            truth[:, :, None]
            + np.log([1 - hard, hard])[None, None, :]
            + votes[:, :, None] * hit[None, None, :]
            + (total[:, None] - votes)[:, :, None] * miss[:, None, :]
        )
        posterior = np.exp(logs - logs.max(axis=(1, 2), keepdims=True))
        posterior /= posterior.sum(axis=(1, 2), keepdims=True)
        weighted = posterior * times[:, None, None]
        before = noise
        whole = times.sum()
        noise = float(np.clip(weighted[:, 1:].sum() / whole, 1e-6, 0.5))
        hard = float(np.clip(weighted[:, :, 1].sum() / whole, 1e-3, 0.999))
        hits = (weighted * votes[:, :, None]).sum(axis=(0, 1))
        tries = (weighted.sum(axis=1) * total[:, None]).sum(axis=0)
        # Somebody who knows nothing still guesses: a level of skill below chance would be a wrong key in disguise.
        skill = np.clip(hits / np.maximum(tries, 1e-9), 1 / float(options.min()) + 0.02, 0.995)
        if abs(noise - before) < 1e-7:
            break
    return _Fit(noise, hard, skill, posterior[:, 1:].sum(axis=(1, 2)))
