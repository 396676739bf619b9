"""The repository's result files as records: `raw_mcq_*` and `raw_ff_*` (JSON), `score_*` (CSV)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vivant.benchmarks.base import Imported
from vivant.benchmarks.data_files import iter_csv_rows, iter_json_objects, read_json
from vivant.benchmarks.mime import failures, human, positions
from vivant.benchmarks.mime.names import SampleIndex
from vivant.benchmarks.mime.prompts import STYLES, is_demonstration
from vivant.benchmarks.mime.result_names import parse_result_name
from vivant.benchmarks.mime.text_lists import parse_list, split_texts
from vivant.benchmarks.multiple_choice import option_name
from vivant.core.errors import DataError
from vivant.core.records import Record
from vivant.core.types import Option, Reply, Sample


class RawChoice(Struct, forbid_unknown_fields=False):
    """An item of a raw multiple-choice file."""

    video_path: str
    correct_answer: str
    options: list[Any]
    model_answer: str | None = None
    is_correct: bool | None = None
    instance_id: int | str | None = None


class RawFree(Struct, forbid_unknown_fields=False):
    """An item of a raw free-form file."""

    video_path: str
    output_text: str | None
    action: Any = None
    chain_of_thought: Any = None
    fail_mode: str = ""
    instance_id: int | str | None = None


class ResultFileReader:
    """What is gathered while a file is read."""

    def __init__(self, file: Path, samples: Sequence[Sample], task: str) -> None:
        self.file = file
        self.task = task
        self.index = SampleIndex(samples)
        self.records: list[Record] = []
        self.samples: list[Sample] = []
        self.notes: list[str] = []
        self.strangers: list[str] = []
        self._first: dict[str, str] = {}

    def find(self, where: str, path: str, sample_id: object = None) -> Sample | None:
        """The sample of an item, or None, remembered for the count of those that fit none."""
        sample = self.index.find(path, sample_id)
        if sample is None:
            self.strangers.append(f"{where} '{path or sample_id}'")
        return sample

    def add(self, where: str, sample: Sample, reply: Reply, extra: dict[str, Any]) -> None:
        """One answer to one sample; a second one is an error, for nothing says which counts."""
        if sample.id in self._first:
            raise DataError(
                f"{self.file}: {self._first[sample.id]} and {where} answer the same video; remove one of them"
            )
        self._first[sample.id] = where
        self.samples.append(sample)
        self.records.append(
            Record(
                key=f"{self.task}/{sample.id}",
                task=self.task,
                id=sample.id,
                options=sample.options,
                order=tuple(range(len(sample.options))),
                reply=reply,
                extra=extra,
            )
        )

    def finish(self) -> Imported:
        """The import, or one line on the items that fit no sample."""
        if self.strangers:
            total = len(self.strangers) + len(self.records)
            raise DataError(
                f"{self.file}: {len(self.strangers)} of {total} predictions fit no sample of the data, "
                f"the first is {self.strangers[0]}; give the data that they were made on"
            )
        if not self.records:
            raise DataError(f"{self.file} holds no predictions")
        missing = len(self.index.samples) - len(self.records)
        if missing:
            self.notes.append(f"{missing} of the {len(self.index.samples)} samples have no prediction here")
        model, style = guess_origin(self.file)
        demonstrated = sum(is_demonstration(sample) for sample in self.samples) if style == "few-shot" else 0
        if demonstrated:
            self.notes.append(
                f"{demonstrated} predictions are on demonstrations' actions, which few-shot runs leave "
                "out; they are kept, as the published scores count them"
            )
        return Imported(
            task=self.task,
            records=tuple(self.records),
            samples=tuple(self.samples),
            model=model,
            style=style,
            notes=tuple(self.notes),
        )


def read_predictions(file: Path, samples: Sequence[Sample], task: str) -> Imported | None:
    """Read a result file, a file of people's judgements or one of failure labels; None for any other."""
    if file.suffix == ".json":
        return _read_raw(file, samples, task)
    if file.suffix == ".csv":
        header = next((set(row) for _, row in iter_csv_rows(file)), set())
        if failures.is_labelled(header):
            return failures.read_labels(file, iter_csv_rows(file), samples, task)
        if "instance_id" in header and "is_correct" in header:
            return _read_score(file, samples, task, "mcq", _add_verdict)
        if "instance_id" in header and "output_text" in header:
            return _read_score(file, samples, task, "ff", _add_scored_text)
        return None
    if file.suffix == ".jsonl":
        first = next((line for _, line in iter_json_objects(file)), {})
        if human.is_judgement(first):
            return human.read_judgements([file], samples, task)
        if failures.is_labelled(set(first)):
            return failures.read_labels(file, iter_json_objects(file), samples, task)
    return None


def guess_origin(file: Path) -> tuple[str, str]:
    """Model and style as the repository's paths tell them; empty where they do not."""
    style = next((part for part in reversed(file.parts[:-1]) if part in STYLES), "")
    return parse_result_name(file.stem), style


# ── raw files ────────────────────────────────────────────────────────────────────────────────────


def _read_raw(file: Path, samples: Sequence[Sample], task: str) -> Imported | None:
    reading = ResultFileReader(file, samples, task)
    items = _unwrap(file, read_json(file), reading.notes)
    if items is None or not all(isinstance(item, dict) for item in items):
        return None
    kinds = {"mcq" if "correct_answer" in item else "ff" for item in items if "video_path" in item}
    if not kinds:
        if items and not file.name.startswith("raw_"):
            return None
        raise DataError(f"{file} holds no predictions: none of its {len(items)} items has a video_path")
    if len(kinds) > 1:
        raise DataError(f"{file} mixes multiple-choice and free-form items; keep one kind in a file")
    (kind,) = kinds
    _check_task(file, task, kind)
    take: Callable[[ResultFileReader, str, Any], None] = _add_choice if kind == "mcq" else _add_free
    item_type: type[Any] = RawChoice if kind == "mcq" else RawFree
    for number, item in enumerate(items):
        where = f"item {number}"
        try:
            take(reading, where, msgspec.convert(item, item_type))
        except msgspec.ValidationError as error:
            raise DataError(f"{file}, {where}: {error}") from error
    unknown_fields = sorted({name for item in items for name in item} - set(item_type.__struct_fields__))
    if unknown_fields:
        reading.notes.append(f"fields dropped: {', '.join(unknown_fields)}")
    if kind == "mcq":
        _note_choices(reading, items)
    elif reading.records:
        _note_free(reading, samples)
    return reading.finish()


def _unwrap(file: Path, value: Any, notes: list[str]) -> list[Any] | None:
    """The list of predictions, however often it was wrapped; what else the wrappings hold is dropped."""
    depth = 0
    dropped: list[str] = []
    while isinstance(value, dict) and "predictions" in value:
        depth += 1
        dropped += [f"{name} {figure}" for name, figure in value.items() if name != "predictions"]
        value = value["predictions"]
    if depth and not isinstance(value, list):
        raise DataError(f"{file}: `predictions` is no list")
    if depth > 1:
        notes.append(
            f"`predictions` is nested {depth} times: the {len(value)} items of the innermost list "
            f"were read; dropped on the way: {', '.join(dropped) or 'nothing'}"
        )
    return value if isinstance(value, list) else None


def _check_task(file: Path, task: str, kind: str) -> None:
    if task.rpartition("/")[2] != kind:
        kind_name = "multiple-choice" if kind == "mcq" else "free-form"
        raise DataError(f"{file} holds {kind_name} answers; import it as mime/{kind}")


def _add_choice(reading: ResultFileReader, where: str, item: RawChoice) -> None:
    sample = reading.find(where, item.video_path, item.instance_id)
    if sample is None:
        return
    options = tuple(Option(option_name(i), _format_option(option)) for i, option in enumerate(item.options))
    names = [option.name for option in options]
    if item.correct_answer not in names:
        raise DataError(
            f"{reading.file}, {where}: correct_answer '{item.correct_answer}' names none of its "
            f"{len(names)} options"
        )
    answered = msgspec.structs.replace(sample, options=options, key=names.index(item.correct_answer))
    reading.add(where, answered, _make_reply(item.model_answer), {"filed": True})


def _make_reply(text: str | None, thinking: str = "") -> Reply:
    if text is None:
        return Reply(status="error", error="the file holds no answer")
    return Reply(text=text, thinking=thinking)


def _format_option(option: Any) -> str:
    """An option as text; the few-shot files hold the right one as a list of one."""
    return ", ".join(split_texts(option)) if _is_list(option) else str(option)


def _is_list(option: Any) -> bool:
    return isinstance(option, list) or (isinstance(option, str) and parse_list(option) is not None)


def _note_choices(reading: ResultFileReader, items: Sequence[dict[str, Any]]) -> None:
    bracketed = sum(any(_is_list(option) for option in item["options"]) for item in items)
    if bracketed:
        reading.notes.append(
            f"{bracketed} items hold an option as a list (['…']) among plain texts; the brackets "
            "were removed, but if the prompt showed them, they gave the answer away"
        )
    contradictory = 0
    for item in items:
        matches = item.get("model_answer") == item["correct_answer"]
        contradictory += item.get("is_correct") is not None and item["is_correct"] != matches
    if contradictory:
        reading.notes.append(
            f"in {contradictory} items is_correct contradicts model_answer; the answer counts"
        )


def _add_free(reading: ResultFileReader, where: str, item: RawFree) -> None:
    sample = reading.find(where, item.video_path, item.instance_id)
    if sample is None:
        return
    labels = split_texts(item.action) or sample.answers
    thinking = "\n".join(split_texts(item.chain_of_thought)) if item.chain_of_thought else ""
    extra: dict[str, Any] = {"filed": True}
    if item.fail_mode:
        extra["fail_mode"] = item.fail_mode
    answered = msgspec.structs.replace(sample, answers=labels)
    reading.add(where, answered, _make_reply(item.output_text, thinking), extra)


def _note_free(reading: ResultFileReader, samples: Sequence[Sample]) -> None:
    labels = {sample.id: set(sample.answers) for sample in samples}
    differ = [sample.id for sample in reading.samples if set(sample.answers) != labels[sample.id]]
    if differ:
        reading.notes.append(
            f"{len(differ)} items bring labels other than the data's, which were kept; the first: {differ[0]}"
        )


# ── score files ──────────────────────────────────────────────────────────────────────────────────


def _read_score(
    file: Path,
    samples: Sequence[Sample],
    task: str,
    kind: str,
    take: Callable[[ResultFileReader, str, Sample, dict[str, str]], None],
) -> Imported:
    _check_task(file, task, kind)
    reading = ResultFileReader(file, samples, task)
    rows = [row for _, row in iter_csv_rows(file)]
    matched = positions.match_rows(file, rows, reading.index, reading.notes)
    verdict = "is_correct" if kind == "mcq" else "correct"
    for number, (row, sample) in enumerate(zip(rows, matched, strict=True), 1):
        if row.get(verdict, "?"):  # a row without a verdict keeps the place of a sample that was not asked
            take(reading, f"row {number}", sample, row)
    return reading.finish()


def _add_verdict(reading: ResultFileReader, where: str, sample: Sample, row: dict[str, str]) -> None:
    # The file does not say what was shown, so the sample keeps no options to be mistaken for it.
    bare = msgspec.structs.replace(sample, options=(), key=None)
    reading.add(where, bare, Reply(), {"is_correct": _parse_bool(reading.file, where, row["is_correct"])})


def _add_scored_text(reading: ResultFileReader, where: str, sample: Sample, row: dict[str, str]) -> None:
    labels = split_texts(row.get("ground_truth"))
    if labels and set(labels) != set(sample.answers):
        raise DataError(
            f"{reading.file}, {where}: ground_truth is {labels[0]!r}, but the sample at this "
            f"place, {sample.id}, is {sample.answers[0]!r}; the rows are not in the order of the "
            "data"
        )
    reading.add(where, sample, Reply(text=row["output_text"]), {"filed": True})


def _parse_bool(file: Path, where: str, text: str) -> bool:
    values = {"1": True, "0": False, "true": True, "false": False, "1.0": True, "0.0": False}
    value = values.get(text.strip().lower())
    if value is None:
        raise DataError(f"{file}, {where}: is_correct is '{text}'; it must be 0 or 1")
    return value
