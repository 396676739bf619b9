"""Sample logs of lmms-eval (`--log_samples`) as runs: `vivant import --as lmms-eval FILE`.

A file is called `TIME_samples_TASK.jsonl` and lies in a folder named after the model, beside `TIME_results.json`. The
run has the task `lmms/TASK` and lmms-eval's row numbers as ids, so that it can be compared with a run of `lmms:TASK`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from vivant.bridges.imported_results import (
    ImportedEntry,
    ImportedSource,
    SampleResult,
    default_folder,
    name_task,
    write_imported_run,
)
from vivant.core.errors import DataError
from vivant.core.records import Record
from vivant.core.types import Reply, Sample, Text, job_key
from vivant.models.reply_json import parse_json
from vivant.runs.run import Run

_NAME = re.compile(r"(?P<time>.+?)_samples_(?P<task>.+)\.jsonl")
_FIELDS = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "doc_hash", "input", "token_counts",
    "input_media", "prompt_hash", "target_hash", "filter", "metrics",
}  # fmt: skip
_KEYS = ("score", "acc", "accuracy", "correct", "exact_match", "hit")
_FAILED = "[LMMS_EVAL_REQUEST_FAILED"
"""How lmms-eval's API models begin the text that stands for a failed request."""


def import_lmms_eval(path: Path, out: Path | None = None, model: str | None = None) -> Run:
    """Turn a sample log into a run with its scores.

    Args:
        path: The file, as lmms-eval writes it.
        out: The run directory. Default: `runs/lmms-TASK-MODEL-TIME`.
        model: Name of the model. Default: the folder's name.
    """
    match = _NAME.fullmatch(path.name)
    if not match:
        raise DataError(
            f"{path}: lmms-eval calls its sample logs TIME_samples_TASK.jsonl; give the file that name"
        )
    results = _read_results(path.with_name(f"{match['time']}_results.json"))
    task = f"lmms/{name_task(match['task'])}"
    metrics = _list_metrics(results, match["task"])
    source = ImportedSource(
        task=task,
        model=model or str(results.get("model_name") or path.resolve().parent.name.replace("__", "/")),
        name=match["time"],
        file=path,
        notes=("read from a sample log of lmms-eval",),
    )
    target = out or default_folder(source)
    return write_imported_run(source, _read_entries(path, task, metrics), target, target.parent / ".none")


def _read_results(path: Path) -> dict[str, Any]:
    """The file of aggregates beside the log; empty where there is none."""
    try:
        return msgspec.convert(parse_json(path.read_bytes()), dict[str, Any])
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise DataError(f"{path}: {error}") from error


def _list_metrics(results: Mapping[str, Any], task: str) -> list[str]:
    """The task's metrics, the main one first; empty where the file of aggregates does not say."""
    figures = results.get("results", {}).get(task, {})
    names = [name.partition(",")[0] for name in figures if "," in name]
    return list(dict.fromkeys(name for name in names if not re.search(r"_stderr(_\w+)?$", name)))


def _read_entries(path: Path, task: str, metrics: list[str]) -> Iterator[ImportedEntry]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                entry = msgspec.convert(parse_json(line), dict[str, Any])  # it may hold NaN
                yield _read_entry(entry, task, metrics)
            except (ValueError, KeyError) as error:
                reason = f"there is no {error}" if isinstance(error, KeyError) else str(error)
                raise DataError(f"{path}, line {number}: {reason}") from error


def _read_entry(entry: Mapping[str, Any], task: str, metrics: list[str]) -> ImportedEntry:
    name = str(entry["doc_id"])
    text = _first_text(entry.get("resps", entry.get("filtered_resps")))
    failed = text.startswith(_FAILED)
    counts = entry.get("token_counts") or [None]
    tokens = counts[0] if isinstance(counts, list) and counts and isinstance(counts[0], dict) else {}
    question = (Text(str(entry["input"])),) if entry.get("input") else ()
    names = [metric for metric in metrics if metric in entry]
    names += [field for field in entry if field not in _FIELDS and field not in names]
    results = {} if failed else {metric: _make_result(entry[metric]) for metric in names}
    if any(
        result.value is not None for result in results.values()
    ):  # what is only submitted is no score; null is
        results = {
            m: result for m, result in results.items() if result.value is not None or result.raw is None
        }
    return ImportedEntry(
        Sample(
            id=name,
            task=task,
            question=question,
            answers=(str(entry["target"]),) if "target" in entry else (),
        ),
        Record(
            key=job_key(task, name),
            task=task,
            id=name,
            reply=Reply(
                status="error" if failed else "ok",
                text="" if failed else text,
                error=text[:300] if failed else "",
                tokens_in=tokens.get("input_tokens"),
                tokens_out=tokens.get("output_tokens"),
            ),
        ),
        results,
    )


def _first_text(value: Any) -> str:
    while isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, str) else ""


def _make_result(value: Any) -> SampleResult:
    """A metric's value: a number, or the number in a mapping."""
    if isinstance(value, bool | int | float):
        return SampleResult(value=float(value), raw=value if isinstance(value, bool) else None)
    if isinstance(value, dict):
        for key in _KEYS:
            if isinstance(value.get(key), bool | int | float):
                return SampleResult(value=float(value[key]), raw=value)
        answer, parsed = value.get("answer"), value.get("parsed_pred")
        if isinstance(answer, str) and parsed is not None:  # MMMU logs what it read and what is right
            parsed = parsed[0] if isinstance(parsed, list) and parsed else parsed
            right = parsed == answer if isinstance(parsed, str) else answer in (parsed or ())
            return SampleResult(value=float(right), raw=value, answer=str(parsed))
    return SampleResult(raw=value)
