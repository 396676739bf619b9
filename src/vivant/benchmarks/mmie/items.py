"""The two native files of MMIE as items: the released conversations, and the input of the original's judge.

Released (`overview.json`): a list of {id, conversations: [{from: human|gpt, content: [{text, image}]}],
catagory, field}. Judge's input (`data.json`): a list of {id, question, answer, model, gt_answer}, the three
being lists of {text, image} or, for answers, a plain text. Either may be JSON or JSON lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from vivant.core.errors import DataError

CATEGORIES = ("SA", "PBL", "MSR")
"""In the order in which the original looks for them in an id."""
OTHER = "other"
RELEASED, EVALUATION = "overview.json", "data.json"
_SUFFIXES = (".json", ".jsonl", ".ndjson")


class RawPart(Struct, frozen=True):
    """One part as the files have it: a text, a picture, both (the text comes first) or neither."""

    text: str | None = None
    image: str | None = None


class Item(Struct, frozen=True, kw_only=True):
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


def category_of(item: str) -> str:
    """The first of SA, PBL, MSR that stands anywhere in an id, as the original has it; `other` for none."""
    return next((name for name in CATEGORIES if name in item), OTHER)


def find_file(root: Path, name: str = "") -> Path:
    """The data file in a folder: the one that the user names, or the only one that it can be."""
    if root.is_file():
        return root
    if name:
        path = root / name
        if not path.is_file():
            raise DataError(f"{root} holds no {name}")
        return path
    for known in (RELEASED, EVALUATION):
        if (root / known).is_file():
            return root / known
    others = sorted(p for p in root.iterdir() if p.suffix in _SUFFIXES and not p.name.startswith("."))
    if len(others) == 1:
        return others[0]
    if others:
        listed = ", ".join(path.name for path in others[:6])
        raise DataError(f"{root} holds several data files ({listed}); name one: --task-option file=NAME")
    raise DataError(f"{root} holds no {RELEASED} and no {EVALUATION}")


def read_items(file: Path) -> list[Item]:
    """All items of a file. Raises DataError naming the file, the item's place and what is wrong with it."""
    items: list[Item] = []
    for place, value in _values(file):
        if not isinstance(value, Mapping):
            raise DataError(f"{file}, {place}: should be an object with an id, not {type(value).__name__}")
        named = f" ('{value['id']}')" if isinstance(value.get("id"), str | int) else ""
        try:
            items.append(_item(value))
        except (msgspec.ValidationError, DataError) as error:
            raise DataError(f"{file}, {place}{named}: {error}") from error
    if not items:
        raise DataError(f"{file} holds no items")
    return items


def _values(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        data = file.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise DataError(f"Cannot read {file}: {error.strerror}") from error
    if file.suffix != ".json":
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                yield f"line {number}", _decoded(line, file, f", line {number}")
        return
    whole = _decoded(data, file, "")
    if not isinstance(whole, list):
        raise DataError(f"{file} should hold a list of items, not {type(whole).__name__}")
    for number, value in enumerate(whole, 1):
        yield f"item {number}", value


def _decoded(data: bytes, file: Path, where: str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{file}{where} is no JSON: {error}") from error


def _item(value: Mapping[str, Any]) -> Item:
    if "conversations" in value:
        return _released(msgspec.convert(value, _Released))
    if "question" not in value:
        raise DataError("there is neither 'conversations' nor 'question'")
    raw = msgspec.convert(value, _Evaluated)
    return Item(
        id=str(raw.id),
        question=_parts(raw.question),
        reference=_parts(raw.gt_answer),
        answer=None if raw.answer is None else _parts(raw.answer),
        model=raw.model or "",
        field=raw.field or "",
        subfield=raw.subfield or "",
        feedback=raw.gpt_feedback,
    )


def _released(raw: _Released) -> Item:
    """The last turn of the model is the reference; everything before it is the question."""
    turns = raw.conversations
    last = max((n for n, turn in enumerate(turns) if turn.speaker in ("gpt", "assistant")), default=None)
    asked = turns if last is None else turns[:last]
    question = [part for turn in asked for part in _parts(turn.content)]
    if not question:
        raise DataError("the conversation asks nothing")
    return Item(
        id=str(raw.id),
        question=tuple(question),
        reference=() if last is None else _parts(turns[last].content),
        category=raw.catagory or raw.category or "",
        field=raw.field or "",
        subfield=raw.subfield or "",
    )


def _parts(content: Sequence[RawPart] | str | None) -> tuple[RawPart, ...]:
    if content is None:
        return ()
    return (RawPart(content),) if isinstance(content, str) else tuple(content)


def unique_ids(items: Sequence[Item]) -> tuple[list[Item], dict[str, int]]:
    """The same items with later ones of the same id renamed `id (2)`, and how often each such id stands."""
    counts: dict[str, int] = {}
    unique: list[Item] = []
    for item in items:
        counts[item.id] = again = counts.get(item.id, 0) + 1
        unique.append(item if again == 1 else msgspec.structs.replace(item, id=f"{item.id} ({again})"))
    return unique, {name: count for name, count in counts.items() if count > 1}
