"""The table that every run has: score, interval, n, errors and unparsed, whole or by facet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun
from vivant.benchmarks.conditions import restrict
from vivant.benchmarks.summary import judge_notes, make_published_row, summarise
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.records import SHRUNK
from vivant.core.table import Cell, Row, Table
from vivant.core.table_check import find_table_fault
from vivant.hooks import TABLES, call_hook, hook_error, list_hooks
from vivant.metrics.intervals import Method
from vivant.runs.published_rows import (
    PublishedOption,
    PublishedSelection,
    list_selections,
    select_published,
)
from vivant.runs.run import Run, choose_common_protocol
from vivant.runs.stopping_table import describe_stop, find_stopped
from vivant.runs.subset import add_estimate, load_run_subset


def score_runs(
    runs: Sequence[Run],
    protocol: Protocol | None,
    where: Sequence[str] = (),
    values: Mapping[str, Any] | None = None,
) -> list[ScoredRun]:
    """All tasks of all runs, scored, and restricted to the samples that `where` names."""
    protocol = choose_common_protocol(runs, protocol)
    known = {
        run: {name for task in run.manifest.tasks for name in registry.get_by_task(task).settings}
        for run in runs
    }
    every = set().union(*known.values())
    for name in values or ():
        if name not in every:
            raise unknown_name_error("scoring setting", name, every)
    parts: list[ScoredRun] = []
    for run in runs:
        own = {name: value for name, value in (values or {}).items() if name in known[run]}
        parts += run.scores(protocol, own)
    return restrict(parts, where)


def build_overview(
    runs: Sequence[Run],
    protocol: Protocol | None = None,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    published: PublishedOption = False,
    *,
    chance_corrected: bool = False,
    intervals: Method = "auto",
    values: Mapping[str, Any] | None = None,
) -> Table:
    """One line per run, task and group.

    Args:
        runs: The runs to show.
        protocol: `paper` or `strict`; None takes the first that all benchmarks have.
        by: Facets to group by. A run that has none of them keeps one line.
        where: Conditions on samples, as `facet=value`.
        published: Add the papers' own figures; `exact` adds rows whose recipe a run was asked by.
        chance_corrected: Add the score with chance as 0.
        intervals: `auto`, or `bootstrap` to resample clusters.
        values: Scoring settings other than the defaults.
    """
    protocol = choose_common_protocol(runs, protocol)
    parts = score_runs(runs, protocol, where, values)
    lacking = _lack_facets(parts, by)
    stopped = {(run.name, task): state for run in runs for task, state in find_stopped(run).items()}
    subsets = {run.name: load_run_subset(run.dir) for run in runs}
    stops: list[str] = []
    estimates: list[str] = []
    rows: list[Row] = []
    for part in parts:
        benchmark = registry.get_by_task(part.task)
        own = tuple(facet for facet in by if facet not in lacking.get((part.run, part.task), ()))
        part_rows = summarise(part, benchmark, own, intervals=intervals)
        subset = subsets.get(part.run)
        if subset is not None and part.task in subset.tasks and not where:
            part_rows, subset_notes = add_estimate(part_rows, part, benchmark, subset.tasks[part.task])
            estimates += subset_notes
        rows += part_rows
        stop = stopped.get((part.run, part.task))
        if stop is not None:
            stops += describe_stop(part, benchmark, stop, in_groups=bool(own or where))
    selections = list_selections(runs, "all" if published is True else published or "none")
    rows += list_published_rows({part.task for part in parts}, by, selections)
    columns = _choose_columns(runs, rows, by, chance_corrected)
    notes = [*_notes(runs, parts, rows), *stops, *estimates]
    notes += _published_notes(rows, {part.task for part in parts}, selections)
    for facet in by:
        without = dict.fromkeys(t.partition("/")[0] for (_, t), facets in lacking.items() if facet in facets)
        if without:
            notes.append(f"Without the facet '{facet}', and shown whole: {', '.join(without)}.")
    if chance_corrected:
        notes.append("Above chance: (score − chance) / (100 − chance), so that a guesser has 0.")
    return Table(
        title=f"Scores, protocol {protocol}",
        columns=tuple(name for name, _ in columns),
        body=tuple(tuple(read(row) for _, read in columns) for row in rows),
        notes=tuple(notes),
        rows=tuple(rows),
        optional=("run", "guessed", "metric", "chance"),
    )


def _choose_columns(
    runs: Sequence[Run], rows: Sequence[Row], by: Sequence[str], chance_corrected: bool
) -> list[tuple[str, Callable[[Row], Cell]]]:
    """The columns in order, each with what it shows of a row. Those that say nothing are left out."""
    several = len({row.run for row in rows}) > 1
    settings: dict[str, str] = {}
    if several:
        settings = dict(zip((run.name for run in runs), list_run_distinctions(runs), strict=True))
    columns: list[tuple[str, Callable[[Row], Cell]]] = [("model", lambda row: row.model)]
    if len({row.style for row in rows}) > 1:
        columns.append(("style", lambda row: row.style))
    if any(settings.values()):
        columns.append(("settings", lambda row: settings.get(row.run, "")))
    columns.append(("task", lambda row: row.task))
    columns += [(facet, partial(_get_group, facet)) for facet in by]
    columns.append(("metric", lambda row: row.metric))
    columns.append(("score", lambda row: row.value))
    columns.append(("95 % interval", _format_interval))
    if not by or chance_corrected:
        columns.append(("chance", lambda row: row.chance))
    if chance_corrected:
        columns.append(("above chance", lambda row: row.corrected))
        columns.append(("above chance, 95 %", lambda row: _format_ends(row.corrected_interval)))
    columns.append(("n", lambda row: row.n if row.source == "measured" else None))
    columns.append(("errors", lambda row: row.errors))
    columns.append(("unparsed", lambda row: row.unparsed))
    if any(row.truncated for row in rows):
        columns.append(("truncated", lambda row: row.truncated))
    if any(row.guessed for row in rows):
        columns.append(("guessed", lambda row: row.guessed))
    if several:
        columns.append(("run", lambda row: row.run))
    return columns


def _lack_facets(parts: Sequence[ScoredRun], by: Sequence[str]) -> dict[tuple[str, str], tuple[str, ...]]:
    """By run and task, the facets of `by` that it does not have. One that none has is an error."""
    known = {
        (part.run, part.task): set(registry.get_by_task(part.task).facets).union(
            *(sample.facets for sample, _, _ in part.rows)
        )
        for part in parts
    }
    every = set().union(*known.values())
    for facet in by:
        if facet not in every:
            raise unknown_name_error("facet", facet, every)
    return {
        key: lacking for key, facets in known.items() if (lacking := tuple(f for f in by if f not in facets))
    }


def list_run_distinctions(runs: Sequence[Run]) -> list[str]:
    """For each run, the settings that not all runs share: `blind, 16 frames`; empty for one that is all default."""
    words = [run.manifest.settings.list_distinctions() for run in runs]
    shared = set.intersection(*map(set, words)) if len(words) > 1 else set()
    return [", ".join(word for word in each if word not in shared) for each in words]


def _get_group(facet: str, row: Row) -> str:
    return row.group.get(facet, "all")


def _format_interval(row: Row) -> str:
    if row.interval is None and row.source != "measured":
        return "published"
    return _format_ends(row.interval)


def _format_ends(ends: tuple[float, float] | None) -> str:
    return f"{ends[0]:.1f} – {ends[1]:.1f}" if ends else "–"


def chance_levels(parts: Sequence[ScoredRun]) -> dict[tuple[str, str], float]:
    """Expected score of a guess, where every sample has one."""
    levels: dict[tuple[str, str], float] = {}
    for part in parts:
        benchmark = registry.get_by_task(part.task)
        values = [benchmark.chance_as_scored(sample, part.settings) for sample, _, _ in part.rows]
        chances = [value for value in values if value is not None]
        if chances and len(chances) == len(values):
            levels[(part.run, part.task)] = sum(chances) / len(chances) * benchmark.task(part.task).scale
    return levels


def _notes(runs: Sequence[Run], parts: Sequence[ScoredRun], rows: Sequence[Row]) -> list[str]:
    notes: list[str] = []
    methods = sorted({row.interval_method for row in rows if row.interval_method})
    if methods:
        notes.append("Intervals: " + "; ".join(methods) + ".")
    for part in parts:
        defaults = dict(registry.get_by_task(part.task).settings)
        changed = {k: v for k, v in part.settings.items() if defaults.get(k) != v}
        if changed:
            settings_text = ", ".join(f"{name}={value}" for name, value in changed.items())
            notes.append(f"{part.run}, {part.task}: scored with {settings_text}.")
        notes += _row_notes(part)
    notes += judge_notes(parts)
    shared = [
        word
        for word in (runs[0].manifest.settings.list_distinctions() if runs else ())
        if all(word in run.manifest.settings.list_distinctions() for run in runs)
    ]
    if shared:  # what tells the runs apart has a column
        notes.append(f"{'All runs' if len(runs) > 1 else runs[0].name}: {', '.join(shared)}.")
    for run in runs:
        settings = run.manifest.settings
        if settings.permute != 1:
            notes.append(
                f"{run.name}: n counts replies, under several orders of the options (--permutations)."
            )
        if settings.repeat > 1:
            notes.append(f"{run.name}: n counts replies, {settings.repeat} to each question (--repeats).")
        notes += [f"{run.name}: {note}." for note in run.manifest.notes if run.manifest.origin == "import"]
    if any(row.errors for row in rows):
        notes.append(
            "Errors are samples without a reply to score; they are not part of n and not wrong answers."
        )
    if any(row.truncated for row in rows):
        notes.append(
            "Truncated are replies that ended before an answer began; they are not part of n. "
            "Run again with more --thinking-tokens to ask them again."
        )
    if any(row.guessed for row in rows):
        notes.append("Guessed: answers that the published protocol supplies where the model gave none.")
    return notes


def _row_notes(part: ScoredRun) -> list[str]:
    """What happened to some of the samples, from one look at each."""
    cut = excluded = lost = shrunk = 0
    rule = first = ""
    for _, record, score in part.rows:
        if score.status == "excluded":
            excluded += 1
            rule = rule or score.rule
        if record is None:
            continue
        cut += record.reply.status == "truncated" and score.status != "truncated"
        lost += record.lost_images > 0
        for note in record.notes:
            if note.startswith(SHRUNK):
                shrunk += 1
                first = first or note.removeprefix(SHRUNK).lstrip(": ")
    notes = []
    where = f"{part.run}, {part.task}"
    if cut:
        notes.append(f"{where}: {cut} answers were cut off at the token limit.")
    if excluded:
        notes.append(f"{where}: {excluded} samples left out ({rule}).")
    if lost:
        notes.append(f"{where}: {lost} samples lost pictures to fit the model's window.")
    if shrunk:
        notes.append(f"{where}: {shrunk} requests were {SHRUNK} (the first: {first}).")
    return notes


def list_published_rows(
    tasks: set[str], by: Sequence[str], selections: Mapping[str, PublishedSelection]
) -> list[Row]:
    """Figures from the papers whose groups are by the same facets, marked with their source."""
    return [
        make_published_row(figure)
        for task in sorted(tasks)
        for figure in selections[task.partition("/")[0]].rows
        if figure.task == task and set(figure.group) == set(by)
    ]


def _published_notes(
    rows: Sequence[Row], tasks: set[str], selections: Mapping[str, PublishedSelection]
) -> list[str]:
    """What belongs to the published rows shown; where none fits the table's groups, how to see them."""
    benchmarks = {row.benchmark for row in rows if row.source != "measured"}
    notes: list[str] = []
    for name, selection in selections.items():
        if name in benchmarks or not selection.rows:
            notes += selection.notes
            continue
        groups = {",".join(sorted(figure.group)) for figure in selection.rows if figure.task in tasks}
        ways = [f"with --by {group}" if group else "without --by" for group in sorted(groups)]
        benchmark = registry.get(name)
        if not ways:
            ways = [f"with --layout {name}:{layout}" for layout in list(benchmark.tables.layouts)[:1]]
        notes.append(
            f"No published figure of {benchmark.title} has the groups of this table; see them {' or '.join(ways)}."
        )
    return notes


def build_layout(
    name: str,
    runs: Sequence[Run],
    protocol: Protocol | None,
    published: PublishedOption = False,
    values: Mapping[str, Any] | None = None,
) -> Table:
    """Return a benchmark's own table, such as `mime:1`, or the table of an installed package.

    Args:
        name: `BENCHMARK:NAME`, or the name of a hook of the group `vivant.tables`.
        runs: The runs to show.
        protocol: `paper` or `strict`; None takes the first that all benchmarks have.
        published: For a benchmark's table: add published rows for runs on a mini-edition, or only `exact` ones.
        values: For a benchmark's table: scoring settings other than the defaults.
    """
    protocol = choose_common_protocol(runs, protocol)
    benchmark_name, colon, short = name.partition(":")
    if not colon:
        hooks = list_hooks(TABLES)
        if name in hooks:
            return _build_hook_table(name, runs, protocol, published, values)
        raise _unknown_layout_error(name, hooks)
    benchmark = registry.get(benchmark_name)
    if short not in benchmark.tables.layouts:
        raise unknown_name_error(
            f"table of {benchmark_name}", short, benchmark.tables.layouts, f"(write {benchmark_name}:NAME)"
        )
    parts = [
        p for p in score_runs(runs, protocol, values=values) if p.task.partition("/")[0] == benchmark_name
    ]
    if not parts:
        raise UsageError(f"None of these runs holds {benchmark_name}")
    selection = select_published(benchmark, runs, "all" if published is True else published or "auto")
    table: Table = benchmark.tables.build(selection.restrict(benchmark), short, parts, protocol)
    full = any(row.source != "measured" for row in table.rows)
    notes = _truncated_notes(parts)
    if full or (
        selection.notes and not selection.rows and _shows_published(benchmark, short, parts, protocol)
    ):
        notes += selection.notes
    return msgspec.structs.replace(table, notes=(*table.notes, *notes))


def _build_hook_table(
    name: str,
    runs: Sequence[Run],
    protocol: Protocol,
    published: PublishedOption,
    values: Mapping[str, Any] | None,
) -> Table:
    if published or values:
        raise UsageError(
            f"The table '{name}' comes from a package and takes only the protocol. Leave out --published and --set."
        )
    table = call_hook(TABLES, name, runs, protocol)
    if not isinstance(table, Table):
        raise hook_error(TABLES, name, f"returned {type(table).__name__}, not a Table")
    if fault := find_table_fault(table):
        raise hook_error(TABLES, name, f"returned a Table with a mistake: {fault}")
    return table


def _unknown_layout_error(name: str, hooks: Iterable[str]) -> UsageError:
    """Return the error for a layout without a colon that no package provides."""
    installed = f"tables of installed packages: {', '.join(sorted(hooks)) or 'none'}"
    benchmarks = registry.list_benchmarks()
    if name in benchmarks:
        own = [f"{name}:{layout}" for layout in registry.get(name).tables.layouts]
        return UsageError(f"{name} is a benchmark; its tables: {', '.join(own) or 'none'} ({installed})")
    return unknown_name_error(
        "table", name, {*hooks, *benchmarks}, f"({installed}; a benchmark's table is written BENCHMARK:NAME)"
    )


def _shows_published(benchmark: Benchmark, name: str, parts: Sequence[ScoredRun], protocol: Protocol) -> bool:
    """Whether a layout has published rows at all: only then is it worth a note that they are left out."""
    return any(
        row.source != "measured" for row in benchmark.tables.build(benchmark, name, parts, protocol).rows
    )


def _truncated_notes(parts: Sequence[ScoredRun]) -> list[str]:
    """How many replies a benchmark's own table leaves out because they were cut off before an answer began."""
    counts = {
        (part.run, part.task): sum(score.status == "truncated" for _, _, score in part.rows) for part in parts
    }
    return [
        f"{run}, {task}: {count} replies ended before an answer began; they are not part of n."
        for (run, task), count in counts.items()
        if count
    ]
