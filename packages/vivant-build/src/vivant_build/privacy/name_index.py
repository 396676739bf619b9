"""Which of very many names texts may hold: looked up a column at a time, by hashes.

A name costs eight to twelve bytes for each word it is looked for by, and no object of Python. Two strings with one
hash of 64 bits are taken for the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int32]
_NO_HASHES = np.empty(0, np.uint64)
_SEED = 11
_FACTOR = 0x9E3779B97F4A7C15
_INVERSE = pow(_FACTOR, -1, 1 << 64)
_BUCKET_BITS = 3
"""Buckets for each hash, as a power of two: so rarely is an unknown one looked up further."""


def hash_strings(strings: pl.Series) -> Hashes:
    """A hash for each string."""
    return strings.hash(_SEED).to_numpy()


def to_series(column: pa.Array) -> pl.Series:
    """Strings as Polars keeps them."""
    return pl.Series(pl.from_arrow(column), dtype=pl.String)


class HashSet:
    """Hashes in order, and a table that passes over nearly all others at once."""

    def __init__(self, hashes: Hashes) -> None:
        self.hashes = np.sort(hashes)
        bits = max(8, int(hashes.size).bit_length() + _BUCKET_BITS)
        self._shift = np.uint64(64 - bits)
        self._taken = np.zeros(1 << bits, np.bool_)
        self._taken[hashes >> self._shift] = True

    def contains(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Which hashes are known."""
        known: NDArray[np.bool_] = self._taken[hashes >> self._shift]
        rows = np.flatnonzero(known)
        places = np.searchsorted(self.hashes, hashes[rows])
        known[rows] = self.hashes[np.minimum(places, self.hashes.size - 1)] == hashes[rows]
        return known


class KeyIndex:
    """Names by their keys, the words by which they are looked for.

    Args:
        names: All names.
        keys: Some keys at a time, and the number of each key's name.
    """

    def __init__(self, names: pa.Array, keys: Iterable[tuple[pl.Series, Numbers]]) -> None:
        self._names = names
        pairs = [(hash_strings(strings), numbers) for strings, numbers in keys]
        hashes = np.concatenate([_NO_HASHES, *(hashes for hashes, _ in pairs)])
        numbers = np.concatenate([np.empty(0, np.int32), *(numbers for _, numbers in pairs)])
        self._numbers = numbers[np.argsort(hashes, kind="stable")]
        self._known = HashSet(hashes)

    def contains(self, words: pl.Series) -> NDArray[np.bool_]:
        """Which words are keys."""
        return self._known.contains(hash_strings(words))

    def find(self, words: Iterable[str]) -> dict[str, list[str]]:
        """The names of those words that are keys."""
        column = pl.Series(list(words), dtype=pl.String)
        column = column.filter(pl.Series(self.contains(column)))
        hashes = hash_strings(column)
        first = np.searchsorted(self._known.hashes, hashes, "left")
        last = np.searchsorted(self._known.hashes, hashes, "right")
        return {
            word: self._names.take(pa.array(self._numbers[start:end])).to_pylist()
            for word, start, end in zip(column.to_list(), first, last, strict=True)
        }


class SubstringIndex:
    """Names that may stand anywhere in a text, as scripts without spaces write them."""

    def __init__(self, names: pl.Series) -> None:
        lengths = names.str.len_chars()
        self._known: dict[int, HashSet] = {}
        for length in sorted(lengths.unique().to_list()):
            alike = names.filter(lengths == length).to_list()
            self._known[length] = HashSet(_Windows("".join(alike)).hash(length)[::length])

    def find(self, texts: Sequence[str]) -> list[set[str]]:
        """The names in each text."""
        found: list[set[str]] = [set() for _ in texts]
        if not self._known or not texts:
            return found
        joined = "\n".join(texts)
        windows = _Windows(joined)
        starts = np.cumsum([0, *(len(text) + 1 for text in texts[:-1])])
        for length, known in self._known.items():
            places = np.flatnonzero(known.contains(windows.hash(length)))
            rows = np.searchsorted(starts, places, "right") - 1
            for row, place in zip(rows.tolist(), places.tolist(), strict=True):
                found[row].add(joined[place : place + length])
        return found


class _Windows:
    """Hashes of all runs of so many characters: polynomials of them, as differences of sums over the text."""

    def __init__(self, text: str) -> None:
        codes = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.uint64)
        powers = np.cumprod(np.full(codes.size, _FACTOR, np.uint64))
        self._sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(codes * powers)])
        self._inverse = np.cumprod(np.full(codes.size, _INVERSE, np.uint64))

    def hash(self, length: int) -> Hashes:
        """One for each place; none where the text is shorter."""
        differences: Hashes = self._sums[length:] - self._sums[:-length]
        differences *= self._inverse[: differences.size]
        return differences
