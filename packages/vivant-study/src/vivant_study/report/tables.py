"""What came of a study, as tables."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean, median, quantiles

import numpy as np

from vivant.benchmarks.summary import natural_sort_key
from vivant.core.errors import unknown_name_error
from vivant.core.table import Cell, Row, Table
from vivant.metrics.agreement import fleiss_kappa, krippendorff_alpha, percent_agreement
from vivant.metrics.intervals import Interval
from vivant.metrics.two_way import number_groups, two_way_interval
from vivant_study.design import KEY_FILE
from vivant_study.judgement import StudyJudgement
from vivant_study.report.measures import (
    CodedAnswers,
    MeasuredValue,
    StudyMeasure,
    code_answers,
    compute_measures,
)
from vivant_study.results import StudyResults

MOST_VALUES = 12
"""Facets with more values are shown only where they are asked for."""


def compute_mean(measure: StudyMeasure, values: Sequence[MeasuredValue]) -> tuple[float, Interval | None]:
    """The mean on the table's scale, with an interval that counts items' groups and people."""
    column = np.array([value.value for value in values], np.float64)
    weights = np.array([value.weight for value in values], np.float64)
    weighted = bool((weights != weights[0]).any())
    if weighted:
        # Linearised: the mean of these is the weighted mean, and they vary as it does.
        centre = float(np.average(column, weights=weights))
        column = centre + weights / weights.mean() * (column - centre)
    shares = (not weighted and measure.binary) or (
        measure.scale == 100 and bool(np.isin(column, (0.0, 1.0)).all())
    )
    if not shares and (column == column[0]).all():
        # Equal values would give an interval without width, which is no certainty.
        return float(column[0]) * measure.scale, None
    interval = two_way_interval(
        column,
        number_groups([value.cluster for value in values]),
        number_groups([value.annotator for value in values]),
        binary=shares,
    )
    if interval is not None and measure.low is not None and measure.high is not None:
        # A scale has ends, Student's t has none.
        interval = Interval(max(interval.low, measure.low), min(interval.high, measure.high), interval.method)
    return float(column.mean()) * measure.scale, interval.scale(measure.scale) if interval else None


def build_result_table(collected: StudyResults) -> Table:
    """Each measure, of each source where the key names them; beside it the same with excluded people."""
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    rules: list[int] = []
    every = {m.name: m for m in compute_measures(collected, collected.iter_counted(excluded=True))}
    anybody = any(person.excluded for person in collected.people.values())
    methods: set[str] = set()
    for measure in compute_measures(collected, collected.iter_counted()):
        if body:
            rules.append(len(body))
        for source, values in group_by_source(measure.values):
            mean, interval = compute_mean(measure, values)
            methods |= {interval.method} if interval else set()
            same = [v for v in every[measure.name].values if not source or v.source == source]
            body.append(
                (
                    measure.title,
                    source or "all",
                    mean,
                    format_ends(interval),
                    None if measure.chance is None else measure.chance * measure.scale,
                    *((compute_mean(measure, same)[0],) if anybody else ()),
                    len(values),
                    len({value.unit for value in values}),
                    len({value.annotator for value in values}),
                )
            )
            rows.append(
                _build_row(collected, measure, {"source": source} if source else {}, values, mean, interval)
            )
    with_all = ("with excluded",) if anybody else ()
    return Table(
        title="Results",
        columns=("measure", "of", "mean", "95 % interval", "chance", *with_all, "n", "items", "people"),
        body=tuple(body),
        rows=tuple(rows),
        rules=tuple(rules),
        notes=(_format_result_note(collected, bool(body), methods),),
    )


def _format_result_note(collected: StudyResults, has_results: bool, methods: set[str]) -> str:
    if methods:
        return f"Intervals count groups of items and people, not judgements: {'; '.join(sorted(methods))}."
    if has_results:
        return "Too little to tell intervals."
    if next(collected.iter_counted(), None) is None:
        return "There are no judgements yet."
    return f"Nothing can be measured without the key: {KEY_FILE} says what is right."


def group_by_source(values: Sequence[MeasuredValue]) -> Iterator[tuple[str, list[MeasuredValue]]]:
    """The values of each source, the highest mean first."""
    sources = sorted({value.source for value in values})
    if len(sources) == 1:
        yield sources[0], list(values)
        return
    groups = [(name, [value for value in values if value.source == name]) for name in sources]
    yield from sorted(groups, key=lambda group: -fmean(value.value for value in group[1]))


def _build_row(
    collected: StudyResults,
    measure: StudyMeasure,
    group: dict[str, str],
    values: Sequence[MeasuredValue],
    mean: float,
    interval: Interval | None,
) -> Row:
    return Row(
        run=collected.loaded.path.name,
        benchmark="study",
        task=f"study/{collected.loaded.study.kind}",
        group=group,
        metric=measure.name,
        value=mean,
        n=len(values),
        errors=0,
        unparsed=0,
        interval=(interval.low, interval.high) if interval else None,
        interval_method=interval.method if interval else "",
        chance=None if measure.chance is None else measure.chance * measure.scale,
        model=group.get("source", "human"),
    )


def build_facet_tables(collected: StudyResults, by: Sequence[str] = ()) -> list[Table]:
    """The first measure by the values of each facet."""
    facets = {item: collected.facets(item) for item in collected.items}
    facet_names = sorted({name for values in facets.values() for name in values})
    for name in by:
        if name not in facet_names:
            raise unknown_name_error("facet", name, facet_names)
    tables: list[Table] = []
    for measure in compute_measures(collected, collected.iter_counted())[:1]:
        for name in by or facet_names:
            groups: dict[str, list[MeasuredValue]] = defaultdict(list)
            for value in measure.values:
                groups[facets[value.item].get(name, "")].append(value)
            if by or 1 < len(groups) <= MOST_VALUES:
                tables.append(_build_facet_table(collected, measure, name, groups))
    return tables


def _build_facet_table(
    collected: StudyResults, measure: StudyMeasure, name: str, groups: dict[str, list[MeasuredValue]]
) -> Table:
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for label in sorted(groups, key=natural_sort_key):
        for source, values in group_by_source(groups[label]):
            mean, interval = compute_mean(measure, values)
            title = f"{label} · {source}" if source else label
            body.append(
                (title, mean, format_ends(interval), len(values), len({value.annotator for value in values}))
            )
            group = {name: label, **({"source": source} if source else {})}
            rows.append(_build_row(collected, measure, group, values, mean, interval))
    return Table(
        title=f"{measure.title} by {name}",
        columns=(name, "mean", "95 % interval", "n", "people"),
        body=tuple(body),
        rows=tuple(rows),
    )


def build_agreement_table(collected: StudyResults) -> Table:
    """How far people agree on the same thing, without excluded people and with them."""
    body: list[tuple[Cell, ...]] = []
    anybody = any(person.excluded for person in collected.people.values())
    choices = [("counted people", False)] + ([("with excluded", True)] if anybody else [])
    for label, excluded in choices:
        coded_answers = code_answers(collected, collected.iter_counted(excluded=excluded))
        body += [(coded.title, label, *_compute_agreement(coded)) for coded in coded_answers]
    return Table(
        title="Agreement",
        columns=(
            "on",
            "among",
            "percent",
            "Krippendorff's alpha",
            "level",
            "Fleiss' kappa",
            "kappa over",
            "judged twice",
        ),
        body=tuple(body),
        decimals=3,
        notes=(
            "Percent: pairs of judgements of the same thing that are equal. Alpha and kappa: 1 is perfect, 0 is "
            "chance; kappa needs equally many judgements of each thing, so it is over those with the usual number.",
        ),
    )


def _compute_agreement(coded: CodedAnswers) -> tuple[Cell, ...]:
    units, values = number_groups(list(coded.units)), np.array(coded.codes, np.float64)
    sizes = np.bincount(units)
    usual = Counter(sizes[sizes >= 2].tolist()).most_common(1)
    kappa, over = math.nan, 0
    if usual:
        alike = sizes == usual[0][0]
        over = int(alike.sum())
        kappa = fleiss_kappa(units[alike[units]], values[alike[units]])
    percent = percent_agreement(units, values)
    return (
        none_if_nan(percent * 100),
        none_if_nan(krippendorff_alpha(units, values, coded.level)),
        coded.level,
        none_if_nan(kappa),
        over,
        int((sizes >= 2).sum()),
    )


def build_time_table(judgements: Iterable[StudyJudgement]) -> Table:
    """Seconds per page: the median and the quartiles."""
    pages: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for judgement in judgements:
        if judgement.seconds is not None:
            key = (judgement.annotator, judgement.item)
            # Parts of a page are answered one after the other: the last one ends it.
            pages[judgement.page][key] = max(pages[judgement.page].get(key, 0.0), judgement.seconds)
    totals: dict[tuple[str, str], float] = defaultdict(float)
    for times in pages.values():
        for key, seconds in times.items():
            totals[key] += seconds
    columns: dict[str, dict[tuple[str, str], float]] = {**pages}
    if len(pages) > 1:
        columns["both pages"] = totals
    body: list[tuple[Cell, ...]] = []
    for page, times in columns.items():
        low, middle, high = _compute_quartiles(list(times.values()))
        body.append((page, middle, low, high, len(times)))
    return Table(
        title="Seconds per item",
        columns=("page", "median", "lower quartile", "upper quartile", "n"),
        body=tuple(body),
        notes=("From the first showing of a page to its answer.",) if body else ("No times are known.",),
    )


def _compute_quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, median(values), high


def none_if_nan(value: float) -> float | None:
    """A figure, or nothing where the data cannot give it."""
    return None if math.isnan(value) else value


def format_ends(interval: Interval | None, decimals: int = 1) -> str | None:
    """An interval as text."""
    return None if interval is None else f"{interval.low:.{decimals}f} – {interval.high:.{decimals}f}"
