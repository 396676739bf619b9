"""Make a small set of samples that predicts the full score, from past runs. `vivant subset make` is this."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vivant.analysis.value_matrix import ValueMatrix, nothing_shared_error, read_value_matrices
from vivant.benchmarks.base import Protocol
from vivant.core.errors import UsageError
from vivant.core.files import iter_jsonl
from vivant.core.types import Sample
from vivant.metrics.anchor_items import choose_anchors, estimate_from_subset
from vivant.metrics.intervals import encode_labels
from vivant.metrics.item_response import fit_rasch
from vivant.runs.directory import RunError
from vivant.runs.run import RunLike, choose_common_protocol, load_runs
from vivant.runs.subset import LeftOut, Subset, SubsetItem, TaskSubset, digest_question, write_subset

Matrix = NDArray[np.float64]
_FEWEST_MODELS = 2
_SUBSETS = 240
"""Subsets that are drawn to measure the error, over all models left out; three each at least."""


def make_subset(
    runs: RunLike | Sequence[RunLike],
    size: int = 100,
    out: str | Path | None = None,
    *,
    protocol: Protocol | None = None,
    seed: int = 0,
    report: Callable[[str], None] = lambda _: None,
) -> Subset:
    """Choose `size` samples of each task that predict the score on all, and measure the error on models left out.

    >>> vivant.make_subset("runs", 100, "subset.json")

    Args:
        runs: Past runs, of two models at least: runs, run directories, or folders of them.
        size: Samples of each task.
        out: The file to write, for `evaluate(…, subset=FILE)`. None writes none.
        protocol: `paper` or `strict`. None takes the first that all benchmarks have.
        seed: Of the choice.
        report: Called with a line of progress.
    """
    loaded = load_runs(runs)
    protocol = choose_common_protocol(loaded, protocol)
    names = [run.name for run in loaded]
    models = {name: run.model for name, run in zip(names, loaded, strict=True)}
    tasks: dict[str, TaskSubset] = {}
    for task, matrix in read_value_matrices(loaded, names, protocol).items():
        own = {models[name] for name in matrix.runs}
        if len(own) < _FEWEST_MODELS:
            raise UsageError(
                f"{task}: runs of {len(own)} model{'s' * (len(own) != 1)} are named, and a subset is made from "
                f"{_FEWEST_MODELS} at least: its error is measured on a model left out"
            )
        questions = {
            sample.id: digest_question(sample)
            for run in reversed(loaded)
            if task in run.manifest.tasks
            for sample in iter_jsonl(run.dir.samples_file, Sample, RunError)
            if sample.task == task
        }
        tasks[task] = _make_task(matrix, models, size, seed, questions, report)
    subset = Subset(protocol=protocol, seed=seed, models=tuple(sorted(set(models.values()))), tasks=tasks)
    if out is not None:
        write_subset(Path(out), subset)
    return subset


def _make_task(
    matrix: ValueMatrix,
    models: dict[str, str],
    size: int,
    seed: int,
    questions: dict[str, str],
    report: Callable[[str], None],
) -> TaskSubset:
    shared = matrix.shared
    count = int(shared.sum())
    if not count:
        raise nothing_shared_error(matrix.task)
    if size >= count:
        raise UsageError(
            f"{matrix.task}: all runs share {count} samples; choose --size below that, or name runs that share more"
        )
    # Sorted, so that the order of runs does not change what is chosen.
    rows = np.array(sorted(np.flatnonzero(shared).tolist(), key=matrix.ids.__getitem__), np.intp)
    values = matrix.values[rows]
    if values.min() < 0 or values.max() > 1:
        raise UsageError(f"{matrix.task}: scores lie outside 0 to 1, and a subset is made from scores within")
    ids = [matrix.ids[row] for row in rows]
    labels = encode_labels(matrix.clusters[rows].tolist())
    owners = [models[name] for name in matrix.runs]
    left_out: list[LeftOut] = []
    squares: list[float] = []
    for fold, model in enumerate(sorted(set(owners))):
        report(f"{matrix.task}: without {model}")
        own = [number for number, owner in enumerate(owners) if owner == model]
        past = np.delete(values, own, axis=1)
        difficulties = fit_rasch(past).difficulties.round(6)
        for draw in range(max(3, _SUBSETS // len(set(owners)))):
            # Each has draws of its own: one unlucky subset must not count for all models.
            chosen = choose_anchors(difficulties, past, labels, size, (seed, fold + 1, draw))
            for number in own:
                column = values[:, number]
                estimate = estimate_from_subset(difficulties[chosen], difficulties, column[chosen])
                squares.append((estimate.value - float(column.mean())) ** 2)
                if not draw:
                    left_out.append(
                        LeftOut(
                            run=matrix.runs[number],
                            model=model,
                            score=float(column.mean()),
                            estimate=estimate.value,
                            naive=estimate.naive,
                        )
                    )
    report(f"{matrix.task}: with all models")
    difficulties = fit_rasch(values).difficulties.round(6)
    chosen = choose_anchors(difficulties, values, labels, size, (seed,))
    variances = values.var(axis=0, ddof=1)
    return TaskSubset(
        samples=count,
        items=tuple(
            SubsetItem(ids[index], round(float(difficulties[index]), 4), questions[ids[index]])
            for index in chosen
        ),
        difficulties=tuple(round(float(value), 3) for value in difficulties),
        error=math.sqrt(sum(squares) / len(squares)),
        random_error=math.sqrt(float(variances.mean()) / size * (1 - size / count)),
        left_out=tuple(left_out),
    )
