"""MMIE's own tables, from any mix of runs, with the published leaderboard beneath."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

import msgspec

from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun
from vivant.benchmarks.mmie import published
from vivant.benchmarks.mmie.data import answer_of
from vivant.benchmarks.mmie.items import CATEGORIES
from vivant.benchmarks.summary import judge_notes, summarise
from vivant.core.errors import unknown_name_error
from vivant.core.table import Cell, Row, Table
from vivant.core.types import Sample, Score

TOP = 6.0
_TAIL = ("n", "errors", "unparsed", "left out")


def layout(name: str, runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """One of the tables by its short name."""
    makers: Mapping[str, Callable[[Sequence[ScoredRun], Protocol, Benchmark], Table]] = {
        "main": main_table,
        "fields": fields_table,
        "judges": judges_table,
    }
    if name not in makers:
        raise unknown_name_error("table of mmie", name, makers)
    return makers[name](runs, protocol, benchmark)


def _title(name: str, protocol: Protocol, benchmark: Benchmark) -> str:
    return f"MMIE {name}: {benchmark.tables.layouts[name]} (protocol {protocol})"


def _by_run(runs: Sequence[ScoredRun]) -> dict[str, list[ScoredRun]]:
    grouped: dict[str, list[ScoredRun]] = {}
    for part in runs:
        grouped.setdefault(part.run, []).append(part)
    return grouped


def _whole(parts: Sequence[ScoredRun], benchmark: Benchmark) -> Row:
    """All categories as one: every answer weighs the same, as published."""
    rows = tuple(row for part in parts for row in part.rows)
    joined = msgspec.structs.replace(parts[0], rows=rows)
    return msgspec.structs.replace(summarise(joined, benchmark)[0], task="mmie")


def _on_scale(row: Row | None) -> float | None:
    return None if row is None or row.value is None else row.value / 100 * TOP


def _interval(row: Row) -> str:
    return f"{row.interval[0]:.1f} – {row.interval[1]:.1f}" if row.interval else "–"


def _excluded(parts: Sequence[ScoredRun]) -> int:
    return sum(score.status == "excluded" for part in parts for _, _, score in part.rows)


def main_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """The leaderboard with our runs on top."""
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for parts in _by_run(runs).values():
        by_task = {part.task: summarise(part, benchmark)[0] for part in parts}
        each = [by_task.get(f"mmie/{name.lower()}") for name in CATEGORIES]
        whole = _whole(parts, benchmark)
        rows += [*by_task.values(), whole]
        body.append(
            (
                whole.model,
                *(row.value if row else None for row in each),
                whole.value,
                _interval(whole),
                *(_on_scale(row) for row in each),
                _on_scale(whole),
                _pictures(parts),
                whole.n,
                whole.errors,
                whole.unparsed,
                _excluded(parts),
            )
        )
    rules = (len(body),)
    for model, _, figures in published.leaderboard():
        scaled = [figure / 100 * TOP for figure in figures]
        body.append((f"{model} †", *figures, "published", *scaled, None, *([None] * len(_TAIL))))
    rows += [_published_row(model, style, figures) for model, style, figures in published.leaderboard()]
    names = (*CATEGORIES, "AVG")
    return Table(
        title=_title("main", protocol, benchmark),
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
        notes=tuple(_notes(runs, protocol, benchmark)),
        decimals=2,
    )


def _published_row(model: str, style: str, figures: Sequence[float]) -> Row:
    return Row(
        run="published",
        benchmark="mmie",
        task="mmie",
        group={},
        metric="judge",
        value=figures[3],
        n=sum(published.SIZES.values()),
        errors=0,
        unparsed=0,
        interval=None,
        model=model,
        style=style,
        source=published.LEADERBOARD,
    )


def _pictures(parts: Sequence[ScoredRun]) -> float | None:
    """Pictures per answer: what tells an answer in text and pictures from a text."""
    counts = [
        sum(part.image is not None for part in answer_of(record))
        for run in parts
        for _, record, _ in run.rows
        if record is not None and record.reply.status in ("ok", "truncated")
    ]
    return statistics.fmean(counts) if counts else None


def fields_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """One line per run, category and field."""
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for part in runs:
        name = part.task.rsplit("/", 1)[-1].upper()
        for row in summarise(part, benchmark, ["field"]):
            own = [
                score for sample, _, score in part.rows if sample.facets.get("field") == row.group["field"]
            ]
            excluded = sum(score.status == "excluded" for score in own)
            rows.append(row)
            body.append(
                (
                    row.model,
                    name,
                    row.group["field"],
                    row.value,
                    _interval(row),
                    _on_scale(row),
                    row.n,
                    row.errors,
                    row.unparsed,
                    excluded,
                )
            )
    return Table(
        title=_title("fields", protocol, benchmark),
        columns=("model", "category", "field", "score %", "95 % interval", "/6", *_TAIL),
        body=tuple(body),
        rows=tuple(rows),
        notes=tuple(judge_notes(runs)),
        decimals=2,
    )


def judges_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """One line per run and judge, then what was published on judges."""
    body: list[tuple[Cell, ...]] = []
    for run, parts in _by_run(runs).items():
        scores = [(sample, score) for part in parts for sample, _, score in part.rows]
        for place, judge in enumerate(parts[0].judges):
            body.append((run, judge.name, *_verdicts(scores, place)))
    rules = (len(body),)
    notes = judge_notes(runs)
    notes.append(
        "Spread: mean standard deviation of one judge's verdicts on the same answer, 0 to 6. Most frequent: "
        "share of the commonest verdict; near 100 % the judge does not tell answers apart."
    )
    for figure in published.judge_agreement():
        said = [
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
            f"Agreement with people, published, {figure.judge}: {', '.join(said)} ({figure.source})."
        )
    notes.append("A judge of your own against people: vivant judge-check HUMAN_SCORES RUN…")
    return Table(
        title=_title("judges", protocol, benchmark),
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


def _verdicts(scores: Sequence[tuple[Sample, Score]], place: int) -> tuple[Cell, ...]:
    by_category: dict[str, list[float]] = {}
    said: list[float] = []
    spreads: list[float] = []
    again = unparsed = errors = answers = 0
    for sample, score in scores:
        judges = score.detail.get("judges", [])
        if place >= len(judges):
            continue
        own = judges[place]
        answers += 1
        again, unparsed, errors = again + own["again"], unparsed + own["unparsed"], errors + own["errors"]
        figures = [verdict["Score"] for verdict in own["verdicts"]]
        if figures:
            by_category.setdefault(sample.facets["category"], []).append(statistics.fmean(figures))
            said += figures
            spreads.append(own["spread"] * TOP)
    most = max((said.count(value) for value in set(said)), default=0)
    return (
        *(statistics.fmean(by_category[name]) if name in by_category else None for name in CATEGORIES),
        statistics.fmean(spreads) if spreads else None,
        100 * most / len(said) if said else None,
        answers,
        again,
        unparsed,
        errors,
    )


def _notes(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> list[str]:
    notes = [
        "† The project's leaderboard: judged by MMIE-Score on 20,103 items. Percent is the mean over 6; AVG "
        "is over answers, so that PBL weighs most there.",
        *judge_notes(runs),
    ]
    for run, parts in _by_run(runs).items():
        whole = _whole(parts, benchmark)
        if whole.unparsed and whole.value is not None:
            total = whole.n + whole.unparsed
            low = whole.value * whole.n / total
            notes.append(
                f"{run}: {whole.unparsed} verdicts could not be read and are left out of the means"
                f"{', as published' if protocol == 'paper' else ''}; were they all 0 or all 6, AVG would be "
                f"{low:.2f} or {low + 100 * whole.unparsed / total:.2f} %."
            )
        reasons = [score.rule for part in parts for _, _, score in part.rows if score.status == "excluded"]
        if reasons:
            notes.append(f"{run}: {len(reasons)} answers left out; the first: {reasons[0]}.")
        if "placeholder" in whole.model:
            notes.append(
                f"{run}: its pictures are placeholder cards that bear descriptions; no image model drew."
            )
    return notes
