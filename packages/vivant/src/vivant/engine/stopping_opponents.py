"""The runs that a new one is measured against (`--until-better-than`, `--until-rank`): read before anything is sent."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from vivant.benchmarks.base import Protocol
from vivant.benchmarks.summary import group_by_sample, question_identity
from vivant.core.errors import UsageError, VivantError
from vivant.core.types import Sample
from vivant.engine.options import RunOptions
from vivant.engine.plan import Plan, TaskPlan
from vivant.runs.directory import RunError
from vivant.runs.run import Run, find_run_folders

logger = logging.getLogger("vivant")
Opponents = Mapping[str, Mapping[str, Mapping[str, float]]]
"""By task and run, the mean value of each sample."""
_FEWEST_SHARED = 0.5
"""Of the samples that a run asks, so many must be in the other one too."""


def load_opponents(plan: Plan, out: Path, options: RunOptions, protocol: Protocol) -> Opponents:
    """The values of the runs that the options name.

    Raises:
        UsageError: Where a run that is named has no such task, or another edition of it.
    """
    named = [Path(path) for path in options.until_better_than]
    paths = [folder for path in named for folder in find_run_folders(path)]
    for path in named:
        if not find_run_folders(path):
            raise RunError(f"--until-better-than {path}: there is no run")
    beside = []
    if options.until_rank:
        own = out.resolve()
        folder = out.parent if str(out.parent) else Path()
        beside = (
            [path for path in find_run_folders(folder) if path.resolve() != own] if folder.is_dir() else []
        )
    values: dict[str, dict[str, Mapping[str, float]]] = {task.task: {} for task in plan.tasks}
    for path in dict.fromkeys(path.resolve() for path in (*paths, *beside)):
        required = any(path == other.resolve() for other in paths)
        try:
            _add_run(Run(path), plan, protocol, values, required=required)
        except VivantError as error:
            if required:
                raise
            logger.info("Not ranked against: %s", error)
    if options.until_rank and not any(values.values()):
        raise UsageError(
            f"--until-rank: {out.parent} holds no other run of {', '.join(values)}; name one with --until-better-than"
        )
    return values


def _add_run(
    run: Run,
    plan: Plan,
    protocol: Protocol,
    values: dict[str, dict[str, Mapping[str, float]]],
    *,
    required: bool,
) -> None:
    tasks = {task.task: task for task in plan.tasks}
    common = [name for name in run.manifest.tasks if name in tasks]
    if not common:
        raise UsageError(
            f"{run.path} has none of the tasks {', '.join(tasks)}; it has {', '.join(run.manifest.tasks)}"
        )
    stated = {(sample.task, sample.id): sample for sample in run.dir.samples()}
    for part in run.scores(protocol):
        if part.task in common:
            task = tasks[part.task]
            _check_edition(run, task, stated)
            samples = group_by_sample(part, task.benchmark)
            values[part.task][run.name] = {name: scores.mean for name, scores in samples.items()}
    if required and len(common) < len(tasks):
        logger.info("%s has no %s.", run.path, ", ".join(name for name in tasks if name not in common))


def _check_edition(run: Run, task: TaskPlan, stated: Mapping[tuple[str, str], Sample]) -> None:
    """Raise where the other run was asked other questions."""
    shared = changed = 0
    for sample in task.chosen:
        other = stated.get((task.task, sample.id))
        if other is not None:
            shared += 1
            changed += question_identity(other) != question_identity(sample)
    if changed or shared < _FEWEST_SHARED * len(task.chosen):
        reason = (
            f"{changed} of {shared} samples have other options, keys or answers there"
            if changed
            else f"it has {shared} of the {len(task.chosen)} samples"
        )
        raise UsageError(
            f"{run.path} cannot be compared with this run on {task.task}: {reason}. Run its model on the same edition"
        )
