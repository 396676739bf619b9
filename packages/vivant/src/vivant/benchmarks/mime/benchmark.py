"""MIME as a benchmark: which tasks there are, and where each stage is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vivant.benchmarks import base, parts
from vivant.benchmarks.label_scheme import Scheme
from vivant.benchmarks.mime import data, human, native, prompts, score, tables
from vivant.benchmarks.mime import export as exports
from vivant.benchmarks.mime.kinds import KINDS
from vivant.benchmarks.task_options import TaskOption
from vivant.core.records import Record, Score
from vivant.core.table import Table
from vivant.core.types import Sample


class MimeData(parts.DataFolder):
    """Videos with metadata.csv, metadata.jsonl or Parquet."""

    def media_root(self, root: Path) -> Path:
        return data.find_media_root(root)


class MimeFormats(parts.NativeFormats):
    """The original's raw and score files, and people's answers."""

    exports = exports.KINDS

    def read_predictions(self, file: Path, samples: Sequence[Sample], task: str) -> base.Imported | None:
        return native.read_predictions(file, samples, task)

    def read_human(self, benchmark: base.Benchmark, root: Path, task: str) -> base.Imported | None:
        files = human.find_judgement_files(root)
        return human.read_judgements(files, benchmark.load(root, task), task) if files else None

    def export(self, parts: Sequence[base.ScoredRun], kind: str, out: Path) -> list[Path]:
        return [path for part in parts for path in exports.export(part, kind, out)]


class MimeTables(parts.OwnTables):
    """The paper's tables, filled with runs."""

    layouts: ClassVar[Mapping[str, str]] = tables.LAYOUTS
    figures = (
        base.Figure(name="mcq", title="Multiple choice by variant", facets=("variant",), tasks=("mcq",)),
        base.Figure(name="ff", title="Free form by variant", facets=("variant",), tasks=("ff",)),
    )

    def build(
        self, benchmark: base.Benchmark, name: str, runs: Sequence[base.ScoredRun], protocol: base.Protocol
    ) -> Table:
        return tables.build_table(name, runs, protocol, benchmark)


class Mime(base.Benchmark):
    """Mimed actions: four choices, or free words compared with the labels by meaning."""

    name = "mime"
    title = "MIME"
    summary = "Which action is being mimed? Motion capture on avatars, with and without a helpful background."
    tasks = (
        base.TaskInfo(name="mcq", title="Multiple choice", chance=0.25),
        base.TaskInfo(name="ff", title="Free form", similarity=True),
    )
    styles = prompts.STYLES
    facets = (
        "variant",
        "action",
        "actor",
        "avatar",
        "background",
        "background_name",
        "angle",
        "dataset",
        "split",
    )
    protocols = ("paper", "strict")
    scores_apart = True
    settings: ClassVar[Mapping[str, Any]] = score.SETTINGS
    prompt_texts = prompts.PROMPT_TEXTS
    task_options = (
        TaskOption(
            name="order",
            default=prompts.ORDERS[0],
            choices=prompts.ORDERS,
            help="What the model meets first: the video or the text.",
        ),
        TaskOption(
            name="demonstrations",
            default=prompts.DEMONSTRATION_FORMS[0],
            choices=prompts.DEMONSTRATION_FORMS,
            help="few-shot: videos in the question's own variant, or the original's three for every question, "
            "as turns or inline with the answer in the prompt.",
        ),
    )
    answer_kinds: ClassVar[Mapping[str, Scheme]] = {"ff": KINDS}
    data = MimeData(
        help="MIME is read from a folder of videos with metadata.csv or metadata.jsonl, from Parquet, or from "
        "*_legacy.jsonl: download wise-east/mime-cropped and wise-east/mime-real-resized from Hugging Face "
        "(docs/mime.md)."
    )
    native = MimeFormats()
    published = parts.PublishedResults("vivant.benchmarks.mime.published")
    tables = MimeTables()

    def load(self, root: Path, task: str) -> list[Sample]:
        return data.load(root, f"mime/{self.task(task).name}", self.data.help)

    def prompt(self, sample: Sample, context: base.PromptContext) -> base.Prompt:
        phrasing = prompts.MimePhrasing(self.options["order"], self.options["demonstrations"])
        return prompts.build_prompt(sample, context, phrasing)

    def score(self, items: Sequence[tuple[Sample, Record]], settings: base.ScoreSettings) -> list[Score]:
        if not items:
            return []
        return score.score_records(items, settings, self.task(items[0][0].task).name)

    def keep(self, sample: Sample, style: str) -> bool:
        return style != "few-shot" or not prompts.is_demonstration(sample)
