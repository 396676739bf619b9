"""A figure and a ranking per task, and the tests of the leads."""

from __future__ import annotations

from collections.abc import Sequence

from vivant.benchmarks import registry
from vivant.core.table import Cell, Row, Table
from vivant.reporting.board.submission import slugify
from vivant.reporting.html.blocks import Block, Heading, Paragraph, TableBlock
from vivant.reporting.html.drawing import Drawing, draw_forest
from vivant.reporting.html.report_data import ReportData
from vivant.reporting.html.svg import PlotPoint

_BEST_PUBLISHED = 6
_LEGEND = (
    "Points are scores, lines their 95 % intervals, the dotted line what guessing scores. Hollow points with ⁂ "
    "are published figures: people first, then the best; the tables have all of them, with their source."
)


def draw_tasks(data: ReportData, tasks: Sequence[str]) -> list[Block]:
    """A figure per task: scores with their intervals, beside the best published ones."""
    blocks: list[Block] = [Paragraph(_LEGEND, css_class="axes")]
    for task in tasks:
        blocks += [Heading(f"{task}: {registry.get_by_task(task).task(task).title}"), draw_task(data, task)]
        blocks += [Paragraph(note, css_class="axes") for note in data.stops.get(task, ())]
    return blocks


def list_rankings(data: ReportData, tasks: Sequence[str]) -> list[Block]:
    """All runs and published rows of each task as tables, folded, and the tests of the leads."""
    blocks: list[Block] = [
        TableBlock(_ranking_table(data, task), caption=False, folded=True) for task in tasks
    ]
    return [*blocks, *_lead_tests(data, tasks)]


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
        reference=row.run not in data.contestants,
        note=f"n = {row.n}",
    )


def draw_task(data: ReportData, task: str) -> Drawing:
    """The runs on one task, people and the best published figures."""
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
    name = slugify(task, "scores")
    return draw_forest(name, points, f"Scores on {task} with 95 % intervals", data.chance_level(task))


def _ranking_table(data: ReportData, task: str) -> Table:
    chance = data.chance_level(task)
    scale = registry.get_by_task(task).task(task).scale
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


def _lead_tests(data: ReportData, tasks: Sequence[str]) -> list[Block]:
    """The leads of the best models, tested."""
    comparisons = [comparison for comparison in data.comparisons if comparison.task in tasks]
    if not comparisons:
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
        for c in comparisons
    )
    table = Table(
        title="Is the best model really better? The best against each other run",
        columns=("task", "best", "other", "lead", "95 % interval", "p (Holm)", "could have shown", "samples"),
        body=body,
        notes=(
            "Paired by sample, clusters kept together; p with Holm's correction within each benchmark. Could have "
            "shown: the lead that such data would have shown four times out of five.",
        ),
    )
    return [TableBlock(table, caption=False, folded=True)]
