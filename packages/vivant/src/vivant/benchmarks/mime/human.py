"""People's judgements: `human_eval.jsonl`, one answer of one person to one video a line.

Every line brings the question as that person saw it, with options and key of its own, so a record keeps them.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vivant.benchmarks.base import Imported
from vivant.benchmarks.data_files import iter_json_objects
from vivant.benchmarks.mime.data import walk_folders
from vivant.benchmarks.mime.names import SampleIndex
from vivant.benchmarks.mime.text_lists import split_texts
from vivant.benchmarks.multiple_choice import option_name
from vivant.core.errors import DataError
from vivant.core.records import Record
from vivant.core.types import Option, Reply, Sample

MODEL = "human"
FILE_NAME = "human_eval.jsonl"


class HumanQuestion(Struct):
    """What the person was shown."""

    label: Any
    options: list[str]
    label_idx: int
    s3_url: str = ""


class HumanAnnotator(Struct):
    """Who judged."""

    annotator: str


class HumanJudgement(Struct):
    """One line of the file; fields that are not read here are not named here."""

    sample_id: str
    user_answer: str | None
    user_mcq_selection: int | None
    question: HumanQuestion
    url_data: HumanAnnotator
    question_i: int | None = None
    user_is_correct: bool | None = None
    count_exited_page: int | None = None


def is_judgement(line: dict[str, Any]) -> bool:
    """Whether a line comes from such a file."""
    return "user_answer" in line and "question" in line


def find_judgement_files(root: Path) -> list[Path]:
    """The files of judgements below a data folder."""
    if not root.is_dir():
        return []
    return [folder / name for folder, files in walk_folders(root) for name in files if name == FILE_NAME]


def read_judgements(files: Sequence[Path], samples: Sequence[Sample], task: str) -> Imported:
    """The judgements of several files as records, from each the first of each person on each video."""
    index = SampleIndex(samples)
    repeats: Counter[str] = Counter()
    records: list[Record] = []
    answered: dict[str, Sample] = {}
    notes: list[str] = []
    for file in files:
        records += _read_file(file, index, task, answered, repeats, notes, others=len(files) > 1)
    return Imported(
        task=task, records=tuple(records), samples=tuple(answered.values()), model=MODEL, notes=tuple(notes)
    )


def _read_file(
    file: Path,
    index: SampleIndex,
    task: str,
    answered: dict[str, Sample],
    repeats: Counter[str],
    notes: list[str],
    *,
    others: bool,
) -> list[Record]:
    records: list[Record] = []
    answered_pairs: set[tuple[str, str]] = set()
    unmatched: list[str] = []
    repeated = contradictory = 0
    for number, line in iter_json_objects(file):
        judgement = parse_judgement(file, number, line)
        sample = index.find(judgement.question.s3_url, judgement.sample_id)
        if sample is None:
            unmatched.append(f"line {number}: '{judgement.question.s3_url or judgement.sample_id}'")
            continue
        source = hash_annotator(judgement.url_data.annotator)
        if (source, sample.id) in answered_pairs:
            repeated += 1
            continue
        answered_pairs.add((source, sample.id))
        contradictory += _contradicts_itself(judgement)
        answered.setdefault(sample.id, sample)
        repeats[sample.id] += 1
        records.append(
            _build_record(judgement, sample, task, repeats[sample.id], source, _format_label(file))
        )
    if unmatched and others and not records:
        notes.append(f"{file}: passed over, because its {len(unmatched)} judgements are on other videos")
    elif unmatched:
        raise DataError(
            f"{file}: {len(unmatched)} of {len(unmatched) + len(records) + repeated} judgements "
            f"are on videos that the data do not hold, the first in {unmatched[0]}; give the data "
            "that people judged"
        )
    if repeated:
        notes.append(
            f"{task}, {_format_label(file)}: repeated judgements of a person on one video dropped: {repeated}"
        )
    if contradictory:
        notes.append(
            f"{task}, {_format_label(file)}: in {contradictory} lines user_is_correct contradicts "
            "the option; the option counts"
        )
    return records


def parse_judgement(file: Path, number: int, line: dict[str, Any]) -> HumanJudgement:
    """One line, checked. Raises DataError naming file and line."""
    try:
        judgement = msgspec.convert(line, HumanJudgement)
    except msgspec.ValidationError as error:
        raise DataError(f"{file}, line {number}: {error}") from error
    options = judgement.question.options
    if not 0 <= judgement.question.label_idx < len(options):
        raise DataError(f"{file}, line {number}: label_idx is no place among the {len(options)} options")
    if judgement.user_mcq_selection is not None and not 1 <= judgement.user_mcq_selection <= len(options):
        raise DataError(f"{file}, line {number}: user_mcq_selection is not one of 1 to {len(options)}")
    if not split_texts(judgement.question.label):
        raise DataError(f"{file}, line {number}: the question has no label")
    return judgement


def _contradicts_itself(judgement: HumanJudgement) -> bool:
    if judgement.user_is_correct is None or judgement.user_mcq_selection is None:
        return False
    return judgement.user_is_correct != (judgement.user_mcq_selection - 1 == judgement.question.label_idx)


def _build_record(
    judgement: HumanJudgement, sample: Sample, task: str, repeat: int, source: str, file: str
) -> Record:
    question = judgement.question
    options: tuple[Option, ...] = ()
    answer = judgement.user_answer or ""
    if task == "mime/mcq":
        options = tuple(Option(option_name(i), text) for i, text in enumerate(question.options))
        selection = judgement.user_mcq_selection
        answer = options[selection - 1].name if selection is not None else ""
    return Record(
        key=f"{task}/{sample.id}#{repeat}",
        task=task,
        id=sample.id,
        repeat=repeat,
        options=options,
        reply=Reply(text=answer, model=MODEL),
        source=source,
        extra={
            "human": {
                "file": file,
                "place": judgement.question_i,
                "key": question.label_idx,
                "labels": list(split_texts(question.label)),
            }
        },
    )


def hash_annotator(annotator: str) -> str:
    """A person's id that names nobody; ids that are digests already keep their first characters."""
    digest = annotator if re.fullmatch(r"[0-9a-f]{64}", annotator) else ""
    return (digest or hashlib.sha256(annotator.encode()).hexdigest())[:16]


def _format_label(file: Path) -> str:
    """The file as scores tell it from others: its folder says which data it is about."""
    return f"{file.parent.name}/{file.name}"
