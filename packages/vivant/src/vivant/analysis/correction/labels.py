"""Labels of reasoning: the share of each label, by a judge on all replies and by people on some."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import pstdev

from vivant.analysis.correction.judged_scores import JudgedScores
from vivant.analysis.reasoning.kinds import RESTS_ON, find_scheme
from vivant.analysis.reasoning.label_files import PEOPLE, LabelledReply
from vivant.analysis.reasoning.shares import Row, group_labelled_rows
from vivant.benchmarks.base import Protocol
from vivant.benchmarks.summary import cluster_of
from vivant.core.errors import UsageError
from vivant.runs.run import Run, choose_common_protocol

Named = tuple[str, Row, str]
"""The key of something labelled, the reply that it belongs to, and its label."""


def join_labels(
    runs: Sequence[Run],
    protocol: Protocol | None = None,
    *,
    people: Sequence[LabelledReply] | None = None,
    probabilities: Mapping[tuple[str, str], float] | None = None,
    need_people: bool = True,
) -> list[JudgedScores]:
    """A figure for each label of each judge: segments (what they rest on), and kinds of wrong answers.

    Args:
        runs: runs that a judge has labelled.
        protocol: `paper` or `strict`.
        people: their labels; None: those that are stored with the runs.
        probabilities: by task and sample, the chance that people had to be asked; none: the same for all.
        need_people: refuse where people have labelled nothing.
    """
    protocol = choose_common_protocol(runs, protocol)
    figures: list[JudgedScores] = []
    for run in runs:
        by_labeller = group_labelled_rows(run, protocol, {} if people is None else {PEOPLE: people})
        own = by_labeller.pop(PEOPLE, [])
        if need_people and not own:
            continue
        figures += _join(run, "rests on", RESTS_ON, _by_judge(by_labeller, _segments), _segments(own))
        schemes = [row[3].scheme for rows in by_labeller.values() for row in rows if row[3].scheme]
        for scheme in dict.fromkeys(schemes):
            kinds = partial(_kinds, scheme=scheme)
            judges = _by_judge(by_labeller, kinds)
            figures += _join(run, "kind", find_scheme("", scheme).kinds, judges, kinds(own))
    if need_people:
        figures = [figure for figure in figures if not all(map(math.isnan, figure.people))]
    if not figures:
        raise UsageError(
            "None of these runs has labels of both a judge and people: vivant reasoning RUN --judge MODEL, and "
            "vivant reasoning RUN --labels FILE"
            if need_people
            else "None of these runs has labels of a judge: vivant reasoning RUN --judge MODEL"
        )
    for figure in figures if probabilities else ():
        figure.chances = [(probabilities or {}).get(sample, 1.0) for sample in figure.samples]
    return figures


def _by_judge(
    by_labeller: Mapping[str, Sequence[Row]], reader: Callable[[Iterable[Row]], list[Named]]
) -> dict[str, list[Named]]:
    return {judge: named for judge, rows in by_labeller.items() if (named := reader(rows))}


def _segments(rows: Iterable[Row]) -> list[Named]:
    return [
        (f"{row[1].key}@{label.start}-{label.end}", row, label.rests_on)
        for row in rows
        for label in row[3].segments
        if label.rests_on
    ]


def _kinds(rows: Iterable[Row], scheme: str) -> list[Named]:
    return [(row[1].key, row, row[3].kind) for row in rows if row[3].kind and row[3].scheme == scheme]


def _join(
    run: Run, what: str, names: Iterable[str], judges: Mapping[str, Sequence[Named]], people: Sequence[Named]
) -> list[JudgedScores]:
    """One figure for each judge and name; labels of people on what the judge did not label are left out."""
    labels = {key: label for key, _, label in people}
    every: dict[str, list[str]] = {}
    for judged in judges.values():
        for key, _, label in judged:
            every.setdefault(key, []).append(label)
    figures: list[JudgedScores] = []
    for judge, judged in judges.items():
        for name in names:
            figure = JudgedScores(
                run=run.name,
                model=run.model,
                task=judged[0][1][0].task,
                metric=f"{what}: {name}",
                judge=judge,
                binary=True,
            )
            for key, (sample, *_), label in judged:
                scores = [("", float(labels[key] == name))] if key in labels else []
                figure.add(
                    (sample.task, sample.id),
                    float(label == name),
                    scores,
                    cluster_of(sample),
                    sample.facets,
                    spread=pstdev([float(other == name) for other in every[key]]),
                )
            figures.append(figure)
    return figures
