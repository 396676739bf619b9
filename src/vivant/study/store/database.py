"""Connections to a study's database: many readers, and writers whose answer means that the data are on the disk.

SQLite has one writer: a thread that takes all writes that wait, runs each in a savepoint, and commits them together
with one flush to the disk (WAL, synchronous=FULL). So hundreds of people cost a few flushes a second, and `write`
returns only after the flush. PostgreSQL commits each write by itself; row locks keep writes of one participant apart.
"""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, exc
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import StaticPool

from vivant.errors import UsageError, VivantError
from vivant.study.store.prepared import raw

T = TypeVar("T")
Job = Callable[[Connection], Any]
MEMORY = "sqlite://"
_BATCH = 128
_WAIT = 10
"""Seconds that a write waits for another process's lock."""
_AGAIN = frozenset({"40001", "40P01"})
"""PostgreSQL's codes for two transactions that got in each other's way."""


_TROUBLES = (exc.DBAPIError, exc.TimeoutError, sqlite3.Error)
_MISTAKES = (
    exc.IntegrityError, exc.ProgrammingError, exc.DataError,
    sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError,
)  # fmt: skip


class StoreError(VivantError):
    """The database cannot be used as it is."""


class StoreTroubleError(StoreError):
    """The database fails for now (full disk, locked, out of reach): nothing was written, trying again may help."""


def database_url(study: Path, given: str | None) -> URL:
    """Where a study's answers lie: `study.db` in its folder unless another place is named."""
    if not given:
        return URL.create("sqlite", database=str(study / "study.db"))
    try:
        url = make_url(given)
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
        self._alone = threading.RLock()
        self._jobs: queue.SimpleQueue[tuple[Job, Future[Any]] | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closed = False
        if self.sqlite and url.database:
            _make_private(Path(url.database))
        self._readers = self._engine(writes=False)
        self._writers = self._readers if self.memory or not self.sqlite else self._engine(writes=True)

    @property
    def shown(self) -> str:
        """The address without a password."""
        if self.memory:
            return "memory"
        return str(self.url.database) if self.sqlite else self.url.render_as_string(hide_password=True)

    def _engine(self, *, writes: bool) -> Engine:
        if not self.sqlite:
            return create_engine(
                self.url, pool_size=10, max_overflow=10, pool_pre_ping=True, pool_timeout=_WAIT,
                connect_args={"connect_timeout": 5},
            )  # fmt: skip
        arguments: dict[str, Any] = {"check_same_thread": False, "timeout": _WAIT}
        if self.memory:
            engine = create_engine(self.url, poolclass=StaticPool, connect_args=arguments)
        else:
            engine = create_engine(
                self.url,
                pool_size=1 if writes else 8,
                max_overflow=0 if writes else 40,
                connect_args=arguments,
            )
        event.listen(engine, "connect", _set_up_sqlite)
        begin = "BEGIN IMMEDIATE" if writes and not self.memory else "BEGIN"
        event.listen(engine, "begin", lambda connection: raw(connection).execute(begin))
        return engine

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one moment of the database."""
        try:
            # Begun here, not by the first statement: those that go by SQLAlchemy would begin nothing.
            if self.memory:
                with self._alone, self._readers.begin() as connection:
                    yield connection
            else:
                with self._readers.begin() as connection:
                    yield connection
        except _TROUBLES as error:
            raise self.trouble(error) from error

    def write(self, job: Callable[[Connection], T]) -> T:
        """Run a job in a transaction; what it returns comes back once it is on the disk.

        A job may run twice where PostgreSQL asks for it, so it must touch nothing but the database. What it raises is
        raised here, and nothing of it is kept.
        """
        if self.sqlite and not self.memory:
            return self._enqueue(job)
        for attempt in range(4):
            try:
                if self.memory:
                    with self._alone, self._writers.begin() as connection:
                        return job(connection)
                with self._writers.begin() as connection:
                    return job(connection)
            except _TROUBLES as error:
                if getattr(getattr(error, "orig", None), "sqlstate", None) in _AGAIN and attempt < 3:
                    continue
                raise self.trouble(error) from error
        raise AssertionError("unreachable")

    @contextmanager
    def schema(self) -> Iterator[Connection]:
        """A connection of its own in a transaction, to make or change tables with."""
        try:
            with self._writers.begin() as connection:
                yield connection
        except _TROUBLES as error:
            raise self.trouble(error) from error

    def close(self) -> None:
        """End the writer after what waits, and close all connections."""
        with self._starting:
            self._closed = True
            if self._writer is not None:
                self._jobs.put(None)
                self._writer.join()
                self._writer = None
        self._readers.dispose()
        self._writers.dispose()

    def trouble(self, error: Exception) -> Exception:
        """One line for the operator; an error that tells of our own mistake comes back as it is."""
        if isinstance(error, _MISTAKES):
            return error
        said = " ".join(str(getattr(error, "orig", None) or error).split())
        low = said.lower()
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
        return StoreTroubleError(f"The database {self.shown} fails: {said}; {remedy}")

    # ── SQLite's one writer ──

    def _enqueue(self, job: Callable[[Connection], T]) -> T:
        with self._starting:
            if self._closed:
                raise StoreTroubleError(f"The database {self.shown} is closed")
            if self._writer is None:
                self._writer = threading.Thread(target=self._work, name="study-writer", daemon=True)
                self._writer.start()
            answer: Future[T] = Future()
            self._jobs.put((job, answer))
        return answer.result()

    def _work(self) -> None:
        while (first := self._jobs.get()) is not None:
            batch = [first]
            ends = False
            while len(batch) < _BATCH and not self._jobs.empty():
                job = self._jobs.get()
                if job is None:
                    ends = True
                    break
                batch.append(job)
            self._commit(batch)
            if ends:
                return

    def _commit(self, batch: list[tuple[Job, Future[Any]]]) -> None:
        done: list[tuple[Future[Any], Any, BaseException | None]] = []
        try:
            with self._writers.connect() as connection, connection.begin():
                for job, answer in batch:
                    done.append((answer, *_attempt(connection, job)))
        except Exception as error:
            failed = self.trouble(error) if isinstance(error, _TROUBLES) else error
            for _, answer in batch:
                answer.set_exception(failed)
            return
        for answer, value, raised in done:
            if raised is None:
                answer.set_result(value)
            else:
                answer.set_exception(raised)


def _attempt(connection: Connection, job: Job) -> tuple[Any, BaseException | None]:
    """What a job returns or raises. Trouble of the whole database is raised, and ends the transaction."""
    driver = raw(connection)
    driver.execute("SAVEPOINT job")
    try:
        value = job(connection)
        driver.execute("RELEASE job")
    except (exc.OperationalError, exc.InterfaceError, sqlite3.OperationalError):
        raise
    except Exception as error:
        driver.execute("ROLLBACK TO job")
        driver.execute("RELEASE job")
        return None, error
    return value, None


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
    cursor.close()
