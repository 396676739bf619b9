"""Learning curves of one or several trainings: the loss of each step, and each held-out evaluation."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from vivant.core.errors import DataError
from vivant.reporting.figure_style import COLORS, load_pyplot, save_figure

_SMOOTHING_STEPS = 25
"""Steps that a point of the drawn loss is a mean over."""
Points = list[tuple[float, float]]


def plot_learning_curves(trainings: Sequence[Path], path: Path, *, chance: float | None = None) -> None:
    """Draw trainings over each other: losses on the left, held-out accuracies on the right."""
    curves = {folder.name: read_curves(folder) for folder in trainings}
    pyplot = load_pyplot()
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(7.2, 2.8))
    for number, (name, (losses, accuracies)) in enumerate(curves.items()):
        colour = COLORS[number % len(COLORS)]
        left.plot(*_split_points(smooth(losses)), color=colour, linewidth=1, label=name)
        right.plot(*_split_points(accuracies), color=colour, marker="o", markersize=3, label=name)
    left.set_ylabel("loss")
    right.set_ylabel("held-out accuracy")
    right.set_ylim(0, 1)
    if chance is not None:
        right.axhline(chance, color="#718096", linestyle=":", label="chance")
    for axes in (left, right):
        axes.set_xlabel("step")
    right.legend(frameon=False, fontsize=7)
    save_figure(pyplot, figure, path)


def read_curves(folder: Path) -> tuple[Points, Points]:
    """(step, loss) and (step, accuracy) of a training; the second is empty without evaluations."""
    losses = _read_column(folder / "metrics.csv", "loss")
    evaluations = folder / "evaluations.csv"
    return losses, _read_column(evaluations, "accuracy") if evaluations.is_file() else []


def smooth(points: Points) -> Points:
    """Means over the steps before each."""
    means, total = [], 0.0
    for index, (step, value) in enumerate(points):
        total += value - (points[index - _SMOOTHING_STEPS][1] if index >= _SMOOTHING_STEPS else 0.0)
        means.append((step, total / min(index + 1, _SMOOTHING_STEPS)))
    return means


def _read_column(file: Path, column: str) -> Points:
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            return [(float(row["step"]), float(row[column])) for row in csv.DictReader(opened)]
    except OSError as error:
        raise DataError(f"{file.parent} holds no training: {file.name}: {error.strerror}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{file} is no record of a training: {error}") from error


def _split_points(points: Points) -> tuple[list[float], list[float]]:
    return [step for step, _ in points], [value for _, value in points]
