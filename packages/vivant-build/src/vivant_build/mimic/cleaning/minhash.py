"""Near-duplicates among many texts in linear time: MinHash signatures, bands, and stars within buckets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vivant.core.randomness import derive_seed
from vivant_build.mimic.cleaning.tokens import I64, U64, TokenizedColumn, mix_bits

ROWS = 4
"""Values of a band. With 32 bands, texts of similarity 0.7 share one with probability 0.9998, of 0.3 with 0.23."""
FEWEST_WORDS = 5
"""Shorter texts are not compared: many say the same by chance."""
_SPAN = 3
_PAIRS = 1 << 20


def hash_shingles(tokens: TokenizedColumn) -> tuple[U64, I64]:
    """Numbers of all runs of three words, and where those of each text begin (one entry more than texts)."""
    counts = np.maximum(tokens.counts - _SPAN + 1, 0)
    first = np.concatenate([[0], np.cumsum(counts)])
    first_word = np.arange(first[-1]) - np.repeat(first[:-1], counts) + np.repeat(tokens.first[:-1], counts)
    values = tokens.hashes
    combined = values[first_word] * np.uint64(3)
    for step in range(1, _SPAN):
        combined = mix_bits(combined + values[first_word + step])
    return combined, first


def compute_signatures(tokens: TokenizedColumn, bands: int = 32) -> NDArray[np.uint32]:
    """Texts × values: the share of equal values estimates the similarity. Texts of one or two words have zeros."""
    combined, first = hash_shingles(tokens)
    size = bands * ROWS
    signatures = np.zeros((tokens.texts, size), np.uint32)
    counts = np.diff(first)
    filled = np.flatnonzero(counts > 0)
    low = (combined >> np.uint64(32)).astype(np.uint64)
    for number in range(size):
        odd = np.uint64(derive_seed(number, "minhash") | 1)
        hashed = ((low * odd) >> np.uint64(32)).astype(np.uint32)
        if len(filled):
            signatures[filled, number] = np.minimum.reduceat(hashed, first[filled])
    return signatures


def group_near_duplicates(
    signatures: NDArray[np.uint32], comparable: NDArray[np.bool_], threshold: float, within: U64 | None = None
) -> I64:
    """For each text the first text of its group: itself, or one that it is similar to, directly or by steps.

    Only `comparable` texts are compared; with `within`, only those of the same number (say, of one video).
    """
    parent = np.arange(len(signatures))
    rows = np.flatnonzero(comparable)
    for band in range(signatures.shape[1] // ROWS):
        bucket = np.zeros(len(rows), np.uint64)
        for row in range(ROWS):
            bucket = mix_bits(bucket * np.uint64(31) + signatures[rows, band * ROWS + row])
        if within is not None:
            bucket = mix_bits(bucket + within[rows])
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
        _unite(parent, pairs, signatures, threshold)
    return _roots(parent)


def _unite(parent: I64, pairs: I64, signatures: NDArray[np.uint32], threshold: float) -> None:
    pairs = pairs[_find(parent, pairs[:, 0]) != _find(parent, pairs[:, 1])]
    pairs = np.stack(np.divmod(np.unique(pairs[:, 0] * len(parent) + pairs[:, 1]), len(parent)), 1)
    for start in range(0, len(pairs), _PAIRS):
        batch = pairs[start : start + _PAIRS]
        alike = (signatures[batch[:, 0]] == signatures[batch[:, 1]]).mean(1) >= threshold
        for first, second in batch[alike].tolist():
            a, b = _root(parent, first), _root(parent, second)
            parent[max(a, b)] = min(a, b)


def _root(parent: I64, index: int) -> int:
    while parent[index] != index:
        parent[index] = parent[parent[index]]
        index = int(parent[index])
    return index


def _find(parent: I64, indices: I64) -> I64:
    roots = parent[indices]
    while True:
        further = parent[roots]
        if np.array_equal(further, roots):
            return roots
        roots = further


def _roots(parent: I64) -> I64:
    return _find(parent, np.arange(len(parent)))
