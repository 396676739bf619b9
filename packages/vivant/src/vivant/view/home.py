"""The matrix of scores as the home page draws it, and the list of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from vivant.core.errors import VivantError
from vivant.core.table import Row
from vivant.reporting.score_matrix import DIMENSIONS, RunRows, ScoreMatrix, build_matrix, describe_dimensions
from vivant.runs.overview import list_published_rows
from vivant.runs.published_rows import list_selections
from vivant.runs.run import Run
from vivant.view.catalog import RunEntry
from vivant.view.context import BusyError, ViewerContext
from vivant.view.outcomes import OUTCOMES, WAITING
from vivant.view.run_status import STATES, RunStatus, describe_status
from vivant.view.summary import RunSummary, describe_lost

_PATIENCE = 0.05
"""Seconds that the list of runs waits for a run that was not read before; the others are shown meanwhile."""


class RunLine(Struct, frozen=True, kw_only=True):
    """One run as the list shows it."""

    run: RunEntry
    summary: RunSummary | None = None
    status: RunStatus | None = None
    share: float | None = None
    """How far it is read, while it is read for the first time."""
    problem: str = ""
    dimensions: Mapping[str, str] = {}


class PublishedFigures(Struct, frozen=True, kw_only=True):
    """The papers' figures for the tasks of the matrix."""

    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    other_editions: tuple[str, ...] = ()
    """Benchmarks of which a run used the bundled mini-edition, which no paper did."""


class CellBar(Struct, frozen=True, kw_only=True):
    """An interval drawn from 0 to the top of the scale, in percent of the width."""

    low: float
    width: float
    value: float
    chance: float | None
    human: float | None


def list_lines(context: ViewerContext) -> list[RunLine]:
    """All runs, newest first."""
    return [_build_line(context, run) for run in context.catalog.runs()]


def _build_line(context: ViewerContext, run: RunEntry) -> RunLine:
    if run.manifest is None:
        return RunLine(run=run, problem=run.problem)
    dimensions = describe_dimensions(run.manifest)
    try:
        summary = context.summary(run, _PATIENCE)
    except BusyError as busy:
        return RunLine(run=run, share=busy.share, dimensions=dimensions)
    except VivantError as error:
        return RunLine(run=run, problem=str(error), dimensions=dimensions)
    return RunLine(
        run=run,
        summary=summary,
        status=describe_status(run, summary),
        problem=describe_lost(summary.lost),
        dimensions=dimensions,
    )


def count_states(lines: Sequence[RunLine]) -> dict[str, int]:
    """How many runs are done, running and so on, in the order of the list's own choices."""
    counts = Counter(line.status.state for line in lines if line.status is not None)
    return {state: counts[state] for state in STATES if counts[state]}


def list_unfinished(lines: Sequence[RunLine]) -> dict[tuple[str, str], str]:
    """By run and task, how much is answered, where that is neither everything nor enough."""
    return {
        (line.run.rid, task.task): f"{task.samples - waiting:,} of {task.samples:,} answered"
        for line in lines
        if line.summary is not None and not line.summary.enough
        for task in line.summary.tasks
        if (waiting := task.counts.get(OUTCOMES[WAITING], 0))
    }


def list_stopped(lines: Sequence[RunLine]) -> dict[tuple[str, str], str]:
    """By run and task, what a task that met its target (`--until`) has left out."""
    return {
        (line.run.rid, task.task): f"of {task.samples:,}, enough"
        for line in lines
        if line.summary is not None and line.summary.enough
        for task in line.summary.tasks
        if task.counts.get(OUTCOMES[WAITING], 0)
    }


def list_run_notes(lines: Sequence[RunLine]) -> list[tuple[str, str]]:
    """What is said of runs that were brought in, such as samples without a prediction, with the name of the run."""
    return [
        (line.run.name, note)
        for line in lines
        if line.run.manifest is not None and line.run.manifest.origin == "import"
        for note in line.run.manifest.notes
    ]


def build_home_matrix(
    context: ViewerContext, lines: Sequence[RunLine], *, published: bool
) -> tuple[ScoreMatrix, PublishedFigures]:
    """The matrix over all runs that were read, and what was published beside it."""
    scored = [
        RunRows(
            # A copied folder keeps the name of the run in its manifest.
            manifest=structs.replace(line.run.manifest, run=line.run.name),
            rows=[task.row for task in line.summary.tasks],
            key=line.run.rid,
        )
        for line in lines
        if line.run.manifest is not None and line.summary is not None and line.summary.tasks
    ]
    tasks = frozenset(row.task for each in scored for row in each.rows)
    rids = tuple(sorted(each.key for each in scored))
    figures: PublishedFigures = context.remember(
        ("published", rids, tasks, published), lambda: _list_published(context, rids, tasks, published)
    )
    return build_matrix(scored, figures.rows, other_editions=figures.other_editions), figures


def _list_published(
    context: ViewerContext, rids: Sequence[str], tasks: frozenset[str], published: bool
) -> PublishedFigures:
    """The papers' figures for these tasks: all of them on demand, else those that give people's scores a place."""
    runs = []
    for rid in rids:
        entry = context.catalog.get(rid)
        if entry is not None:
            runs.append(Run(entry.path))
    try:
        selections = list_selections(runs, "all" if published else "auto")
        rows = list_published_rows(set(tasks), (), selections)
    except VivantError as error:  # a benchmark that is not installed here
        return PublishedFigures(notes=(str(error),))
    return PublishedFigures(
        rows=tuple(rows),
        notes=tuple(note for selection in selections.values() for note in selection.notes)
        if published
        else (),
        other_editions=tuple(name for name, selection in selections.items() if selection.other_edition),
    )


def list_published_lines(matrix: ScoreMatrix, other_editions: Collection[str]) -> dict[str, dict[str, Row]]:
    """The papers' figures by model and way of asking, then by task. Those of another edition than the runs' say so."""
    lines: dict[str, dict[str, Row]] = {}
    for task in matrix.tasks:
        for row in task.published:
            edition = "full edition" if row.benchmark in other_editions else ""
            name = " · ".join(filter(None, (row.model, row.style, edition)))
            lines.setdefault(name, {}).setdefault(task.task, row)
    return lines


def draw_bar(row: Row, scale: float, chance: float | None, human: Row | None) -> CellBar | None:
    """The bar of a cell."""
    if row.value is None or scale <= 0:
        return None

    def to_percent(value: float) -> float:
        return round(min(100.0, max(0.0, 100 * value / scale)), 2)

    low, high = row.interval or (row.value, row.value)
    return CellBar(
        low=to_percent(low),
        width=round(max(0.5, to_percent(high) - to_percent(low)), 2),
        value=to_percent(row.value),
        chance=None if chance is None else to_percent(chance),
        human=None if human is None or human.value is None else to_percent(human.value),
    )


def describe_cell(row: Row, chance: float | None, human: Row | None) -> str:
    """A cell in words, for those who cannot see its bar."""
    if row.value is None:
        return f"no score; {row.errors:,} errors" if row.errors else "no score yet"
    parts = [f"{row.value:.1f}"]
    if row.interval:
        parts.append(f"95 % interval {row.interval[0]:.1f} to {row.interval[1]:.1f}")
    parts.append(f"n {row.n:,}")
    for count, word in ((row.errors, "errors"), (row.truncated, "truncated"), (row.unparsed, "unparsed")):
        if count:
            parts.append(f"{count:,} {word}")
    if chance is not None:
        parts.append(f"chance {chance:.1f}")
    if human is not None and human.value is not None:
        parts.append(f"people {human.value:.1f}")
    return ", ".join(parts)


def list_differing(lines: Sequence[RunLine]) -> list[str]:
    """The dimensions in which runs differ: columns of the list."""
    return [
        name
        for name in DIMENSIONS
        if len({line.dimensions.get(name, "") for line in lines if line.dimensions}) > 1
    ]


def sort_lines(lines: list[RunLine], sort: str) -> list[RunLine]:
    """The list in another order than newest first."""
    keys: dict[str, Any] = {
        "name": lambda line: line.run.name,
        "model": lambda line: line.run.manifest.model.casefold() if line.run.manifest else "",
        "status": lambda line: line.status.state if line.status else "",
        "size": lambda line: -line.run.planned,
    }
    return sorted(lines, key=keys[sort]) if sort in keys else lines
