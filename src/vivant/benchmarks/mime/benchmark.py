"""MIME as a benchmark: the four stages, wired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vivant.benchmarks.base import (
    Benchmark,
    Figure,
    Imported,
    Prompt,
    PromptContext,
    Protocol,
    Published,
    ScoredRun,
    ScoreSettings,
    TaskInfo,
)
from vivant.benchmarks.label_scheme import Scheme
from vivant.benchmarks.mime import data, human, native, prompts, published, score, tables
from vivant.benchmarks.mime import export as exports
from vivant.benchmarks.mime.kinds import KINDS
from vivant.core.table import Table
from vivant.core.types import Record, Sample, Score


class Mime(Benchmark):
    """Mimed actions: four choices, or free words compared with the labels by meaning."""

    name = "mime"
    title = "MIME"
    summary = "Which action is being mimed? Motion capture on avatars, with and without a helpful background."
    tasks = (
        TaskInfo(name="mcq", title="Multiple choice", chance=0.25),
        TaskInfo(name="ff", title="Free form"),
    )
    styles = prompts.STYLES
    figures = (
        Figure(name="mcq", title="Multiple choice by variant", facets=("variant",), tasks=("mcq",)),
        Figure(name="ff", title="Free form by variant", facets=("variant",), tasks=("ff",)),
    )
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
    settings: ClassVar[Mapping[str, Any]] = score.SETTINGS
    layouts: ClassVar[Mapping[str, str]] = tables.LAYOUTS
    exports = exports.KINDS
    data_help = (
        "MIME is read from a folder of videos with metadata.csv or metadata.jsonl, from Parquet, or from "
        "*_legacy.jsonl: download wise-east/mime-cropped and wise-east/mime-real-resized from Hugging Face "
        "(docs/mime.md)."
    )

    def load(self, root: Path, task: str) -> list[Sample]:
        return data.load(root, f"mime/{self.task(task).name}", self.data_help)

    def media_root(self, root: Path) -> Path:
        return data.find_media_root(root)

    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        return prompts.build_prompt(sample, context)

    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
        if not items:
            return []
        return score.score_records(items, settings, self.task(items[0][0].task).name)

    def keep(self, sample: Sample, style: str) -> bool:
        return style != "few-shot" or not prompts.is_demonstration(sample)

    def human(self, root: Path, task: str) -> Imported | None:
        files = human.find_judgement_files(root)
        return (
            human.read_judgements(files, self.load(root, task), f"mime/{self.task(task).name}")
            if files
            else None
        )

    def published(self) -> Sequence[Published]:
        return list(published.list_published())

    def answer_kinds(self, task: str) -> Scheme | None:
        return KINDS if self.task(task).name == "ff" else None

    def layout(self, name: str, runs: Sequence[ScoredRun], protocol: Protocol) -> Table:
        return tables.build_table(name, runs, protocol, self)

    def read_predictions(self, file: Path, samples: Sequence[Sample], task: str) -> Imported | None:
        return native.read_predictions(file, samples, f"mime/{self.task(task).name}")

    def export(self, run: ScoredRun, kind: str, out: Path) -> list[Path]:
        return exports.export(run, kind, out)
