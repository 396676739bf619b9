"""Judges' scores corrected by people's, for the home page: ratings, pairs, comments and labels."""

from __future__ import annotations

from collections.abc import Sequence

from vivant.analysis.correction.correction_table import build_correction_table
from vivant.analysis.correction.judged_scores import correct_scores
from vivant.analysis.correction.pairs import PairPreferences
from vivant.analysis.correction.people import (
    PeopleComments,
    PeopleLabels,
    PeopleSource,
    join_people,
    name_source,
)
from vivant.analysis.reasoning.label_files import PEOPLE, read_labels
from vivant.benchmarks import registry
from vivant.core.errors import VivantError
from vivant.core.table import Table
from vivant.runs.run import Run, choose_common_protocol
from vivant.view.catalog import RunEntry
from vivant.view.context import ViewerContext


def build_home_correction(context: ViewerContext, entries: Sequence[RunEntry]) -> tuple[Table | None, str]:
    """The table over all runs that a judge scored, or why there is none; neither where nobody asked for it."""
    people = context.people
    if people is None:
        return None, ""
    judged = _select_judged(people, [entry for entry in entries if entry.manifest is not None])
    if not judged and not isinstance(people, PeopleComments):
        return None, ""

    def build() -> tuple[Table | None, str]:
        runs = [Run(entry.path) for entry in judged]
        try:
            protocol = choose_common_protocol(runs, context.protocol)
            corrections = correct_scores(join_people(runs, people, protocol))
        except VivantError as error:
            return None, str(error)
        return build_correction_table(corrections, protocol=protocol, source=name_source(people)), ""

    state = tuple((entry.rid, Run(entry.path).dir.log_bytes()) for entry in judged)
    return context.remember(("corrected", state), build)


def _select_judged(people: PeopleSource, entries: Sequence[RunEntry]) -> list[RunEntry]:
    """The runs whose judge people's judgements can correct."""
    if isinstance(people, PeopleComments):  # a pack has no run of its own
        return []
    if isinstance(people, PairPreferences):
        return [entry for entry in entries if entry.path.resolve() in people.runs]
    if isinstance(people, PeopleLabels):
        return [entry for entry in entries if set(read_labels(entry.path)) - {PEOPLE}]
    return [
        entry
        for entry in entries
        if entry.manifest is not None
        and any(registry.get_by_task(task).task(task).judged for task in entry.manifest.tasks)
    ]
