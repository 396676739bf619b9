"""What patterns of personal data share. They run over folded texts (see `text_forms`), in any letter case.

A pattern names needles: one of them is in every text that it matches, near its beginning. To look for those first is
quicker by far.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

Check = Callable[[re.Match[str]], bool]
_BEFORE = 70
"""So far before its needle a match may begin."""

ASCII = "A-Za-z0-9_"
LETTERS = f"{ASCII}\u00c0-\u04ff"
"""Of scripts that put spaces between words."""
CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
EMOJI = "\u2190-\u2bff\u3030\U0001f000-\U0001faff"


class ContactPattern(NamedTuple):
    """What to look for first, the pattern, and what a match must pass besides."""

    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    check: Check | None = None
    before: int = _BEFORE

    def find_start(self, lower: str) -> int:
        """Where a match may begin at the earliest; -1 where there is none."""
        places = [place for needle in self.needles if (place := lower.find(needle)) >= 0]
        return max(0, min(places) - self.before) if places else -1


def make_pattern(
    needles: str | tuple[str, ...],
    pattern: str,
    check: Check | None = None,
    flags: int = re.IGNORECASE,
    before: int = _BEFORE,
) -> ContactPattern:
    """A pattern with the needles that point to it, in lower case."""
    listed = (needles,) if isinstance(needles, str) else needles
    return ContactPattern(listed, re.compile(pattern, flags), check, before)
