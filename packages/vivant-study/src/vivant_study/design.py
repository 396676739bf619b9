"""A study on disk: `study.yaml`, `items.jsonl`, the sealed `key.jsonl`, and texts in Markdown.

Items are what a participant may see; the key is read by exports and reports alone, never by what serves pages.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from vivant_study.platforms import AttentionRule, StudyPayment, StudyPlatform

FORMAT = 1
STUDY_FILE, ITEMS_FILE, KEY_FILE, MEDIA_DIR = "study.yaml", "items.jsonl", "key.jsonl", "media"
Kind = Literal[
    "mcq", "free-then-mcq", "blind-comments", "rating", "pairwise", "best-worst", "sliders", "spans",
    "free-follow-up",
]  # fmt: skip
Page = Literal["choose", "free", "comments", "rate", "pair", "best-worst", "spans", "follow"]
PAGES: dict[Kind, tuple[Page, ...]] = {
    "mcq": ("choose",),
    "free-then-mcq": ("free", "choose"),
    "blind-comments": ("comments",),
    "rating": ("rate",),
    "pairwise": ("pair",),
    "best-worst": ("best-worst",),
    "sliders": ("rate",),
    "spans": ("spans",),
    "free-follow-up": ("free", "follow"),
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
    screen_out: tuple[int, ...] = ()
    """Choices, from 0, with which somebody cannot take part."""


class StudyCriterion(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A scale from low to high; the whole numbers between are what can be chosen."""

    name: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_-]*$")]
    text: LocalizedText
    low: int = 0
    high: int = 5
    low_text: LocalizedText = field(default_factory=dict)
    """Words at the scale's ends; none: the interface's own."""
    high_text: LocalizedText = field(default_factory=dict)


class AdaptiveAllocation(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """More judgements for items on which people disagree."""

    most: Positive
    """Judgements that a disputed item gets."""
    disagreement: Annotated[float, Meta(gt=0, le=1)] = 0.34
    """From which disagreement on an item is disputed: the share of answers that differ from the most frequent one."""


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
    queue: str = ""
    """A facet: all items of one person have the same value of it. Empty: any items."""
    same_order: bool = False
    """Whether everybody meets items, options and parts in one order, as in some published experiments."""
    adaptive: AdaptiveAllocation | None = None
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
    session_limit: Positive | None = None
    """Seconds from consent to the last answer; what is finished by then counts."""
    place_timeout: Positive = 600
    """Seconds without a sign of life after which an unfinished place is given to somebody else."""
    free_text_limit: Positive = 500
    """Characters."""
    questions: tuple[StudyQuestion, ...] = ()
    criteria: tuple[StudyCriterion, ...] = ()
    """For `rating` and `sliders`; for `blind-comments` the realism scale; for `free-follow-up` on its last page."""
    attention: AttentionRule = AttentionRule()
    platform: StudyPlatform | None = None
    """Where participants are recruited, and what they take back there."""
    completion_url: str = ""
    """Where participants who have finished go, where no `platform` says so."""
    payment: StudyPayment | None = None
    expected_loss: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    """Share of people who are expected to leave or fail; `check` says how many to recruit."""
    retention_days: Positive | None = None
    """Days after a person's last sign of life until everything they gave is deleted; None: never by itself."""
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


class ItemTexts(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An item's own words in another language. Each may be empty: then the item's first words are shown."""

    question: str = ""
    follow_up: str = ""
    options: tuple[str, ...] = ()
    """In the item's own order."""
    content: tuple[str, ...] = ()
    """Its texts, in their order, media left out."""
    parts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The same for its parts, by id."""


class StudyItem(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of `items.jsonl`. Nothing here tells the right answer."""

    id: Annotated[str, Meta(min_length=1)]
    group: str = ""
    """The video or scene: nobody gets two items of one group. Default: the item alone."""
    content: tuple[StudyText | StudyMedia, ...] = ()
    """What is looked at, in its order."""
    question: str = ""
    """Asked on the page `choose`, or what is to be written or marked; empty: the interface's own words."""
    follow_up: str = ""
    """Asked on the page `follow`; empty: the interface's own words."""
    translations: dict[str, ItemTexts] = field(default_factory=dict)
    """Texts in other languages, by language; what is not there is shown as it is."""
    options: tuple[str, ...] = ()
    """In an order that tells nothing; each participant sees them in an order of their own."""
    parts: tuple[StudyPart, ...] = ()
    facets: dict[str, str] = field(default_factory=dict)
    check: bool = False
    expected: dict[str, Any] = field(default_factory=dict)
    """For a check: what its own text asks for, by page or part, so that the server can react. For training: the
    right answer, which is told after it was given. Never sent before."""
    training: bool = False
    """Given to everybody before all others, with feedback; it does not count."""
    explanation: LocalizedText = field(default_factory=dict)
    """For training: told with the feedback."""


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
