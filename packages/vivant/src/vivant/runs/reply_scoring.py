"""Replies to scores: what cannot be read is a status, and the benchmark scores the rest."""

from __future__ import annotations

from collections.abc import Sequence

from vivant.benchmarks.base import Benchmark, Protocol, ScoreSettings
from vivant.benchmarks.validation import score_records
from vivant.core.records import Record, Score
from vivant.core.types import Sample
from vivant.metrics.text import strip_thinking


def score_answers(
    benchmark: Benchmark, pairs: Sequence[tuple[Sample, Record]], settings: ScoreSettings
) -> list[Score]:
    """One score per record, in order, for a task that needs no judge."""
    return score_rows(benchmark, [(sample, record, record.key) for sample, record in pairs], settings)


def score_rows(
    benchmark: Benchmark, rows: Sequence[tuple[Sample, Record | None, str]], settings: ScoreSettings
) -> list[Score]:
    """The same for samples with their records, or with none, and keys."""
    scores = {key: score_unreadable(key, s, r, settings.protocol, judged=False) for s, r, key in rows}
    readable = [(s, r) for s, r, key in rows if r is not None and scores[key] is None]
    for own in score_records(benchmark, readable, settings):
        scores[own.key] = own
    scored = [(s, r, score) for s, r, key in rows if (score := scores[key]) is not None]
    return benchmark.join_scores(scored, settings)


def score_unreadable(
    key: str, sample: Sample, record: Record | None, protocol: Protocol, judged: bool
) -> Score | None:
    """The score of what cannot be read: no record, an error, a refusal, a reply cut off before an answer began; in
    `strict`, a reply cut short.

    A judge takes a text as it is: one cut short loses what it lacks, and the record says so.
    """
    if record is None:
        return Score(key=key, task=sample.task, id=sample.id, status="missing", rule="no record")
    status = record.reply.status
    if status in ("error", "refused", "too_long"):
        return Score(key=key, task=sample.task, id=sample.id, status="missing", rule=status)
    if status == "truncated" and not _has_answer(record):
        return Score(key=key, task=sample.task, id=sample.id, status="truncated", rule="ended in thoughts")
    if status == "truncated" and protocol == "strict" and not judged:
        return Score(key=key, task=sample.task, id=sample.id, status="unparsed", rule="truncated")
    return None


def _has_answer(record: Record) -> bool:
    """Whether an answer began before the reply was cut off; thoughts, marked or apart, are none."""
    reply = record.reply
    return reply.has_answer and (bool(reply.parts) or strip_thinking(reply.text) is not None)
