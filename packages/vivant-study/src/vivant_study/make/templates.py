"""Published experiments with people as studies: their design, from one command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from vivant.core.errors import unknown_name_error
from vivant.core.randomness import shuffled_indices
from vivant_study.design import Kind, StudyItem

QUEUE, SET = "queue_id", "set"
"""Facets of an item of MIME's experiment: one person judges one queue, one of the two sets of a variant's actions."""
_SETS = 2


class StudyTemplate(Struct, frozen=True, kw_only=True):
    """What a published experiment fixes."""

    kind: Kind
    origin: str
    items_per_participant: int | None = None
    """None: what a study of its size usually has."""
    judgements_per_item: int
    about: str
    where: tuple[str, ...] = ()
    queue: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    """Fields of `study.yaml`."""


TEMPLATES: dict[str, StudyTemplate] = {
    "mime": StudyTemplate(
        kind="free-then-mcq",
        origin="mime",
        where=("dataset=MIME",),
        items_per_participant=43,
        judgements_per_item=3,
        queue=QUEUE,
        settings={"same_order": True},
        about="one avatar, angle and background per person, half of its actions, in one order for all; text first, "
        "then four options",
    ),
    "mmrv": StudyTemplate(
        kind="mcq",
        origin="mmrv",
        judgements_per_item=1,
        settings={"time_limit": 120, "watch_whole": False, "odd_options": True},
        about="two minutes a question, all options as published, one answer each",
    ),
}


def find_template(name: str) -> StudyTemplate:
    """A published experiment by name."""
    if name not in TEMPLATES:
        raise unknown_name_error("template", name, TEMPLATES)
    return TEMPLATES[name]


def add_queues(items: Sequence[StudyItem], seed: int) -> list[StudyItem]:
    """MIME's queues: the items of each variant, their actions in two sets that are drawn for each variant anew."""
    groups: dict[str, set[str]] = {}
    for item in items:
        groups.setdefault(_format_variant(item), set()).add(item.group)
    numbers: dict[tuple[str, str], str] = {}
    for variant, own in groups.items():
        ordered = sorted(own)
        order = shuffled_indices(len(ordered), seed, "study", "sets", variant)
        for rank, index in enumerate(order):
            numbers[variant, ordered[index]] = str(rank * _SETS // len(ordered) + 1)
    return [_add_queue(item, numbers[_format_variant(item), item.group]) for item in items]


def _format_variant(item: StudyItem) -> str:
    avatar, angle, background = (item.facets.get(name, "none") for name in ("avatar", "angle", "background"))
    return f"{avatar}_avatar-{angle}_angle-{background}_background"


def _add_queue(item: StudyItem, number: str) -> StudyItem:
    queue = f"{_format_variant(item)}-set{number}"
    return msgspec.structs.replace(item, facets={**item.facets, QUEUE: queue, SET: number})
