"""The values of many runs on the same samples, as one matrix: a row per sample, a column per run.

Stored scores are read as they are, and of each line only what counts, so that 30 runs of 10,000 samples take seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.benchmarks.summary import group_by_sample, question_identity
from vivant.core.errors import UsageError
from vivant.core.files import iter_jsonl
from vivant.core.types import Sample
from vivant.metrics.intervals import encode_labels
from vivant.runs.directory import RunError
from vivant.runs.run import Run


class ValueMatrix(Struct, frozen=True, eq=False, kw_only=True):
    """One task."""

    task: str
    metric: str
    scale: float
    """Means times this are what tables print."""
    runs: tuple[str, ...]
    ids: tuple[str, ...]
    values: NDArray[np.float64]
    """The mean of a run's replies to a sample; NaN where there is none."""
    clusters: NDArray[np.intp]
    clustered: bool
    """Whether the data name clusters."""
    changed: int = 0
    """Samples left out because runs were asked different questions under their ids."""

    @property
    def shared(self) -> NDArray[np.bool_]:
        """Samples that all runs have."""
        return np.asarray(~np.isnan(self.values).any(axis=1))


class _ScoreLine(Struct):
    """What counts of a line of a score file."""

    task: str
    id: str
    status: str = "scored"
    value: float | None = None


class _SampleLine(Struct):
    """What counts of a line of the samples."""

    id: str
    task: str
    cluster: str = ""


class _TaskColumns(Struct):
    """The values of one task, run by run."""

    runs: list[str] = field(default_factory=list)
    columns: list[dict[str, float]] = field(default_factory=list)


def nothing_shared_error(task: str) -> UsageError:
    """What to say where runs have no sample in common."""
    return UsageError(
        f"{task}: no sample was answered in all of these runs; perhaps they are of different editions. Name runs that "
        "share samples"
    )


def read_value_matrices(
    runs: Sequence[Run], names: Sequence[str], protocol: Protocol
) -> dict[str, ValueMatrix]:
    """A matrix per task, in the order in which the runs name them.

    Args:
        runs: The runs.
        names: What to call them.
        protocol: `paper` or `strict`.

    Samples under whose id runs were asked different questions are left out and counted.

    Raises:
        UsageError: Where that is most of the samples: the runs are of different editions.
    """
    tasks: dict[str, _TaskColumns] = {}
    clusters: dict[str, dict[str, str]] = {}
    changed = _find_changed(runs, names)
    for run, name in zip(runs, names, strict=True):
        for task, column in _read_columns(run, protocol).items():
            for sample in changed.get(task, ()):
                column.pop(sample, None)
            known = tasks.setdefault(task, _TaskColumns())
            known.runs.append(name)
            known.columns.append(column)
            own = clusters.setdefault(task, {})
            if not own.keys() >= column.keys():
                _read_clusters(run, clusters)
    return {
        task: _build_matrix(task, columns, clusters[task], len(changed.get(task, ())))
        for task, columns in tasks.items()
    }


def _read_columns(run: Run, protocol: Protocol) -> dict[str, dict[str, float]]:
    """By task, the mean value of each sample of a run."""
    path = run.ensure_stored(protocol)
    if path is None:
        return {
            part.task: {
                name: scores.mean
                for name, scores in group_by_sample(part, registry.get_by_task(part.task)).items()
            }
            for part in run.scores(protocol)
        }
    unparsed = {task: registry.get_by_task(task).unparsed_value for task in run.manifest.tasks}
    sums: dict[str, dict[str, tuple[float, int]]] = {}
    for line in iter_jsonl(path, _ScoreLine, RunError):
        value = line.value if line.status == "scored" else None
        if line.status == "unparsed":
            value = unparsed[line.task]
        own = sums.setdefault(line.task, {})
        if value is not None:
            total, count = own.get(line.id, (0.0, 0))
            own[line.id] = total + value, count + 1
    return {task: {name: t / n for name, (t, n) in own.items()} for task, own in sums.items()}


def _read_clusters(run: Run, clusters: dict[str, dict[str, str]]) -> None:
    for line in iter_jsonl(run.dir.samples_file, _SampleLine, RunError):
        clusters.setdefault(line.task, {}).setdefault(line.id, line.cluster)


def _build_matrix(task: str, columns: _TaskColumns, clusters: Mapping[str, str], changed: int) -> ValueMatrix:
    ids = list(dict.fromkeys(name for column in columns.columns for name in column))
    places = {name: index for index, name in enumerate(ids)}
    values = np.full((len(ids), len(columns.columns)), np.nan)
    for number, column in enumerate(columns.columns):
        rows = np.fromiter((places[name] for name in column), np.intp, len(column))
        values[rows, number] = np.fromiter(column.values(), np.float64, len(column))
    benchmark = registry.get_by_task(task)
    info = benchmark.task(task)
    return ValueMatrix(
        task=task,
        metric=info.metric,
        scale=info.scale,
        runs=tuple(columns.runs),
        ids=tuple(ids),
        values=values,
        clusters=encode_labels([clusters[name] or f"\x00{name}" for name in ids]),
        clustered=any(clusters[name] not in ("", name) for name in ids),
        changed=changed,
    )


def _find_changed(runs: Sequence[Run], names: Sequence[str]) -> dict[str, set[str]]:
    """By task, the samples that runs have other questions under. Equal data need not be read."""
    questions: dict[tuple[str, str], tuple[Hashable, str]] = {}
    changed: dict[str, set[str]] = {}
    editions: dict[str, set[str]] = {}
    for run in runs:
        for task, data in run.manifest.settings.data.items():
            editions.setdefault(task, set()).add(data)
    read: set[tuple[str, str]] = set()
    for run, name in zip(runs, names, strict=True):
        own = run.manifest.settings.data
        doubtful = {task for task in own if len(editions[task]) > 1 and (task, own[task]) not in read}
        read.update((task, own[task]) for task in doubtful)
        if not doubtful:
            continue
        shared = Counter[tuple[str, str]]()
        differ = Counter[tuple[str, str]]()
        for sample in iter_jsonl(run.dir.samples_file, Sample, RunError):
            if sample.task in doubtful:
                question = question_identity(sample)
                other, owner = questions.setdefault((sample.task, sample.id), (question, name))
                shared[sample.task, owner] += owner != name
                if other != question:
                    differ[sample.task, owner] += 1
                    changed.setdefault(sample.task, set()).add(sample.id)
        for (task, owner), count in differ.items():
            if count > shared[task, owner] / 2:
                raise UsageError(
                    f"{owner} and {name} are of different editions: {count} of {shared[task, owner]} samples of {task} "
                    "have other options, keys or answers. Name runs of one edition"
                )
    return changed
