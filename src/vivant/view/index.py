"""Where each line of a run's files lies, and what lists filter by: one SQLite file per run, in the cache.

The words of a row's question have the row number times two, those of its reply that plus one.
The run's own files stay the truth: an index holds byte offsets, outcomes, facets and the words of a text, and is
brought up to date whenever they grow, or made again when they were rewritten. Nothing is written into a run.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from vivant.core.paths import cache_root
from vivant.core.types import job_key

VERSION = 7
FACETS = 24
"""Facets that can be filtered by; samples with more have the first of them."""
VALUES = 300
"""A facet with more values than this (a video's name, say) is searched as text, not listed."""
_WORDS = 4000
"""Characters of a question, and of a reply, that a search looks into."""
_BATCH = 2000
_T = TypeVar("_T")


class _Part(Struct):
    kind: str = ""
    text: str = ""
    path: str = ""


class _Sample(Struct):
    """What an index needs of a line of samples.jsonl; the rest is passed over."""

    id: str
    task: str
    question: tuple[_Part, ...] = ()
    facets: dict[str, str] = {}
    cluster: str = ""


class _Reply(Struct):
    status: str = "ok"
    text: str = ""


class _Record(Struct):
    key: str
    task: str
    id: str
    reply: _Reply
    repeat: int = 0
    seconds: float = 0.0


class _Score(Struct):
    key: str
    status: str = "scored"
    value: float | None = None
    answer: str = ""
    rule: str = ""


_SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE facet (place INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE row (
  n INTEGER PRIMARY KEY, key TEXT UNIQUE, task TEXT, id TEXT, cluster TEXT, repeat INTEGER DEFAULT 0, base INTEGER,
  sample_at INTEGER, sample_size INTEGER, log_at INTEGER, log_size INTEGER,
  status TEXT DEFAULT '', seconds REAL, size INTEGER DEFAULT 0,
  outcome TEXT DEFAULT '', value REAL,
  score_at INTEGER, score_size INTEGER, answer TEXT DEFAULT '', rule TEXT DEFAULT '', question TEXT DEFAULT '',
  {", ".join(f"f{column} TEXT" for column in range(FACETS))});
CREATE INDEX row_sample ON row (task, id);
CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='unicode61', detail='none', columnsize=0);
"""
_INDEXES = f"""
CREATE INDEX IF NOT EXISTS row_base ON row (base) WHERE base IS NOT NULL;
CREATE INDEX IF NOT EXISTS row_filter ON row (
  task, outcome, value, status, log_at, {", ".join(f"f{column}" for column in range(FACETS))});
CREATE INDEX IF NOT EXISTS row_seconds ON row (seconds, n);
CREATE INDEX IF NOT EXISTS row_size ON row (size, n);
CREATE INDEX IF NOT EXISTS row_value ON row (value, n);
CREATE INDEX IF NOT EXISTS row_cluster ON row (cluster) WHERE cluster != '';
"""

ShareCallback = Callable[[float], None]


class RunIndex:
    """One run's index. `update` may run in one thread at a time; readers open connections of their own."""

    def __init__(self, run: Path, protocol: str) -> None:
        self.run = run
        self.protocol = protocol
        digest = hashlib.sha256(f"{VERSION}|{run.resolve()}|{protocol}".encode()).hexdigest()[:24]
        self.file = cache_root() / "view" / f"{digest}.sqlite"

    def open(self) -> sqlite3.Connection:
        """A connection to read with."""
        connection = sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        return connection

    def is_fresh(self) -> bool:
        """Whether the index says what the run's files say."""
        if not self.file.exists():
            return False
        try:
            connection = self.open()
        except sqlite3.Error:
            return False
        try:
            meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
        except sqlite3.Error:
            return False
        finally:
            connection.close()
        return meta.get("state") == self._state()

    def _state(self) -> str:
        return "|".join(_stamp(path) for path in (self._samples, self._log, self._scores))

    @property
    def _samples(self) -> Path:
        return self.run / "samples.jsonl"

    @property
    def _log(self) -> Path:
        return self.run / "log.jsonl"

    @property
    def _scores(self) -> Path:
        return self.run / "scores" / f"{self.protocol}.jsonl"

    def update(self, report: ShareCallback = lambda _: None) -> None:
        """Bring the index up to date: the log's new lines alone where it only grew."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        state = self._state()
        connection = self._connect()
        try:
            meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
            if not self._has_only_grown(meta):
                connection.close()
                connection = self._recreate()
                meta = {}
                self._add_samples(connection, report)
            self._add_records(connection, int(meta.get("log_end", 0)), report)
            if meta.get("scores") != _stamp(self._scores) or "log_end" in meta:
                self._add_scores(connection)
            # After the rows: to keep them in order while a large run is read takes three times as long.
            connection.executescript(_INDEXES)
            meta_values = {"state": state, "samples": _stamp(self._samples), "scores": _stamp(self._scores)}
            _write_meta(connection, meta_values)
            connection.commit()
        finally:
            connection.close()
        report(1.0)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.file)
        try:
            connection.execute("SELECT 1 FROM meta")
        except sqlite3.DatabaseError:
            connection.close()
            return self._recreate()
        return _tune(connection)

    def _recreate(self) -> sqlite3.Connection:
        for ending in ("", "-wal", "-shm", "-journal"):
            Path(f"{self.file}{ending}").unlink(missing_ok=True)
        connection = _tune(sqlite3.connect(self.file))
        connection.executescript(_SCHEMA)
        return connection

    def _has_only_grown(self, meta: Mapping[str, str]) -> bool:
        if meta.get("samples") != _stamp(self._samples):
            return False
        inode, size, last = meta.get("log_inode"), int(meta.get("log_end", 0)), meta.get("log_last", "")
        if not self._log.exists():
            return size == 0
        status = self._log.stat()
        if str(status.st_ino) != inode or status.st_size < size:
            return False
        if status.st_size == size and meta.get("log_stamp") != _stamp(self._log):
            return False
        return _tail_digest(self._log, size) == last

    # ── the three files ──

    def _add_samples(self, connection: sqlite3.Connection, report: ShareCallback) -> None:
        columns: dict[str, int] = {}
        bad: list[int] = []
        batch: list[tuple[Any, ...]] = []
        words: list[tuple[int, str]] = []
        total = max(1, _size(self._samples))
        number = 0
        for line_number, at, size, sample in _lines(self._samples, _Sample, 0):
            if sample is None:
                bad.append(line_number)
                continue
            number += 1
            facets: list[str | None] = [None] * FACETS
            for name, value in sample.facets.items():
                column = columns.setdefault(name, len(columns))
                if column < FACETS:
                    facets[column] = value
            text = " ".join(part.text or part.path for part in sample.question)
            key = job_key(sample.task, sample.id)
            excerpt = (" ".join(part.text for part in sample.question) or text)[:240]
            batch.append((number, key, sample.task, sample.id, sample.cluster, at, size, excerpt, *facets))
            words.append((2 * number, f"{sample.id} {' '.join(sample.facets.values())} {text[:_WORDS]}"))
            if len(batch) >= _BATCH:
                _flush_samples(connection, batch, words)
                report(0.4 * (at + size) / total)
        _flush_samples(connection, batch, words)
        connection.executemany(
            "INSERT INTO facet VALUES (?, ?)",
            [(column, name) for name, column in columns.items() if column < FACETS],
        )
        _write_meta(connection, {"bad_samples": _list_numbers(bad)})

    def _add_records(self, connection: sqlite3.Connection, start: int, report: ShareCallback) -> None:
        bad: list[int] = []
        end = start
        total = max(1, _size(self._log))
        since = 0
        for line_number, at, size, record in _lines(self._log, _Record, start):
            end = at + size
            if record is None:
                bad.append(line_number)
                continue
            n = _row_of(connection, record)
            connection.execute(
                "UPDATE row SET log_at = ?, log_size = ?, status = ?, seconds = ?, size = ? WHERE n = ?",
                (at, size, record.reply.status, record.seconds, len(record.reply.text), n),
            )
            connection.execute(
                "INSERT INTO words (rowid, text) VALUES (?, ?)", (2 * n + 1, record.reply.text[:_WORDS])
            )
            since += 1
            if since % _BATCH == 0:
                report(0.4 + 0.5 * end / total)
        before = (
            connection.execute("SELECT value FROM meta WHERE name = 'bad_lines'").fetchone()
            if start
            else None
        )
        bad_lines = ", ".join(filter(None, (before[0] if before else "", _list_numbers(bad))))
        _write_meta(
            connection,
            {
                "bad_lines": bad_lines,
                "log_end": str(end),
                "log_inode": str(self._log.stat().st_ino) if self._log.exists() else "",
                "log_stamp": _stamp(self._log),
                "log_last": _tail_digest(self._log, end),
            },
        )

    def _add_scores(self, connection: sqlite3.Connection) -> None:
        connection.execute(
            "UPDATE row SET outcome = '', value = NULL, answer = '', rule = '', score_at = NULL WHERE outcome != ''"
        )
        if not self._scores.exists():
            return
        batch = (
            (score.status, score.value, score.answer[:200], score.rule[:200], at, size, score.key)
            for _, at, size, score in _lines(self._scores, _Score, 0)
            if score is not None
        )
        connection.executemany(
            "UPDATE row SET outcome = ?, value = ?, answer = ?, rule = ?, score_at = ?, score_size = ? WHERE key = ?",
            batch,
        )


def _flush_samples(
    connection: sqlite3.Connection, batch: list[tuple[Any, ...]], words: list[tuple[int, str]]
) -> None:
    placeholders = ", ".join("?" * (8 + FACETS))
    names = ", ".join(f"f{column}" for column in range(FACETS))
    connection.executemany(
        "INSERT OR IGNORE INTO row (n, key, task, id, cluster, sample_at, sample_size, question, "
        f"{names}) VALUES ({placeholders})",
        batch,
    )
    connection.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", words)
    batch.clear()
    words.clear()


def _row_of(connection: sqlite3.Connection, record: _Record) -> int:
    """The row of a record; repeats and records whose sample is gone get one of their own."""
    row = connection.execute("SELECT n FROM row WHERE key = ?", (record.key,)).fetchone()
    if row:
        return int(row[0])
    base = connection.execute(
        "SELECT n FROM row WHERE task = ? AND id = ? ORDER BY n LIMIT 1", (record.task, record.id)
    ).fetchone()
    if base is None:
        inserted = connection.execute(
            "INSERT INTO row (key, task, id, cluster, repeat) VALUES (?, ?, ?, '', ?)",
            (record.key, record.task, record.id, record.repeat),
        )
    else:
        copied = ["task", "id", "cluster", "sample_at", "sample_size", "question"]
        names = ", ".join([*copied, *(f"f{column}" for column in range(FACETS))])
        inserted = connection.execute(
            f"INSERT INTO row (key, repeat, base, {names}) SELECT ?, ?, n, {names} FROM row WHERE n = ?",
            (record.key, record.repeat, base[0]),
        )
    return int(inserted.lastrowid or 0)


def _lines(path: Path, kind: type[_T], start: int) -> Iterator[tuple[int, int, int, _T | None]]:
    """Number, place and size of each whole line from `start` on, with its value; None where it has none.

    A torn last line, as of a run under way, is passed over.
    """
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(kind)
    at = start
    with path.open("rb") as file:
        file.seek(start)
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield number, at, len(line), decoder.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                yield number, at, len(line), None
            at += len(line)


def _tune(connection: sqlite3.Connection) -> sqlite3.Connection:
    """An index can be made again, so it need not survive a power cut; readers go on while it is written."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -48000")
    return connection


def _write_meta(connection: sqlite3.Connection, values: Mapping[str, str]) -> None:
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(values.items()))


def _stamp(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return "absent"
    return f"{status.st_ino}-{status.st_size}-{status.st_mtime_ns}"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _tail_digest(path: Path, end: int) -> str:
    """What stands just before a place: tells a log that grew from one that was edited."""
    if not path.exists() or end == 0:
        return ""
    with path.open("rb") as file:
        file.seek(max(0, end - 256))
        return hashlib.sha256(file.read(min(256, end))).hexdigest()[:16]


def _list_numbers(numbers: list[int]) -> str:
    first = ", ".join(map(str, numbers[:5]))
    return first + (f" and {len(numbers) - 5:,} more" if len(numbers) > 5 else "")
