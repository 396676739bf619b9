"""Tables of labels: on what models' reasoning rests, and of which kind their wrong answers are."""

from __future__ import annotations

from collections.abc import Sequence

from vivant.analysis.reasoning.kinds import RESTS_ON, find_scheme
from vivant.analysis.reasoning.shares import LabelShare, LabelShares, count_kind_shares, count_segment_shares
from vivant.benchmarks.base import Protocol
from vivant.core.errors import UsageError
from vivant.core.table import Cell, Row, Table
from vivant.reporting.robustness import format_span
from vivant.runs.run import Run, choose_common_protocol


def build_reasoning_tables(
    runs: Sequence[Run], protocol: Protocol | None = None, by: Sequence[str] = ()
) -> list[Table]:
    """What has been labelled in these runs: segments, kinds, or both."""
    protocol = choose_common_protocol(runs, protocol)
    segments = [shares for run in runs for shares in count_segment_shares(run, protocol)]
    kinds = [shares for run in runs for shares in count_kind_shares(run, protocol, by)]
    if not segments and not kinds:
        raise UsageError(
            "None of these runs is labelled yet: name a judge with --judge, or give people's labels with --labels"
        )
    tables = [_segment_table(segments, protocol)] if segments else []
    schemes = dict.fromkeys(shares.scheme for shares in kinds)
    return tables + [
        _kind_table(scheme, [shares for shares in kinds if shares.scheme == scheme], by, protocol)
        for scheme in schemes
    ]


def _percent(share: LabelShare) -> float | None:
    return None if share.share is None else share.share * 100


def _segment_table(all_shares: Sequence[LabelShares], protocol: Protocol) -> Table:
    columns = ["model", "replies", "labelled by"]
    for name in RESTS_ON:
        columns += [f"{name} %", f"{name} 95 %"]
    columns += ["frame named", "segments", "n", "unread", "run"]
    body: list[tuple[Cell, ...]] = []
    for shares in all_shares:
        figures: list[Cell] = []
        for share in shares.shares:
            figures += [_percent(share), format_span(share.interval, 100)]
        cells = (shares.model, shares.group["replies"], shares.by, *figures)
        body.append((*cells, shares.with_frame, shares.labelled, shares.replies, shares.unread, shares.run))
    return Table(
        title=f"What the reasoning rests on, protocol {protocol}",
        columns=tuple(columns),
        body=tuple(body),
        rows=tuple(row for shares in all_shares for row in _rows(shares, "rests on", protocol)),
        notes=(
            "Shares of segments; those of one reply, and replies on one video, count as a cluster. Text: the words "
            "of question and options. Seen: what is shown. Frame named: segments on what is seen that name a frame.",
            "Labels of a judge rest on the reply alone: it sees no frame, so “seen” means that the model says so.",
        ),
    )


def _kind_table(name: str, all_shares: Sequence[LabelShares], by: Sequence[str], protocol: Protocol) -> Table:
    scheme = find_scheme("", name)
    body: list[tuple[Cell, ...]] = []
    rules: list[int] = []
    for shares in all_shares:
        rules.append(len(body))
        head = (shares.model, *(shares.group.get(facet, "") for facet in by), shares.by)
        tail = (shares.labelled, shares.unread)
        body += [
            (*head, s.label, s.count, _percent(s), format_span(s.interval, 100), *tail) for s in shares.shares
        ]
    for column, counts in scheme.published.items():
        rules.append(len(body))
        total = sum(counts.values())
        for kind, count in counts.items():
            facets = [""] * len(by)
            body.append((column, *facets, "published", kind, count, count / total * 100, "–", total, None))
    what = "answers" if scheme.right_too else "wrong answers"
    notes = [f"Shares of {what} that have a label; unread: those that the judge's reply gave none for."]
    if scheme.published:
        notes.append(f"Published: {scheme.source}.")
    return Table(
        title=f"Kinds of {what} ({name}), protocol {protocol}",
        columns=("model", *by, "labelled by", "kind", "count", "%", "95 % interval", "n", "unread"),
        body=tuple(body),
        rows=tuple(row for shares in all_shares for row in _rows(shares, "kind", protocol)),
        rules=tuple(rules[1:]),
        notes=tuple(notes),
    )


def _rows(shares: LabelShares, facet: str, protocol: Protocol) -> list[Row]:
    return [
        Row(
            run=shares.run,
            benchmark=shares.tasks[0].partition("/")[0],
            task=" + ".join(shares.tasks),
            group={**shares.group, facet: share.label, "labelled by": shares.by},
            metric="share of segments" if facet == "rests on" else "share of answers",
            value=_percent(share),
            n=shares.labelled,
            errors=0,
            unparsed=shares.unread,
            interval=(share.interval.low * 100, share.interval.high * 100) if share.interval else None,
            interval_method=share.interval.method if share.interval else "",
            model=shares.model,
            protocol=protocol,
        )
        for share in shares.shares
    ]
