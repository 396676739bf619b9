"""Runs and people's judgements to a table of corrected figures, whatever people judged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vivant.analysis.correction.judged_scores import correct_scores
from vivant.analysis.correction.people import join_people
from vivant.benchmarks.base import Protocol
from vivant.core.table import Table
from vivant.reporting.correction import build_correction_table
from vivant.runs.run import Run, choose_common_protocol
from vivant.study.people_source import load_people


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
    people = load_people(sources)
    figures = join_people(runs, people, protocol, where)
    name = ", ".join(str(source) for source in sources)
    return build_correction_table(
        correct_scores(figures, by), by, choose_common_protocol(runs, protocol), name
    )
