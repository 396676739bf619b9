"""What a person gave, taken out or handed over: in the database, its journal, and the backups made of it.

SQLite overwrites what is deleted (`secure_delete`), and its journal is emptied; PostgreSQL rewrites its tables. A
backup that `vivant study backup` made is known, and the person is removed from it too.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, select, update

from vivant.core.errors import UsageError
from vivant_study.store.database import Database, StoreError, database_url
from vivant_study.store.people import withdraw_annotator
from vivant_study.store.store import StudyStore, format_time, log_event
from vivant_study.store.study_settings import get_setting, lock_study, set_setting
from vivant_study.store.tables import assignments, events, judgements, participants, visits, watches

_BACKUPS = "backups"
_DAY = 86400.0
_NO_LINKS = {"token": None, "recruited": None, "session": None}
logger = logging.getLogger("vivant")


class StudyBackup(Struct, frozen=True):
    """A copy of the database that was made, and when."""

    path: str
    at: str


class BackupError(Struct, frozen=True):
    """A backup from which somebody could not be removed."""

    path: str
    problem: str


def make_backup(store: StudyStore, target: Path) -> StudyBackup:
    """Copy a study's SQLite database while it is served, and remember the copy."""
    if not store.database.sqlite or store.database.memory:
        raise UsageError(
            "The database is PostgreSQL: back it up with pg_dump. People who withdraw later are in that file still"
        )
    if target.exists():
        raise UsageError(f"{target} exists already; name another file")
    # Only a copy that is remembered gets its name: whoever withdraws after that is removed from it.
    partial = target.with_name(f"{target.name}.partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
        partial.touch(0o600)
        with (
            closing(sqlite3.connect(str(store.database.url.database), timeout=30)) as source,
            closing(sqlite3.connect(partial)) as copy,
        ):
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
            people = copy.execute("SELECT annotator FROM participants WHERE state != 'withdrawn'").fetchall()
        backup = StudyBackup(str(target.resolve()), format_time(store.clock()))

        def remember(connection: Connection) -> None:
            lock_study(connection)
            known = _read_backups(connection)
            set_setting(connection, _BACKUPS, msgspec.json.encode([*known, backup]).decode())

        store.database.write(remember)
        partial.rename(target)
    except (OSError, sqlite3.Error) as error:
        raise UsageError(f"Cannot write the backup {target}: {error}") from error
    finally:
        if partial.is_file():  # nobody who withdraws would be removed from it
            partial.unlink()
    with store.database.read() as connection:
        query = select(participants.c.annotator).where(participants.c.state == "withdrawn")
        withdrawn = set(connection.scalars(query))
    # Who withdrew while the copy was made is still in it.
    gone = [name for (name,) in people if name in withdrawn]
    if gone:
        _remove_from_backup(target, gone, store.clock())
    return backup


def list_backups(store: StudyStore) -> list[StudyBackup]:
    """The backups that are known and still there."""
    with store.database.read() as connection:
        return [backup for backup in _read_backups(connection) if Path(backup.path).is_file()]


def _read_backups(connection: Connection) -> list[StudyBackup]:
    return msgspec.json.decode(get_setting(connection, _BACKUPS) or "[]", type=list[StudyBackup])


def purge(store: StudyStore, annotators: list[str], *, links: bool = False) -> list[BackupError]:
    """Delete the same people in all backups, and leave no bytes of what was deleted in the database.

    Backups where that failed are noted in the study's record, and returned. They come first: a database that cannot be
    purged now, because somebody reads it, must not keep people in them.

    Args:
        store: the study's store, from which the people are deleted already.
        annotators: who.
        links: whether the hashes of their links go too.
    """
    problems: list[BackupError] = []
    for backup in list_backups(store):
        try:
            _remove_from_backup(Path(backup.path), annotators, store.clock(), links=links)
        except (StoreError, OSError) as error:
            problems.append(BackupError(backup.path, str(error)))
    if problems:
        store.database.write(lambda connection: _log_problems(connection, store, annotators, problems))
    store.database.purge()
    return problems


def _remove_from_backup(path: Path, annotators: list[str], now: float, *, links: bool = False) -> None:
    def job(connection: Connection) -> None:
        for annotator in annotators:
            withdraw_annotator(connection, now, annotator)
            if links:
                own = participants.c.annotator == annotator
                connection.execute(update(participants).where(own).values(**_NO_LINKS))

    database = Database(database_url(path.parent, f"sqlite:///{path}"))
    try:
        database.write(job)
        database.purge()
    finally:
        database.close()


def delete_person(store: StudyStore, annotator: str) -> list[BackupError]:
    """Remove all that a person gave, everywhere, at the organiser's hand; the backups where that failed."""
    store.database.write(
        lambda connection: withdraw_annotator(connection, store.clock(), annotator, "deleted")
    )
    return purge(store, [annotator])


def delete_expired(store: StudyStore, days: int) -> list[str]:
    """Remove everybody whose last sign of life is so many days ago, the hashes of their links included."""
    before = store.clock() - days * _DAY

    def job(connection: Connection) -> list[str]:
        lock_study(connection)
        query = select(participants.c.annotator).where(
            participants.c.seen < before, participants.c.state != "withdrawn"
        )
        names = list(connection.scalars(query))
        # Before the withdrawals, which set the time of the last sign of life.
        connection.execute(update(participants).where(participants.c.seen < before).values(**_NO_LINKS))
        for name in names:
            withdraw_annotator(connection, store.clock(), name, "expired")
        return names

    with store.database.read() as connection:
        query = select(participants.c.id).where(
            participants.c.seen < before, participants.c.state != "withdrawn"
        )
        if connection.execute(query.limit(1)).first() is None:
            return []
    names = store.database.write(job)
    for problem in purge(store, names, links=True):
        logger.warning(
            "%d people whose time is up are still in the backup %s: %s",
            len(names),
            problem.path,
            problem.problem,
        )
    return names


def export_person(store: StudyStore, annotator: str) -> dict[str, Any]:
    """Everything that the database holds about a person."""
    with store.database.read() as connection:
        row = connection.execute(select(participants).where(participants.c.annotator == annotator)).one()
        own = select(assignments.c.id).where(assignments.c.participant == row.id)

        def rows(table: Any, condition: Any) -> Iterator[dict[str, Any]]:
            for line in connection.execute(select(table).where(condition)).mappings():
                yield dict(line)

        return {
            "participant": dict(row._mapping),
            "places": list(rows(assignments, assignments.c.participant == row.id)),
            "pages": list(rows(visits, visits.c.assignment.in_(own))),
            "videos": list(rows(watches, watches.c.assignment.in_(own))),
            "answers": list(rows(judgements, judgements.c.assignment.in_(own))),
            "events": list(rows(events, events.c.annotator == annotator)),
            "backups": [backup.path for backup in _read_backups(connection)],
        }


def _log_problems(
    connection: Connection, store: StudyStore, annotators: list[str], problems: list[BackupError]
) -> None:
    """Note in the study's record which backups still hold a person."""
    for annotator in annotators:
        for problem in problems:
            detail = f"not removed from the backup {problem.path}: {problem.problem}"
            log_event(connection, store.clock(), "backup", annotator, detail)
