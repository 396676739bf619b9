"""A section per benchmark: its paper's figures and tables."""

from __future__ import annotations

from collections.abc import Sequence

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, Figure, ScoredRun
from vivant.benchmarks.summary import natural_sort_key, order_levels, summarise
from vivant.core.errors import VivantError
from vivant.core.table import Row, Table
from vivant.reporting.board.submission import slugify
from vivant.reporting.figures import summarise_figure
from vivant.reporting.html.blocks import Block, Details, FigureRow, Heading, Paragraph, TableBlock
from vivant.reporting.html.drawing import Drawing, draw_bars, draw_heatmap, draw_scatter
from vivant.reporting.html.leaderboard import draw_tasks, list_rankings, plot_point
from vivant.reporting.html.report_data import ReportData
from vivant.reporting.html.sections import build_protocol_differences
from vivant.reporting.html.svg import BarGroup
from vivant.runs.overview import list_published_rows

_FEW_TASKS = 3
_MAX_GROUPS = 40
"""A bar figure with more groups than this is no figure; the table has them all."""


def build_benchmark(data: ReportData, name: str) -> list[Block]:
    """Build the figures first, then the tables, folded."""
    benchmark = registry.get(name)
    parts = [part for part in data.parts if part.task.partition("/")[0] == name]
    tasks = data.tasks(name)
    figures: list[Block] = [Paragraph(benchmark.summary)] if benchmark.summary else []
    if len(tasks) > _FEW_TASKS:
        figures += [Heading("All tasks"), _draw_profile(data, name)]
        figures.append(Details(f"Each of the {len(tasks)} tasks", draw_tasks(data, tasks)))
    else:
        figures += draw_tasks(data, tasks)
    for figure in _choose_figures(benchmark, parts):
        chosen = [p for p in parts if not figure.tasks or p.task.partition("/")[2] in figure.tasks]
        figures += _build_figure(data, benchmark, figure, chosen)
    tables = list_rankings(data, tasks)
    restricted = data.selections[name].restrict(benchmark)
    for short, title in benchmark.tables.layouts.items():
        try:
            table = benchmark.tables.build(restricted, short, parts, data.protocol)
        except VivantError as error:
            # A table about people or pictures that these runs do not have is no reason to lose the others.
            tables.append(Paragraph(f"{title}: not drawn. ", str(error), "absent"))
            continue
        if table.body and short in benchmark.tables.scatters:
            figures += _build_scatter(name, table, *benchmark.tables.scatters[short])
        if table.body:
            tables.append(TableBlock(table, folded=True, caption=False))
    tables += _build_published(data, benchmark, parts)
    return [*figures, Heading("Tables"), *tables, *build_protocol_differences(data, parts)]


def describe_benchmark(data: ReportData, name: str) -> str:
    """What a folded section holds, in a line."""
    tasks = data.tasks(name)
    samples = sum(max(row.n + row.errors + row.truncated for row in data.ranking(task)) for task in tasks)
    noun = "task" if len(tasks) == 1 else "tasks"
    return f"{len(tasks)} {noun}, {samples:,} questions: figures and tables"


def _build_published(data: ReportData, benchmark: Benchmark, parts: Sequence[ScoredRun]) -> list[Block]:
    """Figures that were published by a facet, people's among them, beside ours by the same facet."""
    tasks = {part.task for part in parts}
    by = dict.fromkeys(
        tuple(f.group) for f in benchmark.published.rows() if f.task in tasks and len(f.group) == 1
    )
    blocks: list[Block] = []
    for (facet,) in by:
        with_facet = [part for part in parts if any(facet in sample.facets for sample, _, _ in part.rows)]
        measured = [row for part in with_facet for row in summarise(part, benchmark, (facet,))]
        groups = {(row.task, row.group[facet]) for row in measured}
        published = [
            row
            for row in list_published_rows(tasks, (facet,), data.selections)
            if (row.task, row.group[facet]) in groups
        ]
        rows = sorted(
            [*measured, *published],
            key=lambda row: (
                row.task,
                natural_sort_key(row.group[facet]),
                row.source != "measured",
                -(row.value or 0.0),
            ),
        )
        if not published:
            continue
        body = tuple(
            (
                row.task,
                row.group[facet],
                row.model,
                row.style,
                row.value,
                f"{row.interval[0]:.1f} – {row.interval[1]:.1f}" if row.interval else "",
                row.n or None,
                "measured" if row.source == "measured" else "published",
                "" if row.source == "measured" else row.source,
            )
            for row in rows
        )
        columns = ("task", facet, "model", "style", "score", "95 % interval", "n", "", "source")
        title = f"Published figures by {facet}, people's included, beside ours"
        blocks.append(TableBlock(Table(title=title, columns=columns, body=body), folded=True))
    return blocks


def _choose_figures(benchmark: Benchmark, parts: Sequence[ScoredRun]) -> Sequence[Figure]:
    """The benchmark's own figures; for questions of the user's own, one per facet with few values."""
    if benchmark.tables.figures:
        return benchmark.tables.figures
    values: dict[str, set[str]] = {}
    for part in parts:
        for sample, _, _ in part.rows:
            for facet, value in sample.facets.items():
                values.setdefault(facet, set()).add(value)
    few = [facet for facet, each in values.items() if 1 < len(each) <= 12]
    return [Figure(name=facet, title=f"By {facet}", facets=(facet,)) for facet in few[:4]]


def _build_figure(
    data: ReportData, benchmark: Benchmark, figure: Figure, parts: Sequence[ScoredRun]
) -> list[Block]:
    rows = summarise_figure(benchmark, figure, parts)
    if not rows:
        return []
    title = Heading(figure.title)
    if len(figure.facets) == 1:
        groups = _group_bars(data, benchmark, rows, figure.facets[0])
        if len(groups) > _MAX_GROUPS:
            return []
        name = f"{benchmark.name}-{figure.name}"
        return [title, draw_bars(name, groups, f"{benchmark.title}: {figure.title}")]
    down, across = figure.facets[0], figure.facets[1]
    ys = order_levels(benchmark, down, {row.group[down] for row in rows})
    xs = order_levels(benchmark, across, {row.group[across] for row in rows})
    figures = []
    for run in dict.fromkeys(row.run for row in rows):
        values = {(row.group[down], row.group[across]): (row.value, row.n) for row in rows if row.run == run}
        label = f"{figure.title}: {data.names[run]}"
        name = slugify(benchmark.name, figure.name, run)
        figures.append((data.names[run], draw_heatmap(name, ys, xs, values, label)))
    axes = Paragraph(f"Down: {down}. Across: {across}.", css_class="axes")
    return [title, axes, FigureRow(figures)]


def _build_scatter(name: str, table: Table, across: str, up: str) -> list[Block]:
    """A point per line of a table that has both figures; published lines, with a dagger, are hollow."""
    x, y = table.columns.index(across), table.columns.index(up)
    points = [
        (str(line[0]), float(line[x] or 0), float(line[y] or 0))
        for line in table.body
        if isinstance(line[x], int | float) and isinstance(line[y], int | float)
    ]
    if not points:
        return []
    title = f"{up} against {across}"
    return [Heading(title), draw_scatter(slugify(name, title), points, f"{table.title}: {title}", across, up)]


def _draw_profile(data: ReportData, name: str) -> Drawing:
    """All tasks of a benchmark as bars: where each run is strong."""
    groups = []
    for task in data.tasks(name):
        rows = sorted(data.ranking(task), key=lambda row: data.color(row.run))
        points = tuple(plot_point(data, row) for row in rows)
        groups.append(BarGroup(label=task.partition("/")[2], points=points))
    return draw_bars(f"{name}-tasks", groups, f"{registry.get(name).title}: scores by task")


def _group_bars(data: ReportData, benchmark: Benchmark, rows: Sequence[Row], facet: str) -> list[BarGroup]:
    return [
        BarGroup(label=name, points=tuple(plot_point(data, row) for row in rows if row.group[facet] == name))
        for name in order_levels(benchmark, facet, {row.group[facet] for row in rows})
    ]
