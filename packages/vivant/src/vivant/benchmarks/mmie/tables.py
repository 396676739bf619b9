"""MMIE's own tables, from any mix of runs, with the published leaderboard beneath."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from vivant.benchmarks.base import Benchmark, Protocol, Published, ScoredRun
from vivant.benchmarks.mmie import published
from vivant.benchmarks.mmie.data import get_answer_parts
from vivant.benchmarks.mmie.items import CATEGORIES
from vivant.benchmarks.summary import judge_notes, make_published_row, summarise
from vivant.benchmarks.table_parts import count_cells, format_interval, group_by_run, summarise_together
from vivant.core.records import Score
from vivant.core.table import Cell, Row, Table
from vivant.core.types import Sample

TOP = 6.0
_TAIL = ("n", "errors", "unparsed", "left out")


def _format_title(name: str, protocol: Protocol, benchmark: Benchmark) -> str:
    return f"MMIE {name}: {benchmark.tables.layouts[name]} (protocol {protocol})"


def _to_scale(row: Row | None) -> float | None:
    return None if row is None or row.value is None else row.value / 100 * TOP


def _count_excluded(parts: Sequence[ScoredRun]) -> int:
    return sum(score.status == "excluded" for part in parts for _, _, score in part.rows)


def build_main_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """The leaderboard with our runs on top."""
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for parts in group_by_run(runs).values():
        by_task = {part.task: summarise(part, benchmark)[0] for part in parts}
        each = [by_task.get(f"mmie/{name.lower()}") for name in CATEGORIES]
        total_row = summarise_together(parts, benchmark, "mmie")
        rows += [*by_task.values(), total_row]
        body.append(
            (
                total_row.model,
                *(row.value if row else None for row in each),
                total_row.value,
                format_interval(total_row) or "–",
                *(_to_scale(row) for row in each),
                _to_scale(total_row),
                _count_pictures(parts),
                *count_cells(total_row),
                _count_excluded(parts),
            )
        )
    rules = (len(body),)
    leaderboard = [
        line for line in published.list_leaderboard() if benchmark.published.shows(line[0], line[1])
    ]
    for model, _, figures in leaderboard:
        scaled = [figure / 100 * TOP for figure in figures]
        body.append((f"{model} †", *figures, "published", *scaled, None, *([None] * len(_TAIL))))
    rows += [_build_published_row(model, style, figures) for model, style, figures in leaderboard]
    names = (*CATEGORIES, "AVG")
    return Table(
        title=_format_title("main", protocol, benchmark),
        columns=(
            "model",
            *(f"{name} %" for name in names),
            "95 % interval",
            *(f"{name} /6" for name in names),
            "pictures",
            *_TAIL,
        ),
        body=tuple(body),
        rows=tuple(rows),
        rules=rules,
        notes=tuple(_build_notes(runs, protocol, benchmark)),
        decimals=2,
    )


def _build_published_row(model: str, style: str, figures: Sequence[float]) -> Row:
    figure = Published(
        model=model,
        task="mmie",
        style=style,
        group={},
        value=figures[3],
        metric="judge",
        source=published.LEADERBOARD,
    )
    return make_published_row(figure, sum(published.SIZES.values()))


def _count_pictures(parts: Sequence[ScoredRun]) -> float | None:
    """Pictures per answer: what tells an answer in text and pictures from a text."""
    counts = [
        sum(part.image is not None for part in get_answer_parts(record))
        for run in parts
        for _, record, _ in run.rows
        if record is not None and record.reply.status in ("ok", "truncated")
    ]
    return statistics.fmean(counts) if counts else None


def build_fields_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """One line per run, category and field."""
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for part in runs:
        name = part.task.rsplit("/", 1)[-1].upper()
        for row in summarise(part, benchmark, ["field"]):
            scores = [
                score for sample, _, score in part.rows if sample.facets.get("field") == row.group["field"]
            ]
            excluded = sum(score.status == "excluded" for score in scores)
            rows.append(row)
            body.append(
                (
                    row.model,
                    name,
                    row.group["field"],
                    row.value,
                    format_interval(row) or "–",
                    _to_scale(row),
                    *count_cells(row),
                    excluded,
                )
            )
    return Table(
        title=_format_title("fields", protocol, benchmark),
        columns=("model", "category", "field", "score %", "95 % interval", "/6", *_TAIL),
        body=tuple(body),
        rows=tuple(rows),
        notes=tuple(judge_notes(runs)),
        decimals=2,
    )


def build_judges_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """One line per run and judge, then what was published on judges."""
    body: list[tuple[Cell, ...]] = []
    for run, parts in group_by_run(runs).items():
        scores = [(sample, score) for part in parts for sample, _, score in part.rows]
        for index, judge in enumerate(parts[0].judges):
            body.append((run, judge.name, *_summarise_verdicts(scores, index)))
    rules = (len(body),)
    notes = judge_notes(runs)
    notes.append(
        "Spread: mean standard deviation of one judge's verdicts on the same answer, 0 to 6. "
        "Most frequent: share of the commonest verdict; near 100 % the judge does not tell "
        "answers apart."
    )
    for figure in published.list_judge_agreement():
        figures = [
            f"{name} {value:.3f}"
            for name, value in (
                ("Pearson", figure.pearson),
                ("cosine", figure.cosine),
                ("MSE", figure.mse),
                ("MAE", figure.mae),
            )
            if value is not None
        ]
        notes.append(
            f"Agreement with people, published, {figure.judge}: {', '.join(figures)} ({figure.source})."
        )
    notes.append("A judge of your own against people: vivant judge-check HUMAN_SCORES RUN…")
    return Table(
        title=_format_title("judges", protocol, benchmark),
        columns=(
            "run",
            "judge",
            *CATEGORIES,
            "spread",
            "most frequent %",
            "answers",
            "asked again",
            "unparsed",
            "errors",
        ),
        body=tuple(body),
        rules=rules,
        notes=tuple(notes),
        decimals=2,
    )


def _summarise_verdicts(scores: Sequence[tuple[Sample, Score]], index: int) -> tuple[Cell, ...]:
    by_category: dict[str, list[float]] = {}
    values: list[float] = []
    spreads: list[float] = []
    again = unparsed = errors = answers = 0
    for sample, score in scores:
        judges = score.detail.get("judges", [])
        if index >= len(judges):
            continue
        verdicts = judges[index]
        answers += 1
        again, unparsed, errors = (
            again + verdicts["again"],
            unparsed + verdicts["unparsed"],
            errors + verdicts["errors"],
        )
        figures = [verdict["Score"] for verdict in verdicts["verdicts"]]
        if figures:
            by_category.setdefault(sample.facets["category"], []).append(statistics.fmean(figures))
            values += figures
            spreads.append(verdicts["spread"] * TOP)
    largest = max((values.count(value) for value in set(values)), default=0)
    return (
        *(statistics.fmean(by_category[name]) if name in by_category else None for name in CATEGORIES),
        statistics.fmean(spreads) if spreads else None,
        100 * largest / len(values) if values else None,
        answers,
        again,
        unparsed,
        errors,
    )


def _build_notes(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> list[str]:
    notes = [
        "† The project's leaderboard: judged by MMIE-Score on 20,103 items. Percent is the "
        "mean over 6; AVG is over answers, so that PBL weighs most there.",
        *judge_notes(runs),
    ]
    for run, parts in group_by_run(runs).items():
        total_row = summarise_together(parts, benchmark, "mmie")
        if total_row.unparsed and total_row.value is not None:
            total = total_row.n + total_row.unparsed
            low = total_row.value * total_row.n / total
            notes.append(
                f"{run}: {total_row.unparsed} verdicts could not be read and are left out of the "
                f"means{', as published' if protocol == 'paper' else ''}; were they all 0 or all 6, "
                f"AVG would be {low:.2f} or {low + 100 * total_row.unparsed / total:.2f} %."
            )
        reasons = [score.rule for part in parts for _, _, score in part.rows if score.status == "excluded"]
        if reasons:
            notes.append(f"{run}: {len(reasons)} answers left out; the first: {reasons[0]}.")
        if "placeholder" in total_row.model:
            notes.append(
                f"{run}: its pictures are placeholder cards that bear descriptions; no image model drew."
            )
    return notes
