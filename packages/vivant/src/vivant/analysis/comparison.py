"""Runs against each other, sample by sample. `vivant.compare(...)` and `vivant compare` are this.

Samples are paired by id. A sample that was asked several times counts with the mean of its replies. What is
missing in one of two runs is left out of both and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct, field

from vivant.analysis.run_differences import describe_differences
from vivant.analysis.sample_frame import (
    Flip,
    FlipList,
    SampleFrame,
    SharedSamples,
    join_samples,
    read_sample_frame,
)
from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol, ScoredRun
from vivant.benchmarks.conditions import restrict
from vivant.benchmarks.sample_units import StoppedOrder
from vivant.benchmarks.summary import natural_sort_key
from vivant.core.arguments import as_strings
from vivant.core.errors import UsageError
from vivant.core.stored_lines import IN_MEMORY
from vivant.core.table import Table
from vivant.metrics.paired import Difference, anytime_difference, holm_within, paired_difference
from vivant.runs.overview import list_run_distinctions
from vivant.runs.run import Run, RunLike, choose_common_protocol, load_runs
from vivant.runs.stopping_table import describe_stopped_runs, find_shared_order, find_stopped


class RunPair(Struct, frozen=True, kw_only=True):
    """One comparison: two runs on a task or a group of its samples, or two groups of one run."""

    first: str
    second: str
    """Names of runs, or values of the facet that is compared."""
    task: str
    group: Mapping[str, str] = field(default_factory=dict)
    """The facets that both are restricted to."""
    scale: float = 100.0
    """Figures of `result` times this are what tables print."""
    result: Difference
    adjusted: float | None = None
    """The p value after Holm's correction over the comparisons of the same `family`."""
    gained: int = 0
    """Samples that only the second has right."""
    lost: int = 0
    """Samples that only the first has right."""
    unpaired: int = 0
    """Samples that only one of the two could be scored on."""
    run: str = ""
    """The run, where two groups of one are compared."""
    matched: tuple[str, ...] = ()
    """For two groups of one run: the facets in which the samples of a pair agree."""

    @property
    def family(self) -> str:
        """The benchmark (or the file of one's own questions), and the run where groups of one are compared."""
        return " ".join(filter(None, (name_family(self.task), self.run)))


class Comparison(Struct, frozen=True, kw_only=True):
    """All comparisons made together, and what must be known to judge them."""

    pairs: tuple[RunPair, ...]
    flips: Sequence[Flip] = ()
    models: Mapping[str, str] = field(default_factory=dict)
    """The model of each run."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """By run, what is not as by default and not so in all runs: `blind, 16 frames`."""
    notes: tuple[str, ...] = ()
    """How the runs differ besides the model, and what else limits the comparison."""
    protocol: Protocol = "paper"

    @property
    def tests(self) -> int:
        """How many tests there are."""
        return sum(self.families.values())

    @property
    def families(self) -> Mapping[str, int]:
        """How many tests Holm's correction is over: those of each benchmark by themselves."""
        return Counter(pair.family for pair in self.pairs if pair.result.p is not None)

    def table(self) -> Table:
        """One line per comparison; p values are corrected within each benchmark."""
        from vivant.analysis.comparison_table import build_comparison_table

        return build_comparison_table(self)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def compare(
    runs: RunLike | Sequence[RunLike],
    *,
    protocol: Protocol | None = None,
    by: str | Sequence[str] = (),
    where: str | Sequence[str] = (),
    between: str | Sequence[str] = (),
    match: str | Sequence[str] | None = None,
    rest: bool = False,
    values: Mapping[str, Any] | None = None,
) -> Comparison:
    """Every run with every other, on each task and each group of samples that `by` names.

    With `between`, the values of these facets are compared inside each run instead: paired where samples
    differ in that facet alone (see `vivant.analysis.group_comparison`).

    >>> found = vivant.compare(["runs/a", "runs/b"], by=["variant"])
    >>> [(pair.group, pair.result.value, pair.adjusted) for pair in found.pairs]

    Args:
        runs: Runs, run directories, or folders of them.
        protocol: `paper` or `strict`. None takes the first that all benchmarks have.
        by: Facets to group by.
        where: Conditions on samples, as `facet=value`.
        between: Facets whose values are compared inside each run.
        match: With `between`: pair samples of a cluster that agree in these; empty pairs nothing. Default: all facets
            that the data cross with it.
        rest: With `between`: each value against all others together.
        values: Scoring settings other than the defaults, such as `{"threshold": 0.75}`.
    """
    by, where, between = as_strings(by), as_strings(where), as_strings(between)
    match = None if match is None else as_strings(match)
    named = [runs] if isinstance(runs, Run | str | Path) else list(runs)
    paths = [(run.dir.path if isinstance(run, Run) else Path(run)).resolve() for run in named]
    if len(set(paths)) < len(paths):
        raise UsageError("A run is named twice; name each run once")
    loaded = load_runs(named)
    protocol = choose_common_protocol(loaded, protocol)
    if between:
        from vivant.analysis.group_comparison import compare_groups

        return compare_groups(
            loaded, between, protocol=protocol, by=by, where=where, match=match, rest=rest, values=values
        )
    if len(loaded) < 2:
        raise UsageError("Name two runs or more; to compare groups of samples inside one: --between FACET")
    names = [run.name for run in loaded]
    parts = {name: _by_task(run, protocol, where, values) for name, run in zip(names, loaded, strict=True)}
    pairs: list[RunPair] = []
    flips: list[Sequence[Flip]] = []
    notes: list[str] = []
    by = tuple(dict.fromkeys(by))
    stopped = {name: find_stopped(run) for name, run in zip(names, loaded, strict=True)}
    too_sure: set[str] = set()
    for first, second in combinations(names, 2):
        common = [task for task in parts[first] if task in parts[second]]
        if not common:
            tasks = " and ".join(f"{name} ({', '.join(parts[name])})" for name in (first, second))
            raise UsageError(f"{tasks} have no task in common")
        notes += describe_differences(first, second, loaded[names.index(first)], loaded[names.index(second)])
        for task in common:
            own = {
                n: stopped[n][task]
                for n in (first, second)
                if task in stopped[n] and stopped[n][task].stopped
            }
            order = find_shared_order(list(own.values()))
            if own and order is None:
                too_sure.update(own)
            task_pairs, task_flips, task_notes = _compare_task(
                first, second, parts[first][task], parts[second][task], by, order
            )
            pairs += task_pairs
            flips.append(task_flips)
            notes += task_notes
    notes += describe_stopped_runs(
        [run for run, name in zip(loaded, names, strict=True) if name in too_sure],
        sorted(too_sure, key=names.index),
    )
    return Comparison(
        pairs=tuple(correct_p_values(pairs)),
        flips=_join_flips(flips),
        models={name: run.model for name, run in zip(names, loaded, strict=True)},
        settings=dict(zip(names, list_run_distinctions(loaded), strict=True)),
        notes=tuple(dict.fromkeys(notes)),
        protocol=protocol,
    )


def _join_flips(parts: Sequence[Sequence[Flip]]) -> Sequence[Flip]:
    """All flips; of one large comparison they stay where they are."""
    if len(parts) == 1 and len(parts[0]) > IN_MEMORY:
        return parts[0]
    return tuple(flip for part in parts for flip in part)


def name_family(task: str) -> str:
    """What tests are corrected together: those of one benchmark, or of one file of questions."""
    benchmark = task.partition("/")[0]
    return task if benchmark == "jsonl" else benchmark


def correct_p_values(pairs: Sequence[RunPair]) -> Iterator[RunPair]:
    """The pairs with their p values corrected for being so many, within each family."""
    adjusted = holm_within([pair.result.p for pair in pairs], [pair.family for pair in pairs])
    for pair, p in zip(pairs, adjusted, strict=True):
        yield msgspec.structs.replace(pair, adjusted=p)


def _by_task(
    run: Run, protocol: Protocol, where: Sequence[str], values: Mapping[str, Any] | None
) -> dict[str, ScoredRun]:
    return {part.task: part for part in restrict(run.scores(protocol, values), where)}


def _compare_task(
    first: str,
    second: str,
    first_part: ScoredRun,
    second_part: ScoredRun,
    by: tuple[str, ...],
    order: StoppedOrder | None,
) -> tuple[list[RunPair], Sequence[Flip], list[str]]:
    benchmark = registry.get_by_task(first_part.task)
    a, b = (read_sample_frame(part, benchmark, by) for part in (first_part, second_part))
    shared, alone = join_samples(a, b)
    places = order.places if order else {}
    if order:
        shared = shared.select(np.array([a.ids[index] in places for index in shared.places[:, 0]], bool))
    if not len(shared):
        raise UsageError(f"{first} and {second} have no scored sample of {first_part.task} in common")
    shared, changed = _drop_changed(shared, first, second, first_part.task)
    binary = a.binary and b.binary
    single = all(column.max() == 1 for column in shared.columns("replies"))
    groups, sizes = _divide(a, b, shared, alone, by)
    scale = benchmark.task(first_part.task).scale
    pairs: list[RunPair] = []
    for key in sorted(groups, key=lambda values: [natural_sort_key(value) for value in values]):
        members = groups[key]
        means, others = members.columns("means")
        if order is None:
            clusters = members.columns("clusters")[0].tolist()
            result = paired_difference(means, others, clusters, binary=binary and single)
        else:
            units = [places[a.ids[index]] for index in members.places[:, 0]]
            largest = max(len(unit.ids) for unit in order.order.units)
            result = anytime_difference(means, others, units, count=order.complete, largest=largest)
        # More right than wrong; for scores on a scale, from its middle up.
        right, right_second = means >= 0.5, others >= 0.5
        pairs.append(
            RunPair(
                first=first,
                second=second,
                task=first_part.task,
                group=dict(zip(by, key, strict=True)) if key else {},
                scale=scale,
                result=result,
                gained=int((~right & right_second).sum()),
                lost=int((right & ~right_second).sum()),
                unpaired=sizes[key] - len(members),
            )
        )
    means, others = shared.columns("means")
    flipped = shared.select((means >= 0.5) != (others >= 0.5))
    questions, other_questions = shared.columns("questions")
    other = int((questions != other_questions).sum())
    notes = _describe_samples(first, second, first_part.task, len(shared), other, binary)
    lonely = len(a) - len(shared) - changed, len(alone)
    if changed:
        notes.insert(
            0,
            f"{first} and {second}, {first_part.task}: {changed} samples are left out, because other answers are right "
            "in the two runs.",
        )
    if any(lonely):
        notes.insert(
            min(1, other),
            f"{first_part.task}: {lonely[0]} samples scored in {first} alone and {lonely[1]} in {second} alone "
            "are left out.",
        )
    return pairs, FlipList(first, second, first_part, flipped), notes


def _divide(
    a: SampleFrame, b: SampleFrame, shared: SharedSamples, alone: Sequence[int], by: tuple[str, ...]
) -> tuple[dict[tuple[str, ...], SharedSamples], Counter[tuple[str, ...]]]:
    """The shared samples, whole and by group; and how many samples of either run each group has."""
    groups: dict[tuple[str, ...], SharedSamples] = {(): shared}
    sizes: Counter[tuple[str, ...]] = Counter({(): len(a) + len(alone)})
    if by:
        sizes.update(a.groups)
        sizes.update(b.groups[index] for index in alone)
        members_of: dict[tuple[str, ...], list[int]] = {}
        for number, index in enumerate(shared.places[:, 0]):
            members_of.setdefault(a.groups[index], []).append(number)
        groups |= {key: shared.select(np.array(numbers)) for key, numbers in members_of.items()}
    return groups, sizes


def _drop_changed(shared: SharedSamples, first: str, second: str, task: str) -> tuple[SharedSamples, int]:
    """Leave out samples of which another answer is right in each run, and count them.

    Raises:
        UsageError: where that is most of them: the runs are of different editions.
    """
    rights, others = shared.columns("rights")
    same = rights == others
    changed = int((~same).sum())
    if changed > len(shared) / 2:
        raise UsageError(
            f"{first} and {second} are of different editions: in {changed} of {len(shared)} samples of {task} another "
            "answer is right. Compare runs of one edition"
        )
    return shared.select(same) if changed else shared, changed


def _describe_samples(first: str, second: str, task: str, shared: int, other: int, binary: bool) -> list[str]:
    notes: list[str] = []
    if other:
        notes.append(
            f"{first} and {second}, {task}: {other} of {shared} paired samples have other options, "
            "keys or texts in the two runs."
        )
    if not binary:
        notes.append(
            f"{task}: scores lie on a scale; a sample counts as flipped where it crosses the middle."
        )
    return notes
