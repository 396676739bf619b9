"""The report on runs: its sections in order, written to one file."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.core.errors import UsageError
from vivant.core.files import write_atomic
from vivant.reporting.html import sections
from vivant.reporting.html.benchmarks import build_benchmark
from vivant.reporting.html.blocks import Block, BulletList, Heading, Paragraph, Section, render_page
from vivant.reporting.html.findings import describe_findings, describe_limits
from vivant.reporting.html.leaderboard import build_leaderboard
from vivant.reporting.html.report_data import ReportData, gather_report_data
from vivant.runs.run import Run, RunLike, load_runs


def build_report(runs: Sequence[Run], protocol: Protocol | None = None, title: str = "") -> str:
    """Build a report as HTML text; the same runs give the same text but for the time in its footer.

    Args:
        runs: the runs to report on.
        protocol: how replies are scored, `paper` or `strict`; by default the first that all benchmarks have.
        title: the page's title; by default the models and benchmarks.
    """
    data = gather_report_data(runs, protocol)
    parts = [
        Section("summary", "In words", _build_summary(data)),
        Section("leaderboard", "Leaderboard", build_leaderboard(data)),
        *(Section(name, registry.get(name).title, build_benchmark(data, name)) for name in data.benchmarks),
        Section("failures", "Errors and unread answers", sections.build_failures(data)),
        Section("effort", "Tokens and time", sections.build_effort(data)),
        Section("settings", "Settings", sections.build_settings(data)),
        Section("repeat", "How to repeat it", sections.build_repetition(data)),
        Section("reading", "How to read this", [Paragraph(text) for text in _READING]),
    ]
    return render_page(title or _default_title(data), _subtitle(data), parts)


def write_report(
    runs: RunLike | Sequence[RunLike], out: str | Path, protocol: Protocol | None = None, title: str = ""
) -> Path:
    """Read runs, write the report on them to one file, and return its path.

    Args:
        runs: runs, their directories or folders of them; what is named twice counts once.
        out: the HTML file to write; folders above it are made.
        protocol: how replies are scored, `paper` or `strict`.
        title: the page's title; by default the models and benchmarks.
    """
    with _no_garbage_collection():
        page = build_report(load_runs(runs), protocol, title)
    file = Path(out)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, page, durable=False)
    except OSError as error:
        raise UsageError(f"Cannot write {file}: {error.strerror}") from error
    return file


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Records are many, none refers to itself, and looking for circles among them takes half of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _default_title(data: ReportData) -> str:
    models = list(dict.fromkeys(run.model for run in data.runs))
    names = [registry.get(name).title for name in data.benchmarks]
    who = ", ".join(models) if len(models) <= 4 else f"{len(models)} models"
    return f"{who} on {', '.join(names)}"


def _subtitle(data: ReportData) -> str:
    samples = sum(len(part.rows) for part in data.parts)
    runs = "1 run" if len(data.runs) == 1 else f"{len(data.runs)} runs"
    return f"{runs}, {samples:,} samples, protocol {data.protocol}"


def _build_summary(data: ReportData) -> list[Block]:
    blocks: list[Block] = [Heading("What was found"), BulletList(describe_findings(data), "found")]
    if limits := describe_limits(data):
        blocks += [Heading("What cannot be concluded"), BulletList(limits, "doubts")]
    return blocks


_READING = (
    "A score is the mean over the n samples that count, times 100 where it is an accuracy. Errors are samples with "
    "no reply to score; they are not part of n and never wrong answers. Unparsed replies were given, but no answer "
    "could be read in them; the protocol says what they count as. Guessed answers were supplied by the published "
    "protocol where the model gave none.",
    "The interval holds the true score of such a model on such questions 95 times in a hundred. Where several "
    "questions share a video or an action, it counts those as one, and is wider for it.",
    "Above chance is the score on a scale where guessing is 0 and everything right is 100.",
    "The protocol paper repeats what the benchmark's authors do, quirks included, so that figures can be set beside "
    "theirs; strict is the sound version of the same.",
    "Many tasks make many comparisons: of twenty honest intervals one misses. A task on which a run stands out alone "
    "deserves a second look before it is believed.",
)
