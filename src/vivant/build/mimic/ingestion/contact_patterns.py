"""What patterns of personal data share. They run over folded texts (see `text_forms`), in any letter case.

A pattern names needles: one of them is in every text that it matches. To look for all of them at once is
quicker by far.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

Check = Callable[[re.Match[str]], bool]
Span = tuple[int, int]

ASCII = "A-Za-z0-9_"
LETTERS = f"{ASCII}\u00c0-\u04ff"
"""Of scripts that put spaces between words."""
CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
SOME_DIGITS, MANY_DIGITS = "2", "6"
"""Needles that stand for so many digits anywhere in a text."""
EMOJI = "\u2190-\u2bff\u3030\U0001f000-\U0001faff"


class ContactPattern(NamedTuple):
    """What to look for first, the pattern, and what a match must pass besides."""

    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    check: Check | None = None

    def find(self, shadow: str) -> Iterator[Span]:
        """Where it matches in a folded text."""
        for match in self.pattern.finditer(shadow):
            if self.check is None or self.check(match):
                yield match.span()


def make_pattern(
    needles: str | tuple[str, ...], pattern: str, check: Check | None = None, flags: int = re.IGNORECASE
) -> ContactPattern:
    """A pattern with the needles that point to it, in lower case."""
    listed = (needles,) if isinstance(needles, str) else needles
    return ContactPattern(listed, re.compile(pattern, flags), check)
