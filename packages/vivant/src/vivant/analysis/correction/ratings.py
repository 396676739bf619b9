"""Scores of answers on a scale (MMIE's 0 to 6): the judges of a run, and people's scores from a study or a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vivant.analysis.correction.judged_scores import JudgedScores
from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun
from vivant.benchmarks.conditions import restrict
from vivant.benchmarks.summary import cluster_of
from vivant.core.errors import DataError, UsageError
from vivant.core.records import Record, Score
from vivant.core.types import Sample
from vivant.judging.human_scores import AnswerOwners, HumanScores
from vivant.metrics.panel_weights import weigh_panel
from vivant.runs.judge_scores import mean_values
from vivant.runs.judgements import read_panel
from vivant.runs.run import Run, choose_common_protocol


def join_ratings(
    runs: Sequence[Run], human: HumanScores, protocol: Protocol | None = None, where: Sequence[str] = ()
) -> list[JudgedScores]:
    """A figure for each judged task of each run. Several judges count by their agreement with people."""
    protocol = choose_common_protocol(runs, protocol)
    human.require_models([run.model for run in runs], "correct one model at a time")
    owners = AnswerOwners(human.file)
    figures: list[JudgedScores] = []
    for run in runs:
        panel = read_panel(run.dir.path, protocol)
        for part in restrict(run.scores(protocol), where):
            benchmark = registry.get_by_task(part.task)
            if not benchmark.task(part.task).judged:
                continue
            by_judge = [mean_values(judgements, benchmark, protocol) for judgements in panel]
            names = [judgements.manifest.name for judgements in panel]
            figure = _join_part(
                part, by_judge, names, human, _read_scale(benchmark, part.task, protocol, human), owners
            )
            if figure.judged:
                figures.append(figure)
    if not figures:
        raise UsageError(
            "None of these runs has answers that a judge scored: vivant score RUN --judge openai/NAME"
        )
    return figures


def _read_scale(
    benchmark: Benchmark, task: str, protocol: Protocol, human: HumanScores
) -> tuple[float, float]:
    """The ends of people's scale: what the study says, else the rubric's."""
    if human.scale is not None:
        return human.scale
    rubrics = benchmark.judged.rubrics(protocol)
    scales = {
        (field.low, field.high)
        for field in (rubric.contract.fields[0] for rubric in rubrics)
        if not field.choices
    }
    if len(scales) != 1:
        raise DataError(f"{task}: its rubrics have no common scale of numbers that {human.file} could be on")
    return scales.pop()


def _join_part(
    part: ScoredRun,
    by_judge: Sequence[Mapping[str, float]],
    names: Sequence[str],
    human: HumanScores,
    scale: tuple[float, float],
    owners: AnswerOwners,
) -> JudgedScores:
    task = registry.get_by_task(part.task).task(part.task)
    figure = JudgedScores(
        run=part.run,
        model=part.model,
        task=part.task,
        metric=task.metric,
        judge=" + ".join(names),
        scale=task.scale,
        binary=False,
    )
    verdicts: list[list[float]] = []
    first: set[str] = set()
    for sample, record, score in part.rows:
        if record is None:
            continue
        # People scored the first answer to a question; others of the same model are the judge's alone.
        own = sample.id not in first and record.reply.status == "ok" and record.reply.has_answer
        first.update([sample.id] if own else [])
        if score.status != "scored" or score.value is None:
            continue
        values = [by_key.get(record.key, np.nan) for by_key in by_judge]
        people = _read_people(human, sample, record, part.model, scale) if own else []
        if people:
            owners.claim(sample.id, part.model, part.path)
        chance = human.probability(sample.id, part.model) if human.probabilities else None
        if human.probabilities and people and chance is None:
            raise DataError(
                f"{human.file}: people scored '{sample.id}' of {part.model}, which the plan of their study does "
                "not hold; name the study that was planned last as the last one"
            )
        figure.add(
            (sample.task, sample.id),
            score.value,
            people,
            cluster_of(sample),
            sample.facets,
            (chance or 1.0) if human.probabilities else None,
            read_spread(score),
        )
        verdicts.append([score.value if np.isnan(value) else value for value in values])
    if len(by_judge) > 1 and figure.judged and np.isfinite(figure.people).any():
        weighed = weigh_panel(np.array(verdicts), figure.people, figure.clusters)
        figure.judged = weighed.scores.tolist()
        each = ", ".join(f"{name} {weight:.2f}" for name, weight in zip(names, weighed.weights, strict=True))
        figure.notes = (f"{part.run}, {part.task}: judges weighted by agreement with people: {each}.",)
    return figure


def read_spread(score: Score) -> float:
    """How far the verdicts on an answer lie apart: between judges, and between one judge's own."""
    own = [float(judge.get("spread", 0.0)) for judge in score.detail.get("judges", ())]
    return max([float(score.detail.get("spread", 0.0)), *own])


def _read_people(
    human: HumanScores, sample: Sample, record: Record, model: str, scale: tuple[float, float]
) -> list[tuple[str, float]]:
    low, high = scale
    pairs: list[tuple[str, float]] = []
    for person, score in human.list_scores(sample.id, model):
        if not low <= score <= high:
            raise DataError(
                f"{human.file}: the score of '{record.id}' is {score:g}, off the scale {low:g} to {high:g}"
            )
        pairs.append((person, (score - low) / (high - low)))
    return pairs
