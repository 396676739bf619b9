"""Names of everybody in a crawl, and how they leave its texts.

The readers hand over each uploader's and commenter's name. They are kept beside the parts while a crawl is read, and
gone when the step is finished. A name that no word looks like (two words, a digit, an underscore) is taken out of all
texts, in any letter case, with the endings that languages hang on it. One plain word may be a word of the language as
well: it is taken out unless a dictionary has it, or it stands in so many texts that it must be one.

Finding them costs little: the words of a column are looked up together, and only texts with a name's rarest word in
them are read one by one. Names in scripts without spaces are looked for by the characters themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from vivant.build.mimic.ingestion.contact_patterns import CJK, EMOJI
from vivant.build.mimic.ingestion.privacy import cut_spans
from vivant.build.mimic.ingestion.text_forms import (
    FOLDABLE,
    SPREAD,
    collapse_spread,
    fold_text,
    squeeze_spaces,
)
from vivant.build.mimic.ingestion.word_lists import is_ordinary
from vivant.core.files import write_atomic

SUFFIX = ".names"
SAMPLE = 200_000
"""Texts in which words are counted."""
COMMON = 5
"""A plain word in so many texts of the sample is a word of the language."""
_SHORTEST_WORD, _SHORTEST_NAME, _SHORTEST_PAIR = 5, 5, 7
_LONGEST_NAME = 60
_SIMPLE = re.compile(r"@?([A-Za-z0-9_]{5,60})")
_PLACEHOLDERS = {"deleted user", "user deleted", "unknown user", "private user", "[deleted]"}
_UNSPACED = re.compile(f"[{CJK}]")
_WORD = re.compile(r"[^\W_]+(?:[_.][^\W_]+)*")
_ORNAMENT = re.compile(rf"^[^\w@]+|[^\w]+$|[{EMOJI}\ufe0f]+")
_OFFICE = re.compile(
    r"(?: |^)(?:official|officiel|oficial|offiziell|tv|channel|canal|kanal|music|vlogs?|gaming|games|yt|hd|sho"
    r"rts|канал|официальный|"
    r"официально|频道|官方|チャンネル|公式|ちゃんねる|ch\.?)$"
)
_BETWEEN = r"[\s._\-'’]{0,3}"
_LATIN_ENDING = r"(?:['’`´]?s|['’])?"
_CYRILLIC_ENDING = r"(?:а|у|ом|ем|ём|е|ы|и|ой|ей|ою|ю|я|ам|ами|ах|ов|ев|ям|ями|ях|ь|й|ин|ина|ину)?"
_HONORIFIC = (
    r"(?:さん|ちゃん|くん|君|様|さま|先生|氏|たん|先輩|老师|老師|哥|姐|大哥|大佬|同学|小姐|女士|님|씨)"
)


def fold_name(name: str) -> str:
    """A name as it is looked for: folded, in lower case, without @; nothing where it cannot be told from words."""
    if simple := _SIMPLE.fullmatch(name):
        handle = simple.group(1).lower()
        return "" if handle.isdecimal() else handle
    folded = " ".join(fold_text(name)[0].casefold().split()).lstrip("@").strip()
    if folded in _PLACEHOLDERS or len(folded) > _LONGEST_NAME:
        return ""
    folded = " ".join(_ORNAMENT.sub(" ", folded).split())
    while (shorter := _OFFICE.sub("", folded).strip()) != folded and shorter:
        folded = shorter
    words = re.findall(r"\w+", folded)
    if not any(character.isalpha() for character in folded) or not words or folded in _PLACEHOLDERS:
        return ""
    if _UNSPACED.search(folded):
        return folded if len(folded) >= 2 else ""
    if len(folded) < _SHORTEST_NAME:
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


_AROUND = ".,;:!?…\"'`´’‘“”«»()[]{}<>*~@#&/|\\+=-–—。，、！？：；（）「」『』【】"
_SPLIT = r"[^\pL\pN_.]+|[\x{3005}-\x{3007}\x{3040}-\x{30ff}\x{3400}-\x{9fff}\x{ac00}-\x{d7a3}]+"


def split_words(column: pa.Array) -> pa.ListArray:
    """The words of each text, in lower case."""
    words = pc.utf8_split_whitespace(pc.utf8_lower(column))
    return pa.ListArray.from_arrays(words.offsets, pc.utf8_trim(words.values, _AROUND))


def is_plain(names: pa.Array) -> pa.Array:
    """Which names could be words."""
    return pc.utf8_is_alpha(names)


def _make_pattern(name: str) -> re.Pattern[str]:
    """What a folded name looks like in a folded text: not inside a longer word, with a language's endings."""
    words = name.split()
    if _UNSPACED.search(name):
        return re.compile(_bound_unspaced(name, _BETWEEN.join(map(re.escape, words))))
    last = words[-1]
    body = _BETWEEN.join(map(re.escape, words))
    if re.search("[а-яё]$", last) and len(last) > 3:
        stem = re.escape(last[:-1]) if last[-1] in "аяйьеоыи" else re.escape(last)
        body = _BETWEEN.join([*map(re.escape, words[:-1]), stem]) + _CYRILLIC_ENDING
    else:
        body += _LATIN_ENDING
    return re.compile(rf"(?<![^\W{CJK}])@?{body}(?![^\W{CJK}])")


def _bound_unspaced(name: str, body: str) -> str:
    """Names of scripts without spaces may stand anywhere, if they are long; short ones need a boundary or a title."""
    letters = [character for character in name if character.isalnum()]
    if len(letters) >= 4 or (len(letters) == 3 and not all("\u3040" <= c <= "\u30ff" for c in letters)):
        if all("\u30a0" <= c <= "\u30ff" for c in letters):
            return rf"(?<![\u30a0-\u30ff]){body}(?![\u30a0-\u30ff])"
        return body
    return rf"{body}(?={_HONORIFIC})|(?<=[@#]){body}"


class NameBook:
    """Takes the names of a crawl's people out of texts."""

    def __init__(self, names: Sequence[str], common: frozenset[str] = frozenset()) -> None:
        column = pa.array(names, pa.string())
        doubtful = pc.or_(
            pc.less(pc.utf8_length(column), _SHORTEST_WORD),
            pc.is_in(column, value_set=pa.array(sorted(common), pa.string())),
        )
        unspaced = pc.match_substring_regex(column, f"[{_escape_range()}]")
        self._unspaced = [name for name in column.filter(unspaced).to_pylist() if name not in common]
        column = column.filter(pc.invert(pc.or_(unspaced, pc.and_(is_plain(column), doubtful))))
        alone = pc.utf8_is_alnum(column)
        self._words = set(column.filter(alone).to_pylist())
        """Names of one word."""
        self._names: dict[str, list[str]] = {}
        """The others, by their longest word, for the shorter ones are the commoner ones."""
        for name in column.filter(pc.invert(alone)).to_pylist():
            pieces = [word.strip(_AROUND) for word in name.split()]
            self._names.setdefault(max(pieces, key=lambda word: (len(word), word)), []).append(name)
            if len(pieces) > 1:  # Marta Walks as martawalks or marta_walks
                for sign in ("", "_", ".", "-"):
                    self._names.setdefault(sign.join(pieces), []).append(name)
        inflected = {
            form
            for word in (*self._words, *self._names)
            if word and "а" <= word[-1] <= "ё"
            for form in _inflect(word)
        }
        self._keys = pa.array(list(self._words | self._names.keys() | inflected), pa.string())
        self._ordinary: dict[str, bool] = {}

    def __len__(self) -> int:
        return len(self._words) + sum(map(len, self._names.values())) + len(self._unspaced)

    def clean(self, column: pa.Array) -> pa.Array:
        """A column of texts without the names."""
        rows = self._find_rows(column)
        if not len(rows):
            return column
        cleaned = pa.array([self.text(text) for text in column.take(rows).to_pylist()], column.type)
        mask = pc.is_in(pa.array(range(len(column)), pa.int64()), value_set=rows.cast(pa.int64()))
        return pc.replace_with_mask(column, mask, cleaned)

    def _find_rows(self, column: pa.Array) -> pa.Array:
        """Where a name may stand, in the order of the column."""
        hits: list[pa.Array] = []
        if len(self._keys) and len(column):
            hits.append(self._match_words(split_words(column)))
            # Where people write no spaces, names of other scripts stand inside the text.
            rows = pc.indices_nonzero(pc.match_substring_regex(column, _ADJACENT)).cast(pa.int64())
            pieces = pc.split_pattern_regex(pc.utf8_lower(column.take(rows)), _SPLIT)
            hits.append(rows.take(self._match_words(pieces)))
        if self._unspaced and len(column):
            import polars as pl

            texts = pl.Series(pl.from_arrow(column)).str.to_lowercase()
            found = texts.str.contains_any(self._unspaced).arg_true()
            hits.append(found.to_arrow().cast(pa.int64()))
        if hits:  # letters in another form, and words spread out
            odd = pc.match_substring_regex(column, _ODD_LETTERS)
            hits.append(pc.indices_nonzero(odd).cast(pa.int64()))
        if not hits:
            return pa.array([], pa.int64())
        rows = pc.unique(pa.concat_arrays(hits))
        return rows.take(pc.sort_indices(rows))

    def _match_words(self, words: pa.ListArray) -> pa.Array:
        """The rows in which a word is a name's, with or without an ending."""
        flat, rows = words.flatten(), pc.list_parent_indices(words).cast(pa.int64())
        ends = pc.or_(pc.ends_with(flat, "s"), pc.ends_with(flat, "’"))
        ended = pc.utf8_rtrim(pc.utf8_rtrim(flat.filter(ends), "s"), "'’`´")
        return pa.concat_arrays(
            [
                rows.filter(pc.is_in(flat, value_set=self._keys)),
                rows.filter(ends).filter(pc.is_in(ended, value_set=self._keys)),
            ]
        )

    def text(self, text: str) -> str:
        """One text without the names."""
        shadow, places = fold_text(text)
        lower = shadow.lower()
        if len(lower) != len(shadow):
            lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in shadow)
        spans = self._find_spans(lower)
        if collapsed := collapse_spread(lower):
            spread, origin = collapsed
            spans += [(origin[start], origin[end - 1] + 1, "") for start, end, _ in self._find_spans(spread)]
        return squeeze_spaces(cut_spans(text, spans, places)) if spans else text

    def _find_spans(self, lower: str) -> list[tuple[int, int, str]]:
        return [
            (match.start(), match.end(), "")
            for name in self._list_candidates(lower)
            for match in _make_pattern(name).finditer(lower)
        ]

    def _list_candidates(self, lower: str) -> Iterator[str]:
        words = {word.strip(_AROUND) for word in lower.split()}
        if _UNSPACED.search(lower):
            words |= set(re.findall(r"[\w.]+", _UNSPACED.sub(" ", lower)))
        for word in words - {""}:
            for form in {word, word.rstrip("s").rstrip("'’`´"), *_stems(word)}:
                yield from self._names.get(form, ())
                if form in self._words and not self._is_ordinary(form):
                    yield form
        yield from (name for name in self._unspaced if name in lower)

    def _is_ordinary(self, word: str) -> bool:
        known = self._ordinary.get(word)
        if known is None:
            known = self._ordinary[word] = word.isalpha() and is_ordinary(word)
        return known


def _escape(pattern: str) -> str:
    return "".join(c if c.isascii() else f"\\x{{{ord(c):x}}}" for c in pattern)


_ODD_LETTERS = (
    f"{_escape(FOLDABLE.pattern)}|{_escape(SPREAD)}|[a-zA-Z][\\x{{430}}-\\x{{44f}}]|[\\x{{430}}-\\x{{44f}}][a-"
    f"zA-Z]"
)


def _escape_range() -> str:
    return r"\x{3005}-\x{3007}\x{3040}-\x{30ff}\x{3400}-\x{9fff}\x{ac00}-\x{d7a3}"


_ADJACENT = (
    f"[{_escape_range()}][^{_escape_range()}\\s]*[a-z0-9_A-Z\\x{{400}}-\\x{{4ff}}]|[a-z0-9_A-Z\\x{{400}}-\\x{{"
    f"4ff}}][{_escape_range()}]"
)
"""A letter of another script right beside one of a script without spaces."""
_ENDINGS = (
    "",
    "а",
    "у",
    "ом",
    "ем",
    "ём",
    "е",
    "ы",
    "и",
    "ой",
    "ей",
    "ю",
    "я",
    "ов",
    "ам",
    "ами",
    "ах",
    "ь",
    "й",
)


def _inflect(word: str) -> set[str]:
    """A Cyrillic name with the endings that it may take."""
    stem = word[:-1] if word[-1] in "аяйьеоыи" else word
    return {stem + ending for ending in _ENDINGS} if len(stem) > 2 else set()


def _stems(word: str) -> set[str]:
    """What a Cyrillic word may be a form of."""
    if not ("а" <= word[-1] <= "ё"):
        return set()
    stems = {word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending)}
    return {stem + ending for stem in stems for ending in ("", "а", "я", "й", "ь", "о", "е", "ы", "и")}
