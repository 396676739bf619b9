"""A small classifier that sees only the four options: conditional logistic regression over hashed n-grams.

It is trained on questions about the train split, which shares no video and no uploader with the benchmark; what it
gets right there it can only know from how right options are worded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from vivant.benchmarks.mimic.format import MimicItem
from vivant.benchmarks.mimic.text_metrics import count_emoji, split_words

_SIZE = 1 << 16
_ROUNDS = 60
_RATE = 0.1
_KEEP = 2e-4
"""How strongly weights are drawn to zero."""
_WORD, _PAIR, _THREE = crc32(b"w "), crc32(b"p "), crc32(b"c ")
Floats = NDArray[np.float64]


class OptionClassifier:
    """Scores texts; higher is likelier to be the right option."""

    def __init__(self, practice: Sequence[MimicItem]) -> None:
        self._weights: Floats = np.zeros(_SIZE)
        self._seen: dict[str, NDArray[np.int64]] = {}
        usable = [item for item in practice if len(item.options) == 4 and item.key is not None]
        self.practised = len(usable)
        if usable:
            self._train(usable)

    def scores(self, items: Sequence[MimicItem]) -> Floats:
        """One row of four an item."""
        if not items:
            return np.zeros((0, 4))
        features, starts, lengths = self._features(items)
        return self._score(features, starts, lengths)

    def score(self, text: str) -> float:
        """One text's."""
        return float(self._weights[self._features_of(text)].mean())

    def _train(self, items: Sequence[MimicItem]) -> None:
        features, starts, lengths = self._features(items)
        owner = np.repeat(np.arange(len(starts)), lengths)
        scale = 1 / lengths[owner]
        right = np.zeros((len(items), 4))
        right[np.arange(len(items)), [item.key or 0 for item in items]] = 1
        mean, square = np.zeros(_SIZE), np.zeros(_SIZE)
        for step in range(1, _ROUNDS + 1):
            scores = self._score(features, starts, lengths)
            chances = np.exp(scores - scores.max(axis=1, keepdims=True))
            chances /= chances.sum(axis=1, keepdims=True)
            blame = ((chances - right) / len(items)).ravel()
            gradient = np.bincount(features, blame[owner] * scale, _SIZE) + _KEEP * self._weights
            mean = 0.9 * mean + 0.1 * gradient
            square = 0.99 * square + 0.01 * gradient**2
            move = (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
            self._weights -= _RATE * move

    def _score(
        self, features: NDArray[np.int64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> Floats:
        sums = np.add.reduceat(self._weights[features], starts) / lengths
        rows: Floats = sums.reshape(-1, 4)
        return rows

    def _features(
        self, items: Sequence[MimicItem]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """All features of all options one after another, and where each option's begin."""
        each = [self._features_of(option.text) for item in items for option in item.options]
        lengths = np.array([len(features) for features in each], np.int64)
        return np.concatenate(each), np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths

    def _features_of(self, text: str) -> NDArray[np.int64]:
        features = self._seen.get(text)
        if features is None:
            features = self._seen[text] = np.array(
                sorted({value % _SIZE for value in _hash_features(text)}), np.int64
            )
        return features


def _hash_features(text: str) -> Iterator[int]:
    """Of words, pairs of words, three letters in a row, and how the text looks; never empty.

    A name's checksum goes on from that of its kind, so that no name is put together.
    """
    tokens = [word.encode("utf-8", "replace") for word in split_words(text)]
    for word in tokens:
        yield crc32(word, _WORD)
    for first, second in pairwise(tokens):
        yield crc32(b"%b %b" % (first, second), _PAIR)
    low = f" {text.casefold()[:200]} "
    if low.isascii():
        letters = low.encode("ascii")
        for i in range(len(letters) - 2):
            yield crc32(letters[i : i + 3], _THREE)
    else:
        for i in range(len(low) - 2):
            yield crc32(low[i : i + 3].encode("utf-8", "replace"), _THREE)
    looks = (
        f"length {int(np.log2(len(text) + 1) * 2)}",
        f"words {min(len(tokens), 30) // 2}",
        f"emoji {min(count_emoji(text), 4)}",
        f"capital {text[:1].isupper()} {text.isupper()}",
        f"end {text[-1:]}",
    )
    for look in looks:
        yield crc32(look.encode("utf-8", "replace"))
