"""Answers to items: which page is next, saving and finishing it, and what was watched. The server's clock counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Row, bindparam, insert, select, update

from vivant.study.design import PAGES, Page, Study, StudyItem
from vivant.study.store.people import SIGN_OF_LIFE, keep_alive
from vivant.study.store.store import Store
from vivant.study.store.tables import assignments, judgements, participants, visits, watches

# Built once: the same few are run for every request.
_PERSON = select(participants).where(participants.c.id == bindparam("who"))
_ROWS = (
    select(assignments).where(assignments.c.participant == bindparam("who")).order_by(assignments.c.position)
)
_VISITS = select(visits).where(visits.c.assignment == bindparam("where"))
_GIVEN = select(judgements.c.part, judgements.c.answer).where(
    judgements.c.assignment == bindparam("where"), judgements.c.page == bindparam("what")
)
_WATCHES = select(watches).where(watches.c.assignment == bindparam("where"))
_LOCK = select(participants.c.id).where(participants.c.id == bindparam("who")).with_for_update()
GRACE = 3.0
"""Seconds that an answer may be under way after the time for an item is up."""
Answers = Mapping[str, Any]
"""By part; "" where a page has none."""


class GoneError(Exception):
    """The page is not the participant's current one: finished, timed out, given on, or withdrawn."""


class Watch(Struct, frozen=True):
    """What is known of one media file's playing."""

    fetched: float | None = None
    started: float | None = None
    ended: float | None = None


class Current(Struct, frozen=True, kw_only=True):
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
    watches: dict[int, Watch]


class Way(Struct, frozen=True, kw_only=True):
    """A participant's whole way."""

    person: Row[Any]
    current: Current | None
    finished: int
    total: int
    """Items, as the progress bar counts them."""
    lost: bool
    """Whether places were given on; `assign.give` must look."""
    ids: tuple[int, ...]
    """All assignments, so that stale pages are told from forged ones."""


Read = Callable[[Way], Answers]
"""Answers to the current page, read within the transaction that keeps them; raises where they do not fit."""


def way(connection: Connection, study: Study, participant: int) -> Way | None:
    """Where somebody is; None for nobody."""
    person = connection.execute(_PERSON, {"who": participant}).one_or_none()
    if person is None:
        return None
    rows = connection.execute(_ROWS, {"who": participant}).all()
    open_ones = [row for row in rows if row.holds and row.finished is None]
    finished = sum(row.finished is not None for row in rows)
    return Way(
        person=person,
        current=_current(connection, study, open_ones[0]) if open_ones else None,
        finished=finished,
        total=finished + len(open_ones),
        lost=any(not row.holds and row.finished is None for row in rows),
        ids=tuple(row.id for row in rows),
    )


def _current(connection: Connection, study: Study, row: Row[Any]) -> Current:
    seen = {visit.page: visit for visit in connection.execute(_VISITS, {"where": row.id})}
    pages = PAGES[study.kind]
    page = next((p for p in pages if p not in seen or seen[p].finished is None), pages[-1])
    given = connection.execute(_GIVEN, {"where": row.id, "what": page})
    watched = connection.execute(_WATCHES, {"where": row.id})
    return Current(
        assignment=row.id,
        item=row.item,
        page=page,
        shown=tuple(row.shown),
        since=seen[page].shown if page in seen else None,
        item_since=min((visit.shown for visit in seen.values()), default=None),
        answers={line.part: line.answer for line in given},
        watches={line.media: Watch(line.fetched, line.started, line.ended) for line in watched},
    )


def _lock(connection: Connection, participant: int, study: Study) -> Way:
    """The participant's way, with nobody else writing to it meanwhile."""
    if connection.dialect.name != "sqlite":
        connection.execute(_LOCK, {"who": participant})
    found = way(connection, study, participant)
    if found is None or found.person.state == "withdrawn":
        raise GoneError
    return found


def _same(found: Way, assignment: int, page: Page) -> Current:
    current = found.current
    if current is None or (current.assignment, current.page) != (assignment, page):
        raise GoneError
    return current


def show(store: Store, study: Study, participant: int, assignment: int, page: Page) -> float:
    """Note that a page is shown; since when it is."""

    def job(connection: Connection) -> float:
        current = _same(_lock(connection, participant, study), assignment, page)
        if current.since is not None:
            return current.since
        now = store.clock()
        connection.execute(insert(visits).values(assignment=assignment, page=page, shown=now))
        keep_alive(connection, participant, now)
        return now

    return store.database.write(job)


def left(study: Study, current: Current, now: float) -> float | None:
    """Seconds left for the item; None without a limit."""
    if study.time_limit is None or current.item_since is None:
        return None
    return current.item_since + study.time_limit - now


def save(store: Store, study: Study, participant: int, read: Read) -> None:
    """Keep answers as they are given; the page stays open. Mappings are merged into what was saved before."""

    def job(connection: Connection) -> None:
        _save(connection, store, study, participant, read)

    store.database.write(job)


def finish(store: Store, study: Study, participant: int, read: Read) -> None:
    """Save the answers and close the page; with the last page the item, with the last item the study."""

    def job(connection: Connection) -> None:
        found, page, now = _save(connection, store, study, participant, read)
        _close(connection, study, found, (page,), now)

    store.database.write(job)


def _save(
    connection: Connection, store: Store, study: Study, participant: int, read: Read
) -> tuple[Way, Page, float]:
    found = _lock(connection, participant, study)
    given = read(found)
    current = found.current
    if current is None:
        raise GoneError
    now = store.clock()
    if (rest := left(study, current, now)) is not None and rest < -GRACE:
        raise GoneError
    _write(connection, current, given, now)
    _alive(connection, found, now)
    return found, current.page, now


def _alive(connection: Connection, found: Way, now: float) -> None:
    if now - found.person.seen > SIGN_OF_LIFE:
        keep_alive(connection, found.person.id, now)


def time_up(store: Store, study: Study, item: StudyItem, participant: int, assignment: int) -> None:
    """Close an item whose time is up. What was saved stands; what was not is kept as no answer."""

    def job(connection: Connection) -> None:
        found = _lock(connection, participant, study)
        current, now = found.current, store.clock()
        if current is None or current.assignment != assignment:
            raise GoneError
        rest = left(study, current, now)
        if rest is None or rest > -GRACE:
            raise GoneError
        pages = PAGES[study.kind]
        remaining = pages[pages.index(current.page) :]
        parts = [part.id for part in item.parts] if study.kind in ("rating", "blind-comments") else [""]
        for page in remaining:
            missing = [part for part in parts if page != current.page or part not in current.answers]
            for part in missing:
                connection.execute(
                    insert(judgements).values(
                        assignment=assignment,
                        page=page,
                        part=part,
                        answer=None,
                        shown=current.shown,
                        given=now,
                    )
                )
        _close(connection, study, found, remaining, now)

    store.database.write(job)


def _close(connection: Connection, study: Study, found: Way, pages: Iterable[Page], now: float) -> None:
    current = found.current
    assert current is not None
    for page in pages:
        closed = connection.execute(
            update(visits)
            .where(visits.c.assignment == current.assignment, visits.c.page == page)
            .values(finished=now)
        ).rowcount
        if not closed:
            connection.execute(
                insert(visits).values(assignment=current.assignment, page=page, shown=now, finished=now)
            )
    _alive(connection, found, now)
    if PAGES[study.kind][-1] not in pages:
        return
    connection.execute(update(assignments).where(assignments.c.id == current.assignment).values(finished=now))
    if found.finished + 1 == found.total and not found.lost:
        finish_all(connection, found.person.id, now)


def finish_all(connection: Connection, participant: int, now: float) -> None:
    """Note that a person is through."""
    connection.execute(
        update(participants)
        .where(participants.c.id == participant, participants.c.state == "consented")
        .values(state="finished", finished=now)
    )


def _write(connection: Connection, current: Current, answers: Answers, now: float) -> None:
    for part, answer in answers.items():
        before = current.answers.get(part)
        if part not in current.answers:
            connection.execute(
                insert(judgements).values(
                    assignment=current.assignment,
                    page=current.page,
                    part=part,
                    answer=answer,
                    shown=current.shown if current.page != "free" else (),
                    given=now,
                    seconds=None if current.since is None else round(now - current.since, 3),
                )
            )
            continue
        whole = {**before, **answer} if isinstance(before, dict) and isinstance(answer, dict) else answer
        if whole == before:
            continue
        # A word that is typed is no change of mind, nor is the second scale of a part.
        changed = current.page != "free" and not _grows(before, whole)
        connection.execute(
            update(judgements)
            .where(
                judgements.c.assignment == current.assignment,
                judgements.c.page == current.page,
                judgements.c.part == part,
            )
            .values(
                answer=whole,
                given=now,
                seconds=None if current.since is None else round(now - current.since, 3),
                revised=judgements.c.revised + int(changed),
            )
        )


def _grows(before: Any, after: Any) -> bool:
    return isinstance(before, dict) and isinstance(after, dict) and before.items() <= after.items()


def watched(store: Store, study: Study, participant: int, assignment: int, media: int, what: str) -> Watch:
    """Note the first time that a file was fetched, started or ended."""

    def job(connection: Connection) -> Watch:
        found = _lock(connection, participant, study)
        current, now = found.current, store.clock()
        if current is None or current.assignment != assignment:
            raise GoneError
        before = current.watches.get(media)
        _alive(connection, found, now)
        if before is None:
            connection.execute(insert(watches).values({"assignment": assignment, "media": media, what: now}))
            return Watch(**{what: now})
        if getattr(before, what) is None:
            connection.execute(
                update(watches)
                .where(watches.c.assignment == assignment, watches.c.media == media)
                .values({what: now})
            )
            return Watch(**{**{n: getattr(before, n) for n in Watch.__struct_fields__}, what: now})
        return before

    return store.database.write(job)
