"""Items, records and runs of MMR-V for its tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from vivant.benchmarks.base import Protocol, ScoredRun, ScoreSettings
from vivant.benchmarks.mmrv import MMRV
from vivant.benchmarks.mmrv.data import to_sample
from vivant.core.records import MediaUse, Record
from vivant.core.types import Reply, Sample

TASK = "mmrv/mcq"


def make_item(number: int = 0, **changes: Any) -> dict[str, Any]:
    """One question as the release spells it; ten options, key (C)."""
    fields: dict[str, Any] = {
        "video": f"video {number % 3}.mp4",
        "videoType": "Animation",
        "question": f"What happens in part {number}?",
        "options": [f"({letter}) choice {letter.lower()}" for letter in "ABCDEFGHIJ"],
        "correctAnswer": "(C)",
        "abilityType_L2": "Metaphor Understanding",
        "abilityType_L3": "Creative Metaphor",
        "question_idx": number,
    }
    return {**fields, **changes}


def write_items(path: Path, items: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(items))
    return path


def make_sample(number: int = 0, **changes: Any) -> Sample:
    return to_sample(make_item(number, **changes), "test", str(number))


def make_record(of: Sample, text: str, *, frames: int = 0, **changes: Any) -> Record:
    """A reply to a sample whose options were shown as they are."""
    use = MediaUse("video", "v.mp4", times=tuple(float(t) for t in range(frames)))
    fields: dict[str, Any] = {
        "key": f"{TASK}/{of.id}",
        "task": TASK,
        "id": of.id,
        "options": of.options,
        "order": tuple(range(len(of.options))),
        "media": (use,) if frames else (),
        "reply": Reply(text=text),
    }
    return Record(**{**fields, **changes})


def score_pairs(
    pairs: Sequence[tuple[Sample, Record]], protocol: Protocol = "paper", **changes: Any
) -> ScoredRun:
    """A run of these pairs."""
    scores = MMRV().score(pairs, ScoreSettings(protocol=protocol))
    rows = tuple((s, r, score) for (s, r), score in zip(pairs, scores, strict=True))
    fields: dict[str, Any] = {"run": "r1", "model": "m", "style": "zero-shot", "task": TASK}
    return ScoredRun(**{**fields, **changes}, protocol=protocol, rows=rows)
