"""What a reply's reasoning rests on, segment by segment, where `vivant reasoning` or people have labelled it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from vivant.analysis.reasoning.kinds import RESTS_ON
from vivant.analysis.reasoning.label_files import FOLDER, LabelledReply, matches_reply, read_labels
from vivant.core.types import Record
from vivant.runs.directory import RunError

_SHOWN = 20_000


class Stretch(Struct, frozen=True):
    """A part of the reply's text; `rests_on` is empty where it has no label."""

    text: str
    rests_on: str = ""
    frame: int = 0


class Reading(Struct, frozen=True, kw_only=True):
    """One labeller's view of a reply."""

    by: str
    kind: str
    stretches: tuple[Stretch, ...]


def readings(run: Path, record: Record | None) -> tuple[list[Reading], str]:
    """All labellers' views of a reply, and what is wrong with their files."""
    if record is None:
        return [], ""
    stamp = tuple((path.name, path.stat().st_mtime_ns) for path in sorted((run / FOLDER).glob("*.jsonl")))
    try:
        labelled = _by_key(run, stamp).get(record.key, []) if stamp else []
    except RunError as error:
        return [], str(error)
    return [_reading(one, record) for one in labelled if matches_reply(one, record)], ""


@lru_cache(maxsize=8)
def _by_key(run: Path, stamp: tuple[tuple[str, int], ...]) -> dict[str, list[LabelledReply]]:  # noqa: ARG001
    found: dict[str, list[LabelledReply]] = {}
    for labels in read_labels(run).values():
        for one in labels:
            found.setdefault(one.key, []).append(one)
    return found


def _reading(one: LabelledReply, record: Record) -> Reading:
    text = record.reply.thinking if one.field == "thinking" else record.reply.text
    stretches: list[Stretch] = []
    at = 0
    for label in sorted(one.segments, key=lambda label: label.start):
        start, end = max(at, label.start), max(at, min(label.end, len(text)))
        stretches += [Stretch(text[at:start])] if start > at else []
        stretches.append(
            Stretch(text[start:end], label.rests_on if label.rests_on in RESTS_ON else "", label.frame)
        )
        at = end
    stretches.append(Stretch(text[at : at + _SHOWN]))
    return Reading(by=one.by, kind=one.kind, stretches=tuple(stretches) if one.segments else ())
