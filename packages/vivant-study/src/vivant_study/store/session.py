"""The one connection by which a process writes to SQLite, and by which its event loop reads.

Its pages stay in memory from one request to the next, and no time goes into fetching it from a pool. Whoever finds it
in use, or the database locked, is told so at once, and may wait in a thread.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, exc

from vivant_study.store.statements import driver_connection

T = TypeVar("T")
_MOMENT = 0.005
"""Seconds that the event loop waits for somebody who is writing: less than it costs to wake a thread for it."""


class SessionBusyError(Exception):
    """The connection is in use, or another process holds the lock: nothing was done."""


class SqliteSession:
    """A connection with a lock."""

    def __init__(self, engine: Engine) -> None:
        """`engine`: must not wait for locks by itself."""
        self._engine = engine
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._driver: Any = None

    def run(self, job: Callable[[Connection], T], begin: str) -> T:
        """Run a job in a transaction, next to without waiting. Raises SessionBusyError."""
        if not self._lock.acquire(timeout=_MOMENT):
            raise SessionBusyError
        try:
            return self._run(job, begin)
        finally:
            self._lock.release()

    def run_patiently(self, job: Callable[[Connection], T], begin: str, wait: float) -> T:
        """The same for a thread: wait for whoever has the connection, and so many seconds for other processes."""
        until = time.monotonic() + wait
        pause = 0.002
        while True:
            with self._lock:
                try:
                    return self._run(job, begin)
                except SessionBusyError as error:
                    if time.monotonic() > until:
                        assert error.__cause__ is not None
                        raise error.__cause__ from None
            # Nobody of this process is kept waiting by somebody who waits for another one.
            time.sleep(pause)
            pause = min(0.05, pause * 1.5)

    def pause(self, action: Callable[[], object]) -> None:
        """Do something while nobody of this process writes."""
        with self._lock:
            action()

    def close(self) -> None:
        """Let go of the connection. The next call opens another."""
        with self._lock:
            self._drop()

    def _open(self) -> tuple[Connection, Any]:
        if self._connection is None:
            self._connection = self._engine.connect()
            self._driver = driver_connection(self._connection)
        return self._connection, self._driver

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()

    def _run(self, job: Callable[[Connection], T], begin: str) -> T:
        try:
            connection, driver = self._open()
            driver.execute(begin)
        except (exc.OperationalError, sqlite3.OperationalError) as error:
            if "locked" in str(error) or "busy" in str(error):
                raise SessionBusyError from error
            raise
        try:
            value = job(connection)
            # Statements that went by SQLAlchemy have made it think of the transaction as its own.
            if connection.in_transaction():
                connection.commit()
            else:
                driver.execute("COMMIT")
        except BaseException:
            self._roll_back(connection, driver)
            raise
        return value

    def _roll_back(self, connection: Connection, driver: Any) -> None:
        with suppress(exc.DBAPIError, sqlite3.Error):
            if connection.in_transaction():
                connection.rollback()
            if driver.in_transaction:
                driver.execute("ROLLBACK")
        if driver.in_transaction or connection.invalidated:
            self._drop()
