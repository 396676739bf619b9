"""Labels counted: on what the reasoning of a model rests, and of which kind its wrong answers are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from vivant.analysis.reasoning.kinds import RESTS_ON, find_scheme
from vivant.analysis.reasoning.label_files import LabelledReply, matches_reply, read_labels
from vivant.benchmarks.base import Protocol
from vivant.benchmarks.summary import cluster_of, natural_sort_key
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.records import Record, Score
from vivant.core.types import Sample
from vivant.metrics.intervals import Interval, mean_interval
from vivant.runs.run import Run

OUTCOMES = ("all", "right", "wrong")


class LabelShare(Struct, frozen=True, kw_only=True):
    """How often one label was given."""

    label: str
    count: int
    share: float | None
    interval: Interval | None


class LabelShares(Struct, frozen=True, kw_only=True):
    """The labels of one labeller on one run, or on a group of its replies."""

    run: str
    model: str
    by: str
    tasks: tuple[str, ...]
    group: Mapping[str, str] = field(default_factory=dict)
    replies: int
    labelled: int
    """Segments or answers that have a label."""
    unread: int
    """Replies whose labels could not be read."""
    shares: tuple[LabelShare, ...]
    with_frame: int = 0
    """Of segments that rest on what is seen, those that name a frame."""
    scheme: str = ""


Row = tuple[Sample, Record, Score, LabelledReply]


def group_labelled_rows(
    run: Run, protocol: Protocol, more: Mapping[str, Sequence[LabelledReply]] | None = None
) -> dict[str, list[Row]]:
    """Replies with their labels, by who gave them. Replies that have changed since are an error.

    Args:
        run: the run.
        protocol: `paper` or `strict`.
        more: labels by labeller that are not stored, in place of the stored ones of the same labeller.
    """
    by_labeller: dict[str, list[Row]] = {}
    rows = {
        record.key: (sample, record, score)
        for part in run.scores(protocol)
        for sample, record, score in part.rows
        if record is not None
    }
    for by, labels in {**read_labels(run.dir.path), **(more or {})}.items():
        for labelled in labels:
            if labelled.key not in rows or not matches_reply(labelled, rows[labelled.key][1]):
                raise UsageError(
                    f"{run.name}: the reply {labelled.key} is not the one that {by} labelled; label the "
                    "run again"
                )
            by_labeller.setdefault(by, []).append((*rows[labelled.key], labelled))
    return by_labeller


def count_segment_shares(run: Run, protocol: Protocol) -> list[LabelShares]:
    """On what segments rest: over all replies, over right ones and over wrong ones."""
    shares: list[LabelShares] = []
    for by, rows in group_labelled_rows(run, protocol).items():
        for outcome in OUTCOMES:
            chosen = [row for row in rows if row[3].segments and _is(row[2], outcome)]
            if chosen:
                shares.append(_segments(run, by, outcome, chosen))
    return shares


def _is(score: Score, outcome: str) -> bool:
    right = score.value is not None and score.value >= 0.5
    return outcome == "all" or right == (outcome == "right")


def _segments(run: Run, by: str, outcome: str, rows: Sequence[Row]) -> LabelShares:
    labels = [
        (cluster_of(sample), label.rests_on, label.frame)
        for sample, _, _, labelled in rows
        for label in labelled.segments
        if label.rests_on
    ]
    return LabelShares(
        run=run.name,
        model=run.model,
        by=by,
        tasks=tuple(dict.fromkeys(row[3].task for row in rows)),
        group={"replies": outcome},
        replies=len(rows),
        labelled=len(labels),
        unread=sum(bool(row[3].unread) for row in rows),
        shares=_shares(RESTS_ON, [(cluster, label) for cluster, label, _ in labels]),
        with_frame=sum(label == "seen" and frame > 0 for _, label, frame in labels),
    )


def count_kind_shares(run: Run, protocol: Protocol, by_facets: Sequence[str] = ()) -> list[LabelShares]:
    """Of which kind answers are, whole or by facets."""
    shares: list[LabelShares] = []
    for by, rows in group_labelled_rows(run, protocol).items():
        for scheme in dict.fromkeys(row[3].scheme for row in rows if row[3].scheme):
            chosen = [row for row in rows if row[3].scheme == scheme]
            facets = {facet for row in chosen for facet in row[0].facets}
            for facet in by_facets:
                if facet not in facets:
                    raise unknown_name_error("facet", facet, facets)
            groups: dict[tuple[str, ...], list[Row]] = {}
            for row in chosen:
                groups.setdefault(tuple(row[0].facets.get(facet, "") for facet in by_facets), []).append(row)
            shares += [
                _kinds(run, by, scheme, dict(zip(by_facets, key, strict=True)), groups[key])
                for key in sorted(groups, key=lambda values: [natural_sort_key(value) for value in values])
            ]
    return shares


def _kinds(run: Run, by: str, scheme: str, group: Mapping[str, str], rows: Sequence[Row]) -> LabelShares:
    labels = [(cluster_of(sample), labelled.kind) for sample, _, _, labelled in rows if labelled.kind]
    return LabelShares(
        run=run.name,
        model=run.model,
        by=by,
        tasks=tuple(dict.fromkeys(row[3].task for row in rows)),
        group=group,
        replies=len(rows),
        labelled=len(labels),
        unread=sum(bool(row[3].unread) for row in rows),
        shares=_shares(find_scheme("", scheme).kinds, labels),
        scheme=scheme,
    )


def _shares(names: Iterable[str], labels: Sequence[tuple[str, str]]) -> tuple[LabelShare, ...]:
    clusters = [cluster for cluster, _ in labels]
    shares: list[LabelShare] = []
    for name in names:
        values = [float(label == name) for _, label in labels]
        shares.append(
            LabelShare(
                label=name,
                count=int(sum(values)),
                share=sum(values) / len(values) if values else None,
                interval=mean_interval(values, clusters, binary=True),
            )
        )
    return tuple(shares)
