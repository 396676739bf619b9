"""What a reply's reasoning rests on, segment by segment, where `vivant reasoning` or people have labelled it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from vivant.analysis.reasoning.kinds import RESTS_ON
from vivant.analysis.reasoning.label_files import FOLDER, LabelledReply, matches_reply, read_labels
from vivant.core.errors import VivantError
from vivant.core.records import Record

_SHOWN = 20_000


class LabelledSpan(Struct, frozen=True):
    """A part of the reply's text; `rests_on` is empty where it has no label."""

    text: str
    rests_on: str = ""
    frame: int = 0


class ReplyLabels(Struct, frozen=True, kw_only=True):
    """One labeller's view of a reply."""

    by: str
    kind: str
    spans: tuple[LabelledSpan, ...]


def load_labels(run: Path, record: Record | None) -> tuple[list[ReplyLabels], str]:
    """All labellers' views of a reply, and what is wrong with their files."""
    if record is None:
        return [], ""
    stamp = tuple((path.name, path.stat().st_mtime_ns) for path in sorted((run / FOLDER).glob("*.jsonl")))
    try:
        labelled = _group_by_key(run, stamp).get(record.key, []) if stamp else []
    except VivantError as error:
        return [], str(error)
    return [_label_reply(labelling, record) for labelling in labelled if matches_reply(labelling, record)], ""


@lru_cache(maxsize=8)
def _group_by_key(run: Path, stamp: tuple[tuple[str, int], ...]) -> dict[str, list[LabelledReply]]:  # noqa: ARG001
    by_key: dict[str, list[LabelledReply]] = {}
    for labels in read_labels(run).values():
        for labelling in labels:
            by_key.setdefault(labelling.key, []).append(labelling)
    return by_key


def _label_reply(labelling: LabelledReply, record: Record) -> ReplyLabels:
    text = record.reply.thinking if labelling.field == "thinking" else record.reply.text
    spans: list[LabelledSpan] = []
    at = 0
    for label in sorted(labelling.segments, key=lambda label: label.start):
        start, end = max(at, label.start), max(at, min(label.end, len(text)))
        spans += [LabelledSpan(text[at:start])] if start > at else []
        spans.append(
            LabelledSpan(text[start:end], label.rests_on if label.rests_on in RESTS_ON else "", label.frame)
        )
        at = end
    spans.append(LabelledSpan(text[at : at + _SHOWN]))
    return ReplyLabels(by=labelling.by, kind=labelling.kind, spans=tuple(spans) if labelling.segments else ())
