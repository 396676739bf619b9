"""Parameters of the steps after clean: one struct a step."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from vivant.benchmarks.mimic.names import RANKS, THINKING

Share = Annotated[float, Meta(ge=0, le=1)]
Whole = Annotated[int, Meta(ge=0)]
Some = Annotated[int, Meta(ge=1)]
Weight = Annotated[float, Meta(ge=0)]

ANY = "*"
"""Stands for every platform that is not named."""


class Weights(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each part of the interaction score counts."""

    views: Weight = 1.0
    likes: Weight = 1.0
    comments: Weight = 1.0
    like_rate: Weight = 0.5
    """Likes per view."""
    comment_rate: Weight = 0.5
    """Comments per view."""


class Select(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which videos become the benchmark."""

    target: Some = 4000
    top: dict[str, Share] = field(default_factory=lambda: {"tiktok": 0.02, "youtube": 0.05, ANY: 0.05})
    """Per platform, the share of its videos with the highest interaction score that may be chosen."""
    weights: Weights = field(default_factory=Weights)
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


class Split(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What goes into training."""

    unknown_uploaders: Literal["leave out", "train"] = "leave out"
    """What becomes of videos outside the benchmark whose uploader is not known."""


class Tasks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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


class Audit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What counts as giving the answer away."""

    practice: Some = 4000
    """Videos of the train split on whose questions the classifier is trained."""
    level: Share = 0.95
    """Of intervals shown; whether a task passes is corrected for the number of looks."""
    redraws: Some = 6
    """How often a task is drawn again at most."""
    rank_slack: Share = 0.2
    """How far from its rank a comment of a popularity item that is drawn again may be, as a share of the rank."""


class Pool(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """People's comments for the blind packs."""

    comments: Some = 5
    fewest: Whole = 1
    """Videos with fewer are left out of the pool."""
    longest: Some = 300
    """Characters."""


class Train(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The training set."""

    videos: Some | None = None
    """At most so many, by seed; None for all."""
    references: Some = 5
    """Most-liked comments that an item of the task `comment` brings."""
    meaning: bool = False
    """Whether wrong options are also kept apart by MiniLM; about 250 texts a second on two cores."""
    shard_bytes: Some = 500_000_000


class Publish(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the edition says of itself."""

    name: str = "MIMIC-Bench edition"
    licence: str = "other"
    """Of the questions and annotations; videos keep their own."""
    contact: str = ""
    languages_note: str = ""
