"""Answers to items: which page is next, saving and finishing it, and what was watched. The server's clock counts.

What writes is a job, for `Database.write` or, in an event loop, `Database.do`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct
from sqlalchemy import (
    Connection,
    Float,
    Integer,
    String,
    bindparam,
    exists,
    insert,
    select,
    type_coerce,
    update,
)

from vivant.study.attention import passes_check
from vivant.study.design import PAGES, Page, Study, StudyItem
from vivant.study.store.database import Job
from vivant.study.store.finished import load_answers
from vivant.study.store.people import SIGN_OF_LIFE, Participant, keep_alive, load_participant
from vivant.study.store.statements import Statement
from vivant.study.store.store import StudyStore
from vivant.study.store.tables import assignments, judgements, participants, visits, watches

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
_SHOW = Statement(
    insert(visits).values(
        assignment=bindparam("assignment_id"),
        page=bindparam("page_name"),
        shown=bindparam("now"),
        finished=bindparam("closed_at"),
    )
)
_OPEN = Statement(
    insert(visits).from_select(
        ["assignment", "page", "shown"],
        select(
            assignments.c.id, bindparam("page_name", type_=String), bindparam("now", type_=Float)
        ).where(
            assignments.c.id == bindparam("assignment_id"), assignments.c.holds, assignments.c.finished.is_(None),
            ~exists().where(visits.c.assignment == assignments.c.id, visits.c.page == bindparam("page_name")),
        ),
    )
)  # fmt: skip
_CLOSE = Statement(
    update(visits)
    .where(visits.c.assignment == bindparam("assignment_id"), visits.c.page == bindparam("page_name"))
    .values(finished=bindparam("now"))
)
_FINISH = Statement(
    update(assignments)
    .where(assignments.c.id == bindparam("assignment_id"))
    .values(finished=bindparam("now"))
)
_ANSWER = Statement(
    insert(judgements).values(
        assignment=bindparam("assignment_id"), page=bindparam("page_name"), part=bindparam("part_id"),
        answer=bindparam("new_answer"), shown=bindparam("order"), given=bindparam("now"), seconds=bindparam("elapsed"),
    )
)  # fmt: skip
_REVISE = Statement(
    update(judgements)
    .where(
        judgements.c.assignment == bindparam("assignment_id"), judgements.c.page == bindparam("page_name"),
        judgements.c.part == bindparam("part_id"),
    )
    .values(
        answer=bindparam("new_answer"), given=bindparam("now"), seconds=bindparam("elapsed"),
        revised=judgements.c.revised + bindparam("changes"),
    )
)  # fmt: skip
_GRACE_AFTER_START = 20.0
"""Seconds that an item stays open after the server was started again. Pages try to save every 15 seconds or sooner."""
GRACE = 3.0
"""Seconds that an answer may be under way after the time for an item is up."""
Answers = Mapping[str, Any]
"""By part; "" where a page has none."""


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


class FinishedPage(Struct, frozen=True):
    """What became of a page that was answered."""

    assignment: int
    item: str
    closes_item: bool
    failures: int = 0
    """Attention checks that this person has failed, where this was one and they failed it."""


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


Read = Callable[[ParticipantState], Answers]
"""Answers to the current page, read within the transaction that keeps them; raises where they do not fit."""


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


def open_page(store: StudyStore, assignment: int, page: Page) -> Job[None]:
    """Note that a page is shown for the first time; an error where it was shown before, or is nobody's any more."""

    def job(connection: Connection) -> None:
        lock_owner(connection, assignment)
        if not _OPEN.change(connection, assignment_id=assignment, page_name=page, now=store.clock()):
            raise StalePageError

    return job


def compute_remaining_time(store: StudyStore, study: Study, current: CurrentPage, now: float) -> float | None:
    """Seconds left for the item; None without a limit."""
    if study.time_limit is None or current.item_since is None:
        return None
    # Two servers' clocks may differ a little: nobody gets more than the limit.
    left = current.item_since + study.time_limit - now
    if current.item_since < store.opened:
        # Whoever wrote while the server was away gets time to send it.
        left = max(left, store.opened + _GRACE_AFTER_START - now)
    return min(study.time_limit, left)


def save_answers(store: StudyStore, study: Study, participant: int, read: Read) -> Job[None]:
    """Keep answers as they are given; the page stays open. Mappings are merged into what was saved before."""

    def job(connection: Connection) -> None:
        _save(connection, store, study, participant, read)

    return job


def finish_page(
    store: StudyStore, study: Study, participant: int, read: Read, items: Mapping[str, StudyItem]
) -> Job[FinishedPage]:
    """Save the answers and close the page; with the last page the item, with the last item the study."""

    def job(connection: Connection) -> FinishedPage:
        state, page, now = _save(connection, store, study, participant, read)
        current = state.current
        assert current is not None
        closes_item = PAGES[study.kind][-1] == page
        failures = 0
        if closes_item and (item := items[current.item]).check and item.expected:
            failures = _count_failures(connection, participant, current.assignment, item)
        close_pages(connection, study, state, (page,), now)
        return FinishedPage(current.assignment, current.item, closes_item, failures)

    return job


def _count_failures(connection: Connection, participant: int, assignment: int, item: StudyItem) -> int:
    """How many attention checks were failed, this one included; 0 where this one was passed."""
    if passes_check(load_answers(connection, assignment), item.expected):
        return 0
    person = participants.c.id == participant
    connection.execute(update(participants).where(person).values(failures=participants.c.failures + 1))
    return int(connection.scalar(select(participants.c.failures).where(person)) or 0)


def _save(
    connection: Connection, store: StudyStore, study: Study, participant: int, read: Read
) -> tuple[ParticipantState, Page, float]:
    state = lock_participant(connection, participant, study)
    answers = read(state)
    current = state.current
    if current is None:
        raise StalePageError
    now = store.clock()
    seconds = compute_remaining_time(store, study, current, now)
    if seconds is not None and seconds < -GRACE:
        raise StalePageError
    _write(connection, current, answers, now)
    note_activity(connection, state, now)
    return state, current.page, now


def lock_assignment(
    connection: Connection, store: StudyStore, study: Study, participant: int, assignment: int
) -> tuple[ParticipantState, CurrentPage, float]:
    """The participant's state, the open page and the time; an error where another item is open."""
    state = lock_participant(connection, participant, study)
    if state.current is None or state.current.assignment != assignment:
        raise StalePageError
    return state, state.current, store.clock()


def note_activity(connection: Connection, state: ParticipantState, now: float) -> None:
    """Note that somebody is still there, not too often."""
    if now - state.participant.seen > SIGN_OF_LIFE:
        keep_alive(connection, state.participant.id, now)


def close_pages(
    connection: Connection, study: Study, state: ParticipantState, pages: Iterable[Page], now: float
) -> None:
    """Close pages of the current item; with the last page the item, with the last item the study."""
    current = state.current
    assert current is not None
    for page in pages:
        if not _CLOSE.change(connection, assignment_id=current.assignment, page_name=page, now=now):
            _SHOW.change(connection, assignment_id=current.assignment, page_name=page, now=now, closed_at=now)
    note_activity(connection, state, now)
    if PAGES[study.kind][-1] not in pages:
        return
    _FINISH.change(connection, assignment_id=current.assignment, now=now)
    if state.finished + 1 == state.total and not state.lost:
        finish_study(connection, state.participant.id, now)


def finish_study(connection: Connection, participant: int, now: float) -> None:
    """Note that a person is through."""
    connection.execute(
        update(participants)
        .where(participants.c.id == participant, participants.c.state == "consented")
        .values(state="finished", finished=now, outcome="completed")
    )


def _write(connection: Connection, current: CurrentPage, answers: Answers, now: float) -> None:
    elapsed = None if current.since is None else max(0.0, round(now - current.since, 3))
    for part, answer in answers.items():
        keys = {"assignment_id": current.assignment, "page_name": current.page, "part_id": part}
        times = {"now": now, "elapsed": elapsed}
        if part not in current.answers:
            order = current.order if current.page not in ("free", "follow", "spans") else ()
            _ANSWER.change(connection, **keys, **times, new_answer=answer, order=order)
            continue
        before = current.answers[part]
        merged = {**before, **answer} if isinstance(before, dict) and isinstance(answer, dict) else answer
        if merged == before:
            continue
        # A word that is typed is no change of mind, nor is the second scale of a part.
        changed = current.page != "free" and not _grows(before, merged)
        _REVISE.change(connection, **keys, **times, new_answer=merged, changes=int(changed))


def _grows(before: Any, after: Any) -> bool:
    return isinstance(before, dict) and isinstance(after, dict) and before.items() <= after.items()
