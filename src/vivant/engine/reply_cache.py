"""The response cache: replies by request fingerprint, shared by all runs.

Key: the request's fingerprint (model, decoding, messages, media hashes, frame policy, control). Value: the
Reply as JSON. Only replies that came back whole are kept, and only for models and decodings whose answer
would be the same again. Losing the file costs money, never correctness, so writes are gathered, not synced.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec

from vivant.core.errors import VivantError
from vivant.core.generated_images import is_self_contained
from vivant.core.types import Reply

_GATHER = 32


def is_cacheable(reply: Reply) -> bool:
    """Whether a reply may answer the same request later: it says something, and needs no other file."""
    complete = reply.status in ("ok", "truncated") and bool(reply.text or reply.parts or reply.likelihoods)
    return complete and is_self_contained(reply)


class ReplyCache:
    """One SQLite file; several processes may use it at once."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=30.0, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=OFF")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS replies"
                "(fingerprint TEXT PRIMARY KEY, reply BLOB, saved REAL DEFAULT (unixepoch())) WITHOUT ROWID"
            )
        except (sqlite3.Error, OSError) as error:
            raise _cache_error(path, error) from error
        self._path = path
        self._waiting: dict[str, bytes] = {}

    def get(self, fingerprint: str) -> Reply | None:
        """The reply to an identical request, if there was one."""
        blob = self._waiting.get(fingerprint)
        if blob is None:
            try:
                row = self._db.execute(
                    "SELECT reply FROM replies WHERE fingerprint = ?", (fingerprint,)
                ).fetchone()
            except sqlite3.Error as error:
                raise _cache_error(self._path, error) from error
            if row is None:
                return None
            blob = row[0]
        return msgspec.json.decode(blob, type=Reply)

    def put(self, fingerprint: str, reply: Reply) -> None:
        """Keep a reply."""
        self._waiting[fingerprint] = msgspec.json.encode(reply)
        if len(self._waiting) >= _GATHER:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered."""
        if not self._waiting:
            return
        gathered, self._waiting = list(self._waiting.items()), {}
        try:
            with self._db:
                self._db.execute("BEGIN")
                self._db.executemany(
                    "INSERT OR REPLACE INTO replies(fingerprint, reply) VALUES (?, ?)", gathered
                )
        except sqlite3.Error as error:
            raise _cache_error(self._path, error) from error

    def close(self) -> None:
        """Write what was gathered and close."""
        try:
            self.flush()
        finally:
            self._db.close()


def _cache_error(path: Path, error: Exception) -> VivantError:
    return VivantError(f"The response cache {path} cannot be used ({error}); --cache off does without")


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
