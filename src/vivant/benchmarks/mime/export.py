"""A run in the repository's own files, so that its scripts can read it.

Those scripts join by position, so every sample of the run keeps its row, answered or not, and MIME and REAL
go to files of their own, in the folders in which the scripts look.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from vivant.benchmarks.base import ScoredRun
from vivant.benchmarks.mime.cells import ScoredItem
from vivant.core.errors import UsageError
from vivant.core.files import write_atomic
from vivant.core.types import Option

KINDS = ("mime-raw", "mime-score")
_FOLDERS = {"MIME": ("mime-cropped", "all"), "REAL": ("mime-real-resized", "none")}
_FAMILIES = {"qwen": "qwen25vl", "phi": "phi35", "internvl": "internvl", "gpt": "openai", "gemini": "gemini"}


def export(run: ScoredRun, kind: str, out: Path) -> list[Path]:
    """Write one task of a run; the files lie at `data set/style/all/…` below `out`."""
    if kind not in KINDS:
        raise UsageError(f"mime exports {' or '.join(KINDS)}, not '{kind}'")
    task = run.task.rpartition("/")[2]
    paths: list[Path] = []
    for dataset, (folder, variants) in _FOLDERS.items():
        items = [
            item for item in run.rows if (item[0].facets.get("dataset") == "REAL") == (dataset == "REAL")
        ]
        if not items:
            continue
        if any(record is not None and record.repeat for _, record, _ in items):
            raise UsageError(f"{run.run} holds several answers a sample, and {kind} has room for one")
        folder_out = out / folder / (run.style or "zero-shot") / variants
        if kind == "mime-raw":
            value = _build_raw_choices(items) if task == "mcq" else _build_raw_texts(items)
            path = folder_out / f"raw_{task}_{_build_suffix(run.model)}.json"
            text = msgspec.json.format(msgspec.json.encode(value), indent=4).decode()
        else:
            path = folder_out / f"score_{task}_{_build_suffix(run.model)}.csv"
            text = _format_scores(items, task)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, text)
        paths.append(path)
    return paths


def _build_suffix(model: str) -> str:
    """`family_model`, as the scripts take their file names apart."""
    name = re.sub(r"[^A-Za-z0-9._@+-]", "_", model)
    family = next((family for mark, family in _FAMILIES.items() if mark in name.lower()), "vivant")
    return name if name.startswith(f"{family}_") else f"{family}_{name}"


def _build_raw_choices(items: Sequence[ScoredItem]) -> dict[str, Any]:
    predictions: list[dict[str, Any]] = []
    for number, (sample, record, score) in enumerate(items):
        options: Sequence[Option] = (
            record.options if record is not None and record.options else sample.options
        )
        order = record.order if record is not None and record.order else tuple(range(len(options)))
        if sample.key is None or not options:
            raise UsageError(f"Sample {sample.id} has no options to write, so mime-raw cannot hold it")
        predictions.append(
            {
                "instance_id": number,
                "model_answer": score.answer,
                "correct_answer": options[order.index(sample.key)].name,
                "is_correct": score.value == 1.0,
                "video_path": sample.extra.get("file_name", sample.id),
                "options": [option.text for option in options],
            }
        )
    correct = sum(prediction["is_correct"] for prediction in predictions)
    return {"accuracy": correct / len(predictions), "predictions": predictions}


def _build_raw_texts(items: Sequence[ScoredItem]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    for number, (sample, record, score) in enumerate(items):
        entry: dict[str, Any] = {
            "instance_id": number,
            "output_text": score.answer,
            "video_path": sample.extra.get("file_name", sample.id),
            "action": list(sample.answers),
        }
        if record is not None and record.reply.thinking:
            entry["chain_of_thought"] = [record.reply.thinking]
        if record is not None and record.extra.get("fail_mode"):
            entry["fail_mode"] = record.extra["fail_mode"]
        entries.append(entry)
    return entries


def _format_scores(items: Sequence[ScoredItem], task: str) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if task == "mcq":
        writer.writerow(["instance_id", "is_correct"])
        writer.writerows([number, int(score.value == 1.0)] for number, (_, _, score) in enumerate(items))
    else:
        writer.writerow(["instance_id", "output_text", "ground_truth", "similarity_score", "correct"])
        writer.writerows(
            [
                number,
                score.answer,
                str(list(sample.answers)),
                score.detail.get("similarity", 0.0),
                score.value == 1.0,
            ]
            for number, (sample, _, score) in enumerate(items)
        )
    return buffer.getvalue()
