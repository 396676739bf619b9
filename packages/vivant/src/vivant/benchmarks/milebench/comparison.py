"""What the two protocols make of the same replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun, ScoreSettings
from vivant.benchmarks.milebench.tables import group_runs
from vivant.benchmarks.summary import summarise
from vivant.core.records import Record, Score
from vivant.core.table import Cell, Row, Table
from vivant.core.types import Sample

_NOTES = (
    "Read differently: multiple-choice replies in which the two protocols find different answers.",
    "Guessed: empty replies that paper takes for option C. Letters: replies in which paper found neither a "
    "name nor a text and joined all letters that are names; few of them name an option, and by accident.",
    "Strict: an empty reply is unparsed, options past Z keep both letters, a choice such as 4.5 is "
    "recognised, all full stops go (paper: the first 32), and a key must stand as whole words, one or more.",
)


def build_protocols_table(runs: Sequence[ScoredRun], _protocol: Protocol, benchmark: Benchmark) -> Table:
    """One line a dataset and run, both scores, and what makes the difference."""
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for model_runs in group_runs(runs):
        for name, part in model_runs.parts.items():
            paper, strict = (_rescore(benchmark, part, protocol) for protocol in ("paper", "strict"))
            first, second = summarise(paper, benchmark)[0], summarise(strict, benchmark)[0]
            rows += [first, second]
            gap = None if first.value is None or second.value is None else second.value - first.value
            rules = Counter(score.rule for _, _, score in paper.rows)
            differing = sum(
                a.answer != b.answer and sample.extra["match"] == "choice"
                for (sample, _, a), (_, _, b) in zip(paper.rows, strict.rows, strict=True)
            )
            body.append(
                (
                    model_runs.model,
                    name,
                    first.value,
                    second.value,
                    gap,
                    differing,
                    first.guessed,
                    rules["letters"],
                    first.unparsed,
                    second.unparsed,
                    first.n,
                    first.errors,
                )
            )
    return Table(
        title="MileBench: the paper's protocol and the strict one",
        columns=(
            "model",
            "dataset",
            "paper",
            "strict",
            "difference",
            "read differently",
            "guessed",
            "letters",
            "unparsed, paper",
            "unparsed, strict",
            "n",
            "errors",
        ),
        body=tuple(body),
        notes=_NOTES,
        rows=tuple(rows),
    )


def _rescore(benchmark: Benchmark, part: ScoredRun, protocol: Protocol) -> ScoredRun:
    """The same rows under a protocol. What was missing stays missing."""
    readable = [
        (s, r) for s, r, score in part.rows if r is not None and score.status not in ("truncated", "missing")
    ]
    fresh = {score.key: score for score in benchmark.score(readable, ScoreSettings(protocol=protocol))}
    rows: list[tuple[Sample, Record | None, Score]] = []
    for sample, record, score in part.rows:
        rows.append((sample, record, fresh.get(score.key, score)))
    return ScoredRun(
        run=part.run,
        model=part.model,
        style=part.style,
        task=part.task,
        protocol=protocol,
        rows=tuple(rows),
        settings=part.settings,
    )
