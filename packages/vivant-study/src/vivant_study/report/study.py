"""All that is to be said about what a study collected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from vivant.core.table import Table
from vivant_study.report.annotators import RATED, AnnotatorStatistics, compute_annotator_statistics
from vivant_study.report.people import (
    SHORT,
    build_annotator_table,
    build_exclusion_table,
    build_progress_table,
    build_question_table,
)
from vivant_study.report.power import build_power_table
from vivant_study.report.tables import (
    build_agreement_table,
    build_facet_tables,
    build_result_table,
    build_time_table,
)
from vivant_study.results import StudyResults


class StudyReport(Struct, frozen=True, kw_only=True):
    """Tables, and the main things in words."""

    collected: StudyResults
    findings: tuple[str, ...]
    progress: Table
    results: Table
    facets: tuple[Table, ...]
    agreement: Table
    power: Table
    times: Table
    people: Table
    questions: Table
    exclusions: Table


def build_study_report(collected: StudyResults, by: Sequence[str] = ()) -> StudyReport:
    """Everything. `by` names the facets to show; default: those with two to twelve values."""
    everybody = compute_annotator_statistics(collected)
    results, agreement = build_result_table(collected), build_agreement_table(collected)
    times = build_time_table(collected.iter_counted())
    return StudyReport(
        collected=collected,
        findings=tuple(_summarize(results, agreement, times, everybody)),
        progress=build_progress_table(collected),
        results=results,
        facets=tuple(build_facet_tables(collected, by)),
        agreement=agreement,
        power=build_power_table(collected),
        times=times,
        people=build_annotator_table(everybody, ratings=collected.loaded.study.kind in RATED),
        questions=build_question_table(collected),
        exclusions=build_exclusion_table(collected),
    )


def _summarize(
    results: Table, agreement: Table, times: Table, everybody: Sequence[AnnotatorStatistics]
) -> Iterator[str]:
    if not results.rows:
        yield from results.notes
    for row in results.rows[:4]:
        between = f", 95 % interval {row.interval[0]:.1f} to {row.interval[1]:.1f}" if row.interval else ""
        guess = f"; guessing would give {row.chance:.1f}" if row.chance is not None else ""
        of = f" of {row.group['source']}" if "source" in row.group else ""
        yield f"{row.metric}{of}: {row.value:.1f} ({row.n} judgements{between}){guess}."
    for line in agreement.body[:1]:
        if isinstance(line[2], float):
            alpha = f", Krippendorff's alpha {line[3]:.2f}" if isinstance(line[3], float) else ""
            yield f"Two people agree in {line[2]:.1f} % of cases ({line[0]}){alpha}."
    if times.body:
        last = times.body[-1]
        yield f"An item takes {last[1]:.0f} seconds ({last[0]}, median)."
    marked = [statistics for statistics in everybody if statistics.signs and not statistics.excluded]
    if marked:
        names = ", ".join(statistics.annotator[:SHORT] for statistics in marked[:5]) + (
            "…" if len(marked) > 5 else ""
        )
        yield f"To be looked at: {len(marked)} of {len(everybody)} people show signs of careless answers ({names})."
    left_out = [statistics for statistics in everybody if statistics.excluded]
    if left_out:
        yield f"{len(left_out)} people are excluded, with reasons; figures with them stand beside."
