"""Verdicts to scores: several judges and several verdicts of each become one figure with its spread."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vivant.benchmarks.base import Benchmark, Protocol
from vivant.benchmarks.rubric import JudgeContext, Rubric
from vivant.core.types import Record, Sample, Score
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
        (one, one.said(lambda text, rubric: benchmark.judged.read(text, rubric, protocol))) for one in panel
    ]
    context = JudgeContext(protocol=protocol, root=root, run=run)
    scores: list[Score] = []
    for sample, record in items:
        by_judge = [(one, found[record.key]) for one, found in verdicts if record.key in found]
        if by_judge:
            scores.append(_score(benchmark, record, by_judge))
            continue
        asked = benchmark.judged.ask(sample, record, context)
        scores.append(
            asked if isinstance(asked, Score) else _empty_score(record, "missing", "not judged yet")
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
    for judgements, said in by_judge:
        rubrics = {rubric.name: rubric for rubric in judgements.manifest.settings.rubrics}
        ordered = [said[number] for number in sorted(said)]
        read = [one for one in ordered if one.verdict.read]
        own = [benchmark.judged.value(one.verdict, rubrics[one.rubric]) for one in read]
        said_figures = [figure for one in read if (figure := _rating(one, rubrics[one.rubric])) is not None]
        if own:
            values.append(statistics.fmean(own))
            first = first or _format_answer(read[0], rubrics[read[0].rubric])
        if said_figures:
            ratings.append(statistics.fmean(said_figures))
        detail.setdefault("judges", []).append(
            {
                "judge": judgements.manifest.name,
                "fingerprint": judgements.manifest.fingerprint[:8],
                "verdicts": [dict(one.verdict.values) for one in read],
                "replies": [one.text for one in ordered if one.text],
                "spread": round(statistics.pstdev(own), 6) if len(own) > 1 else 0.0,
                "unparsed": sum(not one.verdict.read and not one.error for one in ordered),
                "errors": sum(bool(one.error) for one in ordered),
                "again": sum(one.attempts - 1 for one in ordered),
            }
        )
    unseen = next((one.notes for _, said in by_judge for one in said.values() if one.notes), ())
    if unseen:
        detail["unseen"] = list(unseen)
    if not values:
        everything = [one for _, said in by_judge for one in said.values()]
        unread = [one.verdict.why for one in everything if not one.error]
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


def _rating(said: JudgeVerdict, rubric: Rubric) -> float | None:
    """The first field on its own scale, where it is a number."""
    value = said.verdict.values.get(rubric.contract.fields[0].name)
    return value if isinstance(value, float) else None


def _format_answer(said: JudgeVerdict, rubric: Rubric) -> str:
    value = said.verdict.values[rubric.contract.fields[0].name]
    return f"{value:g}" if isinstance(value, float) else value


def mean_ratings(judgements: Judgements, read: VerdictReader) -> dict[str, float]:
    """A judge's mean figure for every answer of which a verdict could be read, on the rubric's own scale."""
    rubrics = {rubric.name: rubric for rubric in judgements.manifest.settings.rubrics}
    found: dict[str, float] = {}
    for key, verdicts in judgements.said(read).items():
        own = [
            figure
            for said in verdicts.values()
            if said.verdict.read and (figure := _rating(said, rubrics[said.rubric])) is not None
        ]
        if own:
            found[key] = statistics.fmean(own)
    return found
