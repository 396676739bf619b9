"""The curve of a sweep: score against the number of frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vivant.benchmarks import registry
from vivant.core.table import Row, Table
from vivant.engine.sweep import SweepPoint, build_sweep_table
from vivant.reporting.figure_style import COLORS, FigureStyle, load_pyplot, save_figure
from vivant.runs.published_rows import uses_mini


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
        curves.update(registry.get_by_task(task).published.frame_curves())
    draw_curve(
        table or build_sweep_table(points), path, title=f"{run.model}, {run.manifest.style}", published=curves
    )


def draw_curve(
    table: Table,
    path: Path,
    *,
    title: str = "",
    x: str = "frames",
    published: Mapping[str, Sequence[tuple[float, float]]] | None = None,
) -> None:
    """Scores against a numeric group with their intervals; published curves dashed beside them."""
    style = FigureStyle()
    pyplot = load_pyplot(style)
    figure, axes = pyplot.subplots(figsize=(style.inches, 2.9), layout="constrained")
    lines: dict[str, list[Row]] = {}
    for row in table.rows:
        others = [value for facet, value in row.group.items() if facet != x]
        lines.setdefault(" ".join([row.task, *others]), []).append(row)
    ticks: set[float] = set()
    for number, (label, rows) in enumerate(lines.items()):
        known = [row for row in rows if row.value is not None]
        positions = [float(row.group[x]) for row in known]
        color = COLORS[number % len(COLORS)]
        sizes = sorted({row.n for row in known})
        span = "–".join(f"{size:,}" for size in dict.fromkeys((*sizes[:1], *sizes[-1:])))
        text = f"{style.label(label)} (n = {span})"
        axes.plot(positions, [row.value for row in known], marker="o", markersize=4, color=color, label=text)
        bounds = [(p, *row.interval) for p, row in zip(positions, known, strict=True) if row.interval]
        if bounds:
            axes.fill_between(*zip(*bounds, strict=True), color=color, alpha=0.15)
        ticks.update(float(row.group[x]) for row in rows)
    for number, (label, values) in enumerate((published or {}).items()):
        color = COLORS[(len(lines) + number) % len(COLORS)]
        text = f"{style.label(label)} (published)"
        axes.plot([v[0] for v in values], [v[1] for v in values], "--", color=color, label=text)
    chances = {round(row.chance, 6) for row in table.rows if row.chance is not None}
    if len(chances) == 1:
        axes.axhline(chances.pop(), color="#4a5568", linestyle=":", linewidth=1, label="guessing")
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted(ticks), [f"{tick:g}" for tick in sorted(ticks)])
    axes.set_xlabel(style.label(x))
    axes.set_ylabel(style.label("score, with 95 % interval"))
    axes.set_title(style.label(title), loc="left")
    figure.legend(frameon=False, loc="outside lower left")
    save_figure(pyplot, figure, path, exact=True)
