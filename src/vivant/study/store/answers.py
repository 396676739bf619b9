"""Answers to items: which page is next, saving and finishing it, and what was watched. The server's clock counts.

What writes is a job, for `Database.write` or, in an event loop, `Database.do`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, structs
from sqlalchemy import Connection, bindparam, insert, select, update

from vivant.study.design import PAGES, Page, Study, StudyItem
from vivant.study.store.database import Job
from vivant.study.store.people import SIGN_OF_LIFE, Participant, keep_alive, load_participant
from vivant.study.store.statements import Statement
from vivant.study.store.store import StudyStore
from vivant.study.store.tables import assignments, judgements, participants, visits, watches

_ROWS = Statement(
    select(assignments.c.id, assignments.c.item, assignments.c.holds, assignments.c.finished)
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
    ).where(watches.c.assignment == bindparam("assignment_id"))
)
_LOCK = select(participants.c.id).where(participants.c.id == bindparam("participant_id")).with_for_update()
_SHOW = Statement(
    insert(visits).values(
        assignment=bindparam("assignment_id"),
        page=bindparam("page_name"),
        shown=bindparam("now"),
        finished=bindparam("closed_at"),
    )
)
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
_WATCH: dict[str, Any] = {
    name: bindparam(f"{name}_value") for name in ("fetched", "started", "ended", "played", "plays")
}
_ADD_WATCH = Statement(
    insert(watches).values(assignment=bindparam("assignment_id"), media=bindparam("media_index"), **_WATCH)
)
_CHANGE_WATCH = Statement(
    update(watches)
    .where(watches.c.assignment == bindparam("assignment_id"), watches.c.media == bindparam("media_index"))
    .values(**_WATCH)
)
_LEAVE = Statement(
    update(visits)
    .where(visits.c.assignment == bindparam("assignment_id"), visits.c.page == bindparam("page_name"))
    .values(away=visits.c.away + bindparam("seconds"), leaves=visits.c.leaves + 1)
)
SPEED = 1.1
"""How much faster than the server's clock a player may run: clocks differ, browsers round."""
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


class CurrentPage(Struct, frozen=True, kw_only=True):
    """Where a participant is: the first page that is not finished."""

    assignment: int
    item: str
    page: Page
    shown: tuple[int, ...]
    """Order of options or parts."""
    since: float | None
    """When this page was first shown; None: it has not been."""
    item_since: float | None
    answers: dict[str, Any]
    """Saved on this page, by part."""
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
        shown=order,
        since=visited[page][0] if page in visited else None,
        item_since=min((since for since, _ in visited.values()), default=None),
        answers={str(part): answer for part, answer in saved},
        watches={number: PlaybackTimes(*times) for number, *times in playback},
    )


def _lock(connection: Connection, participant: int, study: Study) -> ParticipantState:
    """The participant's state, with nobody else writing to it meanwhile."""
    if connection.dialect.name != "sqlite":
        connection.execute(_LOCK, {"participant_id": participant})
    state = load_state(connection, study, participant)
    if state is None or state.participant.state == "withdrawn":
        raise StalePageError
    return state


def _require_current(state: ParticipantState, assignment: int, page: Page) -> CurrentPage:
    current = state.current
    if current is None or (current.assignment, current.page) != (assignment, page):
        raise StalePageError
    return current


def open_page(store: StudyStore, study: Study, participant: int, assignment: int, page: Page) -> Job[float]:
    """Note that a page is shown; since when it is."""

    def job(connection: Connection) -> float:
        current = _require_current(_lock(connection, participant, study), assignment, page)
        if current.since is not None:
            return current.since
        now = store.clock()
        _SHOW.change(connection, assignment_id=assignment, page_name=page, now=now, closed_at=None)
        keep_alive(connection, participant, now)
        return now

    return job


def remaining_time(study: Study, current: CurrentPage, now: float) -> float | None:
    """Seconds left for the item; None without a limit."""
    if study.time_limit is None or current.item_since is None:
        return None
    # Two servers' clocks may differ a little: nobody gets more than the limit.
    return min(study.time_limit, current.item_since + study.time_limit - now)


def save_answers(store: StudyStore, study: Study, participant: int, read: Read) -> Job[None]:
    """Keep answers as they are given; the page stays open. Mappings are merged into what was saved before."""

    def job(connection: Connection) -> None:
        _save(connection, store, study, participant, read)

    return job


def finish_page(store: StudyStore, study: Study, participant: int, read: Read) -> Job[None]:
    """Save the answers and close the page; with the last page the item, with the last item the study."""

    def job(connection: Connection) -> None:
        state, page, now = _save(connection, store, study, participant, read)
        _close(connection, study, state, (page,), now)

    return job


def _save(
    connection: Connection, store: StudyStore, study: Study, participant: int, read: Read
) -> tuple[ParticipantState, Page, float]:
    state = _lock(connection, participant, study)
    answers = read(state)
    current = state.current
    if current is None:
        raise StalePageError
    now = store.clock()
    seconds = remaining_time(study, current, now)
    if seconds is not None and seconds < -GRACE:
        raise StalePageError
    _write(connection, current, answers, now)
    _note_activity(connection, state, now)
    return state, current.page, now


def _lock_assignment(
    connection: Connection, store: StudyStore, study: Study, participant: int, assignment: int
) -> tuple[ParticipantState, CurrentPage, float]:
    """The participant's state, the open page and the time; an error where another item is open."""
    state = _lock(connection, participant, study)
    if state.current is None or state.current.assignment != assignment:
        raise StalePageError
    return state, state.current, store.clock()


def _note_activity(connection: Connection, state: ParticipantState, now: float) -> None:
    if now - state.participant.seen > SIGN_OF_LIFE:
        keep_alive(connection, state.participant.id, now)


def close_expired(
    store: StudyStore, study: Study, item: StudyItem, participant: int, assignment: int
) -> Job[None]:
    """Close an item whose time is up. What was saved stands; what was not is kept as no answer."""

    def job(connection: Connection) -> None:
        state, current, now = _lock_assignment(connection, store, study, participant, assignment)
        seconds = remaining_time(study, current, now)
        if seconds is None or seconds > -GRACE:
            raise StalePageError
        pages = PAGES[study.kind]
        remaining = pages[pages.index(current.page) :]
        parts = [part.id for part in item.parts] if study.kind in ("rating", "blind-comments") else [""]
        for page in remaining:
            missing = [part for part in parts if page != current.page or part not in current.answers]
            for part in missing:
                _ANSWER.change(
                    connection, assignment_id=assignment, page_name=page, part_id=part, new_answer=None,
                    order=current.shown, now=now, elapsed=None,
                )  # fmt: skip
        _close(connection, study, state, remaining, now)

    return job


def _close(
    connection: Connection, study: Study, state: ParticipantState, pages: Iterable[Page], now: float
) -> None:
    current = state.current
    assert current is not None
    for page in pages:
        if not _CLOSE.change(connection, assignment_id=current.assignment, page_name=page, now=now):
            _SHOW.change(connection, assignment_id=current.assignment, page_name=page, now=now, closed_at=now)
    _note_activity(connection, state, now)
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
        .values(state="finished", finished=now)
    )


def _write(connection: Connection, current: CurrentPage, answers: Answers, now: float) -> None:
    elapsed = None if current.since is None else max(0.0, round(now - current.since, 3))
    for part, answer in answers.items():
        keys = {"assignment_id": current.assignment, "page_name": current.page, "part_id": part}
        times = {"now": now, "elapsed": elapsed}
        if part not in current.answers:
            order = current.shown if current.page != "free" else ()
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


def record_playback(
    store: StudyStore,
    study: Study,
    participant: int,
    assignment: int,
    media: int,
    what: str,
    seconds: float = 0.0,
) -> Job[PlaybackTimes]:
    """Note what became of a media file: fetched, ready (a script watches it), started, playing or ended.

    Args:
        store: the study's store.
        study: the study.
        participant: whose page it is.
        assignment: the item's place.
        media: the file's number in the item.
        what: what happened.
        seconds: played since the last report. No more counts than the time since the first start.
    """

    def job(connection: Connection) -> PlaybackTimes:
        state, current, now = _lock_assignment(connection, store, study, participant, assignment)
        before = current.watches.get(media)
        _note_activity(connection, state, now)
        times = _add_report(before or PlaybackTimes(), what, seconds, now)
        if times != before:
            statement = _ADD_WATCH if before is None else _CHANGE_WATCH
            values = {f"{name}_value": value for name, value in structs.asdict(times).items()}
            statement.change(connection, assignment_id=assignment, media_index=media, **values)
        return times

    return job


def _add_report(times: PlaybackTimes, what: str, seconds: float, now: float) -> PlaybackTimes:
    played = times.played if what == "fetched" else times.played or 0.0
    if what in ("playing", "ended") and times.started is not None:
        played = min((times.played or 0.0) + max(0.0, seconds), max(0.0, now - times.started) * SPEED)
    return PlaybackTimes(
        fetched=now if what == "fetched" and times.fetched is None else times.fetched,
        started=now if what == "started" and times.started is None else times.started,
        ended=now if what == "ended" and times.ended is None else times.ended,
        played=played if played is None else round(played, 3),
        plays=times.plays + (what == "started"),
    )


def record_absence(
    store: StudyStore, study: Study, participant: int, assignment: int, page: Page, seconds: float
) -> Job[None]:
    """Note that a participant left the page open and came back after so many seconds."""

    def job(connection: Connection) -> None:
        _, current, now = _lock_assignment(connection, store, study, participant, assignment)
        since = now if current.since is None else current.since
        counted = min(max(0.0, seconds), max(0.0, now - since))
        _LEAVE.change(connection, assignment_id=assignment, page_name=page, seconds=round(counted, 3))

    return job
