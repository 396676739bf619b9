"""How personal data are looked for: finders, which run over folded texts (see `text_forms`), in any letter case.

A finder says itself which texts it must see, so that a column can be searched for all of them at once: those with one
of its needles, and, where no needle is telling, those that pass its gate, a regular expression that takes linear time.
Where it names neither, its own pattern is the gate, without what looks around.

To add one: write `make_finder(pattern, check)` into the tuple `FINDERS` of the module of its kind, with its words in
`word_lists.yaml`. `check` sees the match and refuses what only looks like it. Give it `needles` where a fixed string is
always there, otherwise a `gate` that few other texts pass, and a `precondition` that they share (`DIGIT`,
`OTHER_LETTER`). Then plant a form and a clean text that misleads in `planted.yaml`, and a case in
`tests/build/privacy/test_masking.py`, which also counts the expressions; `benchmarks/mimic_ingest.py` tells the cost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

Check = Callable[[re.Match[str]], bool]
Span = tuple[int, int]

ASCII = "A-Za-z0-9_"
LETTERS = f"{ASCII}\u00c0-\u04ff"
"""Of scripts that put spaces between words."""
CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
EMOJI = "\u2190-\u2bff\u3030\U0001f000-\U0001faff"
DIGIT, SIX_DIGITS = "[0-9]", "(?:[0-9][^0-9]*){6}"
OTHER_LETTER = f"[{CJK}\u1100-\u11ff\u3130-\u318f\u0400-\u04ff]"
"""Of the scripts that most finders of other languages need: Asian ones and Cyrillic."""
CAPITAL = "A-Z\u00c0-\u00de\u0100-\u024f\u0400-\u042f"
_GROUP = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\\\]])*\]|\((?:\?(?:P<\w+>|<?[=!]|-?i?:))?|\)", re.DOTALL)


class Finder(NamedTuple):
    """Finds one kind of personal data, in the texts that it says to look at."""

    find: Callable[[str], Iterable[Span]]
    needles: tuple[str, ...] = ()
    """In lower case."""
    gate: str = ""
    """In the dialect of polars, which has no look-around."""
    precondition: str = ""
    """A simple gate that leaves few texts for the other one."""
    common: bool = False
    """Whether many texts pass the gate. Such gates are asked apart, so that they do not call the finders of others."""


def make_finder(
    pattern: str,
    check: Check | None = None,
    *,
    needles: str | Iterable[str] = (),
    gate: str = "",
    precondition: str = "",
    common: bool = False,
    exact: bool = False,
) -> Finder:
    """A finder of what a pattern matches and a check accepts; `exact`: in the letter case as written."""
    compiled = re.compile(pattern, 0 if exact else re.IGNORECASE)

    def find(shadow: str) -> Iterator[Span]:
        for match in compiled.finditer(shadow):
            if check is None or check(match):
                yield match.span()

    listed = (needles,) if isinstance(needles, str) else tuple(needles)
    if not listed and not gate:
        gate = remove_lookaround(pattern) if exact else f"(?i:{remove_lookaround(pattern)})"
    return Finder(find, listed, gate, precondition, common)


def remove_lookaround(pattern: str) -> str:
    """A pattern that matches at least the same texts, in a dialect without look-around and named groups."""
    kept: list[str] = []
    depth = hidden = 0  # hidden: the depth at which what looks around began
    end = 0
    for token in _GROUP.finditer(pattern):
        sign = token.group()
        if not hidden:
            kept.append(pattern[end : token.start()])
        end = token.end()
        if sign[0] == "(":
            depth += 1
            if not hidden and sign.endswith(("=", "!")):
                hidden = depth
            elif not hidden:
                kept.append("(?:" if sign == "(" or sign.endswith(">") else sign)
        elif not hidden:
            kept.append(sign)
        if sign == ")":
            hidden = 0 if hidden == depth else hidden
            depth -= 1
    return "".join(kept) + pattern[end:]
