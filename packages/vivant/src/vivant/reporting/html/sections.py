"""The report's sections that every benchmark has: failures, effort, settings, how to repeat it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from vivant.benchmarks.base import ScoredRun
from vivant.core.records import Record
from vivant.core.table import Cell, Table
from vivant.engine.prices import find_price_by_name
from vivant.reporting.html.blocks import (
    Block,
    Definition,
    DefinitionList,
    Details,
    Heading,
    Paragraph,
    TableBlock,
)
from vivant.reporting.html.report_data import ReportData
from vivant.reporting.usage import sum_usage
from vivant.runs.run import Run
from vivant.runs.settings import list_differences

_FAILURES = ("error", "refused", "truncated", "too_long", "unparsed", "not asked yet")
_PERCENTILES = (50, 90, 99)


def build_failures(data: ReportData) -> list[Block]:
    """Samples without a score, by kind; and how the answers of the others were read."""
    body: list[tuple[Cell, ...]] = []
    messages: Counter[tuple[str, str, str]] = Counter()
    rules: Counter[tuple[str, str, str, str]] = Counter()
    for part in data.parts:
        kinds: Counter[str] = Counter()
        for _, record, score in part.rows:
            if record is None:
                kinds["not asked yet"] += 1
            elif record.reply.status != "ok":
                kinds[record.reply.status] += 1
                messages[part.run, record.reply.status, _generalize(record.reply.error)] += 1
            if score.status == "unparsed":
                kinds["unparsed"] += 1
            rules[part.run, part.task, score.status, score.rule or "–"] += 1
        if kinds:
            counts = [kinds[kind] for kind in _FAILURES]
            body.append((part.run, part.task, len(part.rows), *counts))
    table = Table(
        title="Samples by what went wrong", columns=("run", "task", "samples", *_FAILURES), body=tuple(body)
    )
    everything_read = Paragraph("Every sample was answered, and every answer could be read.")
    blocks: list[Block] = [TableBlock(table) if body else everything_read]
    common = [(run, kind, text, count) for (run, kind, text), count in messages.most_common(50) if text]
    if common:
        columns = ("run", "status", "message", "samples")
        title = "Messages, similar ones together"
        blocks.append(TableBlock(Table(title=title, columns=columns, body=tuple(common))))
    steps = Table(
        title="How answers were read: the step of the extraction that decided",
        columns=("run", "task", "status", "rule", "samples"),
        body=tuple((*key, count) for key, count in sorted(rules.items())),
    )
    return [*blocks, TableBlock(steps, folded=True)]


def _generalize(message: str) -> str:
    """A message with its figures and quoted names taken out, so that like ones count together."""
    short = re.sub(r"\d+(\.\d+)?", "…", message[:300])
    return re.sub(r"'[^']{1,80}'|\"[^\"]{1,80}\"", "'…'", short)[:160]


def build_effort(data: ReportData) -> list[Block]:
    """Tokens and time per run."""
    body: list[tuple[Cell, ...]] = []
    for run in data.runs:
        records = [r for part in data.parts if part.run == run.name for _, r, _ in part.rows if r is not None]
        tokens_in = [r.reply.tokens_in for r in records if r.reply.tokens_in is not None]
        tokens_out = [r.reply.tokens_out for r in records if r.reply.tokens_out is not None]
        thoughts = [r.reply.tokens_thinking for r in records if r.reply.tokens_thinking is not None]
        seconds = [r.seconds for r in records if not r.cached and r.seconds > 0]
        body.append(
            (
                run.name,
                len(records),
                sum(r.cached for r in records),
                sum(r.attempts - 1 for r in records),
                sum(tokens_in) if tokens_in else None,
                sum(tokens_out) if tokens_out else None,
                sum(thoughts) if thoughts else None,
                *(_percentile(tokens_out, p) for p in _PERCENTILES[:2]),
                *(_percentile(seconds, p) for p in _PERCENTILES),
                _cost(run, records),
            )
        )
    table = Table(
        title="Tokens as the server reports them, and seconds per request",
        columns=(
            "run", "answered", "from cache", "retries", "tokens in", "tokens out", "of them thoughts", "out p50",
            "out p90", "s p50", "s p90", "s p99", "cost",
        ),
        body=tuple(body),
        decimals=2,
        notes=(
            "Seconds are of the last attempt alone; replies from the cache are left out of them.",
            "Cost: tokens at the prices of the bundled table or of $VIVANT_PRICES; replies from the cache "
            "and failed ones are left out; a dash where tokens were not reported or no price is known.",
        ),
    )  # fmt: skip
    return [TableBlock(table, caption=False)]


def _cost(run: Run, records: Sequence[Record]) -> str | None:
    usage = sum_usage(records, find_price_by_name(run.model, run.manifest.server))
    return usage.format_cost(2)


def _percentile(values: Sequence[float], percent: int) -> float | None:
    return float(np.percentile(np.asarray(values, np.float64), percent)) if values else None


def build_settings(data: ReportData) -> list[Block]:
    """What all runs share, and where they differ."""
    by_run = {run.name: _flatten(msgspec.to_builtins(run.manifest.settings)) for run in data.runs}
    shared: list[Definition] = []
    different: list[str] = []
    for name in sorted({name for values in by_run.values() for name in values}):
        values = {settings.get(name, "default") for settings in by_run.values()}
        if len(values) == 1:
            shared.append(Definition(name, values.pop()))
        else:
            different.append(name)
    blocks: list[Block] = [Heading("The same in all runs"), DefinitionList(shared)]
    if different:
        body = tuple(
            (run, *(settings.get(name, "default") for name in different)) for run, settings in by_run.items()
        )
        table = Table(title="Settings that differ", columns=("run", *different), body=body)
        blocks += [Heading("Different"), TableBlock(table, caption=False)]
    if len(data.runs) == 2:
        first, second = data.runs
        changes = list_differences(first.manifest.settings, second.manifest.settings)
        text = f"From {first.name} to {second.name}: {'; '.join(changes) or 'nothing differs'}."
        blocks.append(Paragraph(text))
    return blocks


def _flatten(value: object, path: str = "") -> dict[str, str]:
    """Settings as dotted names and short texts; what is at its default or empty is left out."""
    if isinstance(value, dict):
        result: dict[str, str] = {}
        for name, inner in value.items():
            result.update(_flatten(inner, f"{path}.{name}" if path else str(name)))
        return result
    if value is None or value == [] or value == "":
        return {}
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return {path: text if len(text) <= 120 else text[:119] + "…"}


def build_repetition(data: ReportData) -> list[Block]:
    """The commands that made the runs and this report, with versions and fingerprints."""
    blocks: list[Block] = []
    for run in data.runs:
        manifest = run.manifest
        entries = [
            Definition("command", manifest.command or "not recorded", code=True),
            Definition("made", f"{manifest.created} ({manifest.origin})"),
            Definition("fingerprint", manifest.fingerprint, code=True),
            Definition("data", _list_pairs(manifest.settings.data)),
            Definition("server", manifest.server or "none"),
            Definition("versions", _list_pairs(manifest.versions)),
            Definition("machine", _list_pairs(manifest.machine)),
        ]
        if manifest.notes:
            entries.append(Definition("notes", "; ".join(manifest.notes)))
        blocks.append(Details(run.name, [DefinitionList(entries)]))
    return blocks


def _list_pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def build_protocol_differences(data: ReportData, parts: Sequence[ScoredRun]) -> list[Block]:
    """Where the published protocol and the sound one give other numbers."""
    other = "strict" if data.protocol == "paper" else "paper"
    body = []
    for row in data.rows:
        if not any(part.run == row.run and part.task == row.task for part in parts):
            continue
        value = data.other_values.get((row.run, row.task))
        if value is not None and row.value is not None and abs(value - row.value) >= 0.05:
            body.append((data.names[row.run], row.task, row.value, value, value - row.value))
    if not body:
        return []
    columns = ("run", "task", data.protocol, other, "difference")
    title = f"Where the protocols {data.protocol} and {other} differ"
    return [TableBlock(Table(title=title, columns=columns, body=tuple(body)))]
