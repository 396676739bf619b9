"""Normalising what models write: thinking taken out, and one plain form for comparing words."""

from __future__ import annotations

import re
import unicodedata

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.IGNORECASE | re.DOTALL)
_THINKING_OPEN = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_THINKING_CLOSE = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the) (?=\S)")
_NUMBER_MARK = re.compile(r"(?<=\d)[.,:/](?=\d)|(?<!\w)-(?=[.\d])|%")


def strip_thinking(reply: str) -> str | None:
    """The reply without its thinking; None where the thinking never ends, so that there is no answer.

    Some chat templates write the opening tag themselves: all up to the last closing tag is thinking then.
    """
    rest = _THINKING.sub("", reply)
    closing = list(_THINKING_CLOSE.finditer(rest))
    if closing:
        rest = rest[closing[-1].end() :]
    return None if _THINKING_OPEN.search(rest) else rest.strip()


def plain(text: str) -> str:
    """Lower case, compatibility forms folded, punctuation as single spaces, one leading article dropped.

    Marks that tell numbers apart stay: 3.5 is not 35, -3 is not 3, 5 % is not 5.
    """
    folded = unicodedata.normalize("NFKC", text).replace("−", "-").casefold()
    kept = {match.start() for match in _NUMBER_MARK.finditer(folded)}
    letters = (
        character if index in kept or not _is_punctuation(character) else " "
        for index, character in enumerate(folded)
    )
    return _ARTICLE.sub("", " ".join("".join(letters).split()))


def _is_punctuation(character: str) -> bool:
    return character == "`" or unicodedata.category(character)[0] in "PC"
