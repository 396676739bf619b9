"""Figures for papers, drawn with matplotlib, which the extra `figures` brings.

They show the same rows as the tables, intervals included. Each says who was measured, how, and on how many samples.
What was not measured is marked, never drawn as zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, Figure, Protocol, ScoredRun
from vivant.benchmarks.summary import order_levels, summarise
from vivant.core.table import Row
from vivant.reporting.board.submission import slugify
from vivant.reporting.figure_context import FigureContext, make_context, merge_tasks
from vivant.reporting.figure_style import MAP, FigureStyle, load_pyplot, save_figure
from vivant.reporting.scatter_figures import draw_cost, draw_scatters
from vivant.runs.overview import score_runs
from vivant.runs.published_rows import list_selections
from vivant.runs.run import Run, choose_common_protocol

_MOST_CELLS = 14
"""A map with more columns than this has no room for figures in its cells."""


def draw_figures(
    runs: Sequence[Run],
    out: Path,
    suffix: str = ".svg",
    protocol: Protocol | None = None,
    style: FigureStyle | None = None,
) -> list[Path]:
    """Draw what each benchmark's readers expect, one file each, and return the files.

    Args:
        runs: The runs to draw.
        out: The folder to draw into.
        suffix: `.svg`, `.pdf` or `.png`.
        protocol: `paper` or `strict`; None takes the first that all benchmarks have.
        style: Size and lettering; default: one column of a paper.
    """
    protocol = choose_common_protocol(runs, protocol)
    parts = score_runs(runs, protocol)
    context = make_context(runs, protocol, style or FigureStyle())
    load_pyplot(context.style)
    selections = list_selections(runs, "auto")  # published points belong beside full editions alone
    written: list[Path] = []
    for name in dict.fromkeys(part.task.partition("/")[0] for part in parts):
        benchmark = registry.get(name)
        own = [part for part in parts if part.task.partition("/")[0] == name]
        for figure in benchmark.tables.figures:
            written += _draw_declared(context, benchmark, figure, own, out, suffix)
        written += draw_scatters(context, selections[name].restrict(benchmark), own, out, suffix)
        written += draw_cost(context, benchmark, own, runs, out / f"{name}-cost{suffix}")
    return written


def _draw_declared(
    context: FigureContext,
    benchmark: Benchmark,
    figure: Figure,
    parts: Sequence[ScoredRun],
    out: Path,
    suffix: str,
) -> list[Path]:
    """One of the figures that a benchmark names; a map is a file for each run."""
    chosen = [part for part in parts if not figure.tasks or part.task.partition("/")[2] in figure.tasks]
    rows = summarise_figure(benchmark, figure, chosen)
    if not rows:
        return []
    path = out / f"{benchmark.name}-{figure.name}{suffix}"
    title = f"{benchmark.title}: {figure.title}"
    if len(figure.facets) == 1:
        draw_bars(context, benchmark, rows, path, facet=figure.facets[0], title=title)
        return [path]
    written = []
    for run in dict.fromkeys(row.run for row in rows):
        run_path = out / f"{benchmark.name}-{figure.name}-{slugify(run)}{suffix}"
        own = [row for row in rows if row.run == run]
        draw_heatmap(
            context, benchmark, own, run_path, facets=(figure.facets[0], figure.facets[1]), title=title
        )
        written.append(run_path)
    return written


def summarise_figure(benchmark: Benchmark, figure: Figure, parts: Sequence[ScoredRun]) -> list[Row]:
    """The rows of a figure: the same means and intervals as in a table by these facets."""
    located = [
        msgspec.structs.replace(part, rows=located_rows)
        for part in parts
        # Some runs, or some samples of a run, may lack a facet that others have.
        if (located_rows := tuple(item for item in part.rows if set(figure.facets) <= item[0].facets.keys()))
    ]
    rows = [row for part in merge_tasks(located) for row in summarise(part, benchmark, figure.facets)]
    return [row for row in rows if all(row.group.values())]


def draw_bars(
    context: FigureContext, benchmark: Benchmark, rows: Sequence[Row], path: Path, *, facet: str, title: str
) -> None:
    """One bar per level and run, with the interval of the table; a level that a run lacks is marked."""
    style = context.style
    pyplot = load_pyplot(style)
    levels = order_levels(benchmark, facet, {row.group[facet] for row in rows})
    runs = context.sort({row.run for row in rows})
    thickness = 0.84 / len(runs)
    height = 1.0 + 0.13 * len(runs) + len(levels) * max(0.2, 0.105 * len(runs))
    figure, axes = pyplot.subplots(figsize=(style.inches, height), layout="constrained")
    for number, run in enumerate(runs):
        by_level = {row.group[facet]: row for row in rows if row.run == run}
        for index, level in enumerate(levels):
            row = by_level.get(level)
            y = index - 0.42 + thickness * (number + 0.5)
            if row is None or row.value is None:
                note = "not asked" if row is None else "no score"
                axes.text(0.8, y, note, fontsize=style.font_size - 2.5, color="#6b7480", va="center")
                continue
            axes.barh(y, row.value, height=thickness * 0.9, color=context.colors[run])
            end = row.value
            if row.interval:
                axes.plot(row.interval, (y, y), color="#1c2430", linewidth=0.9, solid_capstyle="butt")
                end = max(end, row.interval[1])
            axes.annotate(
                f"{row.value:.1f}", (end, y), xytext=(2, 0), textcoords="offset points", va="center",
                fontsize=style.font_size - 2.5, color="#4a5568", annotation_clip=False,
            )  # fmt: skip
    axes.set_yticks(range(len(levels)), [_label_level(style, rows, facet, level) for level in levels])
    axes.set_ylim(len(levels) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    _set_scale(axes, rows)
    handles = [
        pyplot.Rectangle((0, 0), 1, 1, color=context.colors[run], label=style.label(context.names[run]))
        for run in runs
    ]
    handles += _mark_chance(axes, rows)
    axes.set_xlabel(style.label("score, with 95 % interval"))
    columns = 1 if style.width == "column" else 3
    figure.legend(handles=handles, frameon=False, loc="outside upper left", ncols=columns)
    axes.set_title(style.label(title), loc="left")
    _write_caption(figure, context, rows)
    save_figure(pyplot, figure, path, exact=True)


def _label_level(style: FigureStyle, rows: Sequence[Row], facet: str, level: str) -> str:
    sizes = {row.n for row in rows if row.group[facet] == level}
    span = f"{min(sizes):,}" if len(sizes) == 1 else f"{min(sizes):,}–{max(sizes):,}"
    return f"{style.label(level, 28)}\nn = {span}"


def _set_scale(axes: Any, rows: Sequence[Row]) -> None:
    """From 0 to the top of the scale, unless values leave it."""
    values = [row.value for row in rows if row.value is not None]
    if values and min(values) >= 0 and max(values) <= 100:
        axes.set_xlim(0, 100 if max(values) > 10 else None)


def _mark_chance(axes: Any, rows: Sequence[Row]) -> list[Any]:
    levels = {round(row.chance, 6) for row in rows if row.chance is not None}
    if len(levels) != 1:
        return []
    return [axes.axvline(levels.pop(), color="#4a5568", linestyle=":", linewidth=1, label="guessing")]


def _write_caption(figure: Any, context: FigureContext, rows: Sequence[Row], more: str = "") -> None:
    text = context.style.wrap(context.style.label(f"{context.describe(rows)} {more}".strip(), 2_000))
    figure.supxlabel(text, x=0.01, ha="left", fontsize=context.style.font_size - 2, color="#4a5568")


def draw_heatmap(
    context: FigureContext,
    benchmark: Benchmark,
    rows: Sequence[Row],
    path: Path,
    *,
    facets: tuple[str, str],
    title: str,
) -> None:
    """One cell per pair of levels with its score and n; hatched where nothing was asked."""
    style = context.style
    pyplot = load_pyplot(style)
    down, across = facets
    ys = order_levels(benchmark, down, {row.group[down] for row in rows})
    xs = order_levels(benchmark, across, {row.group[across] for row in rows})
    cells = {(row.group[down], row.group[across]): row for row in rows}
    wide = len(xs) > 7
    inches = 7.0 if wide else style.inches
    figure, axes = pyplot.subplots(figsize=(inches, 1.5 + 0.3 * len(ys)), layout="constrained")
    axes.set_facecolor("white")
    colors = pyplot.get_cmap(MAP)
    for i, y in enumerate(ys):
        for j, x in enumerate(xs):
            row = cells.get((y, x))
            box: dict[str, Any] = {"xy": (j - 0.5, i - 0.5), "width": 1, "height": 1}
            if row is None or row.value is None:
                patch = pyplot.Rectangle(
                    **box, facecolor="white", edgecolor="#9aa3ad", hatch="////", linewidth=0
                )
                axes.add_patch(patch)
                continue
            share = min(max(row.value / 100, 0.0), 1.0)
            axes.add_patch(pyplot.Rectangle(**box, facecolor=colors(share), edgecolor="white", linewidth=0.5))
            if len(xs) <= _MOST_CELLS:
                ink = "black" if share > 0.5 else "white"
                text_style: dict[str, Any] = {"ha": "center", "va": "center", "color": ink}
                axes.text(j, i - 0.14, f"{row.value:.0f}", fontsize=style.font_size - 1, **text_style)
                axes.text(j, i + 0.28, f"n {row.n}", fontsize=style.font_size - 3.5, **text_style)
    axes.set_xlim(-0.5, len(xs) - 0.5)
    axes.set_ylim(len(ys) - 0.5, -0.5)
    labels = [style.label(x, 16) for x in xs]
    axes.set_xticks(range(len(xs)), labels, rotation=90 if len(xs) > 10 else 0)
    axes.set_yticks(range(len(ys)), [style.label(y, 16) for y in ys])
    axes.set_xlabel(style.label(across))
    axes.set_ylabel(style.label(down))
    axes.grid(visible=False)
    axes.set_title(style.label(f"{title}, {context.names[rows[0].run]}"), loc="left", wrap=True)
    scale = pyplot.cm.ScalarMappable(pyplot.Normalize(0, 100), MAP)
    figure.colorbar(scale, ax=axes, shrink=0.85, label="score")
    sizes = [row.n for row in rows]
    span = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    _write_caption(figure, context, rows, f"Each cell: n = {span}. Hatched: not asked.")
    save_figure(pyplot, figure, path, exact=True)
