"""The text normalisation that MileBench's scores rest on, quirks included.

The rules, in the order in which they act:
1. line breaks and tabs become spaces; white space at the ends goes
2. each of the signs in `SIGNS` is deleted where the text has it next to a space somewhere, or has a comma
   between two digits anywhere; otherwise it becomes a space. What counts is the text before any change
3. full stops that no digit follows are deleted, but only the first 32 of them in the `paper` protocol
4. single quotes, then double quotes, then white space go from the ends; lower case
"""

from __future__ import annotations

import re
from functools import lru_cache

SIGNS = ';/[]"{}()=+\\_-><@`,?!'

_ANY_SIGN = re.compile("[" + re.escape(SIGNS) + "]")
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_FULL_STOP = re.compile(r"\.(?!\d)")
_DELETE_ALL = {ord(sign): None for sign in SIGNS}

PAPER_STOPS = 32
"""How many full stops the `paper` protocol deletes (an option that was passed as a count)."""


def normalise(text: str, stops: int = PAPER_STOPS) -> str:
    """The text as scores compare it. `stops` is how many full stops may go; 0 means all."""
    text = text.replace("\n", " ").replace("\t", " ").strip()
    if _ANY_SIGN.search(text):
        text = text.translate(_choose_replacements(text))
    if "." in text:
        text = _FULL_STOP.sub("", text, count=stops)
    return text.strip("'").strip('"').strip().lower()


def _choose_replacements(text: str) -> dict[int, str | None]:
    """What becomes of each sign in this text."""
    if "," in text and _COMMA_IN_NUMBER.search(text):
        return dict(_DELETE_ALL)
    return {
        ord(sign): None if f"{sign} " in text or f" {sign}" in text else " " for sign in SIGNS if sign in text
    }


@lru_cache(maxsize=1 << 15)
def normalise_choice(text: str, stops: int = PAPER_STOPS) -> str:
    """`normalise` for texts that come back, such as the choices of a list."""
    return normalise(text, stops)
