"""A description as a benchmark: every command that knows benchmarks works with it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vivant.benchmarks.base import Benchmark, Prompt, PromptContext, Published, ScoreSettings, TaskInfo
from vivant.benchmarks.declarative import prompts
from vivant.benchmarks.declarative.answer_scorers import name_metric
from vivant.benchmarks.declarative.data_folder import DescribedFolder
from vivant.benchmarks.declarative.judged import DescribedJudge
from vivant.benchmarks.declarative.loader import Loader
from vivant.benchmarks.declarative.scorers import (
    CIRCULAR,
    RULE,
    choose_rule,
    join_copies,
    join_unreadable,
    list_settings,
    score_by_rule,
    score_plain,
)
from vivant.benchmarks.declarative.spec import ALL, BenchmarkSpec, SpecFile
from vivant.benchmarks.editions import PublishedEdition
from vivant.benchmarks.jsonl import AcceptedAnswers
from vivant.benchmarks.parts import OwnTables, PublishedResults
from vivant.benchmarks.task_options import TaskOption
from vivant.core.records import Record, Score
from vivant.core.types import Sample

logger = logging.getLogger("vivant")


class Declarative(Benchmark):
    """What all described benchmarks share. `make_class` makes a class for each description."""

    file: ClassVar[SpecFile]
    scores_apart: ClassVar[bool] = True
    task_options: ClassVar[tuple[TaskOption, ...]] = (
        TaskOption(
            name="missing",
            default="refuse",
            choices=("refuse", "skip", "keep"),
            help="questions without their media file: refuse the data, skip them, or keep them (--control blind)",
        ),
    )

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._accepted = AcceptedAnswers()

    def spec(self, task: str) -> BenchmarkSpec:
        """What the description says about a task."""
        return self.file.tasks[task.rpartition("/")[2]]

    def load(self, root: Path, task: str) -> list[Sample]:
        """All rows of the task's files."""
        return list(self.iterate(root, task))

    def iterate(self, root: Path, task: str) -> Iterator[Sample]:
        """Row by row: a file may hold more than memory does."""
        loader = Loader(self.file, root, task, self.options["missing"])
        yield from loader.iterate()
        if loader.skipped:
            logger.warning("%s: %d questions are left out; their media are missing", task, loader.skipped)

    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        """Media, question, options, instruction, as the style says."""
        return prompts.make_prompt(self.spec(sample.task), sample, context, self._accepted)

    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
        """By a harness's rule under the protocol `paper`; options read without guessing under `strict`."""
        if not items:
            return []
        spec = self.spec(items[0][0].task)
        rule = choose_rule(spec, settings.values[RULE]) if settings.protocol == "paper" else None
        if rule is None:
            return score_plain(spec, items, settings.values)
        return [score_by_rule(rule, sample, record) for sample, record in items]

    def chance(self, sample: Sample) -> float | None:
        """The description's figure, else one divided by the number of options."""
        stated = self.spec(sample.task).chance
        return stated if stated is not None else super().chance(sample)


class CircularDeclarative(Declarative):
    """A described benchmark whose questions are asked in several rotations that count as one."""

    scores_apart: ClassVar[bool] = False

    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
        """The same with copies joined, unless `--set circular=false`."""
        scores = super().score(items, settings)
        return join_copies(items, scores) if settings.values[CIRCULAR] else scores

    def join_scores(
        self, rows: Sequence[tuple[Sample, Record | None, Score]], settings: ScoreSettings
    ) -> list[Score]:
        """Copies that could not be read count for their question."""
        return join_unreadable(rows) if settings.values[CIRCULAR] else super().join_scores(rows, settings)

    def chance(self, sample: Sample) -> float | None:
        """That all copies are guessed right: there are as many as options."""
        single = super().chance(sample)
        return single ** len(sample.options) if single is not None and sample.options else single

    def chance_as_scored(self, sample: Sample, settings: Mapping[str, Any]) -> float | None:
        """With `--set circular=false`, that one copy is guessed right."""
        return self.chance(sample) if settings.get(CIRCULAR, True) else super().chance(sample)


class DescribedResults(PublishedResults):
    """The figures that the description states."""

    def __init__(self, figures: Sequence[Published]) -> None:
        super().__init__()
        self._figures = figures

    def rows(self) -> Sequence[Published]:
        return tuple(figure for figure in self._figures if self.shows(figure.model, figure.style))


class OfficialTable(OwnTables):
    """The harness's own average, where groups weigh the same."""

    module = "vivant.benchmarks.declarative.tables"
    layouts: ClassVar[Mapping[str, str]] = {"official": "The harness's groups and its average"}


def make_class(file: SpecFile) -> type[Declarative]:
    """The class of a description."""
    whole = file.whole
    specs = tuple(file.tasks.values())
    styles = {name: style for spec in specs for name, style in spec.style_specs.items()}
    attributes: dict[str, Any] = {
        "file": file,
        "name": whole.name,
        "title": whole.title or whole.name,
        "summary": whole.summary,
        "tasks": tuple(_describe_task(whole, name, spec) for name, spec in file.tasks.items()),
        "groups": {"": whole.default} if whole.default else {},
        "styles": tuple(styles),
        "facets": tuple(dict.fromkeys(facet for spec in specs for facet in spec.facet_columns)),
        "protocols": ("paper", "strict") if any(spec.rules for spec in specs) else ("strict",),
        "settings": list_settings(specs),
        "prompt_texts": {f"prompt.{style}": prompts.TEXT for style in styles},
        "data": DescribedFolder(file),
        "judged": DescribedJudge(file),
        "published": DescribedResults(_list_published(file)),
        "edition": _make_edition(file),
        "__doc__": whole.summary,
        "__module__": __name__,
    }
    if any(spec.macro for spec in specs):
        attributes["tables"] = OfficialTable()
    base = CircularDeclarative if any(spec.circular for spec in specs) else Declarative
    return type("Described", (base,), attributes)


def _describe_task(whole: BenchmarkSpec, name: str, spec: BenchmarkSpec) -> TaskInfo:
    scorer = spec.scoring.name
    title = spec.title if spec.title != whole.title else name.replace("_", " ").capitalize()
    return TaskInfo(
        name=name,
        title=title if len(whole.tasks) else whole.title or whole.name,
        metric=name_metric(scorer),
        judged=scorer == "judge",
        similarity=scorer == "similarity",
        chance=spec.chance,
    )


def _list_published(file: SpecFile) -> list[Published]:
    return [
        Published(
            model=model,
            task=f"{file.whole.name}/{row.task or ALL}",
            style=row.style,
            group=dict(row.group),
            value=value,
            metric=name_metric(file.tasks.get(row.task or ALL, file.whole).scoring.name),
            source=row.source,
        )
        for row in file.whole.published
        for model, value in row.values.items()
    ]


def _make_edition(file: SpecFile) -> PublishedEdition | None:
    size = file.whole.size
    if not size:
        return None
    tasks = size if isinstance(size, Mapping) else dict.fromkeys(file.tasks, size)
    return PublishedEdition(title="published edition", tasks=tasks)
