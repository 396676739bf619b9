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
from vivant.study.store.people import SIGN_OF_LIFE, Who, keep_alive, who
from vivant.study.store.statements import Prepared
from vivant.study.store.store import Store
from vivant.study.store.tables import assignments, judgements, participants, visits, watches

_ROWS = Prepared(
    select(assignments.c.id, assignments.c.item, assignments.c.holds, assignments.c.finished)
    .where(assignments.c.participant == bindparam("who"))
    .order_by(assignments.c.position)
)
_VISITS = Prepared(
    select(assignments.c.shown, visits.c.page, visits.c.shown, visits.c.finished)
    .outerjoin(visits, visits.c.assignment == assignments.c.id)
    .where(assignments.c.id == bindparam("where"))
)
_GIVEN = Prepared(
    select(judgements.c.part, judgements.c.answer).where(
        judgements.c.assignment == bindparam("where"), judgements.c.page == bindparam("what")
    )
)
_WATCHES = Prepared(
    select(watches.c.media, watches.c.fetched, watches.c.started, watches.c.ended).where(
        watches.c.assignment == bindparam("where")
    )
)
_LOCK = select(participants.c.id).where(participants.c.id == bindparam("who")).with_for_update()
_SHOW = Prepared(
    insert(visits).values(
        assignment=bindparam("where"),
        page=bindparam("what"),
        shown=bindparam("now"),
        finished=bindparam("then"),
    )
)
_CLOSE = Prepared(
    update(visits)
    .where(visits.c.assignment == bindparam("where"), visits.c.page == bindparam("what"))
    .values(finished=bindparam("now"))
)
_FINISH = Prepared(
    update(assignments).where(assignments.c.id == bindparam("where")).values(finished=bindparam("now"))
)
_ANSWER = Prepared(
    insert(judgements).values(
        assignment=bindparam("where"), page=bindparam("what"), part=bindparam("of"), answer=bindparam("said"),
        shown=bindparam("order"), given=bindparam("now"), seconds=bindparam("after"),
    )
)  # fmt: skip
_REVISE = Prepared(
    update(judgements)
    .where(
        judgements.c.assignment == bindparam("where"), judgements.c.page == bindparam("what"),
        judgements.c.part == bindparam("of"),
    )
    .values(
        answer=bindparam("said"), given=bindparam("now"), seconds=bindparam("after"),
        revised=judgements.c.revised + bindparam("more"),
    )
)  # fmt: skip
_WATCH = {
    name: (
        Prepared(
            insert(watches).values(
                {"assignment": bindparam("where"), "media": bindparam("which"), name: bindparam("now")}
            )
        ),
        Prepared(
            update(watches)
            .where(watches.c.assignment == bindparam("where"), watches.c.media == bindparam("which"))
            .values({name: bindparam("now")})
        ),
    )
    for name in ("fetched", "started", "ended")
}
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

    person: Who
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
    person = who(connection, participant)
    if person is None:
        return None
    rows = _ROWS.rows(connection, who=participant)
    waiting = [(number, item, holds) for number, item, holds, finished in rows if finished is None]
    held = [(number, item) for number, item, holds in waiting if holds]
    finished = len(rows) - len(waiting)
    return Way(
        person=person,
        current=_current(connection, study, *held[0]) if held else None,
        finished=finished,
        total=finished + len(held),
        lost=len(held) < len(waiting),
        ids=tuple(row[0] for row in rows),
    )


def _current(connection: Connection, study: Study, assignment: int, item: str) -> Current:
    seen: dict[str, tuple[float, float | None]] = {}
    order: tuple[int, ...] = ()
    for shown, name, since, finished in _VISITS.rows(connection, where=assignment):
        order = tuple(shown)
        if name is not None:
            seen[name] = (since, finished)
    pages = PAGES[study.kind]
    page = next((p for p in pages if p not in seen or seen[p][1] is None), pages[-1])
    given = _GIVEN.rows(connection, where=assignment, what=page)
    watched = _WATCHES.rows(connection, where=assignment)
    return Current(
        assignment=assignment,
        item=item,
        page=page,
        shown=order,
        since=seen[page][0] if page in seen else None,
        item_since=min((since for since, _ in seen.values()), default=None),
        answers={str(part): answer for part, answer in given},
        watches={number: Watch(*times) for number, *times in watched},
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


def show(store: Store, study: Study, participant: int, assignment: int, page: Page) -> Job[float]:
    """Note that a page is shown; since when it is."""

    def job(connection: Connection) -> float:
        current = _same(_lock(connection, participant, study), assignment, page)
        if current.since is not None:
            return current.since
        now = store.clock()
        _SHOW.change(connection, where=assignment, what=page, now=now, then=None)
        keep_alive(connection, participant, now)
        return now

    return job


def left(study: Study, current: Current, now: float) -> float | None:
    """Seconds left for the item; None without a limit."""
    if study.time_limit is None or current.item_since is None:
        return None
    return current.item_since + study.time_limit - now


def save(store: Store, study: Study, participant: int, read: Read) -> Job[None]:
    """Keep answers as they are given; the page stays open. Mappings are merged into what was saved before."""

    def job(connection: Connection) -> None:
        _save(connection, store, study, participant, read)

    return job


def finish(store: Store, study: Study, participant: int, read: Read) -> Job[None]:
    """Save the answers and close the page; with the last page the item, with the last item the study."""

    def job(connection: Connection) -> None:
        found, page, now = _save(connection, store, study, participant, read)
        _close(connection, study, found, (page,), now)

    return job


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


def time_up(store: Store, study: Study, item: StudyItem, participant: int, assignment: int) -> Job[None]:
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
                _ANSWER.change(
                    connection, where=assignment, what=page, of=part, said=None, order=current.shown, now=now,
                    after=None,
                )  # fmt: skip
        _close(connection, study, found, remaining, now)

    return job


def _close(connection: Connection, study: Study, found: Way, pages: Iterable[Page], now: float) -> None:
    current = found.current
    assert current is not None
    for page in pages:
        if not _CLOSE.change(connection, where=current.assignment, what=page, now=now):
            _SHOW.change(connection, where=current.assignment, what=page, now=now, then=now)
    _alive(connection, found, now)
    if PAGES[study.kind][-1] not in pages:
        return
    _FINISH.change(connection, where=current.assignment, now=now)
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
    after = None if current.since is None else round(now - current.since, 3)
    for part, answer in answers.items():
        line = {"where": current.assignment, "what": current.page, "of": part, "now": now, "after": after}
        if part not in current.answers:
            order = current.shown if current.page != "free" else ()
            _ANSWER.change(connection, **line, said=answer, order=order)
            continue
        before = current.answers[part]
        whole = {**before, **answer} if isinstance(before, dict) and isinstance(answer, dict) else answer
        if whole == before:
            continue
        # A word that is typed is no change of mind, nor is the second scale of a part.
        changed = current.page != "free" and not _grows(before, whole)
        _REVISE.change(connection, **line, said=whole, more=int(changed))


def _grows(before: Any, after: Any) -> bool:
    return isinstance(before, dict) and isinstance(after, dict) and before.items() <= after.items()


def watched(
    store: Store, study: Study, participant: int, assignment: int, media: int, what: str
) -> Job[Watch]:
    """Note the first time that a file was fetched, started or ended."""

    def job(connection: Connection) -> Watch:
        found = _lock(connection, participant, study)
        current, now = found.current, store.clock()
        if current is None or current.assignment != assignment:
            raise GoneError
        before = current.watches.get(media)
        _alive(connection, found, now)
        add, change = _WATCH[what]
        if before is None:
            add.change(connection, where=assignment, which=media, now=now)
            return Watch(**{what: now})
        if getattr(before, what) is None:
            change.change(connection, where=assignment, which=media, now=now)
            return structs.replace(before, **{what: now})
        return before

    return job
