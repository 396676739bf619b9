"""MileBench's own tables: groups and halves, datasets, image-count levels, needle maps, evidence."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, structs

from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun
from vivant.benchmarks.milebench.datasets import (
    BY_NAME,
    DATASETS,
    GROUPS,
    REALMS,
    list_group_datasets,
    list_realm_groups,
)
from vivant.benchmarks.milebench.published import SOURCE, group_by_model
from vivant.benchmarks.summary import make_published_row, natural_sort_key, summarise
from vivant.benchmarks.table_parts import format_interval
from vivant.core.errors import UsageError
from vivant.core.table import Cell, Row, Table
from vivant.core.types import Sample

COUNTS = ("n", "errors", "unparsed", "guessed")
_GUESSED = "Guessed: empty replies, which the paper's protocol takes for option C."
_ARITHMETIC = (
    "A group is the plain mean of its datasets; realistic is the mean of the nine groups T and S, diagnostic "
    "that of N-1, N-2 and I-1. A half is given only where all of its groups are there."
)
_DIAGNOSTIC = (
    "The published diagnostic 99.4 of GPT-4V and GPT-4o is the mean of N-1 and N-2 alone; by the rule of all "
    "other rows it is 95.2 and 95.9. Random's published means (22.3, 5.5) are not those of its columns "
    "(20.9, 3.8) either."
)


class ModelRuns(Struct, frozen=True):
    """One run with all of its datasets."""

    run: str
    model: str
    style: str
    parts: Mapping[str, ScoredRun]
    """By dataset, in the order of the benchmark."""


def group_runs(runs: Sequence[ScoredRun]) -> list[ModelRuns]:
    """Scored datasets put together again: by model where its runs share no dataset, else by run.

    Imported predictions come as one run a dataset; they are one line of a table all the same.
    """
    by_model: dict[tuple[str, str], list[ScoredRun]] = defaultdict(list)
    for part in runs:
        by_model[part.model, part.style].append(part)
    groups = []
    for parts in by_model.values():
        if len({part.task for part in parts}) == len(parts):
            groups.append(_merge_runs(parts))
            continue
        by_run: dict[str, list[ScoredRun]] = defaultdict(list)
        for part in parts:
            by_run[part.run].append(part)
        groups += [_merge_runs(run_parts) for run_parts in by_run.values()]
    return groups


def _merge_runs(parts: Sequence[ScoredRun]) -> ModelRuns:
    by_name = {part.task.rpartition("/")[2]: part for part in parts}
    ordered = {d.name: by_name[d.name] for d in DATASETS if d.name in by_name}
    names = dict.fromkeys(part.run for part in parts)
    return ModelRuns(" + ".join(names), parts[0].model, parts[0].style, ordered)


def build_main_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """The leaderboard's columns."""
    columns = [*(group.name for group in GROUPS), *REALMS]
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    partial: list[str] = []
    for model_runs in group_runs(runs):
        per_dataset = {name: summarise(part, benchmark)[0] for name, part in model_runs.parts.items()}
        figures: dict[str, Row] = {}
        for group in GROUPS:
            members = [per_dataset[name] for name in list_group_datasets(group.name) if name in per_dataset]
            figures |= _build_mean_row(model_runs, members, {"group": group.name}, protocol)
        for realm in REALMS:
            groups = [figures[name] for name in list_realm_groups(realm) if name in figures]
            if len(groups) == len(list_realm_groups(realm)):
                figures |= _build_mean_row(model_runs, groups, {"realm": realm}, protocol)
        incomplete = {
            group.name for group in GROUPS if not set(list_group_datasets(group.name)) <= set(per_dataset)
        }
        incomplete |= {realm for realm in REALMS if incomplete & set(list_realm_groups(realm))}
        if incomplete & set(figures):
            names = ", ".join(per_dataset)
            partial.append(f"* {model_runs.model}: not all datasets of these columns were run, only {names}.")
        totals = _sum_counts(list(per_dataset.values()))
        body.append(
            (model_runs.model, *(_mark_partial(figures.get(c), c in incomplete) for c in columns), *totals)
        )
        rows += figures.values()
    measured = len(body)
    for model, values in group_by_model().items():
        if not benchmark.published.shows(model):
            continue
        body.append((f"{model} †", *(values[column] for column in columns), *[None] * len(COUNTS)))
    notes = _build_notes(runs, rows)
    rows += [make_published_row(figure) for figure in benchmark.published.rows()]
    beside = len(body) > measured
    return Table(
        title=f"MileBench: groups, protocol {protocol}",
        columns=("model", *columns, *COUNTS),
        body=tuple(body),
        notes=(_ARITHMETIC, *partial, *notes, *((f"† Published: {SOURCE}.", _DIAGNOSTIC) if beside else ())),
        rows=tuple(rows),
        rules=(measured,) if beside else (),
    )


def _build_mean_row(
    model_runs: ModelRuns, members: Sequence[Row], group: Mapping[str, str], protocol: Protocol
) -> dict[str, Row]:
    """The mean of means, by the column's name; nothing where one of them has nothing to count."""
    values = [row.value for row in members if row.value is not None]
    if not values or len(values) < len(members):
        return {}
    n, errors, unparsed, guessed = _sum_counts(members)
    interval = _combine_intervals(members)
    row = Row(
        run=model_runs.run,
        benchmark="milebench",
        task="milebench",
        group=group,
        metric=members[0].metric if len({row.metric for row in members}) == 1 else "mean",
        value=math.fsum(values) / len(values),
        n=n,
        errors=errors,
        unparsed=unparsed,
        guessed=guessed,
        interval=interval,
        interval_method="from the parts' intervals" if interval else "",
        model=model_runs.model,
        style=model_runs.style,
        protocol=protocol,
    )
    return {next(iter(group.values())): row}


def _combine_intervals(members: Sequence[Row]) -> tuple[float, float] | None:
    """Independent parts: the squares of their half widths add up. One part keeps its own interval."""
    intervals = [row.interval for row in members if row.interval is not None]
    if len(intervals) < len(members):
        return None
    if len(members) == 1:
        return intervals[0]
    mean = math.fsum((low + high) / 2 for low, high in intervals) / len(intervals)
    half = math.sqrt(math.fsum(((high - low) / 2) ** 2 for low, high in intervals)) / len(intervals)
    return mean - half, mean + half


def _mark_partial(row: Row | None, partial: bool) -> Cell:
    if row is None or row.value is None:
        return None
    return f"{row.value:.1f}*" if partial else row.value


def _sum_counts(rows: Sequence[Row]) -> tuple[int, int, int, int]:
    return (
        sum(row.n for row in rows),
        sum(row.errors for row in rows),
        sum(row.unparsed for row in rows),
        sum(row.guessed for row in rows),
    )


def _build_notes(runs: Sequence[ScoredRun], rows: Sequence[Row]) -> list[str]:
    notes = []
    for model_runs in group_runs(runs):
        records = [record for part in model_runs.parts.values() for _, record, _ in part.rows if record]
        lost = [record.lost_images for record in records if record.lost_images]
        if lost:
            notes.append(
                f"{model_runs.model}: {len(lost)} samples lost {sum(lost)} images to fit the model's window."
            )
    if any(row.guessed for row in rows):
        notes.append(_GUESSED)
    if any(row.errors for row in rows):
        notes.append("Errors are samples without a reply to score; they are neither right nor wrong.")
    return notes


def build_datasets_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """One line a dataset and run."""
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for model_runs in group_runs(runs):
        for name, part in model_runs.parts.items():
            row = summarise(part, benchmark)[0]
            rows.append(row)
            interval = format_interval(row)
            lost = sum(record.lost_images for _, record, _ in part.rows if record)
            group = BY_NAME[name].group
            counts = _sum_counts([row])
            body.append((model_runs.model, name, group, row.metric, row.value, interval, *counts, lost))
    return Table(
        title=f"MileBench: datasets, protocol {protocol}",
        columns=("model", "dataset", "group", "metric", "score", "95 % interval", *COUNTS, "images lost"),
        body=tuple(body),
        notes=tuple(_build_notes(runs, rows)),
        rows=tuple(rows),
    )


def build_levels_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """All samples together, then each dataset, by number of images."""
    return _build_split_table(
        benchmark,
        runs,
        facet="level",
        columns={"Few": "Few (<6)", "Medium": "Medium (6–31)", "Many": "Many (>31)"},
        value=lambda sample: sample.facets["level"],
        title=f"MileBench: number of images, protocol {protocol}",
        notes=("All: the mean over samples, accuracies and ROUGE-L together, as the published plot has it.",),
    )


def build_position_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """Samples whose evidence has a known place."""
    fifths = {"1": "first fifth", "2": "second", "3": "middle", "4": "fourth", "5": "last fifth"}
    return _build_split_table(
        benchmark,
        runs,
        facet="evidence",
        columns=fifths,
        value=_find_fifth,
        title=f"MileBench: place of the evidence, protocol {protocol}",
        notes=(
            "Only samples whose evidence has a known place: needles with a known depth, keys that name a "
            "picture, and sets that state it. A dip in the middle is the sign of evidence lost there.",
        ),
    )


def _find_fifth(sample: Sample) -> str | None:
    depth = sample.facets.get("depth")
    return sample.facets.get("position") or (str(int(depth) // 2 + 1) if depth else None)


def _build_split_table(
    benchmark: Benchmark,
    runs: Sequence[ScoredRun],
    *,
    facet: str,
    columns: Mapping[str, str],
    value: Callable[[Sample], str | None],
    title: str,
    notes: tuple[str, ...],
) -> Table:
    """Columns by a property of samples; lines by run, all datasets first, then each of them."""
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for model_runs in group_runs(runs):
        lines = {
            "all": list(model_runs.parts.values()),
            **{name: [part] for name, part in model_runs.parts.items()},
        }
        for name, parts in lines.items():
            cells: list[Cell] = []
            line_rows: list[Row] = []
            for column in columns:
                matching = [row for part in parts for row in part.rows if value(row[0]) == column]
                if not matching:
                    cells += [None, 0]
                    continue
                row = summarise(structs.replace(parts[0], rows=tuple(matching)), benchmark)[0]
                if name == "all":
                    row = structs.replace(row, task="milebench", metric="mean over samples")
                line_rows.append(structs.replace(row, group={facet: column}))
                cells += [row.value, row.n]
            if line_rows:
                _, errors, unparsed, guessed = _sum_counts(line_rows)
                body.append((model_runs.model, name, *cells, errors, unparsed, guessed))
                rows += line_rows
    if not body:
        raise UsageError(f"In these runs no sample says where its {facet} lies; there is nothing to show")
    heads = [head for label in columns.values() for head in (label, "n")]
    return Table(
        title=title,
        columns=("model", "dataset", *heads, *COUNTS[1:]),
        body=tuple(body),
        notes=(*notes, *_build_notes(runs, rows)),
        rows=tuple(rows),
    )


def build_needles_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """A line a length, a column a depth."""
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    sources: set[str] = set()
    depths = [str(depth) for depth in range(10)]
    for model_runs in group_runs(runs):
        for name, part in model_runs.parts.items():
            located = [row for row in part.rows if "depth" in row[0].facets]
            sources |= {row[0].facets["depth_from"] for row in located}
            lengths = sorted({row[0].facets["length"] for row in located}, key=natural_sort_key)
            cells = (
                {
                    (row.group["length"], row.group["depth"]): row
                    for row in summarise(
                        structs.replace(part, rows=tuple(located)), benchmark, ("length", "depth")
                    )
                }
                if located
                else {}
            )
            for length in lengths:
                line = [cells.get((length, depth)) for depth in depths]
                totals = _sum_counts([row for row in line if row])
                unit = "tokens" if name.startswith("Text") else "images"
                values = [row.value if row else None for row in line]
                body.append((model_runs.model, name, f"{length} {unit}", *values, *totals))
            rows += cells.values()
    if not body:
        raise UsageError("These runs hold no needle whose depth is known")
    notes = ["Columns: depth of the needle in ten steps, 0 at the start of the context, 9 at its end."]
    if "text" in sources:
        notes.append("Depth of text needles: where the key stands. Tokens: four characters each.")
    if "order" in sources:
        notes.append(
            "Depth read from the order of the file (ten samples a length): the data do not state it."
        )
    return Table(
        title=f"MileBench: needles, protocol {protocol}",
        columns=("model", "dataset", "length", *depths, *COUNTS),
        body=tuple(body),
        notes=(*notes, *_build_notes(runs, rows)),
        rows=tuple(rows),
        decimals=0,
    )


def build_protocols_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """Paper and strict scoring side by side."""
    from vivant.benchmarks.milebench import comparison

    return comparison.build_protocols_table(runs, protocol, benchmark)
