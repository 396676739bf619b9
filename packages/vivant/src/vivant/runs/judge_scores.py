"""Verdicts to scores: several judges and several verdicts of each become one figure with its spread."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vivant.benchmarks.base import Benchmark, Protocol
from vivant.benchmarks.rubric import JudgeContext, Rubric
from vivant.core.records import Record, Score
from vivant.core.types import Sample
from vivant.runs.judgements import Judgements, JudgeVerdict, VerdictReader


def score_verdicts(
    benchmark: Benchmark,
    items: Sequence[tuple[Sample, Record]],
    panel: Sequence[Judgements],
    protocol: Protocol,
    root: Path,
    run: Path,
) -> list[Score]:
    """The scores of one task: the mean of judges, each the mean of its verdicts that can be read."""
    verdicts = [
        (judgements, judgements.verdicts(lambda text, rubric: benchmark.judged.read(text, rubric, protocol)))
        for judgements in panel
    ]
    context = JudgeContext(protocol=protocol, root=root, run=run)
    scores: list[Score] = []
    for sample, record in items:
        by_judge = [
            (judgements, by_key[record.key]) for judgements, by_key in verdicts if record.key in by_key
        ]
        if by_judge:
            scores.append(_score(benchmark, record, by_judge))
            continue
        question = benchmark.judged.ask(sample, record, context)
        scores.append(
            question if isinstance(question, Score) else _empty_score(record, "missing", "not judged yet")
        )
    return scores


def _empty_score(record: Record, status: Any, rule: str, detail: dict[str, Any] | None = None) -> Score:
    return Score(
        key=record.key, task=record.task, id=record.id, status=status, rule=rule, detail=detail or {}
    )


def _score(
    benchmark: Benchmark, record: Record, by_judge: Sequence[tuple[Judgements, Mapping[int, JudgeVerdict]]]
) -> Score:
    values: list[float] = []
    ratings: list[float] = []
    detail: dict[str, Any] = {}
    first = ""
    for judgements, verdicts in by_judge:
        rubrics = {rubric.name: rubric for rubric in judgements.manifest.settings.rubrics}
        ordered = [verdicts[number] for number in sorted(verdicts)]
        read = [verdict for verdict in ordered if verdict.verdict.read]
        judge_values = [benchmark.judged.value(verdict.verdict, rubrics[verdict.rubric]) for verdict in read]
        said_figures = [
            figure
            for verdict in read
            if (figure := _read_rating(verdict, rubrics[verdict.rubric])) is not None
        ]
        if judge_values:
            values.append(statistics.fmean(judge_values))
            first = first or _format_answer(read[0], rubrics[read[0].rubric])
        if said_figures:
            ratings.append(statistics.fmean(said_figures))
        detail.setdefault("judges", []).append(
            {
                "judge": judgements.manifest.name,
                "fingerprint": judgements.manifest.fingerprint[:8],
                "verdicts": [dict(verdict.verdict.values) for verdict in read],
                "replies": [verdict.text for verdict in ordered if verdict.text],
                "spread": round(statistics.pstdev(judge_values), 6) if len(judge_values) > 1 else 0.0,
                "unparsed": sum(not verdict.verdict.read and not verdict.error for verdict in ordered),
                "errors": sum(bool(verdict.error) for verdict in ordered),
                "again": sum(verdict.attempts - 1 for verdict in ordered),
            }
        )
    unseen = next(
        (verdict.notes for _, verdicts in by_judge for verdict in verdicts.values() if verdict.notes), ()
    )
    if unseen:
        detail["unseen"] = list(unseen)
    if not values:
        everything = [verdict for _, verdicts in by_judge for verdict in verdicts.values()]
        unread = [verdict.verdict.why for verdict in everything if not verdict.error]
        if unread:
            return _empty_score(record, "unparsed", f"the judge's reply cannot be read: {unread[0]}", detail)
        return _empty_score(record, "missing", f"the judge failed: {everything[0].error}", detail)
    detail["spread"] = round(statistics.pstdev(values), 6) if len(values) > 1 else 0.0
    if ratings:
        detail["figure"] = statistics.fmean(ratings)
    return Score(
        key=record.key,
        task=record.task,
        id=record.id,
        value=statistics.fmean(values),
        answer=first,
        rule="judge" if len(by_judge) == 1 else f"mean of {len(values)} judges",
        detail=detail,
    )


def _read_rating(verdict: JudgeVerdict, rubric: Rubric) -> float | None:
    """The first field on its own scale, where it is a number."""
    value = verdict.verdict.values.get(rubric.contract.fields[0].name)
    return value if isinstance(value, float) else None


def _format_answer(verdict: JudgeVerdict, rubric: Rubric) -> str:
    value = verdict.verdict.values[rubric.contract.fields[0].name]
    return f"{value:g}" if isinstance(value, float) else value


def mean_ratings(judgements: Judgements, reader: VerdictReader) -> dict[str, float]:
    """A judge's mean figure for every answer of which a verdict could be read, on the rubric's own scale."""
    rubrics = {rubric.name: rubric for rubric in judgements.manifest.settings.rubrics}
    means: dict[str, float] = {}
    for key, verdicts in judgements.verdicts(reader).items():
        ratings = [
            figure
            for verdict in verdicts.values()
            if verdict.verdict.read and (figure := _read_rating(verdict, rubrics[verdict.rubric])) is not None
        ]
        if ratings:
            means[key] = statistics.fmean(ratings)
    return means


def mean_values(judgements: Judgements, benchmark: Benchmark, protocol: Protocol) -> dict[str, float]:
    """A judge's mean verdict on every answer of which one could be read, from 0 to 1 as in `Score.value`."""
    rubrics = {rubric.name: rubric for rubric in judgements.manifest.settings.rubrics}
    own = {rubric.name for rubric in benchmark.judged.rubrics(protocol)}
    means: dict[str, float] = {}
    verdicts = judgements.verdicts(lambda text, rubric: benchmark.judged.read(text, rubric, protocol))
    for key, by_sample in verdicts.items():
        values = [
            benchmark.judged.value(verdict.verdict, rubrics[verdict.rubric])
            for verdict in by_sample.values()
            if verdict.verdict.read and verdict.rubric in own
        ]
        if values:
            means[key] = statistics.fmean(values)
    return means
