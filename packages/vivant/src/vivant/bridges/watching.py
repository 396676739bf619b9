"""Evaluate the checkpoints of a training as they appear: `vivant watch CHECKPOINTS BENCHMARK…`.

A checkpoint is a folder with a `config.json` whose files no longer change. Each has a run of its own, so that a watch
that was stopped goes on where it was. After each, the curve is written anew: `curve.csv`, and `curve.svg`.
"""

from __future__ import annotations

import csv
import io
import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vivant.bridges.trackers import ScorePoint, Tracker, find_step, make_point
from vivant.core.errors import DataError, UsageError, VivantError
from vivant.core.files import write_atomic
from vivant.engine.options import RunOptions
from vivant.engine.run_execution import run_plan
from vivant.engine.run_planning import check_questions, plan_run
from vivant.runs.run import Run

logger = logging.getLogger("vivant")
_MARKS = ("config.json", "vivant-onnx.json", "adapter_config.json")
PLACE = "{}"
_NO_STEP = 2**62


class Checkpoint(Struct, frozen=True, order=True):
    """A folder with weights."""

    step: int
    path: str

    @property
    def name(self) -> str:
        """The folder's name."""
        return Path(self.path).name


def list_checkpoints(folder: Path) -> list[Checkpoint]:
    """The checkpoints in a folder, by step; those without a number in their name come last."""
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; name the one that the training writes its checkpoints to")
    checkpoints = [
        Checkpoint(_order(child.name), str(child))
        for child in folder.iterdir()
        if child.is_dir()
        and not child.name.startswith(".")
        and any((child / mark).is_file() for mark in _MARKS)
    ]
    return sorted(checkpoints)


def _order(name: str) -> int:
    step = find_step(name)
    return step if step is not None else _NO_STEP


def fill_checkpoint(options: RunOptions, checkpoint: Checkpoint, out: Path) -> RunOptions:
    """The run of one checkpoint: `{}` in the model and its options is the folder; a backend alone gets it added.

    Without a model, or with `{}` alone, the backend is the one that reads such a checkpoint.
    """
    model = options.model if options.model != PLACE else ""
    model = model or _guess_backend(Path(checkpoint.path))
    values: Mapping[str, Any] = {
        name: value.replace(PLACE, checkpoint.path) if isinstance(value, str) else value
        for name, value in options.model_options.items()
    }
    if PLACE in model:
        model = model.replace(PLACE, checkpoint.path)
    elif values == dict(options.model_options):
        model = f"{model}/{checkpoint.path}"
    return msgspec.structs.replace(
        options, model=model, model_options=dict(values), out=str(out / checkpoint.name)
    )


def _guess_backend(folder: Path) -> str:
    """The backend that reads a checkpoint of this form."""
    if (folder / "vivant-onnx.json").is_file():
        return "onnx"
    try:
        config = msgspec.json.decode((folder / "config.json").read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError) as error:
        raise DataError(
            f"{folder}: its config.json cannot be read: {error}; name the backend with --model"
        ) from error
    kind = str(config.get("model_type", "")).replace("_", "-")
    return "mimic-chat" if kind == "mimic-chat" else "transformers"


def watch(
    folder: Path,
    options: RunOptions,
    out: Path,
    *,
    interval: float = 30.0,
    once: bool = False,
    trackers: Mapping[str, Tracker] | None = None,
    report: Callable[[ScorePoint], None] = lambda _: None,
) -> list[ScorePoint]:
    """Evaluate each checkpoint once its files have settled; returns the points, by step.

    Args:
        folder: Where the training writes its checkpoints.
        options: The run of each; see `fill_checkpoint`.
        out: The folder of the runs and the curve.
        interval: Seconds between two looks.
        once: Evaluate what is there, then end.
        trackers: Where points go besides the curve, by name.
        report: Called with each new point.
    """
    if not options.selectors:
        raise UsageError("Name what to evaluate the checkpoints on, e.g. vivant watch CHECKPOINTS mime")
    check_questions(options)  # a mistake in them is found now, not when the first checkpoint is written
    points: dict[str, ScorePoint] = {}
    apart: set[str] = set()
    tracked = _TrackedPoints(out)
    for checkpoint in _wait_for_checkpoints(
        folder, interval, once, lambda c: c.path in points or c.path in apart
    ):
        try:
            point = make_point(_evaluate(fill_checkpoint(options, checkpoint, out)), checkpoint.step)
        except Exception as error:  # a checkpoint's own code may raise anything; a long watch outlives it
            if once and not points and len(list_checkpoints(folder)) == 1:
                raise
            reason = str(error) if isinstance(error, VivantError) else f"{type(error).__name__}: {error}"
            logger.warning("%s: %s. The watch goes on without it.", checkpoint.name, reason)
            apart.add(checkpoint.path)
            continue
        if checkpoint.step == _NO_STEP:
            scores = ", ".join(f"{name} {value:.1f}" for name, value in point.values.items())
            logger.warning(
                "%s: %s. Its name has no step, so it is not on the curve.", checkpoint.name, scores
            )
            apart.add(checkpoint.path)
            continue
        points[checkpoint.path] = point
        ordered = sorted(points.values(), key=lambda p: p.step)
        write_curve(ordered, out)
        report(point)
        tracked.send(point, trackers or {})
    return sorted(points.values(), key=lambda point: point.step)


class _TrackedPoints:
    """What the trackers have, so that a watch that goes on sends each point once."""

    def __init__(self, out: Path) -> None:
        self._path = out / "tracked.json"
        if self._path.is_file():
            self._watch, self._sent = msgspec.json.decode(
                self._path.read_bytes(), type=tuple[str, dict[str, list[ScorePoint]]]
            )
        else:
            self._watch, self._sent = f"{out.name}-{secrets.token_hex(4)}", {}

    def send(self, point: ScorePoint, trackers: Mapping[str, Tracker]) -> None:
        """Send a point to the trackers that do not have it yet."""
        for name, tracker in trackers.items():
            sent = self._sent.setdefault(name, [])
            if point not in sent:
                logger.debug("%s: %s", name, tracker([point], self._watch))
                sent.append(point)
                write_atomic(self._path, msgspec.json.encode((self._watch, self._sent)))


def _wait_for_checkpoints(
    folder: Path, interval: float, once: bool, is_done: Callable[[Checkpoint], bool]
) -> Iterator[Checkpoint]:
    """Checkpoints as they appear, each when two looks find the same files. Endless, unless `once`."""
    sizes: dict[str, Mapping[str, int]] = {}
    while True:
        waiting = [checkpoint for checkpoint in list_checkpoints(folder) if not is_done(checkpoint)]
        if once:
            yield from waiting
            return
        for checkpoint in waiting:
            seen = _measure(Path(checkpoint.path))
            if sizes.get(checkpoint.path) == seen:
                yield checkpoint
            sizes[checkpoint.path] = seen
        time.sleep(interval)


def _measure(folder: Path) -> dict[str, int]:
    sizes = {}
    for path in folder.rglob("*"):
        try:
            sizes[str(path)] = path.stat().st_size
        except FileNotFoundError:  # a temporary file of the writer
            continue
    return sizes


def _evaluate(options: RunOptions) -> Run:
    prepared = plan_run(options)
    outcome = run_plan(prepared, options)
    if outcome.stopped:
        raise KeyboardInterrupt
    return Run(prepared.out)


def write_curve(points: Sequence[ScorePoint], out: Path) -> None:
    """Write the scores by step as a table and, where matplotlib is installed, as a figure."""
    out.mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys(name for point in points for name in point.values))
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["step", "run", *names])
    for point in points:
        writer.writerow([point.step, point.run, *(point.values.get(name, "") for name in names)])
    write_atomic(out / "curve.csv", buffer.getvalue())
    import importlib.util

    if importlib.util.find_spec("matplotlib") is None:
        logger.info("curve.svg is not drawn: pip install 'vivant[figures]'")
        return
    _draw_curve(points, names, out / "curve.svg")


def _draw_curve(points: Sequence[ScorePoint], names: Sequence[str], path: Path) -> None:
    from vivant.reporting.figure_style import COLORS, load_pyplot, save_figure

    pyplot = load_pyplot()
    figure, axes = pyplot.subplots(figsize=(5.4, 3.0))
    scores = [name for name in names if f"{name}_low" in names or not name.endswith(("_low", "_high"))]
    for number, name in enumerate(scores):
        curve = [point for point in points if name in point.values]
        steps = [point.step for point in curve]
        colour = COLORS[number % len(COLORS)]
        axes.plot(steps, [p.values[name] for p in curve], color=colour, marker="o", markersize=3, label=name)
        ends = [(p.values.get(f"{name}_low"), p.values.get(f"{name}_high")) for p in curve]
        if all(low is not None and high is not None for low, high in ends):
            axes.fill_between(steps, [e[0] for e in ends], [e[1] for e in ends], color=colour, alpha=0.15)
    axes.set_xlabel("step")
    axes.set_ylabel("score")
    axes.legend(frameon=False, fontsize=7)
    save_figure(pyplot, figure, path)
