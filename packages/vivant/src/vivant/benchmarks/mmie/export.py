"""A run in the files of the original: what its judge reads (`data.json`, `images/`) and what it writes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from vivant.benchmarks.base import ScoredRun
from vivant.benchmarks.mmie import paper
from vivant.benchmarks.mmie.data import get_answer_parts, group_parts
from vivant.benchmarks.mmie.files import EVALUATION, IMAGES
from vivant.benchmarks.mmie.items import RawPart
from vivant.benchmarks.mmie.judge_input import find_picture
from vivant.benchmarks.rubric import JudgeContext
from vivant.core.files import write_atomic
from vivant.core.records import Record, Score
from vivant.core.types import Sample

INPUT, RESULT = "eval_input", "eval_result"


def export(parts: Sequence[ScoredRun], kind: str, out: Path) -> list[Path]:
    """All categories of a run in one file; answers that failed are not in it."""
    entries: list[dict[str, Any]] = []
    for part in parts:
        context = JudgeContext(protocol="paper", root=Path(part.root), run=Path(part.path))
        for sample, record, score in part.rows:
            if record is None or record.reply.status not in ("ok", "truncated"):
                continue
            if kind == INPUT:
                entries.append(_build_input(sample, record, part.model, context, out / IMAGES))
            elif (entry := _build_result(sample, record, score, part.model, context)) is not None:
                entries.append(entry)
    file = out / (EVALUATION if kind == INPUT else f"{RESULT}.json")
    write_atomic(file, msgspec.json.format(msgspec.json.encode(entries), indent=4))
    return [file]


def _build_input(
    sample: Sample, record: Record, model: str, context: JudgeContext, images: Path
) -> dict[str, Any]:
    return {
        "id": sample.id,
        "question": [_copy_picture(part, context, images) for part in group_parts(sample.question)],
        "answer": [_copy_picture(part, context, images) for part in get_answer_parts(record)],
        "model": model,
        "gt_answer": [_copy_picture(part, context, images) for part in group_parts(sample.reference)]
        or [RawPart("")],
    }


def _copy_picture(part: RawPart, context: JudgeContext, images: Path) -> RawPart:
    """The part with its picture in the export's own folder; a picture that is missing keeps its name."""
    file = find_picture(part.image, context) if part.image is not None else None
    if file is None:
        return part
    data = Path(file).read_bytes()
    name = hashlib.sha256(data).hexdigest()[:24] + Path(file).suffix
    images.mkdir(parents=True, exist_ok=True)
    if not (images / name).exists():
        write_atomic(images / name, data)
    return RawPart(part.text, f"{IMAGES}/{name}")


def _build_result(
    sample: Sample, record: Record, score: Score, model: str, context: JudgeContext
) -> dict[str, Any] | None:
    """The original's fields, its judge's text, and the score read in it; of several verdicts the first."""
    replies: list[str] = next((judge["replies"] for judge in score.detail.get("judges", [])), [])
    if not replies:
        return None
    view = paper.build_judge_view(
        group_parts(sample.question),
        get_answer_parts(record),
        lambda path: find_picture(path, context) is not None,
    )
    value = paper.find_score(replies[0])
    return {
        "id": sample.id,
        "model": model,
        "question": view.question_text,
        "answer": view.answer_text,
        "gt_answer": sample.extra.get("gt"),
        "images": view.images,
        "gpt_feedback": replies[0],
        "score": value if paper.is_on_scale(value) else None,
    }
