"""Studies as `vivant` uses them: the entry point of the group `vivant.people`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from vivant.analysis.correction.asking_plan import read_chances, read_plan, read_probabilities
from vivant.analysis.correction.comments import CommentOrigin, CommentPanel
from vivant.analysis.correction.pairs import PairPreference, PairPreferences
from vivant.analysis.correction.people import PeopleComments, PeopleLabels, PeopleSource
from vivant.analysis.correction.people_files import find_judge_panels
from vivant.benchmarks.mimic.judgements import Judges
from vivant.benchmarks.mimic.packs import Pack
from vivant.core.errors import DataError, UsageError
from vivant.core.types import Sample
from vivant.hooks import FreeAnswer
from vivant.judging.human_scores import HumanScores
from vivant_study.export.native import (
    asks_for_labels,
    find_scale,
    list_label_rows,
    list_pack_judgements,
    list_scores,
)
from vivant_study.make import StudyDraft, StudySpec, make_study
from vivant_study.make.items import PACK, RUN, SAMPLE
from vivant_study.results import StudyResults, load_results

_UNFIT = {
    "sliders": "has people move sliders, whose scale from {low:g} to {high:g} does not fit the judge's",
    "best-worst": "has people name the best and the worst of several answers, which no judge here does",
}
"""Why a kind of study does not correct a judge, where it is of answers and not of questions."""


def make(folder: Path, **settings: Any) -> StudyDraft:
    """Write a study; `settings` are the fields of `StudySpec`."""
    return make_study(folder, StudySpec(**settings))


def read_free_answers(folder: Path) -> list[FreeAnswer] | None:
    """Return what people wrote in a study; None if nobody has opened it yet."""
    if not (folder / "study.db").is_file():
        return None
    results = load_results(folder)
    answers: list[FreeAnswer] = []
    for judgement in results.iter_counted():
        if judgement.page == "free" and isinstance(judgement.answer, str):
            sample = results.key_line(judgement.item).extra.get(SAMPLE)
            name = msgspec.convert(sample, Sample).id if sample else ""
            answers.append(FreeAnswer(name, judgement.answer))
    return answers


def load(folder: Path, database: str | None = None) -> PeopleSource:
    """Return the judgements in a study, as a correction of judges takes them.

    Args:
        folder: The study.
        database: Where its store lies, if not in its folder.
    """
    collected = load_results(folder, database)
    kind = collected.loaded.study.kind
    if kind == "rating":
        return _read_ratings(collected)
    if kind == "pairwise":
        return _read_preferences(collected)
    if kind == "blind-comments":
        return _read_comments(collected)
    if asks_for_labels(collected):
        label_rows = tuple((str(folder), row) for row in list_label_rows(collected))
        if not label_rows:
            raise DataError(f"{folder}: nobody has given a label yet")
        return PeopleLabels(source=str(folder), rows=label_rows, probabilities=read_chances(folder))
    low, high = find_scale(collected.loaded.study)
    reason = _UNFIT.get(kind, "asks people the questions themselves").format(low=low, high=high)
    raise UsageError(
        f"{folder} {reason} ({kind}); judges are corrected by studies "
        "of the kinds rating, pairwise and blind-comments, and by labels (vivant judge plan --labels)"
    )


def _read_ratings(collected: StudyResults) -> HumanScores:
    scores: dict[tuple[str, str], list[float]] = {}
    annotators: dict[tuple[str, str], list[str]] = {}
    for name, score, model, annotator in list_scores(collected):
        scores.setdefault((name, model), []).append(score)
        annotators.setdefault((name, model), []).append(annotator)
    if not scores:
        raise DataError(f"{collected.loaded.path}: nobody has finished a rating yet")
    return HumanScores(
        file=str(collected.loaded.path),
        scores=scores,
        annotators=annotators,
        scale=find_scale(collected.loaded.study),
        probabilities=read_probabilities(collected.loaded.path),
    )


def _read_preferences(collected: StudyResults) -> PairPreferences:
    by_sample: dict[tuple[str, str], list[PairPreference]] = {}
    runs: set[Path] = set()
    for judgement in collected.iter_counted():
        if judgement.page != "pair" or judgement.answer not in ("first", "second", "tie"):
            continue
        extra = collected.key_line(judgement.item).extra
        sample, folders = extra.get(SAMPLE, {}), extra.get(RUN, {})
        parts = [part.id for part in collected.items[judgement.item].parts]
        runs.update(Path(folder) for folder in folders.values())
        preferred = None
        if judgement.answer != "tie":
            preferred = Path(folders[parts[0 if judgement.answer == "first" else 1]])
        by_sample.setdefault((sample["task"], sample["id"]), []).append(
            PairPreference(judgement.annotator, preferred)
        )
    if not by_sample:
        raise DataError(f"{collected.loaded.path}: nobody has compared a pair yet")
    folder = collected.loaded.path
    return PairPreferences(str(folder), frozenset(runs), by_sample, read_chances(folder))


def _read_comments(collected: StudyResults) -> PeopleComments:
    folder, study = collected.loaded.path, collected.loaded.study
    sources = {
        part: (source, line.item) for line in collected.key.values() for part, source in line.sources.items()
    }
    packs = {str(line.extra[PACK]) for line in collected.key.values() if PACK in line.extra}
    if not sources or len(packs) != 1:
        raise DataError(
            f"{folder} does not know who wrote the comments; score the pack with its key instead: "
            "vivant mimic score PACK PEOPLE.jsonl JUDGE.jsonl --key KEY"
        )
    pack = packs.pop()
    panels = find_judge_panels(Path(study.origin), pack)
    facets = {video.video: video.facets for video in Pack(Path(study.origin)).videos()}
    people = CommentPanel(Judges(pack=pack, kind="people", name="people"), list_pack_judgements(collected))
    return PeopleComments(
        source=str(folder),
        pack=pack,
        authors={part: CommentOrigin(*origin, facets.get(origin[1], {})) for part, origin in sources.items()},
        panels=(people, *panels),
        probabilities={answer.id: answer.probability for answer in read_plan(folder)},
    )
