"""How far a study is, and what changed it."""

from __future__ import annotations

from msgspec import Struct


class StudyEvent(Struct, frozen=True, kw_only=True):
    """Something that changed the study."""

    at: str
    kind: str
    annotator: str = ""
    detail: str = ""


class ItemProgress(Struct, frozen=True, kw_only=True):
    """How far an item is."""

    item: str
    finished: int = 0
    held: int = 0
    """Given to somebody who has not finished it yet."""


class StudyProgress(Struct, frozen=True, kw_only=True):
    """How far a study is. Attention checks and excluded people are not counted in `items`."""

    target: int
    """Judgements that each item is to get; 0 where the study has not been served yet."""
    items: tuple[ItemProgress, ...]
    people: dict[str, int]
    """By state."""
    excluded: int
    paused: bool

    @property
    def places(self) -> int:
        """All places of the study."""
        return self.target * len(self.items)

    @property
    def finished(self) -> int:
        """Places with a finished judgement."""
        return sum(item.finished for item in self.items)

    @property
    def held(self) -> int:
        """Places that somebody is at."""
        return sum(item.held for item in self.items)

    @property
    def open(self) -> int:
        """Places that nobody has."""
        return sum(max(0, self.target - item.finished - item.held) for item in self.items)
