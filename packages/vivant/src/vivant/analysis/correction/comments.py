"""MIMIC-Bench's blind packs: the share judged human and the realism of each source, by a judge model and by people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import pstdev

from msgspec import Struct

from vivant.analysis.correction.judged_scores import Correction, JudgedScores, correct_scores
from vivant.benchmarks.mimic import names
from vivant.benchmarks.mimic.judgements import MAX_REALISM, CommentJudgement, Judges, read_judgements
from vivant.benchmarks.mimic.packs import Key, Pack
from vivant.core.errors import UsageError


class CommentPanel(Struct, frozen=True):
    """Whose judgements, and which."""

    judges: Judges
    judgements: Sequence[CommentJudgement]


class CommentOrigin(Struct, frozen=True):
    """Who wrote a comment, and under which video."""

    source: str
    video: str
    facets: Mapping[str, str] = {}


def list_authors(pack: Pack, key: Key) -> dict[str, CommentOrigin]:
    """The author of each comment of a pack, from its sealed key."""
    facets = {video.video: video.facets for video in pack.videos()}
    return {
        item: CommentOrigin(key.header.sources[entry.source].name, entry.video, facets.get(entry.video, {}))
        for item, entry in key.entries.items()
    }


def join_comments(
    pack: str,
    authors: Mapping[str, CommentOrigin],
    panels: Sequence[CommentPanel],
    probabilities: Mapping[str, float] | None = None,
    *,
    need_people: bool = True,
) -> list[JudgedScores]:
    """Two figures for each source and judge model. Videos are clusters.

    Args:
        pack: the pack's hash.
        authors: who wrote each comment; comments that it does not name are left out.
        panels: judgements by people and by judge models.
        probabilities: by video, the chance that people had to be asked about it; none: the same for all.
        need_people: refuse where people have judged nothing.
    """
    people: dict[str, list[CommentJudgement]] = {}
    for panel in panels:
        for judgement in panel.judgements if panel.judges.kind == "people" else ():
            people.setdefault(judgement.item, []).append(judgement)
    models = [panel for panel in panels if panel.judges.kind == "model"]
    if (need_people and not people) or not models:
        raise UsageError("A correction needs judgements by people and by a judge model, of the same pack")
    spreads = _measure_spreads(models)
    figures: list[JudgedScores] = []
    for panel in models:
        for source in dict.fromkeys(author.source for author in authors.values()):
            shares, realism = (
                JudgedScores(
                    run=pack[:12],
                    model=source,
                    task=names.format_task(names.MIMICKING),
                    metric=metric,
                    judge=panel.judges.name,
                    scale=scale,
                )
                for metric, scale in (("judged human", 100.0), ("realism", MAX_REALISM))
            )
            for judgement in panel.judgements:
                author = authors.get(judgement.item)
                if author is None or author.source != source:
                    continue
                scored = people.get(judgement.item, ())
                chance = probabilities.get(author.video, 1.0) if probabilities else None
                sample, spread = (shares.task, author.video), spreads[judgement.item]
                verdicts = [(entry.annotator, float(entry.verdict == "human")) for entry in scored]
                own = float(judgement.verdict == "human")
                shares.add(sample, own, verdicts, author.video, author.facets, chance, spread)
                if judgement.realism is not None:
                    rated = [
                        (entry.annotator, entry.realism / MAX_REALISM)
                        for entry in scored
                        if entry.realism is not None
                    ]
                    own = judgement.realism / MAX_REALISM
                    realism.add(sample, own, rated, author.video, author.facets, chance, spread)
            figures += [figure for figure in (shares, realism) if figure.judged]
    return figures


def _measure_spreads(models: Sequence[CommentPanel]) -> dict[str, float]:
    """How far judge models differ on each comment: the standard deviation of their verdicts."""
    verdicts: dict[str, list[float]] = {}
    for panel in models:
        for judgement in panel.judgements:
            verdicts.setdefault(judgement.item, []).append(float(judgement.verdict == "human"))
    return {item: pstdev(values) for item, values in verdicts.items()}


def correct_comments(pack: Pack, key: Key, files: Sequence[Path]) -> list[Correction]:
    """The corrections that files of judgements allow; none where they are by people alone, or by models alone."""
    panels = [CommentPanel(*read_judgements(file, pack)) for file in files]
    if {panel.judges.kind for panel in panels} != {"people", "model"}:
        return []
    return correct_scores(join_comments(pack.header.pack, list_authors(pack, key), panels))
