"""MileBench as a benchmark: which tasks there are, and where each stage is."""

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
from vivant.benchmarks.milebench.datasets import DATASETS, GROUP, REALMS, of_group, of_realm
from vivant.benchmarks.parts import DataFolder, NativeFormats, OwnTables, PublishedResults
from vivant.benchmarks.task_options import TaskOption
from vivant.core.progress import ProgressCallback
from vivant.core.table import Table
from vivant.core.types import Record, Sample, Score


class MileBenchData(DataFolder):
    """The release as it is unpacked: a folder per dataset."""

    def available(self, benchmark: Benchmark, root: Path, tasks: Sequence[str]) -> tuple[str, ...]:
        """Those datasets whose annotation file is there."""
        from vivant.benchmarks.milebench.data import present

        names = set(present(root, adv=benchmark.options["adv"]))
        return tuple(task for task in tasks if task.rpartition("/")[2] in names)

    def check(
        self,
        benchmark: Benchmark,  # noqa: ARG002
        root: Path,
        progress: ProgressCallback | None = None,  # noqa: ARG002
    ) -> DataReport:
        """Every file and every picture, whatever options the benchmark has."""
        from vivant.benchmarks.milebench.check import check

        return check(root)


class MileBenchFormats(NativeFormats):
    """The original's `pred.json`, below `<out>/<model>/<dataset>/`."""

    exports = ("milebench",)

    def read_predictions(self, file: Path, samples: Sequence[Sample], task: str) -> Imported | None:
        from vivant.benchmarks.milebench.predictions import read_predictions

        return read_predictions(file, samples, task)

    def export(self, parts: Sequence[ScoredRun], kind: str, out: Path) -> list[Path]:
        if kind not in self.exports:
            return super().export(parts, kind, out)
        from vivant.benchmarks.milebench.predictions import export

        return [path for part in parts for path in export(part, out)]


class MileBenchPublished(PublishedResults):
    """The project's leaderboard."""

    def rows(self) -> Sequence[Published]:
        from vivant.benchmarks.milebench.published import published

        return published()


class MileBenchTables(OwnTables):
    """The leaderboard's table, and what the paper looks at."""

    layouts: ClassVar[Mapping[str, str]] = {
        "main": "groups, realistic and diagnostic means, beside the published leaderboard",
        "datasets": "each dataset",
        "levels": "few, medium, many images",
        "needles": "needle maps: length of the haystack against depth of the needle",
        "position": "by the place of the evidence among the pictures (lost in the middle?)",
        "protocols": "paper and strict scoring side by side",
    }
    figures = (
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

    def build(self, benchmark: Benchmark, name: str, runs: Sequence[ScoredRun], protocol: Protocol) -> Table:
        from vivant.benchmarks.milebench import tables
        from vivant.benchmarks.milebench.compare import protocols

        if name == "protocols":
            return protocols(benchmark, runs)
        if name not in self.layouts:
            return super().build(benchmark, name, runs, protocol)
        table: Table = getattr(tables, name)(benchmark, runs, protocol)
        return table


class MileBench(Benchmark):
    """`MileBench(adv=True)` reads the adversarial files; `combine=n` puts pictures into n grids at most."""

    name = "milebench"
    title = "MileBench"
    summary = "29 datasets with up to 109 images a prompt; realistic and diagnostic halves"
    tasks = tuple(
        TaskInfo(
            name=dataset.name,
            title=f"{dataset.group} {GROUP[dataset.group].title}: {dataset.name}",
            metric=dataset.metric,
        )
        for dataset in DATASETS
    )
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **{group: of_group(group) for group in GROUP},
        **{realm: tuple(name for group in of_realm(realm) for name in of_group(group)) for realm in REALMS},
    }
    facets = ("dataset", "group", "realm", "level", "n_images", "question_type")
    protocols = ("paper", "strict")
    task_options = (
        TaskOption(name="adv", kind="bool", default=False, help="Read the adversarial files."),
        TaskOption(name="combine", kind="int", default=0, help="Show the pictures as N numbered grids."),
        TaskOption(
            name="max-context-len",
            kind="int",
            minimum=1,
            limit="max_context_len",
            help="Tokens of the model's window. Longer prompts are cut to it.",
        ),
        TaskOption(
            name="tokens-per-image",
            kind="int",
            limit="n_tokens_per_image",
            help="Tokens that a picture takes in that window.",
        ),
    )
    data = MileBenchData(
        help="It reads the release as it is unpacked: <dataset>/<dataset>.json and <dataset>/images/, from "
        "huggingface.co/datasets/FreedomIntelligence/MileBench."
    )
    native = MileBenchFormats()
    published = MileBenchPublished()
    tables = MileBenchTables()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.adv: bool = self.options["adv"]
        self.combine: int = self.options["combine"]

    def load(self, root: Path, task: str) -> list[Sample]:
        """One dataset, samples with few pictures first."""
        from vivant.benchmarks.milebench.data import load

        return load(root, self.task(task).name, adv=self.adv, combine=self.combine)

    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        """Instruction, context with its pictures, choices."""
        from vivant.benchmarks.milebench.prompts import phrase

        return phrase(sample, context, self.combine)

    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
        """Accuracy or ROUGE-L, by what the dataset's file says."""
        from vivant.benchmarks.milebench.score import score_records

        return score_records(items, settings.protocol)
