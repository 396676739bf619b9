"""The original's files: `pred.json` in; it and the scorer's own outputs out."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct, field

from vivant.benchmarks.base import Imported, ScoredRun
from vivant.benchmarks.data_files import read_bytes
from vivant.benchmarks.milebench.datasets import BY_NAME, DATASETS, LEVELS, find_level
from vivant.benchmarks.milebench.normalisation import normalise
from vivant.benchmarks.milebench.score import list_shown_options
from vivant.core.errors import DataError
from vivant.core.files import write_atomic
from vivant.core.records import Record, Score
from vivant.core.types import Image, Reply, Sample, Text

_TAXONOMY: Mapping[str, tuple[str, ...]] = {
    "Realistic Temporal": tuple(sorted((d.name for d in DATASETS if d.group[0] == "T"), key=str.lower)),
    "Realistic Semantic": tuple(sorted((d.name for d in DATASETS if d.group[0] == "S"), key=str.lower)),
    "Diagnostic": tuple(d.name for d in DATASETS if d.group[0] in "NI"),
}
"""The order of datasets in `result.json` and `result.csv`."""


_KEPT = ("image", "question", "gen_model_id", "gen_kwargs")
"""What an imported prediction brings besides its text, kept for the way out."""


class NativePrediction(Struct):
    """One entry of `pred.json`."""

    sample_id: int | str
    pred_response: str
    gt_response: Any = None
    image: list[str] = field(default_factory=list)
    question: str = ""
    gen_model_id: str = ""
    gen_kwargs: dict[str, Any] | None = None


# ── in ──


def find_predictions(folder: Path) -> dict[str, dict[str, Path]]:
    """The `pred.json` files of an output folder, by model and task; a folder of one model bears its name."""
    files = [*folder.glob("*/pred.json"), *folder.glob("*/*/pred.json")]
    if not files:
        raise DataError(f"{folder} holds no <model>/<dataset>/pred.json and no <dataset>/pred.json")
    by_model: dict[str, dict[str, Path]] = {}
    for file in sorted(files):
        dataset, model = file.parent.name, file.parent.parent.resolve().name
        if dataset not in BY_NAME:
            raise DataError(
                f"{file}: '{dataset}' is none of the {len(BY_NAME)} datasets; move it out of {folder}"
            )
        by_model.setdefault(model, {})[f"milebench/{dataset}"] = file
    order = [f"milebench/{name}" for name in BY_NAME]
    return {
        model: dict(sorted(tasks.items(), key=lambda item: order.index(item[0])))
        for model, tasks in by_model.items()
    }


def read_predictions(file: Path, samples: Sequence[Sample], task: str) -> Imported | None:
    """`pred.json`, joined by id. None where the file is something else."""
    raw = read_bytes(file)
    if not raw.lstrip().startswith(b"["):
        return None
    try:
        predictions = msgspec.json.decode(raw, type=list[NativePrediction])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(f"{file} is no pred.json of MileBench: {error}") from error
    by_id = {_normalise_id(sample.id): sample for sample in samples}
    _check_ids(file, [_normalise_id(str(p.sample_id)) for p in predictions], list(by_id), task)
    records, notes, others = [], [], []
    for position, prediction in enumerate(predictions):
        sample = by_id[_normalise_id(str(prediction.sample_id))]
        if prediction.gt_response is not None and str(prediction.gt_response) != sample.answers[0]:
            others.append(sample.id)
        native = {"place": position, **{name: getattr(prediction, name) for name in _KEPT}}
        records.append(
            Record(
                key=f"{task}/{sample.id}",
                task=task,
                id=sample.id,
                options=sample.options,
                order=tuple(range(len(sample.options))),
                reply=Reply(text=prediction.pred_response),
                extra={"native": native},
            )
        )
    if others:
        notes.append(
            f"{file}: {len(others)} predictions bring another gt_response than the data, the first is "
            f"sample {others[0]}; the data's is used"
        )
    models = Counter(p.gen_model_id for p in predictions if p.gen_model_id)
    return Imported(
        task=task,
        records=tuple(records),
        samples=tuple(samples),
        model=models.most_common(1)[0][0] if models else "",
        style="zero-shot",
        notes=tuple(notes),
    )


def _normalise_id(sample_id: str) -> str:
    """7 and "7" and "007" are one id to the original, which compares whole numbers."""
    return str(int(sample_id)) if sample_id.isdecimal() else sample_id


def _check_ids(file: Path, ids: Sequence[str], expected: Sequence[str], task: str) -> None:
    repeated = [sample_id for sample_id, times in Counter(ids).items() if times > 1]
    if repeated:
        raise DataError(f"{file}: {len(repeated)} ids are repeated; the first is sample_id {repeated[0]}")
    unknown_ids = [sample_id for sample_id in ids if sample_id not in set(expected)]
    if unknown_ids:
        raise DataError(
            f"{file}: {len(unknown_ids)} ids are none of {task}, the first is sample_id {unknown_ids[0]}"
        )
    absent = [sample_id for sample_id in expected if sample_id not in set(ids)]
    if absent:
        raise DataError(
            f"{file}: {len(absent)} of {len(expected)} samples of {task} have no prediction, "
            f"the first is sample_id {absent[0]}"
        )


# ── out ──


def export(run: ScoredRun, out: Path) -> list[Path]:
    """`<out>/<model>/<dataset>/…` for one dataset, and the results over all that are there.

    Samples without a reply are left out: the original has no word for them and would score an empty answer.
    """
    dataset = run.task.rpartition("/")[2]
    folder = out / _safe_name(run.model) / dataset
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        (s, r, score)
        for s, r, score in run.rows
        if r is not None and score.status not in ("truncated", "missing")
    ]
    rows.sort(key=lambda row: row[1].extra.get("native", {}).get("place", 0))
    predictions = [_build_prediction(run.model, sample, record) for sample, record, _ in rows]
    paths = [_write_json(folder / "pred.json", predictions, indent=4, ascii_only=False)]
    paths.append(_write_json(folder / "eval.json", build_evaluation(rows), indent=None))
    paths.append(
        _write_json(folder / "eval_score.json", [_format_score(s, score) for s, _, score in rows], indent=4)
    )
    if rows and rows[0][0].extra["match"] == "choice":
        extracted = [
            _build_extracted(prediction, *row) for prediction, row in zip(predictions, rows, strict=True)
        ]
        paths.append(_write_json(folder / "pred_with_extracted.json", extracted, indent=4))
    return [*paths, *write_results(out)]


def build_evaluation(rows: Sequence[tuple[Sample, Record, Score]]) -> dict[str, Any]:
    """What `eval.json` says of one dataset."""
    rouge = bool(rows) and rows[0][0].extra["match"] == "rouge"
    by_level: dict[str, list[float]] = {name: [] for name in LEVELS}
    values: list[float] = []
    for sample, _, score in rows:
        value = _get_value(score, rouge)
        values.append(value)
        by_level[find_level(int(sample.facets["n_images"]))].append(value)
    return {
        "Rouge-L f" if rouge else "Accuracy": _compute_mean(values),
        "image_quantity_level-Accuracy": {name: _compute_mean(group) for name, group in by_level.items()},
        "image_quantity_level-Result": {name: [sum(group), len(group)] for name, group in by_level.items()},
    }


def _get_value(score: Score, rouge: bool) -> float:
    """A whole number where the original has one, so that files compare equal."""
    if score.value is None:
        return 0
    return score.value if rouge else int(score.value)


def _compute_mean(values: Sequence[float]) -> float:
    """As numpy adds up, to the last digit."""
    return float(np.mean(values)) if values else 0


def _format_score(sample: Sample, score: Score) -> dict[str, str]:
    value = _get_value(score, sample.extra["match"] == "rouge")
    return {"id": str(_restore_id(sample.id)), "score": str(round(value, 3))}


def _restore_id(sample_id: str) -> int | str:
    return int(sample_id) if sample_id.isdecimal() else sample_id


def _build_prediction(model: str, sample: Sample, record: Record) -> dict[str, Any]:
    native = record.extra.get("native") or {}
    parts = [part for message in record.messages for part in message.parts] or list(sample.question)
    return {
        "sample_id": _restore_id(sample.id),
        "image": native.get("image") or [part.path for part in parts if isinstance(part, Image)],
        "question": native.get("question")
        or "".join(part.text if isinstance(part, Text) else "<ImageHere>" for part in parts),
        "gt_response": sample.answers[0],
        "gen_model_id": native.get("gen_model_id") or model,
        "pred_response": record.reply.text,
        "gen_kwargs": native.get("gen_kwargs") or {},
    }


def _build_extracted(
    prediction: Mapping[str, Any], sample: Sample, record: Record, score: Score
) -> dict[str, Any]:
    options, _ = list_shown_options(sample, record)
    return {
        **prediction,
        # The original puts the annotation's own names in place of the paths that were sent.
        "image": sample.extra.get("images", prediction["image"]),
        "gt_response": normalise(prediction["gt_response"]),
        "pred_response": normalise(prediction["pred_response"]),
        "choice_list": [normalise(option.text) for option in options],
        "image_quantity_level": sample.extra.get("level", sample.facets["level"]),
        "extracted": score.answer,
        "result": int(score.value or 0),
    }


def write_results(out: Path) -> list[Path]:
    """`result.json` and `result.csv` over every model and dataset whose `eval.json` is below `out`."""
    files = {(file.parent.parent.name, file.parent.name): file for file in sorted(out.glob("*/*/eval.json"))}
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for model in dict.fromkeys(model for model, _ in files):
        results[model] = {
            part: {
                dataset: json.loads(files[model, dataset].read_bytes()) if (model, dataset) in files else {}
                for dataset in datasets
            }
            for part, datasets in _TAXONOMY.items()
        }
    table = out / "result.csv"
    write_atomic(table, _format_results_csv(results))
    return [_write_json(out / "result.json", results, indent=4, ascii_only=False), table]


def _format_results_csv(results: Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]]) -> str:
    lines: list[dict[str, Any]] = []
    for model, parts in results.items():
        line: dict[str, Any] = {"Model": model}
        for datasets in parts.values():
            for dataset, metrics in datasets.items():
                for metric, value in metrics.items():
                    if not metric.startswith("image_quantity_level"):
                        line[f"{dataset} ({metric})"] = round(value * 100, 2)
        lines.append(line)
    buffer = io.StringIO()
    columns = list(dict.fromkeys(column for line in lines for column in line))
    writer = csv.DictWriter(buffer, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return buffer.getvalue()


def _safe_name(model: str) -> str:
    return model.strip("./").replace("/", "-") or "model"


def _write_json(file: Path, content: Any, *, indent: int | None, ascii_only: bool = True) -> Path:
    write_atomic(file, json.dumps(content, indent=indent, ensure_ascii=ascii_only))
    return file
