"""What a study yields: one line a judgement, one a participant. Stores write them, exports and reports read them."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

State = Literal["invited", "consented", "finished", "ended", "withdrawn"]


class StudyPerson(Struct, frozen=True, kw_only=True):
    """A participant as exports name them. Somebody who withdrew has no judgements and no answers left."""

    annotator: str
    """Hash of the participant with the study's own salt."""
    state: State
    language: str = ""
    recruited: str = ""
    """Hash of the recruiting platform's identifier; empty where there was none."""
    created: str = ""
    """ISO 8601, UTC, as all times here."""
    consented: str = ""
    finished: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    """To the questions about the participant."""
    excluded: str = ""
    """The researcher's reason, or that attention checks ended the session; empty: not excluded."""
    outcome: str = ""
    """How the visit ended: completed, screened_out, failed_attention, timed_out, withdrawn; empty: it has not."""
    failures: int = 0
    """Attention checks failed, where the study reacts to them."""


class StudyJudgement(Struct, frozen=True, kw_only=True):
    """One answer of one person on one page of one item (and part, where a page has several)."""

    annotator: str
    item: str
    page: str
    part: str = ""
    answer: Any = None
    """`choose`: the place of the option in the item's own order. `free`: the text. `comments`: {"verdict": "human" or
    "ai", "realism": 0–5}. `rate`: {criterion: number}. `pair`: "first", "second" or "tie", in the item's own order.
    `best-worst`: {"best": place, "worst": place} in the item's own order. `spans`: [[start, end], …] in seconds,
    empty for nothing. `follow`: {"text": …} and criteria.
    None: the time was up before there was an answer; a mapping may then lack some of its names."""
    shown: tuple[int, ...] = ()
    """The order in which options or parts were shown: places in the item's own order."""
    position: int = 0
    """The item's place in this person's sequence, from 0."""
    given: str = ""
    seconds: float | None = None
    """From the page's first showing to the answer."""
    revised: int = 0
    """How often the answer was changed before the item was finished."""
    complete: bool = True
    """Whether the item was finished; the answers of an abandoned place are kept but do not count."""
    check: bool = False
    """Whether it does not count: an attention check, or training."""
    watched: Literal["", "whole", "part", "unconfirmed"] = ""
    """Whether the item's videos and sounds were played to their end. Unconfirmed: the browser ran no scripts, and the
    time since the files were fetched was long enough. Empty: there was nothing to play, or nothing is known."""
    started: str = ""
    """When the first of them was first started, and when the last ended."""
    ended: str = ""
    played: float | None = None
    """Seconds played, all of them together."""
    plays: int = 0
    """How often one was started: more than there are files means that something was played again."""
    away: float = 0.0
    """Seconds within `seconds` that the page was hidden or another window was in front."""
    leaves: int = 0
    """How often the page was left."""
    late: bool = False
    """Whether it came after the item's time was up, because the connection was down. Its `seconds` are unknown."""
    weight: float = 1.0
    """In exports of a study that gives disputed items more judgements: what it weighs, so that items count alike."""
