"""How many judgements by people give the interval one wants, and which answers to ask people about.

A figure is a mean that a judge's scores are corrected for. Figures that the same people's answers serve (the sources of
a pack, the labels of a run) are planned together: what is drawn are units, each asked whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from msgspec import Struct

from vivant.analysis.correction.comments import CommentPanel, join_comments, list_authors
from vivant.analysis.correction.judged_scores import Correction, JudgedScores, correct_scores
from vivant.analysis.correction.labels import join_labels
from vivant.analysis.correction.pairs import PairPreferences, join_pairs
from vivant.analysis.correction.people import PeopleComments, PeopleLabels, PeopleSource, join_people
from vivant.analysis.correction.people_files import find_judge_panels, load_people
from vivant.analysis.correction.ratings import join_ratings
from vivant.benchmarks.base import Protocol
from vivant.benchmarks.mimic.packs import Pack, open_key
from vivant.core.errors import UsageError
from vivant.core.randomness import derive_seed
from vivant.core.shown_tables import ShownTables
from vivant.core.table import Table
from vivant.judging.human_scores import HumanScores
from vivant.metrics.agreement import pearson
from vivant.metrics.prediction_powered import FEWEST_CLUSTERS
from vivant.metrics.sampling_plan import Draw, Precision, draw_items
from vivant.runs.run import Run

Kind = Literal["ratings", "pairs", "comments", "labels"]
UNITS: dict[Kind, str] = {"ratings": "answers", "pairs": "pairs", "comments": "videos", "labels": "replies"}
"""What people are asked about, one at a time."""
PILOT = 50
"""Units that a first study asks about, where nothing is known of the judge."""
NEARLY = 1.1
"""Where the wanted interval is out of reach, one at most so many times as wide as the narrowest."""
WIDEST_SPREAD = 0.5
"""The largest standard deviation of scores between 0 and 1: half of them at either end."""
_SOURCES = {
    "ratings": (HumanScores, "ratings of answers; for comparisons add --pairs, for labels --labels"),
    "pairs": (PairPreferences, "comparisons: a pairwise study"),
    "comments": (PeopleComments, "judgements of this pack: a blind-comments study"),
    "labels": (PeopleLabels, "labels of reasoning"),
}


class PlannedFigure(Struct, frozen=True, kw_only=True, eq=False):
    """One figure, and what it takes to know it well enough. Numbers are of what the figure is a mean of."""

    scores: JudgedScores
    pilot: bool
    """Nothing is known of the judge's agreement yet."""
    so_far: Correction | None
    precision: Precision
    assumed: bool
    """Neither people's scores nor the judge's vary, so that the spread is the widest there is."""
    correlation: float | None
    judged: int
    """What people have judged already."""
    needed: int | None
    """What people have to judge in all; None: more than there is."""
    alone: int | None
    """The same without the judge."""
    new: int = 0
    """What people are asked about now."""
    gap: str = ""
    """Why people's judgements so far cannot correct the judge."""


class UnitDraw(Struct, frozen=True, kw_only=True, eq=False):
    """What is drawn for figures that are planned together."""

    run: str
    model: str
    """Empty where several models' answers are asked about together."""
    units: tuple[tuple[str, str], ...]
    """Task and id."""
    strata: tuple[str, ...]
    draw: Draw

    @property
    def chosen(self) -> list[tuple[str, str]]:
        """Units that are asked about now."""
        return [unit for unit, taken in zip(self.units, self.draw.chosen, strict=True) if taken]


class AskingPlan(ShownTables, Struct, frozen=True, kw_only=True, eq=False):
    """What to ask people next."""

    kind: Kind
    figures: tuple[PlannedFigure, ...]
    draws: tuple[UnitDraw, ...]
    runs: tuple[Run, ...]
    half_width: float
    by: tuple[str, ...]
    seed: int
    protocol: Protocol | None = None
    pack: Path | None = None
    key: Path | None = None

    def tables(self) -> list[Table]:
        """What is known of each figure, what is needed, and what to ask now."""
        from vivant.analysis.correction.judge_plan_table import build_plan_table

        return [build_plan_table(self)]


def plan_people(
    runs: Sequence[Run],
    sources: Sequence[str | Path] = (),
    *,
    half_width: float,
    count: int | None = None,
    by: Sequence[str] = (),
    pairs: bool = False,
    labels: bool = False,
    protocol: Protocol | None = None,
    seed: int = 0,
) -> AskingPlan:
    """Plan people's judgements of judged runs.

    Args:
        runs: judged runs; two of them with `pairs`, one with `labels`.
        sources: what people have judged so far, as for a correction.
        half_width: half of the interval that one wants, in hundredths of the scale.
        count: ask about so many answers per figure now, whatever the interval.
        by: facets whose values are strata.
        pairs: ask which of two runs' answers is better.
        labels: ask for labels of reasoning.
        protocol: `paper` or `strict`.
        seed: of the draw.
    """
    if pairs and labels:
        raise UsageError("Choose one of --pairs and --labels")
    kind: Kind = "pairs" if pairs else "labels" if labels else "ratings"
    people = _load_kind(sources, kind)
    if people is not None:
        figures = join_people(runs, people, protocol)
    elif pairs:
        if len(runs) != 2:
            raise UsageError("--pairs plans comparisons of two runs; name two")
        folders = frozenset(run.dir.path.resolve() for run in runs)
        figures = join_pairs(runs, PairPreferences("", folders, {}), protocol)
    elif labels:
        if len(runs) != 1:
            raise UsageError("--labels plans labels of one run; name one")
        figures = join_labels(runs, protocol, people=(), need_people=False)
    else:
        figures = join_ratings(runs, HumanScores(file="", scores={}, annotators={}), protocol)
    if labels:  # a label that nobody ever gave has no share to be known better
        figures = [figure for figure in figures if any(figure.judged) or np.nansum(figure.people) > 0]
    groups: dict[tuple[str, str], list[JudgedScores]] = {}
    for figure in figures:
        name = (figure.run, figure.task) if kind == "ratings" else (figure.run, "")
        groups.setdefault(name, []).append(figure)
    return _plan(kind, list(groups.values()), runs, half_width, count, by, seed, protocol)


def plan_comments(
    pack: Path,
    key: Path,
    sources: Sequence[str | Path] = (),
    *,
    half_width: float,
    count: int | None = None,
    by: Sequence[str] = (),
    seed: int = 0,
) -> AskingPlan:
    """Plan people's judgements of a blind pack that a judge model has judged (`vivant mimic judge`).

    Args:
        pack: the folder of the pack; the judge's file lies beside it.
        key: the pack's sealed key.
        sources: blind-comments studies of the pack that people have answered.
        half_width: half of the interval that one wants, in hundredths of the scale: 3 is ± 0.15 of 5.
        count: ask about so many videos now, whatever the interval.
        by: `platform`, `language` or both, whose values are strata.
        seed: of the draw.
    """
    opened = Pack(pack)
    authors = list_authors(opened, open_key(key, opened))
    people = _load_kind(sources, "comments")
    panels: list[CommentPanel] = find_judge_panels(pack, opened.header.pack)
    chances: dict[str, float] = {}
    if isinstance(people, PeopleComments):
        if people.pack != opened.header.pack:
            raise UsageError(f"{people.source} is a study of another pack than {pack}")
        panels += [panel for panel in people.panels if panel.judges.kind == "people"]
        chances = dict(people.probabilities)
    figures = join_comments(opened.header.pack, authors, panels, chances, need_people=False)
    plan = _plan("comments", [figures], (), half_width, count, by, seed, None)
    return msgspec.structs.replace(plan, pack=pack, key=key)


def _load_kind(sources: Sequence[str | Path], kind: Kind) -> PeopleSource | None:
    if not sources:
        return None
    people = load_people(sources)
    expected, words = _SOURCES[kind]
    if not isinstance(people, expected):
        raise UsageError(f"--people must hold {words}")
    return people


def _plan(
    kind: Kind,
    groups: Sequence[Sequence[JudgedScores]],
    runs: Sequence[Run],
    half_width: float,
    count: int | None,
    by: Sequence[str],
    seed: int,
    protocol: Protocol | None,
) -> AskingPlan:
    planned = [_plan_group(kind, figures, half_width, count, by, seed) for figures in groups]
    return AskingPlan(
        kind=kind,
        figures=tuple(figure for figures, _ in planned for figure in figures),
        draws=tuple(draw for _, draw in planned),
        runs=tuple(runs),
        half_width=half_width,
        by=tuple(by),
        seed=seed,
        protocol=protocol,
    )


def _plan_group(
    kind: Kind,
    figures: Sequence[JudgedScores],
    half_width: float,
    count: int | None,
    by: Sequence[str],
    seed: int,
) -> tuple[list[PlannedFigure], UnitDraw]:
    """Assess each figure, and draw units for that which needs most."""
    first = figures[0]
    known = {facet for figure in figures for facets in figure.facets for facet in facets}
    for facet in by:
        if facet not in known:
            raise UsageError(
                f"{first.task} has no facet '{facet}'; it has {', '.join(sorted(known)) or 'none'}"
            )
    places: dict[tuple[str, str], int] = {}
    strata: list[tuple[str, ...]] = []
    rows: list[np.typing.NDArray[np.intp]] = []
    for figure in figures:
        for unit, facets in zip(figure.samples, figure.facets, strict=True):
            if unit not in places:
                places[unit] = len(places)
                strata.append(tuple(facets.get(facet, "") for facet in by))
        rows.append(np.array([places[unit] for unit in figure.samples], np.intp))
    judged, earlier = np.zeros(len(places), bool), np.zeros(len(places))
    squares, numbers = np.zeros(len(places)), np.zeros(len(places))
    assessed: list[PlannedFigure] = []
    new = 0
    for figure, own in zip(figures, rows, strict=True):
        scored = np.isfinite(figure.people)
        judged[own[scored]] = True
        earlier[own] = figure.chances or 0.0
        np.add.at(squares, own, _doubt(figure, scored, [strata[index] for index in own]) ** 2)
        np.add.at(numbers, own, 1)
        planned = _assess(figure, half_width, by)
        assessed.append(planned)
        new = max(new, _count_new(planned, np.unique(own).size, np.unique(own[scored]).size))
    draw = draw_items(
        np.sqrt(squares / numbers),
        strata,
        new if count is None else count,
        judged=judged,
        earlier=earlier if first.chances else None,
        seed=derive_seed(seed, "judge plan", first.run, first.task, first.metric),
    )
    with_new = [
        msgspec.structs.replace(planned, new=int(draw.chosen[own].sum()))
        for planned, own in zip(assessed, rows, strict=True)
    ]
    names = [", ".join(f"{facet}={value}" for facet, value in zip(by, s, strict=True)) for s in strata]
    model = first.model if kind == "ratings" else ""
    return with_new, UnitDraw(run=first.run, model=model, units=tuple(places), strata=tuple(names), draw=draw)


def _count_new(planned: PlannedFigure, units: int, judged: int) -> int:
    """Units to be asked about now for one figure."""
    if planned.pilot:
        return max(0, min(PILOT, units) - judged)
    if planned.gap:  # of what people left out, nothing is known either
        return min(PILOT, units - judged)
    total = planned.precision.total
    narrowest = planned.precision.half_width(total)
    enough = planned.needed or planned.precision.find_count(NEARLY * narrowest) or total
    return max(0, math.ceil(enough * units / total) - judged)


def _assess(figure: JudgedScores, half_width: float, by: Sequence[str]) -> PlannedFigure:
    """What is known of a figure, and what is needed."""
    judge, people = np.array(figure.judged), np.array(figure.people)
    scored = np.isfinite(people)
    pilot = len({c for c, done in zip(figure.clusters, scored, strict=True) if done}) < FEWEST_CLUSTERS
    so_far, gap = None, ""
    if scored.any() and not pilot:
        try:
            so_far = correct_scores([figure])[0]
        except UsageError as error:  # a stratum is missing, which strata of this plan mend
            if not by:
                raise
            gap = str(error)
    correlation = pearson(judge[scored], people[scored]) if scored.sum() > 2 else math.nan
    spread = _measure_spread(people[scored], ddof=1) if scored.sum() > 2 else 0.0
    likely = spread or _measure_spread(judge)
    precision = Precision(
        spread=likely or WIDEST_SPREAD,
        correlation=0.0 if math.isnan(correlation) or correlation < 0 or pilot else correlation,
        total=judge.size,
        design_effect=_design_effect(so_far, spread, int(scored.sum())),
    )
    wanted = half_width / 100
    return PlannedFigure(
        scores=figure,
        pilot=pilot,
        so_far=so_far,
        precision=precision,
        assumed=not likely,
        correlation=None if math.isnan(correlation) else correlation,
        judged=int(scored.sum()),
        needed=precision.find_count(wanted),
        alone=precision.find_count(wanted, with_judge=False),
        gap=gap,
    )


def _measure_spread(values: np.typing.NDArray[np.float64], ddof: int = 0) -> float:
    """The standard deviation; exactly 0 where all values are the same, which rounding alone would not give."""
    return float(values.std(ddof=ddof)) if np.ptp(values) > 0 else 0.0


def _design_effect(so_far: Correction | None, spread: float, scored: int) -> float:
    """What clusters and people add to the variance so far, over independent answers."""
    interval = so_far.result.people_interval if so_far and so_far.result else None
    if interval is None or not spread:
        return 1.0
    independent = Precision(spread=spread, correlation=0.0, total=10**9).half_width(scored)
    return max(1.0, ((interval.high - interval.low) / 2 / independent) ** 2)


def _doubt(
    figure: JudgedScores, scored: np.typing.NDArray[np.bool_], strata: Sequence[tuple[str, ...]]
) -> np.typing.NDArray[np.float64]:
    """How far people may be from the judge on each answer: its stratum's misses so far, and the judge's own spread."""
    gap = np.array(figure.people) - np.array(figure.judged)
    usual = float(gap[scored].std()) if scored.sum() > 2 else 0.25
    doubt = np.full(gap.size, usual or 0.05)
    for stratum in set(strata):
        members = np.array([name == stratum for name in strata])
        own = gap[members & scored]
        if own.size > 4:  # drawn half-way to the usual, which a handful of answers cannot outweigh
            doubt[members] = (own.size * float(own.std()) + 10 * (usual or 0.05)) / (own.size + 10)
    combined: np.typing.NDArray[np.float64] = np.sqrt(doubt**2 + np.array(figure.spreads) ** 2)
    return combined
