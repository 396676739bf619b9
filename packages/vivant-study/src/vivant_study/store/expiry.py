"""Time that is up: items are closed, and answers that come after it are kept and marked as late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, insert, select, update

from vivant_study.design import PAGES, Page, Study, StudyItem
from vivant_study.store.answers import GRACE, Answers, close_pages, compute_remaining_time
from vivant_study.store.database import Job
from vivant_study.store.participant_state import (
    ParticipantState,
    StalePageError,
    lock_assignment,
    lock_participant,
)
from vivant_study.store.store import StudyStore
from vivant_study.store.tables import assignments, judgements, visits


class LatePage(Struct, frozen=True, kw_only=True):
    """A page whose time is up."""

    item: str
    page: Page
    order: tuple[int, ...]


FindPage = Callable[[ParticipantState], tuple[int, Page]]
"""The assignment and the page that a form speaks of."""
LateAnswerReader = Callable[[LatePage], Answers]


def close_expired(
    store: StudyStore, study: Study, item: StudyItem, participant: int, assignment: int
) -> Job[None]:
    """Close an item whose time is up. What was saved stands; what was not is kept as no answer."""

    def job(connection: Connection) -> None:
        state, current, now = lock_assignment(connection, store, study, participant, assignment)
        seconds = compute_remaining_time(store, study, current, now)
        if seconds is None or seconds > -GRACE:
            raise StalePageError
        pages = PAGES[study.kind]
        remaining = pages[pages.index(current.page) :]
        by_part = PAGES[study.kind][0] in ("rate", "comments")
        parts = [part.id for part in item.parts] if by_part else [""]
        for page in remaining:
            missing = [part for part in parts if page != current.page or part not in current.answers]
            for part in missing:
                values = {"assignment": assignment, "page": page, "part": part, "shown": current.order}
                connection.execute(insert(judgements).values(**values, answer=None, given=now))
        close_pages(connection, study, state, remaining, now)
        own = (visits.c.assignment == assignment) & (visits.c.page == current.page)
        connection.execute(update(visits).where(own).values(expired=True))

    return job


def save_late_answers(
    store: StudyStore, study: Study, participant: int, find: FindPage, reader: LateAnswerReader
) -> Job[None]:
    """Keep what was written before the time was up and could not be sent. A page that its participant closed stays."""

    def job(connection: Connection) -> None:
        state = lock_participant(connection, participant, study)
        if study.time_limit is None or state.participant.state not in ("consented", "finished"):
            raise StalePageError
        assignment, page = find(state)
        row = connection.execute(
            select(assignments.c.item, assignments.c.shown, visits.c.expired)
            .join(visits, visits.c.assignment == assignments.c.id)
            .where(assignments.c.id == assignment, assignments.c.holds, visits.c.page == page)
        ).first()
        if row is None or not (row.expired or _is_overdue(store, study, state, assignment, page)):
            raise StalePageError
        answers = reader(LatePage(item=row.item, page=page, order=tuple(row.shown)))
        order = () if page in ("free", "follow", "spans") else row.shown
        for part, answer in answers.items():
            _write(connection, (assignment, page, part), answer, order, store.clock())

    return job


def _is_overdue(
    store: StudyStore, study: Study, state: ParticipantState, assignment: int, page: Page
) -> bool:
    """Whether it is the open page, with its time up."""
    current = state.current
    if current is None or (current.assignment, current.page) != (assignment, page):
        return False
    seconds = compute_remaining_time(store, study, current, store.clock())
    return seconds is not None and seconds < -GRACE


def _write(
    connection: Connection, key: tuple[int, Page, str], answer: Any, order: tuple[int, ...], now: float
) -> None:
    """How long the writing took is not known."""
    assignment, page, part = key
    own = (judgements.c.assignment == assignment) & (judgements.c.page == page) & (judgements.c.part == part)
    before = connection.execute(select(judgements.c.answer).where(own)).first()
    if before is None:
        values = {"assignment": assignment, "page": page, "part": part, "shown": order}
        connection.execute(insert(judgements).values(**values, answer=answer, given=now, late=True))
        return
    merged = (
        {**before.answer, **answer}
        if isinstance(before.answer, dict) and isinstance(answer, dict)
        else answer
    )
    if merged != before.answer:
        connection.execute(
            update(judgements).where(own).values(answer=merged, given=now, seconds=None, late=True)
        )
