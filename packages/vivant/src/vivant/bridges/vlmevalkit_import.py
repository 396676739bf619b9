"""Result files of VLMEvalKit as runs: `vivant import --as vlmevalkit FILE`.

`MODEL_DATASET.xlsx` (or .tsv, .json) holds a row per question with its prediction. What the evaluation adds holds a
score for each row too: `hit` in `MODEL_DATASET_JUDGE_result.xlsx` (multiple choice), `eval_match` in
`MODEL_DATASET_results.xlsx` (free answers), `score` in `MODEL_DATASET_score.xlsx` (videos). Where a file has none, its
predictions are scored by the rules that VLMEvalKit follows without a judge.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from vivant.benchmarks.base import ScoreSettings
from vivant.benchmarks.declarative.cells import list_texts
from vivant.benchmarks.declarative.loader import find_group
from vivant.benchmarks.multiple_choice import make_options
from vivant.benchmarks.vlmevalkit import VlmEvalKit, is_circular
from vivant.bridges.imported_results import (
    ImportedEntry,
    ImportedSource,
    SampleResult,
    default_folder,
    name_task,
    write_imported_run,
)
from vivant.bridges.vlmevalkit_files import read_rows
from vivant.core.errors import DataError
from vivant.core.records import Record
from vivant.core.types import Option, Reply, Sample, Text, job_key
from vivant.models.thought_marks import split_thinking
from vivant.runs.run import Run

_SCORES = ("hit", "eval_match", "verifier_match", "score", "correct", "match")
_RATED = re.compile(r"(?:MMBench-Video|QBench_Video_VQA|MLVU_OpenEnded|LLaVABench|SFE)(?![A-Za-z0-9])")
"""Datasets whose `score` is a judge's rating, of 3 to 10 at best."""
_MARKED = re.compile(r"(?:POPE|MME|HallusionBench|AMBER|MMVet)(?![A-Za-z0-9-])")
"""Datasets without options whose `score` is a share of 1. That of multiple choice is; of others nothing is known."""
_FAILED = "Failed to obtain answer"
"""In the text that stands for a failed request."""
_ADDED = re.compile(
    r"(?:_(?:exact_matching|(?:gpt|chatgpt|openai|o\d|deepseek|qwen|claude|gemini|llama|verifier)[\w.-]*?))?"
    r"(?:_vanilla_(?:circ0|all))?(?:_detailed_results|_results?|_score)?$",
    re.IGNORECASE,
)
"""What evaluations add to the name of a file with predictions."""
_FACETS = ("category", "l2-category", "split", "task", "task_type", "domain", "duration", "sub_category")
_EXACT = "exact_matching"
"""VLMEvalKit's name for scoring without a judge."""
_MATCH = re.compile(r"True|False|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def import_vlmevalkit(path: Path, out: Path | None = None, model: str | None = None) -> Run:
    """Turn a result file into a run.

    Args:
        path: The file, as VLMEvalKit writes it.
        out: The run directory. Default: `runs/vlmevalkit-DATASET-MODEL`.
        model: Name of the model. Default: from the names of the file and its folders.
    """
    rows = read_rows(path)
    if not rows or "prediction" not in rows[0]:
        raise DataError(f"{path}: there is no column 'prediction'; name a result file, MODEL_DATASET.xlsx")
    if "index" not in rows[0]:
        raise DataError(f"{path}: there is no column 'index'")
    named, dataset = _split_name(path, model)
    column = next((name for name in _SCORES if name in rows[0]), "")
    if not column and not {"question", "answer"} & rows[0].keys():
        raise DataError(
            f"{path}: nothing can be scored, for there is no column 'answer' and none of {', '.join(_SCORES)}; "
            "name the file that VLMEvalKit wrote, with its questions, or its evaluated file"
        )
    task = f"vlmevalkit/{name_task(dataset)}"
    notes = [f"read from {path.name}"]
    if column:
        items = [_read_item(row, task) for row in rows]
        results = [_read_result(row, column, dataset) for row in rows]
        entries = [ImportedEntry(*item, result) for item, result in zip(items, results, strict=True)]
    elif "answer" not in rows[0]:
        notes.append("the file has no column 'answer' and holds no scores, so no reply is scored")
        entries = [ImportedEntry(*_read_item(row, task), {}) for row in rows]
    else:
        notes.append("the file holds no scores; Vivant scores replies by VLMEvalKit's rules without a judge")
        entries = list(_score_entries([_read_item(row, task) for row in rows], dataset))
        if len(entries) < len(rows):
            notes.append(f"{len(rows)} rows are {len(entries)} questions, right where every copy is")
    is_rated = bool(_RATED.match(dataset))
    is_marked = bool(_MARKED.match(dataset)) or all(entry.sample.options for entry in entries)
    source = ImportedSource(
        task=task,
        model=named,
        name="",
        file=path,
        notes=tuple(notes),
        shares=frozenset({"score"} if is_marked and not is_rated else ()),
        ratings=frozenset({"score"} if is_rated else ()),
    )
    target = out or default_folder(source)
    finished = (entry._replace(record=_finish_record(entry.record)) for entry in entries)
    return write_imported_run(source, finished, target, target.parent / ".none")


def _split_name(path: Path, model: str | None) -> tuple[str, str]:
    """Model and dataset. Both names may hold underscores; a folder above the file bears the model's, as in
    `outputs/MODEL/T20260818_G1a2b3c4d/MODEL_DATASET.xlsx`."""
    folders = [folder.name for start in (path.absolute(), path.resolve()) for folder in start.parents[:3]]
    names = [name for name in (model or "", *folders) if name and path.stem.startswith(f"{name}_")]
    prefix = max(names, key=len, default=path.stem.partition("_")[0])
    rest = path.stem.removeprefix(f"{prefix}_") if path.stem != prefix else path.stem
    return model or prefix, _ADDED.sub("", rest) or rest


def _read_item(row: Mapping[str, str], task: str) -> tuple[Sample, Record]:
    name = re.sub(r"\.0$", "", row["index"])
    letters = [letter for letter in string.ascii_uppercase if row.get(letter)]
    # A letter without a text leaves a gap: the others keep theirs, under which they were shown.
    options = tuple(Option(letter, row[letter]) for letter in letters)
    options = options or make_options(list_texts(row.get("candidates", "")))
    texts = [option.text for option in options]
    answer = row.get("answer", "").strip()
    key = next((index for index, option in enumerate(options) if option.name == answer), None)
    if key is None and answer in texts:
        key = texts.index(answer)
    question = "\n".join(filter(None, (row.get("hint", ""), row.get("question", ""))))
    failed = _FAILED in row["prediction"]
    record = Record(
        key=job_key(task, name),
        task=task,
        id=name,
        options=options,
        order=tuple(range(len(options))),
        reply=Reply(
            status="error" if failed else "ok",
            text="" if failed else row["prediction"],
            error=row["prediction"][:300] if failed else "",
            thinking=row.get("thinking", ""),
        ),
    )
    sample = Sample(
        id=name,
        task=task,
        question=(Text(question),) if question else (),
        options=options,
        key=key,
        answers=() if options or not answer else tuple(list_texts(answer)),
        facets={facet: row[facet] for facet in _FACETS if row.get(facet)},
        extra={
            "group": re.sub(r"\.0$", "", row.get("g_index", "")) or find_group(name),
            "choice_table": "A" in row and "B" in row,
        },
    )
    return sample, record


def _finish_record(record: Record) -> Record:
    """The record with thoughts apart from the answer. They were read together: VLMEvalKit scores the whole text."""
    thinking, text, unfinished = split_thinking(record.reply.text)
    if not thinking or record.reply.thinking or unfinished:
        return record
    return msgspec.structs.replace(
        record, reply=msgspec.structs.replace(record.reply, text=text, thinking=thinking)
    )


def _read_result(row: Mapping[str, str], column: str, dataset: str) -> dict[str, SampleResult]:
    """The score that a row bears; none where the request failed, or where the evaluation did."""
    text = row[column].strip()
    if _FAILED in row["prediction"] or (column == "score" and text in ("-1", "-1.0")):
        return {}
    if column == "eval_match":
        return {column: SampleResult(value=_join_matches(text, dataset), answer=row.get("eval_pred", ""))}
    try:
        value = float({"true": 1, "false": 0}.get(text.lower(), text))
    except ValueError:
        return {column: SampleResult(raw=text)}
    return {column: SampleResult(value=value, note=row.get("log", ""))}


def _join_matches(text: str, dataset: str) -> float | None:
    """One score of a reply that was compared with several answers, by the rule of its dataset."""
    names = [match[0] for match in _MATCH.finditer(text.replace("float64", ""))]
    values = [float({"True": 1, "False": 0}.get(name, name)) for name in names]
    if not values:
        return None
    if any(name in dataset for name in ("DocVQA", "InfoVQA")):  # distances
        likeness = 1 - min(values)
        return likeness if likeness >= 0.5 else 0.0
    if any(name in dataset for name in ("ChartQA", "OCRVQA")):
        return max(values)
    return sum(values) / len(values)


def _score_entries(items: Sequence[tuple[Sample, Record]], dataset: str) -> Iterator[ImportedEntry]:
    """Rows with the scores that VLMEvalKit's rules give them; of a circular evaluation, one row for each question."""
    circular = is_circular(dataset)
    settings = ScoreSettings(protocol="paper", style="imported", values={"circular": circular})
    for (sample, record), score in zip(items, VlmEvalKit().score(items, settings), strict=True):
        if score.status == "excluded" and circular:
            continue
        failed = record.reply.status == "error" and not circular
        result = SampleResult(
            value=score.value, answer=score.answer, note=score.rule, unparsed=score.status == "unparsed"
        )
        yield ImportedEntry(sample, record, {} if failed else {_EXACT: result})
