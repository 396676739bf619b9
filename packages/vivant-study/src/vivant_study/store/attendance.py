"""How long a video was played and a page was left: reports of the page's script, within the server's own time."""

from __future__ import annotations

from typing import Any

from msgspec import structs
from sqlalchemy import Connection, Float, Integer, bindparam, exists, insert, or_, select, update

from vivant_study.design import Page, Study
from vivant_study.store.answers import note_activity
from vivant_study.store.database import Job
from vivant_study.store.participant_state import PlaybackTimes, lock_assignment, lock_owner
from vivant_study.store.statements import Statement
from vivant_study.store.store import StudyStore
from vivant_study.store.tables import assignments, visits, watches

_WATCH: dict[str, Any] = {
    name: bindparam(f"{name}_value") for name in ("fetched", "started", "ended", "played", "plays", "report")
}
_ADD_WATCH = Statement(
    insert(watches).values(assignment=bindparam("assignment_id"), media=bindparam("media_index"), **_WATCH)
)
_CHANGE_WATCH = Statement(
    update(watches)
    .where(watches.c.assignment == bindparam("assignment_id"), watches.c.media == bindparam("media_index"))
    .values(**_WATCH)
)
_FETCH = Statement(
    insert(watches).from_select(
        ["assignment", "media", "fetched"],
        select(
            assignments.c.id, bindparam("media_index", type_=Integer), bindparam("now", type_=Float)
        ).where(
            assignments.c.id == bindparam("assignment_id"),
            ~exists().where(
                watches.c.assignment == assignments.c.id, watches.c.media == bindparam("media_index")
            ),
        ),
    )
)  # fmt: skip
_FETCH_LATER = Statement(
    update(watches)
    .where(
        watches.c.assignment == bindparam("assignment_id"), watches.c.media == bindparam("media_index"),
        watches.c.fetched.is_(None),
    )
    .values(fetched=bindparam("now"))
)  # fmt: skip
_LEAVE = Statement(
    update(visits)
    .where(
        visits.c.assignment == bindparam("assignment_id"), visits.c.page == bindparam("page_name"),
        or_(bindparam("number") == "", visits.c.report != bindparam("number")),
    )
    .values(
        away=visits.c.away + bindparam("seconds"), leaves=visits.c.leaves + 1, report=bindparam("number")
    )
)  # fmt: skip
SPEED = 1.1
"""How much faster than the server's clock a player may run: clocks differ, browsers round."""


def record_playback(
    store: StudyStore,
    study: Study,
    participant: int,
    assignment: int,
    media: int,
    event: str,
    seconds: float = 0.0,
    report: str = "",
) -> Job[PlaybackTimes]:
    """Note what became of a media file: ready (a script watches it), started, playing or ended.

    Args:
        store: the study's store.
        study: the study.
        participant: whose page it is.
        assignment: the item's place.
        media: the file's number in the item.
        event: what happened.
        seconds: played since the last report. No more counts than the time since the file was fetched or first
            started: over a slow connection the report of the start comes late.
        report: the report's number. The last one counts once, however often it is sent: its answer may be lost.
    """

    def job(connection: Connection) -> PlaybackTimes:
        state, current, now = lock_assignment(connection, store, study, participant, assignment)
        before = current.watches.get(media)
        note_activity(connection, state, now)
        if before is not None and report and before.report == report:
            return before
        times = _add_report(before or PlaybackTimes(), event, seconds, now)
        if report:
            times = structs.replace(times, report=report)
        if times != before:
            statement = _ADD_WATCH if before is None else _CHANGE_WATCH
            values = {f"{name}_value": value for name, value in structs.asdict(times).items()}
            statement.change(connection, assignment_id=assignment, media_index=media, **values)
        return times

    return job


def record_fetch(store: StudyStore, assignment: int, media: int) -> Job[None]:
    """Note that a media file was asked for, the first time. Whether a script watches it, this does not tell."""

    def job(connection: Connection) -> None:
        lock_owner(connection, assignment)
        values = {"assignment_id": assignment, "media_index": media, "now": store.clock()}
        if not _FETCH.change(connection, **values):
            _FETCH_LATER.change(connection, **values)

    return job


def _add_report(times: PlaybackTimes, event: str, seconds: float, now: float) -> PlaybackTimes:
    played = times.played or 0.0
    if event in ("playing", "ended") and times.started is not None:
        since = min(times.started, times.started if times.fetched is None else times.fetched)
        played = min(played + max(0.0, seconds), max(0.0, now - since) * SPEED)
    return PlaybackTimes(
        fetched=times.fetched,
        started=now if event == "started" and times.started is None else times.started,
        ended=now if event == "ended" and times.ended is None else times.ended,
        played=round(played, 3),
        plays=times.plays + (event == "started"),
        report=times.report,
    )


def record_absence(
    store: StudyStore,
    study: Study,
    participant: int,
    assignment: int,
    page: Page,
    seconds: float,
    report: str = "",
) -> Job[None]:
    """Note that a participant left the page open and came back after so many seconds; the last report counts once."""

    def job(connection: Connection) -> None:
        _, current, now = lock_assignment(connection, store, study, participant, assignment)
        since = now if current.since is None else current.since
        counted = min(max(0.0, seconds), max(0.0, now - since))
        values = {"seconds": round(counted, 3), "number": report}
        _LEAVE.change(connection, assignment_id=assignment, page_name=page, **values)

    return job
