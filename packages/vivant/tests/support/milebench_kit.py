"""Small MileBench folders and scored runs for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image as Pillow

from vivant.benchmarks.base import Protocol, ScoredRun, ScoreSettings
from vivant.benchmarks.milebench import MileBench
from vivant.core.records import Record, Score
from vivant.core.types import Reply, Sample


def make_item(
    sample_id: int | str,
    context: str,
    images: Sequence[str] = (),
    response: str = "cup",
    choices: Sequence[str] = (),
    **more: Any,
) -> dict[str, Any]:
    """One annotation."""
    instance: dict[str, Any] = {"context": context, "images_path": list(images)}
    if choices:
        instance["choice_list"] = list(choices)
    instance |= more.pop("instance", {})
    return {
        "sample_id": sample_id,
        "task_instruction_id": 0,
        "task_instance": instance,
        "response": response,
        "image_quantity_level": "Few",
        **more,
    }


def write_dataset(
    root: Path,
    name: str,
    items: Sequence[dict[str, Any]],
    *,
    file: str | None = None,
    pictures: bool = True,
    **meta: Any,
) -> Path:
    """A dataset in the layout of the release; returns the annotation file."""
    folder = root / name
    (folder / "images").mkdir(parents=True, exist_ok=True)
    choice = any("choice_list" in entry["task_instance"] for entry in items)
    content = {
        "meta_data": {
            "dataset": name,
            "task_instruction": ["Look and answer."],
            "question_type": "multi-choice" if choice else "open-ended",
            "num_sample": str(len(items)),
            **meta,
        },
        "data": list(items),
    }
    path = folder / (file or f"{name}.json")
    path.write_text(json.dumps(content), encoding="utf-8")
    if pictures:
        for entry in items:
            for picture in entry["task_instance"]["images_path"]:
                target = folder / "images" / picture
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.exists():
                    Pillow.new("RGB", (8, 6), (200, 30, 30)).save(target)
    return path


def make_reply(sample: Sample, text: str, **more: Any) -> Record:
    """A record with a reply."""
    return Record(
        key=f"{sample.task}/{sample.id}", task=sample.task, id=sample.id, reply=Reply(text=text), **more
    )


def score_replies(
    samples: Sequence[Sample],
    texts: Sequence[str | None],
    protocol: Protocol = "paper",
    run: str = "r",
    **more: Any,
) -> ScoredRun:
    """Samples with replies, scored as a run; None stands for a sample without a reply."""
    benchmark = MileBench()
    rows: list[tuple[Sample, Record | None, Score]] = []
    for sample, text in zip(samples, texts, strict=True):
        if text is None:
            missing = Score(
                key=f"{sample.task}/{sample.id}", task=sample.task, id=sample.id, status="missing"
            )
            rows.append((sample, None, missing))
        else:
            record = make_reply(sample, text, **more)
            rows.append(
                (sample, record, benchmark.score([(sample, record)], ScoreSettings(protocol=protocol))[0])
            )
    return ScoredRun(
        run=run,
        model=f"model {run}",
        style="zero-shot",
        task=samples[0].task,
        protocol=protocol,
        rows=tuple(rows),
    )
