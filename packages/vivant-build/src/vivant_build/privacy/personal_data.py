"""Where in a text personal data stand: e-mail and web addresses, telephone and other numbers, accounts, mentions.

A column of texts is searched at once for what all finders ask for (see `contact_patterns`): only texts that hold
some of it are folded and read one by one, each by the finders that asked for it. Both steps ask the same, so that
nothing is lost between them; a text that folding changes beyond signs is always read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vivant_build.privacy import (
    account_patterns,
    address_patterns,
    identity_patterns,
    introductions,
    phone_numbers,
    self_patterns,
    web_patterns,
)
from vivant_build.privacy.contact_patterns import CJK, EMOJI, LETTERS, Finder, Span
from vivant_build.privacy.service_accounts import looks_like_handle
from vivant_build.privacy.text_forms import (
    FOLDED_SIGNS,
    ODD_LETTERS,
    SPREAD,
    collapse_spread,
)
from vivant_build.privacy.word_lists import is_word, join_alternatives, join_words

if TYPE_CHECKING:
    import polars as pl

_MENTIONS = re.compile(
    rf"@(?:(?<![A-Za-z0-9_@]@)(?!(?<=[時分日曜点點]@)[{CJK}])@*[\[(\"'«“]?"
    rf"(?!(?i:{join_words('everybody')})(?![{LETTERS}])|(?:早上|上午|中午|下午|晚上|午前|午後|오전|오후)?\d{{1,2}}(?:時|点|點|시|[apAP][mM]|:\d\d))"
    r"(?=[_.·\-]*[^\W_])[\w.·\-]*\w"
    rf"|(?<![{LETTERS}@\-]@)(?<![^{CJK}]:@)[{EMOJI}\s/:]{{1,3}}(?P<apart>(?!\d)[{LETTERS}][{LETTERS}.\-]{{2,30}}))"
)
"""Begins with the sign itself, which makes the search quick."""
_BRACKETED_MENTIONS = re.compile(
    rf"[\[(<]\s*(?:[aA][tT]|@)\s*[\])>]\s*(?P<apart>[{LETTERS}][{LETTERS}.\-]{{3,30}})"
)
_REVERSED_MENTIONS = re.compile(rf"(?<![\w@.\-])(?P<apart>[{LETTERS}][{LETTERS}.\-]{{3,30}})@(?![\w@\-])")
_LAST_AT = re.compile(r"@(?![\w@\-])")
_AT_APART = r"@[^\w\-]|@$|[\[(<] ?(?i:at) ?[\])>]"
"""Mentions that only a closer look finds: the others need no more than the sign."""
_JOINED_GATES, _LONGEST_GATE = 9, 3_000
"""So many gates, and so many characters, are one expression. Polars keeps 32 compiled ones, and all together they must
be fewer; but an expression of too many parts is slow, a hundred times where its states no longer fit into memory."""
FINDERS: tuple[Finder, ...] = (
    *web_patterns.FINDERS,
    *account_patterns.FINDERS,
    *identity_patterns.FINDERS,
    *address_patterns.FINDERS,
    *self_patterns.FINDERS,
    *phone_numbers.FINDERS,
    *introductions.FINDERS,
)


Chosen = dict[str, set[int]]
"""Text → which finders it needs."""


class _Gate(NamedTuple):
    """The gates of some finders, as one expression."""

    precondition: str
    expression: str
    finders: list[int]


@cache
def _list_needles() -> dict[str, list[int]]:
    """Needle → which finders it calls."""
    needles: dict[str, list[int]] = {}
    for index, finder in enumerate(FINDERS):
        for needle in finder.needles:
            # Searching ignores the letter case of ASCII alone.
            for form in {needle} if needle.isascii() else {needle, needle.capitalize(), needle.upper()}:
                needles.setdefault(form, []).append(index)
    return needles


@cache
def list_gates() -> list[_Gate]:
    """All gates, those with the same precondition behind each other."""
    groups: dict[tuple[str, bool], list[int]] = {}
    for index, finder in sorted(enumerate(FINDERS), key=lambda pair: pair[1].precondition):
        if finder.gate:
            groups.setdefault((finder.precondition, finder.common), []).append(index)
    gates = [_Gate("", f"{ODD_LETTERS}|{SPREAD}|{_AT_APART}", [])]
    for (precondition, _), finders in groups.items():
        joined: list[int] = []
        for index in finders:
            size = sum(len(FINDERS[other].gate) for other in (*joined, index))
            if joined and (len(joined) == _JOINED_GATES or size > _LONGEST_GATE):
                gates.append(_join_gates(precondition, joined))
                joined = []
            joined.append(index)
        gates.append(_join_gates(precondition, joined))
    return gates


def _join_gates(precondition: str, finders: list[int]) -> _Gate:
    return _Gate(precondition, "|".join(f"(?:{FINDERS[index].gate})" for index in finders), finders)


def _match_gates(texts: pl.Series) -> Iterator[tuple[_Gate, NDArray[np.intp]]]:
    """Each gate and the rows of the texts that pass it; gates that no text reaches are left out."""
    groups = {name: list(group) for name, group in groupby(list_gates(), key=lambda gate: gate.precondition)}
    always, preconditions = groups[""], [name for name in groups if name]
    rows = _match_all(texts, [*(gate.expression for gate in always), *preconditions])
    yield from zip(always, rows, strict=False)
    for precondition, reached in zip(preconditions, rows[len(always) :], strict=True):
        if len(reached):
            some = _match_all(texts.gather(reached), [gate.expression for gate in groups[precondition]])
            yield from ((gate, reached[few]) for gate, few in zip(groups[precondition], some, strict=True))


def _match_all(texts: pl.Series, expressions: list[str]) -> list[NDArray[np.intp]]:
    """The rows in which each expression is found; all in one query, since a query costs as much as many texts."""
    import polars as pl

    columns = [pl.col("text").str.contains(text).alias(str(n)) for n, text in enumerate(expressions)]
    found = texts.alias("text").to_frame().select(columns)
    return [column.to_numpy().nonzero()[0] for column in found.get_columns()]


def find_suspects(column: pa.Array) -> tuple[pa.Array, pa.Array, Chosen]:
    """Which texts of a column are worth a closer look, which hold mentions and nothing else, and what to look for."""
    import polars as pl

    texts = _fold_signs(pl.Series(pl.from_arrow(column)).cast(pl.String))
    # One expression is quicker than `contains_any`.
    suspect = texts.str.contains(f"(?i:{join_alternatives(_list_needles())})").to_numpy(writable=True)
    matched = list(_match_gates(texts))
    for _, rows in matched:
        suspect[rows] = True
    mention = texts.str.contains("@", literal=True).to_numpy() & ~suspect
    places = suspect.nonzero()[0]
    chosen = _choose_by_needles(texts.gather(places))
    for gate, rows in matched:
        for row in np.searchsorted(places, rows):
            chosen[row].update(gate.finders)
    return pa.array(suspect), pa.array(mention), dict(zip(texts.gather(places), chosen, strict=True))


def _fold_signs(texts: pl.Series) -> pl.Series:
    """The same with the signs that folding changes and that everyday texts hold, such as full-width commas."""
    rows = texts.str.contains(f"[{''.join(FOLDED_SIGNS)}]").arg_true()
    if not len(rows):
        return texts
    folded = texts.gather(rows).str.replace_many(list(FOLDED_SIGNS), list(FOLDED_SIGNS.values()))
    return texts.scatter(rows, folded)


def find_mentions(shadow: str) -> Iterator[Span]:
    """Mentions by @, in a folded text."""
    patterns = [_BRACKETED_MENTIONS]
    if "@" in shadow:
        patterns.append(_MENTIONS)
        if _LAST_AT.search(shadow):
            patterns.append(_REVERSED_MENTIONS)
    for pattern in patterns:
        for match in pattern.finditer(shadow):
            apart = match["apart"]
            if apart is None or looks_like_handle(apart) or (apart.isascii() and not is_word(apart)):
                yield match.span()


def find_contacts(shadows: Sequence[str], chosen: Chosen | None = None) -> Iterator[list[Span]]:
    """E-mail and web addresses, accounts, telephone numbers and other data of a person, for each folded text.

    `chosen`: what `find_suspects` told; it is asked again for texts that folding changed since.
    """
    collapsed = {
        index: pair for index, shadow in enumerate(shadows) if (pair := collapse_spread(shadow)) is not None
    }
    texts = [*shadows, *(text for text, _ in collapsed.values())]
    finders = dict(chosen or {})
    unknown = [text for text in texts if text not in finders]
    if unknown:
        finders.update(zip(unknown, _choose_finders(unknown), strict=True))
    spans = [
        [
            span
            for find in dict.fromkeys(FINDERS[index].find for index in sorted(finders[text]))
            for span in find(text)
        ]
        for text in texts
    ]
    for (index, (_, places)), spread in zip(collapsed.items(), spans[len(shadows) :], strict=True):
        spans[index] += [(places[start], places[end - 1] + 1) for start, end in spread]
    yield from spans[: len(shadows)]


def _choose_finders(texts: Sequence[str]) -> list[set[int]]:
    """Which finders each text needs."""
    import polars as pl

    column = pl.Series(texts, dtype=pl.String)
    chosen = _choose_by_needles(column)
    for gate, rows in _match_gates(column):
        for row in rows:
            chosen[row].update(gate.finders)
    return chosen


def _choose_by_needles(texts: pl.Series) -> list[set[int]]:
    """Which finders each text needs by the needles that it holds."""
    needles = _list_needles()
    found = texts.str.extract_many(list(needles), ascii_case_insensitive=True, overlapping=True)
    return [
        {index for needle in set(row) for index in needles.get(needle) or needles[needle.lower()]}
        for row in found.to_list()
    ]
