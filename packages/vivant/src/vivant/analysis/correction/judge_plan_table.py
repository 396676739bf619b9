"""A plan of what to ask people, as a table."""

from __future__ import annotations

import math

import msgspec

from vivant.analysis.correction.judge_plan import UNITS, AskingPlan, PlannedFigure
from vivant.core.table import Cell, Table

GUESSED = (0.3, 0.6, 0.9)
"""Correlations to reckon with where nothing is known."""


def build_plan_table(plan: AskingPlan) -> Table:
    """One line a figure: what is known, what is needed, and what to ask now."""
    figures = plan.figures
    several = len({figure.scores.run for figure in figures}) > 1
    metrics = len({figure.scores.metric for figure in figures}) > 1
    judges = len({figure.scores.judge for figure in figures}) > 1
    columns = ["model", "task", *["metric"] * metrics, "judged by people", "agreement", "95 % so far, ±"]
    columns += ["needed", "without judge", "ask now", "then, ±", *["judge"] * judges, *["run"] * several]
    body: list[tuple[Cell, ...]] = []
    for figure in figures:
        scores = figure.scores
        result = figure.so_far.result if figure.so_far else None
        so_far = (
            (result.interval.high - result.interval.low) / 2 * scores.scale
            if result and result.interval
            else None
        )
        later = figure.precision.half_width(max(4, figure.judged + figure.new)) * scores.scale
        body.append(
            (
                scores.model,
                scores.task,
                *[scores.metric] * metrics,
                figure.judged,
                None if figure.correlation is None else f"{figure.correlation:.2f}",
                so_far,
                "pilot first" if figure.pilot else figure.needed or f"over {figure.precision.total}",
                figure.alone or f"over {figure.precision.total}",
                figure.new,
                later,
                *[scores.judge] * judges,
                *[scores.run] * several,
            )
        )
    scales = {figure.scores.scale for figure in figures}
    unit = UNITS[plan.kind]
    wanted = " and ".join(f"± {plan.half_width / 100 * s:g} of {s:g}" for s in sorted(scales, reverse=True))
    notes = [
        f"Wanted: an interval of {wanted}. Agreement: Pearson's correlation of judge and people. Each answer is judged "
        "by as many people as the study asks for.",
        f"{unit.capitalize()} are drawn at random, more where the judge is unsure"
        + (f", some for every {', '.join(plan.by)}" if plan.by else "")
        + "; a correction weights each by its chance.",
    ]
    if plan.kind in ("comments", "labels"):
        number = sum(len(draw.chosen) for draw in plan.draws)
        inside = "comments" if plan.kind == "comments" else "segments and wrong answers"
        notes.append(
            f"People are asked about {number} {unit}, each with all its {inside}, which are counted here."
        )
    notes += _describe_pilot(plan)
    notes += [note for figure in figures for note in _describe_figure(figure, metrics=metrics)]
    return Table(
        title="What to ask people next",
        columns=tuple(columns),
        body=tuple(body),
        notes=tuple(dict.fromkeys(notes)),
        decimals=2 if min(scales, default=100.0) < 10 else 1,
        optional=("run", "judge", "without judge", "95 % so far, ±"),
    )


def _describe_pilot(plan: AskingPlan) -> list[str]:
    """What to expect where nothing is known of the judge; of several figures, for the one that needs most."""
    pilots = [figure for figure in plan.figures if figure.pilot]
    if not pilots:
        return []

    def count(figure: PlannedFigure, correlation: float) -> int | None:
        precision = msgspec.structs.replace(figure.precision, correlation=correlation, design_effect=1.0)
        return precision.find_count(plan.half_width / 100)

    hardest = max(pilots, key=lambda figure: count(figure, 0.0) or math.inf)
    total = hardest.precision.total
    each = ", ".join(f"{count(hardest, r) or f'over {total}'} at a correlation of {r:g}" for r in GUESSED)
    which = "" if len(pilots) == 1 else f" for {hardest.scores.model}, {hardest.scores.metric}"
    return [
        "People judged too little to tell the judge's agreement. Ask the pilot first, then plan again with --people. "
        f"Expect to need {each}{which}."
    ]


def _describe_figure(figure: PlannedFigure, *, metrics: bool) -> list[str]:
    scores = figure.scores
    name = ", ".join([scores.model, scores.task, *[scores.metric] * metrics])
    total = figure.precision.total
    notes: list[str] = []
    if figure.gap:
        notes.append(f"So far nothing can be corrected. {figure.gap}")
    if figure.assumed:
        notes.append(
            f"{name}: all scores so far are the same, which does not tell how far people's scores differ. The numbers "
            "assume the widest spread there is; fewer answers may do."
        )
    if figure.needed is None and not figure.pilot:
        widest = figure.precision.half_width(total) * scores.scale
        notes.append(
            f"{name}: with every answer judged by people the interval is ± {widest:.2g}; it cannot be narrower on this "
            "benchmark. Asked now: enough to come within a tenth of that."
        )
    return notes
