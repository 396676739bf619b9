"""Connections to a study's database: many readers, and writers whose answer means that the data are on the disk.

SQLite has one writer: a thread that takes all writes that wait, runs each in a savepoint, and commits them together
with one flush to the disk (WAL, synchronous=FULL). So hundreds of people cost a few flushes a second, and `write`
returns only after the flush. Notes that nobody is told of (a page was shown, a file fetched, somebody is there) are
committed first and without one: they outlive the process, and the next flush takes them along. PostgreSQL commits each
write by itself; row locks keep writes of one participant apart.

`write_async` and `read_async` are for the event loop. On SQLite they need no thread but the writer's: a few rows are
read sooner than a thread is woken.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, exc
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import StaticPool

from vivant.core.errors import UsageError, VivantError
from vivant.study.store.statements import driver_connection

T = TypeVar("T")
Job = Callable[[Connection], T]
"""Something to be done in a transaction. It may run twice where PostgreSQL asks for it: it must touch nothing else."""
Callback = Callable[[Any, BaseException | None], None]
"""Takes what a job returned or raised, once that is on the disk."""
MEMORY = "sqlite://"
_BATCH = 128
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
        self._jobs: queue.SimpleQueue[tuple[Job[Any], Callback, bool] | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closed = False
        # As many as there can be connections; they end with it.
        self._threads = ThreadPoolExecutor(_CONNECTIONS, "study-database")
        if self.sqlite and url.database:
            _make_private(Path(url.database))
        self._readers = self._engine()
        on_disk = self.sqlite and not self.memory
        self._writers = self._engine(writes=True) if on_disk else self._readers
        # The event loop must not wait for a lock.
        self._quick_readers = self._engine(wait=0) if on_disk else self._readers

    @property
    def display_url(self) -> str:
        """The address without a password."""
        if self.memory:
            return "memory"
        return str(self.url.database) if self.sqlite else self.url.render_as_string(hide_password=True)

    def _engine(self, *, writes: bool = False, wait: float | None = None) -> Engine:
        if not self.sqlite:
            return create_engine(
                self.url, pool_size=10, max_overflow=_CONNECTIONS - 10, pool_pre_ping=True, pool_timeout=_WAIT,
                connect_args={"connect_timeout": 5},
            )  # fmt: skip
        arguments: dict[str, Any] = {"check_same_thread": False, "timeout": _WAIT if wait is None else wait}
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
        event.listen(engine, "begin", lambda connection: driver_connection(connection).execute(begin))
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
        if self._quick_readers is not self._readers:
            try:
                with self._quick_readers.begin() as connection:
                    return job(connection)
            except (exc.OperationalError, sqlite3.OperationalError):
                # Locked, or worse: a thread has the patience to find out.
                pass
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, job)

    def _read(self, job: Job[T]) -> T:
        with self.read() as connection:
            return job(connection)

    async def write_async(self, job: Job[T], *, note: bool = False) -> T:
        """`write` for the event loop. A `note` need not be on the disk before the answer: it is no participant's."""
        loop = asyncio.get_running_loop()
        if not self.sqlite or self.memory:
            return await loop.run_in_executor(self._threads, self.write, job)
        answer: asyncio.Future[T] = loop.create_future()
        self._enqueue(job, partial(_call_in, loop, partial(_settle, answer)), note)
        return await answer

    def write(self, job: Job[T]) -> T:
        """Run a job in a transaction; what it returns comes back once it is on the disk.

        What it raises is raised here, and nothing of it is kept.
        """
        if self.sqlite and not self.memory:
            answer: Future[T] = Future()
            self._enqueue(job, partial(_settle, answer), note=False)
            return answer.result()
        for attempt in range(4):
            try:
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

    @contextmanager
    def schema(self) -> Iterator[Connection]:
        """A connection of its own in a transaction, to make or change tables with."""
        try:
            with self._writers.begin() as connection:
                yield connection
        except _FAILURES as error:
            raise self.explain(error) from error

    def close(self) -> None:
        """End the writer after what waits, and close all connections."""
        with self._starting:
            self._closed = True
            if self._writer is not None:
                self._jobs.put(None)
                self._writer.join()
                self._writer = None
        for engine in {self._readers, self._writers, self._quick_readers}:
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

    # ── SQLite's one writer ──

    def _enqueue(self, job: Job[Any], callback: Callback, note: bool) -> None:
        with self._starting:
            if self._closed:
                raise StoreUnavailableError(f"The database {self.display_url} is closed")
            if self._writer is None:
                self._writer = threading.Thread(target=self._work, name="study-writer", daemon=True)
                self._writer.start()
            self._jobs.put((job, callback, note))

    def _work(self) -> None:
        while (first := self._jobs.get()) is not None:
            batch = [first]
            closing = False
            while len(batch) < _BATCH and not self._jobs.empty():
                waiting = self._jobs.get()
                if waiting is None:
                    closing = True
                    break
                batch.append(waiting)
            notes = [(job, callback) for job, callback, note in batch if note]
            rest = [(job, callback) for job, callback, note in batch if not note]
            if notes:
                self._commit(notes, flush=False)
            if rest:
                self._commit(rest, flush=True)
            if closing:
                return

    def _commit(self, batch: list[tuple[Job[Any], Callback]], *, flush: bool) -> None:
        results: list[tuple[Any, BaseException | None]] = []
        try:
            with self._writers.connect() as connection:
                driver_connection(connection).execute(f"PRAGMA synchronous={'FULL' if flush else 'NORMAL'}")
                with connection.begin():
                    results += [_attempt(connection, job) for job, _ in batch]
        except Exception as error:
            failed = self.explain(error) if isinstance(error, _FAILURES) else error
            results = [(None, failed)] * len(batch)
        for (_, callback), result in zip(batch, results, strict=True):
            callback(*result)


def _settle(answer: Future[T] | asyncio.Future[T], value: T, error: BaseException | None) -> None:
    if answer.cancelled():
        return
    if error is None:
        answer.set_result(value)
    else:
        answer.set_exception(error)


def _call_in(
    loop: asyncio.AbstractEventLoop, callback: Callback, value: Any, error: BaseException | None
) -> None:
    """Tell somebody in another thread's loop. A loop that has ended has nobody left to tell."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(callback, value, error)


def _attempt(connection: Connection, job: Job[Any]) -> tuple[Any, BaseException | None]:
    """What a job returns or raises. Trouble of the whole database is raised, and ends the transaction."""
    driver = driver_connection(connection)
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
