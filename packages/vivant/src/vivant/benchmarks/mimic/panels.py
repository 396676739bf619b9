"""Judgements + key → figures: how often each source passes as human, how real it reads, how far judges agree.

People and each judge model are a panel of their own; no figure is taken over two panels.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant import mini
from vivant.benchmarks.mimic import names
from vivant.benchmarks.mimic.judgements import MAX_REALISM, CommentJudgement, Judges, read_judgements
from vivant.benchmarks.mimic.packs import Key, Pack
from vivant.core.errors import DataError, UsageError
from vivant.metrics.agreement import fleiss_kappa, krippendorff_alpha, percent_agreement
from vivant.metrics.intervals import Interval
from vivant.metrics.two_way import number_groups, two_way_interval

Column = NDArray[np.float64]
Numbers = NDArray[np.intp]


class JudgedSource(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one source did before one panel."""

    source: str
    kind: str
    """`human` or `model`."""
    comments: int
    """Comments of this source that were judged at least once."""
    unjudged: int
    judgements: int
    human: float | None = None
    """Percent of judgements that say human."""
    human_interval: Interval | None = None
    realism: float | None = None
    """Mean, 0 to 5."""
    realism_interval: Interval | None = None
    rated: int = 0
    """Judgements that give realism."""
    run: str = ""
    """The run that wrote the comments, and its fingerprint; files of earlier versions lack them."""
    fingerprint: str = ""


class PanelAgreement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far the annotators of one panel agree; None where nothing was judged twice, or nothing varies."""

    percent: float | None
    """Percent of pairs of judgements of the same comment with the same verdict."""
    alpha: float | None
    """Krippendorff's, of the verdict."""
    kappa: float | None
    """Fleiss', over the comments that have the most frequent number of judgements."""
    kappa_items: int
    realism_alpha: float | None
    """Krippendorff's, interval level."""
    items: int
    """Comments judged at least twice."""


class Panel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One group of judges: people, or one judge model."""

    name: str
    kind: str
    annotators: int
    judgements: int
    sources: tuple[JudgedSource, ...]
    agreement: PanelAgreement
    unparsed: int = 0
    """Verdicts of a judge model that could not be read."""
    failed: int = 0
    """Verdicts that it did not give."""
    caveat: str = ""


class PackOutcome(Struct, frozen=True, kw_only=True):
    """All panels of a pack: what `vivant mimic score --out` writes."""

    pack: str
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()
    mini: bool = False
    """Whether the videos are those of the bundled mini-edition, which no published figure was measured on."""


def compute_outcome(pack: Pack, key: Key, files: Sequence[Path]) -> PackOutcome:
    """Read files of judgements, put those of the same judges together, and compute every panel."""
    panels: dict[tuple[str, str], tuple[list[Judges], dict[tuple[str, str], CommentJudgement]]] = {}
    notes: list[str] = []
    for file in files:
        judges, judgements = read_judgements(file, pack)
        heads, by_item = panels.setdefault((judges.kind, judges.name), ([], {}))
        if heads and judges.kind == "model" and judges.settings != heads[0].settings:
            raise UsageError(
                f"{file}: {judges.name} judged with other settings than in the file before; score them apart"
            )
        heads.append(judges)
        before = len(by_item)
        by_item |= {(j.annotator, j.item): j for j in judgements}
        replaced = before + len(judgements) - len(by_item)
        if replaced:
            notes.append(
                f"{file}: {replaced} judgements replace earlier ones of the same annotator and comment"
            )
    if not panels:
        raise UsageError("Name at least one file of judgements")
    results = [
        _compute_panel(heads, list(by_item.values()), key)
        for (kind, _), (heads, by_item) in sorted(panels.items(), key=lambda entry: entry[0][0] != "people")
    ]
    return PackOutcome(
        pack=pack.header.pack,
        panels=tuple(results),
        notes=tuple(notes),
        mini=mini.is_bundled(pack.header.root, names.BENCHMARK),
    )


def _compute_panel(heads: Sequence[Judges], judgements: Sequence[CommentJudgement], key: Key) -> Panel:
    unknown_items = [j.item for j in judgements if j.item not in key.entries]
    if unknown_items:
        raise DataError(
            f"{len(unknown_items)} judged items are not in the key, the first is {unknown_items[0]}"
        )
    entries = [key.entries[j.item] for j in judgements]
    items = number_groups([j.item for j in judgements])
    videos = number_groups([entry.video for entry in entries])
    annotators = number_groups([j.annotator for j in judgements])
    sources = np.array([entry.source for entry in entries], np.intp)
    verdicts = np.array([j.verdict == "human" for j in judgements], np.float64)
    realism = np.array([math.nan if j.realism is None else j.realism for j in judgements], np.float64)
    totals = Counter(entry.source for entry in key.entries.values())
    rows = []
    for index, source in enumerate(key.header.sources):
        mask = sources == index
        comments = len(np.unique(items[mask]))
        rows.append(
            JudgedSource(
                source=source.name,
                kind=source.kind,
                comments=comments,
                unjudged=totals[index] - comments,
                judgements=int(mask.sum()),
                run=source.run,
                fingerprint=source.fingerprint,
                **_compute_means(verdicts[mask], realism[mask], videos[mask], annotators[mask]),
            )
        )
    return Panel(
        name=heads[0].name,
        kind=heads[0].kind,
        annotators=int(annotators.max(initial=-1)) + 1,
        judgements=len(judgements),
        sources=tuple(rows),
        agreement=compute_agreement(items, verdicts, realism),
        unparsed=sum(head.unparsed for head in heads),
        failed=sum(head.failed for head in heads),
        caveat=heads[0].caveat,
    )


def _compute_means(verdicts: Column, realism: Column, videos: Numbers, annotators: Numbers) -> dict[str, Any]:
    if not verdicts.size:
        return {}
    share = two_way_interval(verdicts, videos, annotators, binary=True)
    rated = ~np.isnan(realism)
    real = two_way_interval(realism[rated], videos[rated], annotators[rated], binary=False)
    if real:  # a scale has ends, Student's t has none
        real = Interval(max(real.low, 0.0), min(real.high, MAX_REALISM), real.method)
    return {
        "human": float(verdicts.mean()) * 100,
        "human_interval": share.scale(100) if share else None,
        "realism": float(realism[rated].mean()) if rated.any() else None,
        "realism_interval": real,
        "rated": int(rated.sum()),
    }


def compute_agreement(items: Numbers, verdicts: Column, realism: Column) -> PanelAgreement:
    """Agreement over comments that were judged more than once."""
    sizes = np.bincount(items) if items.size else np.zeros(0, np.intp)
    usual = Counter(sizes[sizes >= 2].tolist()).most_common(1)
    alike = (sizes == usual[0][0]) if usual else np.zeros_like(sizes, bool)
    mask = alike[items] if items.size else np.zeros(0, bool)
    percent = percent_agreement(items, verdicts)
    return PanelAgreement(
        percent=_none_if_nan(percent * 100),
        alpha=_none_if_nan(krippendorff_alpha(items, verdicts)),
        kappa=_none_if_nan(fleiss_kappa(items[mask], verdicts[mask])) if usual else None,
        kappa_items=int(alike.sum()),
        realism_alpha=_none_if_nan(krippendorff_alpha(items, realism, "interval")),
        items=int((sizes >= 2).sum()),
    )


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else value
