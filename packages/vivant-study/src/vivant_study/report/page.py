"""The report as one HTML file, in the style of the reports on runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vivant.core.errors import UsageError
from vivant.core.files import write_atomic
from vivant.core.table import Table
from vivant.reporting.html.blocks import Block, BulletList, Paragraph, Section, TableBlock, render_page
from vivant.reporting.html.svg import PlotPoint, draw_forest
from vivant_study.report.study import StudyReport


def build_page(report: StudyReport) -> str:
    """The whole page: one file, no network, no script."""
    study = report.collected.loaded.study
    title = study.title.get("en") or study.title[study.languages[0]]
    by_facet: list[Block] = []
    for table in report.facets:
        by_facet += [*_draw_facet(table), TableBlock(table)]
    results = [*_draw_results(report.results), TableBlock(report.results, caption=False)]
    people = [TableBlock(report.people, caption=False), TableBlock(report.questions)]
    sections = [
        Section("summary", "In words", [BulletList(report.findings, "found")]),
        Section("progress", "Progress", [TableBlock(report.progress, caption=False)]),
        Section("results", "Results", results),
        Section(
            "facets", "By facet", by_facet or [Paragraph("There is no facet with two to twelve values.")]
        ),
        Section("agreement", "Agreement", [TableBlock(report.agreement, caption=False)]),
        Section("power", "How many more", [TableBlock(report.power, caption=False)]),
        Section("times", "Time", [TableBlock(report.times)]),
        Section("people", "People", people),
        Section("exclusions", "Exclusions", [TableBlock(report.exclusions, caption=False)]),
    ]
    subtitle = f"A study of the kind {study.kind}, from {study.origin or 'its own items'}"
    return render_page(title, subtitle, sections)


def _plot_points(value: Table, label: str = "") -> list[PlotPoint]:
    rows = [row for row in value.rows if not label or row.metric == label]
    names = [" · ".join(row.group.values()) or row.metric for row in rows]
    return [
        PlotPoint(label=name, value=row.value, interval=row.interval, note=f"n = {row.n}")
        for name, row in zip(names, rows, strict=True)
    ]


def _draw_results(results: Table) -> list[Block]:
    """The first measure, drawn: for sources beside each other it says most."""
    if not results.rows:
        return []
    first = results.rows[0]
    return [draw_forest(_plot_points(results, first.metric), first.metric, first.chance)]


def _draw_facet(value: Table) -> list[Block]:
    return [draw_forest(_plot_points(value), value.title, value.rows[0].chance)] if value.rows else []


def write_page(report: StudyReport, out: Path) -> None:
    """Write the report as one HTML file, whole or not at all."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(out, build_page(report).encode())
    except OSError as error:
        raise UsageError(f"Cannot write {out}: {error.strerror}") from error


def list_tables(report: StudyReport) -> Sequence[Table]:
    """What the terminal shows, in its order."""
    tables = [report.progress, report.results, *report.facets, report.agreement, report.power, report.times]
    tables.append(report.people)
    return [*tables, report.exclusions] + ([report.questions] if report.questions.body else [])
