"""Tables of how firm a score is: asked again, asked in other orders, asked without what should matter."""

from __future__ import annotations

from collections.abc import Sequence

from vivant.analysis.controls import CONTROL_LABELS, ControlEffect, measure_controls
from vivant.analysis.permutations import PermutationSummary, summarise_permutations, was_permuted
from vivant.analysis.repeats import RepeatSummary, summarise_repeats
from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol, ScoredRun
from vivant.core.errors import UsageError
from vivant.core.table import Cell, Row, Table
from vivant.metrics.intervals import Interval
from vivant.report.comparison import format_interval, format_p
from vivant.report.overview import score_runs
from vivant.runs.run import Run


def _row(
    run: ScoredRun,
    metric: str,
    value: float | None,
    n: int,
    interval: Interval | None = None,
    scale: float | None = None,
    **more: object,
) -> Row:
    factor = registry.of_task(run.task).task(run.task).scale if scale is None else scale
    scaled = interval.scaled(factor) if interval else None
    fields = {"group": {}, **more}
    return Row(
        run=run.run,
        benchmark=run.task.partition("/")[0],
        task=run.task,
        metric=metric,
        value=None if value is None else value * factor,
        n=n,
        errors=sum(score.status == "missing" for _, _, score in run.rows),
        unparsed=sum(score.status == "unparsed" for _, _, score in run.rows),
        interval=(scaled.low, scaled.high) if scaled else None,
        interval_method=scaled.method if scaled else "",
        model=run.model,
        style=run.style,
        protocol=run.protocol,
        **fields,  # type: ignore[arg-type]
    )


def format_span(interval: Interval | None, scale: float) -> str:
    """Both ends of an interval as a cell."""
    return f"{interval.low * scale:.1f} – {interval.high * scale:.1f}" if interval else "–"


# ── repeats ──────────────────────────────────────────────────────────────────────────────────────


def build_repeats_table(
    runs: Sequence[Run], protocol: Protocol = "paper", where: Sequence[str] = ()
) -> Table:
    """One line per run and task: mean, spread between repeats, pass@k, agreement of answers."""
    found = [
        summarise_repeats(part, registry.of_task(part.task)) for part in score_runs(runs, protocol, where)
    ]
    steps = sorted({k for one in found for k in one.passes if k > 1})
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for one in found:
        scale = registry.of_task(one.run.task).task(one.run.task).scale
        spread = None if one.spread is None else one.spread * scale
        body.append(
            (
                one.run.model,
                one.run.task,
                one.questions,
                one.repeats,
                one.value * scale,
                format_span(one.interval, scale),
                spread,
                f"{min(one.means) * scale:.1f} – {max(one.means) * scale:.1f}",
                *(one.passes[k] * 100 if k in one.passes else None for k in steps),
                None if one.always is None else one.always * 100,
                one.same * 100,
                one.run.run,
            )
        )
        rows += _repeat_rows(one)
    return Table(
        title=f"Repeats, protocol {protocol}",
        columns=("model", "task", "questions", "repeats", "score", "95 % interval", "sd of repeats",
                 "lowest – highest", *(f"pass@{k}" for k in steps), "right every time", "same answer",
                 "run"),
        body=tuple(body),
        rows=tuple(rows),
        notes=(
            "The repeats of a sample count as one cluster: asking more often does not narrow the interval of "
            "a score as more samples would.",
            "sd of repeats: standard deviation of the scores of single repeats. pass@k: how likely one of k "
            "replies is right. Same answer: share of pairs of replies to a question that agree.",
        ),
    )  # fmt: skip


def _repeat_rows(one: RepeatSummary) -> list[Row]:
    run, n = one.run, one.questions
    rows = [
        _row(run, "mean of repeats", one.value, n, one.interval),
        _row(run, "sd of repeats", one.spread, n),
        _row(run, "same answer", one.same, n, scale=100.0),
    ]
    rows += [_row(run, f"pass@{k}", value, n, scale=100.0) for k, value in one.passes.items()]
    if one.always is not None:
        rows.append(_row(run, "right every time", one.always, n, scale=100.0))
    return rows


# ── orders ───────────────────────────────────────────────────────────────────────────────────────


def build_permutation_tables(
    runs: Sequence[Run], protocol: Protocol = "paper", where: Sequence[str] = ()
) -> list[Table]:
    """How a score holds under other orders of the options; and how often each place was chosen."""
    parts = score_runs(runs, protocol, where)
    asked = [part for part in parts if was_permuted(part)]
    if not asked:
        raise UsageError(
            "No question of these runs was asked under two orders of its options; run it with --permute K"
        )
    found = [summarise_permutations(part, registry.of_task(part.task)) for part in asked]
    left = [
        f"{part.run}, {part.task}: asked in one order, so left out." for part in parts if part not in asked
    ]
    return [_orders_table(found, protocol, left), _places_table(found, protocol)]


def _orders_table(found: Sequence[PermutationSummary], protocol: Protocol, left: Sequence[str]) -> Table:
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for one in found:
        body.append(
            (
                one.run.model,
                one.run.task,
                one.questions,
                one.orders,
                one.value * 100,
                format_span(one.interval, 100),
                one.consistent * 100,
                format_span(one.consistent_interval, 100),
                one.ever * 100,
                one.same * 100,
                _favourite(one),
                format_p(one.p),
                one.run.run,
            )
        )
        n = one.questions
        rows += [
            _row(one.run, "mean over orders", one.value, n, one.interval, 100.0),
            _row(one.run, "consistent accuracy", one.consistent, n, one.consistent_interval, 100.0),
            _row(one.run, "right under any order", one.ever, n, scale=100.0),
            _row(one.run, "same option", one.same, n, scale=100.0),
            _row(one.run, "place preference", None, one.replies, p=one.p, test="chi-square"),
        ]
    return Table(
        title=f"Orders of the options, protocol {protocol}",
        columns=("model", "task", "questions", "orders", "score", "95 % interval", "consistent",
                 "consistent, 95 %", "right under any", "same option", "favours", "p (places)", "run"),
        body=tuple(body),
        rows=tuple(rows),
        notes=(
            "Score: mean over questions. Consistent: right under every order; somebody who guesses among n "
            "options under k orders is so with probability 1/n to the power of k.",
            "Favours: the place chosen most above what exchanging the choices of a question among its orders "
            "gives. p: chi-square of the places against that, over all places.",
            *left,
        ),
    )  # fmt: skip


def _favourite(one: PermutationSummary) -> str:
    best = max(one.places, key=lambda place: (place.chosen - place.expected) / max(1, place.replies))
    excess = (best.chosen - best.expected) / max(1, best.replies) * 100
    return f"{best.place + 1} of {best.options} ({excess:+.1f})" if one.p is not None else "none"


def _places_table(found: Sequence[PermutationSummary], protocol: Protocol) -> Table:
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for one in found:
        # By the number of options where there are few such numbers; else the table would be all places.
        several = len({place.options for place in one.places}) > 2
        for place in one.together() if several else one.places:
            accuracy = place.right / place.keyed * 100 if place.keyed else None
            body.append(
                (
                    one.run.model,
                    one.run.task,
                    place.options or "any",
                    place.place + 1,
                    place.chosen / max(1, place.replies) * 100,
                    place.expected / max(1, place.replies) * 100,
                    place.replies,
                    accuracy,
                    format_span(place.accuracy, 100),
                    place.keyed,
                )
            )
            group = {"options": str(place.options or "any"), "place": str(place.place + 1)}
            rows.append(
                _row(one.run, "chosen", place.chosen / max(1, place.replies), place.replies, None, 100.0,
                     group=group, chance=place.expected / max(1, place.replies) * 100)
            )  # fmt: skip
            rows.append(
                _row(one.run, "accuracy by place of the key", None if accuracy is None else accuracy / 100,
                     place.keyed, place.accuracy, 100.0, group=group)
            )  # fmt: skip
    return Table(
        title=f"Places chosen, protocol {protocol}",
        columns=("model", "task", "options", "place", "chosen %", "expected %", "replies",
                 "right, key here", "95 % interval", "n"),
        body=tuple(body),
        rows=tuple(rows),
        notes=(
            "Right, key here: accuracy of replies to orders with the right option at this place (Wilson, "
            "replies taken as independent).",
        ),
    )  # fmt: skip


# ── controls ─────────────────────────────────────────────────────────────────────────────────────


def build_controls_table(
    runs: Sequence[Run], protocol: Protocol = "paper", by: Sequence[str] = (), where: Sequence[str] = ()
) -> Table:
    """What is left of each score without pictures, without motion, without the order of frames."""
    found = measure_controls(runs, protocol, by, where)
    facets = list(dict.fromkeys(by))
    body: list[tuple[Cell, ...]] = []
    for one in found.left:
        result, scale = one.result, one.scale
        body.append(
            (
                one.model,
                one.task,
                *(one.group.get(facet, "") for facet in facets),
                CONTROL_LABELS[one.control],
                result.first * scale,
                result.second * scale,
                None if one.chance is None else one.chance * scale,
                format_interval(result.interval.low * scale, result.interval.high * scale)
                if result.interval
                else "–",
                format_p(one.adjusted),
                None if one.share is None else f"{one.share:.0%}",
                "–" if one.share_interval is None
                else f"{one.share_interval.low:.0%} – {one.share_interval.high:.0%}",
                result.n,
            )
        )  # fmt: skip
    notes = [
        *found.notes,
        "Left: of the points above chance that the model has when it sees everything, the share that it keeps "
        "(cluster bootstrap). A dash: the score itself is not surely above chance, so there is nothing to share.",
        f"p: paired tests, Holm's correction over {len(found.left)} of them; the interval is of the difference.",
    ]
    return Table(
        title=f"What is left without …, protocol {protocol}",
        columns=("model", "task", *facets, "without", "score", "score without", "chance", "difference, 95 %",
                 "p (Holm)", "left", "left, 95 %", "n"),
        body=tuple(body),
        rows=tuple(_left_row(one, protocol) for one in found.left),
        notes=tuple(notes),
    )  # fmt: skip


def _left_row(one: ControlEffect, protocol: Protocol) -> Row:
    share = one.share_interval
    return Row(
        run=one.run,
        benchmark=one.task.partition("/")[0],
        task=one.task,
        group={**one.group, "control": one.control},
        metric="left above chance",
        value=None if one.share is None else one.share * 100,
        n=one.result.n,
        errors=0,
        unparsed=0,
        interval=(share.low * 100, share.high * 100) if share else None,
        interval_method=share.method if share else "",
        chance=None if one.chance is None else one.chance * one.scale,
        p=one.result.p,
        p_adjusted=one.adjusted,
        test=one.result.test,
        model=one.model,
        protocol=protocol,
    )
