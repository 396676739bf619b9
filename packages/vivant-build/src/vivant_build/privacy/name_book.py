"""Remove the names of everybody in a crawl from its texts.

A name that looks like no word (two words, a digit, an underscore) is removed from all texts, in any letter case, with
the endings that languages add to it. A single plain word may also be a word of the language. If the crawl uses it as
one, see `find_vocabulary`, it stays. If only a dictionary has it, it's removed where somebody is addressed by it.

This is cheap: the words of a column are looked up together, and only texts that hold a name's rarest word are read one
by one. Names in scripts without spaces are searched for by their characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vivant_build.privacy.contact_patterns import CJK
from vivant_build.privacy.masking import cut_spans
from vivant_build.privacy.name_forms import (
    AROUND,
    HANDLE,
    RUSSIAN_ENDINGS,
    cut_vowel,
    find_name,
    fold_name,
    is_russian,
    list_forms,
    list_keys,
)
from vivant_build.privacy.name_index import (
    HashSet,
    KeyIndex,
    Numbers,
    SubstringIndex,
    hash_strings,
    to_series,
)
from vivant_build.privacy.text_forms import (
    FOLDABLE,
    SPREAD,
    collapse_spread,
    fold_text,
    squeeze_spaces,
)
from vivant_build.privacy.word_lists import is_ordinary, join_words, remove_accents

_COMMON = 5
"""A plain word in at least 5 texts, under the videos of at least 5 people, is a word of the language."""
_SHORTEST_WORD = 4
_NAMES_AT_ONCE, _TEXTS_AT_ONCE = 50_000, 5_000


def _escape(pattern: str) -> str:
    """A pattern in the dialect of RE2."""
    return "".join(c if c.isascii() else f"\\x{{{ord(c):x}}}" for c in pattern)


_RE2_UNSPACED, _RE2_SPACED = f"[{_escape(CJK)}]", _escape("[a-z0-9_A-Z\u0400-\u04ff]")
_RE2_ADJACENT = rf"[{_escape(CJK)}][^{_escape(CJK)}\s]*{_RE2_SPACED}|{_RE2_SPACED}{_RE2_UNSPACED}"
"""A letter of another script right beside one of a script without spaces."""
_RE2_SPLIT = rf"[^\pL\pN_.]+|{_RE2_UNSPACED}+"
_RE2_ODD = f"{_escape(FOLDABLE.pattern)}|{_escape(SPREAD)}|{_escape('[a-zA-Z][а-я]|[а-я][a-zA-Z]')}"
"""Letters in another form, words spread out, two alphabets in one word."""
_RE2_RUSSIAN = _escape("[а-ё]$")
_RE2_ACCENTED = _escape("[à-ɏё]")
_ADDRESSING = re.compile(rf"(?<!\w)(?:{join_words('addressing')})[ ,]+$", re.IGNORECASE)
_ADDRESSED = re.compile(r"\s*(?:[^\w\s]|\n|$)")


def fold_names(names: Iterable[str]) -> pa.Array:
    """Return names in the form in which texts are searched for them, each once; see `fold_name`."""
    column = pa.array(list(names), pa.string())
    # Most are plain handles, which Arrow folds all at once.
    simple = pc.match_substring_regex(column, f"^{HANDLE.pattern}$")
    handles = pc.ascii_lower(pc.utf8_ltrim(column.filter(simple), "@"))
    handles = handles.filter(pc.invert(pc.match_substring_regex(handles, r"^\d+$")))
    others = set(map(fold_name, column.filter(pc.invert(simple)).to_pylist())) - {""}
    return pc.unique(pa.concat_arrays([handles, pa.array(list(others), pa.string())]))


def find_vocabulary(names: pa.Array, batches: Iterable[pa.RecordBatch]) -> frozenset[str]:
    """Return the plain names that a crawl uses as words: in several texts, under the videos of several people.

    A person's name appears under that person's own videos, however many they are; a word appears everywhere. The
    result does not depend on the order of the texts.

    Args:
        names: Folded names.
        batches: Texts, and the uploader of each text's video. Not read if no name is a plain word.
    """
    plain = names.filter(pc.utf8_is_alpha(names))
    if not len(plain):
        return frozenset()
    unspaced = pc.match_substring_regex(plain, _RE2_UNSPACED)
    spaced = HashSet(hash_strings(to_series(plain.filter(pc.invert(unspaced)))))
    inside = SubstringIndex(to_series(plain.filter(unspaced)))
    found = []
    for batch in batches:
        lower = pc.utf8_lower(batch.column(0))
        lists = pc.utf8_split_whitespace(lower)
        words = to_series(_simplify(pc.utf8_trim(lists.flatten(), AROUND)))
        known = spaced.contains(hash_strings(words))
        rows = [pc.list_parent_indices(lists).to_numpy()[known]]
        named = [words.filter(pl.Series(known))]
        asian = to_series(lower).str.contains(_RE2_UNSPACED).arg_true().to_numpy()
        for start in range(0, len(asian), _TEXTS_AT_ONCE):
            some = asian[start : start + _TEXTS_AT_ONCE]
            sets = inside.find(lower.take(pa.array(some)).to_pylist())
            rows.append(np.repeat(some, list(map(len, sets))))
            named.append(pl.Series([name for names in sets for name in names], dtype=pl.String))
        row = np.concatenate(rows)
        texts, owners = (hash_strings(to_series(batch.column(index)))[row] for index in (0, 1))
        found.append(pl.DataFrame({"word": pl.concat(named), "text": texts, "owner": owners}).unique())
    if not found:
        return frozenset()
    counts = pl.concat(found).group_by("word").agg(pl.all().n_unique())
    return frozenset(counts.filter(pl.min_horizontal("text", "owner") >= _COMMON)["word"])


def _simplify(words: pa.Array) -> pa.Array:
    """Words without accents."""
    accented = pc.match_substring_regex(words, _RE2_ACCENTED)
    if not pc.any(accented).as_py():
        return words
    plain = [remove_accents(word) for word in words.filter(accented).to_pylist()]
    return pc.replace_with_mask(words, accented, pa.array(plain, words.type))


class NameBook:
    """Remove the names of a crawl's people from texts.

    Args:
        names: Folded names, see `fold_names`.
        common: Names that stay because they are words, see `find_vocabulary`.
    """

    def __init__(self, names: Sequence[str] | pa.Array, common: frozenset[str] = frozenset()) -> None:
        column = pa.array(names, pa.string()) if not isinstance(names, pa.Array) else names
        is_common = pc.is_in(column, value_set=pa.array(sorted(common), pa.string()))
        doubtful = pc.or_(pc.less(pc.utf8_length(column), _SHORTEST_WORD), is_common)
        unspaced = pc.match_substring_regex(column, _RE2_UNSPACED)
        self._unspaced = SubstringIndex(to_series(column.filter(pc.and_not(unspaced, is_common))))
        column = column.filter(pc.invert(pc.or_(unspaced, pc.and_(pc.utf8_is_alpha(column), doubtful))))
        alone = pc.utf8_is_alnum(column)
        column = pa.concat_arrays([column.filter(alone), column.filter(pc.invert(alone))])
        self._stems = HashSet(np.empty(0, np.uint64))
        self._keys = KeyIndex(column, self._list_keys(column, pc.sum(alone).as_py() or 0))
        self._empty = not len(names)

    def _list_keys(self, names: pa.Array, alone: int) -> Iterator[tuple[pl.Series, Numbers]]:
        """What names are looked for by: so many of one word by themselves, the others by their longest word.

        The shorter words are the commoner ones. The stems of the Russian ones are kept besides.
        """
        stems = [self._stems.hashes]
        for start in range(0, len(names), _NAMES_AT_ONCE):
            keys: list[str] = []
            numbers: list[int] = []
            for number, name in enumerate(names[start : start + _NAMES_AT_ONCE].to_pylist(), start):
                new = [name] if number < alone else list_keys(name)
                keys += new
                numbers += [number] * len(new)
            yield pl.Series(keys, dtype=pl.String), np.array(numbers, np.int32)
            russian = [stem for key in keys if is_russian(key) and len(stem := cut_vowel(key)) > 2]
            stems.append(hash_strings(pl.Series(russian, dtype=pl.String)))
        self._stems = HashSet(np.concatenate(stems))

    def clean(self, column: pa.Array) -> pa.Array:
        """Return a column of texts without the names."""
        if self._empty or not len(column):
            return column
        rows = self._find_rows(column)
        if not len(rows):
            return column
        texts = column.take(pa.array(rows))
        cleaned = [
            text
            for start in range(0, len(texts), _TEXTS_AT_ONCE)
            for text in self._clean_texts(texts[start : start + _TEXTS_AT_ONCE].to_pylist())
        ]
        mask = np.zeros(len(column), np.bool_)
        mask[rows] = True
        return pc.replace_with_mask(column, pa.array(mask), pa.array(cleaned, column.type))

    def _find_rows(self, column: pa.Array) -> NDArray[np.intp]:
        """Where a name may stand, in the order of the column."""
        texts = to_series(column)
        hits = texts.str.contains(_RE2_ODD).to_numpy(writable=True)
        hits[self._match_words(pc.utf8_split_whitespace(pc.utf8_lower(column)))] = True
        unspaced = texts.str.contains(_RE2_UNSPACED).arg_true().to_numpy()
        if not len(unspaced):
            return np.flatnonzero(hits)
        # Where people write no spaces, names of other scripts stand inside the text.
        rows = unspaced[texts.gather(unspaced).str.contains(_RE2_ADJACENT).to_numpy()]
        pieces = pc.split_pattern_regex(pc.utf8_lower(column.take(pa.array(rows))), _RE2_SPLIT)
        hits[rows[self._match_words(pieces)]] = True
        rows = unspaced[~hits[unspaced]]
        for start in range(0, len(rows), _TEXTS_AT_ONCE):
            some = rows[start : start + _TEXTS_AT_ONCE]
            lower = pc.utf8_lower(column.take(pa.array(some))).to_pylist()
            hits[some] = list(map(bool, self._unspaced.find(lower)))
        return np.flatnonzero(hits)

    def _match_words(self, lists: pa.ListArray) -> NDArray[np.int64]:
        """The rows in which a word is a name's, with or without an ending; each different word is looked up once."""
        encoded = lists.flatten().dictionary_encode()
        words = _simplify(pc.utf8_trim(encoded.dictionary, AROUND))
        known = self._keys.contains(to_series(words))
        ends = _to_mask(pc.or_(pc.ends_with(words, "s"), pc.ends_with(words, "’")))
        ended = pc.utf8_rtrim(pc.utf8_rtrim(words.filter(pa.array(ends)), "s"), "'’`´")
        known[ends] |= self._keys.contains(to_series(ended))
        if len(self._stems.hashes):
            russian = np.flatnonzero(_to_mask(pc.match_substring_regex(words, _RE2_RUSSIAN)))
            series = to_series(words.take(pa.array(russian)))
            for ending in ("", *RUSSIAN_ENDINGS):
                ends = series.str.ends_with(ending).to_numpy()
                stems = series.filter(pl.Series(ends)).str.strip_suffix(ending)
                known[russian[ends]] |= self._stems.contains(hash_strings(stems))
        rows: NDArray[np.int64] = pc.list_parent_indices(lists).to_numpy()
        hits: NDArray[np.int64] = rows[known[encoded.indices.to_numpy()]]
        return hits

    def _clean_texts(self, texts: Sequence[str]) -> list[str]:
        folded = [fold_text(text) for text in texts]
        shadows = [shadow for shadow, _ in folded]
        spread = [collapse_spread(shadow) for shadow in shadows]
        spans = self._find_spans(shadows)
        more = iter(self._find_spans([collapsed[0] for collapsed in spread if collapsed]))
        cleaned = []
        for text, (_, places), found, collapsed in zip(texts, folded, spans, spread, strict=True):
            if collapsed:
                origin = collapsed[1]
                found += [(origin[start], origin[end - 1] + 1, "") for start, end, _ in next(more)]
            cleaned.append(squeeze_spaces(cut_spans(text, found, places)) if found else text)
        return cleaned

    def _find_spans(self, shadows: Sequence[str]) -> list[list[tuple[int, int, str]]]:
        lowers = list(map(_lower, shadows))
        forms = [list_forms(lower) for lower in lowers]
        names = self._keys.find(set().union(*forms))
        return [
            [
                (start, end, "")
                for name in inside.union(*(names[form] for form in words & names.keys()))
                for start, end in find_name(name, lower)
                if not (name.isalpha() and is_ordinary(name)) or _is_addressed(shadow, start, end)
            ]
            for shadow, lower, words, inside in zip(
                shadows, lowers, forms, self._unspaced.find(lowers), strict=True
            )
        ]


def _is_addressed(shadow: str, start: int, end: int) -> bool:
    """Whether a word of the language is somebody's name here: `Thanks Sunshine!`"""
    return (
        shadow[start].isupper()
        and _ADDRESSING.search(shadow[max(0, start - 24) : start]) is not None
        and _ADDRESSED.match(shadow, end) is not None
    )


def _to_mask(column: pa.Array) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = column.to_numpy(zero_copy_only=False)
    return mask


def _lower(shadow: str) -> str:
    """A folded text in lower case without accents, each character in its place."""
    lower = shadow.lower()
    if len(lower) != len(shadow):
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in shadow)
    return remove_accents(lower)
