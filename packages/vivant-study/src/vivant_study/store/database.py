"""Connections to a study's database: many readers, and writers whose answer means that the data are on the disk.

SQLite has one connection that writes (`session.py`). What it commits is in the journal; all that was committed while
the last flush ran is flushed together (`journal.py`), and `write` returns only after that. So hundreds of people cost a
few flushes a second. Notes that nobody is told of (a page was shown, a file fetched, somebody is there) wait for none:
they outlive the process, and the next flush takes them along. PostgreSQL commits each write by itself; row locks keep
writes of one participant apart.

`write_async` and `read_async` are for the event loop. On SQLite they run in it: a few rows are read or written sooner
than a thread is woken. Where the database is locked, a thread waits for it.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, exc
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import StaticPool

from vivant.core.errors import UsageError, VivantError
from vivant_study.store.journal import Journal
from vivant_study.store.session import SessionBusyError, SqliteSession
from vivant_study.store.statements import driver_connection

T = TypeVar("T")
Job = Callable[[Connection], T]
"""Something to be done in a transaction. It may run twice where PostgreSQL asks for it: it must touch nothing else."""
MEMORY = "sqlite://"
_READ, _WRITE = "BEGIN", "BEGIN IMMEDIATE"
_JOURNAL_WRITES = 200
"""Writes after which the journal is copied into the database."""
_CONNECTIONS = 20
_WAIT = 10
"""Seconds that a write waits for another process's lock."""
_AGAIN = frozenset({"40001", "40P01"})
"""PostgreSQL's codes for two transactions that got in each other's way."""


_FAILURES = (exc.DBAPIError, exc.TimeoutError, sqlite3.Error)
_BUGS = (
    exc.IntegrityError, exc.ProgrammingError, exc.DataError,
    sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError,
)  # fmt: skip


class StoreError(VivantError):
    """The database cannot be used as it is."""


class StoreUnavailableError(StoreError):
    """The database fails for now (full disk, locked, out of reach): nothing was written, trying again may help."""


def database_url(study: Path, text: str | None) -> URL:
    """Where a study's answers lie: `study.db` in its folder unless another place is named."""
    if not text:
        return URL.create("sqlite", database=str(study / "study.db"))
    try:
        url = make_url(text)
    except exc.ArgumentError:
        raise UsageError(
            "That is no database URL; write sqlite:///answers.db or postgresql://user@host/name"
        ) from None
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise UsageError(f"A study is kept in SQLite or PostgreSQL, not in {url.drivername}")
    return url


class Database:
    """One study's database, for all threads of a process."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self.sqlite = url.get_backend_name() == "sqlite"
        self.memory = self.sqlite and not url.database
        self._memory_lock = threading.RLock()
        self._closed = False
        self._writes = 0
        # As many as there can be connections; they end with it.
        self._threads = ThreadPoolExecutor(_CONNECTIONS, "study-database")
        self._readers = self._engine()
        self._session: SqliteSession | None = None
        if self.sqlite and url.database:
            path = Path(url.database)
            _make_private(path)
            self._journal = Journal(path)
            self._writers = self._engine(writes=True)
            self._session = SqliteSession(self._writers)
        else:
            self._writers = self._readers

    @property
    def display_url(self) -> str:
        """The address without a password."""
        if self.memory:
            return "memory"
        return str(self.url.database) if self.sqlite else self.url.render_as_string(hide_password=True)

    def _engine(self, *, writes: bool = False) -> Engine:
        if not self.sqlite:
            return create_engine(
                self.url, pool_size=10, max_overflow=_CONNECTIONS - 10, pool_pre_ping=True, pool_timeout=_WAIT,
                connect_args={"connect_timeout": 5},
            )  # fmt: skip
        # The event loop, which shares the connection that writes, must not wait for a lock.
        arguments: dict[str, Any] = {"check_same_thread": False, "timeout": 0 if writes else _WAIT}
        if self.memory:
            engine = create_engine(self.url, poolclass=StaticPool, connect_args=arguments)
        else:
            engine = create_engine(
                self.url,
                pool_size=1 if writes else 8,
                max_overflow=0 if writes else 40,
                connect_args=arguments,
            )
        event.listen(engine, "connect", _set_up_writer if writes else _set_up_sqlite)
        event.listen(engine, "begin", _begin_write if writes else _begin_read)
        return engine

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one moment of the database."""
        try:
            # Begun here, not by the first statement: those that go by SQLAlchemy would begin nothing.
            if self.memory:
                with self._memory_lock, self._readers.begin() as connection:
                    yield connection
            else:
                with self._readers.begin() as connection:
                    yield connection
        except _FAILURES as error:
            raise self.explain(error) from error

    async def read_async(self, job: Job[T]) -> T:
        """The same for the event loop: read a few rows."""
        if self._session is not None:
            try:
                return self._session.run(job, _READ)
            except (SessionBusyError, exc.OperationalError, sqlite3.OperationalError):
                # Locked, or worse: a thread has the patience to find out.
                pass
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, job)

    def _read(self, job: Job[T]) -> T:
        with self.read() as connection:
            return job(connection)

    async def write_async(self, job: Job[T], *, note: bool = False) -> T:
        """`write` for the event loop. A `note` need not be on the disk before the answer: it is no participant's."""
        if self._session is None:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self.write, job)
        self._check_open()
        try:
            value = self._session.run(job, _WRITE)
            self._count_write()
            if not note:
                await self._journal.flush_async()
        except SessionBusyError:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self.write, job)
        except _FAILURES as error:
            raise self.explain(error) from error
        return value

    def write(self, job: Job[T]) -> T:
        """Run a job in a transaction; what it returns comes back once it is on the disk.

        What it raises is raised here, and nothing of it is kept.
        """
        self._check_open()
        for attempt in range(4):
            try:
                if self._session is not None:
                    value = self._session.run_patiently(job, _WRITE, _WAIT)
                    self._count_write()
                    self._journal.flush()
                    return value
                if self.memory:
                    with self._memory_lock, self._writers.begin() as connection:
                        return job(connection)
                with self._writers.begin() as connection:
                    return job(connection)
            except _FAILURES as error:
                if getattr(getattr(error, "orig", None), "sqlstate", None) in _AGAIN and attempt < 3:
                    continue
                raise self.explain(error) from error
        raise AssertionError("unreachable")

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailableError(f"The database {self.display_url} is closed")

    def _count_write(self) -> None:
        self._writes += 1
        if self._writes >= _JOURNAL_WRITES:
            self._writes = 0
            with suppress(RuntimeError):
                self._threads.submit(self._shorten_journal)

    def _shorten_journal(self) -> None:
        """Copy the journal into the database beside all others, then what came meanwhile with nobody writing: only a
        journal that is copied to its end is begun anew."""
        assert self._session is not None
        with suppress(sqlite3.Error):
            self._journal.empty()
            self._session.pause(self._journal.empty)

    def purge(self) -> None:
        """Leave no bytes of what was deleted: SQLite's journal is emptied, PostgreSQL's tables are rewritten."""
        if self.memory:
            return
        try:
            if self.sqlite:
                self._empty_journal()
            else:
                with self._writers.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                    for table in ("judgements", "visits", "watches", "assignments", "participants"):
                        connection.exec_driver_sql(f"VACUUM FULL {table}")
        except _FAILURES as error:
            raise self.explain(error) from error

    def _empty_journal(self) -> None:
        connection = sqlite3.connect(str(self.url.database), timeout=1, isolation_level=None)
        try:
            for _ in range(_WAIT):
                # Readers are quick: one of the tries meets none.
                if not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    return
        finally:
            connection.close()
        raise StoreUnavailableError(
            f"The journal of {self.display_url} cannot be emptied, because somebody reads the database; "
            "what was deleted may still be in it until the next try"
        )

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        if self._session is not None:
            self._journal.close()
            self._session.close()
        for engine in {self._readers, self._writers}:
            engine.dispose()

    def explain(self, error: Exception) -> Exception:
        """One line for the operator; an error that tells of our own mistake comes back as it is."""
        if isinstance(error, _BUGS):
            return error
        message = " ".join(str(getattr(error, "orig", None) or error).split())
        low = message.lower()
        if "full" in low or "no space" in low:
            remedy = "make room on the disk; participants' pages keep trying"
        elif "locked" in low:
            remedy = "another program holds it; end that one, participants' pages keep trying"
        elif "not a database" in low or "malformed" in low:
            remedy = "see that it is the right file, or restore a backup"
        elif "readonly" in low or "unable to open" in low or "disk i/o" in low:
            remedy = "see that the file and its folder are there and may be written"
        else:
            remedy = "see that the server runs and lets this user in; participants' pages keep trying"
        return StoreUnavailableError(f"The database {self.display_url} fails: {message}; {remedy}")


def _make_private(path: Path) -> None:
    """A new file that this user alone reads: it holds answers and the study's secret. Its journals follow it."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreError(f"Cannot make the database {path}: {error.strerror}") from error


def _set_up_sqlite(connection: Any, _: Any) -> None:
    # The driver's own handling of transactions would begin too late; see the "begin" event.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    # What is deleted is overwritten: people may withdraw.
    cursor.execute("PRAGMA secure_delete=ON")
    cursor.close()


def _set_up_writer(connection: Any, _: Any) -> None:
    _set_up_sqlite(connection, _)
    # `Journal` does both in time, off the event loop.
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA wal_autocheckpoint=0")


def _begin_read(connection: Connection) -> None:
    driver_connection(connection).execute(_READ)


def _begin_write(connection: Connection) -> None:
    driver = driver_connection(connection)
    if not driver.in_transaction:
        driver.execute(_WRITE)
