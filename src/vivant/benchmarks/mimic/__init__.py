"""MIMIC-Bench: seven four-option tasks about user videos, and comments written to pass as human."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vivant.benchmarks.base import (
    Benchmark,
    DataReport,
    Prompt,
    PromptContext,
    Protocol,
    Published,
    ScoredRun,
    ScoreSettings,
    TaskInfo,
)
from vivant.benchmarks.mimic import data, names, prompts, published, score
from vivant.core.errors import unknown_name_error
from vivant.core.progress import ProgressCallback
from vivant.core.types import Record, Sample, Score


def _task(name: str, title: str) -> TaskInfo:
    return TaskInfo(name=name, title=title, chance=0.25)


class Mimic(Benchmark):
    """MIMIC-Bench in the format of docs/mimic.md."""

    name: ClassVar[str] = names.BENCHMARK
    title: ClassVar[str] = "MIMIC-Bench"
    summary: ClassVar[str] = (
        "user videos: which title, description, tag, topic, category or comment is theirs; and comments "
        "to be written as a viewer would"
    )
    tasks: ClassVar[tuple[TaskInfo, ...]] = (
        _task("title", "The maker's title"),
        _task("description", "The maker's description"),
        _task("tag", "The maker's tags"),
        _task("topic", "The topic"),
        _task("category", "The category"),
        _task("comment-match", "A comment on this video"),
        _task("comment-popularity", "The comment with most likes"),
        TaskInfo(name=names.MIMICKING, title="A comment of the model's own", metric="written"),
    )
    styles: ClassVar[tuple[str, ...]] = ("zero-shot", "cot")
    facets: ClassVar[tuple[str, ...]] = (
        "axis",
        "task",
        "platform",
        "category",
        "language",
        "length",
        "video",
    )
    settings: ClassVar[Mapping[str, Any]] = {"judged": ""}
    layouts: ClassVar[Mapping[str, str]] = {
        "tasks": "The seven tasks, over all items and as the mean of tasks, beside the paper",
        "axes": "The three axes, each over all of its items",
        "mimicking": "Comments: how they were judged, what their text shows, beside people's and the paper",
    }
    scatters: ClassVar[Mapping[str, tuple[str, str]]] = {"mimicking": ("Human %", "Realism")}
    data_help: ClassVar[str] = (
        "A folder with videos.jsonl, items.jsonl and the videos, as docs/mimic.md describes; "
        "`vivant mimic convert` makes one from files in another shape."
    )

    def expand(self, selector: str) -> tuple[str, ...]:
        """A task; an axis (`ciu`, `cam`, `uiu`); `thinking` for the seven; nothing for all eight."""
        if selector == published.OVERALL:
            return names.THINKING
        if selector in names.AXES:
            return names.AXES[selector]
        known = [task.name for task in self.tasks]
        if selector and selector not in known:
            raise unknown_name_error("mimic task", selector, [*known, published.OVERALL, *names.AXES])
        return super().expand(selector)

    def available(self, root: Path, tasks: Sequence[str]) -> tuple[str, ...]:
        """Those that items ask; comments can be asked for without items."""
        there = data.tasks_in(root)
        return tuple(task for task in tasks if task in there)

    def load(self, root: Path, task: str) -> list[Sample]:
        """The samples of one task."""
        return data.load(root, self.task(task).name)

    def check(self, root: Path, progress: ProgressCallback | None = None) -> DataReport:  # noqa: ARG002
        """Lines, references, keys, leaks between options, files."""
        from vivant.benchmarks.mimic.check import check

        return check(root)

    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        """The video, the question, the options in the sample's own order."""
        return prompts.phrase(sample, context)

    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
        """The option that a reply names; for comments, whether there is one."""
        return score.score(items, settings)

    def published(self) -> Sequence[Published]:
        """Both tables of the paper."""
        return tuple(published.rows())

    def layout(self, name: str, runs: Sequence[ScoredRun], protocol: Protocol) -> Any:  # noqa: ARG002
        """One of the tables by its short name."""
        from vivant.benchmarks.mimic import tables

        if name == "tasks":
            return tables.tasks_table(runs, self)
        if name == "axes":
            return tables.axes_table(runs, self)
        if name == "mimicking":
            return tables.mimicking_table(runs)
        raise unknown_name_error("table of mimic", name, self.layouts)
