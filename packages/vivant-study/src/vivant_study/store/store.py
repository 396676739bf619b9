"""The researcher's side of a store: people, judgements and events as streams; exclusion, progress, imports."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection, Subquery, func, insert, select, update

from vivant.core.closing import Closeable
from vivant.core.errors import UsageError, unknown_name_error
from vivant_study.judgement import StudyJudgement, StudyPerson
from vivant_study.store import schema
from vivant_study.store.database import MEMORY, Database, StoreError, database_url
from vivant_study.store.progress import ItemProgress, StudyEvent, StudyProgress
from vivant_study.store.study_settings import get_setting, lock_places, lock_study, set_setting
from vivant_study.store.tables import assignments, events, judgements, participants, visits, watches

_STEP = 500
"""Rows fetched at a time."""
_CLOCK_SLACK = 60.0
"""Seconds by which the computer's clock may be behind without a word."""
logger = logging.getLogger("vivant")


def open_store(
    study_dir: str | Path,
    database_url: str | None = None,
    *,
    create: bool = True,
    clock: Callable[[], float] | None = None,
) -> StudyStore:
    """The store of a study. An older database is refused with the remedy; an empty one gets its tables.

    `create=False` refuses an empty one too.
    """
    return StudyStore(Path(study_dir), database_url, create=create, clock=clock)


class StudyStore(Closeable):
    """A study's database. All methods may be called from any thread."""

    def __init__(
        self, study: Path, url: str | None, *, create: bool, clock: Callable[[], float] | None
    ) -> None:
        self.study = study
        address = database_url(study, url)
        on_disk = address.database if address.get_backend_name() == "sqlite" else None
        if not create and on_disk and not Path(on_disk).is_file():
            raise StoreError(
                f"{study} has no answers yet: there is no {on_disk}; `vivant study serve {study}`"
            )
        self.database = Database(address)
        try:
            schema.check_version(self.database, study, create=create)
            self.secret = self._secret()
            self.clock = clock or start_clock(self._read_latest_time())
            self.opened = self.clock()
        except BaseException:
            self.database.close()
            raise

    def close(self) -> None:
        """Write what waits, and let go of the database."""
        self.database.close()

    def _secret(self) -> bytes:
        """Made once for each study: it salts all hashes and signs all sessions."""
        with self.database.read() as connection:
            known = get_setting(connection, "secret")
        if known is None:
            known = self.database.write(
                lambda c: set_setting(c, "secret", secrets.token_hex(32), overwrite=False)
            )
        return bytes.fromhex(known)

    def _read_latest_time(self) -> float:
        """The latest time in the database; 0 where nobody has come yet."""
        with self.database.read() as connection:
            times = [
                connection.scalar(select(func.max(column))) for column in (participants.c.seen, events.c.at)
            ]
        return max((at for at in times if at is not None), default=0.0)

    # ── reading ──

    def people(self) -> Iterator[StudyPerson]:
        """Everybody who has a link or has come, in the order of their coming."""
        query = select(participants).order_by(participants.c.id)
        with self.database.read() as connection:
            for row in connection.execution_options(yield_per=_STEP).execute(query):
                withdrawn = row.state == "withdrawn"
                yield StudyPerson(
                    annotator=row.annotator,
                    state=row.state,
                    language=row.language,
                    recruited="" if withdrawn else row.recruited or "",
                    created=format_time(row.created),
                    consented=format_time(row.consented),
                    finished=format_time(row.finished),
                    answers=row.answers,
                    excluded=row.excluded,
                    outcome=row.outcome,
                    failures=row.failures,
                )

    def judgements(self, annotator: str | None = None) -> Iterator[StudyJudgement]:
        """Every answer there is, or those of one person, excluded people's and unfinished items' included."""
        played = _summarize_playback()
        query = (
            select(
                participants.c.annotator,
                assignments.c.item,
                assignments.c.position,
                assignments.c.finished,
                assignments.c.is_check,
                judgements.c.page,
                judgements.c.part,
                judgements.c.answer,
                judgements.c.shown,
                judgements.c.given,
                judgements.c.seconds,
                judgements.c.revised,
                judgements.c.late,
                visits.c.away,
                visits.c.leaves,
                *(column for column in played.c if column.name != "assignment"),
            )
            .join(assignments, judgements.c.assignment == assignments.c.id)
            .join(participants, assignments.c.participant == participants.c.id)
            .outerjoin(
                visits,
                (visits.c.assignment == judgements.c.assignment) & (visits.c.page == judgements.c.page),
            )
            .outerjoin(played, played.c.assignment == judgements.c.assignment)
            .order_by(participants.c.id, assignments.c.position, judgements.c.id)
        )
        if annotator is not None:
            query = query.where(participants.c.annotator == annotator)
        with self.database.read() as connection:
            for row in connection.execution_options(yield_per=_STEP).execute(query):
                yield StudyJudgement(
                    annotator=row.annotator,
                    item=row.item,
                    page=row.page,
                    part=row.part,
                    answer=row.answer,
                    shown=tuple(row.shown),
                    position=row.position,
                    given=format_time(row.given),
                    seconds=row.seconds,
                    revised=row.revised,
                    complete=row.finished is not None,
                    check=row.is_check,
                    watched=_describe_watching(row.files, row.ends, row.reports),
                    started=format_time(row.first_start),
                    ended=format_time(row.last_end) if row.files == row.ends else "",
                    played=row.played,
                    plays=row.plays or 0,
                    away=row.away or 0.0,
                    leaves=row.leaves or 0,
                    late=row.late,
                )

    def events(self) -> Iterator[StudyEvent]:
        """What changed the study, oldest first."""
        with self.database.read() as connection:
            query = select(events).order_by(events.c.id)
            for row in connection.execution_options(yield_per=_STEP).execute(query):
                yield StudyEvent(
                    at=format_time(row.at), kind=row.kind, annotator=row.annotator, detail=row.detail
                )

    def progress(self, items: Iterable[str] = ()) -> StudyProgress:
        """How far the study is; `items` are named even where nobody has met them yet."""
        with self.database.read() as connection:
            done = func.count(assignments.c.finished)
            rows = connection.execute(
                select(assignments.c.item, done, func.count() - done)
                .where(assignments.c.holds, assignments.c.slot.is_not(None))
                .group_by(assignments.c.item)
            )
            counts: dict[str, tuple[int, int]] = dict.fromkeys(items, (0, 0))
            counts.update({row[0]: (row[1], row[2]) for row in rows})
            states = connection.execute(
                select(participants.c.state, func.count()).group_by(participants.c.state)
            )
            excluded = connection.scalar(
                select(func.count()).select_from(participants).where(participants.c.excluded != "")
            )
            return StudyProgress(
                target=int(get_setting(connection, "target") or 0),
                items=tuple(
                    ItemProgress(item=name, finished=finished, held=held)
                    for name, (finished, held) in counts.items()
                ),
                people={row[0]: row[1] for row in states},
                excluded=excluded or 0,
                paused=get_setting(connection, "paused") == "yes",
            )

    def list_assigned_items(self) -> set[str]:
        """Every item that was ever given to somebody, checks included."""
        with self.database.read() as connection:
            return set(connection.scalars(select(assignments.c.item).distinct()))

    # ── steering ──

    def exclude(self, annotator: str, reason: str) -> None:
        """Let a person's judgements not count, and give their places to others; an empty reason takes them back."""

        def job(connection: Connection) -> None:
            lock_places(connection)
            known = connection.scalar(select(participants.c.id).where(participants.c.annotator == annotator))
            if known is None:
                names = connection.scalars(select(participants.c.annotator)).all()
                raise unknown_name_error("annotator", annotator, names)
            connection.execute(update(participants).where(participants.c.id == known).values(excluded=reason))
            if reason:
                connection.execute(
                    update(assignments).where(assignments.c.participant == known).values(holds=False)
                )
            else:
                from vivant_study.store.assign import reclaim

                reclaim(connection, known)
            log_event(connection, self.clock(), "excluded" if reason else "reinstated", annotator, reason)

        self.database.write(job)

    def pause(self, paused: bool) -> None:
        """Let participants wait, or go on."""

        def job(connection: Connection) -> None:
            set_setting(connection, "paused", "yes" if paused else "no")
            log_event(connection, self.clock(), "paused" if paused else "resumed")

        self.database.write(job)

    def read_setting(self, name: str) -> str | None:
        """A setting's value; None where it was never set."""
        with self.database.read() as connection:
            return get_setting(connection, name)

    def write_setting(self, name: str, value: str) -> None:
        """Set a setting."""
        self.database.write(lambda connection: set_setting(connection, name, value))

    def count_up(self, name: str) -> None:
        """Add one to a setting that is a number."""

        def job(connection: Connection) -> None:
            lock_study(connection)
            set_setting(connection, name, str(int(get_setting(connection, name) or 0) + 1))

        self.database.write(job)

    def set_target(self, target: int) -> None:
        """Let each item get so many judgements. Fewer than an item has, or somebody is at, is refused."""

        def job(connection: Connection) -> None:
            lock_study(connection)
            before = int(get_setting(connection, "target") or 0)
            taken = connection.scalar(select(func.max(assignments.c.slot)).where(assignments.c.holds))
            least = 0 if taken is None else taken + 1
            if target < least:
                raise UsageError(f"An item has {least} judgements already; set {least} or more")
            if target != before:
                set_setting(connection, "target", str(target))
                log_event(
                    connection, self.clock(), "places", detail=f"{before} to {target} judgements per item"
                )

        self.database.write(job)

    def raise_target(self, target: int) -> int:
        """At least so many judgements for each item; what holds from now on."""
        with self.database.read() as connection:
            before = int(get_setting(connection, "target") or 0)
        if before < target:
            self.set_target(target)
        return max(before, target)

    def add_imported(
        self, people: Iterable[StudyPerson], judged: Iterable[StudyJudgement]
    ) -> tuple[int, int]:
        """Take in people and judgements from elsewhere; how many of each. A known annotator is refused."""
        from vivant_study.store.imports import add_imported

        return self.database.write(lambda connection: add_imported(connection, self.clock(), people, judged))


def _summarize_playback() -> Subquery:
    """What became of the media files of each place, together."""
    return (
        select(
            watches.c.assignment,
            func.count().label("files"),
            func.count(watches.c.ended).label("ends"),
            func.count(watches.c.played).label("reports"),
            func.min(watches.c.started).label("first_start"),
            func.max(watches.c.ended).label("last_end"),
            func.sum(watches.c.played).label("played"),
            func.sum(watches.c.plays).label("plays"),
        )
        .group_by(watches.c.assignment)
        .subquery()
    )


def _describe_watching(
    files: int | None, ends: int | None, reports: int | None
) -> Literal["", "whole", "part", "unconfirmed"]:
    if not files:
        return ""
    if files == ends:
        return "whole"
    return "part" if reports else "unconfirmed"


def log_event(connection: Connection, at: float, kind: str, annotator: str = "", detail: str = "") -> None:
    """Add to the record of what changed the study."""
    connection.execute(insert(events).values(at=at, kind=kind, annotator=annotator, detail=detail))


def format_time(at: float | None) -> str:
    """ISO 8601 in UTC; empty for never."""
    return "" if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def start_clock(latest: float) -> Callable[[], float]:
    """A clock in seconds since 1970 that never goes back, whatever becomes of the computer's own.

    Args:
        latest: the latest time that was recorded before; the clock starts no earlier.
    """
    wall = time.time()
    if wall < latest - _CLOCK_SLACK:
        logger.warning(
            "The computer's clock is %.0f seconds behind the study's latest entry; times go on from that entry. "
            "Set the clock, then start the server again.",
            latest - wall,
        )
    offset = max(wall, latest) - time.monotonic()
    return lambda: time.monotonic() + offset


def open_memory_store(study: Path, clock: Callable[[], float] | None = None) -> StudyStore:
    """A store that is gone with the process, for previews."""
    return StudyStore(study, MEMORY, create=True, clock=clock)
