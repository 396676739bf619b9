"""Names of everybody in a crawl, and how they leave its texts.

The readers hand over each uploader's and commenter's name. They are kept beside the parts while a crawl is read, and
gone when the step is finished. A name that no word looks like (two words, a digit, an underscore) is taken out of all
texts, in any letter case. One plain word may be a word of the language as well: it is taken out unless it stands in
so many texts that it must be one.

Finding them costs little: the words of a column are looked up together, and only texts with a name's rarest word in
them are read one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from vivant.build.mimic.ingestion.privacy import cut_spans, is_word_sign
from vivant.build.mimic.ingestion.text_forms import fold_text, squeeze_spaces
from vivant.core.files import write_atomic

SUFFIX = ".names"
SAMPLE = 200_000
"""Texts in which words are counted."""
COMMON = 5
"""A plain word in so many texts of the sample is a word of the language."""
_SHORTEST_WORD, _SHORTEST_NAME, _SHORTEST_PAIR = 5, 5, 7
_LONGEST_NAME = 60
_AROUND = ".,;:!?…\"'`´’‘“”«»()[]{}<>*~@#&/|\\+=-–—。，、！？：；（）「」『』【】"
_SIMPLE = re.compile(r"@?([A-Za-z0-9_]{5,60})")
_PLACEHOLDERS = {"deleted user", "user deleted", "unknown user", "private user", "[deleted]"}


def fold_name(name: str) -> str:
    """A name as it is looked for: folded, in lower case, without @; nothing where it cannot be told from words."""
    if simple := _SIMPLE.fullmatch(name):
        handle = simple.group(1).lower()
        return "" if handle.isdecimal() else handle
    folded = " ".join(fold_text(name)[0].casefold().split()).lstrip("@").strip()
    if not _SHORTEST_NAME <= len(folded) <= _LONGEST_NAME or folded in _PLACEHOLDERS:
        return ""
    words = re.findall(r"\w+", folded)
    if not any(character.isalpha() for character in folded) or not words:
        return ""
    return folded if len(words) == 1 or len(folded) >= _SHORTEST_PAIR else ""


def write_names(path: Path, names: Iterable[str]) -> None:
    """The names that one part holds."""
    column = pa.array(list(names), pa.string())
    # Most are plain handles, which Arrow folds all at once.
    simple = pc.match_substring_regex(column, f"^{_SIMPLE.pattern}$")
    handles = pc.ascii_lower(pc.utf8_ltrim(column.filter(simple), "@"))
    folded = set(handles.filter(pc.invert(pc.match_substring_regex(handles, r"^\d+$"))).to_pylist())
    folded.update(map(fold_name, column.filter(pc.invert(simple)).to_pylist()))
    write_atomic(path, msgspec.json.encode(folded - {""}), durable=False)


def read_names(folder: Path) -> list[str]:
    """The names of all parts, in no order."""
    names: set[str] = set()
    for path in folder.glob(f"*{SUFFIX}"):
        names.update(msgspec.json.decode(path.read_bytes(), type=list[str]))
    return list(names)


def split_words(column: pa.Array) -> pa.ListArray:
    """The words of each text, in lower case."""
    words = pc.utf8_split_whitespace(pc.utf8_lower(column))
    return pa.ListArray.from_arrays(words.offsets, pc.utf8_trim(words.values, _AROUND))


def is_plain(names: pa.Array) -> pa.Array:
    """Which names could be words."""
    return pc.utf8_is_alpha(names)


class NameBook:
    """Takes the names of a crawl's people out of texts."""

    def __init__(self, names: Sequence[str], common: frozenset[str] = frozenset()) -> None:
        column = pa.array(names, pa.string())
        doubtful = pc.or_(
            pc.less(pc.utf8_length(column), _SHORTEST_WORD),
            pc.is_in(column, value_set=pa.array(sorted(common), pa.string())),
        )
        column = column.filter(pc.invert(pc.and_(is_plain(column), doubtful)))
        alone = pc.utf8_is_alnum(column)
        self._words = set(column.filter(alone).to_pylist())
        """Names of one word."""
        self._names: dict[str, list[str]] = {}
        """The others, by their longest word, for the shorter ones are the commoner ones."""
        for name in column.filter(pc.invert(alone)).to_pylist():
            key = max(name.split(), key=lambda word: (len(word), word)).strip(_AROUND)
            self._names.setdefault(key, []).append(name)
        self._keys = pa.array(list(self._words | self._names.keys()), pa.string())

    def __len__(self) -> int:
        return len(self._words) + sum(map(len, self._names.values()))

    def clean(self, column: pa.Array) -> pa.Array:
        """A column of texts without the names."""
        if not len(self._keys) or not len(column):
            return column
        words = split_words(column)
        hit = pc.is_in(words.flatten(), value_set=self._keys)
        rows = pc.unique(pc.list_parent_indices(words).filter(hit))
        if not len(rows):
            return column
        names = column.take(rows).to_pylist()
        cleaned = pa.array([self.text(text) for text in names], column.type)
        mask = pc.is_in(pa.array(range(len(column)), pa.int64()), value_set=rows.cast(pa.int64()))
        return pc.replace_with_mask(column, mask, cleaned)

    def text(self, text: str) -> str:
        """One text without the names."""
        shadow, places = fold_text(text)
        lower = shadow.lower()
        if len(lower) != len(shadow):
            lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in shadow)
        spans: list[tuple[int, int, str]] = []
        for word in {word.strip(_AROUND) for word in lower.split()}:
            for name in (*self._names.get(word, ()), *((word,) if word in self._words else ())):
                start = lower.find(name)
                while start >= 0:
                    end = start + len(name)
                    if not is_word_sign(lower[start - 1 : start]) and not is_word_sign(lower[end : end + 1]):
                        spans.append((start, end, ""))
                    start = lower.find(name, end)
        return squeeze_spaces(cut_spans(text, spans, places)) if spans else text
