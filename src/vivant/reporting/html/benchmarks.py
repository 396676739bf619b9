"""A section per benchmark: its paper's figures and tables."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from msgspec import structs

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, Figure, ScoredRun
from vivant.benchmarks.summary import natural, summarise
from vivant.core.errors import VivantError
from vivant.core.table import Row, Table
from vivant.reporting.figures import merge_tasks
from vivant.reporting.html.blocks import Block, FigureRow, Heading, Paragraph, TableBlock
from vivant.reporting.html.leaderboard import plot_point
from vivant.reporting.html.report_data import ReportData
from vivant.reporting.html.sections import build_protocol_differences
from vivant.reporting.html.svg import BarGroup, draw_bars, draw_heatmap, draw_scatter
from vivant.runs.overview import list_published_rows

_MAX_GROUPS = 40
"""A bar figure with more groups than this is no figure; the table has them all."""


def build_benchmark(data: ReportData, name: str) -> list[Block]:
    """Build the figures first, then the tables, the first of them unfolded."""
    benchmark = registry.get(name)
    parts = [part for part in data.parts if part.task.partition("/")[0] == name]
    blocks: list[Block] = [Paragraph(benchmark.summary)] if benchmark.summary else []
    if len(data.tasks(name)) > 3:
        blocks += [Heading("Profile over the tasks"), _draw_profile(data, name)]
    for figure in _choose_figures(benchmark, parts):
        chosen = [p for p in parts if not figure.tasks or p.task.partition("/")[2] in figure.tasks]
        blocks += _build_figure(data, benchmark, figure, chosen)
    restricted = data.selections[name].restrict(benchmark)
    for number, (short, title) in enumerate(benchmark.tables.layouts.items()):
        try:
            table = benchmark.tables.build(restricted, short, parts, data.protocol)
        except VivantError as error:
            # A table about people or pictures that these runs do not have is no reason to lose the others.
            blocks.append(Paragraph(f"{title}: not drawn. ", str(error), "absent"))
            continue
        if table.body and short in benchmark.tables.scatters:
            blocks += _build_scatter(table, *benchmark.tables.scatters[short])
        if table.body:
            blocks.append(TableBlock(table, folded=number > 0))
    blocks += _build_published(data, benchmark, parts)
    return [*blocks, *build_protocol_differences(data, parts)]


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
                natural(row.group[facet]),
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
    # Some runs, or some samples of a run, may lack a facet that others have.
    located = [
        structs.replace(part, rows=found)
        for part in parts
        if (found := tuple(row for row in part.rows if set(figure.facets) <= row[0].facets.keys()))
    ]
    if not located:
        return []
    rows = [row for part in merge_tasks(located) for row in summarise(part, benchmark, figure.facets)]
    rows = [row for row in rows if all(row.group.values())]
    if not rows:
        return []
    title = Heading(figure.title)
    if len(figure.facets) == 1:
        groups = _group_bars(data, rows, figure.facets[0])
        if len(groups) > _MAX_GROUPS:
            return []
        return [title, draw_bars(groups, f"{benchmark.title}: {figure.title}")]
    down, across = figure.facets[0], figure.facets[1]
    ys = sorted({row.group[down] for row in rows}, key=natural)
    xs = sorted({row.group[across] for row in rows}, key=natural)
    figures = []
    for run in dict.fromkeys(row.run for row in rows):
        values = {(row.group[down], row.group[across]): row.value for row in rows if row.run == run}
        label = f"{figure.title}: {data.names[run]}"
        figures.append((data.names[run], draw_heatmap(ys, xs, values, label)))
    axes = Paragraph(f"Down: {down}. Across: {across}.", css_class="axes")
    return [title, axes, FigureRow(figures)]


def _build_scatter(table: Table, across: str, up: str) -> list[Block]:
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
    return [Heading(title), draw_scatter(points, f"{table.title}: {title}", across, up)]


def _draw_profile(data: ReportData, name: str) -> Markup:
    """All tasks of a benchmark as bars: where each run is strong."""
    groups = []
    for task in data.tasks(name):
        rows = sorted(data.ranking(task), key=lambda row: data.color(row.run))
        points = tuple(plot_point(data, row) for row in rows)
        groups.append(BarGroup(label=task.partition("/")[2], points=points))
    return draw_bars(groups, f"{registry.get(name).title}: scores by task")


def _group_bars(data: ReportData, rows: Sequence[Row], facet: str) -> list[BarGroup]:
    return [
        BarGroup(label=name, points=tuple(plot_point(data, row) for row in rows if row.group[facet] == name))
        for name in sorted({row.group[facet] for row in rows}, key=natural)
    ]
