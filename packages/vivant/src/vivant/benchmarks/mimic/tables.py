"""The paper's two tables, from any mix of runs, beside its published rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun
from vivant.benchmarks.mimic import names, published
from vivant.benchmarks.mimic.data import HUMAN_COMMENTS
from vivant.benchmarks.mimic.packs import HUMAN
from vivant.benchmarks.mimic.panels import JudgedSource, PackOutcome, Panel
from vivant.benchmarks.mimic.text_metrics import (
    ComparedComment,
    TextFigures,
    TextVectors,
    compute_text_figures,
    pair_human_comments,
    pick_one_per_video,
)
from vivant.benchmarks.summary import make_published_row, summarise
from vivant.benchmarks.table_parts import count_cells, format_interval, group_by_run, summarise_together
from vivant.core.errors import DataError, UsageError
from vivant.core.table import Cell, Row, Table

MARK = " †"
"""Stands behind the name of a published row."""


def _group_tasks(runs: Sequence[ScoredRun]) -> dict[str, dict[str, ScoredRun]]:
    """The tasks of each run by their short names."""
    return {
        run: {part.task.partition("/")[2]: part for part in parts}
        for run, parts in group_by_run(runs).items()
    }


# ── the seven tasks ──


def build_tasks_table(runs: Sequence[ScoredRun], _protocol: Protocol, benchmark: Benchmark) -> Table:
    """Accuracy per task, over all items, and as the mean of tasks."""
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for parts in _group_tasks(runs).values():
        by_task = {
            short: summarise(part, benchmark)[0] for short, part in parts.items() if short in names.THINKING
        }
        if not by_task:
            continue
        total = summarise_overall(list(parts.values()), benchmark)
        rows += [*by_task.values(), total]
        body.append(
            (
                total.model if total.style == "zero-shot" else f"{total.model} ({total.style})",
                *(by_task[short].value if short in by_task else None for short in names.THINKING),
                total.value,
                format_interval(total),
                _mean_of_tasks([by_task[s].value if s in by_task else None for s in names.THINKING]),
                *count_cells(total),
            )
        )
    if not body:
        raise UsageError("None of these runs holds a thinking task of mimic; run mimic/thinking")
    measured = len(body)
    shown = {model: values for model, values in published.TASKS.items() if benchmark.published.shows(model)}
    for model, values in shown.items():
        body.append((model + MARK, *values, None, _mean_of_tasks(values[:-1]), None, None, None))
    rows += [
        make_published_row(figure) for figure in benchmark.published.rows() if figure.metric == "accuracy"
    ]
    return Table(
        title="MIMIC-Bench, thinking tasks: accuracy in percent (chance: 25)",
        columns=(
            "Model",
            *(names.SHORT[short] for short in names.THINKING),
            "Overall",
            "95 % interval",
            "Mean of tasks",
            "n",
            "errors",
            "unparsed",
        ),
        body=tuple(body),
        rows=tuple(rows),
        rules=(measured,),
        notes=(
            "Overall: over all items, interval clustered by video. Mean of tasks: each task counts alike.",
            f"† {published.SOURCE}. Its overall is not the mean of its tasks; the weights are not known.",
        ),
    )


def build_axes_table(runs: Sequence[ScoredRun], _protocol: Protocol, benchmark: Benchmark) -> Table:
    """Accuracy per axis and over all of them, each item counting alike."""
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for parts in _group_tasks(runs).values():
        groups = {**names.AXES, published.OVERALL: names.THINKING}
        axis_rows = [
            summarise_overall([parts[s] for s in tasks if s in parts], benchmark, name)
            for name, tasks in groups.items()
            if any(s in parts for s in tasks)
        ]
        rows += axis_rows
        body += [(r.model, r.task, r.value, format_interval(r), *count_cells(r)) for r in axis_rows]
    if not body:
        raise UsageError("None of these runs holds a thinking task of mimic; run mimic/thinking")
    return Table(
        title="MIMIC-Bench, thinking tasks by axis: accuracy in percent (chance: 25)",
        columns=("Model", "Axis", "Accuracy", "95 % interval", "n", "errors", "unparsed"),
        body=tuple(body),
        rows=tuple(rows),
        notes=("Over all items of an axis; intervals are clustered by video.",),
    )


def summarise_overall(parts: Sequence[ScoredRun], benchmark: Benchmark, name: str = published.OVERALL) -> Row:
    """All thinking items of a run's tasks as one row: each item counts alike."""
    thinking = [part for part in parts if part.task.partition("/")[2] in names.THINKING]
    return summarise_together(thinking, benchmark, names.format_task(name))


def _mean_of_tasks(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return fmean(present) if len(present) == len(names.THINKING) else None


# ── mimicking ──


def build_mimicking_table(runs: Sequence[ScoredRun], _protocol: Protocol, benchmark: Benchmark) -> Table:
    """How comments were judged, where judgements are at hand, and what can be said of them without anyone."""
    parts = {
        run: tasks[names.MIMICKING] for run, tasks in _group_tasks(runs).items() if names.MIMICKING in tasks
    }
    if not parts:
        raise UsageError("None of these runs wrote comments; run mimic/comment")
    comments = {run: _list_written(part) for run, part in parts.items()}
    people = _list_human(list(parts.values()))
    vectors = TextVectors([*comments.values(), people])
    panels = _read_panels(list(parts.values()))
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    models = Counter(part.model for part in parts.values())
    for run, part in parts.items():
        text_figures = compute_text_figures(comments[run], vectors)
        alone = models[part.model] == 1
        judged = next((j for panel in panels for j in panel.sources if _is_same_source(j, part, alone)), None)
        body.append(
            (part.model, *_format_judged(judged), *_format_text_figures(text_figures), *_count_losses(part))
        )
        rows += _build_text_rows(part, text_figures)
    human = next((j for panel in panels for j in panel.sources if j.kind == "human"), None)
    body.append(
        (
            HUMAN,
            *_format_judged(human),
            *_format_text_figures(compute_text_figures(people, vectors)),
            None,
            None,
        )
    )
    measured = len(body)
    for model, (share, realism) in published.JUDGED.items():
        if not benchmark.published.shows(model):
            continue
        body.append((model + MARK, share, realism, *([None] * (len(_TEXT_COLUMNS) + 2))))
    rows += [make_published_row(f) for f in benchmark.published.rows() if f.metric != "accuracy"]
    judged_by = "Not judged yet: see `vivant mimic pack`."
    if panels:
        judged_by = f"Judged by {panels[0].name}; intervals and agreement: `vivant mimic score`."
    return Table(
        title="MIMIC-Bench, mimicking",
        columns=("Source", "Human %", "Realism", *_TEXT_COLUMNS, "errors", "unparsed"),
        body=tuple(body),
        rows=tuple(rows),
        rules=(measured,),
        decimals=2,
        notes=(
            judged_by,
            "Text figures describe; they are no scores. "
            f"Human comments: one of the top {HUMAN_COMMENTS} of each video, drawn by seed.",
            "Length: median characters. Asks: with a question mark. Same: the same comment under several videos. "
            "Opening: begin with the source's commonest two words.",
            "Dist-n: distinct words and pairs of words. ≈ desc, ≈ human: MiniLM cosine to the video's description, "
            "and to the nearest human comment under it.",
            f"† {published.SOURCE}.",
        ),
    )


_TEXT_COLUMNS = (
    "Length",
    "Emoji %",
    "Asks %",
    "Same %",
    "Opening %",
    "Dist-1",
    "Dist-2",
    "≈ desc",
    "≈ human",
)


def _list_written(part: ScoredRun) -> list[ComparedComment]:
    return [
        ComparedComment(
            text=score.answer,
            description=sample.extra["description"],
            others=tuple(sample.extra["human"]),
            spare=True,
        )
        for sample, record, score in part.rows
        if score.status == "scored" and (record is None or record.repeat == 0)
    ]


def _list_human(parts: Sequence[ScoredRun]) -> list[ComparedComment]:
    """One human comment of each video that any of the runs was asked for."""
    samples = {sample.id: sample for part in parts for sample, _, _ in part.rows}
    return pick_one_per_video(
        [pair_human_comments(s.extra["description"], s.extra["human"]) for _, s in sorted(samples.items())]
    )


def _read_panels(parts: Sequence[ScoredRun]) -> tuple[Panel, ...]:
    """The judgements that `vivant score --set judged=FILE` named for these runs: one file for all of them."""
    files = {str(part.settings.get("judged") or "") for part in parts} - {""}
    if not files:
        return ()
    if len(files) > 1:
        raise UsageError(f"The runs were scored with different judgements ({', '.join(sorted(files))})")
    path = Path(files.pop())
    try:
        outcome = msgspec.json.decode(path.read_bytes(), type=PackOutcome)
    except OSError as error:
        raise DataError(f"Cannot read the judgements {path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise DataError(f"{path} was not written by `vivant mimic score --out`: {error}") from error
    if len(outcome.panels) != 1:
        raise UsageError(
            f"{path} holds {len(outcome.panels)} panels of judges; write a file for each, "
            "so that no table mixes them"
        )
    return outcome.panels


def _is_same_source(judged: JudgedSource, part: ScoredRun, alone: bool) -> bool:
    """Whether this very run was judged. Files that name no run go by the model, where no other run has it."""
    if judged.run:
        return (judged.run, judged.fingerprint) == part.identity
    return judged.source == f"{part.model} ({part.run})" or (alone and judged.source == part.model)


def _format_judged(judged: JudgedSource | None) -> tuple[Cell, Cell]:
    return (judged.human, judged.realism) if judged else (None, None)


def _format_text_figures(text_figures: TextFigures | None) -> tuple[Cell, ...]:
    if text_figures is None:
        return (None,) * len(_TEXT_COLUMNS)
    return (
        text_figures.characters,
        text_figures.emoji * 100,
        text_figures.questions * 100,
        text_figures.repeated * 100,
        text_figures.opening * 100,
        text_figures.distinct_1,
        text_figures.distinct_2,
        text_figures.to_description,
        text_figures.to_human,
    )


def _count_losses(part: ScoredRun) -> tuple[int, int]:
    statuses = [score.status for _, _, score in part.rows]
    return statuses.count("missing"), statuses.count("unparsed")


def _build_text_rows(part: ScoredRun, text_figures: TextFigures | None) -> list[Row]:
    errors, unparsed = _count_losses(part)
    values: Mapping[str, Any] = msgspec.structs.asdict(text_figures) if text_figures else {}
    return [
        Row(
            run=part.run,
            benchmark=names.BENCHMARK,
            task=part.task,
            group={},
            metric=metric.replace("_", " "),
            value=value,
            n=text_figures.n if text_figures else 0,
            errors=errors,
            unparsed=unparsed,
            model=part.model,
            style=part.style,
            protocol=part.protocol,
        )
        for metric, value in values.items()
        if metric != "n"
    ]
