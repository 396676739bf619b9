"""Long sequences in little memory: structs as JSON lines in a file, and keys of which only the hash is held.

A million samples as objects take gigabytes. Here a value takes twelve bytes, and is read when it is asked for. Short
sequences stay in memory: `store_lines` returns a list where a list is enough, so users see a `Sequence` either way.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Generic, TypeVar, overload

import msgspec

_T = TypeVar("_T")
IN_MEMORY = 20_000
"""So many values stay in memory; more go to a file."""


class LineReader(Generic[_T]):
    """Reads values by where their lines are, for as long as somebody holds it."""

    def __init__(self, descriptor: int, kind: type[_T]) -> None:
        self._descriptor = descriptor
        self._decoder = msgspec.json.Decoder(kind)
        weakref.finalize(self, os.close, descriptor)

    @classmethod
    def open(cls, path: str | os.PathLike[str], kind: type[_T]) -> LineReader[_T]:
        """Read a file of that name."""
        return cls(os.open(path, os.O_RDONLY), kind)

    def read(self, start: int, size: int) -> _T:
        """The value whose line begins at `start`."""
        return self._decoder.decode(os.pread(self._descriptor, size, start))


class StoredLines(Sequence[_T]):
    """Values as lines of a file. The file stays open, so that it may be renamed, replaced or removed."""

    def __init__(self, reader: LineReader[_T], starts: array[int], sizes: array[int]) -> None:
        self._reader = reader
        self._starts = starts
        self._sizes = sizes

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...
    def __getitem__(self, index: int | slice) -> _T | Sequence[_T]:
        if isinstance(index, slice):
            return StoredLines(self._reader, self._starts[index], self._sizes[index])
        return self._reader.read(self._starts[index], self._sizes[index])

    def __iter__(self) -> Iterator[_T]:
        return map(self._reader.read, self._starts, self._sizes)

    def select(self, indices: Iterable[int]) -> StoredLines[_T]:
        """Some of the values, in the order of `indices`."""
        starts, sizes = array("Q"), array("I")
        for index in indices:
            starts.append(self._starts[index])
            sizes.append(self._sizes[index])
        return StoredLines(self._reader, starts, sizes)


def store_lines(values: Iterable[_T], kind: type[_T], in_memory: int = IN_MEMORY) -> Sequence[_T]:
    """The values as a list where they are few, else in a temporary file that nobody else sees."""
    source = iter(values)
    few = list(islice(source, in_memory + 1))
    if len(few) <= in_memory:
        return few
    encode = msgspec.json.Encoder().encode
    starts, sizes = array("Q"), array("I")
    end = 0
    with tempfile.TemporaryFile(prefix="vivant-") as file:
        for value in chain(few, source):
            line = encode(value)
            file.write(line)
            starts.append(end)
            sizes.append(len(line))
            end += len(line)
        file.flush()
        reader = LineReader(os.dup(file.fileno()), kind)
    return StoredLines(reader, starts, sizes)


def count_lines(path: Path, limit: int) -> int:
    """How many lines a file has; counting ends above `limit`."""
    count = 0
    if path.exists():
        with path.open("rb") as file:
            while count <= limit and (block := file.read(1 << 20)):
                count += block.count(b"\n")
    return count


def select_values(values: Sequence[_T], indices: Iterable[int]) -> Sequence[_T]:
    """Some of the values: read when asked for where `values` are, else a tuple."""
    if isinstance(values, StoredLines):
        return values.select(indices)
    return tuple(values[index] for index in indices)


class KeySet:
    """A set of texts that holds their 64-bit hashes alone: among a million, a wrong answer has odds of 1 in 20 million.

    Not for results: for what was met before in this process.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._hashes = {hash(key) for key in keys}

    def add(self, key: str) -> bool:
        """Add a key; whether it is new."""
        before = len(self._hashes)
        self._hashes.add(hash(key))
        return len(self._hashes) > before

    def __contains__(self, key: object) -> bool:
        return hash(key) in self._hashes

    def __len__(self) -> int:
        return len(self._hashes)
