"""The rows of a new index, column by column in memory until all three files are read, then written at once."""

from __future__ import annotations

import hashlib
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec

from vivant.core.types import job_key
from vivant.view.index_lines import (
    LineBatch,
    OptionLine,
    PartLine,
    RecordLine,
    SampleLine,
    ScoreLine,
    list_numbers,
    read_batches,
)
from vivant.view.index_scores import ShownOptions, find_chance, find_option_text
from vivant.view.outcomes import ERROR, FAILED_STATUSES, UNSCORED, WAITING, classify_score

FACETS = 24
"""Facets that can be filtered by; samples with more have the first of them."""
WORDS = 4000
"""Characters of a question, and of a reply, that a search looks into."""
_WORDS_AT_ONCE = 5000
_KNOWN = 50_000
"""Combinations of facets that are remembered."""
_ROW = (
    "task", "outcome", "value", "cluster", "base", "chance", "names", "right_option", "key_place", "answer_place",
    "answer_option", "sent", "written", "batch", "cached", "failed", "seconds", "finished", "size", "frames", "video",
)  # fmt: skip
_PLACE = (
    "key", "id", "repeat", "sample_at", "sample_size", "log_at", "log_size", "score_at", "score_size",
)  # fmt: skip
_SAMPLE_COLUMNS = (
    "task", "cluster", "chance", "names", "right_option", "key_place", "key", "id", "sample_at", "sample_size",
)  # fmt: skip
RECORD_COLUMNS = (
    "names",
    "key_place",
    "failed",
    "outcome",
    "seconds",
    "finished",
    "size",
    "frames",
    "video",
    "sent",
    "written",
    "batch",
    "cached",
)
_OFFSETS = ("sample_at", "sample_size", "log_at", "log_size", "score_at", "score_size")
_NOWHERE = -1
"""Where a line would lie that there is none of."""
_ABSENT = {"repeat": 0, "outcome": WAITING, **dict.fromkeys(_OFFSETS, _NOWHERE)}
"""What a column says of a row that it has no value for; None in the others."""
_COPIED = (
    "task",
    "cluster",
    "chance",
    "names",
    "right_option",
    "key_place",
    "id",
    "sample_at",
    "sample_size",
)
SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE task (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE names (id INTEGER PRIMARY KEY, value TEXT UNIQUE);
CREATE TABLE facet (place INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE facet_value (place INTEGER, id INTEGER, value TEXT, PRIMARY KEY (place, value));
CREATE TABLE facet_task (task INTEGER, place INTEGER, id INTEGER, PRIMARY KEY (task, place, id)) WITHOUT ROWID;
CREATE TABLE row (
  n INTEGER PRIMARY KEY, task INTEGER, outcome INTEGER DEFAULT {WAITING}, value REAL, cluster INTEGER, base INTEGER,
  chance REAL, names INTEGER, right_option INTEGER, key_place INTEGER, answer_place INTEGER,
  answer_option INTEGER, sent INTEGER, written INTEGER, batch INTEGER, cached INTEGER,
  failed INTEGER, seconds REAL, finished REAL, size INTEGER, frames INTEGER, video REAL,
  {", ".join(f"f{column} INTEGER" for column in range(FACETS))});
CREATE TABLE place (
  n INTEGER PRIMARY KEY, key TEXT, id TEXT, repeat INTEGER DEFAULT 0,
  sample_at INTEGER, sample_size INTEGER, log_at INTEGER, log_size INTEGER, score_at INTEGER, score_size INTEGER);
CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='unicode61', detail='none', columnsize=0);
"""
ShareCallback = Callable[[float], None]
ShownNumber = Callable[[Iterable[OptionLine], Sequence[int]], int]


class IndexDraft:
    """Rows are numbered from 1; column lists begin with row 1."""

    def __init__(self, connection: sqlite3.Connection, run: Path) -> None:
        self._db, self._run = connection, run
        # Places in files as plain numbers: as objects they would be a third of the memory.
        self._columns: dict[str, Any] = {
            name: array("q") if name in _OFFSETS else [] for name in (*_ROW, *_PLACE)
        }
        self._facets = _FacetColumns()
        self._tasks: dict[str, int] = {}
        self._shown: dict[tuple[tuple[str, ...], tuple[int, ...]], int] = {}
        self._rows: dict[str, int] = {}
        self._words: list[tuple[int, str]] = []

    def add_samples(self, report: ShareCallback) -> str:
        """Read samples.jsonl; the lines that are no samples."""
        file = self._run / "samples.jsonl"
        bad: list[int] = []
        total = max(1, file.stat().st_size if file.exists() else 0)
        for batch in read_batches(file, SampleLine):
            bad += batch.list_bad()
            self._add_sample_batch(batch)
            report(0.35 * batch.end / total)
        for name, column in self._columns.items():
            if name not in _SAMPLE_COLUMNS:
                column.extend(repeat(_ABSENT.get(name), len(self._rows)))
        self._add_words()
        return list_numbers(bad)

    def _add_sample_batch(self, batch: LineBatch[SampleLine]) -> None:
        rows, tasks, facets = self._rows, self._tasks, self._facets
        first = len(rows) + 1
        kept: list[tuple[SampleLine, int, bytes, str]] = []
        for sample, start, line in zip(batch.values, batch.starts, batch.lines, strict=True):
            if sample is None:
                continue
            key = job_key(sample.task, sample.id)
            number = len(rows) + 1
            if rows.setdefault(key, number) == number:
                kept.append((sample, start, line, key))
        described = [
            (
                tasks.setdefault(sample.task, len(tasks) + 1),
                hash_cluster(sample.task, sample.cluster) if sample.cluster else None,
                find_chance(line, sample),
                self.number_shown(sample.options, ()) if sample.options else None,
                sample.key, sample.key, key, sample.id, start, len(line),
            )
            for sample, start, line, key in kept
        ]  # fmt: skip
        for name, values in zip(_SAMPLE_COLUMNS, zip(*described, strict=True), strict=False):
            self._columns[name].extend(values)
        self._add_words(
            [
                (
                    2 * number,
                    f"{sample.id} {facets.add(bytes(sample.facets))} {_join_texts(sample.question)[:WORDS]}",
                )
                for number, (sample, *_) in enumerate(kept, first)
            ]
        )

    def _add_words(self, words: Sequence[tuple[int, str]] = ()) -> None:
        """Words of texts, many at once and in order: a number lower than the one before costs a segment of its own."""
        self._words += words
        if len(self._words) > _WORDS_AT_ONCE or not words:
            self._db.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", sorted(self._words))
            self._words.clear()

    def add_records(self, batch: LineBatch[RecordLine]) -> None:
        """Place lines of the log; `finish_records` ends them. Samples without one wait."""
        rows, columns = self._rows, self._columns
        right, names = columns["right_option"], columns["names"]
        log_at, log_size = columns["log_at"], columns["log_size"]
        described: list[tuple[int, tuple[Any, ...]]] = []
        words: list[tuple[int, str]] = []
        for record, start, line in zip(batch.values, batch.starts, batch.lines, strict=True):
            if record is None:
                continue
            index = (rows.get(record.key) or self._copy_row(record)) - 1
            described.append((index, describe_record(record, right[index], names[index], self.number_shown)))
            log_at[index], log_size[index] = start, len(line)
            words.append(describe_words(index + 1, record))
        for position, name in enumerate(RECORD_COLUMNS):
            column = columns[name]
            for index, values in described:
                column[index] = values[position]
        self._add_words(words)

    def finish_records(self) -> None:
        """The words of the last records."""
        self._add_words()

    def _copy_row(self, record: RecordLine) -> int:
        """A row of its own for a repeat, or for a record whose sample is gone."""
        base = self._rows.get(job_key(record.task, record.id))
        number = self._rows[record.key] = len(self._rows) + 1
        for name, values in self._columns.items():
            values.append(values[base - 1] if base and name in _COPIED else _ABSENT.get(name))
        self._facets.copy_row(base)
        own = {"key": record.key, "repeat": record.repeat, "base": base, "id": record.id}
        if base is None:
            own["task"] = self._tasks.setdefault(record.task, len(self._tasks) + 1)
        for name, value in own.items():
            self._columns[name][-1] = value
        return number

    def add_scores(self, file: Path) -> None:
        """Read a score file that is fresh."""
        columns = self._columns
        option_lists = {number: ShownOptions(*key) for key, number in self._shown.items()}
        rows = self._rows
        for score, at, size in _list_scores(file):
            number = rows.get(score.key)
            if number is None or score.rule == "no record":
                continue
            index = number - 1
            columns["outcome"][index] = classify_score(score.status, score.value, score.rule)
            columns["value"][index] = score.value
            columns["score_at"][index], columns["score_size"][index] = at, size
            if score.answer and columns["names"][index] is not None:
                options = option_lists[columns["names"][index]]
                position = options.places.get(score.answer)
                if position is None and columns["log_at"][index] != _NOWHERE:
                    line = columns["log_at"][index], columns["log_size"][index]
                    position = find_option_text(self._run / "log.jsonl", *line, score.answer)
                columns["answer_place"][index] = position
                columns["answer_option"][index] = options.find_option(position)

    def number_shown(self, options: Iterable[OptionLine], order: Sequence[int]) -> int:
        """The number of a list of option names in an order."""
        key = (tuple([option.name for option in options]), tuple(order))
        return self._shown.setdefault(key, len(self._shown) + 1)

    def write(self) -> None:
        """Everything, in the order of rows."""
        facets = self._facets.list_columns()
        facet_columns = [f"f{column}" for column in range(len(facets))]
        self._insert("row", _ROW, dict(zip(facet_columns, facets, strict=True)))
        self._insert("place", _PLACE, {})
        self._db.executemany("INSERT INTO task (name, id) VALUES (?, ?)", self._tasks.items())
        names = [(encode_shown(*key), number) for key, number in self._shown.items()]
        self._db.executemany("INSERT INTO names (value, id) VALUES (?, ?)", names)
        for column, (name, numbers) in enumerate(self._facets.numbers.items()):
            self._db.execute("INSERT INTO facet VALUES (?, ?)", (column, name))
            values = [(column, number, value) for value, number in numbers.items()]
            self._db.executemany("INSERT INTO facet_value VALUES (?, ?, ?)", values)
            self._db.execute(
                f"INSERT INTO facet_task SELECT DISTINCT task, {column}, f{column} FROM row WHERE f{column} IS NOT NULL"
            )

    def _insert(self, table: str, names: Sequence[str], more: Mapping[str, Iterable[Any]]) -> None:
        """The rows of a table. Columns without any value keep their default, which saves to bind them."""
        columns: dict[str, Iterable[Any]] = {}
        for name in names:
            column = self._columns.pop(name)
            if name in _OFFSETS:
                columns[name] = (None if at == _NOWHERE else at for at in column)
            elif any(value is not None for value in column):
                columns[name] = column
        columns.update(more)
        self._db.executemany(
            f"INSERT INTO {table} (n, {', '.join(columns)}) VALUES (?{', ?' * len(columns)})",
            zip(range(1, len(self._rows) + 1), *columns.values(), strict=True),
        )


def _list_scores(file: Path) -> Iterator[tuple[ScoreLine, int, int]]:
    for batch in read_batches(file, ScoreLine):
        for score, start, line in zip(batch.values, batch.starts, batch.lines, strict=True):
            if score is not None:
                yield score, start, len(line)


def _join_texts(question: Sequence[PartLine]) -> str:
    return " ".join([part.text or part.path for part in question])


class _FacetColumns:
    """Numbers for the values of facets, one list of them per row. Rows with the same facets share a list."""

    def __init__(self) -> None:
        self.numbers: dict[str, dict[str, int]] = {}
        self._rows: list[tuple[int | None, ...]] = []
        self._known: dict[bytes, tuple[tuple[int | None, ...], str]] = {}

    def add(self, facets: bytes) -> str:
        """The next row's facets, as a line of samples.jsonl writes them; their values as one text."""
        known = self._known.get(facets)
        if known is None:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            known = self._known[facets] = self._read(facets)
        self._rows.append(known[0])
        return known[1]

    def _read(self, facets: bytes) -> tuple[tuple[int | None, ...], str]:
        values = msgspec.json.decode(facets, type=dict[str, str]) if facets else {}
        for name in values:
            if name not in self.numbers and len(self.numbers) < FACETS:
                self.numbers[name] = {}
        row = tuple(
            numbers.setdefault(values[name], len(numbers) + 1) if name in values else None
            for name, numbers in self.numbers.items()
        )
        return row, " ".join(values.values())

    def copy_row(self, base: int | None) -> None:
        """One more row with the facets of another, or with none."""
        self._rows.append(self._rows[base - 1] if base else ())

    def list_columns(self) -> list[Iterator[int | None]]:
        """The numbers of each facet, row by row."""
        return [self._iterate(column) for column in range(len(self.numbers))]

    def _iterate(self, column: int) -> Iterator[int | None]:
        return (row[column] if column < len(row) else None for row in self._rows)


def describe_record(
    record: RecordLine, right_option: int | None, names: int | None, number_shown: ShownNumber
) -> tuple[Any, ...]:
    """What a row says of a record: a value for each of RECORD_COLUMNS."""
    position = right_option
    if right_option is not None and record.order:
        position = record.order.index(right_option) if right_option in record.order else None
    failed = record.reply.status in FAILED_STATUSES
    return (
        number_shown(record.options, record.order) if record.options else names,
        position,
        int(failed),
        ERROR if failed else UNSCORED,
        record.seconds,
        record.started + record.seconds if record.started else None,
        len(record.reply.text),
        record.frames,
        record.video_seconds,
        None if record.cached else record.reply.tokens_in,
        None if record.cached else record.reply.tokens_out,
        int(bool(record.extra) and b'"batch"' in bytes(record.extra)),
        int(record.cached),
    )


def describe_words(number: int, record: RecordLine) -> tuple[int, str]:
    """What a search finds of a record."""
    return 2 * number + 1, f"{record.reply.text[:WORDS]} {record.reply.error[:300]}"


def encode_shown(names: Iterable[str], order: Sequence[int]) -> str:
    """Option names and their order as the index stores them."""
    return msgspec.json.encode((list(names), list(order))).decode()


@lru_cache(maxsize=1 << 16)
def hash_cluster(task: str, cluster: str) -> int:
    """A number for a cluster of a task."""
    text = f"{task}\x00{cluster}".encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big", signed=True)
