"""A run in the repository's own files, so that its scripts can read it.

Those scripts join by position, so every sample keeps the row that it has in the data, answered or not, and MIME and
REAL go to files of their own, in the folders in which the scripts look. A sample that the run did not ask, or whose
answer never came, has a row without a score, which the scripts leave out of means.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from vivant.benchmarks.base import ScoredRun
from vivant.benchmarks.mime.cells import ScoredItem
from vivant.benchmarks.mime.data import load
from vivant.benchmarks.mime.result_names import format_result_name
from vivant.core.errors import UsageError, VivantError
from vivant.core.files import write_atomic
from vivant.core.records import Score
from vivant.core.types import Option, Sample

KINDS = ("mime-raw", "mime-score")
_FOLDERS = {"MIME": ("mime-cropped", "all"), "REAL": ("mime-real-resized", "none")}


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
            path = folder_out / f"raw_{task}_{format_result_name(run.model, run.style)}.json"
            text = msgspec.json.format(msgspec.json.encode(value), indent=4).decode()
        else:
            path = folder_out / f"score_{task}_{format_result_name(run.model, run.style)}.csv"
            text = _format_scores(items, task, _list_places(run, dataset))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, text)
        paths.append(path)
    return paths


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
                "model_answer": score.answer if _counts(score) else None,
                "correct_answer": options[order.index(sample.key)].name,
                "is_correct": score.value == 1.0 if _counts(score) else None,
                "video_path": sample.extra.get("file_name", sample.id),
                "options": [option.text for option in options],
            }
        )
    counted = [p["is_correct"] for p in predictions if p["is_correct"] is not None]
    return {"accuracy": sum(counted) / len(counted) if counted else None, "predictions": predictions}


def _counts(score: Score) -> bool:
    """Whether there was an answer; an error is no wrong one."""
    return score.status in ("scored", "unparsed")


def _build_raw_texts(items: Sequence[ScoredItem]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    for number, (sample, record, score) in enumerate(items):
        entry: dict[str, Any] = {
            "instance_id": number,
            "output_text": score.answer if _counts(score) else None,
            "video_path": sample.extra.get("file_name", sample.id),
            "action": list(sample.answers),
        }
        if record is not None and record.reply.thinking:
            entry["chain_of_thought"] = [record.reply.thinking]
        if record is not None and record.extra.get("fail_mode"):
            entry["fail_mode"] = record.extra["fail_mode"]
        entries.append(entry)
    return entries


def _list_places(run: ScoredRun, dataset: str) -> list[str]:
    """The ids of a data set in the order of the data; empty where the data are not there any more."""
    try:
        samples = load(Path(run.root), run.task, "") if run.root else []
    except VivantError:
        return []
    return [s.id for s in samples if (s.facets.get("dataset") == "REAL") == (dataset == "REAL")]


def _format_scores(items: Sequence[ScoredItem], task: str, places: Sequence[str]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    columns = (
        ["output_text", "ground_truth", "similarity_score", "correct"] if task == "ff" else ["is_correct"]
    )
    writer.writerow(["instance_id", *columns])
    rows = {sample.id: _format_score(sample, score, task) for sample, _, score in items if _counts(score)}
    asked = [sample.id for sample, _, _ in items]
    order = places if set(asked) <= set(places) else asked
    writer.writerows([number, *rows.get(name, [""] * len(columns))] for number, name in enumerate(order))
    return buffer.getvalue()


def _format_score(sample: Sample, score: Score, task: str) -> list[Any]:
    if task == "mcq":
        return [int(score.value == 1.0)]
    similarity = score.detail.get("similarity", 0.0)
    return [score.answer, str(list(sample.answers)), similarity, score.value == 1.0]
