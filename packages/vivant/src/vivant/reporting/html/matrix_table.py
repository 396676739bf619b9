"""The score matrix as the report's first table: value, interval, chance and people in each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from markupsafe import Markup
from msgspec import Struct

from vivant.core.table import Row
from vivant.reporting.html.markup import element
from vivant.reporting.score_matrix import MatrixEntry, MatrixTask, ScoreMatrix

_MOST_ENTRIES, _MOST_TASKS = 7, 12
"""Up to so many, tasks stand below each other; else models do."""
_SCREEN = 8
"""Rows that leave room for sentences on a screen."""
_WIDTH = 64.0


class MatrixHead(Struct, frozen=True, kw_only=True):
    """The name of a row or a column."""

    text: str
    note: str = ""
    reference: bool = False
    """A baseline, a control, people: no contestant."""


class MatrixCell(Struct, frozen=True, kw_only=True):
    """One score."""

    text: str = ""
    interval: str = ""
    bar: Markup = Markup()
    none: str = ""
    """Why there is no score."""
    warning: str = ""
    reference: bool = False
    best: bool = False
    """Better than all other models, after correction."""


class MatrixLine(Struct, frozen=True, kw_only=True):
    """A row of the table; `group` is a heading above it."""

    head: MatrixHead
    cells: tuple[MatrixCell, ...]
    group: str = ""


class MatrixBlock(Struct, frozen=True, kw_only=True):
    """The table."""

    kind: ClassVar[str] = "matrix"
    corner: str
    columns: tuple[MatrixHead, ...]
    rows: tuple[MatrixLine, ...]
    notes: tuple[str, ...]

    @property
    def is_tall(self) -> bool:
        """Whether what follows it would not be on the first screen."""
        return len(self.rows) > _SCREEN


def build_matrix_block(matrix: ScoreMatrix, best: set[tuple[str, str]]) -> MatrixBlock:
    """Lay the matrix out so that it fits a screen.

    Args:
        matrix: The scores.
        best: Run and task of scores that are better than those of all other models, after correction.
    """
    tasks, entries = matrix.tasks, matrix.entries
    notes = [
        "Beside each score its 95 % interval, as a bar from 0 to the top of the scale. Dotted: guessing. "
        "Grey: baselines and controls, for reference."
    ]
    if any(task.human for task in tasks):
        notes.append("Green line: people.")
    if best:
        notes.append("Bold: better than every other model, after correction within the benchmark.")
    if len(entries) <= _MOST_ENTRIES and len(tasks) <= _MOST_TASKS:
        first = {benchmark.tasks[0].task: benchmark.title for benchmark in matrix.benchmarks}
        rows = tuple(
            MatrixLine(
                head=_head_task(task, entries),
                cells=tuple(_make_cell(entry, task, best) for entry in entries),
                group=first.get(task.task, "") if len(tasks) > 1 else "",
            )
            for task in tasks
        )
        return MatrixBlock(
            corner="Task", columns=tuple(map(_head_entry, entries)), rows=rows, notes=tuple(notes)
        )
    rows = tuple(
        MatrixLine(head=_head_entry(entry), cells=tuple(_make_cell(entry, task, best) for task in tasks))
        for entry in entries
    )
    columns = tuple(_head_task(task, entries, full=True) for task in tasks)
    return MatrixBlock(corner="Model", columns=columns, rows=rows, notes=tuple(notes))


def _head_entry(entry: MatrixEntry) -> MatrixHead:
    name, _, settings = entry.name.partition(" · ")
    kinds = {"model": "control", "baseline": "baseline", "human": "people"}
    kind = "" if entry.is_contestant else kinds[entry.kind]
    return MatrixHead(
        text=_shorten(name, 40),
        note=_shorten(" · ".join(filter(None, (settings, kind))), 48),
        reference=not entry.is_contestant,
    )


def _head_task(task: MatrixTask, entries: Sequence[MatrixEntry], *, full: bool = False) -> MatrixHead:
    sizes = {entry.cells[task.task].n for entry in entries if task.task in entry.cells}
    span = f"{min(sizes):,}" if len(sizes) == 1 else f"{min(sizes):,}–{max(sizes):,}"
    notes = [f"n {span}"]
    notes += [] if task.chance is None else [f"chance {task.chance:.0f}"]
    if task.human is not None and task.human.value is not None:
        notes.append(f"people {task.human.value:.0f}")
    notes += [] if task.metric == "accuracy" else [task.metric]
    name = task.task if full else task.task.partition("/")[2]
    return MatrixHead(text=name, note=" · ".join(notes))


def _make_cell(entry: MatrixEntry, task: MatrixTask, best: set[tuple[str, str]]) -> MatrixCell:
    row = entry.cells.get(task.task)
    reference = not entry.is_contestant
    if row is None:
        return MatrixCell(none="not asked", reference=reference)
    if row.value is None:
        return MatrixCell(none="no score", warning=_warn(row), reference=reference)
    return MatrixCell(
        text=f"{row.value:.1f}",
        interval=f"{row.interval[0]:.0f}–{row.interval[1]:.0f}" if row.interval else "no interval",
        bar=_draw_interval(row, task, reference=reference),
        warning=_warn(row),
        reference=reference,
        best=(entry.runs[task.task], task.task) in best,
    )


def _warn(row: Row) -> str:
    """What is missing or could not be read, where it is more than nothing."""
    counts = (
        ("error" if row.errors == 1 else "errors", row.errors),
        ("truncated", row.truncated),
        ("unparsed", row.unparsed),
    )
    return ", ".join(f"{count:,} {name}" for name, count in counts if count)


def _draw_interval(row: Row, task: MatrixTask, *, reference: bool) -> Markup:
    def to_x(value: float) -> float:
        return 3 + min(max(value / (task.scale or 100.0), 0.0), 1.0) * (_WIDTH - 6)

    color = "fr" if reference else "f0"
    parts = [element("rect", x=0, y=3, width=f"{_WIDTH:.0f}", height=3, class_="track")]
    if row.interval:
        a, b = to_x(row.interval[0]), to_x(row.interval[1])
        shape = {"x": f"{a:.1f}", "width": f"{max(b - a, 1):.1f}"}
        parts.append(element("rect", y=2, height=5, class_=f"range {color}", **shape))
    for value, name in ((task.chance, "chance"), (task.human.value if task.human else None, "human")):
        if value is not None:
            x = f"{to_x(value):.1f}"
            parts.append(element("line", x1=x, x2=x, y1=0, y2=9, class_=name))
    parts.append(element("circle", cx=f"{to_x(row.value or 0.0):.1f}", cy="4.5", r="3", class_=color))
    return element(
        "svg",
        *parts,
        viewBox=f"0 0 {_WIDTH:.0f} 9",
        width=f"{_WIDTH:.0f}",
        height=9,
        class_="mini",
        aria_hidden="true",
    )


def _shorten(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
