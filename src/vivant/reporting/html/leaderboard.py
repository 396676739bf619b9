"""The leaderboard: a figure and a ranking per task, and the tests of the leads."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from vivant.benchmarks import registry
from vivant.core.table import Cell, Row, Table
from vivant.reporting.html.blocks import Block, Details, Heading, Paragraph, TableBlock
from vivant.reporting.html.report_data import ReportData
from vivant.reporting.html.svg import PlotPoint, draw_forest

_BEST_PUBLISHED = 6
_LEGEND = (
    "Points are scores, lines their 95 % intervals, the dotted line what guessing scores. Hollow points with ⁂ "
    "are published figures: people first, then the best; the tables have all of them, with their source."
)


def build_leaderboard(data: ReportData) -> list[Block]:
    """A figure and a table per task; those of benchmarks with many tasks are folded."""
    blocks: list[Block] = [Paragraph(_LEGEND)]
    for benchmark in data.benchmarks:
        tasks = data.tasks(benchmark)
        blocks.append(Heading(registry.get(benchmark).title))
        if len(tasks) > 1:
            blocks.append(TableBlock(_task_matrix(data, tasks), caption=False, folded=False))
        details: list[Block] = []
        for task in tasks:
            details.append(Heading(f"{task}: {registry.of_task(task).task(task).title}", level=4))
            details += [_draw_task(data, task), TableBlock(_ranking_table(data, task), caption=False)]
        blocks += [Details(f"Each of the {len(tasks)} tasks", details)] if len(tasks) > 3 else details
    return [*blocks, *_lead_tests(data)]


def _task_matrix(data: ReportData, tasks: Sequence[str]) -> Table:
    """All tasks of a benchmark at a glance."""
    names = list(dict.fromkeys(data.names[row.run] for task in tasks for row in data.ranking(task)))
    body: list[tuple[Cell, ...]] = []
    for task in tasks:
        by_name = {data.names[row.run]: row for row in data.ranking(task)}
        cells = [_score_with_interval(by_name.get(name)) for name in names]
        n = max(row.n for row in by_name.values())
        body.append((task.partition("/")[2], data.chance_level(task), *cells, n))
    return Table(title="All tasks", columns=("task", "chance", *names, "n"), body=tuple(body))


def _score_with_interval(row: Row | None) -> str:
    if row is None or row.value is None:
        return "–"
    return f"{row.value:.1f}" + (f" [{row.interval[0]:.0f}, {row.interval[1]:.0f}]" if row.interval else "")


def _published_rows(data: ReportData, task: str) -> list[Row]:
    rows = [row for row in data.published if row.task == task]
    return sorted(rows, key=lambda row: -(row.value or 0.0))


def plot_point(data: ReportData, row: Row) -> PlotPoint:
    """A run's score as it is drawn in every figure."""
    return PlotPoint(
        label=data.names[row.run],
        value=row.value,
        interval=row.interval,
        color=data.color(row.run),
        note=f"n = {row.n}",
    )


def _draw_task(data: ReportData, task: str) -> Markup:
    points = [plot_point(data, row) for row in data.ranking(task)]
    published = _published_rows(data, task)
    people = [row for row in published if row.model.lower() == "human"]
    best = people + [row for row in published if row not in people][: _BEST_PUBLISHED - len(people)]
    points += [
        PlotPoint(
            label=" ".join(dict.fromkeys(filter(None, (row.model, row.style.removeprefix("human"), "⁂")))),
            value=row.value,
            published=True,
            note=row.source,
        )
        for row in best
    ]
    return draw_forest(points, f"Scores on {task} with 95 % intervals", data.chance_level(task))


def _ranking_table(data: ReportData, task: str) -> Table:
    chance = data.chance_level(task)
    scale = registry.of_task(task).task(task).scale
    ranking = data.ranking(task)
    body: list[tuple[Cell, ...]] = [
        (
            data.names[row.run],
            row.style,
            row.value,
            f"{row.interval[0]:.1f} – {row.interval[1]:.1f}" if row.interval else "–",
            _correct_for_chance(row.value, chance, scale),
            row.n,
            row.errors,
            row.unparsed,
            row.truncated,
            row.guessed,
            "measured",
            row.run,
        )
        for row in ranking
    ]
    unknown = (None, None, None, None, None)
    if chance is not None:
        body.append(("guessing", "", chance, "", 0.0, *unknown, "computed", ""))
    for row in _published_rows(data, task):
        corrected = _correct_for_chance(row.value, chance, scale)
        body.append((row.model, row.style, row.value, "", corrected, *unknown, "published", row.source))
    notes = [f"Interval: {method}." for method in sorted({row.interval_method for row in ranking} - {""})]
    notes += data.selections[task.partition("/")[0]].notes
    return Table(
        title=f"{task}, protocol {data.protocol}",
        columns=(
            "model", "style", "score", "95 % interval", "above chance", "n", "errors", "unparsed", "truncated",
            "guessed", "source", "run",
        ),
        body=tuple(body),
        notes=tuple(notes),
        rules=(len(ranking),),
    )  # fmt: skip


def _correct_for_chance(value: float | None, chance: float | None, scale: float) -> float | None:
    """The score where guessing scores 0 and everything right scores full marks."""
    if value is None or chance is None or chance >= scale:
        return None
    return (value - chance) / (scale - chance) * 100


def _lead_tests(data: ReportData) -> list[Block]:
    """The leads of the best runs, tested."""
    if not data.comparisons:
        return []
    body = tuple(
        (
            c.task,
            data.names[c.best],
            data.names[c.other],
            c.lead,
            f"{c.interval[0]:+.1f} – {c.interval[1]:+.1f}" if c.interval else "–",
            "–" if c.adjusted is None else "< 0.001" if c.adjusted < 0.001 else f"{c.adjusted:.3f}",
            c.detectable,
            c.n,
        )
        for c in data.comparisons
    )
    table = Table(
        title="The best run against each other",
        columns=("task", "best", "other", "lead", "95 % interval", "p (Holm)", "could have shown", "samples"),
        body=body,
        notes=(
            "Paired by sample, clusters kept together; p with Holm's correction within each benchmark. Could have "
            "shown: the lead that such data would have shown four times out of five.",
        ),
    )
    return [Heading("Is the best run really better?"), TableBlock(table, folded=len(body) > 12)]
