"""From a form's fields to answers. Fields speak of places as they were shown; answers of the item's own order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vivant.study.design import Page, Study, StudyCriterion, StudyItem

VERDICTS = ("human", "ai")
REALISM = StudyCriterion(name="realism", text={}, low=0, high=5)


class ForgedError(Exception):
    """Fields that no page of ours has."""


class IncompleteError(Exception):
    """Something is not answered yet, or is too long; `reason` names an interface text."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def list_scales(study: Study) -> tuple[StudyCriterion, ...]:
    """The scales that each part is judged on."""
    if study.kind == "blind-comments":
        return study.criteria or (REALISM,)
    return study.criteria


def read_answers(
    study: Study,
    item: StudyItem,
    page: Page,
    order: tuple[int, ...],
    fields: Mapping[str, str],
    *,
    complete: bool,
) -> dict[str, Any]:
    """Answers by part. With `complete` everything must be answered; without, what is there is taken."""
    expected = list_fields(study, item, page)
    for name in fields:
        if name not in expected:
            raise ForgedError(f"no field {name!r}")
    filled = {name: value for name, value in fields.items() if value != ""}
    if page == "free":
        return _read_text(study, filled, complete=complete)
    if complete and set(filled) != expected:
        raise IncompleteError("answer_missing")
    if page == "choose":
        return {"": order[_read_number(filled["choice"], 0, len(order) - 1)]} if filled else {}
    if page == "pair":
        return {"": _read_side(filled["choice"], order)} if filled else {}
    answers: dict[str, Any] = {}
    limits = {criterion.name: criterion for criterion in list_scales(study)}
    for name, value in filled.items():
        field, _, index = name.rpartition(".")
        part = item.parts[order[int(index)]].id
        answer = answers.setdefault(part, {})
        if field == "verdict":
            if value not in VERDICTS:
                raise ForgedError("no such verdict")
            answer["verdict"] = value
        else:
            criterion = limits[field.removeprefix("scale.")]
            answer[criterion.name] = _read_number(value, criterion.low, criterion.high)
    return answers


def list_fields(study: Study, item: StudyItem, page: Page) -> set[str]:
    """All fields that a page has."""
    if page == "free":
        return {"text"}
    if page in ("choose", "pair"):
        return {"choice"}
    names = {
        f"scale.{scale.name}.{index}" for scale in list_scales(study) for index in range(len(item.parts))
    }
    if page == "comments":
        names |= {f"verdict.{index}" for index in range(len(item.parts))}
    return names


def fill_fields(
    item: StudyItem, page: Page, order: tuple[int, ...], answers: Mapping[str, Any]
) -> dict[str, str]:
    """The reverse: what the fields of a page hold, for answers that were saved."""
    if page == "free":
        return {"text": answers.get("") or ""}
    if "" in answers and page == "choose" and answers[""] is not None:
        return {"choice": str(order.index(answers[""]))}
    if "" in answers and page == "pair" and answers[""] is not None:
        side = answers[""]
        return {"choice": side if side == "tie" else str(order.index(("first", "second").index(side)))}
    fields = {}
    for index, part in enumerate(order):
        for name, value in (answers.get(item.parts[part].id) or {}).items() if item.parts else ():
            fields[f"verdict.{index}" if name == "verdict" else f"scale.{name}.{index}"] = str(value)
    return fields


def clean_text(text: str) -> str:
    """A text as it is kept. Raises where it holds what no keyboard gives."""
    if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        raise ForgedError("signs that are no text")
    return text.replace("\r\n", "\n").strip()


def _read_text(study: Study, filled: Mapping[str, str], *, complete: bool) -> dict[str, Any]:
    text = clean_text(filled.get("text", ""))
    if len(text) > study.free_text_limit:
        raise IncompleteError("too_long")
    if complete and not text:
        raise IncompleteError("answer_missing")
    return {"": text}


def _read_number(value: str, low: int, high: int) -> int:
    bare = value.removeprefix("-")
    if not (bare.isascii() and bare.isdecimal()) or len(bare) > 9 or not low <= int(value) <= high:
        raise ForgedError("no such place")
    return int(value)


def _read_side(value: str, order: tuple[int, ...]) -> str:
    if value == "tie":
        return "tie"
    return ("first", "second")[order[_read_number(value, 0, 1)]]


def read_about(study: Study, fields: Mapping[str, str]) -> dict[str, Any]:
    """Answers to the questions about the participant."""
    names = {f"about.{question.name}" for question in study.questions}
    for name in fields:
        if name not in names:
            raise ForgedError(f"no field {name!r}")
    answers: dict[str, Any] = {}
    for question in study.questions:
        value = clean_text(fields.get(f"about.{question.name}", ""))
        if not value:
            if question.required:
                raise IncompleteError("about_missing")
        elif question.choices:
            answers[question.name] = _read_number(value, 0, len(question.choices) - 1)
        elif len(value) > study.free_text_limit:
            raise IncompleteError("too_long")
        else:
            answers[question.name] = value
    return answers
