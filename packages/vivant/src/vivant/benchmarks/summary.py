"""Scores to figures: a row for a run, or one for each group of samples."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from vivant.benchmarks.base import Benchmark, Published, ScoredRun
from vivant.benchmarks.rubric import JudgeInfo
from vivant.benchmarks.sample_units import StoppedOrder, group_intervals
from vivant.core.errors import DataError, unknown_name_error
from vivant.core.records import Record, Score
from vivant.core.structs import copy_shared_fields
from vivant.core.table import Row
from vivant.core.types import Sample, Text

if TYPE_CHECKING:
    from vivant.metrics.intervals import Interval, Method

Item = tuple[Sample, Record | None, Score]


def summarise(
    run: ScoredRun, benchmark: Benchmark, by: Sequence[str] = (), *, intervals: Method = "auto"
) -> list[Row]:
    """One row for all samples, or one for each combination of the facets `by`, naturally sorted."""
    # Late: numpy is not needed to plan a run, which reads conditions with this module.
    from vivant.metrics.intervals import ClusteredValues, mean_intervals

    by = tuple(dict.fromkeys(by))
    groups: dict[tuple[str, ...], _Group] = {} if by else {(): _Group()}
    known = set(benchmark.facets)
    binary = True
    unparsed_value = benchmark.unparsed_value
    for sample, _, score in run.rows:
        if by:
            known.update(sample.facets)
        value = get_counted_value(run, score, unparsed_value)
        binary = binary and value in (None, 0.0, 1.0)
        name = tuple(sample.facets.get(facet, "") for facet in by)
        group = groups.get(name)
        if group is None:
            group = groups[name] = _Group()
        group.add(sample, score, value, benchmark, run.settings)
    for facet in by:
        if facet not in known:
            raise unknown_name_error("facet", facet, known)
    names = sorted(
        groups,
        key=lambda values: [_level_key(benchmark, f, v) for f, v in zip(by, values, strict=True)],
    )
    group_intervals = mean_intervals(
        [ClusteredValues(groups[name].values, groups[name].clusters) for name in names],
        binary=binary,
        method=intervals,
    )
    if run.stopped is not None and all(sample.task == run.task for sample, _, _ in run.rows):
        group_intervals = _anytime_intervals(run, benchmark, by, names)
    return [
        _row(run, benchmark, dict(zip(by, name, strict=True)), groups[name], interval)
        for name, interval in zip(names, group_intervals, strict=True)
    ]


def _anytime_intervals(
    run: ScoredRun, benchmark: Benchmark, by: Sequence[str], names: Sequence[tuple[str, ...]]
) -> list[Interval | None]:
    """For a run that stopped early, intervals that hold whenever one stops, for the mean of all samples."""
    assert run.stopped is not None
    values = (
        (tuple(sample.facets.get(facet, "") for facet in by), sample.id, value)
        for sample, _, score in run.rows
        if (value := get_counted_value(run, score, benchmark.unparsed_value)) is not None
    )
    members: dict[tuple[str, ...], list[str]] = {}
    for name, facets in run.stopped.facets.items():
        members.setdefault(tuple(facets.get(facet, "") for facet in by), []).append(name)
    intervals = group_intervals(run.stopped, values, members)
    return [intervals.get(name) for name in names]


def sum_units(
    stopped: StoppedOrder, rows: Iterable[tuple[Sample, Score]], benchmark: Benchmark, part: ScoredRun
) -> list[tuple[float, float]]:
    """The total and the number of values of each unit that counts; what could not be scored counts in neither."""
    places = stopped.places
    sums = [[0.0, 0.0] for _ in range(stopped.complete)]
    for sample, score in rows:
        number = places.get(sample.id)
        value = get_counted_value(part, score, benchmark.unparsed_value)
        if number is not None and value is not None:
            sums[number][0] += value
            sums[number][1] += 1
    return [(total, size) for total, size in sums]


class _Group:
    """What a row of a table needs of its samples: numbers, not the samples, of which there may be a million."""

    def __init__(self) -> None:
        self.values = array("d")
        self.clusters = array("q")
        """A hash for each value's cluster."""
        self.chances = array("d")
        self.errors = self.unparsed = self.truncated = self.guessed = 0

    def add(
        self,
        sample: Sample,
        score: Score,
        value: float | None,
        benchmark: Benchmark,
        settings: Mapping[str, Any],
    ) -> None:
        """One more sample."""
        self.errors += score.status == "missing"
        self.unparsed += score.status == "unparsed"
        self.truncated += score.status == "truncated"
        self.guessed += score.guessed
        if value is None:
            return
        self.values.append(value)
        self.clusters.append(hash(cluster_of(sample)))
        chance = benchmark.chance_as_scored(sample, settings)
        if chance is not None:
            self.chances.append(chance)

    @property
    def chance(self) -> float | None:
        """The expected mean of a guesser on these samples, where it is known for each of them."""
        known = self.chances and len(self.chances) == len(self.values)
        return math.fsum(self.chances) / len(self.chances) if known else None


def group_rows(run: ScoredRun, benchmark: Benchmark, by: Sequence[str]) -> dict[tuple[str, ...], list[Item]]:
    """The rows of a run by the values of these facets; all of them under () where none is named."""
    by = tuple(dict.fromkeys(by))
    known = set(benchmark.facets).union(*(sample.facets for sample, _, _ in run.rows))
    for facet in by:
        if facet not in known:
            raise unknown_name_error("facet", facet, known)
    groups: dict[tuple[str, ...], list[Item]] = {} if by else {(): []}
    for item in run.rows:
        groups.setdefault(tuple(item[0].facets.get(facet, "") for facet in by), []).append(item)
    return groups


def is_binary(run: ScoredRun, unparsed_value: float | None) -> bool:
    """Whether every value of a run is right or wrong."""
    values = (get_counted_value(run, score, unparsed_value) for _, _, score in run.rows)
    return all(value in (0.0, 1.0) for value in values if value is not None)


def cluster_of(sample: Sample) -> str:
    """What a sample is not independent of: its cluster; without one, its own repeats."""
    return sample.cluster or f"\x00{sample.id}"


def question_identity(sample: Sample) -> Hashable:
    """What makes a question the same in two editions: its options in any order, the right one, the accepted answers."""
    right = sample.options[sample.key].text if sample.key is not None and sample.options else ""
    return tuple(sorted(option.text for option in sample.options)), right, sample.answers


def answer_identity(sample: Sample) -> Hashable:
    """What must be the same for two runs' replies to be compared: what is right, else what is asked."""
    if sample.answers:
        return tuple(sorted(sample.answers))
    if sample.key is not None and sample.options:
        return sample.options[sample.key].text
    return " ".join(part.text for part in sample.question if isinstance(part, Text))


def make_published_row(figure: Published, n: int = 0) -> Row:
    """A figure from a paper as a row, marked with its source; `n` where the paper states it."""
    return Row(
        run="published", benchmark=figure.task.partition("/")[0], n=n, **copy_shared_fields(figure, Row)
    )


def natural_sort_key(text: str) -> list[tuple[int, int, str]]:
    """A sorting key under which 90 comes before 180."""
    parts = re.findall(r"\d{1,18}|\D+", text)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part.casefold()) for part in parts]


def order_levels(benchmark: Benchmark, facet: str, values: Iterable[str]) -> list[str]:
    """The values of a facet in the order that the benchmark gives them, else naturally sorted."""
    return sorted(values, key=lambda value: _level_key(benchmark, facet, value))


def _level_key(benchmark: Benchmark, facet: str, value: str) -> tuple[int, int, list[tuple[int, int, str]]]:
    levels = benchmark.levels.get(facet, ())
    return (0, levels.index(value), []) if value in levels else (1, 0, natural_sort_key(value))


def _row(
    run: ScoredRun, benchmark: Benchmark, facets: dict[str, str], group: _Group, interval: Interval | None
) -> Row:
    task = benchmark.task(run.task)
    value = math.fsum(group.values) / len(group.values) if group.values else None
    interval = interval and _clip_interval(interval, group.values)
    scaled = interval.scale(task.scale) if interval else None
    chance = group.chance
    return Row(
        run=run.run,
        benchmark=benchmark.name,
        task=run.task,
        group=facets,
        metric=task.metric,
        value=None if value is None else value * task.scale,
        n=len(group.values),
        errors=group.errors,
        unparsed=group.unparsed,
        truncated=group.truncated,
        guessed=group.guessed,
        interval=(scaled.low, scaled.high) if scaled else None,
        interval_method=scaled.method if scaled else "",
        chance=None if chance is None else chance * task.scale,
        corrected=correct_for_chance(value, chance, task.scale),
        corrected_interval=_both(interval, chance, task.scale),
        model=run.model,
        style=run.style,
        protocol=run.protocol,
    )


def _clip_interval(interval: Interval, values: Sequence[float]) -> Interval:
    """The interval without what no mean can reach, where values are shares: Student's t knows no ends."""
    if min(values) < 0 or max(values) > 1 or (interval.low >= 0 and interval.high <= 1):
        return interval
    return structs.replace(interval, low=max(interval.low, 0.0), high=min(interval.high, 1.0))


def correct_for_chance(value: float | None, chance: float | None, scale: float) -> float | None:
    """A value between 0 and 1 with chance moved to 0: what is left when guessing is taken away."""
    if value is None or chance is None or chance >= 1:
        return None
    return (value - chance) / (1 - chance) * scale


def _both(interval: Interval | None, chance: float | None, scale: float) -> tuple[float, float] | None:
    if interval is None:
        return None
    low, high = (correct_for_chance(end, chance, scale) for end in (interval.low, interval.high))
    return None if low is None or high is None else (low, high)


def get_counted_value(run: ScoredRun, score: Score, unparsed_value: float | None) -> float | None:
    """What a score adds to a mean; None where it stays out of it."""
    if score.status in ("truncated", "missing", "excluded"):
        return None
    if score.status == "unparsed":
        return unparsed_value
    if score.value is None or not math.isfinite(score.value):
        raise DataError(
            f"{run.run}: {score.key} is scored but its value is {score.value}; score the run again"
        )
    return score.value


class SampleScores(Struct, frozen=True):
    """All that counts of one sample: several values where it was asked several times."""

    sample: Sample
    values: tuple[float, ...]
    scores: tuple[Score, ...]

    @property
    def mean(self) -> float:
        """What the sample is worth: repeats of it count together as one."""
        return math.fsum(self.values) / len(self.values)


def group_by_sample(run: ScoredRun, benchmark: Benchmark) -> dict[str, SampleScores]:
    """The values of a run by sample id; samples without any are left out."""
    unparsed_value = benchmark.unparsed_value
    samples: dict[str, tuple[Sample, list[float], list[Score]]] = {}
    for sample, _, score in run.rows:
        value = get_counted_value(run, score, unparsed_value)
        if value is not None:
            _, values, scores = samples.setdefault(sample.id, (sample, [], []))
            values.append(value)
            scores.append(score)
    return {
        name: SampleScores(s, tuple(values), tuple(scores)) for name, (s, values, scores) in samples.items()
    }


def judge_notes(parts: Sequence[ScoredRun]) -> list[str]:
    """Who judged what, and what must be said of it: under every table that rests on a judge."""
    tasks: dict[tuple[str, tuple[JudgeInfo, ...]], list[str]] = {}
    for part in parts:
        if part.judges:
            tasks.setdefault((part.run, part.judges), []).append(part.task)
    notes: list[str] = []
    for (run, judges), judged in tasks.items():
        each = ", ".join(f"{j.name} ({j.fingerprint[:8]}, {j.samples} verdict(s) each)" for j in judges)
        notes.append(f"{run}, {', '.join(judged)}: judged by {each}.")
        unseen = [
            (score.key, score.detail["unseen"][0])
            for part in parts
            if part.run == run
            for _, _, score in part.rows
            if score.detail.get("unseen")
        ]
        if unseen:
            notes.append(
                f"{run}: {len(unseen)} answers were not shown to the judge in full; "
                f"the first: {unseen[0][0]}: {unseen[0][1]}."
            )
    known = dict.fromkeys(judge for _, judges in tasks for judge in judges)
    return notes + [f"{judge.name} is {judge.caveat}." for judge in known if judge.caveat]
