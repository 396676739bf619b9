"""The two native forms of MMIE as items: the released conversations, and the input of the original's judge.

Released: {id, conversations: [{from: human|gpt, content: [{text, image}]}], catagory, field}. Judge's input
(`data.json`): {id, question, answer, model, gt_answer}, the three being lists of {text, image} or, for answers, a plain
text. `files` says which files hold them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from vivant.benchmarks.mmie.files import iter_values
from vivant.core.errors import DataError

CATEGORIES = ("SA", "PBL", "MSR")
"""In the order in which the original looks for them in an id."""
OTHER = "other"


class RawPart(Struct, frozen=True):
    """One part as the files have it: a text, a picture, both (the text comes first) or neither."""

    text: str | None = None
    image: str | None = None


class MmieItem(Struct, frozen=True, kw_only=True):
    """One question with its reference and, in the judge's input, an answer."""

    id: str
    question: tuple[RawPart, ...]
    reference: tuple[RawPart, ...] = ()
    answer: tuple[RawPart, ...] | None = None
    model: str = ""
    category: str = ""
    """As the file says it, where it does."""
    field: str = ""
    subfield: str = ""
    feedback: str | None = None
    """What a judge said already, in a result file of the original's."""


class _Turn(Struct):
    content: list[RawPart] | str | None
    speaker: str = field(name="from")


class _Released(Struct):
    id: str | int
    conversations: list[_Turn]
    catagory: str | None = None
    category: str | None = None
    field: str | None = None
    subfield: str | None = None


class _Evaluated(Struct):
    id: str | int
    question: list[RawPart] | str
    answer: list[RawPart] | str | None = None
    model: str | None = None
    gt_answer: list[RawPart] | str | None = None
    gpt_feedback: str | None = None
    field: str | None = None
    subfield: str | None = None


def find_category(item: str) -> str:
    """The first of SA, PBL, MSR that stands anywhere in an id, as the original has it; `other` for none."""
    return next((name for name in CATEGORIES if name in item), OTHER)


def read_items(file: Path) -> list[MmieItem]:
    """All items of a file. Raises DataError naming the file, the item's place and what is wrong with it."""
    items: list[MmieItem] = []
    for where, value in iter_values(file):
        if not isinstance(value, Mapping):
            raise DataError(f"{file}, {where}: should be an object with an id, not {type(value).__name__}")
        label = f" ('{value['id']}')" if isinstance(value.get("id"), str | int) else ""
        try:
            items.append(_parse_item(value))
        except (msgspec.ValidationError, DataError) as error:
            raise DataError(f"{file}, {where}{label}: {error}") from error
    if not items:
        raise DataError(f"{file} holds no items")
    return items


def _parse_item(value: Mapping[str, Any]) -> MmieItem:
    if "conversations" in value:
        return _parse_released(msgspec.convert(value, _Released))
    if "question" not in value:
        raise DataError("there is neither 'conversations' nor 'question'")
    raw = msgspec.convert(value, _Evaluated)
    return MmieItem(
        id=str(raw.id),
        question=_list_parts(raw.question),
        reference=_list_parts(raw.gt_answer),
        answer=None if raw.answer is None else _list_parts(raw.answer),
        model=raw.model or "",
        field=raw.field or "",
        subfield=raw.subfield or "",
        feedback=raw.gpt_feedback,
    )


def _parse_released(raw: _Released) -> MmieItem:
    """The last turn of the model is the reference; everything before it is the question."""
    turns = raw.conversations
    last = max((n for n, turn in enumerate(turns) if turn.speaker in ("gpt", "assistant")), default=None)
    question_turns = turns if last is None else turns[:last]
    question = [part for turn in question_turns for part in _list_parts(turn.content)]
    if not question:
        raise DataError("the conversation asks nothing")
    return MmieItem(
        id=str(raw.id),
        question=tuple(question),
        reference=() if last is None else _list_parts(turns[last].content),
        category=raw.catagory or raw.category or "",
        field=raw.field or "",
        subfield=raw.subfield or "",
    )


def _list_parts(content: Sequence[RawPart] | str | None) -> tuple[RawPart, ...]:
    if content is None:
        return ()
    return (RawPart(content),) if isinstance(content, str) else tuple(content)


def rename_repeated_ids(items: Sequence[MmieItem]) -> tuple[list[MmieItem], dict[str, int]]:
    """The same items with later ones of the same id renamed `id (2)`, and how often each such id stands."""
    counts: dict[str, int] = {}
    unique: list[MmieItem] = []
    for item in items:
        counts[item.id] = again = counts.get(item.id, 0) + 1
        unique.append(item if again == 1 else msgspec.structs.replace(item, id=f"{item.id} ({again})"))
    return unique, {name: count for name, count in counts.items() if count > 1}
