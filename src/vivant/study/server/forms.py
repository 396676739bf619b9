"""From a form's fields to answers. Fields speak of places as they were shown; answers of the item's own order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vivant.study.design import Criterion, Page, Study, StudyItem

VERDICTS = ("human", "ai")
REALISM = Criterion(name="realism", text={}, low=0, high=5)


class ForgedError(Exception):
    """Fields that no page of ours has."""


class IncompleteError(Exception):
    """Something is not answered yet, or is too long; `reason` names an interface text."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def scales(study: Study) -> tuple[Criterion, ...]:
    """The scales that each part is judged on."""
    if study.kind == "blind-comments":
        return study.criteria or (REALISM,)
    return study.criteria


def read_answers(
    study: Study,
    item: StudyItem,
    page: Page,
    shown: tuple[int, ...],
    fields: Mapping[str, str],
    *,
    whole: bool,
) -> dict[str, Any]:
    """Answers by part. With `whole` everything must be answered; without, what is there is taken."""
    expected = field_names(study, item, page)
    for name in fields:
        if name not in expected:
            raise ForgedError(f"no field {name!r}")
    given = {name: value for name, value in fields.items() if value != ""}
    if page == "free":
        return _free(study, given, whole=whole)
    if whole and set(given) != expected:
        raise IncompleteError("answer_missing")
    if page == "choose":
        return {"": shown[_number(given["choice"], 0, len(shown) - 1)]} if given else {}
    if page == "pair":
        return {"": _side(given["choice"], shown)} if given else {}
    answers: dict[str, Any] = {}
    limits = {criterion.name: criterion for criterion in scales(study)}
    for name, value in given.items():
        field, _, place = name.rpartition(".")
        part = item.parts[shown[int(place)]].id
        answer = answers.setdefault(part, {})
        if field == "verdict":
            if value not in VERDICTS:
                raise ForgedError("no such verdict")
            answer["verdict"] = value
        else:
            criterion = limits[field.removeprefix("scale.")]
            answer[criterion.name] = _number(value, criterion.low, criterion.high)
    return answers


def field_names(study: Study, item: StudyItem, page: Page) -> set[str]:
    """All fields that a page has."""
    if page == "free":
        return {"text"}
    if page in ("choose", "pair"):
        return {"choice"}
    names = {f"scale.{scale.name}.{place}" for scale in scales(study) for place in range(len(item.parts))}
    if page == "comments":
        names |= {f"verdict.{place}" for place in range(len(item.parts))}
    return names


def shown_fields(
    item: StudyItem, page: Page, shown: tuple[int, ...], answers: Mapping[str, Any]
) -> dict[str, str]:
    """The reverse: what the fields of a page hold, for answers that were saved."""
    if page == "free":
        return {"text": answers.get("") or ""}
    if "" in answers and page == "choose" and answers[""] is not None:
        return {"choice": str(shown.index(answers[""]))}
    if "" in answers and page == "pair" and answers[""] is not None:
        side = answers[""]
        return {"choice": side if side == "tie" else str(shown.index(("first", "second").index(side)))}
    fields = {}
    for place, part in enumerate(shown):
        for name, value in (answers.get(item.parts[part].id) or {}).items() if item.parts else ():
            fields[f"verdict.{place}" if name == "verdict" else f"scale.{name}.{place}"] = str(value)
    return fields


def clean(text: str) -> str:
    """A text as it is kept. Raises where it holds what no keyboard gives."""
    if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        raise ForgedError("signs that are no text")
    return text.replace("\r\n", "\n").strip()


def _free(study: Study, given: Mapping[str, str], *, whole: bool) -> dict[str, Any]:
    text = clean(given.get("text", ""))
    if len(text) > study.free_text_limit:
        raise IncompleteError("too_long")
    if whole and not text:
        raise IncompleteError("answer_missing")
    return {"": text}


def _number(value: str, low: int, high: int) -> int:
    bare = value.removeprefix("-")
    if not (bare.isascii() and bare.isdecimal()) or len(bare) > 9 or not low <= int(value) <= high:
        raise ForgedError("no such place")
    return int(value)


def _side(value: str, shown: tuple[int, ...]) -> str:
    if value == "tie":
        return "tie"
    return ("first", "second")[shown[_number(value, 0, 1)]]


def read_about(study: Study, fields: Mapping[str, str]) -> dict[str, Any]:
    """Answers to the questions about the participant."""
    names = {f"about.{question.name}" for question in study.questions}
    for name in fields:
        if name not in names:
            raise ForgedError(f"no field {name!r}")
    answers: dict[str, Any] = {}
    for question in study.questions:
        value = clean(fields.get(f"about.{question.name}", ""))
        if not value:
            if question.required:
                raise IncompleteError("about_missing")
        elif question.choices:
            answers[question.name] = _number(value, 0, len(question.choices) - 1)
        elif len(value) > study.free_text_limit:
            raise IncompleteError("too_long")
        else:
            answers[question.name] = value
    return answers
