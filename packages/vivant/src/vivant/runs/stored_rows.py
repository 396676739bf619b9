"""The rows of a large run: samples, records and scores joined by id, held as places in files.

A row takes a few dozen bytes, however long its texts are; its sample, record and score are read when it is asked for.
Joins go by 64-bit hashes of ids and keys in numpy arrays. Small runs do not come here: see `runs/run.py`.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from vivant.core.files import iter_jsonl
from vivant.core.records import Record, Score
from vivant.core.stored_lines import LineReader
from vivant.core.types import Sample, job_key
from vivant.runs.directory import RunDir, RunError
from vivant.runs.log import iter_places

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

ScoredRow = tuple[Sample, Record | None, Score]
Joined = tuple[Sample, Record | None, str]


class RowIndex:
    """Where a run's samples and records are, and what they are joined by."""

    def __init__(self, directory: RunDir) -> None:
        import numpy as np

        self._directory = directory
        self._samples = LineReader.open(directory.samples_file, Sample)
        log = directory.log_file if directory.log_file.exists() else os.devnull
        self._log = LineReader.open(log, Record)
        tasks: dict[str, int] = {}
        table = _Columns("qqqq")
        for start, size, sample in _places(directory.samples_file, Sample):
            table.add(tasks.setdefault(sample.task, len(tasks)), hash(sample.id), start, size)
        self._sample_table = table.arrays()
        table = _Columns("qqqqqqq")
        for start, size, record in iter_places(directory.log_file):
            task = tasks.setdefault(record.task, len(tasks))
            table.add(task, hash(record.id), hash(record.key), record.permutation, record.repeat, start, size)
        records = table.arrays()
        # A key that stands twice counts with its last line.
        _, last = np.unique(records[2][::-1], return_index=True)
        self._record_table = records[:, np.sort(records.shape[1] - 1 - last)]
        self._tasks = tasks

    def join(self, task: str) -> JoinedRows:
        """Each sample of a task with each of its records, or with none, in the order of the samples."""
        import numpy as np

        number = self._tasks.get(task, -1)
        samples = self._sample_table[1:, self._sample_table[0] == number]
        records = self._record_table[1:, self._record_table[0] == number]
        order = np.lexsort((records[3], records[2], records[0]))
        records = records[:, order]
        left = np.searchsorted(records[0], samples[0], "left")
        right = np.searchsorted(records[0], samples[0], "right")
        counts = np.maximum(right - left, 1)
        sample = np.repeat(np.arange(samples.shape[1]), counts)
        first = np.cumsum(counts) - counts
        within = np.arange(sample.size) - first[sample]
        record = np.where((right > left)[sample], left[sample] + within, -1)
        places = np.full((5, sample.size), -1, np.int64)
        places[0:2] = samples[1:3, sample]
        answered = record >= 0
        places[2:4, answered] = records[4:6, record[answered]]
        places[4, answered] = records[1, record[answered]]
        for row in np.flatnonzero(~answered):
            name = self._samples.read(int(places[0, row]), int(places[1, row])).id
            places[4, row] = hash(job_key(task, name))
        return JoinedRows(task, self._samples, self._log, places)


class JoinedRows:
    """Samples with their records, before they are scored."""

    def __init__(
        self, task: str, samples: LineReader[Sample], log: LineReader[Record], places: Places
    ) -> None:
        self._task = task
        self._samples = samples
        self._log = log
        self._places = places

    def __len__(self) -> int:
        return int(self._places.shape[1])

    def read(self, row: int) -> tuple[Sample, Record | None]:
        """One row."""
        start, size, log_start, log_size = self._places[:4, row].tolist()
        record = self._log.read(log_start, log_size) if log_start >= 0 else None
        return self._samples.read(start, size), record

    def __iter__(self) -> Iterator[Joined]:
        for row in range(len(self)):
            sample, record = self.read(row)
            yield sample, record, record.key if record is not None else job_key(self._task, sample.id)

    def with_scores(self, path: Path) -> StoredRows:
        """The rows with the scores in a file, joined by key. Raises KeyError where a score is missing."""
        import numpy as np

        table = _Columns("qqq")
        for start, size, score in _places(path, Score):
            if score.task == self._task:
                table.add(hash(score.key), start, size)
        scores = table.arrays()
        scores = scores[:, np.argsort(scores[0], kind="stable")]
        keys = self._places[4]
        at = np.searchsorted(scores[0], keys)
        if not scores.shape[1] or (scores[0][np.minimum(at, scores.shape[1] - 1)] != keys).any():
            raise KeyError(self._task)
        places = np.concatenate((self._places[:4], scores[1:, at]))
        return StoredRows(self._samples, self._log, LineReader.open(path, Score), places)


class StoredRows(Sequence[ScoredRow]):
    """Samples, records and scores, each read when its row is asked for."""

    def __init__(
        self, samples: LineReader[Sample], log: LineReader[Record], scores: LineReader[Score], places: Places
    ) -> None:
        self._readers = samples, log, scores
        self._places = places

    def __len__(self) -> int:
        return int(self._places.shape[1])

    @overload
    def __getitem__(self, index: int) -> ScoredRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ScoredRow]: ...
    def __getitem__(self, index: int | slice) -> ScoredRow | Sequence[ScoredRow]:
        if isinstance(index, slice):
            return StoredRows(*self._readers, self._places[:, index])
        start, size, log_start, log_size, score_start, score_size = self._places[:, index].tolist()
        samples, log, scores = self._readers
        record = log.read(log_start, log_size) if log_start >= 0 else None
        return samples.read(start, size), record, scores.read(score_start, score_size)

    def __iter__(self) -> Iterator[ScoredRow]:
        return (self[row] for row in range(len(self)))

    def select(self, keep: Callable[[ScoredRow], bool]) -> StoredRows:
        """The rows that fulfil a condition."""
        return StoredRows(
            *self._readers, self._places[:, [row for row in range(len(self)) if keep(self[row])]]
        )


def _places(path: Path, kind: type[Any]) -> Iterator[tuple[int, int, Any]]:
    """Start and length of each line, with its value. Lines are as `write_jsonl` writes them."""
    start = 0
    with path.open("rb") as file:
        for value, line in zip(iter_jsonl(path, kind, RunError), file, strict=False):
            yield start, len(line), value
            start += len(line)


class _Columns:
    """Columns of numbers that grow."""

    def __init__(self, codes: Iterable[str]) -> None:
        self._columns = [array(code) for code in codes]

    def add(self, *values: int) -> None:
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)

    def arrays(self) -> Places:
        import numpy as np

        return np.array([np.array(column, np.int64) for column in self._columns])


__all__ = ["JoinedRows", "RowIndex", "ScoredRow", "StoredRows"]
