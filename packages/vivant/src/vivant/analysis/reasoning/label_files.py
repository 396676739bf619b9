"""Labels on disk: `reasoning/<who>.jsonl` in the run's folder, one line per reply. The viewer reads them too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from vivant.core.files import read_jsonl, write_jsonl
from vivant.core.records import Record
from vivant.runs.directory import RunError

FOLDER = "reasoning"
PEOPLE = "people"


class Label(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one segment rests on."""

    start: int
    end: int
    rests_on: str = ""
    """A key of `kinds.RESTS_ON`; empty where it is not labelled."""
    frame: int = 0
    """The frame that the segment names, from 1; 0 where it names none."""


class LabelledReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One reply with its labels."""

    key: str
    task: str
    id: str
    by: str
    """Who labelled: `people`, or the judge's name and fingerprint."""
    field: str = "text"
    """Which text of the reply the segments lie in: `text` or `thinking`."""
    segments: tuple[Label, ...] = ()
    scheme: str = ""
    kind: str = ""
    """Of the answer, where it was labelled."""
    unread: tuple[str, ...] = ()
    """Why labels that were asked for are missing."""
    length: int = 0
    """Characters of that text when it was labelled, so that another reply shows."""


def label_path(run: Path, by: str) -> Path:
    """Where one labeller's labels of a run lie."""
    return run / FOLDER / (re.sub(r"[^A-Za-z0-9.+_-]+", "-", by).strip("-.") + ".jsonl")


def write_labels(run: Path, by: str, labels: Iterable[LabelledReply]) -> Path:
    """Replace one labeller's labels."""
    path = label_path(run, by)
    try:
        path.parent.mkdir(exist_ok=True)
        write_jsonl(path, labels)
    except OSError as error:
        raise RunError(f"Cannot write {path}: {error.strerror}") from error
    return path


def read_labels(run: Path) -> dict[str, list[LabelledReply]]:
    """All labels of a run by who gave them."""
    labels: dict[str, list[LabelledReply]] = {}
    for path in sorted((run / FOLDER).glob("*.jsonl")):
        for labelled in read_jsonl(path, LabelledReply, RunError):
            labels.setdefault(labelled.by, []).append(labelled)
    return labels


def matches_reply(labelled: LabelledReply, record: Record) -> bool:
    """Whether a reply is still the one that was labelled."""
    text = record.reply.thinking if labelled.field == "thinking" else record.reply.text
    return len(text) == labelled.length
