"""Near-duplicates among many texts in linear time: MinHash signatures, bands, and stars within buckets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vivant.build.mimic.clean.tokens import I64, U64, Words, mixed
from vivant.core.randomness import derive_seed

ROWS = 4
"""Values of a band. With 32 bands, texts of similarity 0.7 share one with probability 0.9998, of 0.3 with 0.23."""
FEWEST_WORDS = 5
"""Shorter texts are not compared: many say the same by chance."""
_SPAN = 3
_PAIRS = 1 << 20


def shingles(found: Words) -> tuple[U64, I64]:
    """Numbers of all runs of three words, and where those of each text begin (one entry more than texts)."""
    counts = np.maximum(found.counts - _SPAN + 1, 0)
    first = np.concatenate([[0], np.cumsum(counts)])
    where = np.arange(first[-1]) - np.repeat(first[:-1], counts) + np.repeat(found.first[:-1], counts)
    values = found.hashes
    combined = values[where] * np.uint64(3)
    for step in range(1, _SPAN):
        combined = mixed(combined + values[where + step])
    return combined, first


def signatures(found: Words, bands: int = 32) -> NDArray[np.uint32]:
    """Texts × values: the share of equal values estimates the similarity. Texts of one or two words have zeros."""
    combined, first = shingles(found)
    size = bands * ROWS
    made = np.zeros((found.texts, size), np.uint32)
    counts = np.diff(first)
    filled = np.flatnonzero(counts > 0)
    low = (combined >> np.uint64(32)).astype(np.uint64)
    for number in range(size):
        odd = np.uint64(derive_seed(number, "minhash") | 1)
        hashed = ((low * odd) >> np.uint64(32)).astype(np.uint32)
        if len(filled):
            made[filled, number] = np.minimum.reduceat(hashed, first[filled])
    return made


def groups(
    made: NDArray[np.uint32], comparable: NDArray[np.bool_], threshold: float, within: U64 | None = None
) -> I64:
    """For each text the first text of its group: itself, or one that it is similar to, directly or by steps.

    Only `comparable` texts are compared; with `within`, only those of the same number (say, of one video).
    """
    parent = np.arange(len(made))
    rows = np.flatnonzero(comparable)
    for band in range(made.shape[1] // ROWS):
        bucket = np.zeros(len(rows), np.uint64)
        for row in range(ROWS):
            bucket = mixed(bucket * np.uint64(31) + made[rows, band * ROWS + row])
        if within is not None:
            bucket = mixed(bucket + within[rows])
        order = np.argsort(bucket, kind="stable")
        ordered, members = bucket[order], rows[order]
        same = np.flatnonzero(ordered[1:] == ordered[:-1])
        if not len(same):
            continue
        new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        head = members[np.flatnonzero(new)[np.cumsum(new) - 1]]
        # Each is compared with the first of its bucket and with the one before: linear, whatever its size.
        pairs = np.concatenate(
            [
                np.stack([head[same + 1], members[same + 1]], 1),
                np.stack([members[same], members[same + 1]], 1),
            ]
        )
        _unite(parent, pairs, made, threshold)
    return _roots(parent)


def _unite(parent: I64, pairs: I64, made: NDArray[np.uint32], threshold: float) -> None:
    pairs = pairs[_find(parent, pairs[:, 0]) != _find(parent, pairs[:, 1])]
    pairs = np.stack(np.divmod(np.unique(pairs[:, 0] * len(parent) + pairs[:, 1]), len(parent)), 1)
    for start in range(0, len(pairs), _PAIRS):
        some = pairs[start : start + _PAIRS]
        alike = (made[some[:, 0]] == made[some[:, 1]]).mean(1) >= threshold
        for one, other in some[alike].tolist():
            a, b = _root(parent, one), _root(parent, other)
            parent[max(a, b)] = min(a, b)


def _root(parent: I64, place: int) -> int:
    while parent[place] != place:
        parent[place] = parent[parent[place]]
        place = int(parent[place])
    return place


def _find(parent: I64, places: I64) -> I64:
    found = parent[places]
    while True:
        further = parent[found]
        if np.array_equal(further, found):
            return found
        found = further


def _roots(parent: I64) -> I64:
    return _find(parent, np.arange(len(parent)))
