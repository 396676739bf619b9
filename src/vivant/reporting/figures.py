"""Figures for papers and reports, drawn with matplotlib, which the extra `figures` brings."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from vivant.benchmarks import registry
from vivant.benchmarks.base import ScoredRun
from vivant.benchmarks.summary import natural, summarise
from vivant.core.errors import UsageError
from vivant.core.table import Row, Table
from vivant.engine.sweep import SweepPoint, build_sweep_table
from vivant.runs.published_rows import uses_mini

FORMATS = (".svg", ".pdf", ".png")
COLORS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280", "#4a5568", "#b7791f", "#285e61")


def load_pyplot() -> Any:
    """Matplotlib's pyplot, drawing to files, in the style of all figures here."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise UsageError("Figures need matplotlib: pip install 'vivant[figures]'")
    import matplotlib

    # A notebook has a backend of its own, which draws to files as well and must stay.
    if "MPLBACKEND" not in os.environ and "matplotlib.pyplot" not in sys.modules:
        matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update(
        {
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "svg.fonttype": "none",
            # Names inside the file follow from its content, so that the same figure gives the same bytes.
            "svg.hashsalt": "vivant",
            "pdf.fonttype": 42,
        }
    )
    return pyplot


def save_figure(pyplot: Any, figure: Any, path: Path) -> None:
    """Write a figure in the form that the path's ending names, the same for the same data, and close it."""
    if path.suffix not in FORMATS:
        raise UsageError(f"{path}: a figure is written as {', '.join(FORMATS)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, bbox_inches="tight", dpi=150, metadata=_timeless(path))
    except OSError as error:
        raise UsageError(f"Cannot write {path}: {error.strerror}") from error
    finally:
        pyplot.close(figure)


def _timeless(path: Path) -> dict[str, None] | None:
    """Without a date inside, the same data give the same file."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix)


def draw_curve(
    table: Table,
    path: Path,
    *,
    x: str = "frames",
    published: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    chance: float | None = None,
) -> None:
    """Scores against a numeric group with their intervals; published curves dashed beside them."""
    pyplot = load_pyplot()
    figure, axes = pyplot.subplots(figsize=(4.6, 3.0))
    lines: dict[str, list[Row]] = {}
    for row in table.rows:
        others = [value for facet, value in row.group.items() if facet != x]
        lines.setdefault(" ".join([row.task, *others]), []).append(row)
    ticks: set[float] = set()
    for number, (label, rows) in enumerate(lines.items()):
        positions = [float(row.group[x]) for row in rows]
        values = [row.value if row.value is not None else float("nan") for row in rows]
        colour = COLORS[number % len(COLORS)]
        axes.plot(positions, values, marker="o", markersize=4, color=colour, label=label)
        bounds = [row.interval for row in rows]
        if all(bounds):
            axes.fill_between(
                positions, [b[0] for b in bounds if b], [b[1] for b in bounds if b], color=colour, alpha=0.15
            )
        ticks.update(positions)
    for number, (label, points) in enumerate((published or {}).items()):
        axes.plot(
            [p[0] for p in points],
            [p[1] for p in points],
            "--",
            color=COLORS[(len(lines) + number) % len(COLORS)],
            label=f"{label} (published)",
        )
    if chance is not None:
        axes.axhline(chance, color="#718096", linestyle=":", label="chance")
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted(ticks), [f"{tick:g}" for tick in sorted(ticks)])
    axes.set_xlabel(x)
    axes.set_ylabel("score")
    axes.legend(frameon=False, fontsize=7)
    save_figure(pyplot, figure, path)


def draw_sweep(points: Sequence[SweepPoint], path: Path, table: Table | None = None) -> None:
    """The curve of a sweep over numbers of frames, beside the papers' own.

    Args:
        points: The runs of the sweep.
        path: The file to draw to.
        table: The sweep's table, where it is there already.
    """
    curves: dict[str, Sequence[tuple[float, float]]] = {}
    run = points[0].run
    for task in run.manifest.tasks:
        if uses_mini([run], task.partition("/")[0]):  # no published curve was measured on it
            continue
        curves.update(registry.of_task(task).published.frame_curves())
    draw_curve(table or build_sweep_table(points), path, published=curves)


def draw_bars(
    rows: Sequence[Row], path: Path, *, facet: str, title: str = "", chance: float | None = None
) -> None:
    """One bar per group and model, with intervals."""
    pyplot = load_pyplot()
    groups = list(dict.fromkeys(row.group.get(facet, "all") for row in rows))
    models = label_runs(rows)
    height = 0.8 / max(1, len(models))
    figure, axes = pyplot.subplots(figsize=(5.2, 0.7 + 0.34 * len(groups) * max(1, len(models) * 0.6)))
    for number, (run, model) in enumerate(models.items()):
        by_group = {row.group.get(facet, "all"): row for row in rows if row.run == run}
        positions = [position + number * height for position, group in enumerate(groups) if group in by_group]
        chosen = [by_group[group] for group in groups if group in by_group]
        values = [row.value or 0.0 for row in chosen]
        spread = [
            [v - row.interval[0] if row.interval else 0.0 for v, row in zip(values, chosen, strict=True)],
            [row.interval[1] - v if row.interval else 0.0 for v, row in zip(values, chosen, strict=True)],
        ]
        axes.barh(
            positions,
            values,
            height=height * 0.92,
            color=COLORS[number % len(COLORS)],
            label=model,
            xerr=spread,
            error_kw={"elinewidth": 0.8, "ecolor": "#2d3748"},
        )
    axes.set_yticks([position + 0.4 - height / 2 for position in range(len(groups))], groups)
    axes.invert_yaxis()
    if chance is not None:
        axes.axvline(chance, color="#718096", linestyle=":", label="chance")
    axes.set_xlabel("score")
    if title:
        axes.set_title(title, fontsize=9, loc="left")
    axes.legend(frameon=False, fontsize=7)
    save_figure(pyplot, figure, path)


def label_runs(rows: Sequence[Row]) -> dict[str, str]:
    """What a legend calls each run: its model, and the run's name too where two have the same model."""
    models = {row.run: row.model for row in rows}
    names = list(models.values())
    return {run: model if names.count(model) == 1 else f"{model} ({run})" for run, model in models.items()}


def draw_heatmap(rows: Sequence[Row], path: Path, *, facets: tuple[str, str], title: str = "") -> None:
    """One cell per pair of groups, from red (0) to green (100); empty where there is no sample."""
    pyplot = load_pyplot()
    down, across = facets
    ys = sorted({row.group[down] for row in rows}, key=natural)
    xs = sorted({row.group[across] for row in rows}, key=natural)
    values = {(row.group[down], row.group[across]): row.value for row in rows}
    grid = [[_or_nan(values.get((y, x))) for x in xs] for y in ys]
    figure, axes = pyplot.subplots(figsize=(max(2.6, 0.32 * len(xs) + 1.4), max(1.8, 0.26 * len(ys) + 1.0)))
    image = axes.imshow(grid, vmin=0, vmax=100, cmap="RdYlGn", aspect="auto")
    axes.set_xticks(range(len(xs)), xs, rotation=90 if len(xs) > 10 else 0, fontsize=7)
    axes.set_yticks(range(len(ys)), ys, fontsize=7)
    axes.set_xlabel(across)
    axes.set_ylabel(down)
    axes.grid(visible=False)
    if title:
        axes.set_title(title, fontsize=9, loc="left")
    figure.colorbar(image, ax=axes, shrink=0.85)
    save_figure(pyplot, figure, path)


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value


def draw_all(parts: Sequence[ScoredRun], out: Path, suffix: str = ".svg") -> list[Path]:
    """The figures that each benchmark in these runs names, one file each; maps one file per run."""
    written: list[Path] = []
    for name in dict.fromkeys(part.task.partition("/")[0] for part in parts):
        benchmark = registry.get(name)
        for figure in benchmark.tables.figures:
            chosen = [
                part
                for part in parts
                if part.task.partition("/")[0] == name
                and (not figure.tasks or part.task.partition("/")[2] in figure.tasks)
            ]
            rows = [row for part in merge_tasks(chosen) for row in summarise(part, benchmark, figure.facets)]
            rows = [row for row in rows if all(row.group.values())]
            if not rows:
                continue
            path = out / f"{name}-{figure.name}{suffix}"
            if len(figure.facets) == 1:
                draw_bars(rows, path, facet=figure.facets[0], title=figure.title)
                written.append(path)
                continue
            for run in dict.fromkeys(row.run for row in rows):
                run_path = out / f"{name}-{figure.name}-{run}{suffix}"
                run_rows = [row for row in rows if row.run == run]
                draw_heatmap(
                    run_rows, run_path, facets=(figure.facets[0], figure.facets[1]), title=figure.title
                )
                written.append(run_path)
    return written


def merge_tasks(parts: Sequence[ScoredRun]) -> list[ScoredRun]:
    """The tasks of a run as one, for facets that span tasks."""
    joined: list[ScoredRun] = []
    for run in dict.fromkeys(part.run for part in parts):
        run_parts = [part for part in parts if part.run == run]
        rows = tuple(row for part in run_parts for row in part.rows)
        joined.append(msgspec.structs.replace(run_parts[0], rows=rows))
    return joined
