"""A reply's reasoning, cut into a few segments of whole sentences."""

from __future__ import annotations

import re

from msgspec import Struct

from vivant.core.records import Record

MAX_SEGMENTS = 10
"""Segments a reply is cut into at most."""
_SHORTEST = 24
"""Pieces with fewer characters ("1.", "So:") go with the next."""
_FEWEST_WORDS = 8
_PIECE = re.compile(r"[^\n]+?(?:[.!?…](?=[\s\"')\]])[\"')\]]*|[。！？]|(?=\n)|$)", re.DOTALL)


class Segment(Struct, frozen=True):
    """A stretch of the reasoning: characters `start` to `end` of it."""

    start: int
    end: int


class Reasoning(Struct, frozen=True):
    """Where a reply reasons, and how that is cut."""

    field: str
    """`thinking`, where the server reports it apart, else `text`."""
    text: str
    segments: tuple[Segment, ...]

    def piece(self, number: int) -> str:
        """The text of a segment."""
        segment = self.segments[number]
        return self.text[segment.start : segment.end]


def split_reasoning(record: Record, max_segments: int = MAX_SEGMENTS) -> Reasoning | None:
    """The reasoning of a reply; None where it gives an answer and no reasons.

    The answer itself, a short last line, is no part of it.
    """
    apart = bool(record.reply.thinking.strip())
    text = record.reply.thinking if apart else record.reply.text
    end = len(text.rstrip())
    if not apart:
        last = text.rfind("\n", 0, end)
        if last >= 0 and len(text[last:end].split()) < 4:
            end = len(text[:last].rstrip())
    if len(text[:end].split()) < _FEWEST_WORDS:
        return None
    return Reasoning("thinking" if apart else "text", text, split_segments(text[:end], max_segments))


def split_segments(text: str, max_segments: int = MAX_SEGMENTS) -> tuple[Segment, ...]:
    """Whole sentences and lines, joined until there are at most `most` segments of similar length."""
    pieces = _pieces(text)
    if len(pieces) <= max_segments:
        return tuple(pieces)
    joined: list[Segment] = []
    total = sum(piece.end - piece.start for piece in pieces)
    done = 0
    for piece in pieces:
        done += piece.end - piece.start
        # A new segment begins where the text so far more than fills the share of those begun.
        if joined and (len(joined) == max_segments or done <= total * len(joined) / max_segments):
            joined[-1] = Segment(joined[-1].start, piece.end)
        else:
            joined.append(piece)
    return tuple(joined)


def _pieces(text: str) -> list[Segment]:
    pieces: list[Segment] = []
    for match in _PIECE.finditer(text):
        start, end = match.span()
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        if start == end:
            continue
        if pieces and pieces[-1].end - pieces[-1].start < _SHORTEST:
            pieces[-1] = Segment(pieces[-1].start, end)
        else:
            pieces.append(Segment(start, end))
    if len(pieces) > 1 and pieces[-1].end - pieces[-1].start < _SHORTEST:
        last = pieces.pop()
        pieces[-1] = Segment(pieces[-1].start, last.end)
    return pieces
