"""Figures with a named point per model: what a benchmark sets against each other, and accuracy against cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from vivant.benchmarks.base import Benchmark, ScoredRun
from vivant.benchmarks.summary import summarise
from vivant.core.errors import VivantError
from vivant.engine.prices import find_price_by_name
from vivant.reporting.figure_context import FigureContext, merge_tasks
from vivant.reporting.figure_style import COLORS, FigureStyle, load_pyplot, save_figure
from vivant.reporting.score_matrix import classify_model
from vivant.reporting.usage import UsageSummary, sum_usage
from vivant.runs.run import Run


def draw_scatters(
    context: FigureContext, benchmark: Benchmark, parts: Sequence[ScoredRun], out: Path, suffix: str
) -> list[Path]:
    """Tables that a benchmark draws with a point per line: realism against the share judged human."""
    written = []
    for layout, (across, up) in benchmark.tables.scatters.items():
        try:
            table = benchmark.tables.build(benchmark, layout, parts, parts[0].protocol)
        except VivantError:  # these runs have nothing for this table
            continue
        x, y = table.columns.index(across), table.columns.index(up)
        points = [
            ScatterPoint(label=str(line[0]), x=float(line[x] or 0), y=float(line[y] or 0))
            for line in table.body
            if isinstance(line[x], int | float) and isinstance(line[y], int | float)
        ]
        if not points:
            continue
        path = out / f"{benchmark.name}-{layout}{suffix}"
        title = f"{benchmark.title}: {up} against {across}"
        caption = f"A point per source. Hollow, †: published. Protocol {context.protocol}."
        draw_scatter(context.style, points, path, across=across, up=up, title=title, caption=caption)
        written.append(path)
    return written


class ScatterPoint(Struct, frozen=True, kw_only=True):
    """A named point; a name that ends in a dagger is published."""

    label: str
    x: float
    y: float
    interval: tuple[float, float] | None = None
    """Of `y`."""
    color: str = COLORS[0]


def draw_scatter(
    style: FigureStyle,
    points: Sequence[ScatterPoint],
    path: Path,
    *,
    across: str,
    up: str,
    title: str,
    caption: str,
    lines: Mapping[str, float] | None = None,
    logarithmic: bool = False,
) -> None:
    """Named points; `lines` are levels across the figure, by name."""
    pyplot = load_pyplot(style)
    figure, axes = pyplot.subplots(figsize=(style.inches, 2.9), layout="constrained")
    levels = _list_levels(points, lines or {})
    nearby = 0.06 * (max(levels) - min(levels))
    for point, is_left, is_below in _place_labels(points, nearby, logarithmic=logarithmic):
        hollow = point.label.rstrip().endswith("†")
        if point.interval:
            axes.plot((point.x, point.x), point.interval, color=point.color, linewidth=1)
        face = "white" if hollow else point.color
        axes.plot(point.x, point.y, "o", markersize=4.5, markerfacecolor=face, markeredgecolor=point.color)
        axes.annotate(
            style.label(point.label, 30), (point.x, point.y), xytext=(-4 if is_left else 4, -3 if is_below else 3),
            textcoords="offset points", ha="right" if is_left else "left", va="top" if is_below else "bottom",
            fontsize=style.font_size - 1.5,
        )  # fmt: skip
    previous = float("inf")
    for name, level in sorted((lines or {}).items(), key=lambda line: -line[1]):
        above = previous - level > nearby
        previous = level
        axes.axhline(level, color="#6b7480", linestyle=":", linewidth=1)
        axes.text(
            0.01, level, style.label(name, 40), transform=axes.get_yaxis_transform(),
            va="bottom" if above else "top", fontsize=style.font_size - 2, color="#4a5568",
        )  # fmt: skip
    if logarithmic:
        axes.set_xscale("log")
    axes.margins(x=0.1, y=0.1)
    axes.set_xlabel(style.label(across))
    axes.set_ylabel(style.label(up))
    axes.set_title(style.label(title), loc="left", wrap=True)
    text = style.wrap(style.label(caption, 2_000))
    figure.supxlabel(text, x=0.01, ha="left", fontsize=style.font_size - 2, color="#4a5568")
    save_figure(pyplot, figure, path, exact=True)


def _place_labels(
    points: Sequence[ScatterPoint], nearby: float, *, logarithmic: bool
) -> list[tuple[ScatterPoint, bool, bool]]:
    """Each point, whether its label stands to its left, and whether below it, so that labels stay apart."""
    ends = [point.x for point in points]
    middle = math.sqrt(min(ends) * max(ends)) if logarithmic else (min(ends) + max(ends)) / 2
    placed: list[tuple[ScatterPoint, bool, bool]] = []
    for point in sorted(points, key=lambda each: -each.y):
        is_below = bool(placed) and placed[-1][0].y - point.y < nearby and not placed[-1][2]
        placed.append((point, point.x > middle, is_below))
    return placed


def _list_levels(points: Sequence[ScatterPoint], lines: Mapping[str, float]) -> list[float]:
    return [*lines.values(), *(end for point in points for end in (point.interval or (point.y,)))]


def draw_cost(
    context: FigureContext, benchmark: Benchmark, parts: Sequence[ScoredRun], runs: Sequence[Run], path: Path
) -> list[Path]:
    """Accuracy against what it costs: money where prices are known, else tokens; baselines are lines."""
    right = [part for part in parts if benchmark.task(part.task).metric == "accuracy"]
    rows = {part.run: summarise(part, benchmark)[0] for part in merge_tasks(right)}
    usages = {
        run.name: sum_usage(
            (r for part in right if part.run == run.name for _, r, _ in part.rows if r is not None),
            find_price_by_name(run.model, run.manifest.server),
        )
        for run in runs
        if run.name in rows and rows[run.name].value is not None
    }
    baselines = {name for name in usages if classify_model(rows[name].model) != "model"}
    models = {name: usage for name, usage in usages.items() if usage.requests and name not in baselines}
    priced = {name: usage for name, usage in models.items() if usage.cost}
    counted = {name: usage for name, usage in models.items() if usage.reported and usage.tokens_out}
    chosen = priced if priced and len(priced) >= len(counted) else counted
    if not chosen:
        return []
    unit = next(iter(chosen.values())).price
    money = chosen is priced and unit is not None
    points = [
        ScatterPoint(
            label=context.names[name],
            x=_cost_per_question(usage, money=money),
            y=rows[name].value or 0.0,
            interval=rows[name].interval,
            color=context.colors[name],
        )
        for name, usage in chosen.items()
    ]
    lines = {rows[name].model: rows[name].value or 0.0 for name in usages if name in baselines}
    chance = rows[next(iter(chosen))].chance
    lines |= {} if chance is None else {"guessing": chance}
    left_out = [context.names[name] for name in models if name not in chosen]
    caption = context.describe([rows[name] for name in chosen])
    if left_out:
        caption += f" Without {'a price' if money else 'tokens'}, and so not drawn: {', '.join(left_out)}."
    draw_scatter(
        context.style,
        points,
        path,
        across=f"cost of 1,000 questions ({unit.currency})" if money and unit else "tokens per question",
        up="accuracy (%), with 95 % interval",
        title=f"{benchmark.title}: accuracy against {'cost' if money else 'tokens'}",
        caption=caption,
        lines=lines,
        logarithmic=max(point.x for point in points) > 10 * min(point.x for point in points),
    )
    return [path]


def _cost_per_question(usage: UsageSummary, *, money: bool) -> float:
    """Money for a thousand questions, or tokens for one."""
    if money:
        return 1000 * (usage.cost or 0.0) / usage.requests
    return (usage.tokens_in + usage.tokens_out) / usage.requests
