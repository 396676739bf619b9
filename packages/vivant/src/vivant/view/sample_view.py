"""What pages show of samples: lines of a list, and one sample in full."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from vivant.core.records import Record
from vivant.core.types import Audio, Image, Part, Text, Video
from vivant.judging.human_scores import HumanScores
from vivant.media.shown_cues import write_out_cues
from vivant.metrics.text import strip_thinking
from vivant.view.catalog import RunEntry
from vivant.view.context import SampleDetails, ViewerContext
from vivant.view.labels import load_labels
from vivant.view.links import Links
from vivant.view.media import count_images, list_media, part_key
from vivant.view.outcomes import OUTCOMES

_SHOWN = 20_000
"""Characters of a text that a page shows; the rest is a link away."""
_SEEN = 128
"""Frames that a page shows at once."""
_LINE = 240
_COT = re.compile(r"<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


class ContentBlock(Struct, frozen=True, kw_only=True):
    """One part of a message or a question as a page shows it."""

    kind: str
    text: str = ""
    more: int = 0
    """Characters that are not shown."""
    url: str = ""
    path: str = ""
    marked: tuple[int, int] | None = None
    """Where the answer that was read stands in the text."""


class ListedSample(Struct, frozen=True, kw_only=True):
    """A line of a list: the question, the key and the answer in words."""

    key: str
    task: str
    outcome: str
    question: str
    right: str
    answer: str
    value: float | None
    seconds: float | None


class JudgeReasons(Struct, frozen=True, kw_only=True):
    """What one judge, or people, made of an answer."""

    name: str
    verdicts: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    note: str = ""


def build_line(details: SampleDetails) -> ListedSample:
    """A list's line for a sample."""
    sample, record, score, row = details.sample, details.record, details.score, details.row
    question = ""
    if sample is not None:
        question = " ".join(part.text for part in sample.question if isinstance(part, Text)).strip()
        question = question or " ".join(part.path for part in sample.question if not isinstance(part, Text))
    options = build_options(details)
    right = next((f"{option['name']} · {option['text']}" for option in options if option["right"]), "")
    if not right and sample is not None:
        right = "; ".join(sample.answers[:3])
    outcome = OUTCOMES[row["outcome"]]
    answer = next((f"{option['name']} · {option['text']}" for option in options if option["chosen"]), "")
    if not answer and score is not None:
        answer = score.answer
    if record is not None and outcome == "error":
        answer = record.reply.error or (score.rule if score else "") or record.reply.status
    elif record is not None and not answer:
        answer = split_reply(record)[1].strip()
    return ListedSample(
        key=row["key"],
        task=row["task"],
        outcome=outcome,
        question=_shorten(question or row["id"]),
        right=_shorten(right),
        answer=_shorten(answer),
        value=row["value"],
        seconds=row["seconds"],
    )


def _shorten(text: str) -> str:
    text = " ".join(text[: 4 * _LINE].split())
    return text if len(text) <= _LINE else text[: _LINE - 1] + "…"


def build_options(details: SampleDetails) -> list[dict[str, Any]]:
    """Options as they were shown, with the right one and the one that was read in the reply."""
    sample, record, score = details.sample, details.record, details.score
    options = record.options if record and record.options else sample.options if sample else ()
    order = record.order if record and record.order else tuple(range(len(options)))
    right = sample.key if sample else None
    names = {option.name for option in options}
    answer = score.answer if score is not None else ""
    return [
        {
            "name": option.name,
            "text": option.text[:2000],
            "right": right is not None and index < len(order) and order[index] == right,
            "chosen": bool(answer) and answer == (option.name if answer in names else option.text),
        }
        for index, option in enumerate(options)
    ]


def split_reply(record: Record | None) -> tuple[str, str]:
    """Reasoning apart from the answer: as the server reports it, or between tags that models write."""
    if record is None:
        return "", ""
    text = record.reply.text
    written = "\n\n".join(match.strip() for match in _COT.findall(text))
    rest = _COT.sub("", text).strip() if written else text
    if not written and "</think" in text.casefold():  # the opening tag was part of the prompt
        answer = strip_thinking(text)
        if answer is not None and text.rstrip().endswith(answer.strip()) and answer.strip():
            written, rest = text[: text.rindex(answer.strip())].strip(), answer.strip()
    return "\n\n".join(filter(None, (record.reply.thinking, written))), rest


def find_extraction(reply: str, answer: str, option_text: str = "") -> tuple[int, int] | None:
    """Where the answer that was read stands in a reply: in a form that announces it, else its last place."""
    if not answer or not reply:
        return None
    name = re.escape(answer)
    forms = [
        rf"\[\[\s*{name}\s*\]\]",
        rf"\\boxed\{{\s*{name}\s*\}}",
        rf"(?:answer|option|choice)(?:\s+is)?\s*[:：]?\s*\**\(?{name}\b\)?",
        rf"\({name}\)",
        rf"^\s*\**{name}\b[.):]?",
        rf"(?<![\w'’]){name}(?![\w'’])",
    ]
    if option_text:
        forms.insert(len(forms) - 1, re.escape(option_text))
    for form in forms:
        flags = re.MULTILINE if len(answer) == 1 and "answer|" not in form else re.MULTILINE | re.IGNORECASE
        matches = list(re.finditer(form, reply[-200_000:], flags))
        if matches:
            shift = max(0, len(reply) - 200_000)
            return matches[-1].start() + shift, matches[-1].end() + shift
    return None


class SampleViews:
    """Builds what a page shows of one sample: shared by one run's page and by several side by side."""

    def __init__(self, context: ViewerContext, links: Links) -> None:
        self._context, self._links = context, links

    def build(self, run: RunEntry, details: SampleDetails) -> dict[str, Any]:
        """The values of a sample's parts of a page."""
        key = details.row["key"]
        media = list_media(details.sample, details.record)

        def blocks(parts: tuple[Part, ...], name: str) -> list[ContentBlock]:
            shown = write_out_cues(parts, details.record)
            return [self._build_block(run, key, media, part, name) for part in shown]

        record, score = details.record, details.score
        thinking, text = split_reply(record)
        labelled, unreadable = load_labels(run.path, record)
        seen = count_images(record) if record else 0
        options = build_options(details)
        chosen = next((option["text"] for option in options if option["chosen"]), "")
        marked = find_extraction(text, score.answer, chosen) if score is not None else None
        return {
            "run": run,
            "row": details.row,
            "outcome": OUTCOMES[details.row["outcome"]],
            "problem": "; ".join(filter(None, (details.problem, unreadable))),
            "labelled": labelled,
            "sample": details.sample,
            "record": record,
            "score": score,
            "detail": {} if score is None else {k: v for k, v in score.detail.items() if k != "judges"},
            "judges": self._list_judges(run, details),
            "question": blocks(details.sample.question, "question") if details.sample else [],
            "reference": blocks(details.sample.reference, "reference") if details.sample else [],
            "messages": [(m.role, blocks(m.parts, "prompt")) for m in record.messages] if record else [],
            "reply": self._cut(run, key, text, "reply", marked),
            "reply_parts": blocks(record.reply.parts, "reply") if record else [],
            "thinking": self._cut(run, key, thinking, "thinking"),
            "options": options,
            "media": [self._build_block(run, key, media, part, "") for part in media],
            "seen": [self._links.sent_picture(run.rid, key, index) for index in range(min(seen, _SEEN))],
            "seen_more": max(0, seen - _SEEN),
            "times": _list_times(record),
        }

    def full_text(self, details: SampleDetails, part: str) -> str:
        """A long text, not cut."""
        thinking, reply = split_reply(details.record)
        if part in ("reply", "thinking"):
            return thinking if part == "thinking" else reply
        messages = details.record.messages if details.record else ()
        question = details.sample.question if details.sample else ()
        parts: Sequence[Part] = [p for m in messages for p in m.parts] if part == "prompt" else question
        return "\n\n".join(p.text for p in write_out_cues(parts, details.record) if isinstance(p, Text))

    def _list_judges(self, run: RunEntry, details: SampleDetails) -> list[JudgeReasons]:
        """Each judge's verdicts and reasons, then people's."""
        judges = [
            JudgeReasons(
                name=str(judge.get("judge", "")),
                verdicts=tuple(
                    ", ".join(f"{name} {value}" for name, value in verdict.items())
                    for verdict in judge.get("verdicts", ())
                ),
                reasons=tuple(str(text)[:_SHOWN] for text in judge.get("replies", ())),
                note=", ".join(
                    f"{judge[name]} {word}"
                    for name, word in (
                        ("errors", "failed"),
                        ("unparsed", "unparsed"),
                        ("again", "asked again"),
                    )
                    if judge.get(name)
                ),
            )
            for judge in (details.score.detail.get("judges", ()) if details.score is not None else ())
            if isinstance(judge, dict)
        ]
        people = self._context.people
        if isinstance(people, HumanScores) and run.manifest is not None:
            item, model = details.row["id"], run.manifest.model
            entry = (item, model) if (item, model) in people.scores else (item, "")
            if entry in people.scores:
                names = people.annotators[entry]
                judges.append(
                    JudgeReasons(
                        name="people",
                        verdicts=tuple(
                            f"{value:g}" + (f" ({name})" if name else "")
                            for value, name in zip(people.scores[entry], names, strict=True)
                        ),
                    )
                )
        return judges

    def _cut(
        self, run: RunEntry, key: str, text: str, part: str, marked: tuple[int, int] | None = None
    ) -> ContentBlock:
        return ContentBlock(
            kind="text",
            text=text[:_SHOWN],
            more=max(0, len(text) - _SHOWN),
            url=self._links.text(run.rid, key, part),
            marked=marked if marked and marked[1] <= _SHOWN else None,
        )

    def _build_block(self, run: RunEntry, key: str, media: list[Part], part: Part, name: str) -> ContentBlock:
        if isinstance(part, Text):
            return self._cut(run, key, part.text, name)
        kind = {Image: "image", Video: "video", Audio: "audio"}[type(part)]
        if isinstance(part, Image) and part.tiles:
            return ContentBlock(kind="grid", path=part.path)
        index = [part_key(other) for other in media].index(part_key(part))
        ends = ""
        if isinstance(part, Video) and (part.start is not None or part.end is not None):
            ends = f"#t={part.start or 0:g}" + ("" if part.end is None else f",{part.end:g}")
        address = self._links.media(run.rid, key, index)
        return ContentBlock(kind=kind, url=address + ends if address else "", path=part.path)


def _list_times(record: Record | None) -> list[str]:
    if record is None:
        return []
    times: list[str] = []
    for use in record.media:
        times += (
            [use.path.rpartition("/")[2]] if use.kind == "image" else [f"{time:.2f} s" for time in use.times]
        )
    return times
