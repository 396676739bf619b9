"""The response cache: replies by request fingerprint, shared by all runs.

Key: the request's fingerprint (model, decoding, messages, media hashes, frame policy, control). Value: the
Reply as JSON. Only replies that came back whole are kept, and only for models and decodings whose answer
would be the same again. Losing the file costs money, never correctness, so writes are gathered, not synced.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec

from vivant.errors import VivantError
from vivant.types import Reply

_GATHER = 32


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
            raise VivantError(
                f"The response cache {path} cannot be opened ({error}); --no-cache does without"
            ) from error
        self._path = path
        self._waiting: dict[str, bytes] = {}

    def get(self, fingerprint: str) -> Reply | None:
        """The reply to an identical request, if there was one."""
        blob = self._waiting.get(fingerprint)
        if blob is None:
            row = self._db.execute(
                "SELECT reply FROM replies WHERE fingerprint = ?", (fingerprint,)
            ).fetchone()
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
        if self._waiting:
            self._db.execute("BEGIN")
            self._db.executemany(
                "INSERT OR REPLACE INTO replies(fingerprint, reply) VALUES (?, ?)",
                list(self._waiting.items()),
            )
            self._db.execute("COMMIT")
            self._waiting.clear()

    def close(self) -> None:
        """Write what was gathered and close."""
        self.flush()
        self._db.close()
