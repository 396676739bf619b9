"""Thoughts that a model writes into its reply, told apart from the answer. `thought_marks.yaml` holds the marks."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from msgspec import Struct

from vivant.core.yaml_files import read_resource

ENDED_THINKING = "ended while it was thinking"
"""The error of a reply that came to its end within its limits, inside its thoughts."""


class ThoughtMark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What stands before thoughts or an answer, and what after."""

    open: str
    close: str
    closes_alone: bool = False
    paired: bool = False


class ThoughtMarks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of `thought_marks.yaml`."""

    marks: tuple[ThoughtMark, ...]
    answers: tuple[ThoughtMark, ...]


class SplitReply(NamedTuple):
    """A reply taken apart."""

    thinking: str
    answer: str
    unfinished: bool = False
    """The thoughts never end: there is no answer."""


@cache
def load_thought_marks() -> ThoughtMarks:
    """Read the marks that come with the package."""
    return read_resource("vivant.models", "thought_marks.yaml", ThoughtMarks)


@cache
def _any_mark() -> re.Pattern[str]:
    """Finds a mark: most replies have none."""
    table = load_thought_marks()
    marks = (*table.marks, *table.answers)
    signs = sorted({sign for mark in marks for sign in (mark.open, mark.close) if sign})
    return re.compile("|".join(map(re.escape, signs)))


def split_thinking(text: str, *, opened: bool = False) -> SplitReply:
    """Tell thoughts from the answer.

    Args:
        text: the reply.
        opened: the prompt itself ended with an opening mark.

    Returns:
        Thoughts that were cut off leave an empty answer: they must not be read as one. A reply without marks is
        returned as it is.
    """
    if not opened and _any_mark().search(text) is None:
        return SplitReply("", text)
    marks = load_thought_marks()
    thoughts: list[str] = []
    rest = text.lstrip()
    while True:
        mark = _find_opening(rest, marks.marks)
        if mark is not None:
            inside = rest[len(mark.open) :]
        elif not thoughts and (opened or _closes_alone(rest, marks.marks)):
            inside = rest
            mark = _find_closing(rest, marks.marks)
        else:
            break
        if mark is None or mark.close not in inside:
            return SplitReply("\n".join([*thoughts, inside.strip()]), "", unfinished=True)
        thought, _, rest = inside.partition(mark.close)
        thoughts.append(thought.strip())
        rest = rest.lstrip()
    answer = _unwrap(rest, marks.answers)
    if not thoughts and answer == rest:
        return SplitReply("", text)
    return SplitReply("\n".join(filter(None, thoughts)), answer)


def find_opened_mark(prompt: str) -> bool:
    """Whether a prompt ends with an opening mark, so that the reply begins inside the thoughts."""
    end = prompt.rstrip()
    return any(end.endswith(mark.open) for mark in load_thought_marks().marks if not mark.paired)


def _find_opening(text: str, marks: tuple[ThoughtMark, ...]) -> ThoughtMark | None:
    fitting = [
        mark for mark in marks if text.startswith(mark.open) and (not mark.paired or mark.close in text)
    ]
    return max(fitting, key=lambda mark: len(mark.open), default=None)


def _closes_alone(text: str, marks: tuple[ThoughtMark, ...]) -> bool:
    mark = _find_closing(text, tuple(mark for mark in marks if mark.closes_alone))
    return mark is not None and mark.open not in text[: text.index(mark.close)]


def _find_closing(text: str, marks: tuple[ThoughtMark, ...]) -> ThoughtMark | None:
    """The closing mark that comes first."""
    positions = [(text.index(mark.close), mark) for mark in marks if not mark.paired and mark.close in text]
    return min(positions, key=lambda item: item[0])[1] if positions else None


def _unwrap(text: str, marks: tuple[ThoughtMark, ...]) -> str:
    """An answer without the marks around it, of which one pair may be inside another."""
    while (mark := _find_opening(text.lstrip(), marks)) is not None:
        inside, _, after = text.lstrip()[len(mark.open) :].partition(mark.close)
        text = (inside.strip() + after).strip()
    return text
