"""What a benchmark is: the protocol that each folder here fulfils, and that third parties fulfil in theirs.

A benchmark turns files into samples, samples into prompts, records into scores, and scores into its own
tables. It knows no model and no engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from msgspec import Struct, field

from vivant.benchmarks.label_scheme import Scheme
from vivant.benchmarks.rubric import JudgeAgreement, JudgeContext, JudgeInfo, Question, Rubric
from vivant.benchmarks.verdict import Verdict
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.progress import ProgressCallback
from vivant.core.randomness import nth_permutation, shuffled_indices
from vivant.core.types import Message, Option, Record, Sample, Score

Protocol = Literal["paper", "strict"]


class TaskInfo(Struct, frozen=True, kw_only=True):
    """One task of a benchmark."""

    name: str
    """Without the benchmark: `mcq`."""
    title: str
    metric: str = "accuracy"
    """What `Score.value` is: accuracy, rouge-l, judge …"""
    scale: float = 100.0
    """Tables print the mean of values times this."""
    chance: float | None = None
    """Expected value of a guess, on the scale of `Score.value`; None where it depends on the sample."""
    judged: bool = False
    """Scored by a judge (see `Benchmark.ask_judge`), so that without one there is no score."""


class Figure(Struct, frozen=True, kw_only=True):
    """A figure that the benchmark's readers expect: scores by one facet as bars, by two as a map."""

    name: str
    title: str
    facets: tuple[str, ...]
    tasks: tuple[str, ...] = ()
    """Only these tasks; empty for all of them together."""


class Prompt(Struct, frozen=True, kw_only=True):
    """A sample, phrased."""

    messages: tuple[Message, ...]
    options: tuple[Option, ...] = ()
    """As shown, in the order shown."""
    order: tuple[int, ...] = ()
    answer_form: str = "{}"
    candidates: tuple[str, ...] = ()
    max_tokens: int | None = None
    """Enough for this style; the user's own setting wins."""
    lost_images: int = 0
    """Pictures that had to be left out to fit the model's window."""
    notes: tuple[str, ...] = ()
    """What was done to the sample to phrase it, for the record: "cut to 4096 tokens (4 characters each)"."""


class PromptContext(Struct, frozen=True, kw_only=True):
    """What phrasing a sample may draw on besides the sample."""

    style: str
    seed: int = 0
    pool: tuple[Sample, ...] = ()
    """All samples of the task, unfiltered: demonstrations and candidates come from here."""
    wording: Mapping[str, str] = field(default_factory=dict)
    """A user's own prompt texts by name (`--prompts FILE`), over the bundled ones."""
    root: Path = Path()
    limits: Mapping[str, Any] = field(default_factory=dict)
    """The window: `max_context_len`, `n_tokens_per_image`, `tokenizer` (text → its tokens, as texts)."""
    permutation: int = 0
    """Which arrangement of a question's options to show (`--permute`); 0 is the usual one."""

    def order(self, sample: Sample, *, shuffled: bool = True) -> tuple[int, ...]:
        """The order to show a sample's options in: order[i] is the place in `sample.options` of the i-th.

        Drawn by the sample's own seed, or that of the data; `--permute` asks for others beside it.
        """
        length = len(sample.options)
        usual = (
            shuffled_indices(length, self.seed, sample.task, sample.id) if shuffled else tuple(range(length))
        )
        return nth_permutation(usual, self.permutation)


class ScoreSettings(Struct, frozen=True, kw_only=True):
    """How to score: part of every score file, so that two numbers are never mixed up."""

    protocol: Protocol = "paper"
    style: str = ""
    """The style that the replies were asked for."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Benchmark-specific settings (`--set threshold=0.75`)."""


class ScoredRun(Struct, frozen=True, kw_only=True):
    """One run's samples of one task with their scores, as tables read them."""

    run: str
    model: str
    style: str
    task: str
    protocol: Protocol
    rows: tuple[tuple[Sample, Record | None, Score], ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    judges: tuple[JudgeInfo, ...] = ()
    """Who judged, where the task is judged."""
    root: str = ""
    """The folder that media paths in samples are relative to."""
    path: str = ""
    """The run's directory."""


class Published(Struct, frozen=True, kw_only=True):
    """A figure from a paper or a leaderboard, shown beside our own and marked as published."""

    model: str
    task: str
    style: str
    group: Mapping[str, str]
    value: float
    """In the unit that the source prints (percent for accuracies)."""
    metric: str = "accuracy"
    source: str = ""


class Imported(Struct, frozen=True, kw_only=True):
    """Somebody else's predictions, turned into records."""

    task: str
    records: tuple[Record, ...]
    samples: tuple[Sample, ...]
    """The samples answered, with the options and key that the file itself brings, where it brings them."""
    model: str = ""
    style: str = ""
    notes: tuple[str, ...] = ()
    """What was dropped or repaired, and how often."""


class DataReport(Struct, frozen=True, kw_only=True):
    """What `vivant data check` found."""

    found: tuple[str, ...] = ()
    """What is there, a line each."""
    problems: tuple[str, ...] = ()
    """What is missing or wrong, a line each, with file and item."""


class Benchmark(ABC):
    """Subclass, set the class variables, implement the four stages."""

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str] = ""
    tasks: ClassVar[tuple[TaskInfo, ...]]
    styles: ClassVar[tuple[str, ...]] = ("zero-shot",)
    facets: ClassVar[tuple[str, ...]] = ()
    """Facets that every sample has; a user's own data may add others."""
    protocols: ClassVar[tuple[Protocol, ...]] = ("paper", "strict")
    settings: ClassVar[Mapping[str, Any]] = {}
    """Scoring settings and their defaults."""
    layouts: ClassVar[Mapping[str, str]] = {}
    """The benchmark's own tables by short name (`1`, `failures`), with a title each."""
    figures: ClassVar[tuple[Figure, ...]] = ()
    scatters: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Layouts that are also drawn with a point per line: the columns across and up."""
    exports: ClassVar[tuple[str, ...]] = ()
    """Native formats that `export` writes."""
    data_help: ClassVar[str] = ""
    """Which files it reads and where they come from: shown where they are not found."""
    illustrated_style: ClassVar[str] = ""
    """The style in which a model describes pictures that an image model then draws (`--image-model`)."""
    data_options: ClassVar[Mapping[str, Any]] = {}
    """What an instance may be made with, and the defaults: which of several files to read, say."""

    def __init__(self, **options: Any) -> None:
        for name in options:
            if name not in self.data_options:
                raise unknown_name_error(f"{self.name} option", name, self.data_options)
        self.options: Mapping[str, Any] = {**self.data_options, **options}

    @abstractmethod
    def load(self, root: Path, task: str) -> list[Sample]:
        """Read the samples of one task from a folder (or file). Raises DataError naming file and item."""

    @abstractmethod
    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        """Phrase a sample in a style."""

    @abstractmethod
    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
        """Score records of one task, in order. Only replies with status ok or truncated arrive here."""

    def expand(self, selector: str) -> tuple[str, ...]:
        """The names of the tasks that stand behind `benchmark/selector`: all of them for an empty one."""
        if not selector:
            return tuple(task.name for task in self.tasks)
        if selector not in {task.name for task in self.tasks}:
            raise unknown_name_error(f"{self.name} task", selector, [task.name for task in self.tasks])
        return (selector,)

    def media_root(self, root: Path) -> Path:
        """The folder that media paths in samples are relative to."""
        return root if root.is_dir() else root.parent

    def available(self, root: Path, tasks: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Those of `tasks` whose data are in `root`, for benchmarks that people hold in part."""
        return tuple(tasks)

    def check(self, root: Path, progress: ProgressCallback | None = None) -> DataReport | None:  # noqa: ARG002
        """Read everything in `root` and say what is there and what is wrong; None where there is no check."""
        return None

    def frame_curves(self) -> Mapping[str, Sequence[tuple[float, float]]]:
        """Published scores against the number of frames, by model, for sweeps."""
        return {}

    def keep(self, sample: Sample, style: str) -> bool:  # noqa: ARG002
        """Whether a sample belongs to the test set in this style (few-shot leaves demonstrations out)."""
        return True

    def chance(self, sample: Sample) -> float | None:
        """Expected value of a guess on this sample."""
        if sample.options:
            return 1.0 / len(sample.options)
        return self.task(sample.task).chance

    def unparsed_value(self, protocol: Protocol) -> float | None:  # noqa: ARG002
        """What an unparsed reply counts as in a mean; None leaves it out."""
        return 0.0

    def human(self, root: Path, task: str) -> Imported | None:  # noqa: ARG002
        """People's answers, where the data hold them."""
        return None

    def published(self) -> Sequence[Published]:
        """Rows from the paper."""
        return ()

    def layout(self, name: str, runs: Sequence[ScoredRun], protocol: Protocol) -> Any:  # noqa: ARG002
        """One of the benchmark's own tables, as a `vivant.core.table.Table`."""
        raise UsageError(f"{self.name} has no table '{name}'")

    def read_predictions(self, file: Path, samples: Sequence[Sample], task: str) -> Imported | None:  # noqa: ARG002
        """Read a prediction file in one of the benchmark's native formats; None where it is not one."""
        return None

    def export(self, run: ScoredRun, kind: str, out: Path) -> list[Path]:  # noqa: ARG002
        """Write a run in a native format and return the files written."""
        raise UsageError(f"{self.name} has no export format '{kind}'")

    def export_run(self, parts: Sequence[ScoredRun], kind: str, out: Path) -> list[Path]:
        """All tasks of a run in a native format: task by task, unless they share a file."""
        return [path for part in parts for path in self.export(part, kind, out)]

    def read_answers(self, root: Path) -> dict[str, list[Imported]]:  # noqa: ARG002
        """Prepared answers in a native format (`--answers`), by model: one part per task."""
        raise UsageError(f"{self.name} reads no prepared answers; see `vivant import`")

    # ── for tasks with `judged` ──

    def answer_kinds(self, task: str) -> Scheme | None:  # noqa: ARG002
        """How the benchmark's paper sorts answers of a task by kind, for `vivant reasoning`."""
        return None

    def rubrics(self, protocol: Protocol) -> tuple[Rubric, ...]:  # noqa: ARG002
        """All rubrics that `ask_judge` may use: they are part of the judge's fingerprint."""
        return ()

    def ask_judge(self, sample: Sample, record: Record, context: JudgeContext) -> Question | Score:  # noqa: ARG002
        """What a judge is asked about one answer; a Score where there is nothing to ask."""
        raise UsageError(f"{self.name} is not scored by judges")

    def read_judge(self, text: str, rubric: Rubric, protocol: Protocol) -> Verdict:  # noqa: ARG002
        """What a judge's reply says; the rubric's contract decides unless a protocol reads otherwise."""
        return rubric.contract.read(text)

    def judge_agreement(self) -> Sequence[JudgeAgreement]:
        """Published figures of judges against people."""
        return ()

    def judged_value(self, verdict: Verdict, rubric: Rubric) -> float:
        """A verdict as `Score.value`: its first figure, from 0 at the bottom of its scale to 1 at the top."""
        first = rubric.contract.fields[0]
        said = verdict.values[first.name]
        if isinstance(said, str):
            return first.choices.index(said) / max(1, len(first.choices) - 1)
        return (said - first.low) / (first.high - first.low)

    # ── shared, not to be overridden ──

    def task(self, name: str) -> TaskInfo:
        """The task called `name`, with or without the benchmark's name before it."""
        short = name.rsplit("/", 1)[-1]
        for task in self.tasks:
            if task.name == short:
                return task
        raise UsageError(f"{self.name} has no task '{short}'; it has {', '.join(t.name for t in self.tasks)}")


Factory = Callable[[], Benchmark]
