"""MileBench as a benchmark: which tasks there are, and where each stage is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vivant.benchmarks import base, parts
from vivant.benchmarks.milebench.datasets import (
    DATASETS,
    GROUP,
    LEVELS,
    REALMS,
    list_group_datasets,
    list_realm_groups,
)
from vivant.benchmarks.milebench.prompts import PROMPT_TEXTS
from vivant.benchmarks.task_options import TaskOption
from vivant.core.records import Record, Score
from vivant.core.types import Sample


class MileBenchData(parts.CheckedFolder):
    """The release as it is unpacked: a folder per dataset."""

    checker = "vivant.benchmarks.milebench.check"

    def available(self, benchmark: base.Benchmark, root: Path, tasks: Sequence[str]) -> tuple[str, ...]:
        """Those datasets whose annotation file is there."""
        from vivant.benchmarks.milebench.data import list_present

        names = set(list_present(root, adv=benchmark.options["adv"]))
        return tuple(task for task in tasks if task.rpartition("/")[2] in names)


class MileBenchFormats(parts.NativeFormats):
    """The original's `pred.json`, below `<out>/<model>/<dataset>/`."""

    exports = ("milebench",)

    def read_predictions(self, file: Path, samples: Sequence[Sample], task: str) -> base.Imported | None:
        from vivant.benchmarks.milebench.predictions import read_predictions

        return read_predictions(file, samples, task)

    def find_predictions(self, benchmark: base.Benchmark, folder: Path) -> dict[str, dict[str, Path]]:  # noqa: ARG002
        """`<model>/<dataset>/pred.json`, or `<dataset>/pred.json` of one model."""
        from vivant.benchmarks.milebench.predictions import find_predictions

        return find_predictions(folder)

    def export(self, parts: Sequence[base.ScoredRun], kind: str, out: Path) -> list[Path]:
        if kind not in self.exports:
            return super().export(parts, kind, out)
        from vivant.benchmarks.milebench.predictions import export

        return [path for part in parts for path in export(part, out)]


class MileBenchTables(parts.OwnTables):
    """The leaderboard's table, and what the paper looks at."""

    module = "vivant.benchmarks.milebench.tables"
    layouts: ClassVar[Mapping[str, str]] = {
        "main": "groups, realistic and diagnostic means, beside the published leaderboard",
        "datasets": "each dataset",
        "levels": "few, medium, many images",
        "needles": "needle maps: length of the haystack against depth of the needle",
        "position": "by the place of the evidence among the pictures (lost in the middle?)",
        "protocols": "paper and strict scoring side by side",
    }
    figures = (
        base.Figure(name="groups", title="Groups of datasets", facets=("group",)),
        base.Figure(name="levels", title="Number of pictures", facets=("level",)),
        base.Figure(
            name="text-needles",
            title="Text needles: depth against length",
            facets=("depth", "length"),
            tasks=("TextNeedleInAHaystack",),
        ),
        base.Figure(
            name="image-needles",
            title="Image needles: depth against pictures",
            facets=("depth", "length"),
            tasks=("ImageNeedleInAHaystack",),
        ),
    )


class MileBench(base.Benchmark):
    """`MileBench(adv=True)` reads the adversarial files; `combine=n` puts pictures into n grids at most."""

    name = "milebench"
    title = "MileBench"
    summary = "29 datasets with up to 109 images a prompt; realistic and diagnostic halves"
    tasks = tuple(
        base.TaskInfo(
            name=dataset.name,
            title=f"{dataset.group} {GROUP[dataset.group].title}: {dataset.name}",
            metric=dataset.metric,
        )
        for dataset in DATASETS
    )
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **{group: list_group_datasets(group) for group in GROUP},
        **{
            realm: tuple(name for group in list_realm_groups(realm) for name in list_group_datasets(group))
            for realm in REALMS
        },
    }
    facets = ("dataset", "group", "realm", "level", "n_images", "question_type")
    levels: ClassVar[Mapping[str, tuple[str, ...]]] = {"level": LEVELS}
    protocols = ("paper", "strict")
    scores_apart = True
    prompt_texts = PROMPT_TEXTS
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
    published = parts.PublishedResults("vivant.benchmarks.milebench.published")
    tables = MileBenchTables()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.adv: bool = self.options["adv"]
        self.combine: int = self.options["combine"]

    def load(self, root: Path, task: str) -> list[Sample]:
        """One dataset, samples with few pictures first."""
        from vivant.benchmarks.milebench.data import load

        return load(root, self.task(task).name, adv=self.adv, combine=self.combine)

    def prompt(self, sample: Sample, context: base.PromptContext) -> base.Prompt:
        """Instruction, context with its pictures, choices."""
        from vivant.benchmarks.milebench.prompts import build_prompt

        return build_prompt(sample, context, self.combine)

    def score(self, items: Sequence[tuple[Sample, Record]], settings: base.ScoreSettings) -> list[Score]:
        """Accuracy or ROUGE-L, by what the dataset's file says."""
        from vivant.benchmarks.milebench.score import score_records

        return score_records(items, settings.protocol)
