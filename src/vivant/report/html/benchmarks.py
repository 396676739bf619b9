"""A section per benchmark: its paper's figures and tables."""

from __future__ import annotations

from collections.abc import Sequence

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, Figure, ScoredRun
from vivant.benchmarks.summary import natural, summarise
from vivant.core.errors import VivantError
from vivant.core.table import Row, Table
from vivant.report.figures import together
from vivant.report.html.markup import Html, join, own, tag
from vivant.report.html.material import Material
from vivant.report.html.sections import protocols
from vivant.report.html.svg import Group, Mark, bars, heat, scatter
from vivant.report.html.tables import table
from vivant.report.overview import published_rows

_GROUPS = 40
"""A bar figure with more groups than this is no figure; the table has them all."""


def section(material: Material, name: str) -> Html:
    """Figures first, then the tables, the first of them unfolded."""
    benchmark = registry.get(name)
    parts = [part for part in material.parts if part.task.partition("/")[0] == name]
    blocks = [tag("p", benchmark.summary)] if benchmark.summary else []
    if len(material.tasks(name)) > 3:
        blocks += [tag("h3", "Profile over the tasks"), _profile(material, name)]
    for figure in _figures(benchmark, parts):
        chosen = [p for p in parts if not figure.tasks or p.task.partition("/")[2] in figure.tasks]
        blocks += _figure(material, benchmark, figure, chosen)
    for number, (short, title) in enumerate(benchmark.tables.layouts.items()):
        try:
            made = benchmark.tables.build(benchmark, short, parts, material.protocol)
        except VivantError as error:
            # A table about people or pictures that these runs do not have is no reason to lose the others.
            blocks.append(tag("p", f"{title}: not drawn. ", own(str(error)), class_="absent"))
            continue
        if made.body and short in benchmark.tables.scatters:
            blocks += _scatter(made, *benchmark.tables.scatters[short])
        if made.body:
            blocks.append(table(made, folded=number > 0))
    blocks += _published(benchmark, parts)
    blocks.append(protocols(material, parts))
    return join(*blocks)


def _published(benchmark: Benchmark, parts: Sequence[ScoredRun]) -> list[Html]:
    """Figures that were published by a facet, people's among them, beside ours by the same facet."""
    tasks = {part.task for part in parts}
    by = dict.fromkeys(
        tuple(f.group) for f in benchmark.published.rows() if f.task in tasks and len(f.group) == 1
    )
    drawn: list[Html] = []
    for (facet,) in by:
        known = [part for part in parts if any(facet in sample.facets for sample, _, _ in part.rows)]
        measured = [row for part in known for row in summarise(part, benchmark, (facet,))]
        shown = {(row.task, row.group[facet]) for row in measured}
        others = [row for row in published_rows(tasks, (facet,)) if (row.task, row.group[facet]) in shown]
        rows = sorted(
            [*measured, *others],
            key=lambda row: (
                row.task,
                natural(row.group[facet]),
                row.source != "measured",
                -(row.value or 0.0),
            ),
        )
        if not others:
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
        made = Table(
            title=f"Published figures by {facet}, people's included, beside ours", columns=columns, body=body
        )
        drawn.append(table(made, folded=True))
    return drawn


def _figures(benchmark: Benchmark, parts: Sequence[ScoredRun]) -> Sequence[Figure]:
    """The benchmark's own figures; for questions of the user's own, one per facet with few values."""
    if benchmark.tables.figures:
        return benchmark.tables.figures
    values: dict[str, set[str]] = {}
    for part in parts:
        for sample, _, _ in part.rows:
            for facet, value in sample.facets.items():
                values.setdefault(facet, set()).add(value)
    few = [facet for facet, known in values.items() if 1 < len(known) <= 12]
    return [Figure(name=facet, title=f"By {facet}", facets=(facet,)) for facet in few[:4]]


def _figure(
    material: Material, benchmark: Benchmark, figure: Figure, parts: Sequence[ScoredRun]
) -> list[Html]:
    known = {facet for part in parts for sample, _, _ in part.rows for facet in sample.facets}
    if not parts or not known.issuperset(figure.facets):
        return []
    rows = [row for part in together(parts) for row in summarise(part, benchmark, figure.facets)]
    rows = [row for row in rows if all(row.group.values())]
    if not rows:
        return []
    title = tag("h3", figure.title)
    if len(figure.facets) == 1:
        groups = _groups(material, rows, figure.facets[0])
        return [title, bars(groups, f"{benchmark.title}: {figure.title}")] if len(groups) <= _GROUPS else []
    down, across = figure.facets[0], figure.facets[1]
    drawn: list[Html] = []
    for run in dict.fromkeys(row.run for row in rows):
        own_rows = [row for row in rows if row.run == run]
        values = {(row.group[down], row.group[across]): row.value for row in own_rows}
        ys = sorted({row.group[down] for row in rows}, key=natural)
        xs = sorted({row.group[across] for row in rows}, key=natural)
        label = f"{figure.title}: {material.names[run]}"
        drawn.append(tag("figure", tag("figcaption", own(material.names[run])), heat(ys, xs, values, label)))
    return [
        title,
        tag("p", f"Down: {down}. Across: {across}.", class_="axes"),
        tag("div", *drawn, class_="beside"),
    ]


def _scatter(made: Table, across: str, up: str) -> list[Html]:
    """A point per line of a table that has both figures; published lines, with a dagger, are hollow."""
    x, y = made.columns.index(across), made.columns.index(up)
    points = [
        (str(line[0]), float(line[x] or 0), float(line[y] or 0))
        for line in made.body
        if isinstance(line[x], int | float) and isinstance(line[y], int | float)
    ]
    if not points:
        return []
    return [
        tag("h3", f"{up} against {across}"),
        scatter(points, f"{made.title}: {up} against {across}", across, up),
    ]


def _profile(material: Material, name: str) -> Html:
    """All tasks of a benchmark as bars: where each run is strong."""
    groups = [
        Group(
            label=task.partition("/")[2],
            marks=tuple(_mark(material, row) for row in _in_order(material, task)),
        )
        for task in material.tasks(name)
    ]
    return bars(groups, f"{registry.get(name).title}: scores by task")


def _in_order(material: Material, task: str) -> list[Row]:
    return sorted(material.of(task), key=lambda row: material.colour(row.run))


def _mark(material: Material, row: Row) -> Mark:
    return Mark(
        label=material.names[row.run],
        value=row.value,
        interval=row.interval,
        colour=material.colour(row.run),
        note=f"n = {row.n}",
    )


def _groups(material: Material, rows: Sequence[Row], facet: str) -> list[Group]:
    names = sorted({row.group[facet] for row in rows}, key=natural)
    return [
        Group(
            label=name,
            marks=tuple(_mark(material, row) for row in rows if row.group[facet] == name),
        )
        for name in names
    ]
