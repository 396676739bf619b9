"""SQLite's journal on the disk: one flush for all that was committed while the last one ran.

Commits are made with synchronous=NORMAL: they are in the journal, which outlives the process but not the machine. What
is acknowledged is flushed first, by this module, as SQLite itself would with synchronous=FULL: but off the event loop,
and without holding the lock on the database.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

_flush_file = getattr(os, "fdatasync", os.fsync)
_INTERVAL = 0.01
"""Seconds from one flush to the next for event loops, where many wait together."""
_Waiter = tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"] | tuple[None, "Future[None]"]
"""Who waits for a flush: an event loop, or a thread."""


class Journal:
    """The write-ahead journal of one database, for all threads of a process."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(f"{database.name}-wal")
        self._database = database
        self._waiters: queue.SimpleQueue[_Waiter | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._starting = threading.Lock()
        self._file: int | None = None

    def flush(self) -> None:
        """Return once all that was committed before is on the disk. Whoever comes while a flush runs shares the next.
        Fails as SQLite does."""
        flushed: Future[None] = Future()
        self._wait((None, flushed))
        flushed.result()

    async def flush_async(self) -> None:
        """`flush` for the event loop."""
        loop = asyncio.get_running_loop()
        flushed: asyncio.Future[None] = loop.create_future()
        self._wait((loop, flushed))
        await flushed

    def _wait(self, waiter: _Waiter) -> None:
        with self._starting:
            if self._closed:
                raise sqlite3.OperationalError("the database was closed")
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="study-flush", daemon=True)
                self._thread.start()
            self._waiters.put(waiter)

    def empty(self) -> int:
        """Copy the journal into the database as far as nobody is in the way; how many pages it held."""
        connection = sqlite3.connect(str(self._database), timeout=0, isolation_level=None)
        try:
            return int(connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1])
        finally:
            connection.close()

    def close(self) -> None:
        """End after what waits; whoever comes later is refused."""
        with self._starting:
            self._closed = True
            thread, self._thread = self._thread, None
            if thread is not None:
                self._waiters.put(None)
        if thread is not None:
            thread.join()
        with self._starting:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _work(self) -> None:
        closing, last = False, 0.0
        while not closing and (first := self._waiters.get()) is not None:
            if first[0] is not None:
                # Under load a hundred flushes a second serve everybody, and cost less than one for each.
                time.sleep(max(0.0, last + _INTERVAL - time.monotonic()))
            last = time.monotonic()
            batch = [first]
            while not self._waiters.empty():
                waiter = self._waiters.get()
                if waiter is None:
                    closing = True
                    break
                batch.append(waiter)
            error: sqlite3.Error | None = None
            try:
                self._flush_now()
            except sqlite3.Error as failure:
                error = failure
            by_loop: dict[asyncio.AbstractEventLoop | None, list[Any]] = {}
            for loop, flushed in batch:
                by_loop.setdefault(loop, []).append(flushed)
            for loop, futures in by_loop.items():
                if loop is None:
                    _settle(futures, error)
                    continue
                # A loop that has ended has nobody left to tell.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(_settle, futures, error)

    def _flush_now(self) -> None:
        try:
            with self._starting:
                if self._file is None:
                    # Connections stay open while there is anything to flush, so the file stays the same one.
                    self._file = os.open(self._path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
            _flush_file(self._file)
        except OSError as error:
            raise sqlite3.OperationalError(f"disk I/O error: {error.strerror}") from error


def _settle(futures: list[Any], error: sqlite3.Error | None) -> None:
    for flushed in futures:
        if flushed.cancelled():
            continue
        if error is None:
            flushed.set_result(None)
        else:
            flushed.set_exception(error)
