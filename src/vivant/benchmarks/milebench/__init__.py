"""MileBench: long contexts with many images, in 29 datasets of twelve groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vivant.benchmarks.base import (
    Benchmark,
    DataReport,
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
from vivant.benchmarks.milebench import datasets
from vivant.benchmarks.milebench.datasets import DATASETS, GROUP
from vivant.core.errors import UsageError
from vivant.core.progress import ProgressCallback
from vivant.core.types import Record, Sample, Score

_LAYOUTS: Mapping[str, str] = {
    "main": "groups, realistic and diagnostic means, beside the published leaderboard",
    "datasets": "each dataset",
    "levels": "few, medium, many images",
    "needles": "needle maps: length of the haystack against depth of the needle",
    "position": "by the place of the evidence among the pictures (lost in the middle?)",
    "protocols": "paper and strict scoring side by side",
}


class MileBench(Benchmark):
    """`MileBench(adv=True)` reads the adversarial files; `combine=n` puts pictures into n grids at most."""

    name: ClassVar[str] = "milebench"
    title: ClassVar[str] = "MileBench"
    summary: ClassVar[str] = "29 datasets with up to 109 images a prompt; realistic and diagnostic halves"
    tasks: ClassVar[tuple[TaskInfo, ...]] = tuple(
        TaskInfo(
            name=dataset.name,
            title=f"{dataset.group} {GROUP[dataset.group].title}: {dataset.name}",
            metric=dataset.metric,
        )
        for dataset in DATASETS
    )
    facets: ClassVar[tuple[str, ...]] = ("dataset", "group", "realm", "level", "n_images", "question_type")
    layouts: ClassVar[Mapping[str, str]] = _LAYOUTS
    exports: ClassVar[tuple[str, ...]] = ("milebench",)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure(name="groups", title="Groups of datasets", facets=("group",)),
        Figure(name="levels", title="Number of pictures", facets=("level",)),
        Figure(
            name="text-needles",
            title="Text needles: depth against length",
            facets=("depth", "length"),
            tasks=("TextNeedleInAHaystack",),
        ),
        Figure(
            name="image-needles",
            title="Image needles: depth against pictures",
            facets=("depth", "length"),
            tasks=("ImageNeedleInAHaystack",),
        ),
    )
    data_options: ClassVar[Mapping[str, Any]] = {"adv": False, "combine": 0}
    data_help: ClassVar[str] = (
        "It reads the release as it is unpacked: <dataset>/<dataset>.json and <dataset>/images/, from "
        "huggingface.co/datasets/FreedomIntelligence/MileBench."
    )

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.adv = _adv(self.options["adv"])
        self.combine = _combine(self.options["combine"])

    def expand(self, selector: str) -> tuple[str, ...]:
        """Datasets behind a name, a group (`T-1`), a half (`realistic`), or nothing (all)."""
        return datasets.expand_selector(selector)

    def available(self, root: Path, tasks: Sequence[str]) -> tuple[str, ...]:
        """Those datasets whose annotation file is there."""
        from vivant.benchmarks.milebench.data import list_present

        there = set(list_present(root, adv=self.adv))
        return tuple(task for task in tasks if task.rpartition("/")[2] in there)

    def load(self, root: Path, task: str) -> list[Sample]:
        """One dataset, samples with few pictures first."""
        from vivant.benchmarks.milebench.data import load

        name = self.task(task).name
        return load(root, name, adv=self.adv, combine=self.combine)

    def check(self, root: Path, progress: ProgressCallback | None = None) -> DataReport:  # noqa: ARG002
        """Every file and every picture, whatever options this instance has."""
        from vivant.benchmarks.milebench.check import check

        return check(root)

    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        """Instruction, context with its pictures, choices."""
        from vivant.benchmarks.milebench.prompts import build_prompt

        return build_prompt(sample, context, self.combine)

    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
        """Accuracy or ROUGE-L, by what the dataset's file says."""
        from vivant.benchmarks.milebench.score import score_records

        return score_records(items, settings.protocol)

    def published(self) -> Sequence[Published]:
        """The project's leaderboard."""
        from vivant.benchmarks.milebench.published import list_published

        return list_published()

    def layout(self, name: str, runs: Sequence[ScoredRun], protocol: Protocol) -> Any:
        """One of MileBench's tables."""
        from vivant.benchmarks.milebench.tables import build_table

        return build_table(name, runs, protocol, self)

    def read_predictions(self, file: Path, samples: Sequence[Sample], task: str) -> Imported | None:
        """The original's `pred.json`."""
        from vivant.benchmarks.milebench.predictions import read_predictions

        return read_predictions(file, samples, task)

    def export(self, run: ScoredRun, kind: str, out: Path) -> list[Path]:
        """The original's files, below `<out>/<model>/<dataset>/`."""
        from vivant.benchmarks.milebench.predictions import export

        if kind not in self.exports:
            return super().export(run, kind, out)
        return export(run, out)


def _adv(value: Any) -> bool:
    """From Python or, as text, from the command line."""
    if isinstance(value, bool):
        return value
    values = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if str(value).lower() not in values:
        raise UsageError(f"adv is true or false, not '{value}'")
    return values[str(value).lower()]


def _combine(value: Any) -> int:
    text = "" if isinstance(value, bool) else str(value)
    if not text.isdecimal():
        raise UsageError(f"combine is the number of grid pictures, 0 for none, not '{value}'")
    return int(text)
