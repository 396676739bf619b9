"""What a comparison needs of each sample, as columns: a few dozen bytes a sample, however long its texts are."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, overload

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from vivant.benchmarks.base import Benchmark, ScoredRun
from vivant.benchmarks.summary import answer_identity, cluster_of, get_counted_value
from vivant.core.errors import unknown_name_error
from vivant.core.records import Score
from vivant.core.types import Sample


class SampleFrame(Struct, eq=False):
    """The samples of one run that count, in its order, as columns of one length."""

    ids: list[str] = field(default_factory=list)
    rows: array[int] = field(default_factory=lambda: array("L"))
    """The first row of each sample."""
    means: array[float] = field(default_factory=lambda: array("d"))
    """Of its replies."""
    replies: array[int] = field(default_factory=lambda: array("L"))
    clusters: array[int] = field(default_factory=lambda: array("q"))
    """Hashes of clusters."""
    questions: array[int] = field(default_factory=lambda: array("q"))
    """Hashes of what makes a question."""
    rights: array[int] = field(default_factory=lambda: array("q"))
    """Hashes of what is right."""
    answers: list[str] = field(default_factory=list)
    groups: list[tuple[str, ...]] = field(default_factory=list)
    """Values of the facets that are grouped by."""
    binary: bool = True
    """Every value is right or wrong."""

    def __len__(self) -> int:
        return len(self.ids)


def read_sample_frame(part: ScoredRun, benchmark: Benchmark, by: Sequence[str]) -> SampleFrame:
    """Read each row once. A sample that was asked several times counts with the mean of its replies."""
    unparsed_value = benchmark.unparsed_value
    known = set(benchmark.facets)
    frame = SampleFrame()
    # Equal texts and groups are held once: there are few of them, and many samples.
    texts: dict[str, str] = {}
    groups: dict[tuple[str, ...], tuple[str, ...]] = {}
    for _, replies in groupby(enumerate(part.rows), key=lambda row: row[1][0].id):
        values: list[float] = []
        scores: list[Score] = []
        first: tuple[int, Sample] | None = None
        for number, (sample, _, score) in replies:
            known.update(sample.facets)
            value = get_counted_value(part, score, unparsed_value)
            if value is not None:
                first = first or (number, sample)
                values.append(value)
                scores.append(score)
                frame.binary = frame.binary and value in (0.0, 1.0)
        if first is None:
            continue
        row, sample = first
        answer = " | ".join(dict.fromkeys(score.answer for score in scores))
        group = tuple(sample.facets.get(facet, "") for facet in by)
        frame.ids.append(sample.id)
        frame.rows.append(row)
        frame.means.append(math.fsum(values) / len(values))
        frame.replies.append(len(values))
        frame.clusters.append(hash(cluster_of(sample)))
        frame.questions.append(hash((sample.options, sample.key, sample.answers)))
        frame.rights.append(hash(answer_identity(sample)))
        frame.answers.append(texts.setdefault(answer, answer))
        frame.groups.append(groups.setdefault(group, group))
    for facet in by:
        if facet not in known:
            raise unknown_name_error("facet", facet, known)
    return frame


class SharedSamples(Struct, frozen=True, eq=False):
    """The samples that two runs share, in the order of the first: where each has them."""

    first: SampleFrame
    second: SampleFrame
    places: NDArray[np.int64]
    """Two columns: the place in the first frame, and in the second."""

    def __len__(self) -> int:
        return len(self.places)

    def columns(self, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """A column of numbers, for both runs."""
        first, second = (np.asarray(getattr(frame, name)) for frame in (self.first, self.second))
        return first[self.places[:, 0]], second[self.places[:, 1]]

    def select(self, chosen: NDArray[np.bool_] | NDArray[np.int64] | slice) -> SharedSamples:
        """Some of them."""
        return SharedSamples(self.first, self.second, self.places[chosen])


def join_samples(first: SampleFrame, second: SampleFrame) -> tuple[SharedSamples, list[int]]:
    """What two runs share, and the places of those that only the second has."""
    where = {name: index for index, name in enumerate(second.ids)}
    pairs = array("q")
    for index, name in enumerate(first.ids):
        other = where.pop(name, None)
        if other is not None:
            pairs.extend((index, other))
    places: NDArray[np.int64] = np.array(pairs, np.int64).reshape(-1, 2)
    return SharedSamples(first, second, places), list(where.values())


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

    def __init__(self, first: str, second: str, part: ScoredRun, flipped: SharedSamples) -> None:
        self._names = first, second
        self._part = part
        self._flipped = flipped

    def __len__(self) -> int:
        return len(self._flipped)

    @overload
    def __getitem__(self, index: int) -> Flip: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Flip]: ...
    def __getitem__(self, index: int | slice) -> Flip | Sequence[Flip]:
        if isinstance(index, slice):
            return FlipList(*self._names, self._part, self._flipped.select(index))
        return self._make(*self._flipped.places[index])

    def __iter__(self) -> Iterator[Flip]:
        return (self._make(*places) for places in self._flipped.places)

    def _make(self, index: int, other: int) -> Flip:
        first, second = self._flipped.first, self._flipped.second
        sample = self._part.rows[first.rows[index]][0]
        return Flip(
            task=sample.task,
            id=sample.id,
            first=self._names[0],
            second=self._names[1],
            first_value=first.means[index],
            second_value=second.means[other],
            first_answer=first.answers[index],
            second_answer=second.answers[other],
            facets=sample.facets,
        )
