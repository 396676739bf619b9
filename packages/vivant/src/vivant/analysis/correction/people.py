"""What people judged, of whatever kind, and a judge's scores of the same with theirs beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from vivant.analysis.correction.comments import CommentOrigin, CommentPanel, join_comments
from vivant.analysis.correction.judged_scores import JudgedScores
from vivant.analysis.correction.labels import join_labels
from vivant.analysis.correction.pairs import PairPreferences, join_pairs
from vivant.analysis.correction.ratings import join_ratings
from vivant.analysis.reasoning.people_labels import PlacedRow, read_people_labels
from vivant.benchmarks.base import Protocol
from vivant.core.errors import UsageError
from vivant.judging.human_scores import HumanScores
from vivant.runs.run import Run


class PeopleComments(Struct, frozen=True, kw_only=True):
    """People's judgements of a blind pack, with those of judge models beside it."""

    source: str
    pack: str
    authors: Mapping[str, CommentOrigin]
    panels: tuple[CommentPanel, ...]
    probabilities: Mapping[str, float] = {}
    """By video, where the study was planned."""


class PeopleLabels(Struct, frozen=True, kw_only=True):
    """Labels from a study, or from filled tables of `vivant reasoning --template`."""

    source: str
    rows: tuple[PlacedRow, ...]
    probabilities: Mapping[tuple[str, str], float] = {}
    """By task and sample, where the study was planned."""


PeopleSource = HumanScores | PairPreferences | PeopleComments | PeopleLabels


def name_source(people: PeopleSource) -> str:
    """Where the judgements come from."""
    if isinstance(people, HumanScores):
        return people.file
    return people.source


def join_people(
    runs: Sequence[Run], people: PeopleSource, protocol: Protocol | None = None, where: Sequence[str] = ()
) -> list[JudgedScores]:
    """A judge's scores with people's beside them. Nothing is written."""
    if isinstance(people, HumanScores):
        return join_ratings(runs, people, protocol, where)
    if isinstance(people, PairPreferences):
        return join_pairs(runs, people, protocol, where)
    if where:
        raise UsageError("--where goes with ratings and pairs, not with labels and comments")
    if isinstance(people, PeopleComments):
        return join_comments(people.pack, people.authors, people.panels, people.probabilities)
    if len(runs) != 1:
        raise UsageError(f"{people.source} holds labels, which belong to one run; name that run alone")
    labels, _ = read_people_labels(runs[0], people.rows, protocol)
    return join_labels(runs, protocol, people=labels, probabilities=people.probabilities)
