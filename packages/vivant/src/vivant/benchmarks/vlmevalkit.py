"""VLMEvalKit's tables: one TSV per dataset, pictures in base64, as multiple choice or as questions with free answers.

Columns: `index`, `image` (base64, a list of them, or the index of the row whose picture is meant) or `image_path`,
`question`, `hint`, options in `A`, `B` …, `answer`, `category`, `l2-category`, `split`, `g_index`. Chosen by the path
(`vivant run ./MMBench_DEV_EN.tsv`) or by name in VLMEvalKit's data folder (`vivant run vlmevalkit:MMBench_DEV_EN`).
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar

from vivant.benchmarks.base import Benchmark, Prompt, PromptContext, Protocol, ScoreSettings, TaskInfo
from vivant.benchmarks.data_files import iter_csv_rows
from vivant.benchmarks.declarative import media_files, prompts
from vivant.benchmarks.declarative.cells import find_key, list_texts
from vivant.benchmarks.declarative.loader import find_group
from vivant.benchmarks.declarative.media_files import MediaFiles
from vivant.benchmarks.declarative.scorers import (
    CIRCULAR,
    join_copies,
    join_unreadable,
    score_by_rule,
    score_plain,
)
from vivant.benchmarks.declarative.spec import BenchmarkSpec, ColumnSpec, ScorerSpec
from vivant.benchmarks.jsonl import AcceptedAnswers
from vivant.benchmarks.multiple_choice import make_options
from vivant.benchmarks.parts import DataFolder
from vivant.benchmarks.wording import PromptText
from vivant.core.errors import DataError
from vivant.core.records import Record, Score
from vivant.core.types import Image, Sample, Text
from vivant.metrics.harness_rules import find_rule

_CIRCULAR_NAMES = ("mmbench", "ccbench", "circular", "mmcr")
_REFERENCE = 64
"""An image cell of at most so many characters is the index of another row."""
_FACETS = ("category", "l2-category", "split")
_FREE = (
    (("TextVQA",), "vqa-score", "vqa"),
    (("ChartQA",), "relaxed", "relaxed"),
    (("OCRVQA", "GQA"), "accuracy", "normalised"),
    (("DocVQA", "InfoVQA"), "anls", "anls"),
)
"""Parts of dataset names, the original's rule for free answers, and the scorer of the protocol `strict`."""
_EMPTY = ("", "nan")
_SPEC = BenchmarkSpec(
    name="vlmevalkit-tsv",
    columns=ColumnSpec(question="question", answers="answer"),
    shuffle=False,
    scorer="vqa",
)


class TableFolder(DataFolder):
    """The folder of the table; pictures are written beside it."""

    def media_root(self, root: Path) -> Path:
        """The cache folder where the table's own cannot be written."""
        return media_files.media_root(root)


class VlmEvalKit(Benchmark):
    """Every table is a task of its own, named after the file."""

    name: ClassVar[str] = "vlmevalkit-tsv"
    title: ClassVar[str] = "VLMEvalKit tables"
    summary: ClassVar[str] = (
        "a TSV file with pictures in base64: multiple choice (also circular) or free answers"
    )
    tasks: ClassVar[tuple[TaskInfo, ...]] = ()
    styles: ClassVar[tuple[str, ...]] = ("zero-shot", "cot")
    facets: ClassVar[tuple[str, ...]] = ()
    protocols: ClassVar[tuple[Protocol, ...]] = ("paper", "strict")
    settings: ClassVar[dict[str, Any]] = {CIRCULAR: True}
    prompt_texts: ClassVar[Mapping[str, PromptText] | None] = {
        f"prompt.{style}": prompts.TEXT for style in ("zero-shot", "cot")
    }
    data: ClassVar[DataFolder] = TableFolder("The format is described in docs/from-vlmevalkit.md.")

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._accepted = AcceptedAnswers()

    def task(self, name: str) -> TaskInfo:
        """The table of that name."""
        short = name.partition("/")[2] or name
        named = any(part in short for parts, _, _ in _FREE for part in parts)
        # A table of another name is most often multiple choice.
        metric = {"anls": "anls", "vqa": "vqa"}.get(_choose_free(short)[1] if named else "", "accuracy")
        return TaskInfo(name=short, title=f"Questions of {short}.tsv", metric=metric)

    def expand(self, selector: str) -> tuple[str, ...]:
        """The table's own name."""
        return (selector,)

    def load(self, root: Path, task: str) -> list[Sample]:
        """`root` is the file itself."""
        return list(self.iterate(root, task))

    def iterate(self, root: Path, task: str) -> Iterator[Sample]:
        """Row by row, with the pictures written beside the table."""
        media = MediaFiles(root, "")
        shared = _read_shared(root, media)
        number = 0
        for number, row in iter_csv_rows(root, "\t"):
            if number == 1:
                _check_header(root, row)
            if row.get("image", "-") in _EMPTY:
                continue  # as the original skips them
            try:
                yield _read_row(row, task, media, shared)
            except DataError as error:
                raise DataError(f"{root}, row {number}: {error}") from None
        if not number:
            raise DataError(f"{root} holds no questions")

    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        """Pictures, hint and question, options in the table's order, instruction."""
        return prompts.make_prompt(_SPEC, sample, context, self._accepted)

    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
        """As VLMEvalKit does without a judge (`paper`), or without guessing (`strict`)."""
        if not items:
            return []
        name = items[0][0].task.partition("/")[2]
        rule_name, scorer = _choose_free(name)
        if settings.protocol == "paper":
            choice, free = find_rule("vlmevalkit/mmmu"), find_rule(f"vlmevalkit/{rule_name}")
            scores = [score_by_rule(choice if _is_choice(s) else free, s, r) for s, r in items]
        else:
            spec = BenchmarkSpec(name="vlmevalkit-tsv", columns=_SPEC.columns, scorer=ScorerSpec(name=scorer))
            scores = score_plain(spec, items, {"tolerance": 0.05, "threshold": 0.5})
        circular = settings.values[CIRCULAR] and is_circular(name)
        return join_copies(items, scores) if circular else scores

    def join_scores(
        self, rows: Sequence[tuple[Sample, Record | None, Score]], settings: ScoreSettings
    ) -> list[Score]:
        """Copies that could not be read count for their question."""
        circular = rows and settings.values[CIRCULAR] and is_circular(rows[0][0].task.partition("/")[2])
        return join_unreadable(rows) if circular else super().join_scores(rows, settings)

    def chance(self, sample: Sample) -> float | None:
        """That all copies are guessed right, where they count as one."""
        single = super().chance(sample)
        copies = len(sample.options) if is_circular(sample.task) else 1
        return None if single is None else single**copies

    def chance_as_scored(self, sample: Sample, settings: Mapping[str, Any]) -> float | None:
        """With `--set circular=false`, that one copy is guessed right."""
        return self.chance(sample) if settings.get(CIRCULAR, True) else super().chance(sample)


def is_circular(name: str) -> bool:
    """Whether a dataset of that name holds copies of questions with their options moved."""
    return any(part in name.lower() for part in _CIRCULAR_NAMES)


def _choose_free(name: str) -> tuple[str, str]:
    """The original's rule for free answers of a dataset, and the scorer of the protocol `strict`."""
    return next(
        ((rule, s) for parts, rule, s in _FREE if any(part in name for part in parts)), ("vqa-score", "vqa")
    )


def _is_choice(sample: Sample) -> bool:
    """A table with options holds open questions too (MMMU): they become choices."""
    return bool(sample.options) or bool(sample.extra.get("choice_table"))


def _check_header(root: Path, row: Mapping[str, str]) -> None:
    for column in ("index", "question", "answer"):
        if column not in row:
            near = get_close_matches(column, row, n=1, cutoff=0.5)
            hint = f"'{near[0]}' looks like it; rename it" if near else f"it has {', '.join(row)}"
            raise DataError(f"{root}: the column '{column}' is missing; {hint}")
    if "image" not in row and "image_path" not in row:  # a table of texts, unless a name is misspelt
        for name in row:
            near = get_close_matches(name.lower(), ("image", "image_path"), n=1, cutoff=0.85)
            if near:
                raise DataError(f"{root}: Unknown column '{name}'; did you mean '{near[0]}'?")
    if "A" in row and "B" not in row:
        raise DataError(f"{root} has a column A and no column B; a question needs two options")


def _read_shared(root: Path, media: MediaFiles) -> dict[str, list[str]]:
    """Pictures of rows that other rows refer to, by the row's index."""
    cells = (row.get("image", "") for _, row in iter_csv_rows(root, "\t"))
    wanted = {cell for cell in cells if 0 < len(cell) <= _REFERENCE and cell not in _EMPTY}
    if not wanted:
        return {}
    return {
        row["index"]: list(media.resolve(row["image"], "image"))
        for _, row in iter_csv_rows(root, "\t")
        if row.get("index") in wanted and len(row.get("image", "")) > _REFERENCE
    }


def _read_row(
    row: Mapping[str, str], task: str, media: MediaFiles, shared: Mapping[str, list[str]]
) -> Sample:
    index = row["index"].removesuffix(".0")
    images = _find_images(row, index, media, shared)
    letters = [letter for letter in string.ascii_uppercase if row.get(letter, "nan") not in _EMPTY]
    options = [row[letter] for letter in letters]
    hint = row.get("hint", "")
    question = row["question"] if hint in _EMPTY else f"{hint}\n{row['question']}"
    extra: dict[str, Any] = {"group": _find_group(row, index)}
    if "A" in row and "B" in row:
        extra["choice_table"] = True
    if options and letters != list(string.ascii_uppercase[: len(letters)]):
        raise DataError(
            f"index {index} has the options {', '.join(letters)}; they must follow each other from A"
        )
    try:
        key = find_key(row["answer"], options, "letter") if options else None
    except DataError as error:
        raise DataError(f"index {index}: {error}") from None
    return Sample(
        id=index,
        task=task,
        question=(*map(Image, images), Text(question)),
        options=make_options(options),
        key=key,
        answers=() if options else tuple(list_texts(row["answer"])),
        facets={facet: row[facet] for facet in _FACETS if row.get(facet, "") not in _EMPTY},
        cluster=extra["group"],
        extra=extra,
    )


def _find_images(
    row: Mapping[str, str], index: str, media: MediaFiles, shared: Mapping[str, list[str]]
) -> list[str]:
    cell = row.get("image", "")
    if not cell:
        paths = list(media.resolve(row.get("image_path", ""), "image"))
    elif len(cell) > _REFERENCE:
        return list(media.resolve(cell, "image"))
    elif cell in shared:
        return shared[cell]
    else:
        raise DataError(f"index {index}: the image is '{cell}', which is no index of a row with a picture")
    for path in paths:
        if not media.exists(path):
            raise DataError(f"index {index}: the picture {path} is missing")
    return paths


def _find_group(row: Mapping[str, str], index: str) -> str:
    group = row.get("g_index", "")
    return group.removesuffix(".0") if group else find_group(index)
