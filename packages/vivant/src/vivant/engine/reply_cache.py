"""The reply cache: replies by request fingerprint, shared by all runs.

Key: the request's fingerprint (model, decoding, messages, media hashes, frame policy, control). Value: the
Reply as JSON. Only replies that came back whole are kept, and only for models and decodings whose answer
would be the same again. Losing the file costs money, never correctness: writes are gathered, not synced, and a
cache that fails is switched off.
"""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

import msgspec

from vivant.core.errors import VivantError
from vivant.core.generated_images import is_self_contained
from vivant.core.types import Reply

logger = logging.getLogger("vivant")
_GATHER = 32


def is_cacheable(reply: Reply) -> bool:
    """Whether a reply may answer the same request later: it says something, and needs no other file."""
    complete = reply.status in ("ok", "truncated") and bool(reply.text or reply.parts or reply.likelihoods)
    return complete and is_self_contained(reply)


def open_cache(path: Path) -> ReplyCache | None:
    """The cache for a run; None, and a warning, where there can be none. A run never fails over its cache."""
    try:
        return ReplyCache(path)
    except VivantError as error:
        logger.warning("%s. The run goes on without it.", error)
        return None


class ReplyCache:
    """One SQLite file; several processes may use it at once.

    A file that may only be read is read. After a fault the cache is switched off, with one warning.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: dict[str, bytes] = {}
        self._read_only = False
        self._broken = False
        try:
            self._db = _connect(path)
        except (sqlite3.Error, OSError) as error:
            try:
                self._db = _connect_read_only(path)
            except (sqlite3.Error, OSError):
                raise _cache_error(path, error) from error
            self._read_only = True
            logger.warning("The reply cache %s can be read but not written (%s).", path, error)

    def get(self, fingerprint: str) -> Reply | None:
        """The reply to an identical request, if there was one."""
        if self._broken:
            return None
        blob = self._waiting.get(fingerprint)
        if blob is None:
            try:
                row = self._db.execute(
                    "SELECT reply FROM replies WHERE fingerprint = ?", (fingerprint,)
                ).fetchone()
            except sqlite3.Error as error:
                self._switch_off(error)
                return None
            if row is None:
                return None
            blob = row[0]
        try:
            return msgspec.json.decode(blob, type=Reply)
        except (msgspec.MsgspecError, TypeError, UnicodeDecodeError):
            return None  # a damaged entry is no entry

    def put(self, fingerprint: str, reply: Reply) -> None:
        """Keep a reply."""
        if self._broken or self._read_only:
            return
        self._waiting[fingerprint] = msgspec.json.encode(reply)
        if len(self._waiting) >= _GATHER:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered."""
        if not self._waiting or self._broken:
            return
        gathered, self._waiting = list(self._waiting.items()), {}
        try:
            with self._db:
                self._db.execute("BEGIN")
                self._db.executemany(
                    "INSERT OR REPLACE INTO replies(fingerprint, reply) VALUES (?, ?)", gathered
                )
        except sqlite3.Error as error:
            self._switch_off(error)

    def close(self) -> None:
        """Write what was gathered and close."""
        try:
            self.flush()
        finally:
            self._db.close()

    def _switch_off(self, error: Exception) -> None:
        self._broken = True
        logger.warning("%s. The run goes on without it.", _cache_error(self._path, error))


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, timeout=30.0, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=OFF")
        db.execute(
            "CREATE TABLE IF NOT EXISTS replies"
            "(fingerprint TEXT PRIMARY KEY, reply BLOB, saved REAL DEFAULT (unixepoch())) WITHOUT ROWID"
        )
        # Taking the lock for writing fails where the file may only be read.
        db.execute("BEGIN IMMEDIATE")
        db.execute("ROLLBACK")
    except sqlite3.Error:
        db.close()
        raise
    return db


def _connect_read_only(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)
    try:
        db.execute("SELECT count(*) FROM (SELECT 1 FROM replies LIMIT 1)")
    except sqlite3.Error:
        db.close()
        raise
    return db


def _cache_error(path: Path, error: Exception) -> VivantError:
    return VivantError(f"The reply cache {path} cannot be used ({error}); --cache off does without")


def measure_cache(path: Path) -> tuple[int, int]:
    """How many replies a cache holds, and its bytes on disk."""
    if not path.exists():
        return 0, 0
    cache = ReplyCache(path)
    try:
        (count,) = cache._db.execute("SELECT count(*) FROM replies").fetchone()
    finally:
        cache.close()
    return int(count), sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))


def trim_cache(path: Path, older_than: float) -> int:
    """Forget replies that were saved more than so many seconds ago; returns how many."""
    if not path.exists():
        return 0
    cache = ReplyCache(path)
    try:
        cursor = cache._db.execute("DELETE FROM replies WHERE saved <= unixepoch() - ?", (older_than,))
        cache._db.execute("VACUUM")
        return cursor.rowcount
    except sqlite3.Error as error:
        raise _cache_error(path, error) from error
    finally:
        cache.close()
