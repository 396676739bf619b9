"""Scores in an index: from the run's own score file where that is fresh, else made from the log, record by record.

So a run that is under way, or was never scored, shows scores too. Nothing is written into the run.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

import msgspec

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, Protocol
from vivant.core.errors import VivantError
from vivant.core.records import Record
from vivant.core.types import Sample
from vivant.runs.directory import RunDir
from vivant.runs.judgements import FOLDER, measure_panel, read_panel
from vivant.runs.live_scores import RecordScorer, open_scorer
from vivant.view.index_lines import SampleLine, stamp_file
from vivant.view.outcomes import ERROR, UNSCORED, classify_score

_T = TypeVar("_T")
_PORTION = 2000
_WHOLE = 20_000
"""Records that are scored at once where the benchmark needs all of them."""


class ScoreSource:
    """Where the scores of one run come from."""

    def __init__(self, run: Path, protocol: str) -> None:
        self._run, self._protocol = run, cast(Protocol, protocol)
        self.file = run / "scores" / f"{protocol}.jsonl"
        self._panel = run / FOLDER / "panel.json"

    def state(self) -> str:
        """What changes whenever scores might."""
        panel = stamp_file(self._panel)
        return f"{stamp_file(self.file)}|{panel}|{'' if panel == 'absent' else self._judges()}"

    def basis(self) -> str:
        """What scores rest on: while it stays the same, scores that were made stay true."""
        return (
            f"file {stamp_file(self.file)}"
            if self.is_fresh()
            else f"log {version('vivant')} {self._judges()}"
        )

    def is_fresh(self) -> bool:
        """Whether the score file says what `vivant score` would write now."""
        try:
            header = RunDir(self._run).score_header(self._protocol)
            judges = measure_panel(read_panel(self._run, self._protocol))
        except (VivantError, msgspec.MsgspecError):
            return False
        return header is not None and header.judges == judges and self.file.exists()

    def _judges(self) -> str:
        try:
            return str(sorted(measure_panel(read_panel(self._run, self._protocol)).items()))
        except VivantError:
            return ""

    def score(self, connection: sqlite3.Connection, rows: Sequence[int] | None) -> None:
        """Score records from the log: those of `rows`, or all of them."""
        if rows is None:
            connection.execute(
                f"UPDATE row SET outcome = CASE WHEN failed THEN {ERROR} ELSE {UNSCORED} END, value = NULL, "
                "answer_place = NULL WHERE failed IS NOT NULL"
            )
            connection.execute(
                "UPDATE place SET score_at = NULL, score_size = NULL WHERE score_at IS NOT NULL"
            )
        scorer = open_scorer(self._run, self._protocol)
        if scorer is None or rows == []:
            return
        for number, task in connection.execute("SELECT id, name FROM task").fetchall():
            with suppress(
                VivantError
            ):  # not installed here, or it fails on these records: they stay unscored
                if scorer.scores_apart(task):
                    self._score_task(connection, scorer, task, number, rows)
                elif scorer.can_score(task):
                    self._score_whole(connection, scorer, task, number)

    def _score_whole(
        self, connection: sqlite3.Connection, scorer: RecordScorer, task: str, number: int
    ) -> None:
        """Score a task whose records count together, where they are few enough to do that again and again."""
        query = "SELECT count(*) FROM row WHERE task = ? AND failed IS NOT NULL"
        if connection.execute(query, (number,)).fetchone()[0] <= _WHOLE:
            self._score_task(connection, scorer, task, number, None, _WHOLE)

    def _score_task(
        self,
        connection: sqlite3.Connection,
        scorer: RecordScorer,
        task: str,
        number: int,
        rows: Sequence[int] | None,
        size: int = _PORTION,
    ) -> None:
        query = (
            "SELECT r.n, r.names, p.sample_at, p.sample_size, p.log_at, p.log_size "
            "FROM row r JOIN place p ON p.n = r.n WHERE r.task = ? AND p.log_at IS NOT NULL AND p.sample_at IS NOT NULL"
        )
        if rows is None:
            entries = connection.execute(query, (number,)).fetchall()
        else:
            entries = [row for n in rows for row in connection.execute(f"{query} AND r.n = ?", (number, n))]
        reader = _OptionReader(connection)
        folder = RunDir(self._run)
        with folder.samples_file.open("rb") as sample_file, folder.log_file.open("rb") as log_file:
            for start in range(0, len(entries), size):
                portion = entries[start : start + size]
                items = [
                    (_decode(sample_file, row[2], row[3], Sample), _decode(log_file, row[4], row[5], Record))
                    for row in portion
                ]
                values = [
                    (
                        classify_score(score.status, score.value, score.rule),
                        score.value,
                        *reader.find(score.answer, row[1], record),
                        row[0],
                    )
                    for row, (_, record), score in zip(portion, items, scorer.score(task, items), strict=True)
                ]
                connection.executemany(
                    "UPDATE row SET outcome = ?, value = ?, answer_place = ?, answer_option = ? WHERE n = ?",
                    values,
                )


class ShownOptions:
    """The options of a question as they were shown: where each stood."""

    def __init__(self, names: Sequence[str], order: Sequence[int]) -> None:
        self.places = {name: index for index, name in enumerate(names)}
        self._order = order

    def find_option(self, position: int | None) -> int | None:
        """The option at a place, by its index in the data: the same under any order."""
        return self._order[position] if position is not None and position < len(self._order) else position


class _OptionReader:
    """Which of the options shown an answer names."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._shown = {
            number: ShownOptions(*msgspec.json.decode(text))
            for number, text in connection.execute("SELECT id, value FROM names")
        }

    def find(self, answer: str, names: int | None, record: Record) -> tuple[int | None, int | None]:
        """The option's place, by name or by text, and its index in the data; None where the answer is none of them."""
        if names is None or not answer:
            return None, None
        position = self._shown[names].places.get(answer)
        if position is None:
            position = _find_text(record, answer)
        return position, self._shown[names].find_option(position)


def _find_text(record: Record, answer: str) -> int | None:
    return next((index for index, option in enumerate(record.options) if option.text == answer), None)


def find_option_text(log: Path, at: int, size: int, answer: str) -> int | None:
    """The place of the option whose text is the answer, in a line of a log."""
    with log.open("rb") as file:
        return _find_text(_decode(file, at, size, Record), answer)


def _decode(file: BinaryIO, at: int, size: int, kind: type[_T]) -> _T:
    file.seek(at)
    return msgspec.json.decode(file.read(size), type=kind)


@cache
def _find_benchmark(task: str) -> tuple[Benchmark, float | None] | None:
    """A task's benchmark and its chance where that is the same for all samples; None where it is not installed."""
    try:
        benchmark = registry.get_by_task(task)
        return benchmark, benchmark.task(task).chance
    except VivantError:
        return None


def find_chance(line: bytes, sample: SampleLine) -> float | None:
    """What a guess scores on a sample. Only a benchmark with a rule of its own needs the whole line.

    The viewer shows scores of the usual settings, and so does this: scores of others lie in files of their own.
    """
    result = _find_benchmark(sample.task)
    if result is None:
        return None
    benchmark, usual = result
    kind = type(benchmark)
    if kind.chance is Benchmark.chance and kind.chance_as_scored is Benchmark.chance_as_scored:
        return 1.0 / len(sample.options) if sample.options else usual
    return benchmark.chance_as_scored(msgspec.json.decode(line, type=Sample), benchmark.settings)
