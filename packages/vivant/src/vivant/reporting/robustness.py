"""Tables of how firm a score is: asked again, asked in other orders, asked without what should matter."""

from __future__ import annotations

from collections.abc import Sequence

from vivant.analysis.comparison_table import format_interval, format_p
from vivant.analysis.controls import CONTROL_LABELS, ControlEffect, measure_controls
from vivant.analysis.permutations import PermutationSummary, summarise_permutations, was_permuted
from vivant.analysis.repeats import RepeatSummary, summarise_repeats
from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol, ScoredRun
from vivant.core.errors import UsageError
from vivant.core.table import Cell, Row, Table
from vivant.metrics.intervals import Interval
from vivant.runs.overview import score_runs
from vivant.runs.run import Run, choose_common_protocol


def _row(
    run: ScoredRun,
    metric: str,
    value: float | None,
    n: int,
    interval: Interval | None = None,
    scale: float | None = None,
    **more: object,
) -> Row:
    factor = registry.get_by_task(run.task).task(run.task).scale if scale is None else scale
    scaled = interval.scale(factor) if interval else None
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
        truncated=sum(score.status == "truncated" for _, _, score in run.rows),
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
    runs: Sequence[Run], protocol: Protocol | None = None, where: Sequence[str] = ()
) -> Table:
    """One line per run and task: mean, spread between repeats, pass@k, agreement of answers."""
    protocol = choose_common_protocol(runs, protocol)
    summaries = [
        summarise_repeats(part, registry.get_by_task(part.task)) for part in score_runs(runs, protocol, where)
    ]
    steps = sorted({k for summary in summaries for k in summary.passes if k > 1})
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for summary in summaries:
        scale = registry.get_by_task(summary.run.task).task(summary.run.task).scale
        spread = None if summary.spread is None else summary.spread * scale
        body.append(
            (
                summary.run.model,
                summary.run.task,
                summary.questions,
                summary.repeats,
                summary.value * scale,
                format_span(summary.interval, scale),
                spread,
                f"{min(summary.means) * scale:.1f} – {max(summary.means) * scale:.1f}",
                *(summary.passes[k] * 100 if k in summary.passes else None for k in steps),
                None if summary.always is None else summary.always * 100,
                summary.same * 100,
                summary.run.run,
            )
        )
        rows += _repeat_rows(summary)
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


def _repeat_rows(summary: RepeatSummary) -> list[Row]:
    run, n = summary.run, summary.questions
    rows = [
        _row(run, "mean of repeats", summary.value, n, summary.interval),
        _row(run, "sd of repeats", summary.spread, n),
        _row(run, "same answer", summary.same, n, scale=100.0),
    ]
    rows += [_row(run, f"pass@{k}", value, n, scale=100.0) for k, value in summary.passes.items()]
    if summary.always is not None:
        rows.append(_row(run, "right every time", summary.always, n, scale=100.0))
    return rows


# ── orders ───────────────────────────────────────────────────────────────────────────────────────


def build_permutation_tables(
    runs: Sequence[Run], protocol: Protocol | None = None, where: Sequence[str] = ()
) -> list[Table]:
    """How a score holds under other orders of the options; and how often each place was chosen."""
    protocol = choose_common_protocol(runs, protocol)
    parts = score_runs(runs, protocol, where)
    permuted = [part for part in parts if was_permuted(part)]
    if not permuted:
        raise UsageError(
            "No question of these runs was asked under two orders of its options; run it with --permute K"
        )
    summaries = [summarise_permutations(part, registry.get_by_task(part.task)) for part in permuted]
    notes = [
        f"{part.run}, {part.task}: asked in one order, so left out." for part in parts if part not in permuted
    ]
    return [_orders_table(summaries, protocol, notes), _positions_table(summaries, protocol)]


def _orders_table(summaries: Sequence[PermutationSummary], protocol: Protocol, notes: Sequence[str]) -> Table:
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for summary in summaries:
        body.append(
            (
                summary.run.model,
                summary.run.task,
                summary.questions,
                summary.orders,
                summary.value * 100,
                format_span(summary.interval, 100),
                summary.consistent * 100,
                format_span(summary.consistent_interval, 100),
                summary.ever * 100,
                summary.same * 100,
                _favourite(summary),
                format_p(summary.p),
                summary.run.run,
            )
        )
        n = summary.questions
        rows += [
            _row(summary.run, "mean over orders", summary.value, n, summary.interval, 100.0),
            _row(
                summary.run, "consistent accuracy", summary.consistent, n, summary.consistent_interval, 100.0
            ),
            _row(summary.run, "right under any order", summary.ever, n, scale=100.0),
            _row(summary.run, "same option", summary.same, n, scale=100.0),
            _row(summary.run, "place preference", None, summary.replies, p=summary.p, test="chi-square"),
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
            *notes,
        ),
    )  # fmt: skip


def _favourite(summary: PermutationSummary) -> str:
    best = max(
        summary.positions,
        key=lambda position: (position.chosen - position.expected) / max(1, position.replies),
    )
    excess = (best.chosen - best.expected) / max(1, best.replies) * 100
    return f"{best.position + 1} of {best.options} ({excess:+.1f})" if summary.p is not None else "none"


def _positions_table(summaries: Sequence[PermutationSummary], protocol: Protocol) -> Table:
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for summary in summaries:
        # By the number of options where there are few such numbers; else the table would be all places.
        several = len({position.options for position in summary.positions}) > 2
        for position in summary.merge_option_counts() if several else summary.positions:
            accuracy = position.right / position.keyed * 100 if position.keyed else None
            body.append(
                (
                    summary.run.model,
                    summary.run.task,
                    position.options or "any",
                    position.position + 1,
                    position.chosen / max(1, position.replies) * 100,
                    position.expected / max(1, position.replies) * 100,
                    position.replies,
                    accuracy,
                    format_span(position.accuracy, 100),
                    position.keyed,
                )
            )
            group = {"options": str(position.options or "any"), "place": str(position.position + 1)}
            rows.append(
                _row(summary.run, "chosen", position.chosen / max(1, position.replies), position.replies, None, 100.0,
                     group=group, chance=position.expected / max(1, position.replies) * 100)
            )  # fmt: skip
            rows.append(
                _row(summary.run, "accuracy by place of the key", None if accuracy is None else accuracy / 100,
                     position.keyed, position.accuracy, 100.0, group=group)
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
    runs: Sequence[Run], protocol: Protocol | None = None, by: Sequence[str] = (), where: Sequence[str] = ()
) -> Table:
    """What is left of each score without pictures, without motion, without the order of frames."""
    protocol = choose_common_protocol(runs, protocol)
    effects = measure_controls(runs, protocol, by, where)
    facets = list(dict.fromkeys(by))
    body: list[tuple[Cell, ...]] = []
    for effect in effects.effects:
        result, scale = effect.result, effect.scale
        body.append(
            (
                effect.model,
                effect.task,
                *(effect.group.get(facet, "") for facet in facets),
                CONTROL_LABELS[effect.control],
                result.first * scale,
                result.second * scale,
                None if effect.chance is None else effect.chance * scale,
                format_interval(result.interval.low * scale, result.interval.high * scale)
                if result.interval
                else "–",
                format_p(effect.adjusted),
                None if effect.share is None else f"{effect.share:.0%}",
                "–" if effect.share_interval is None
                else f"{effect.share_interval.low:.0%} – {effect.share_interval.high:.0%}",
                result.n,
            )
        )  # fmt: skip
    notes = [
        *effects.notes,
        "Left: of the points above chance that the model has when it sees everything, the share that it keeps "
        "(cluster bootstrap). A dash: the score itself is not surely above chance, so there is nothing to share.",
        "p: paired tests, Holm's correction within each benchmark; the interval is of the difference.",
    ]
    return Table(
        title=f"What is left without …, protocol {protocol}",
        columns=("model", "task", *facets, "without", "score", "score without", "chance", "difference, 95 %",
                 "p (Holm)", "left", "left, 95 %", "n"),
        body=tuple(body),
        rows=tuple(_effect_row(effect, protocol) for effect in effects.effects),
        notes=tuple(notes),
    )  # fmt: skip


def _effect_row(effect: ControlEffect, protocol: Protocol) -> Row:
    share = effect.share_interval
    return Row(
        run=effect.run,
        benchmark=effect.task.partition("/")[0],
        task=effect.task,
        group={**effect.group, "control": effect.control},
        metric="left above chance",
        value=None if effect.share is None else effect.share * 100,
        n=effect.result.n,
        errors=0,
        unparsed=0,
        interval=(share.low * 100, share.high * 100) if share else None,
        interval_method=share.method if share else "",
        chance=None if effect.chance is None else effect.chance * effect.scale,
        p=effect.result.p,
        p_adjusted=effect.adjusted,
        test=effect.result.test,
        model=effect.model,
        protocol=protocol,
    )
