"""Judgements as tables: one for each panel of judges, beside the paper's rows."""

from __future__ import annotations

from vivant.benchmarks.mimic import names, published
from vivant.benchmarks.mimic.panels import JudgedSource, PackOutcome, Panel
from vivant.benchmarks.mimic.tables import MARK
from vivant.benchmarks.summary import make_published_row
from vivant.core.table import Cell, Row, Table
from vivant.metrics.intervals import Interval


def build_panel_tables(outcome: PackOutcome, *, published_rows: bool = False) -> list[Table]:
    """A table for each panel of judges: the paper's second, with intervals and agreement.

    Args:
        outcome: What the judges said.
        published_rows: Show the paper's rows beside people's judgements of a mini-edition too.
    """
    return [_build_panel_table(panel, outcome, published_rows) for panel in outcome.panels]


def _build_panel_table(panel: Panel, outcome: PackOutcome, published_rows: bool) -> Table:
    ordered = sorted(panel.sources, key=lambda j: (j.kind == "human", -(j.human or 0)))
    body: list[tuple[Cell, ...]] = [
        (
            judged.source,
            judged.human,
            _format_ends(judged.human_interval, 1),
            judged.realism,
            _format_ends(judged.realism_interval, 2),
            judged.comments,
            judged.judgements,
            judged.unjudged,
        )
        for judged in ordered
    ]
    measured = len(body)
    rows = [row for judged in ordered for row in _build_rows(panel, judged, outcome)]
    # The paper's figures come from people and from its own videos; they are no match for others.
    full = panel.kind == "people" and (published_rows or not outcome.mini)
    if full:
        for model, (share, realism) in published.JUDGED.items():
            body.append((model + MARK, share, None, realism, None, None, None, None))
        rows += [
            make_published_row(figure) for figure in published.list_published() if figure.metric != "accuracy"
        ]
    judges = f"{panel.annotators} people" if panel.kind == "people" else f"the judge model {panel.name}"
    return Table(
        title=f"MIMIC-Bench, mimicking, judged by {judges}",
        columns=(
            "Source",
            "Judged human %",
            "95 % interval",
            "Realism 0–5",
            "95 % interval ",
            "comments",
            "judgements",
            "unjudged",
        ),
        body=tuple(body),
        rules=(measured,),
        decimals=2,
        rows=tuple(rows),
        notes=(*_build_notes(panel, mini=outcome.mini, full=full), *outcome.notes),
    )


def _build_notes(panel: Panel, *, mini: bool, full: bool) -> list[str]:
    agreement = panel.agreement
    methods = {i.method for j in panel.sources for i in (j.human_interval, j.realism_interval) if i}
    notes = [f"Intervals by video and annotator: {'; '.join(sorted(methods))}."] if methods else []
    beside = f" (published: {published.AGREEMENT})" if full or not mini else ""
    if agreement.items:
        notes.append(
            f"Agreement over {agreement.items} comments judged at least twice: "
            f"{_format_figure(agreement.percent, 2)} % of pairs{beside}, "
            f"Krippendorff's alpha {_format_figure(agreement.alpha, 3)}, "
            f"Fleiss' kappa {_format_figure(agreement.kappa, 3)} ({agreement.kappa_items} comments with equally many "
            f"judgements), alpha of realism {_format_figure(agreement.realism_alpha, 3)}."
        )
    else:
        notes.append("No comment was judged twice: agreement cannot be told.")
    if panel.unparsed or panel.failed:
        notes.append(
            f"Left out: {panel.unparsed} verdicts that could not be read, {panel.failed} that failed."
        )
    if panel.caveat:
        notes.append(f"{panel.name} is {panel.caveat}.")
    if panel.kind == "model":
        notes.append("A judge model's figures are not people's; the published ones, people's, are left out.")
    elif full:
        notes.append(f"† {published.SOURCE}, judged by people.")
        if mini:
            notes.append(
                "Edition: the pack has videos of the bundled mini-edition, the published rows the full benchmark."
            )
    else:
        notes.append(
            "Published rows are left out: the pack has videos of the bundled mini-edition. "
            "--published shows them all the same."
        )
    return notes


def _build_rows(panel: Panel, judged: JudgedSource, outcome: PackOutcome) -> list[Row]:
    figures_ = (
        ("judged human", judged.human, judged.human_interval, judged.judgements),
        ("realism", judged.realism, judged.realism_interval, judged.rated),
    )
    return [
        Row(
            run=outcome.pack[:12],
            benchmark=names.BENCHMARK,
            task=names.format_task(names.MIMICKING),
            group={"judges": panel.name},
            metric=metric,
            value=value,
            n=n,
            errors=judged.unjudged,
            unparsed=0,
            interval=(interval.low, interval.high) if interval else None,
            interval_method=interval.method if interval else "",
            model=judged.source,
        )
        for metric, value, interval, n in figures_
    ]


def _format_figure(value: float | None, decimals: int) -> str:
    return "–" if value is None else f"{value:.{decimals}f}"


def _format_ends(interval: Interval | None, decimals: int) -> str | None:
    return None if interval is None else f"{interval.low:.{decimals}f} – {interval.high:.{decimals}f}"
