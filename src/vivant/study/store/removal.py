"""What a person gave, taken out or handed over: in the database, its journal, and the backups made of it.

SQLite overwrites what is deleted (`secure_delete`), and its journal is emptied; PostgreSQL rewrites its tables. A
backup that `vivant study backup` made is known, and the person is removed from it too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, select, update

from vivant.core.errors import UsageError
from vivant.study.store.database import Database, StoreError, database_url
from vivant.study.store.people import withdraw_annotator
from vivant.study.store.store import StudyStore, format_time, get_setting, lock_study, log_event, set_setting
from vivant.study.store.tables import assignments, events, judgements, participants, visits, watches

_BACKUPS = "backups"
_DAY = 86400.0


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
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch(0o600)
        with (
            sqlite3.connect(str(store.database.url.database), timeout=30) as source,
            sqlite3.connect(target) as copy,
        ):
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
        source.close()
        copy.close()
    except (OSError, sqlite3.Error) as error:
        raise UsageError(f"Cannot write the backup {target}: {error}") from error
    backup = StudyBackup(str(target.resolve()), format_time(store.clock()))

    def remember(connection: Connection) -> None:
        lock_study(connection)
        known = _read_backups(connection)
        set_setting(connection, _BACKUPS, msgspec.json.encode([*known, backup]).decode())

    store.database.write(remember)
    return backup


def list_backups(store: StudyStore) -> list[StudyBackup]:
    """The backups that are known and still there."""
    with store.database.read() as connection:
        return [backup for backup in _read_backups(connection) if Path(backup.path).is_file()]


def _read_backups(connection: Connection) -> list[StudyBackup]:
    return msgspec.json.decode(get_setting(connection, _BACKUPS) or "[]", type=list[StudyBackup])


def purge(store: StudyStore, annotators: list[str]) -> list[BackupError]:
    """Leave no bytes of what was deleted, and delete the same people in all backups; those where that failed."""
    store.database.purge()
    problems: list[BackupError] = []
    for backup in list_backups(store):
        try:
            _remove_from_backup(Path(backup.path), annotators, store.clock())
        except (StoreError, OSError) as error:
            problems.append(BackupError(backup.path, str(error)))
    return problems


def _remove_from_backup(path: Path, annotators: list[str], now: float) -> None:
    database = Database(database_url(path.parent, f"sqlite:///{path}"))
    try:
        for annotator in annotators:
            database.write(lambda connection, name=annotator: withdraw_annotator(connection, now, name))  # type: ignore[misc]
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
        connection.execute(
            update(participants)
            .where(participants.c.seen < before)
            .values(token=None, recruited=None, session=None)
        )
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
    purge(store, names)
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


def log_removal_problems(store: StudyStore, annotator: str, problems: list[BackupError]) -> None:
    """Note in the study's record which backups still hold a person."""
    for problem in problems:
        detail = f"not removed from the backup {problem.path}: {problem.problem}"
        store.database.write(
            lambda connection, text=detail: log_event(connection, store.clock(), "backup", annotator, text)  # type: ignore[misc]
        )
