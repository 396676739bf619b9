"""Judges beside people, as tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.core.table import Cell, Row, Table
from vivant.judging.biases import JudgeBias, measure_biases
from vivant.judging.calibration import (
    METRICS,
    CalibratedJudge,
    CalibrationAgreement,
    CalibrationValue,
    compare_judges,
    compare_ratings,
    join_scores,
    measure_agreement,
)
from vivant.judging.human_scores import HumanScores
from vivant.metrics.agreement import krippendorff_alpha, percent_agreement
from vivant.metrics.panel_weights import weigh_panel
from vivant.runs.run import Run

_FEWEST_COMMON = 20
"""Answers that all judges and people scored, below which no weights are fitted."""
_TITLES = ("Pearson", "Spearman", "cosine", "MSE", "MAE", "kappa")


def build_judge_tables(
    human: HumanScores, runs: Sequence[Run], protocol: Protocol, by: str = "category"
) -> list[Table]:
    """Agreement with people, with other judges, and biases."""
    judged = join_scores(human, runs, protocol)
    tables = [_agreement(measure_agreement(judged, by), judged, human, runs, by)]
    between = compare_judges(judged)
    if between:
        tables.append(
            Table(
                title="Judges among each other",
                columns=("judge", "other", "n", *_TITLES),
                body=tuple(
                    (judge, other, n, *(_format_value(figures[name]) for name in METRICS))
                    for judge, other, n, figures in between
                ),
            )
        )
        tables += _panel(judged)
    tables.append(_biases(measure_biases(judged, runs, protocol)))
    return tables


def _panel(judged: Sequence[CalibratedJudge]) -> list[Table]:
    """Judges as one panel, all alike and weighted by agreement, on the answers that all of them judged."""
    ratings = [{(item.sample, item.model): item for item in judge.items} for judge in judged]
    common = [key for key in ratings[0] if all(key in other for other in ratings[1:])]
    if len(common) < _FEWEST_COMMON:
        return []
    scores = np.array([[own[key].judge for own in ratings] for key in common])
    people = [ratings[0][key].people for key in common]
    samples = [sample for sample, _ in common]
    weighed = weigh_panel(scores, people, samples)
    panels = (("equal", scores.mean(axis=1)), ("by agreement", weighed.scores))
    values = [(name, compare_ratings(panel.tolist(), people, samples)) for name, panel in panels]
    each = ", ".join(
        f"{judge.judge} ({judge.fingerprint[:8]}) {weight:.2f}"
        for judge, weight in zip(judged, weighed.weights, strict=True)
    )
    return [
        Table(
            title="The judges as a panel",
            columns=("weights", "n", *_TITLES),
            body=tuple(
                (name, len(common), *(_format_value(figures[metric]) for metric in METRICS))
                for name, figures in values
            ),
            notes=(
                f"By agreement: {each}. Each answer is scored with weights fitted on other answers. "
                "`vivant table --corrected-by` uses these weights.",
            ),
        )
    ]


def _format_value(figure: CalibrationValue) -> str | None:
    if figure.value is None:
        return None
    if figure.interval is None:
        return f"{figure.value:.3f}"
    return f"{figure.value:.3f} [{figure.interval.low:.2f}, {figure.interval.high:.2f}]"


def _agreement(
    agreements_found: Sequence[CalibrationAgreement],
    judged: Sequence[CalibratedJudge],
    human: HumanScores,
    runs: Sequence[Run],
    by: str,
) -> Table:
    body: list[tuple[Cell, ...]] = [
        (
            f"{agreement.judge} ({agreement.fingerprint[:8]})",
            agreement.group,
            agreement.n,
            *(_format_value(agreement.values[name]) for name in METRICS),
        )
        for agreement in agreements_found
    ]
    rules = (len(body),)
    names = dict.fromkeys(task.partition("/")[0] for run in runs for task in run.manifest.tasks)
    figures = [figure for name in names for figure in registry.get(name).judged.agreement()]
    for figure in figures:
        values = (getattr(figure, name) for name in METRICS)
        texts = (None if value is None else f"{value:.3f}" for value in values)
        body.append((f"{figure.judge} †", "all", None, *texts))
    notes = [
        "In brackets: 95 % intervals by resampling samples. A dash: the figures do not vary, or are too few."
    ]
    if human.scale is not None:
        low, high = human.scale
        notes.append(f"People scored from {low:g} to {high:g}; all figures are on the judge's scale.")
    notes += [f"† {source}." for source in dict.fromkeys(figure.source for figure in figures)]
    notes += [
        f"{judge.judge} ({judge.fingerprint[:8]}): {judge.unmatched} answers that it judged have no score by people."
        for judge in judged
        if judge.unmatched
    ]
    return Table(
        title="Judges and people",
        columns=("judge", by or "group", "n", *_TITLES),
        body=tuple(body),
        rules=rules,
        rows=tuple(_rows(agreements_found, by)),
        notes=(*notes, *describe_people(human)),
    )


def _rows(agreements_found: Sequence[CalibrationAgreement], by: str) -> list[Row]:
    return [
        Row(
            run=agreement.fingerprint[:8],
            benchmark="",
            task="judge-check",
            group={} if agreement.group == "all" else {by: agreement.group},
            metric=name,
            value=figure.value,
            n=agreement.n,
            errors=0,
            unparsed=0,
            interval=(figure.interval.low, figure.interval.high) if figure.interval else None,
            interval_method=figure.interval.method if figure.interval else "",
            model=agreement.judge,
        )
        for agreement in agreements_found
        for name, figure in agreement.values.items()
    ]


def describe_people(human: HumanScores) -> list[str]:
    """How far people agree among themselves: no judge can be expected to agree more with them."""
    items = [item for item, ratings in enumerate(human.scores.values()) for _ in ratings]
    values = [value for ratings in human.scores.values() for value in ratings]
    if not any(len(ratings) > 1 for ratings in human.scores.values()):
        return ["People scored every answer once, so that nothing is known of how far they agree."]
    alpha = krippendorff_alpha(items, values, "interval")
    equal = percent_agreement(items, values)
    several = sum(len(ratings) > 1 for ratings in human.scores.values())
    return [
        f"People among themselves, on {several} answers scored more than once: Krippendorff's alpha (interval) "
        f"{alpha:.3f}, {equal:.1%} of pairs of scores equal. Judges are compared with the mean of people."
    ]


def _biases(biases_found: Sequence[JudgeBias]) -> Table:
    body = tuple(
        (f"{bias.judge} ({bias.fingerprint[:8]})", bias.name, _format_value(bias.figure), bias.n, bias.says)
        for bias in biases_found
    )
    return Table(
        title="What a judge may be swayed by",
        columns=("judge", "bias", "figure", "n", "what it is"),
        body=body,
        notes=(
            "Own family needs answers by several models; position needs pairs: vivant judge-check HUMAN RUN RUN "
            "--pairs --judge MODEL.",
        ),
    )
