"""Scores of single records, for those who follow a run while it is under way. Nothing is written into the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol, ScoreSettings
from vivant.benchmarks.validation import score_records, scores_apart
from vivant.core.errors import VivantError
from vivant.core.records import Record, Score
from vivant.core.types import Sample
from vivant.runs.judge_scores import score_verdicts
from vivant.runs.judgements import read_panel
from vivant.runs.reply_scoring import score_unreadable
from vivant.runs.run import Run


class RecordScorer:
    """Scores records of one run under one protocol, as `Run.scores` would with the default settings."""

    def __init__(self, run: Path, protocol: Protocol) -> None:
        self._run = Run(run)
        self._protocol = protocol
        self._settings = self._run.default_scoring(protocol)

    def can_score(self, task: str) -> bool:
        """Whether records of a task can be scored on this machine; judged ones, where judges were asked."""
        benchmark = registry.get_by_task(task)
        if benchmark.task(task).judged:
            return bool(read_panel(self._run.path, self._protocol))
        return not benchmark.explain_unscorable(task)

    def scores_apart(self, task: str) -> bool:
        """Whether each record of a task can be scored without the others."""
        benchmark = registry.get_by_task(task)
        apart = benchmark.task(task).judged or scores_apart(benchmark)
        return apart and self.can_score(task)

    def score(self, task: str, items: Sequence[tuple[Sample, Record]]) -> list[Score]:
        """One score per record, in order.

        Raises:
            VivantError: where the benchmark cannot score them.
        """
        benchmark = registry.get_by_task(task)
        judged = benchmark.task(task).judged
        scores: dict[str, Score] = {}
        readable: list[tuple[Sample, Record]] = []
        for sample, record in items:
            verdict = score_unreadable(record.key, sample, record, self._protocol, judged)
            if verdict is not None:
                scores[record.key] = verdict
            else:
                readable.append((sample, record))
        if judged:
            root = Path(self._run.manifest.roots.get(task, ""))
            panel = read_panel(self._run.path, self._protocol)
            new_scores = score_verdicts(benchmark, readable, panel, self._protocol, root, self._run.path)
        else:
            settings = ScoreSettings(
                protocol=self._protocol, style=self._run.manifest.style, values=self._settings[task]
            )
            new_scores = score_records(benchmark, readable, settings)
        scores.update((score.key, score) for score in new_scores)
        return [scores[record.key] for _, record in items]


def open_scorer(run: Path, protocol: Protocol) -> RecordScorer | None:
    """A scorer for a run; None where its benchmark is not installed here or its manifest is lost."""
    try:
        return RecordScorer(run, protocol)
    except VivantError:
        return None
