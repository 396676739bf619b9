"""Answers to items: opening a page, saving it and finishing it. The server's clock counts.

What writes is a job, for `Database.write` or, in an event loop, `Database.write_async`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct
from sqlalchemy import (
    Connection,
    Float,
    String,
    bindparam,
    exists,
    insert,
    select,
    update,
)

from vivant_study.attention import passes_check
from vivant_study.design import PAGES, Page, Study, StudyItem
from vivant_study.store.database import Job
from vivant_study.store.finished import load_answers
from vivant_study.store.participant_state import (
    CurrentPage,
    ParticipantState,
    StalePageError,
    lock_owner,
    lock_participant,
)
from vivant_study.store.people import SIGN_OF_LIFE, keep_alive
from vivant_study.store.statements import Statement
from vivant_study.store.store import StudyStore
from vivant_study.store.tables import assignments, judgements, participants, visits

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


class FinishedPage(Struct, frozen=True):
    """What became of a page that was answered."""

    assignment: int
    item: str
    closes_item: bool
    failures: int = 0
    """Attention checks that this person has failed, where this was one and they failed it."""


AnswerReader = Callable[[ParticipantState], Answers]
"""Answers to the current page, read within the transaction that keeps them; raises where they do not fit."""


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


def save_answers(store: StudyStore, study: Study, participant: int, reader: AnswerReader) -> Job[None]:
    """Keep answers as they are given; the page stays open. Mappings are merged into what was saved before."""

    def job(connection: Connection) -> None:
        _save(connection, store, study, participant, reader)

    return job


def finish_page(
    store: StudyStore, study: Study, participant: int, reader: AnswerReader, items: Mapping[str, StudyItem]
) -> Job[FinishedPage]:
    """Save the answers and close the page; with the last page the item, with the last item the study."""

    def job(connection: Connection) -> FinishedPage:
        state, page, now = _save(connection, store, study, participant, reader)
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
    connection: Connection, store: StudyStore, study: Study, participant: int, reader: AnswerReader
) -> tuple[ParticipantState, Page, float]:
    state = lock_participant(connection, participant, study)
    answers = reader(state)
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
