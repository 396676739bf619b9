"""Who a file is: the SHA-256 of its bytes, remembered so that a large file is read once for it.

A file is known again by its real path, size and time of change. Small files are hashed faster than a
database answers, so only large ones are remembered on disk; all are remembered in memory for a while.
The memory on disk is SQLite, shared by any number of processes; losing it costs time, never a result.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vivant.core.errors import MediaError, UsageError
from vivant.media.paths import stat_file

SMALL = 1 << 20
"""Files below this many bytes are read on the spot, without a thread or a database."""

_REMEMBERED = 16_384
_RECENT = 16
"""Small files whose bytes are held from their hash to their use."""
# A file written twice within one tick of the file system's clock looks unchanged: do not trust fresh ones.
_SETTLED_NS = 50_000_000
_DAY = 86_400


class FileHashes:
    """SHA-256 of files, by path.

    Args:
        folder: where the database lies.
        find_folder: called with it when the database is first needed; returns the folder to use.
    """

    def __init__(self, folder: Path, find_folder: Callable[[Path], Path] | None = None) -> None:
        self._file = folder / "media.sqlite"
        self._find_folder = find_folder
        self._known: OrderedDict[str, tuple[int, int, str]] = OrderedDict()
        self._recent: dict[str, tuple[int, int, bytes, str]] = {}
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None

    def sha256(self, real: str, name: str) -> str:
        """The hash of the file at `real`; MediaErrors call it `name`."""
        status = stat_file(real, name)
        digest = self.get(real, status)
        if digest is None:
            if status.st_size < SMALL:
                data, digest = self.read(real, name)
                self._recent[real] = (status.st_size, status.st_mtime_ns, data, digest)
                if len(self._recent) > _RECENT:
                    self._recent.pop(next(iter(self._recent)), None)
                return digest
            digest = self._recall(real, status)
            if digest is None:
                digest = _hash(real, name)
                self._store(real, status, digest)
            self._learn(real, status, digest)
        return digest

    def read(self, real: str, name: str) -> tuple[bytes, str]:
        """A file's bytes and their hash, from one reading."""
        # A picture is hashed to look for its answer, then sent: it need not be read twice for that.
        recent = self._recent.pop(real, None)
        if recent is not None:
            status = stat_file(real, name)
            if recent[:2] == (status.st_size, status.st_mtime_ns) and self.get(real, status) is not None:
                return recent[2], recent[3]
        try:
            with open(real, "rb", buffering=0) as file:
                status = os.fstat(file.fileno())
                data = file.read()
        except OSError as error:
            raise MediaError(f"{name} cannot be read: {error.strerror}") from None
        digest = self.get(real, status) if len(data) == status.st_size else None
        if digest is None:
            digest = hashlib.sha256(data).hexdigest()
            self._learn(real, status, digest)
        return data, digest

    def get(self, real: str, status: os.stat_result) -> str | None:
        """The hash, if this file was met in this process and has not changed since."""
        entry = self._known.get(real)
        if entry is not None and entry[0] == status.st_size and entry[1] == status.st_mtime_ns:
            return entry[2]
        return None

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def forget(self, before: float) -> None:
        """Drop from disk what was last seen before a time (Unix seconds)."""
        self._execute("DELETE FROM file WHERE seen < ?", (before,))

    def _learn(self, real: str, status: os.stat_result, sha256: str) -> None:
        if time.time_ns() - status.st_mtime_ns < _SETTLED_NS:
            return
        with self._lock:
            self._known[real] = (status.st_size, status.st_mtime_ns, sha256)
            self._known.move_to_end(real)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)

    def _recall(self, real: str, status: os.stat_result) -> str | None:
        rows = self._execute("SELECT size, mtime_ns, sha256, seen FROM file WHERE path = ?", (real,))
        if not rows or rows[0][:2] != (status.st_size, status.st_mtime_ns):
            return None
        if rows[0][3] < time.time() - _DAY:
            self._execute("UPDATE file SET seen = ? WHERE path = ?", (time.time(), real))
        return str(rows[0][2])

    def _store(self, real: str, status: os.stat_result, sha256: str) -> None:
        if time.time_ns() - status.st_mtime_ns >= _SETTLED_NS:
            row = (real, status.st_size, status.st_mtime_ns, sha256, time.time())
            self._execute("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?)", row)

    def _execute(self, statement: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                try:
                    return self._connect().execute(statement, values).fetchall()
                except sqlite3.OperationalError:
                    raise
                except sqlite3.DatabaseError:
                    # Damaged. It holds nothing that hashing does not bring back, so it starts anew.
                    if self._database is not None:
                        self._database.close()
                        self._database = None
                    self._file.unlink(missing_ok=True)
                    return self._connect().execute(statement, values).fetchall()
            except (OSError, sqlite3.OperationalError) as error:
                raise UsageError(f"The cache folder {self._file.parent} cannot be used: {error}") from None

    def _connect(self) -> sqlite3.Connection:
        if self._database is None:
            if self._find_folder is not None:
                self._file = self._find_folder(self._file.parent) / self._file.name
                self._find_folder = None
            self._file.parent.mkdir(parents=True, exist_ok=True)
            # No write-ahead log: it needs memory shared between processes, which network folders lack.
            self._database = sqlite3.connect(
                self._file, timeout=30, isolation_level=None, check_same_thread=False
            )
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS file"
                " (path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, sha256 TEXT, seen REAL)"
            )
        return self._database


def _hash(real: str, name: str) -> str:
    try:
        with open(real, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise MediaError(f"{name} cannot be read: {error.strerror}") from None
