"""Labels counted: on what the reasoning of a model rests, and of which kind its wrong answers are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from vivant.analysis.reasoning.kinds import RESTS_ON, scheme_for
from vivant.analysis.reasoning.store import Labelled, fits, read_labels
from vivant.benchmarks.base import Protocol
from vivant.benchmarks.summary import cluster_of, natural
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.types import Record, Sample, Score
from vivant.metrics.intervals import Interval, mean_interval
from vivant.runs.run import Run

OUTCOMES = ("all", "right", "wrong")


class Share(Struct, frozen=True, kw_only=True):
    """How often one label was given."""

    label: str
    count: int
    share: float | None
    interval: Interval | None


class Shares(Struct, frozen=True, kw_only=True):
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
    shares: tuple[Share, ...]
    with_frame: int = 0
    """Of segments that rest on what is seen, those that name a frame."""
    scheme: str = ""


Row = tuple[Sample, Record, Score, Labelled]


def labelled_rows(run: Run, protocol: Protocol) -> dict[str, list[Row]]:
    """Replies with their labels, by who gave them. Replies that have changed since are an error."""
    found: dict[str, list[Row]] = {}
    rows = {
        record.key: (sample, record, score)
        for part in run.scores(protocol)
        for sample, record, score in part.rows
        if record is not None
    }
    for by, labels in read_labels(run.dir.path).items():
        for labelled in labels:
            if labelled.key not in rows or not fits(labelled, rows[labelled.key][1]):
                raise UsageError(
                    f"{run.name}: the reply {labelled.key} is not the one that {by} labelled; label the run again"
                )
            found.setdefault(by, []).append((*rows[labelled.key], labelled))
    return found


def segment_shares(run: Run, protocol: Protocol) -> list[Shares]:
    """On what segments rest: over all replies, over right ones and over wrong ones."""
    found: list[Shares] = []
    for by, rows in labelled_rows(run, protocol).items():
        for outcome in OUTCOMES:
            own = [row for row in rows if row[3].segments and _is(row[2], outcome)]
            if own:
                found.append(_segments(run, by, outcome, own))
    return found


def _is(score: Score, outcome: str) -> bool:
    right = score.value is not None and score.value >= 0.5
    return outcome == "all" or right == (outcome == "right")


def _segments(run: Run, by: str, outcome: str, rows: Sequence[Row]) -> Shares:
    labels = [
        (cluster_of(sample), label.rests_on, label.frame)
        for sample, _, _, labelled in rows
        for label in labelled.segments
        if label.rests_on
    ]
    return Shares(
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


def kind_shares(run: Run, protocol: Protocol, by_facets: Sequence[str] = ()) -> list[Shares]:
    """Of which kind answers are, whole or by facets."""
    found: list[Shares] = []
    for by, rows in labelled_rows(run, protocol).items():
        for scheme in dict.fromkeys(row[3].scheme for row in rows if row[3].scheme):
            own = [row for row in rows if row[3].scheme == scheme]
            known = {facet for row in own for facet in row[0].facets}
            for facet in by_facets:
                if facet not in known:
                    raise unknown_name_error("facet", facet, known)
            groups: dict[tuple[str, ...], list[Row]] = {}
            for row in own:
                groups.setdefault(tuple(row[0].facets.get(facet, "") for facet in by_facets), []).append(row)
            found += [
                _kinds(run, by, scheme, dict(zip(by_facets, key, strict=True)), groups[key])
                for key in sorted(groups, key=lambda values: [natural(value) for value in values])
            ]
    return found


def _kinds(run: Run, by: str, scheme: str, group: Mapping[str, str], rows: Sequence[Row]) -> Shares:
    labels = [(cluster_of(sample), labelled.kind) for sample, _, _, labelled in rows if labelled.kind]
    return Shares(
        run=run.name,
        model=run.model,
        by=by,
        tasks=tuple(dict.fromkeys(row[3].task for row in rows)),
        group=group,
        replies=len(rows),
        labelled=len(labels),
        unread=sum(bool(row[3].unread) for row in rows),
        shares=_shares(scheme_for("", scheme).kinds, labels),
        scheme=scheme,
    )


def _shares(names: Iterable[str], labels: Sequence[tuple[str, str]]) -> tuple[Share, ...]:
    clusters = [cluster for cluster, _ in labels]
    found: list[Share] = []
    for name in names:
        values = [float(label == name) for _, label in labels]
        found.append(
            Share(
                label=name,
                count=int(sum(values)),
                share=sum(values) / len(values) if values else None,
                interval=mean_interval(values, clusters, binary=True),
            )
        )
    return tuple(found)
