"""A subset of a benchmark's samples that predicts the score on all of them: the file, and what its answers say.

`vivant subset make` writes it, `vivant run --subset` reads it, and the run keeps a copy as `subset.json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, ScoredRun
from vivant.benchmarks.summary import group_by_sample, question_identity
from vivant.core.errors import DataError, UsageError
from vivant.core.files import write_atomic
from vivant.core.shown_tables import ShownTables
from vivant.core.table import Row, Table
from vivant.core.types import Sample
from vivant.metrics.anchor_items import SubsetEstimate, estimate_from_subset
from vivant.runs.directory import RunDir, RunError
from vivant.runs.settings import digest

FORMAT = 1
_MOST_CHANGED = 0.5


class SubsetItem(Struct, frozen=True, array_like=True):
    """One chosen sample."""

    id: str
    difficulty: float
    question: str
    """Digest of options, key and answers, to tell editions apart."""


class LeftOut(Struct, frozen=True, kw_only=True):
    """What a subset that was made without a model predicts for it, as shares."""

    run: str
    model: str
    score: float
    estimate: float
    naive: float


class TaskSubset(Struct, frozen=True, kw_only=True):
    """One task."""

    samples: int
    """All samples of the task."""
    items: tuple[SubsetItem, ...]
    difficulties: tuple[float, ...]
    """Of all samples, in order."""
    error: float
    """Root mean square error on models left out, as a share."""
    random_error: float
    """The same of as many samples drawn at random."""
    left_out: tuple[LeftOut, ...]


class Subset(ShownTables, Struct, frozen=True, kw_only=True):
    """What the file holds."""

    format: int = FORMAT
    protocol: str
    seed: int
    models: tuple[str, ...]
    """The models whose runs it was made from."""
    tasks: Mapping[str, TaskSubset]

    def fingerprint(self) -> str:
        """Which samples are asked: runs with the same ask the same."""
        return digest({task: [item.id for item in own.items] for task, own in self.tasks.items()})[:16]

    def tables(self) -> list[Table]:
        """By task, what it predicts for each model without that model's own runs, and the error."""
        return [_build_error_table(task, self) for task in self.tasks]


def _build_error_table(task: str, result: Subset) -> Table:
    own = result.tasks[task]
    scale = registry.get_by_task(task).task(task).scale
    return Table(
        title=f"{task}: {len(own.items)} of {own.samples} samples, each model predicted without its own runs",
        columns=("model", "score on all", "estimate", "error", "naive mean", "run"),
        body=tuple(
            (
                left.model,
                left.score * scale,
                left.estimate * scale,
                (left.estimate - left.score) * scale,
                left.naive * scale,
                left.run,
            )
            for left in own.left_out
        ),
        notes=(
            f"Error on models left out (root mean square): {own.error * scale:.1f} points; as many samples drawn at "
            f"random: {own.random_error * scale:.1f}.",
            "The table shows one subset for each model left out; the error is over many.",
            f"Made from runs of {len(result.models)} models. It holds for models like these; see docs/subsets.md.",
        ),
        optional=("run",),
    )


def digest_question(sample: Sample) -> str:
    """A short digest of what makes a question."""
    return digest(msgspec.to_builtins(question_identity(sample)))[:12]


def read_subset(path: Path) -> Subset:
    """Read a file of `vivant subset make`."""
    try:
        subset = msgspec.json.decode(path.read_bytes(), type=Subset)
    except OSError as error:
        raise UsageError(f"Cannot read the subset {path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise DataError(f"{path} is no subset: {error}. Make one with `vivant subset make`") from error
    if subset.format != FORMAT:
        raise DataError(f"{path} has format {subset.format}; this version reads {FORMAT}")
    return subset


def write_subset(path: Path, subset: Subset) -> None:
    """Write a subset as JSON, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, msgspec.json.encode(subset))
    except OSError as error:
        raise UsageError(f"Cannot write {path}: {error.strerror}") from error


def load_run_subset(directory: RunDir) -> Subset | None:
    """The subset that a run was asked; None for a run of everything."""
    path = directory.path / "subset.json"
    return read_subset(path) if path.exists() else None


def select_subset(task: str, pool: Sequence[Sample], subset: TaskSubset) -> tuple[frozenset[str], int]:
    """The ids to ask, and under how many of them the data hold other questions than the past runs.

    Raises:
        UsageError: Where the data lack samples, or most questions differ: another edition.
    """
    wanted = {item.id: item for item in subset.items}
    matches = changed = 0
    for sample in pool:
        item = wanted.get(sample.id)
        if item is not None:
            matches += 1
            changed += digest_question(sample) != item.question
    if matches < len(wanted):
        raise UsageError(
            f"{len(wanted) - matches} of the {len(wanted)} samples of {task} in the subset are not in the data: "
            "they are of another edition. Make a subset from runs of this one"
        )
    if changed > _MOST_CHANGED * len(wanted):
        raise UsageError(
            f"{changed} of the {len(wanted)} samples of {task} have other options, keys or answers than in the runs "
            "that the subset was made from: they are of another edition. Make a subset from runs of this one"
        )
    return frozenset(wanted), changed


def estimate_task(part: ScoredRun, benchmark: Benchmark, subset: TaskSubset) -> SubsetEstimate | None:
    """The score on all samples of a task, from a run of the subset; None where nothing could be scored."""
    difficulty = {item.id: item.difficulty for item in subset.items}
    scores = {name: own.mean for name, own in group_by_sample(part, benchmark).items() if name in difficulty}
    if not scores:
        return None
    if any(not 0 <= value <= 1 for value in scores.values()):
        raise RunError(
            f"{part.run}, {part.task}: scores outside 0 to 1 say nothing of the rest of a benchmark"
        )
    return estimate_from_subset(
        np.array([difficulty[name] for name in scores]),
        np.array(subset.difficulties),
        np.array(list(scores.values())),
        measured=subset.error,
    )


def add_estimate(
    rows: Sequence[Row], part: ScoredRun, benchmark: Benchmark, subset: TaskSubset
) -> tuple[list[Row], list[str]]:
    """The row of a task with the estimate for all samples before it, and notes."""
    estimate = estimate_task(part, benchmark, subset)
    if estimate is None or len(rows) != 1:
        return list(rows), []
    scale = benchmark.task(part.task).scale
    ends = estimate.interval.scale(scale)
    row = rows[0]
    predicted = msgspec.structs.replace(
        row,
        metric=f"{row.metric}, estimate for all",
        value=estimate.value * scale,
        interval=(ends.low, ends.high),
        interval_method=ends.method,
        corrected=None,
        corrected_interval=None,
    )
    naive = msgspec.structs.replace(row, metric=f"{row.metric}, naive mean")
    note = (
        f"{part.run}, {part.task}: asked {len(subset.items)} of {subset.samples} samples, a subset that predicts the "
        f"score on all. On models left out its error was {subset.error * scale:.1f} points; as many samples drawn at "
        f"random, {subset.random_error * scale:.1f} (docs/subsets.md)."
    )
    return [predicted, naive], [note]
