"""Judges corrected by people, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vivant.analysis.correction.judged_scores import Correction, correct_scores
from vivant.analysis.correction.people import join_people
from vivant.analysis.correction.people_files import load_people
from vivant.benchmarks.base import Protocol
from vivant.core.table import Cell, Row, Table
from vivant.metrics.intervals import Interval
from vivant.runs.run import Run, choose_common_protocol

METHOD = "prediction-powered"


def build_corrected_table(
    runs: Sequence[Run],
    sources: Sequence[str | Path],
    protocol: Protocol | None = None,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
) -> Table:
    """What people would have scored: the judge's scores of these runs, corrected by people's.

    Args:
        runs: judged runs.
        sources: a study, its export, or a file of scores or labels; several of one kind count as one.
        protocol: `paper` or `strict`.
        by: facets to group by.
        where: conditions on samples.
    """
    figures = join_people(runs, load_people(sources), protocol, where)
    name = ", ".join(str(source) for source in sources)
    return build_correction_table(
        correct_scores(figures, by), by, choose_common_protocol(runs, protocol), name
    )


def build_correction_table(
    corrections: Sequence[Correction], by: Sequence[str] = (), protocol: str = "", source: str = "people"
) -> Table:
    """One line a figure: what people would have scored, beside the judge's own score and people's alone."""
    several = len({correction.run for correction in corrections}) > 1
    judges = len({correction.judge for correction in corrections}) > 1
    columns = ["model", "task", *by, "metric", "corrected", "95 % interval", "judge alone", "people alone"]
    columns += ["people, 95 %", "n judge", "n people", "worth"]
    columns += ["judge"] * judges + ["run"] * several
    body: list[tuple[Cell, ...]] = []
    notes = [
        "Corrected: what people would have scored on everything, from the judge's scores of everything and people's of "
        f"a part ({source}); prediction-powered, weight tuned, by cluster.",
        "Worth: so many answers would people have to score for the same interval without the judge.",
    ]
    for correction in corrections:
        result, scale = correction.result, correction.scale
        cells: list[Cell] = [correction.model, correction.task]
        cells += [correction.group.get(facet, "") or "unstated" for facet in by]
        cells.append(correction.metric)
        if result is None:
            cells += [None, None, None, None, None, correction.total, 0, None]
        else:
            cells += [
                result.value * scale,
                _format_interval(result.interval, scale),
                result.judge * scale,
                result.people * scale,
                _format_interval(result.people_interval, scale),
                result.total,
                result.labelled,
                round(result.labelled * result.gain),
            ]
        cells += [correction.judge] * judges + [correction.run] * several
        body.append(tuple(cells))
    notes += _list_fallbacks(corrections)
    if not judges and corrections:
        notes.append(f"Judge: {corrections[0].judge}.")
    few = [c for c in corrections if c.result and 0 < c.people < 10]
    if few:
        notes.append(
            f"{min(c.people for c in few)} people scored: the intervals hold for these people. From ten on they also "
            "count that others might have been asked."
        )
    notes += [note for correction in corrections for note in correction.notes]
    return Table(
        title="Judge corrected by people" + (f", protocol {protocol}" if protocol else ""),
        columns=tuple(columns),
        body=tuple(body),
        notes=tuple(dict.fromkeys(notes)),
        rows=tuple(row for correction in corrections for row in _build_rows(correction, protocol)),
        decimals=2 if any(correction.scale < 10 for correction in corrections) else 1,
        optional=("run", "judge", "people, 95 %", "n judge", "metric"),
    )


def _format_interval(interval: Interval | None, scale: float) -> str | None:
    if interval is None:
        return None
    decimals = 2 if scale < 10 else 1
    return f"{interval.low * scale:.{decimals}f} – {interval.high * scale:.{decimals}f}"


def _list_fallbacks(corrections: Sequence[Correction]) -> list[str]:
    # Several figures of one answer (labels, criteria) often fall back for one reason.
    reasons: dict[tuple[str, str], list[str]] = {}
    for correction in corrections:
        group = ", ".join(f"{facet}={value}" for facet, value in correction.group.items())
        where = ", ".join(filter(None, (correction.model, correction.task, group)))
        if correction.result is None:
            reason = "people scored none of these answers, so nothing is corrected"
        elif correction.result.fallback:
            reason = f"people alone, because {correction.result.fallback}"
        else:
            continue
        reasons.setdefault((where, reason), []).append(correction.metric)
    return [f"{where}, {', '.join(metrics)}: {reason}." for (where, reason), metrics in reasons.items()]


def _build_rows(correction: Correction, protocol: str) -> list[Row]:
    result, scale = correction.result, correction.scale
    if result is None:
        return []
    figures = (
        ("corrected", result.value, result.interval, result.total),
        ("judge alone", result.judge, None, result.total),
        ("people alone", result.people, result.people_interval, result.labelled),
    )
    return [
        Row(
            run=correction.run,
            benchmark=correction.task.partition("/")[0],
            task=correction.task,
            group=correction.group,
            metric=f"{correction.metric}, {name}",
            value=value * scale,
            n=n,
            interval=(interval.low * scale, interval.high * scale) if interval else None,
            interval_method=interval.method if interval else "",
            model=correction.model,
            protocol=protocol,
        )
        for name, value, interval, n in figures
    ]
