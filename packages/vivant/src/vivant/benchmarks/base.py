"""What a benchmark is: `load`, `prompt` and `score`, implemented by each folder here and by plug-ins.

A benchmark turns files into samples, samples into prompts, and records into scores. It knows no model and no engine.
What only some benchmarks have (judged tasks, native formats, published results, own tables) is in `parts`.
A benchmark of multiple-choice questions needs `load` alone: see `multiple_choice`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from msgspec import Struct, field

from vivant.benchmarks.label_scheme import Scheme
from vivant.benchmarks.parts import DataFolder, JudgedTasks, NativeFormats, OwnTables, PublishedResults
from vivant.benchmarks.rubric import JudgeInfo
from vivant.benchmarks.sample_units import StoppedOrder
from vivant.benchmarks.task_options import TaskOption, parse_values
from vivant.benchmarks.wording import PromptText
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.randomness import nth_permutation, shuffled_indices
from vivant.core.records import Record, Score
from vivant.core.types import Message, Option, Sample

if TYPE_CHECKING:
    from vivant.benchmarks.editions import PublishedEdition

Protocol = Literal["paper", "strict"]
PROTOCOLS: tuple[Protocol, ...] = ("paper", "strict")
"""The first that a benchmark has is its default."""


WRITTEN = "written"
"""The metric of a task whose value says only whether there is a text; how good it is, people judge apart."""


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
    """Scored by a judge (see `Benchmark.judged`), so that without one there is no score."""
    similarity: bool = False
    """Scored by text similarity, which needs the sentence model: `vivant data get minilm`."""


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
    """order[i] is the index in `Sample.options` of the option shown at place i; empty for the sample's own order."""
    answer_form: str = "{}"
    """How a well-behaved reply names an option, for baselines: `{}` or `[[{}]]`."""
    candidates: tuple[str, ...] = ()
    """Texts that a guesser may answer with, where there are no options."""
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
    pool: Sequence[Sample] = ()
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
    rows: Sequence[tuple[Sample, Record | None, Score]]
    """Of a large run they are read from disk one by one, as they are asked for."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    judges: tuple[JudgeInfo, ...] = ()
    """Who judged, where the task is judged."""
    root: str = ""
    """The folder that media paths in samples are relative to."""
    path: str = ""
    """The run's directory."""
    identity: tuple[str, str] = ("", "")
    """Name and fingerprint that the directory states: they stay when it is renamed, or shown by another name."""
    stopped: StoppedOrder | None = None
    """Set where the run stopped early: intervals are then those that hold at the moment of stopping."""

    def __repr__(self) -> str:  # the rows may be many megabytes
        return f"<ScoredRun {self.run}: {self.task}, protocol {self.protocol}, {len(self.rows)} rows>"


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

    contents: tuple[str, ...] = ()
    """What is there, a line each."""
    problems: tuple[str, ...] = ()
    """What is missing or wrong, a line each, with file and item."""
    warnings: tuple[str, ...] = ()
    """What is sound, and still not what a reader would expect: a part of the set, say."""


class Benchmark(ABC):
    """Subclass, set the class attributes, implement `load`, `prompt` and `score`."""

    name: ClassVar[str]
    title: ClassVar[str]
    tasks: ClassVar[tuple[TaskInfo, ...]]
    summary: ClassVar[str] = ""
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Names for several tasks at once (`milebench/T-1`); the empty name is what the benchmark's name alone means."""
    styles: ClassVar[tuple[str, ...]] = ("zero-shot",)
    """Ways to phrase a question; the first is the default."""
    facets: ClassVar[tuple[str, ...]] = ()
    """Facets that every sample has; a user's own data may add others."""
    levels: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Facets whose values have an order of their own: `{"level": ("Few", "Medium", "Many")}`."""
    protocols: ClassVar[tuple[Protocol, ...]] = ("strict",)
    """`paper` is for a published way of scoring that must be reproduced to the digit."""
    settings: ClassVar[Mapping[str, Any]] = {}
    """Scoring settings and their defaults."""
    prompt_texts: ClassVar[Mapping[str, PromptText] | None] = None
    """Texts that `--prompts` may replace, by name. A name that is none of them is an error; None allows any."""
    task_options: ClassVar[tuple[TaskOption, ...]] = ()
    """What only this benchmark understands: which of several files to read, say (`--task-option NAME=VALUE`)."""
    scores_apart: ClassVar[bool] = False
    """Each score depends on its own record alone, so that a large run can be scored in portions. It speaks for the
    `score` of the class that sets it, not for one that overrides it."""
    unparsed_value: ClassVar[float | None] = 0.0
    """What an unparsed reply counts as in a mean; None leaves it out."""
    illustrated_style: ClassVar[str] = ""
    """The style in which a model describes pictures that an image model then draws (`--image-model`)."""
    answer_kinds: ClassVar[Mapping[str, Scheme]] = {}
    """How the benchmark's paper sorts the answers of a task by kind, for `vivant reasoning`."""

    edition: ClassVar[PublishedEdition | None] = None
    """How many samples the published data hold; None where `editions.yaml` says so, or nobody."""

    data: ClassVar[DataFolder] = DataFolder()
    judged: ClassVar[JudgedTasks] = JudgedTasks()
    native: ClassVar[NativeFormats] = NativeFormats()
    published: ClassVar[PublishedResults] = PublishedResults()
    tables: ClassVar[OwnTables] = OwnTables()

    def __init__(self, **options: Any) -> None:
        arguments = [option for option in self.task_options if not option.limit]
        values = parse_values(arguments, options, f"{self.name} option").variant
        self.options: Mapping[str, Any] = {**{o.key: o.default for o in arguments}, **values}

    @abstractmethod
    def load(self, root: Path, task: str) -> list[Sample]:
        """Read the samples of one task.

        Args:
            root: The folder (or file) with the data.
            task: The task's full name, `benchmark/task`. It is the `task` of every sample.

        Raises:
            DataError: Where the data are wrong. The message names the file and the item.
        """

    def iterate(self, root: Path, task: str) -> Iterator[Sample]:
        """The samples of `load` one by one. Override it where a file may hold more than memory does."""
        return iter(self.load(root, task))

    @abstractmethod
    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        """Phrase a sample in a style.

        Where options are shown in another order than `sample.options`, `Prompt.order` says which.
        """

    @abstractmethod
    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
        """Score records of one task: one score per item, in order. Only replies with status ok or truncated arrive."""

    def join_scores(
        self,
        rows: Sequence[tuple[Sample, Record | None, Score]],
        settings: ScoreSettings,  # noqa: ARG002
    ) -> list[Score]:
        """The scores of all rows, of replies that cannot be read too, where several samples count as one."""
        return [score for _, _, score in rows]

    def keep(self, sample: Sample, style: str) -> bool:  # noqa: ARG002
        """Whether a sample belongs to the test set in this style (few-shot leaves demonstrations out)."""
        return True

    def expand(self, selector: str) -> tuple[str, ...]:
        """The names of the tasks that `benchmark/selector` names: a task, one of `groups`, or all for an empty one."""
        names = tuple(task.name for task in self.tasks)
        if selector in self.groups:
            return self.groups[selector]
        if not selector:
            return names
        if selector not in names:
            raise unknown_name_error(f"{self.name} task", selector, [*names, *filter(None, self.groups)])
        return (selector,)

    def task(self, name: str) -> TaskInfo:
        """The task called `name`, with or without the benchmark's name before it."""
        short = name.rsplit("/", 1)[-1]
        for task in self.tasks:
            if task.name == short:
                return task
        raise UsageError(f"{self.name} has no task '{short}'; it has {', '.join(t.name for t in self.tasks)}")

    def explain_unscorable(self, task: str) -> str:
        """What scoring a task lacks on this machine, with the remedy; empty where it lacks nothing."""
        if not self.task(task).similarity:
            return ""
        from vivant.metrics.minilm import explain_missing

        return explain_missing()

    def chance(self, sample: Sample) -> float | None:
        """Expected value of a guess on this sample."""
        if sample.options:
            return 1.0 / len(sample.options)
        return self.task(sample.task).chance

    def chance_as_scored(self, sample: Sample, settings: Mapping[str, Any]) -> float | None:  # noqa: ARG002
        """The same for scores made with these settings, where a setting changes what a guess is worth."""
        return self.chance(sample)
