"""Scores over training steps where people look: Weights & Biases, MLflow, TensorBoard, each through its own client."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from vivant.benchmarks.base import Protocol
from vivant.core.errors import DataError, UsageError
from vivant.core.optional_packages import require_package
from vivant.runs.overview import build_overview
from vivant.runs.run import Run

_WATCH = "vivant_watch"
"""The tag of MLflow's runs that a watch adds to."""


class ScorePoint(Struct, frozen=True, kw_only=True):
    """The scores of one run at one step."""

    run: str
    model: str
    step: int
    values: Mapping[str, float]
    """By name: `mime/mcq/accuracy`, with `_low` and `_high` for the ends of its interval."""


Tracker = Callable[[Sequence[ScorePoint], str], str]
"""Takes points and the name of the watch that they belong to, or nothing; returns where they went. All points of a
watch go to one run of the tracker, also after it was stopped."""


def make_point(run: Run, step: int | None = None, protocol: Protocol | None = None) -> ScorePoint:
    """The scores of a run as a point.

    Args:
        run: The run.
        step: The training step. Default: the last number in the model's name, as in `checkpoint-500`.
        protocol: Whose scores: `paper` or `strict`.
    """
    values: dict[str, float] = {}
    for row in build_overview([run], protocol).rows:
        name = f"{row.task}/{row.metric}"
        if row.value is not None:
            values[name] = row.value
        if row.interval is not None:
            values[f"{name}_low"], values[f"{name}_high"] = row.interval
    if not values:
        raise DataError(f"{run.path} has no scores")
    number = find_step(run.model) if step is None else step
    return ScorePoint(run=run.name, model=run.model, step=number or 0, values=values)


def make_points(
    runs: Sequence[Run], step: int | None = None, protocol: Protocol | None = None
) -> list[ScorePoint]:
    """The scores of runs as points of one curve. Raises UsageError where two give a score at one step.

    Args:
        runs: The runs.
        step: The training step. Default: the last number in each model's name.
        protocol: Whose scores: `paper` or `strict`.
    """
    points = [make_point(run, step, protocol) for run in runs]
    first: dict[tuple[int, str], str] = {}
    for point in points:
        for name in point.values:
            other = first.setdefault((point.step, name), point.run)
            if other != point.run:
                raise UsageError(
                    f"{other} and {point.run} both have {name} at step {point.step}, the last number in their models' "
                    "names; publish them one by one, with --step"
                )
    return points


def find_step(name: str) -> int | None:
    """The training step in a checkpoint's name: the last number of its last part."""
    numbers = re.findall(r"\d+", name.rstrip("/").rpartition("/")[2])
    return int(numbers[-1]) if numbers else None


def log_to_wandb(points: Sequence[ScorePoint], project: str, watch: str = "") -> str:
    """Log points to a project of Weights & Biases, as one run. WANDB_MODE=offline keeps it on this machine.

    The run of a watch stays open until the process ends: one that is kept on this machine cannot be opened again.
    """
    require_package("wandb", "trackers", "--wandb")
    import wandb

    run = _open_runs.get(watch)
    if run is None:
        settings = {"id": watch, "resume": "allow"} if watch else {}
        name = watch or f"vivant-{points[0].run}"
        run = wandb.init(project=project, name=name, config={"model": points[0].model}, **settings)
        run.define_metric("step")
        run.define_metric("*", step_metric="step")
    for point in sorted(points, key=lambda p: p.step):
        run.log({"step": point.step, **point.values})
    for name, value in max(points, key=lambda p: p.step).values.items():
        run.summary[name] = value
    if watch:
        _open_runs[watch] = run
    else:
        run.finish()
    return str(run.url or run.dir)


_open_runs: dict[str, Any] = {}
"""Runs of Weights & Biases by the watch that they belong to. The client ends them with the process."""


def log_to_mlflow(points: Sequence[ScorePoint], experiment: str, watch: str = "") -> str:
    """Log points to an experiment of MLflow, where MLFLOW_TRACKING_URI points; returns the run's id."""
    require_package("mlflow", "trackers", "--mlflow")
    import mlflow

    where = mlflow.set_experiment(experiment).experiment_id
    matching = mlflow.MlflowClient().search_runs([where], f"tags.{_WATCH} = '{watch}'") if watch else []
    if matching:
        start = {"run_id": matching[0].info.run_id}
    else:
        start = {"run_name": watch or f"vivant-{points[0].run}", "tags": {_WATCH: watch} if watch else None}
    with mlflow.start_run(**start) as run:
        if not matching:
            runs = ", ".join(point.run for point in points)[:500]
            mlflow.log_params({"model": points[0].model, "runs": runs})
        for point in points:
            # MLflow allows no other characters in names.
            values = {re.sub(r"[^\w./ -]", "_", name): value for name, value in point.values.items()}
            mlflow.log_metrics(values, step=point.step)
        return str(run.info.run_id)


def write_tensorboard(points: Sequence[ScorePoint], folder: str, watch: str = "") -> str:  # noqa: ARG001
    """Write points as an event file that TensorBoard reads; it joins all files of a folder."""
    require_package("tensorboard", "trackers", "--tensorboard")
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--tensorboard {folder}: {error.strerror}") from error
    writer = EventFileWriter(str(path))
    for point in points:
        scores = [Summary.Value(tag=name, simple_value=value) for name, value in point.values.items()]
        writer.add_event(Event(wall_time=time.time(), step=point.step, summary=Summary(value=scores)))
    writer.close()
    return str(path)


def list_trackers(wandb: str | None, mlflow: str | None, tensorboard: str | None) -> dict[str, Tracker]:
    """The trackers that a user names, by option and target. What is missing is an error now, not after hours."""
    wanted: dict[str, tuple[Callable[[Sequence[ScorePoint], str, str], str], str | None]] = {
        "wandb": (log_to_wandb, wandb),
        "mlflow": (log_to_mlflow, mlflow),
        "tensorboard": (write_tensorboard, tensorboard),
    }
    trackers: dict[str, Tracker] = {}
    for name, (function, target) in wanted.items():
        if target:
            require_package(name, "trackers", f"--{name}")
            trackers[f"{name} {target}"] = lambda points, watch, call=function, where=target: call(
                points, where, watch
            )  # type: ignore[misc]
    if mlflow:
        _check_mlflow(mlflow)
    return trackers


def _check_mlflow(experiment: str) -> None:
    import mlflow

    try:
        mlflow.MlflowClient()
    except mlflow.MlflowException as error:
        # By default MLflow writes a local database, which the package of this extra can't.
        raise UsageError(
            f"--mlflow {experiment}: MLflow can't write to {mlflow.get_tracking_uri()}. "
            "Set MLFLOW_TRACKING_URI to the address of your MLflow server"
        ) from error
