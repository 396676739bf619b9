"""The report's sections that every benchmark has: leaderboard, failures, effort, settings, how to repeat it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np

from vivant.benchmarks import registry
from vivant.benchmarks.base import ScoredRun
from vivant.core.table import Cell, Row, Table
from vivant.core.types import Record
from vivant.engine.prices import find_price_by_name
from vivant.engine.tokens import TokenUsage
from vivant.report.html.markup import Html, element, join, own
from vivant.report.html.report_data import ReportData, is_mini
from vivant.report.html.svg import PlotPoint, draw_forest
from vivant.report.html.tables import pairs, table
from vivant.runs.run import Run
from vivant.runs.settings import list_differences

_BEST_PUBLISHED = 6
_PERCENTILES = (50, 90, 99)


def leaderboard(material: ReportData) -> Html:
    """A figure and a table per task; benchmarks of many tasks have theirs folded."""
    blocks: list[Html] = []
    for benchmark in material.benchmarks:
        tasks = material.tasks(benchmark)
        blocks.append(element("h3", registry.get(benchmark).title))
        if len(tasks) > 1:
            blocks.append(_matrix(material, tasks))
        each = []
        for task in tasks:
            block = join(_forest(material, task), table(_ranking(material, task), caption=False))
            each += [element("h4", f"{task}: {registry.of_task(task).task(task).title}"), block]
        if len(tasks) > 3:
            blocks.append(element("details", element("summary", f"Each of the {len(tasks)} tasks"), *each))
        else:
            blocks += each
    return join(*blocks)


def _matrix(material: ReportData, tasks: Sequence[str]) -> Html:
    """All tasks of a benchmark at a glance."""
    names = list(dict.fromkeys(material.names[row.run] for task in tasks for row in material.of(task)))
    body: list[tuple[Cell, ...]] = []
    for task in tasks:
        by_name = {material.names[row.run]: row for row in material.of(task)}
        cells = [_with_interval(by_name.get(name)) for name in names]
        chance = material.chance_of(task)
        body.append((task.partition("/")[2], chance, *cells, max(row.n for row in by_name.values())))
    return table(
        Table(title="All tasks", columns=("task", "chance", *names, "n"), body=tuple(body)),
        caption=False,
        folded=False,
    )


def _with_interval(row: Row | None) -> str:
    if row is None or row.value is None:
        return "–"
    return f"{row.value:.1f}" + (f" [{row.interval[0]:.0f}, {row.interval[1]:.0f}]" if row.interval else "")


def _published(material: ReportData, task: str) -> list[Row]:
    rows = [row for row in material.published if row.task == task]
    return sorted(rows, key=lambda row: -(row.value or 0.0))


def _forest(material: ReportData, task: str) -> Html:
    marks = [
        PlotPoint(
            label=material.names[row.run],
            value=row.value,
            interval=row.interval,
            colour=material.colour(row.run),
            note=f"n = {row.n}",
        )
        for row in material.of(task)
    ]
    others = _published(material, task)
    people = [row for row in others if row.model.lower() == "human"]
    shown = people + [row for row in others if row not in people][: _BEST_PUBLISHED - len(people)]
    marks += [
        PlotPoint(
            label=" ".join(dict.fromkeys(filter(None, (row.model, row.style.removeprefix("human"), "⁂")))),
            value=row.value,
            published=True,
            note=row.source,
        )
        for row in shown
    ]
    return draw_forest(marks, f"Scores on {task} with 95 % intervals", material.chance_of(task))


def _ranking(material: ReportData, task: str) -> Table:
    body: list[tuple[Cell, ...]] = []
    chance = material.chance_of(task)
    scale = registry.of_task(task).task(task).scale
    body += [
        (
            material.names[row.run],
            row.style,
            row.value,
            f"{row.interval[0]:.1f} – {row.interval[1]:.1f}" if row.interval else "–",
            _corrected(row.value, chance, scale),
            row.n,
            row.errors,
            row.unparsed,
            row.guessed,
            "measured",
            row.run,
        )
        for row in material.of(task)
    ]
    measured = len(body)
    if chance is not None:
        body.append(("guessing", "", chance, "", 0.0, None, None, None, None, "computed", ""))
    for row in _published(material, task):
        corrected = _corrected(row.value, chance, scale)
        body.append(
            (row.model, row.style, row.value, "", corrected, None, None, None, None, "published", row.source)
        )
    notes = [
        f"Interval: {method}." for method in sorted({r.interval_method for r in material.of(task)} - {""})
    ]
    if len(body) > measured + 1 and is_mini(material, task.partition("/")[0]):
        notes.append("The runs used the bundled mini-edition, the published rows the full benchmark.")
    return Table(
        title=f"{task}, protocol {material.protocol}",
        columns=(
            "model", "style", "score", "95 % interval", "above chance", "n", "errors", "unparsed", "guessed",
            "source", "run",
        ),
        body=tuple(body),
        notes=tuple(notes),
        rules=(measured,),
    )  # fmt: skip


def _corrected(value: float | None, chance: float | None, scale: float) -> float | None:
    """Where guessing scores 0 and everything right scores full marks."""
    if value is None or chance is None or chance >= scale:
        return None
    return (value - chance) / (scale - chance) * 100


def build_failures(material: ReportData) -> Html:
    """Samples without a score, by kind; and how the answers of the others were read."""
    body: list[tuple[Cell, ...]] = []
    messages: Counter[tuple[str, str, str]] = Counter()
    rules: Counter[tuple[str, str, str, str]] = Counter()
    for part in material.parts:
        kinds: Counter[str] = Counter()
        for _, record, score in part.rows:
            if record is None:
                kinds["not asked yet"] += 1
            elif record.reply.status != "ok":
                kinds[record.reply.status] += 1
                messages[part.run, record.reply.status, _kind(record.reply.error)] += 1
            if score.status == "unparsed":
                kinds["unparsed"] += 1
            rules[part.run, part.task, score.status, score.rule or "–"] += 1
        if kinds:
            shown = [kinds[kind] for kind in _KINDS]
            body.append((part.run, part.task, len(part.rows), *shown))
    if not body:
        first: Html = element("p", "Every sample was answered, and every answer could be read.")
    else:
        first = table(
            Table(
                title="Samples by what went wrong",
                columns=("run", "task", "samples", *_KINDS),
                body=tuple(body),
            )
        )
    common = [(run, kind, text, count) for (run, kind, text), count in messages.most_common(50) if text]
    return join(
        first,
        table(Table(title="Messages, similar ones together", columns=("run", "status", "message", "samples"),
                    body=tuple(common))) if common else None,
        table(
            Table(
                title="How answers were read: the step of the extraction that decided",
                columns=("run", "task", "status", "rule", "samples"),
                body=tuple((*key, count) for key, count in sorted(rules.items())),
            ),
            folded=True,
        ),
    )  # fmt: skip


_KINDS = ("error", "refused", "truncated", "too_long", "unparsed", "not asked yet")


def _kind(message: str) -> str:
    """A message with its figures and quoted names taken out, so that like ones count together."""
    short = re.sub(r"\d+(\.\d+)?", "…", message[:300])
    return re.sub(r"'[^']{1,80}'|\"[^\"]{1,80}\"", "'…'", short)[:160]


def build_effort(material: ReportData) -> Html:
    """Tokens and time per run."""
    body: list[tuple[Cell, ...]] = []
    for run in material.runs:
        records = [
            r for part in material.parts if part.run == run.name for _, r, _ in part.rows if r is not None
        ]
        tokens_in = [r.reply.tokens_in for r in records if r.reply.tokens_in is not None]
        tokens_out = [r.reply.tokens_out for r in records if r.reply.tokens_out is not None]
        seconds = [r.seconds for r in records if not r.cached and r.seconds > 0]
        body.append(
            (
                run.name,
                len(records),
                sum(r.cached for r in records),
                sum(r.attempts - 1 for r in records),
                sum(tokens_in) if tokens_in else None,
                sum(tokens_out) if tokens_out else None,
                *(_percentile(tokens_out, p) for p in _PERCENTILES[:2]),
                *(_percentile(seconds, p) for p in _PERCENTILES),
                _cost(run, records),
            )
        )
    return table(
        Table(
            title="Tokens as the server reports them, and seconds per request",
            columns=(
                "run", "answered", "from cache", "retries", "tokens in", "tokens out", "out p50", "out p90",
                "s p50", "s p90", "s p99", "cost",
            ),
            body=tuple(body),
            decimals=2,
            notes=(
                "Seconds are of the last attempt alone; replies from the cache are left out of them.",
                "Cost: tokens at the prices of the bundled table or of $VIVANT_PRICES; replies from the cache "
                "and failed ones are left out; a dash where tokens were not reported or no price is known.",
            ),
        ),
        caption=False,
    )  # fmt: skip


def _cost(run: Run, records: Sequence[Record]) -> str | None:
    price = find_price_by_name(run.model, run.manifest.server)
    asked = [r for r in records if not r.cached and r.reply.status in ("ok", "truncated")]
    if price is None or any(r.reply.tokens_in is None or r.reply.tokens_out is None for r in asked):
        return None
    money = sum(
        price.cost(TokenUsage(r.reply.tokens_in or 0, r.reply.tokens_out or 0), batch="batch" in r.extra)
        for r in asked
    )
    return (
        f"{money:.2f} {price.currency} (prices of {price.as_of})"
        if price.as_of
        else f"{money:.2f} {price.currency}"
    )


def _percentile(values: Sequence[float], percent: int) -> float | None:
    return float(np.percentile(np.asarray(values, np.float64), percent)) if values else None


def build_settings(material: ReportData) -> Html:
    """What all runs share, and where they differ."""
    plain = {run.name: _flat(msgspec.to_builtins(run.manifest.settings)) for run in material.runs}
    names = sorted({name for values in plain.values() for name in values})
    shared, unlike = [], []
    for name in names:
        values = [plain[run].get(name, "default") for run in plain]
        if len(set(values)) == 1 and len(plain) > 0:
            shared.append((name, values[0]))
        else:
            unlike.append(name)
    blocks = [element("h3", "The same in all runs"), pairs([(name, own(value)) for name, value in shared])]
    if unlike:
        body = tuple((run, *(plain[run].get(name, "default") for name in unlike)) for run in plain)
        blocks.append(element("h3", "Different"))
        blocks.append(
            table(Table(title="Settings that differ", columns=("run", *unlike), body=body), caption=False)
        )
    if len(material.runs) == 2:
        first, second = material.runs
        changes = list_differences(first.manifest.settings, second.manifest.settings)
        blocks.append(
            element("p", f"From {first.name} to {second.name}: {'; '.join(changes) or 'nothing differs'}.")
        )
    return join(*blocks)


def _flat(value: object, path: str = "") -> dict[str, str]:
    """Settings as dotted names and short texts; what is at its default or empty is left out."""
    if isinstance(value, dict):
        found: dict[str, str] = {}
        for name, inner in value.items():
            found.update(_flat(inner, f"{path}.{name}" if path else str(name)))
        return found
    if value is None or value == [] or value == "":
        return {}
    shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return {path: shown if len(shown) <= 120 else shown[:119] + "…"}


def build_repetition(material: ReportData) -> Html:
    """The commands that made the runs and this report, with versions and fingerprints."""
    runs = []
    for run in material.runs:
        manifest = run.manifest
        versions = ", ".join(f"{name} {number}" for name, number in manifest.versions.items())
        entries: list[tuple[str, Html | str]] = [
            ("command", element("code", own(manifest.command or "not recorded"))),
            ("made", f"{manifest.created} ({manifest.origin})"),
            ("fingerprint", element("code", manifest.fingerprint)),
            ("data", own(", ".join(f"{task} {digest}" for task, digest in manifest.settings.data.items()))),
            ("server", own(manifest.server or "none")),
            ("versions", versions),
            ("machine", ", ".join(f"{name} {number}" for name, number in manifest.machine.items())),
            *((("notes", own("; ".join(manifest.notes))),) if manifest.notes else ()),
        ]
        runs.append(element("details", element("summary", own(run.name)), pairs(entries)))
    return join(*runs)


def build_protocol_differences(material: ReportData, parts: Sequence[ScoredRun]) -> Html:
    """Where the published protocol and the sound one give other numbers."""
    other = "strict" if material.protocol == "paper" else "paper"
    body = []
    for row in material.rows:
        if not any(part.run == row.run and part.task == row.task for part in parts):
            continue
        value = material.other.get((row.run, row.task))
        if value is not None and row.value is not None and abs(value - row.value) >= 0.05:
            body.append((material.names[row.run], row.task, row.value, value, value - row.value))
    if not body:
        return Html("")
    columns = ("run", "task", material.protocol, other, "difference")
    return table(Table(title=f"Where the protocols {material.protocol} and {other} differ", columns=columns,
                       body=tuple(body)))  # fmt: skip


def duels(material: ReportData) -> Html:
    """The leads of the best runs, tested."""
    if not material.contests:
        return Html("")
    body = tuple(
        (
            c.task,
            material.names[c.best],
            material.names[c.other],
            c.lead,
            f"{c.interval[0]:+.1f} – {c.interval[1]:+.1f}" if c.interval else "–",
            "–" if c.adjusted is None else "< 0.001" if c.adjusted < 0.001 else f"{c.adjusted:.3f}",
            c.smallest,
            c.n,
        )
        for c in material.contests
    )
    notes = (
        "Paired by sample, clusters kept together; p with Holm's correction over all lines. Could have shown: the "
        "lead that such data would have shown four times out of five.",
    )
    columns = ("task", "best", "other", "lead", "95 % interval", "p (Holm)", "could have shown", "samples")
    return join(
        element("h3", "Is the best run really better?"),
        table(
            Table(title="The best run against each other", columns=columns, body=body, notes=notes),
            folded=len(body) > 12,
        ),
    )
