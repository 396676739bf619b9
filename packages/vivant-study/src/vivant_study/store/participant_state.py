"""How far a participant is: the page that is next, what is saved on it, and what was watched."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Integer, bindparam, select, type_coerce

from vivant_study.design import PAGES, Page, Study
from vivant_study.store.people import Participant, load_participant
from vivant_study.store.statements import Statement
from vivant_study.store.store import StudyStore
from vivant_study.store.tables import assignments, judgements, participants, visits, watches

# 0 or 1: not turned into truth values, row by row.
_HELD = type_coerce(assignments.c.holds, Integer)
_ROWS = Statement(
    select(assignments.c.id, assignments.c.item, _HELD, assignments.c.finished)
    .where(assignments.c.participant == bindparam("participant_id"))
    .order_by(assignments.c.position)
)
_VISITS = Statement(
    select(assignments.c.shown, visits.c.page, visits.c.shown, visits.c.finished)
    .outerjoin(visits, visits.c.assignment == assignments.c.id)
    .where(assignments.c.id == bindparam("assignment_id"))
)
_SAVED = Statement(
    select(judgements.c.part, judgements.c.answer).where(
        judgements.c.assignment == bindparam("assignment_id"), judgements.c.page == bindparam("page_name")
    )
)
_WATCHES = Statement(
    select(
        watches.c.media,
        watches.c.fetched,
        watches.c.started,
        watches.c.ended,
        watches.c.played,
        watches.c.plays,
        watches.c.report,
    ).where(watches.c.assignment == bindparam("assignment_id"))
)
_LOCK = select(participants.c.id).where(participants.c.id == bindparam("participant_id")).with_for_update()
_LOCK_OWNER = (
    select(participants.c.id)
    .join(assignments, assignments.c.participant == participants.c.id)
    .where(assignments.c.id == bindparam("assignment_id"))
    .with_for_update(of=participants)
)


class StalePageError(Exception):
    """The page is not the participant's current one: finished, timed out, released, or withdrawn."""


class PlaybackTimes(Struct, frozen=True):
    """What is known of one media file's playing."""

    fetched: float | None = None
    started: float | None = None
    ended: float | None = None
    played: float | None = None
    """Seconds; None: no script has reported."""
    plays: int = 0
    report: str = ""
    """The number of the last report."""


class CurrentPage(Struct, frozen=True, kw_only=True):
    """Where a participant is: the first page that is not finished."""

    assignment: int
    item: str
    page: Page
    order: tuple[int, ...]
    """Of the options or parts, as displayed."""
    since: float | None
    """When this page was first shown; None: it has not been."""
    item_since: float | None
    answers: dict[str, Any]
    """Saved on this page, by part."""
    earlier: str
    """On a page that follows up on a free answer: that answer."""
    watches: dict[int, PlaybackTimes]


class ParticipantState(Struct, frozen=True, kw_only=True):
    """How far a participant is."""

    participant: Participant
    current: CurrentPage | None
    finished: int
    total: int
    """Items, as the progress bar counts them."""
    lost: bool
    """Whether places were released; `assign_items` must look."""
    ids: tuple[int, ...]
    """All assignments, so that stale pages are told from forged ones."""


def load_state(connection: Connection, study: Study, participant: int) -> ParticipantState | None:
    """Where somebody is; None for nobody."""
    person = load_participant(connection, participant)
    if person is None:
        return None
    rows = _ROWS.rows(connection, participant_id=participant)
    unfinished = [(number, item, holds) for number, item, holds, finished in rows if finished is None]
    held = [(number, item) for number, item, holds in unfinished if holds]
    finished = len(rows) - len(unfinished)
    return ParticipantState(
        participant=person,
        current=_current(connection, study, *held[0]) if held else None,
        finished=finished,
        total=finished + len(held),
        lost=len(held) < len(unfinished),
        ids=tuple(row[0] for row in rows),
    )


def _current(connection: Connection, study: Study, assignment: int, item: str) -> CurrentPage:
    visited: dict[str, tuple[float, float | None]] = {}
    order: tuple[int, ...] = ()
    for shown_order, name, since, finished in _VISITS.rows(connection, assignment_id=assignment):
        order = tuple(shown_order)
        if name is not None:
            visited[name] = (since, finished)
    pages = PAGES[study.kind]
    page = next((p for p in pages if p not in visited or visited[p][1] is None), pages[-1])
    saved = _SAVED.rows(connection, assignment_id=assignment, page_name=page)
    playback = _WATCHES.rows(connection, assignment_id=assignment)
    return CurrentPage(
        assignment=assignment,
        item=item,
        page=page,
        order=order,
        since=visited[page][0] if page in visited else None,
        item_since=min((since for since, _ in visited.values()), default=None),
        answers={str(part): answer for part, answer in saved},
        earlier=_load_earlier(connection, assignment) if page == "follow" else "",
        watches={number: PlaybackTimes(*times) for number, *times in playback},
    )


def _load_earlier(connection: Connection, assignment: int) -> str:
    row = _SAVED.first(connection, assignment_id=assignment, page_name="free")
    return "" if row is None else str(row[1] or "")


def lock_participant(connection: Connection, participant: int, study: Study) -> ParticipantState:
    """The participant's state, with nobody else writing to it meanwhile."""
    if connection.dialect.name != "sqlite":
        connection.execute(_LOCK, {"participant_id": participant})
    state = load_state(connection, study, participant)
    if state is None or state.participant.state == "withdrawn":
        raise StalePageError
    return state


def lock_owner(connection: Connection, assignment: int) -> None:
    """Let nobody else write what belongs to the assignment's participant. SQLite has one writer anyway."""
    if connection.dialect.name != "sqlite":
        connection.execute(_LOCK_OWNER, {"assignment_id": assignment})


def lock_assignment(
    connection: Connection, store: StudyStore, study: Study, participant: int, assignment: int
) -> tuple[ParticipantState, CurrentPage, float]:
    """The participant's state, the open page and the time; an error where another item is open."""
    state = lock_participant(connection, participant, study)
    if state.current is None or state.current.assignment != assignment:
        raise StalePageError
    return state, state.current, store.clock()
