"""How many more people a study needs until its figures are as exact as wanted."""

from __future__ import annotations

import math

from vivant.core.table import Cell, Table
from vivant_study.report.measures import compute_measures, measure_consensus
from vivant_study.report.tables import compute_mean, group_by_source
from vivant_study.results import StudyResults

MARGIN = 0.03
"""Half of the interval that is wanted, as a share of the measure's range: ±3 of a percentage."""


def build_power_table(collected: StudyResults, margin: float = MARGIN) -> Table:
    """For each measure how wide its interval is, and how many more people would make it ±`margin`.

    The width falls with the square root of the number of people, as long as each judges as many items as now. Without
    the key nobody is right or wrong: what is measured then is how many of the others say the same.
    """
    body: list[tuple[Cell, ...]] = []
    measures = compute_measures(collected, collected.iter_counted())
    if not collected.key:
        measures += measure_consensus(collected, collected.iter_counted())
    for measure in measures:
        if measure.low is None or measure.high is None:
            continue
        wanted = margin * (measure.high - measure.low) * measure.scale
        for source, values in group_by_source(measure.values):
            mean, interval = compute_mean(measure, values)
            people = len({value.annotator for value in values})
            half = (interval.high - interval.low) / 2 if interval else None
            more = None if half is None else max(0, math.ceil(people * ((half / wanted) ** 2 - 1)))
            body.append((measure.title, source or "all", mean, half, people, wanted, more))
    return Table(
        title="How many more people",
        columns=("measure", "of", "mean", "±", "people", "wanted ±", "more people"),
        body=tuple(body),
        notes=(
            "The interval's half width falls with the square root of the number of people, if they judge as many items "
            "each as now. A dash: too few to tell.",
        )
        if body
        else ("There is nothing to measure yet.",),
    )
