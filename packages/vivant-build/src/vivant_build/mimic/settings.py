"""All parameters of the pipeline, with their defaults: one section for each step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from vivant.benchmarks.mimic.names import OWN, RANKS, THINKING
from vivant.core.errors import unknown_name_error
from vivant.core.yaml_files import read_yaml

Share = Annotated[float, Meta(ge=0, le=1)]
Whole = Annotated[int, Meta(ge=0)]
Some = Annotated[int, Meta(ge=1)]
Weight = Annotated[float, Meta(ge=0)]

ANY = "*"
"""Stands for every platform that is not named."""


def _check_range(name: str, least: float, most: float) -> None:
    if least > most:
        raise ValueError(f"{name}: {least:g} is more than {most:g}; the smaller comes first")


class IngestSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is taken in, and what becomes of people's names."""

    platform: str = ""
    """For records that do not name theirs."""
    licence: str = ""
    """For records that state none."""
    mentions: Literal["hash", "remove", "keep"] = "remove"
    """@-mentions in texts: taken out, or replaced by @ and six letters that depend on the salt."""
    links: Literal["remove", "keep"] = "remove"
    """Web addresses, e-mail addresses and telephone numbers."""
    batch: Annotated[int, Meta(ge=1)] = 100_000
    """Comments held in memory by a process before they are written."""


class CleanSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out, and when two things are the same."""

    languages: tuple[str, ...] = ()
    """ISO 639 codes of videos to keep; empty for all."""
    shortest: Annotated[float, Meta(ge=0)] = 1.0
    """Seconds."""
    longest: Annotated[float, Meta(ge=0)] = 3600.0
    """Seconds."""
    title_characters: tuple[int, int] = (3, 300)
    comment_characters: tuple[int, int] = (2, 500)
    fewest_comments: Whole = 5
    """Comments by themselves (no replies) that a video must keep after cleaning."""
    near_duplicate: Share = 0.7
    """Estimated Jaccard similarity of runs of three words from which texts count as nearly the same."""
    longest_run: Annotated[int, Meta(ge=3)] = 8
    """A comment with a character more often in a row is spam."""
    pasted: tuple[int, int] = (60, 20)
    """A comment of so many characters whose words stand under so many videos is spam."""
    rules: str = ""
    """A YAML file of content rules; empty for the bundled ones."""
    need_files: bool = False
    """Whether videos without a file are left out."""
    hash_distance: Whole = 26
    """Bits of 256 by which the frame hashes of two copies of a video may differ, on average of five frames."""

    def __post_init__(self) -> None:
        _check_range("title_characters", *self.title_characters)
        _check_range("comment_characters", *self.comment_characters)
        _check_range("shortest and longest", self.shortest, self.longest)


class TopicSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Topics for videos that come without."""

    make: Literal["where missing", "always", "never"] = "where missing"
    """where missing: videos that have topics keep them. `all` makes topics where too few videos have any."""
    most: Some = 150
    """Topics of one language, at most."""
    fewest: Some = 6
    """Videos that a topic must have."""
    similarity: Share = 0.2
    """Cosine to its topic's centre below which a video gets no topic."""
    terms: Some = 3
    """Terms in a topic's name."""
    sample: Some = 20_000
    """Videos of one language that topics are learnt from; the others are assigned to them."""
    agreement: Share = 0.5
    """Share of a review's answers that must choose a topic's name, or it is dropped."""


class ScoreWeights(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each part of the interaction score counts."""

    views: Weight = 1.0
    likes: Weight = 1.0
    comments: Weight = 1.0
    like_rate: Weight = 0.5
    """Likes per view."""
    comment_rate: Weight = 0.5
    """Comments per view."""

    def __post_init__(self) -> None:
        if not any((self.views, self.likes, self.comments, self.like_rate, self.comment_rate)):
            raise ValueError("all weights are 0; give at least one part of the score a weight")


class SelectSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which videos become the benchmark."""

    target: Some = 4000
    top: dict[str, Share] = field(default_factory=lambda: {"tiktok": 0.02, "youtube": 0.05, ANY: 0.05})
    """Per platform, the share of its videos with the highest interaction score that may be chosen."""
    weights: ScoreWeights = field(default_factory=ScoreWeights)
    require: tuple[Literal["title", "description", "tags", "topics", "category"], ...] = ("title",)
    """What a video must have."""
    fewest_comments: Whole = 5
    """Comments by themselves (no replies) that a video must have."""
    fewest_in_language: Whole = 12
    """Languages with fewer candidates are left out: wrong options need others in the same language."""
    balance: Share = 0.5
    """Strata (category × language × length) get places in proportion to their size to this power."""
    per_uploader: Some = 3
    """Most videos of one uploader."""
    giant: Share = 0.05
    """Uploaders with more than this share of all videos are left to training."""
    uploaders: Literal["known", "any"] = "known"
    """known: only videos whose uploader is known, for only those can be told apart from training."""

    def __post_init__(self) -> None:
        if not self.top:
            raise ValueError('top names no platform; write for example top: {"*": 0.05}')


class SplitSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What goes into training."""

    unknown_uploaders: Literal["leave out", "train"] = "leave out"
    """What becomes of videos outside the benchmark whose uploader is not known."""
    creators: Literal["by platform", "across platforms"] = "by platform"
    """across platforms: uploaders that share a name, a handle or a link to a profile count as one."""


class TaskSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How questions are made."""

    tasks: tuple[str, ...] = THINKING
    least: Share = 0.5
    """Share of the videos that each task must be able to ask about, or the step fails."""
    ranks: tuple[Some, Some, Some, Some] = RANKS
    comments: Some = 200
    """Most-liked comments of a video that the benchmark carries along."""
    description_characters: Some = 400
    """Longer descriptions are cut at the end of a sentence or word."""
    tags: Some = 5
    """Most tags in an option."""
    common_tag: Share = 0.05
    """A tag on more than this share of the videos says nothing and is not asked for."""
    likeness: Share = 0.6
    """From this cosine (MiniLM) up, two texts are too near in meaning to stand side by side; in a language that
    MiniLM hardly knows, from that of the nearest tenth."""
    other_category: bool = True
    """Whether wrong options come from other categories."""
    candidates: Some = 3
    """Comments of a video that are weighed to find the one that fits it best."""

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ValueError("tasks is empty; name at least one task, or leave it out for all")
        for task in self.tasks:
            if task not in THINKING:
                raise ValueError(str(unknown_name_error("task", task, THINKING)))
            if self.tasks.count(task) > 1:
                raise ValueError(f"tasks names {task} more than once")
        if list(self.ranks) != sorted(set(self.ranks)):
            raise ValueError("ranks must rise: the first is the right answer, as in [1, 10, 50, 100]")
        if OWN in self.tasks and self.comments < self.ranks[-1]:
            raise ValueError(f"comments is {self.comments}, but the last of ranks is {self.ranks[-1]}")


class AuditSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What counts as giving the answer away."""

    practice: Some = 4000
    """Videos of the train split on whose questions the classifier is trained."""
    level: Annotated[float, Meta(gt=0, lt=1)] = 0.95
    """Of intervals shown; whether a task passes is corrected for the number of comparisons."""
    redraws: Some = 6
    """How often a task is drawn again at most."""
    rank_slack: Share = 0.5
    """How far from its rank a comment of the matched variant may be, as a share of the rank."""


class PoolSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """People's comments for the blind packs."""

    comments: Some = 5
    fewest: Whole = 1
    """Videos with fewer are left out of the pool."""
    longest: Some = 300
    """Characters."""


class TrainSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The training set."""

    videos: Some | None = None
    """At most so many, by seed; None for all."""
    references: Some = 5
    """Most-liked comments that an item of the task `comment` brings."""
    meaning: bool = False
    """Whether wrong options are also kept apart by MiniLM; about 250 texts a second on two cores."""
    shard_bytes: Some = 500_000_000


class PublishSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the edition says of itself."""

    name: str = "MIMIC-Bench edition"
    licence: str = "other"
    """Of the questions and annotations; videos keep their own."""
    contact: str = ""
    missed: Share = 0.01
    """Largest share of the planted personal data that may remain, and of published texts that hold any."""
    touched: Share = 0.005
    """Largest share of clean texts that may be changed."""


class PipelineSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A settings file. Whatever it does not name has its default; an unknown name is refused."""

    seed: int = 0
    memory: str = "2GB"
    """What DuckDB may hold in memory before it goes to disk; the whole process takes about 1 GB more."""
    workers: Some = 2
    """Threads of DuckDB, and processes where files are read or videos decoded."""
    ingest: IngestSettings = field(default_factory=IngestSettings)
    clean: CleanSettings = field(default_factory=CleanSettings)
    topics: TopicSettings = field(default_factory=TopicSettings)
    select: SelectSettings = field(default_factory=SelectSettings)
    split: SplitSettings = field(default_factory=SplitSettings)
    tasks: TaskSettings = field(default_factory=TaskSettings)
    audit: AuditSettings = field(default_factory=AuditSettings)
    pool: PoolSettings = field(default_factory=PoolSettings)
    train: TrainSettings = field(default_factory=TrainSettings)
    publish: PublishSettings = field(default_factory=PublishSettings)


def read_settings(path: Path | None) -> PipelineSettings:
    """The settings in a YAML file, or the defaults."""
    return PipelineSettings() if path is None else read_yaml(path, PipelineSettings, empty=PipelineSettings())
