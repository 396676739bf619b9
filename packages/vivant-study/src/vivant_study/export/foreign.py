"""What was collected in the formats of other programs: Label Studio's tasks with annotations, jsPsych's trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import msgspec

from vivant.core.files import write_atomic
from vivant_study.design import Study, StudyItem, StudyMedia, StudyText
from vivant_study.judgement import StudyJudgement
from vivant_study.loading import list_media
from vivant_study.results import StudyResults

FRAME_RATE = 24.0
"""Label Studio counts frames of a video, at the rate that its configuration names."""
_TRIALS = {
    "choose": "html-button-response", "pair": "html-button-response", "free": "survey-text",
    "follow": "survey-text", "comments": "survey-likert", "rate": "html-slider-response",
    "best-worst": "survey-multi-choice", "spans": "survey-text",
}  # fmt: skip
"""The plug-in of jsPsych that asks such a question."""


def _describe_attention(judgements: Sequence[StudyJudgement]) -> dict[str, Any]:
    """What is known of how one person looked at one item, or at one of its pages."""
    last, pages = judgements[-1], {judgement.page: judgement for judgement in judgements}.values()
    return {
        "watched": last.watched,
        "started": last.started,
        "ended": last.ended,
        "played": last.played,
        "plays": last.plays,
        "away": sum(page.away for page in pages),
        "leaves": sum(page.leaves for page in pages),
        "late": any(page.late for page in judgements),
    }


# ── Label Studio ──


def write_label_studio(
    collected: StudyResults, out: Path, judgements: Sequence[StudyJudgement]
) -> list[Path]:
    """Tasks with everybody's annotations, and the labelling configuration that they fit."""
    people = {name: number for number, name in enumerate(collected.people, 1)}
    by_item: dict[str, list[StudyJudgement]] = {}
    for judgement in judgements:
        by_item.setdefault(judgement.item, []).append(judgement)
    study = collected.loaded.study
    widest = max((len(item.parts) for item in collected.loaded.items), default=0)
    tasks = [
        _build_task(study, number, item, by_item.get(item.id, ()), people)
        for number, item in enumerate(collected.loaded.items, 1)
        if not item.training
    ]
    folder = out / "label-studio"
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "tasks.json", msgspec.json.format(msgspec.json.encode(tasks), indent=1))
    write_atomic(folder / "config.xml", _format_config(collected, widest))
    return [folder / "tasks.json", folder / "config.xml"]


def _build_task(
    study: Study,
    number: int,
    item: StudyItem,
    judgements: Sequence[StudyJudgement],
    people: Mapping[str, int],
) -> dict[str, Any]:
    media = list(list_media(item))
    texts = [piece.text for piece in item.content if isinstance(piece, StudyText)]
    data: dict[str, Any] = {
        "item": item.id,
        "question": item.question or "\n".join(texts) or item.id,
        "facets": item.facets,
        "choices": [{"value": text, "alias": str(index)} for index, text in enumerate(item.options)],
        "media": [file.file for file in media],
        "main": next((file.file for file in media if file.kind == "video"), media[0].file if media else ""),
    }
    for index, part in enumerate(item.parts):
        data[f"part{index}"] = _describe_content(part.content)
    by_person: dict[str, list[StudyJudgement]] = {}
    for judgement in judgements:
        by_person.setdefault(judgement.annotator, []).append(judgement)
    annotations = [
        {
            "id": number * 100_000 + people.get(name, 0),
            "completed_by": people.get(name, 0),
            "created_at": group[-1].given,
            "lead_time": sum(judgement.seconds or 0.0 for judgement in {j.page: j for j in group}.values()),
            "was_cancelled": not group[-1].complete,
            "ground_truth": False,
            "result": [entry for judgement in group for entry in _build_results(study, item, judgement)],
            "meta": {"annotator": name, **_describe_attention(group)},
        }
        for name, group in by_person.items()
    ]
    return {"id": number, "data": data, "annotations": annotations, "predictions": []}


def _describe_content(content: Sequence[StudyText | StudyMedia]) -> str:
    return "\n".join(piece.text if isinstance(piece, StudyText) else piece.file for piece in content)


def _build_results(study: Study, item: StudyItem, judgement: StudyJudgement) -> list[dict[str, Any]]:
    answer = judgement.answer
    if answer is None:
        return []
    index = next((n for n, part in enumerate(item.parts) if part.id == judgement.part), None)
    to = "question" if index is None else f"part{index}"
    suffix = "" if index is None else str(index)
    page = judgement.page
    if page == "choose":
        return [_result("choice", "question", "choices", {"choices": [item.options[answer]]})]
    if page == "free":
        return [_result("text", "question", "textarea", {"text": [answer]})]
    if page == "pair":
        return [_result("choice", "question", "choices", {"choices": [str(answer)]})]
    if page == "best-worst":
        return [
            _result(name, "question", "choices", {"choices": [str(answer[name])]})
            for name in ("best", "worst")
            if name in answer
        ]
    if page == "spans":
        return [
            {
                **_result("spans", "main", "timelinelabels", {}),
                "value": {
                    "ranges": [{"start": _count_frames(start) + 1, "end": max(1, _count_frames(end))}],
                    "timelinelabels": ["shows it"],
                },
                "meta": {"seconds": [start, end]},
                "id": f"span{number}",
            }
            for number, (start, end) in enumerate(answer)
        ]
    results = []
    if isinstance(answer, Mapping):
        if answer.get("verdict"):
            results.append(_result(f"verdict{suffix}", to, "choices", {"choices": [answer["verdict"]]}))
        if answer.get("text"):
            results.append(_result("follow", "question", "textarea", {"text": [answer["text"]]}))
        for criterion in study.criteria:
            if answer.get(criterion.name) is not None:
                value = {"number": answer[criterion.name]}
                results.append(_result(f"{criterion.name}{suffix}", to, "number", value))
    return results


def _count_frames(seconds: float) -> int:
    return round(seconds * FRAME_RATE)


def _result(name: str, to: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"id": f"{name}-{to}", "from_name": name, "to_name": to, "type": kind, "value": value}


def _format_config(collected: StudyResults, widest: int) -> str:
    study = collected.loaded.study
    has_video = any(media.kind == "video" for item in collected.loaded.items for media in list_media(item))
    lines = ["<View>", '  <Text name="question" value="$question"/>']
    if has_video:
        lines.append(f'  <Video name="main" value="$main" frameRate="{FRAME_RATE}"/>')
    if "mcq" in study.kind:
        lines.append('  <Choices name="choice" toName="question" value="$choices"/>')
    if "free" in study.kind:
        lines.append('  <TextArea name="text" toName="question"/>')
    if study.kind == "free-follow-up":
        lines.append('  <TextArea name="follow" toName="question"/>')
        lines += [_format_number(criterion.name, "question", criterion) for criterion in study.criteria]
    if study.kind == "pairwise":
        lines.append(_format_choices("choice", "question", ("first", "second", "tie")))
    if study.kind == "best-worst":
        indices = [str(index) for index in range(widest)]
        lines += [_format_choices(name, "question", indices) for name in ("best", "worst")]
    if study.kind == "spans":
        lines.append(
            '  <TimelineLabels name="spans" toName="main"><Label value="shows it"/></TimelineLabels>'
        )
    for index in range(widest if study.kind != "spans" else 0):
        lines.append(f'  <Text name="part{index}" value="$part{index}"/>')
        if study.kind == "blind-comments":
            lines.append(_format_choices(f"verdict{index}", f"part{index}", ("human", "ai")))
        if study.kind in ("blind-comments", "rating", "sliders"):
            lines += [_format_number(f"{c.name}{index}", f"part{index}", c) for c in study.criteria]
    return "\n".join([*lines, "</View>", ""])


def _format_choices(name: str, to: str, values: Sequence[str]) -> str:
    inner = "".join(f"<Choice value={quoteattr(value)}/>" for value in values)
    return f"  <Choices name={quoteattr(name)} toName={quoteattr(to)}>{inner}</Choices>"


def _format_number(name: str, to: str, criterion: Any) -> str:
    limits = f'min="{criterion.low}" max="{criterion.high}"'
    return f"  <Number name={quoteattr(name)} toName={quoteattr(to)} {limits}/>"


# ── jsPsych ──


def write_jspsych(collected: StudyResults, out: Path, judgements: Sequence[StudyJudgement]) -> list[Path]:
    """All trials of all people as jsPsych's data: one object a page, times in milliseconds."""
    trials: list[dict[str, Any]] = []
    begun: dict[str, datetime] = {}
    indices: dict[str, int] = {}
    pages: dict[tuple[str, str, str], list[StudyJudgement]] = {}
    for judgement in judgements:
        pages.setdefault((judgement.annotator, judgement.item, judgement.page), []).append(judgement)
    for (name, item_id, page), group in pages.items():
        item = collected.items.get(item_id)
        if item is None:
            continue
        at = datetime.fromisoformat(group[-1].given) if group[-1].given else None
        seconds = max((judgement.seconds or 0.0 for judgement in group), default=0.0)
        if at is not None:
            begun.setdefault(name, at - timedelta(seconds=seconds))
        index = indices[name] = indices.get(name, -1) + 1
        elapsed = round((at - begun[name]).total_seconds() * 1000) if at is not None else None
        trials.append(
            {
                "rt": round(seconds * 1000) if group[-1].seconds is not None else None,
                "stimulus": item.question or _describe_content(item.content),
                "response": _build_response(item, page, group),
                "trial_type": _TRIALS[page],
                "trial_index": index,
                "plugin_version": None,
                "time_elapsed": elapsed,
                "subject": name,
                "item": item_id,
                "page": page,
                "position": group[-1].position,
                "shown": list(group[-1].shown),
                "complete": group[-1].complete,
                "check": group[-1].check,
                **_describe_attention(group),
                "media": [media.file for media in list_media(item)],
                "answer": {judgement.part or "": judgement.answer for judgement in group},
            }
        )
    path = out / "jspsych.json"
    write_atomic(path, msgspec.json.format(msgspec.json.encode(trials), indent=1))
    return [path]


def _build_response(item: StudyItem, page: str, judgements: Sequence[StudyJudgement]) -> Any:
    """As the plug-in gives it: a button's number as shown, or answers by question."""
    answer, order = judgements[0].answer, judgements[0].shown
    if answer is None:
        return None
    if page == "choose":
        return order.index(answer) if answer in order else answer
    if page == "pair":
        return 2 if answer == "tie" else order.index(("first", "second").index(answer)) if order else None
    if page == "free":
        return {"Q0": answer}
    if page == "spans":
        return {"Q0": ", ".join(f"{start:g}-{end:g}" for start, end in answer)}
    if page == "best-worst":
        return {name: item.options[value] if item.options else value for name, value in answer.items()}
    if len(judgements) == 1 and isinstance(answer, Mapping) and len(answer) == 1:
        return next(iter(answer.values()))
    return {
        f"{judgement.part}.{name}" if judgement.part else name: value
        for judgement in judgements
        if isinstance(judgement.answer, Mapping)
        for name, value in judgement.answer.items()
    }


ForeignWriter = Callable[[StudyResults, Path, Sequence[StudyJudgement]], list[Path]]
FOREIGN: Mapping[str, ForeignWriter] = {"label-studio": write_label_studio, "jspsych": write_jspsych}
