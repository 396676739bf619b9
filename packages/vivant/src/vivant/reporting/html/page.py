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
from vivant.core.table import Table
from vivant.reporting.html import sections
from vivant.reporting.html.benchmarks import build_benchmark, describe_benchmark
from vivant.reporting.html.blocks import (
    Block,
    BulletList,
    Details,
    Heading,
    Paragraph,
    Section,
    SideBySide,
    TableBlock,
    render_page,
)
from vivant.reporting.html.findings import describe_comparison, describe_findings
from vivant.reporting.html.hook_sections import build_hook_sections
from vivant.reporting.html.limits import describe_limits
from vivant.reporting.html.matrix_table import build_matrix_block
from vivant.reporting.html.report_data import ReportData, gather_report_data
from vivant.runs.run import Run, RunLike, load_runs

_LIMITS = 5
"""So many doubts stand on the first screen; others are folded."""
_LONGEST_TITLE = 48
"""Characters of names in the title; more models are counted. The line below names them."""


def build_report(
    runs: Sequence[Run], protocol: Protocol | None = None, title: str = "", corrected: Table | None = None
) -> str:
    """Build a report as HTML text; the same runs give the same text but for the time in its footer.

    Args:
        runs: the runs to report on.
        protocol: how replies are scored, `paper` or `strict`; by default the first that all benchmarks have.
        title: the page's title; by default the models and benchmarks.
        corrected: judges' scores corrected by people's, where people scored a part.
    """
    data = gather_report_data(runs, protocol)
    parts = [
        Section("summary", "Scores", _build_summary(data)),
        *(
            Section(
                name,
                registry.get(name).title,
                build_benchmark(data, name),
                summary=describe_benchmark(data, name),
            )
            for name in data.benchmarks
        ),
        *build_hook_sections(data.runs, data.protocol),
        *(
            []
            if corrected is None
            else [
                Section(
                    "corrected",
                    "Judge corrected by people",
                    [TableBlock(corrected)],
                    summary="what people would have scored",
                )
            ]
        ),
        Section(
            "failures",
            "Errors and unparsed replies",
            sections.build_failures(data),
            summary="what has no score, and how the others were read",
        ),
        Section("effort", "Tokens and time", sections.build_effort(data), summary="per run, with cost"),
        Section(
            "settings", "Settings", sections.build_settings(data), summary="what runs share, and what differs"
        ),
        Section(
            "repeat",
            "How to repeat it",
            sections.build_repetition(data),
            summary="commands, versions, fingerprints",
        ),
        Section(
            "reading",
            "How to read this",
            [Paragraph(text) for text in _READING],
            summary="scores, intervals, protocols",
        ),
    ]
    return render_page(title or _default_title(data), _subtitle(data), parts)


def write_report(
    runs: RunLike | Sequence[RunLike],
    out: str | Path,
    protocol: Protocol | None = None,
    title: str = "",
    corrected: Table | None = None,
) -> Path:
    """Read runs, write the report on them to one file, and return its path.

    Args:
        runs: runs, their directories or folders of them; what is named twice counts once.
        out: the HTML file to write; folders above it are made.
        protocol: how replies are scored, `paper` or `strict`.
        title: the page's title; by default the models and benchmarks.
        corrected: judges' scores corrected by people's, where people scored a part.
    """
    with _no_garbage_collection():
        page = build_report(load_runs(runs), protocol, title, corrected)
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
    contestants = [run for run in data.runs if run.name in data.contestants] or data.runs
    models = list(dict.fromkeys(run.model for run in contestants))
    names = [registry.get(name).title for name in data.benchmarks]
    who = ", ".join(models)
    if len(models) > 1 and len(who) > _LONGEST_TITLE:
        who = f"{len(models)} models"
    return f"{who} on {', '.join(names)}"


def _subtitle(data: ReportData) -> str:
    samples = sum(len(part.rows) for part in data.parts)
    runs = "1 run" if len(data.runs) == 1 else f"{len(data.runs)} runs"
    return f"{runs}, {samples:,} samples, protocol {data.protocol}"


def _build_summary(data: ReportData) -> list[Block]:
    """The first screen: what was compared, the matrix, what to take from it, what cannot be concluded.

    A matrix that fills the screen by itself comes after the sentences.
    """
    best = _list_leaders(data)
    columns: list[list[Block]] = [
        [Heading("What to take from it"), BulletList(describe_findings(data), "found")]
    ]
    limits = describe_limits(data)
    if limits:
        columns.append([Heading("What cannot be concluded"), BulletList(limits[:_LIMITS], "doubts")])
    if limits[_LIMITS:]:
        more = limits[_LIMITS:]
        columns[-1].append(Details(f"{len(more)} more", [BulletList(more, "doubts")]))
    matrix, sentences = build_matrix_block(data.matrix, best), SideBySide(columns)
    compared = Paragraph(describe_comparison(data), css_class="compared")
    return [compared, sentences, matrix] if matrix.is_tall else [compared, matrix, sentences]


def _list_leaders(data: ReportData) -> set[tuple[str, str]]:
    """Run and task of the models that are better than every other model, after correction."""
    leaders: set[tuple[str, str]] = set()
    for task in data.matrix.tasks:
        rivals = [c for c in data.find_leads(task.task) if c.other in data.contestants]
        if rivals and rivals[0].best in data.contestants and all(c.is_significant for c in rivals):
            leaders.add((rivals[0].best, task.task))
    return leaders


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
