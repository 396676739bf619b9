"""Passages of reasoning and wrong answers as items of a study: people choose the label that a judge was asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from vivant.analysis.reasoning.judge_labels import LabelItem, LabelOptions, select_items
from vivant.analysis.reasoning.kinds import RESTS_ON
from vivant.analysis.reasoning.people_labels import ANSWER
from vivant.benchmarks.base import Protocol
from vivant.core.errors import MediaError
from vivant.core.types import Text
from vivant.runs.run import Run
from vivant_study.design import KeyLine, StudyItem, StudyText
from vivant_study.make.items import LABEL, ItemSet, opaque_name
from vivant_study.make.media_store import MediaStore
from vivant_study.make.sources import sample_key

TITLE = "What does this rest on?"
_REPLY = "A program answered:"
_RESTS_ON = "What does the passage between ▶ and ◀ rest on?"
_MISTAKE = "The answer is wrong. What kind of mistake is it?"
_KIND = "Of which kind is the answer?"


def make_label_items(
    run: Run, protocol: Protocol, media: MediaStore, only: Collection[str] | None = None
) -> ItemSet:
    """An item for each passage of a reply, and one for each answer to be sorted.

    Args:
        run: the run.
        protocol: decides which answers are wrong.
        media: where files are put.
        only: replies to these samples alone (`task/id`); None: all.
    """
    item_set = ItemSet()
    for item in select_items(run, protocol, LabelOptions()):
        if only is not None and sample_key(item.sample) not in only:
            continue
        sample = item.sample
        try:
            content = media.content(sample.question, Path(run.manifest.roots[sample.task]))
        except MediaError as error:
            item_set.leave_out("a file cannot be used", f"'{sample.id}': {error}")
            continue
        if sample.options:
            options = item.record.options or sample.options
            content = (*content, StudyText("\n".join(f"{each.name}. {each.text}" for each in options)))
        if item.reasoning is not None:
            for number in range(len(item.reasoning.segments)):
                shown = (*content, StudyText(_REPLY), StudyText(_mark_passage(item, number)))
                _add(item_set, item, str(number + 1), shown, _RESTS_ON, RESTS_ON)
        if item.scheme is not None:
            shown = (*content, StudyText(_REPLY), *map(StudyText, _list_answer_texts(item)))
            wrong = item.score.value is None or item.score.value < 0.5
            _add(item_set, item, ANSWER, shown, _MISTAKE if wrong else _KIND, item.scheme.kinds)
    return item_set


def _add(
    item_set: ItemSet,
    item: LabelItem,
    segment: str,
    content: tuple[object, ...],
    question: str,
    labels: Mapping[str, str],
) -> None:
    name = opaque_name(item.record.key, segment)
    item_set.items.append(
        StudyItem(
            id=name,
            content=content,  # type: ignore[arg-type]
            question=question,
            options=tuple(f"{label}: {words}" for label, words in labels.items()),
        )
    )
    item_set.key.append(
        KeyLine(
            item=name,
            extra={LABEL: {"key": item.record.key, "segment": segment, "labels": list(labels)}},
        )
    )


def _mark_passage(item: LabelItem, number: int) -> str:
    assert item.reasoning is not None
    text, segment = item.reasoning.text, item.reasoning.segments[number]
    before, after = text[: segment.start].rstrip(), text[segment.end :].lstrip()
    return "\n\n".join(
        part for part in (before, f"▶ {item.reasoning.piece(number).strip()} ◀", after) if part
    )


def _list_answer_texts(item: LabelItem) -> list[str]:
    """The reply, and what would have been right."""
    sample, texts = item.sample, [item.record.reply.text.strip() or "…"]
    right = sample.options[sample.key].text if sample.key is not None and sample.options else ""
    if not right:
        right = " / ".join(sample.answers) or " ".join(
            part.text for part in sample.reference if isinstance(part, Text)
        )
    return [*texts, f"Right answer: {right}"] if right else texts
