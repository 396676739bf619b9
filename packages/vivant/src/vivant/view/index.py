"""Where each line of a run's files lies, and what lists filter by: one SQLite file per run, in the cache.

The run's own files stay the truth. An index holds byte offsets, outcomes, facets as numbers, sums and the words of
texts; pages read the texts themselves from the run. It is brought up to date whenever the files grow, and made again
when they were rewritten. Nothing is written into a run.

`row` is narrow, so that any filter is one quick scan; `place` says where a row's lines lie. In `words`, the question of
a row has the row number times two, its reply that plus one. Outcomes are indices of `outcomes.py: OUTCOMES`.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from vivant.core.garbage import collect_garbage_rarely
from vivant.core.paths import cache_root
from vivant.core.types import job_key
from vivant.view.index_draft import (
    FACETS,
    RECORD_COLUMNS,
    SCHEMA,
    IndexDraft,
    ShareCallback,
    describe_record,
    describe_words,
    encode_shown,
)
from vivant.view.index_lines import (
    RecordLine,
    digest_tail,
    list_numbers,
    read_batches,
    stamp_file,
)
from vivant.view.index_scores import ScoreSource
from vivant.view.summary import write_summary

VERSION = 14
_INDEXES = (
    "CREATE UNIQUE INDEX place_key ON place (key)",
    "CREATE INDEX row_outcome ON row (outcome)",
    "CREATE INDEX row_cluster ON row (cluster)",
    "CREATE INDEX row_value ON row (value)",
    "CREATE INDEX row_seconds ON row (seconds)",
    "CREATE INDEX row_size ON row (size)",
    "CREATE INDEX row_base ON row (base) WHERE base IS NOT NULL",
)


_known_meta: dict[Path, tuple[tuple[str, str], Mapping[str, str]]] = {}
"""By index, what it said of itself when its files were last looked into: a page asks several times."""


class RunIndex:
    """One run's index. `update` may run in one thread at a time; readers open connections of their own."""

    def __init__(self, run: Path, protocol: str) -> None:
        self.run = run
        self.protocol = protocol
        digest = hashlib.sha256(f"{VERSION}|{run.resolve()}|{protocol}".encode()).hexdigest()[:24]
        self.file = cache_root() / "view" / f"{digest}.sqlite"
        self._log_ahead = Path(f"{self.file}-wal")
        self._samples, self._log = run / "samples.jsonl", run / "log.jsonl"
        self._files = (self._samples, self._log, run / "stopping.json")
        self._source = ScoreSource(run, protocol)

    def open(self) -> sqlite3.Connection:
        """A connection to read with."""
        connection = sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        return connection

    def read_meta(self) -> Mapping[str, str]:
        """What the index says of itself; empty where there is none that can be read."""
        stamps = stamp_file(self.file), stamp_file(self._log_ahead)
        if stamps[0] == "absent":
            return {}
        if _known_meta.get(self.file, ("",))[0] != stamps:
            _known_meta[self.file] = stamps, self._read_meta()
        return _known_meta[self.file][1]

    def _read_meta(self) -> Mapping[str, str]:
        try:
            connection = self.open()
        except sqlite3.Error:
            return {}
        try:
            return dict(connection.execute("SELECT name, value FROM meta").fetchall())
        except sqlite3.Error:
            return {}
        finally:
            connection.close()

    def state(self) -> str:
        """What the run's files are now; an index whose `state` says the same is fresh."""
        return "|".join((*map(stamp_file, self._files), self._source.state()))

    def update(self, report: ShareCallback = lambda _: None) -> None:
        """Bring the index up to date: the log's new lines alone where it only grew. Readers see all of it or none."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with collect_garbage_rarely():
            self._update(report)
        report(1.0)

    def _update(self, report: ShareCallback) -> None:
        state, meta, basis = self.state(), self.read_meta(), self._source.basis()
        if (
            meta
            and self._has_only_grown(meta)
            and (basis == meta.get("scores") or not self._source.is_fresh())
        ):
            connection = sqlite3.connect(self.file, isolation_level=None)
            try:
                connection.execute("PRAGMA synchronous = OFF")
                connection.execute("BEGIN IMMEDIATE")
                new = self._append_records(connection, meta)
                if not self._source.is_fresh():
                    self._source.score(connection, new if basis == meta.get("scores") else None)
                self._finish(connection, state, basis)
                connection.execute("COMMIT")
            finally:
                connection.close()
        else:
            self._rebuild(state, basis, report)

    def _rebuild(self, state: str, basis: str, report: ShareCallback) -> None:
        """Make it anew beside the old one, then put it in its place."""
        new_file = self.file.with_suffix(f".{os.getpid()}.new")
        new_file.unlink(missing_ok=True)
        connection = sqlite3.connect(new_file, isolation_level=None)
        try:
            # It can be made again, so it need not survive a power cut.
            for setting in (
                "journal_mode = OFF",
                "synchronous = OFF",
                "cache_size = -32000",
                "page_size = 8192",
            ):
                connection.execute(f"PRAGMA {setting}")
            connection.executescript(SCHEMA)
            connection.execute("BEGIN")
            draft = IndexDraft(connection, self.run)
            write_meta(connection, {"bad_samples": draft.add_samples(report)})
            self._draft_records(connection, draft, report)
            if self._source.is_fresh():
                draft.add_scores(self._source.file)
            report(0.85)
            draft.write()
            del draft
            # After the rows: to keep them in order while a large run is read takes longer.
            for statement in _INDEXES:
                connection.execute(statement)
            if not self._source.is_fresh():
                self._source.score(connection, None)
            self._finish(connection, state, basis)
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.close()
            for ending in ("-wal", "-shm"):
                Path(f"{self.file}{ending}").unlink(missing_ok=True)
            new_file.replace(self.file)
        finally:
            connection.close()
            for ending in ("", "-wal", "-shm"):
                Path(f"{new_file}{ending}").unlink(missing_ok=True)

    def _finish(self, connection: sqlite3.Connection, state: str, basis: str) -> None:
        write_meta(connection, {"state": state, "samples": stamp_file(self._samples), "scores": basis})
        write_summary(connection, self.run)

    def _has_only_grown(self, meta: Mapping[str, str]) -> bool:
        if meta.get("samples") != stamp_file(self._samples):
            return False
        size, last = int(meta.get("log_end", 0)), meta.get("log_last", "")
        if not self._log.exists():
            return size == 0
        status = self._log.stat()
        if size and (str(status.st_ino) != meta.get("log_inode") or status.st_size < size):
            return False
        if status.st_size == size and meta.get("log_stamp") != stamp_file(self._log):
            return False
        return digest_tail(self._log, size) == last

    def _draft_records(
        self, connection: sqlite3.Connection, draft: IndexDraft, report: ShareCallback
    ) -> None:
        bad: list[int] = []
        end = 0
        total = max(1, self._log.stat().st_size if self._log.exists() else 0)
        for batch in read_batches(self._log, RecordLine):
            bad += batch.list_bad()
            draft.add_records(batch)
            end = batch.end
            report(0.35 + 0.4 * end / total)
        draft.finish_records()
        self._note_log(connection, end, list_numbers(bad))

    def _append_records(self, connection: sqlite3.Connection, meta: Mapping[str, str]) -> list[int]:
        """Add what the log gained; the rows that it belongs to."""
        rows = _StoredRows(connection)
        bad: list[int] = []
        new: list[int] = []
        end = int(meta.get("log_end", 0))
        for batch in read_batches(self._log, RecordLine, end):
            bad += batch.list_bad()
            end = batch.end
            new += [
                rows.add(start, len(line), record)
                for record, start, line in zip(batch.values, batch.starts, batch.lines, strict=True)
                if record is not None
            ]
        before = meta.get("bad_lines", "")
        self._note_log(connection, end, ", ".join(filter(None, (before, list_numbers(bad)))))
        return new

    def _note_log(self, connection: sqlite3.Connection, end: int, bad: str) -> None:
        values = {
            "bad_lines": bad,
            "log_end": str(end),
            "log_inode": str(self._log.stat().st_ino) if self._log.exists() else "",
            "log_stamp": stamp_file(self._log),
            "log_last": digest_tail(self._log, end),
        }
        write_meta(connection, values)


class _StoredRows:
    """Rows of an index that is there already; repeats and records whose sample is gone get one of their own."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def add(self, at: int, size: int, record: RecordLine) -> int:
        row = self._find(record.key) or self._insert(record)
        n = int(row[0])
        values = describe_record(
            record, row[1], row[2], lambda shown, order: self._number_shown([o.name for o in shown], order)
        )
        sets = ", ".join(f"{name} = ?" for name in RECORD_COLUMNS)
        self._db.execute(f"UPDATE row SET {sets} WHERE n = ?", (*values, n))
        self._db.execute("UPDATE place SET log_at = ?, log_size = ? WHERE n = ?", (at, size, n))
        self._db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", describe_words(n, record))
        return n

    def _find(self, key: str) -> tuple[int, int | None, int | None] | None:
        row: tuple[int, int | None, int | None] | None = self._db.execute(
            "SELECT r.n, r.right_option, r.names FROM place p JOIN row r ON r.n = p.n WHERE p.key = ?", (key,)
        ).fetchone()
        return row

    def _number_shown(self, names: Sequence[str], order: Sequence[int]) -> int:
        text = encode_shown(names, order)
        self._db.execute("INSERT OR IGNORE INTO names (value) VALUES (?)", (text,))
        return int(self._db.execute("SELECT id FROM names WHERE value = ?", (text,)).fetchone()[0])

    def _insert(self, record: RecordLine) -> tuple[int, int | None, int | None]:
        base = self._find(job_key(record.task, record.id))
        if base is None:
            self._db.execute("INSERT OR IGNORE INTO task (name) VALUES (?)", (record.task,))
            n = self._db.execute(
                "INSERT INTO row (task) SELECT id FROM task WHERE name = ?", (record.task,)
            ).lastrowid
            self._db.execute(
                "INSERT INTO place (n, key, id, repeat) VALUES (?, ?, ?, ?)",
                (n, record.key, record.id, record.repeat),
            )
            return int(n or 0), None, None
        facets = ", ".join(f"f{column}" for column in range(FACETS))
        copied = f"task, cluster, chance, names, right_option, key_place, {facets}"
        n = self._db.execute(
            f"INSERT INTO row (base, {copied}) SELECT n, {copied} FROM row WHERE n = ?", (base[0],)
        ).lastrowid
        self._db.execute(
            "INSERT INTO place (n, key, id, repeat, sample_at, sample_size) "
            "SELECT ?, ?, id, ?, sample_at, sample_size FROM place WHERE n = ?",
            (n, record.key, record.repeat, base[0]),
        )
        return int(n or 0), base[1], base[2]


def write_meta(connection: sqlite3.Connection, values: Mapping[str, str]) -> None:
    """Say something of the index itself."""
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(values.items()))
