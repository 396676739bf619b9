"""A study on disk: `study.yaml`, `items.jsonl`, the sealed `key.jsonl`, and texts in Markdown.

Items are what a participant may see; the key is read by exports and reports alone, never by what serves pages.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

FORMAT = 1
STUDY_FILE, ITEMS_FILE, KEY_FILE, MEDIA_DIR = "study.yaml", "items.jsonl", "key.jsonl", "media"
Kind = Literal["mcq", "free-then-mcq", "blind-comments", "rating", "pairwise"]
Page = Literal["choose", "free", "comments", "rate", "pair"]
PAGES: dict[Kind, tuple[Page, ...]] = {
    "mcq": ("choose",),
    "free-then-mcq": ("free", "choose"),
    "blind-comments": ("comments",),
    "rating": ("rate",),
    "pairwise": ("pair",),
}
"""The pages of an item, in their order; those of one item stay together."""

Positive = Annotated[int, Meta(ge=1)]
LocalizedText = dict[str, str]
"""A text by language: {"en": …, "zh": …}."""


class StudyQuestion(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Asked once of each participant: age group, language, how often they watch such videos."""

    name: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_-]*$")]
    text: LocalizedText
    choices: tuple[LocalizedText, ...] = ()
    """None: free text. The answer stored is the place of the choice."""
    required: bool = True


class StudyCriterion(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A scale from low to high; the whole numbers between are what can be chosen."""

    name: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_-]*$")]
    text: LocalizedText
    low: int = 0
    high: int = 5


class Study(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """`study.yaml`. Unknown fields are refused."""

    format: int = FORMAT
    kind: Kind
    title: LocalizedText
    origin: str = ""
    """The benchmark, run or pack that the items were made from, as it was named."""
    languages: Annotated[tuple[str, ...], Meta(min_length=1)] = ("en",)
    seed: int = 0
    items_per_participant: Positive = 20
    judgements_per_item: Positive = 3
    balance: tuple[str, ...] = ()
    """Facets over whose values one participant's items are spread as evenly as can be."""
    checks_per_participant: Annotated[int, Meta(ge=0)] = 0
    """Items marked `check`, given besides the others."""
    watch_whole: bool = True
    """Whether videos must have played to their end before an answer counts."""
    odd_options: bool = False
    """Keep items in which an option is empty or a wrong one stands twice, as some published data have them."""
    time_limit: Positive | None = None
    """Seconds for one item, enforced by the server."""
    place_timeout: Positive = 3600
    """Seconds without a sign of life after which an unfinished place is given to somebody else."""
    free_text_limit: Positive = 500
    """Characters."""
    questions: tuple[StudyQuestion, ...] = ()
    criteria: tuple[StudyCriterion, ...] = ()
    """For `rating`; for `blind-comments` the realism scale."""
    completion_url: str = ""
    """Where a recruiting platform wants its participants back."""
    media_root: str = MEDIA_DIR
    """Folder of the media files: relative to the study's, or absolute."""


class StudyText(Struct, frozen=True, tag="text", tag_field="type"):
    """Words, shown as they are."""

    text: str


class StudyMedia(Struct, frozen=True, tag="media", tag_field="type"):
    """A picture, video or sound by its path in the media root. It is served under a name that says nothing."""

    file: str
    kind: Literal["image", "video", "audio"]


class StudyPart(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One of several things judged on one page: a comment, an answer to be rated, a side of a pair."""

    id: str
    """Never sent to the browser."""
    content: tuple[StudyText | StudyMedia, ...] = ()


class StudyItem(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of `items.jsonl`. Nothing here tells the right answer."""

    id: Annotated[str, Meta(min_length=1)]
    group: str = ""
    """The video or scene: nobody gets two items of one group. Default: the item alone."""
    content: tuple[StudyText | StudyMedia, ...] = ()
    """What is looked at, in its order."""
    question: str = ""
    """Asked on the page `choose`; empty: the interface's own words."""
    options: tuple[str, ...] = ()
    """In an order that tells nothing; each participant sees them in an order of their own."""
    parts: tuple[StudyPart, ...] = ()
    facets: dict[str, str] = field(default_factory=dict)
    check: bool = False


class KeyLine(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of `key.jsonl`."""

    item: str
    option: int | None = None
    """Place of the right option in the item's own order."""
    accepted: tuple[str, ...] = ()
    """Free answers that count."""
    sources: dict[str, str] = field(default_factory=dict)
    """Who made each part, by its id."""
    expected: dict[str, Any] = field(default_factory=dict)
    """For a check: the answer of somebody who pays attention, by page or part."""
    extra: dict[str, Any] = field(default_factory=dict)
    """What an original format needs back: MIME's columns, a pack's hash."""
