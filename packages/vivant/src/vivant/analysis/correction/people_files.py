"""Read what people judged, in the form that a correction of judges takes.

A source is a study (its folder), the export of a study, or a file of scores (`human_scores.csv`) or labels.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from vivant.analysis.correction.asking_plan import read_chances
from vivant.analysis.correction.comments import CommentPanel
from vivant.analysis.correction.pairs import PairPreference, PairPreferences
from vivant.analysis.correction.people import PeopleComments, PeopleLabels, PeopleSource
from vivant.analysis.reasoning.people_labels import read_label_rows
from vivant.benchmarks.mimic.judgements import CommentJudgement, read_judgements, read_judges
from vivant.benchmarks.mimic.packs import Pack
from vivant.core.errors import DataError, UsageError
from vivant.hooks import load_people_hook
from vivant.judging.human_scores import HumanScores, merge_scores, read_human_scores

STUDY_FILE = "study.yaml"
"""The file by which a study's folder is known."""
LABELS_FILE = "labels.csv"
"""The labels of reasoning in a study's export."""
Source = TypeVar("Source")
Name = TypeVar("Name")


def load_people(sources: Sequence[str | Path], database: str | None = None) -> PeopleSource:
    """Read what people judged. Several sources of one kind count as one.

    Args:
        sources: studies, exports of studies or files; of several, the one that was planned last comes last.
        database: where the store of a study lies, if not in its folder.
    """
    loaded = [_load_source(Path(source), database) for source in sources]
    if len(loaded) == 1:
        return loaded[0]
    if scores := _all_of(HumanScores, loaded):
        return merge_scores(scores)
    if pairs := _all_of(PairPreferences, loaded):
        return _merge_preferences(pairs)
    if comments := _all_of(PeopleComments, loaded):
        return _merge_comments(comments)
    if labels := _all_of(PeopleLabels, loaded):
        return PeopleLabels(
            source=", ".join(source.source for source in labels),
            rows=tuple(row for source in labels for row in source.rows),
            probabilities=_last(source.probabilities for source in labels),
        )
    raise UsageError(
        "Several sources of people's judgements must be of one kind: ratings, pairs, comments or labels"
    )


def _all_of(kind: type[Source], sources: Sequence[object]) -> list[Source]:
    """All sources, where all are of this kind."""
    chosen = [source for source in sources if isinstance(source, kind)]
    return chosen if len(chosen) == len(sources) else []


def _last(probabilities: Iterable[Mapping[Name, float]]) -> Mapping[Name, float]:
    """Those of the last source that has any: its plan knew the others."""
    return next((entry for entry in reversed(list(probabilities)) if entry), {})


def _merge_preferences(sources: Sequence[PairPreferences]) -> PairPreferences:
    by_sample: dict[tuple[str, str], list[PairPreference]] = {}
    for source in sources:
        for name, preferences in source.by_sample.items():
            by_sample.setdefault(name, []).extend(preferences)
    if len({source.runs for source in sources}) > 1:
        raise DataError(f"{' and '.join(source.source for source in sources)} compare different runs")
    return PairPreferences(
        ", ".join(source.source for source in sources),
        sources[0].runs,
        by_sample,
        _last(source.probabilities for source in sources),
    )


def _merge_comments(sources: Sequence[PeopleComments]) -> PeopleComments:
    first = sources[0]
    if len({source.pack for source in sources}) > 1:
        raise DataError(f"{' and '.join(source.source for source in sources)} are studies of different packs")
    people = [panel for source in sources for panel in source.panels if panel.judges.kind == "people"]
    models = [panel for panel in first.panels if panel.judges.kind == "model"]
    return PeopleComments(
        source=", ".join(source.source for source in sources),
        pack=first.pack,
        authors={item: author for source in sources for item, author in source.authors.items()},
        panels=(*people, *models),
        probabilities=_last(source.probabilities for source in sources),
    )


def _load_source(path: Path, database: str | None) -> PeopleSource:
    if path.is_dir() and not (path / STUDY_FILE).exists() and (path / "human_scores.csv").exists():
        path = path / "human_scores.csv"  # an export
    if path.is_dir() and not (path / STUDY_FILE).exists() and (path / LABELS_FILE).exists():
        rows = tuple(read_label_rows(path / LABELS_FILE))
        return PeopleLabels(source=str(path), rows=rows, probabilities=read_chances(path))
    if path.is_file() and _holds_labels(path):
        return PeopleLabels(source=str(path), rows=tuple(read_label_rows(path)))
    if path.is_file():
        return read_human_scores(path)
    if not (path / STUDY_FILE).exists():
        if not path.exists():
            raise UsageError(f"{path} does not exist")
        raise UsageError(
            f"{path} is neither a study nor a file of people's scores (CSV or JSON lines: id, score[, model, "
            "annotator])"
        )
    people: PeopleSource = load_people_hook().load(path, database)
    return people


def _holds_labels(path: Path) -> bool:
    if path.suffix != ".csv":
        return False
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            columns = next(csv.reader(file), [])
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"Cannot read {path}: {error}") from error
    return {"key", "segment", "label"} <= set(columns)


def find_judge_panels(folder: Path, pack: str) -> list[CommentPanel]:
    """Files of judge models beside the pack, as `vivant mimic judge PACK --out PACK.NAME.jsonl` writes them."""
    panels: list[CommentPanel] = []
    for file in sorted(folder.parent.glob(f"{folder.name}.*.jsonl")):
        try:
            judges = read_judges(file)
        except DataError:  # the key, or another file of the researcher's
            continue
        if judges.kind == "model" and judges.pack == pack:
            judgements: list[CommentJudgement] = read_judgements(file, Pack(folder))[1]
            panels.append(CommentPanel(judges, judgements))
    if not panels:
        raise UsageError(
            f"No judge model's judgements of the pack lie beside it; make them with: vivant mimic judge {folder} "
            f"--judge MODEL --out {folder}.NAME.jsonl"
        )
    return panels
