"""Where in a text personal data stand: e-mail and web addresses, telephone and other numbers, accounts, mentions.

A column of texts is searched at once for what all finders ask for (see `contact_patterns`): only texts that hold some of
it are folded and read one by one, each by the finders that asked for it. Both steps ask the same, so that nothing is
lost between them; a text that folding changes beyond signs is always read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from vivant.build.mimic.ingestion import (
    account_patterns,
    address_patterns,
    identity_patterns,
    introductions,
    phone_numbers,
    self_patterns,
    web_patterns,
)
from vivant.build.mimic.ingestion.account_patterns import looks_telling
from vivant.build.mimic.ingestion.contact_patterns import EMOJI, LETTERS, Finder, Span
from vivant.build.mimic.ingestion.text_forms import (
    FOLDED_SIGNS,
    ODD_LETTERS,
    SPREAD,
    collapse_spread,
)
from vivant.build.mimic.ingestion.word_lists import is_word, join_words

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

_MENTIONS = re.compile(
    rf"(?<![A-Za-z0-9_@])@+[\[(\"'«“]?(?!(?:{join_words('everybody')})(?![{LETTERS}]))"
    r"(?=[_.·\-]*[^\W_])[\w.·\-]*\w"
    rf"|(?<![\w@:\-])@[{EMOJI}\s/:]{{1,3}}(?P<apart>(?!\d)[{LETTERS}][{LETTERS}.\-]{{2,30}})"
    rf"|[\[(<]\s*(?:at|@)\s*[\])>]\s*(?P<bracketed>[{LETTERS}][{LETTERS}.\-]{{3,30}})"
    rf"|(?<![\w@.])(?P<reversed>[{LETTERS}][{LETTERS}.\-]{{3,30}})@(?![\w@\-])",
    re.IGNORECASE,
)
_AT_APART = r"@[^\w\-]|@$|[\[(<] ?(?i:at) ?[\])>]"
"""Mentions that only a closer look finds: the others need no more than the sign."""
_JOINED_GATES = 3
"""So many gates are one expression: more are slower than one after the other."""
FINDERS: tuple[Finder, ...] = (
    *web_patterns.FINDERS,
    *account_patterns.FINDERS,
    *identity_patterns.FINDERS,
    *address_patterns.FINDERS,
    *self_patterns.FINDERS,
    *phone_numbers.FINDERS,
    *introductions.FINDERS,
)


class _Sieve(NamedTuple):
    """What all finders ask for."""

    needles: dict[str, list[int]]
    """Needle → which finders it calls."""
    gates: dict[str, list[int]]
    """Precondition → the finders with a gate behind it."""
    joined: dict[str, list[str]]
    """Precondition → their gates, some at once."""


@cache
def _make_sieve() -> _Sieve:
    needles: dict[str, list[int]] = {}
    gates: dict[str, list[int]] = {}
    for index, finder in enumerate(FINDERS):
        for needle in finder.needles:
            # Searching ignores the letter case of ASCII alone.
            for form in {needle} if needle.isascii() else {needle, needle.capitalize(), needle.upper()}:
                needles.setdefault(form, []).append(index)
        if finder.gate:
            gates.setdefault(finder.precondition, []).append(index)
    joined: dict[str, list[str]] = {}
    for precondition, group in gates.items():
        listed = [FINDERS[index].gate for index in group]
        listed += (ODD_LETTERS, SPREAD, _AT_APART) if not precondition else ()
        joined[precondition] = [
            "|".join(f"(?:{gate})" for gate in listed[start : start + _JOINED_GATES])
            for start in range(0, len(listed), _JOINED_GATES)
        ]
    return _Sieve(needles, gates, joined)


def find_suspects(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Which texts of a column are worth a closer look, and which hold mentions and nothing else."""
    import polars as pl

    sieve = _make_sieve()
    texts = _fold_signs(pl.Series(pl.from_arrow(column)).cast(pl.String))
    suspect = texts.str.contains_any(list(sieve.needles), ascii_case_insensitive=True)
    for precondition, gates in sieve.joined.items():
        rows = (~suspect & texts.str.contains(precondition)).arg_true()
        some = texts.gather(rows)
        for gate in gates:
            suspect[rows.filter(some.str.contains(gate))] = True
    mention = texts.str.contains("@", literal=True) & ~suspect
    return suspect.to_arrow(), mention.to_arrow()


def _fold_signs(texts: pl.Series) -> pl.Series:
    """The same with the signs that folding changes and that everyday texts hold, such as full-width commas."""
    rows = texts.str.contains(f"[{''.join(FOLDED_SIGNS)}]").arg_true()
    if not len(rows):
        return texts
    folded = texts.gather(rows).str.replace_many(list(FOLDED_SIGNS), list(FOLDED_SIGNS.values()))
    return texts.scatter(rows, folded)


def find_mentions(shadow: str) -> Iterator[Span]:
    """Mentions by @, in a folded text."""
    if "@" not in shadow and "at" not in shadow.lower():
        return
    for match in _MENTIONS.finditer(shadow):
        apart = match["apart"] or match["bracketed"] or match["reversed"]
        if apart is None or looks_telling(apart) or (apart.isascii() and not is_word(apart)):
            yield match.span()


def find_contacts(shadows: Sequence[str]) -> Iterator[list[Span]]:
    """E-mail and web addresses, accounts, telephone numbers and other data of a person, for each folded text."""
    collapsed = {
        index: pair for index, shadow in enumerate(shadows) if (pair := collapse_spread(shadow)) is not None
    }
    texts = [*shadows, *(text for text, _ in collapsed.values())]
    spans = [
        [span for find in dict.fromkeys(FINDERS[index].find for index in sorted(wanted)) for span in find(text)]
        for text, wanted in zip(texts, _choose_finders(texts), strict=True)
    ]
    for (index, (_, places)), spread in zip(collapsed.items(), spans[len(shadows) :], strict=True):
        spans[index] += [(places[start], places[end - 1] + 1) for start, end in spread]
    yield from spans[: len(shadows)]


def _choose_finders(texts: Sequence[str]) -> Iterable[set[int]]:
    """Which finders each text needs."""
    import polars as pl

    sieve = _make_sieve()
    column = pl.Series(texts, dtype=pl.String)
    found = column.str.extract_many(list(sieve.needles), ascii_case_insensitive=True, overlapping=True)
    chosen = [
        {index for needle in set(needles) for index in sieve.needles.get(needle) or sieve.needles[needle.lower()]}
        for needles in found.to_list()
    ]
    for precondition, group in sieve.gates.items():
        rows = column.str.contains(precondition).arg_true()
        some = column.gather(rows)
        for index in group:
            for row in rows.filter(some.str.contains(FINDERS[index].gate)):
                chosen[row].add(index)
    return chosen
