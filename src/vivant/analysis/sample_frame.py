"""What a comparison needs of each sample, as a Polars frame: a few dozen bytes a sample, however long its texts are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, overload

import polars as pl
from msgspec import Struct

from vivant.benchmarks.base import Benchmark, ScoredRun
from vivant.benchmarks.summary import cluster_of, counted_value
from vivant.core.errors import unknown_name_error
from vivant.core.types import Sample

_PORTION = 20_000
_SCHEMA: dict[str, Any] = {
    "id": pl.String,
    "row": pl.UInt32,  # the first of the sample's
    "rows": pl.UInt32,  # how many it has
    "mean": pl.Float64,  # of its replies
    "replies": pl.UInt32,
    "cluster": pl.Int64,  # hashes: of the cluster, and of what makes the question
    "question": pl.Int64,
    "group": pl.UInt32,  # a number for the values of the facets
}


class SampleFrame(Struct, frozen=True, eq=False):
    """The samples of one run that count, in its order."""

    frame: pl.DataFrame
    binary: bool
    """Every value is right or wrong."""


def read_sample_frame(
    part: ScoredRun, benchmark: Benchmark, by: Sequence[str], groups: dict[tuple[str, ...], int]
) -> SampleFrame:
    """Read each row once. A sample that was asked several times counts with the mean of its replies.

    Args:
        part: The samples of one task of a run.
        benchmark: Whose task it is.
        by: The facets that samples are grouped by.
        groups: Numbers for the values of these facets; new ones are added.
    """
    unparsed_value = benchmark.unparsed_value
    known = set(benchmark.facets)
    binary = True
    frames: list[pl.DataFrame] = []
    portion: list[tuple[Any, ...]] = []
    rows = enumerate(part.rows)
    for _, replies in groupby(rows, key=lambda row: row[1][0].id):
        values: list[float] = []
        first: tuple[int, Sample] | None = None
        count = 0
        for number, (sample, _, score) in replies:
            first = first or (number, sample)
            count += 1
            known.update(sample.facets)
            value = counted_value(part, score, unparsed_value)
            if value is not None:
                values.append(value)
                binary = binary and value in (0.0, 1.0)
        if first is not None and values:
            group = tuple(first[1].facets.get(facet, "") for facet in by)
            portion.append(_describe(*first, count, values, groups.setdefault(group, len(groups))))
        if len(portion) == _PORTION:
            frames.append(_make_frame(portion))
            portion = []
    for facet in by:
        if facet not in known:
            raise unknown_name_error("facet", facet, known)
    frames.append(_make_frame(portion))
    return SampleFrame(pl.concat(frames), binary)


def _describe(number: int, sample: Sample, count: int, values: list[float], group: int) -> tuple[Any, ...]:
    return (
        sample.id,
        number,
        count,
        math.fsum(values) / len(values),
        len(values),
        hash(cluster_of(sample)),
        hash((sample.options, sample.key, sample.answers)),
        group,
    )


def _make_frame(portion: list[tuple[Any, ...]]) -> pl.DataFrame:
    columns = zip(*portion, strict=True) if portion else ([] for _ in _SCHEMA)
    return pl.DataFrame(dict(zip(_SCHEMA, map(list, columns), strict=True)), schema=_SCHEMA)


class Flip(Struct, frozen=True, kw_only=True):
    """A sample that one of two runs has right and the other wrong."""

    task: str
    id: str
    first: str
    second: str
    first_value: float
    second_value: float
    first_answer: str
    second_answer: str
    facets: dict[str, str] = {}


class FlipList(Sequence[Flip]):
    """Flips that are made when they are asked for: two large runs may have hundreds of thousands."""

    def __init__(
        self,
        names: tuple[str, str],
        parts: tuple[ScoredRun, ScoredRun],
        benchmark: Benchmark,
        flipped: pl.DataFrame,
    ) -> None:
        self._names = names
        self._parts = parts
        self._benchmark = benchmark
        self._flipped = flipped

    def __len__(self) -> int:
        return self._flipped.height

    @overload
    def __getitem__(self, index: int) -> Flip: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Flip]: ...
    def __getitem__(self, index: int | slice) -> Flip | Sequence[Flip]:
        if isinstance(index, slice):
            return FlipList(self._names, self._parts, self._benchmark, self._flipped[index])
        return self._make(self._flipped.row(index, named=True))

    def __iter__(self) -> Iterator[Flip]:
        return map(self._make, self._flipped.iter_rows(named=True))

    def _make(self, row: dict[str, Any]) -> Flip:
        sample = self._parts[0].rows[row["row"]][0]
        return Flip(
            task=sample.task,
            id=sample.id,
            first=self._names[0],
            second=self._names[1],
            first_value=row["mean"],
            second_value=row["mean_second"],
            first_answer=self._answer(self._parts[0], row["row"], row["rows"]),
            second_answer=self._answer(self._parts[1], row["row_second"], row["rows_second"]),
            facets=sample.facets,
        )

    def _answer(self, part: ScoredRun, row: int, count: int) -> str:
        scores = (part.rows[number][2] for number in range(row, row + count))
        unparsed_value = self._benchmark.unparsed_value
        counted = (score for score in scores if counted_value(part, score, unparsed_value) is not None)
        return " | ".join(dict.fromkeys(score.answer for score in counted))
