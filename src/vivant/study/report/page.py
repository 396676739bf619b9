"""The report as one HTML file, in the style of the reports on runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vivant.core.errors import UsageError
from vivant.core.files import write_atomic
from vivant.core.table import Table
from vivant.report.html.markup import Html, join, own, tag
from vivant.report.html.page import whole_page
from vivant.report.html.svg import Mark, forest
from vivant.report.html.tables import table
from vivant.study.report.study import StudyReport


def build_page(report: StudyReport) -> str:
    """The whole page: one file, no network, no script."""
    study = report.collected.loaded.study
    title = study.title.get("en") or study.title[study.languages[0]]
    parts = [
        ("summary", "In words", tag("ul", *(tag("li", own(line)) for line in report.found), class_="found")),
        ("progress", "Progress", table(report.progress, caption=False)),
        ("results", "Results", join(_figure(report.results), table(report.results, caption=False))),
        (
            "facets",
            "By facet",
            join(*(join(_facet_figure(one), table(one)) for one in report.facets))
            if report.facets
            else tag("p", "There is no facet with two to twelve values."),
        ),
        ("agreement", "Agreement", table(report.agreement, caption=False)),
        ("times", "Time", table(report.times)),
        ("people", "People", join(table(report.people, caption=False), table(report.questions))),
        ("exclusions", "Exclusions", table(report.exclusions, caption=False)),
    ]
    subtitle = f"A study of the kind {study.kind}, from {study.origin or 'its own items'}"
    return whole_page(title, subtitle, parts)


def _marks(value: Table, label: str = "") -> list[Mark]:
    rows = [row for row in value.rows if not label or row.metric == label]
    names = [" · ".join(row.group.values()) or row.metric for row in rows]
    return [
        Mark(label=name, value=row.value, interval=row.interval, colour=0, note=f"n = {row.n}")
        for name, row in zip(names, rows, strict=True)
    ]


def _figure(results: Table) -> Html | None:
    """The first measure, drawn: for sources beside each other it says most."""
    if not results.rows:
        return None
    first = results.rows[0]
    return forest(_marks(results, first.metric), first.metric, first.chance)


def _facet_figure(value: Table) -> Html | None:
    return forest(_marks(value), value.title, value.rows[0].chance) if value.rows else None


def write_page(report: StudyReport, out: Path) -> None:
    """Write the page."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(out, build_page(report).encode())
    except OSError as error:
        raise UsageError(f"Cannot write {out}: {error.strerror}") from error


def all_tables(report: StudyReport) -> Sequence[Table]:
    """What the terminal shows, in its order."""
    found = [report.progress, report.results, *report.facets, report.agreement, report.times, report.people]
    return [*found, report.exclusions] + ([report.questions] if report.questions.body else [])
