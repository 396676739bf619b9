"""From a form's fields to answers. Fields speak of places as they were shown; answers of the item's own order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vivant_study.design import Page, Study, StudyCriterion, StudyItem

VERDICTS = ("human", "ai")
_DAY = 86400.0
_LONGEST_SPANS = 5000
_LONG_SCALE = 12
"""Steps from which a scale is a slider."""
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


def is_slider(scale: StudyCriterion) -> bool:
    """Whether a scale is too long for a button a step."""
    return scale.high - scale.low >= _LONG_SCALE


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
    if page == "spans":
        return _read_spans(filled, complete=complete)
    if complete and set(filled) != expected:
        raise IncompleteError("answer_missing")
    if page == "choose":
        return {"": order[_read_number(filled["choice"], 0, len(order) - 1)]} if filled else {}
    if page == "pair":
        return {"": _read_side(filled["choice"], order)} if filled else {}
    if page == "best-worst":
        ends = {name: order[_read_number(value, 0, len(order) - 1)] for name, value in filled.items()}
        if complete and ends["best"] == ends["worst"]:
            raise IncompleteError("best_is_worst")
        return {"": ends} if ends else {}
    if page == "follow":
        return _read_follow_up(study, filled, complete=complete)
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
            number = _read_scale(value, criterion, complete=complete)
            if number is not None:
                answer[criterion.name] = number
    return {part: answer for part, answer in answers.items() if answer}


def list_fields(study: Study, item: StudyItem, page: Page) -> set[str]:
    """All fields that a page has."""
    if page == "free":
        return {"text"}
    if page in ("choose", "pair"):
        return {"choice"}
    if page == "best-worst":
        return {"best", "worst"}
    if page == "spans":
        return {"spans", "nothing"}
    if page == "follow":
        return {"text", *(f"scale.{scale.name}.0" for scale in study.criteria)}
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
    if page == "best-worst":
        ends = answers.get("") or {}
        return {name: str(order.index(value)) for name, value in ends.items()}
    if page == "spans":
        spans = answers.get("")
        return {"spans": format_spans(spans or []), "nothing": "yes" if spans == [] else ""}
    if page == "follow":
        follow = answers.get("") or {}
        return {name if name == "text" else f"scale.{name}.0": str(value) for name, value in follow.items()}
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


def _read_follow_up(study: Study, filled: Mapping[str, str], *, complete: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    limits = {f"scale.{scale.name}.0": scale for scale in study.criteria}
    for name, value in filled.items():
        if name == "text":
            answer.update(text=_read_text(study, {"text": value}, complete=True)[""])
        else:
            number = _read_scale(value, limits[name], complete=complete)
            if number is not None:
                answer[limits[name].name] = number
    return {"": answer} if answer else {}


def _read_spans(filled: Mapping[str, str], *, complete: bool) -> dict[str, Any]:
    """Seconds of a video: `12.5-15, 1:02-1:04`; an empty list where nothing in it shows what is looked for."""
    text = filled.get("spans", "")
    if filled.get("nothing", "yes") != "yes" or len(text) > _LONGEST_SPANS:
        raise ForgedError("no such mark")
    if "nothing" in filled and not text.strip():
        return {"": []}
    try:
        spans = sorted(_read_span(entry) for entry in text.replace(";", ",").split(",") if entry.strip())
    except ValueError:
        raise IncompleteError("spans_unclear") from None
    if "nothing" in filled:
        raise IncompleteError("spans_and_nothing")
    if not spans:
        if complete:
            raise IncompleteError("answer_missing")
        return {}
    return {"": [list(span) for span in spans]}


def _read_span(entry: str) -> tuple[float, float]:
    start, end = (_read_time(part) for part in entry.replace("–", "-").split("-"))
    if not 0 <= start < end < _DAY:
        raise ValueError(entry)
    return start, end


def _read_time(text: str) -> float:
    seconds = 0.0
    for part in text.strip().split(":"):
        if not part.replace(".", "", 1).isdecimal() or not part.isascii():
            raise ValueError(text)
        seconds = seconds * 60 + float(part)
    return round(seconds, 2)


def format_spans(spans: Sequence[Sequence[float]]) -> str:
    """Spans as the field holds them."""
    return ", ".join(f"{start:g}-{end:g}" for start, end in spans)


def _read_number(value: str, low: int, high: int) -> int:
    bare = value.removeprefix("-")
    if not (bare.isascii() and bare.isdecimal()) or len(bare) > 9 or not low <= int(value) <= high:
        raise ForgedError("no such place")
    return int(value)


def _read_scale(value: str, criterion: StudyCriterion, *, complete: bool) -> int | None:
    """A value of a scale. Beside a slider people type: what is off the scale is not kept, and not taken as complete."""
    try:
        return _read_number(value, criterion.low, criterion.high)
    except ForgedError:
        if not is_slider(criterion):
            raise
    if complete:
        raise IncompleteError("off_scale")
    return None


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
