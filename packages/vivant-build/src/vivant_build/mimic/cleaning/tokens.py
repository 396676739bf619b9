"""Texts → words as numbers, for a whole column at a time.

A column's characters stand in one array of code points; tables say of each to which script it belongs and what it
is in lower case. A word is a run of letters and digits (in scripts without spaces: one character), and its number a
polynomial hash taken from running sums, so that no loop over words is needed.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
SCRIPTS = (
    "none", "digit", "Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Bengali", "Tamil", "Thai", "Han",
    "Kana", "Hangul", "other", "emoji",
)  # fmt: skip
_CODE = {name: number for number, name in enumerate(SCRIPTS)}
_BLOCKS = (
    (0x00AA, 0x024F, "Latin"), (0x1E00, 0x1EFF, "Latin"), (0x0370, 0x03FF, "Greek"), (0x0400, 0x052F, "Cyrillic"),
    (0x0590, 0x05FF, "Hebrew"), (0x0600, 0x077F, "Arabic"), (0xFB50, 0xFDFF, "Arabic"), (0xFE70, 0xFEFC, "Arabic"),
    (0x0900, 0x097F, "Devanagari"), (0x0980, 0x09FF, "Bengali"), (0x0B80, 0x0BFF, "Tamil"), (0x0E00, 0x0E7F, "Thai"),
    (0x3040, 0x30FF, "Kana"), (0x3400, 0x4DBF, "Han"), (0x4E00, 0x9FFF, "Han"), (0xF900, 0xFAFF, "Han"),
    (0x1100, 0x11FF, "Hangul"), (0xAC00, 0xD7AF, "Hangul"),
)  # fmt: skip
_SINGLE = np.zeros(len(SCRIPTS), bool)
_SINGLE[[_CODE["Han"], _CODE["Kana"], _CODE["Thai"]]] = True
_BASE = np.uint64(0x100000001B3)
_INVERSE = np.uint64(pow(0x100000001B3, -1, 1 << 64))
_BMP = 0x10000


class TokenizedColumn(Struct, frozen=True):
    """The words of a column of texts."""

    texts: int
    first: I64
    """Where the words of each text begin in `hashes`; one more entry than texts."""
    hashes: U64
    points: NDArray[np.uint32]
    """All characters, in lower case."""
    script: NDArray[np.uint8]
    """Place in SCRIPTS of each character."""
    begins: I64
    """Where the characters of each text begin; one more entry than texts."""

    @property
    def counts(self) -> I64:
        """Words of each text."""
        return np.diff(self.first)

    def owners(self) -> I64:
        """The text of each word."""
        return np.repeat(np.arange(self.texts), self.counts)


@lru_cache(maxsize=1)
def _character_tables() -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Script and lower case of each character of the basic plane."""
    script = np.zeros(_BMP, np.uint8)
    lower = np.arange(_BMP, dtype=np.uint32)
    blocks = np.zeros(_BMP, np.uint8)
    for start, end, name in _BLOCKS:
        blocks[start : end + 1] = _CODE[name]
    for point in range(_BMP):
        if 0xD800 <= point < 0xE000:
            continue
        letter = chr(point)
        kind = unicodedata.category(letter)
        if kind[0] == "N":
            script[point] = _CODE["digit"]
        elif kind[0] == "L" or kind in ("Mn", "Mc"):
            script[point] = _CODE["Latin"] if point < 0x80 else blocks[point] or _CODE["other"]
        elif kind == "So":
            script[point] = _CODE["emoji"]
        small = letter.lower()
        if len(small) == 1:
            lower[point] = ord(small)
    script[0xFE00:0xFE10] = 0  # variation selectors belong to the sign before them
    return script, lower


_powers: list[U64] = [np.ones(1, np.uint64), np.ones(1, np.uint64)]


def _powers_of_base(size: int) -> tuple[U64, U64]:
    """The powers of the base and of its inverse."""
    if len(_powers[0]) < size:
        for index, base in ((0, _BASE), (1, _INVERSE)):
            steps = np.full(max(size, 1 << 20), base, np.uint64)
            steps[0] = 1
            _powers[index] = np.multiply.accumulate(steps)
    return _powers[0][:size], _powers[1][:size]


def tokenize(column: pa.Array) -> TokenizedColumn:
    """The words of a column of strings (null: none)."""
    column = pc.fill_null(column, "")
    lengths = pc.utf8_length(column).to_numpy(zero_copy_only=False).astype(np.int64)
    begins = np.concatenate([[0], np.cumsum(lengths)])
    points = _code_points(column)
    script_of, lower_of = _character_tables()
    basic = np.minimum(points, _BMP - 1)
    script = np.where(points < _BMP, script_of[basic], _CODE["emoji"]).astype(np.uint8)
    lower = np.where(points < _BMP, lower_of[basic], points).astype(np.uint32)

    inside = (script != 0) & (script != _CODE["emoji"])
    single = _SINGLE[script]
    edge = np.zeros(len(points) + 1, bool)
    edge[begins] = True
    edge = edge[:-1]
    after_word = np.zeros(len(points), bool)
    after_word[1:] = inside[:-1] & ~single[:-1]
    starts = np.flatnonzero(inside & (edge | single | ~after_word))
    ends_before = np.zeros(len(points), bool)
    ends_before[:-1] = ~inside[1:] | single[1:] | edge[1:]
    ends_before[-1:] = True
    ends = np.flatnonzero(inside & (single | ends_before)) + 1
    up, down = _powers_of_base(len(points) + 1)
    sums = np.zeros(len(points) + 1, np.uint64)
    np.cumsum((lower.astype(np.uint64) + np.uint64(1)) * up[:-1], out=sums[1:])
    hashes = mix_bits((sums[ends] - sums[starts]) * down[starts])
    return TokenizedColumn(
        texts=len(column),
        first=np.searchsorted(starts, begins).astype(np.int64),
        hashes=hashes,
        points=lower,
        script=script,
        begins=begins,
    )


def _code_points(column: pa.Array) -> NDArray[np.uint32]:
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(column)], pa.int32()), column), "")
    text = joined[0].as_py() or ""
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def mix_bits(values: U64) -> U64:
    """Numbers whose every bit depends on every bit of what came in (the finish of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def hash_word(word: str) -> int:
    """The number of one word, as `words` gives it."""
    return int(tokenize(pa.array([word])).hashes[0])


def hash_texts(tokens: TokenizedColumn) -> U64:
    """One number for each text that is the same for texts of the same words, whatever their case and signs.

    A text without words, say of emoji alone, has the number of its signs.
    """
    order = np.arange(len(tokens.hashes), dtype=np.uint64) - np.repeat(
        tokens.first[:-1], tokens.counts
    ).astype(np.uint64)
    sums = np.zeros(len(tokens.hashes) + 1, np.uint64)
    np.cumsum(mix_bits(tokens.hashes + order * _BASE), out=sums[1:])
    result = mix_bits(sums[tokens.first[1:]] - sums[tokens.first[:-1]] + tokens.counts.astype(np.uint64))
    wordless = np.flatnonzero(tokens.counts == 0)
    if len(wordless):
        signs = np.zeros(len(tokens.points) + 1, np.uint64)
        np.cumsum(mix_bits(tokens.points.astype(np.uint64) + np.uint64(1)), out=signs[1:])
        result[wordless] = signs[tokens.begins[wordless + 1]] - signs[tokens.begins[wordless]]
    return result


def count_scripts(tokens: TokenizedColumn) -> NDArray[np.int64]:
    """How many characters of each script a text has: texts × scripts."""
    owner = np.repeat(np.arange(tokens.texts), np.diff(tokens.begins))
    flat = owner * len(SCRIPTS) + tokens.script
    return np.bincount(flat, minlength=tokens.texts * len(SCRIPTS)).reshape(tokens.texts, len(SCRIPTS))


def measure_longest_runs(tokens: TokenizedColumn) -> I64:
    """How often the most repeated character of each text comes in a row (spaces do not count)."""
    size = len(tokens.points)
    longest = np.zeros(tokens.texts, np.int64)
    if not size:
        return longest
    changes = np.ones(size, bool)
    changes[1:] = tokens.points[1:] != tokens.points[:-1]
    changes[tokens.begins[:-1][tokens.begins[:-1] < size]] = True
    starts = np.flatnonzero(changes)
    lengths = np.diff(np.append(starts, size))
    repeated = (lengths > 2) & (tokens.points[starts] != 32)
    owner = np.searchsorted(tokens.begins, starts[repeated], side="right") - 1
    np.maximum.at(longest, owner, lengths[repeated])
    return longest
