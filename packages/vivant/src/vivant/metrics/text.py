"""Reading what models write: thinking taken out, the last line, and one plain form for comparing words."""

from __future__ import annotations

import re
import unicodedata

_THINKING_TAG = re.compile(r"<(?P<closes>/?)(?P<kind>think|thinking|reasoning)>", re.IGNORECASE)
_THINKING_OPEN = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_THINKING_CLOSE = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the) (?=\S)")
_NUMBER_MARK = re.compile(r"(?<=\d)[.,:/](?=\d)|(?<!\w)-(?=[.\d])|%")


def strip_thinking(reply: str) -> str | None:
    """The reply without its thinking; None where the thinking never ends, so that there is no answer.

    Some chat templates write the opening tag themselves: all up to the last closing tag is thinking then.
    """
    rest = _without_closed(reply)
    closing = list(_THINKING_CLOSE.finditer(rest))
    if closing:
        rest = rest[closing[-1].end() :]
    return None if _THINKING_OPEN.search(rest) else rest.strip()


def _without_closed(reply: str) -> str:
    """Each opening tag taken out with all up to the next closing one of its kind. One pass: a reply may hold a
    hundred thousand tags that are never closed."""
    closing: dict[str, list[re.Match[str]]] = {}
    opening: list[re.Match[str]] = []
    for tag in _THINKING_TAG.finditer(reply):
        if tag["closes"]:
            closing.setdefault(tag["kind"].lower(), []).append(tag)
        else:
            opening.append(tag)
    if not opening or not closing:
        return reply
    for tags in closing.values():
        tags.reverse()  # the next one is the last
    pieces: list[str] = []
    end = 0
    for tag in opening:
        if tag.start() < end:
            continue
        ends = closing.get(tag["kind"].lower(), [])
        while ends and ends[-1].start() < tag.end():
            ends.pop()
        if ends:
            pieces.append(reply[end : tag.start()])
            end = ends.pop().end()
    return "".join((*pieces, reply[end:]))


def find_last_line(text: str) -> str:
    """The last line that holds anything, without the white space around it."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return lines[-1] if lines else ""


def normalise_text(text: str) -> str:
    """Lower case, compatibility forms folded, punctuation as single spaces, one leading article dropped.

    Marks that tell numbers apart stay: 3.5 is not 35, -3 is not 3, 5 % is not 5.
    """
    folded = unicodedata.normalize("NFKC", text).replace("−", "-").casefold()
    pieces: list[str] = []
    end = 0
    for mark in _NUMBER_MARK.finditer(folded):
        pieces += (folded[end : mark.start()].translate(_SPACED), mark[0])
        end = mark.end()
    pieces.append(folded[end:].translate(_SPACED))
    return _ARTICLE.sub("", " ".join("".join(pieces).split()))


class _Spaced(dict[int, int]):
    """A translation of punctuation to spaces, found out character by character and remembered."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        punctuation = character == "`" or unicodedata.category(character)[0] in "PC"
        self[code] = ord(" ") if punctuation else code
        return self[code]


_SPACED = _Spaced()
