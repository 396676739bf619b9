"""MIMIC-Bench as a benchmark: which tasks there are, and where each stage is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vivant.benchmarks import base, parts
from vivant.benchmarks.mimic import data, names, prompts, published, score
from vivant.core.records import Record, Score
from vivant.core.types import Sample


class MimicData(parts.CheckedFolder):
    """videos.jsonl, items.jsonl and the videos."""

    checker = "vivant.benchmarks.mimic.check"

    def available(self, benchmark: base.Benchmark, root: Path, tasks: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Those that items ask; comments can be asked for without items."""
        present = data.list_tasks(root)
        return tuple(task for task in tasks if task in present)


class MimicTables(parts.OwnTables):
    """Tasks, axes and comments, beside the paper."""

    module = "vivant.benchmarks.mimic.tables"
    layouts: ClassVar[Mapping[str, str]] = {
        "tasks": "The seven tasks, over all items and as the mean of tasks, beside the paper",
        "axes": "The three axes, each over all of its items",
        "mimicking": "Comments: how they were judged, what their text shows, beside people's and the paper",
    }
    scatters: ClassVar[Mapping[str, tuple[str, str]]] = {"mimicking": ("Human %", "Realism")}


class Mimic(base.Benchmark):
    """MIMIC-Bench in the format of docs/mimic.md."""

    name = names.BENCHMARK
    title = "MIMIC-Bench"
    summary = (
        "user videos: which title, description, tag, topic, category or comment is theirs; and comments "
        "to be written as a viewer would"
    )
    tasks = (
        base.TaskInfo(name="title", title="The maker's title", chance=0.25),
        base.TaskInfo(name="description", title="The maker's description", chance=0.25),
        base.TaskInfo(name="tag", title="The maker's tags", chance=0.25),
        base.TaskInfo(name="topic", title="The topic", chance=0.25),
        base.TaskInfo(name="category", title="The category", chance=0.25),
        base.TaskInfo(name="comment-match", title="A comment on this video", chance=0.25),
        base.TaskInfo(name="comment-popularity", title="The comment with most likes", chance=0.25),
        base.TaskInfo(name=names.MIMICKING, title="A comment of the model's own", metric=base.WRITTEN),
    )
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {published.OVERALL: names.THINKING, **names.AXES}
    styles = ("zero-shot", "cot")
    prompt_texts = prompts.PROMPT_TEXTS
    facets = ("axis", "task", "platform", "category", "language", "length", "video")
    levels: ClassVar[Mapping[str, tuple[str, ...]]] = {"length": names.LENGTHS}
    protocols = ("paper", "strict")
    scores_apart = True
    settings: ClassVar[Mapping[str, Any]] = {"judged": ""}
    data = MimicData(
        help="A folder with videos.jsonl, items.jsonl and the videos, as docs/mimic.md describes; "
        "`vivant mimic convert` makes one from files in another shape."
    )
    published = parts.PublishedResults("vivant.benchmarks.mimic.published")
    tables = MimicTables()

    def load(self, root: Path, task: str) -> list[Sample]:
        """The samples of one task."""
        return data.load(root, self.task(task).name)

    def prompt(self, sample: Sample, context: base.PromptContext) -> base.Prompt:
        """The video, the question, the options in the sample's own order."""
        return prompts.build_prompt(sample, context)

    def score(self, items: Sequence[tuple[Sample, Record]], settings: base.ScoreSettings) -> list[Score]:
        """The option that a reply names; for comments, whether there is one."""
        return score.score_records(items, settings)
