"""What asking again tells: the spread between repeats, pass@k, and how often the answer stays the same."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from msgspec import Struct

from vivant.benchmarks.base import Benchmark, ScoredRun
from vivant.benchmarks.summary import cluster_of, get_counted_value, is_binary
from vivant.core.errors import UsageError
from vivant.core.records import Record, Score
from vivant.core.types import Sample
from vivant.metrics.agreement import percent_agreement
from vivant.metrics.intervals import Interval, mean_interval
from vivant.metrics.text import normalise_text


class RepeatSummary(Struct, frozen=True, kw_only=True):
    """A task of a run that was asked several times. Figures are between 0 and 1 where the scores are."""

    run: ScoredRun
    questions: int
    """Samples; with permuted options, each order of each sample."""
    repeats: int
    """As often as a question was answered at most."""
    value: float
    interval: Interval | None
    """Of the score, with the repeats of a sample as one cluster."""
    means: tuple[float, ...]
    """The score of each repeat by itself."""
    passes: Mapping[int, float]
    """pass@k: how likely one of k replies is right; empty where scores are not right or wrong."""
    always: float | None
    """Share of questions that are right every time."""
    same: float
    """Share of pairs of replies to one question that give the same answer."""

    @property
    def spread(self) -> float | None:
        """Standard deviation between repeats."""
        return statistics.stdev(self.means) if len(self.means) > 1 else None


class _Question(Struct):
    cluster: str
    values: list[float]
    answers: list[str]


def summarise_repeats(run: ScoredRun, benchmark: Benchmark) -> RepeatSummary:
    """Summarise a task of a repeated run. Raises where nothing was asked twice."""
    unparsed_value = benchmark.unparsed_value
    questions: dict[tuple[str, int], _Question] = {}
    by_repeat: dict[int, list[float]] = {}
    for sample, record, score in run.rows:
        value = get_counted_value(run, score, unparsed_value)
        if value is None or record is None:
            continue
        answers = questions.setdefault((sample.id, record.permutation), _Question(cluster_of(sample), [], []))
        answers.values.append(value)
        answers.answers.append(canonicalise_answer(sample, record, score))
        by_repeat.setdefault(record.repeat, []).append(value)
    max_repeats = max((len(question.values) for question in questions.values()), default=0)
    if max_repeats < 2:
        raise UsageError(
            f"{run.run}: no question of {run.task} was answered twice; run it with --repeat K, and with a "
            "temperature above 0 where the model is to vary"
        )
    repeated = list(questions.values())
    binary = is_binary(run, unparsed_value)
    values = [value for question in repeated for value in question.values]
    return RepeatSummary(
        run=run,
        questions=len(repeated),
        repeats=max_repeats,
        value=math.fsum(values) / len(values),
        interval=mean_interval(
            values, [question.cluster for question in repeated for _ in question.values], binary=binary
        ),
        means=tuple(math.fsum(answers) / len(answers) for _, answers in sorted(by_repeat.items())),
        passes={k: pass_at(k, [question.values for question in repeated]) for k in _steps(max_repeats)}
        if binary
        else {},
        always=sum(min(question.values) == 1 for question in repeated) / len(repeated) if binary else None,
        same=same_answer_share([question.answers for question in repeated]),
    )


def pass_at(k: int, questions: Sequence[Sequence[float]]) -> float:
    """How likely at least one of k replies is right, from n ≥ k of them: 1 − C(wrong, k) / C(n, k).

    Questions with fewer than k replies do not count.
    """
    likely = [
        1 - math.comb(len(values) - round(sum(values)), k) / math.comb(len(values), k)
        for values in questions
        if len(values) >= k
    ]
    return math.fsum(likely) / len(likely) if likely else math.nan


def _steps(max_repeats: int) -> list[int]:
    """1, 2, 4, 8 … and the number of repeats itself."""
    return [
        *(1 << power for power in range(max_repeats.bit_length()) if 1 << power < max_repeats),
        max_repeats,
    ]


def same_answer_share(questions: Sequence[Sequence[str]]) -> float:
    """Share of pairs of answers to one question that are equal."""
    codes: dict[str, int] = {}
    items = [number for number, answers in enumerate(questions) for _ in answers]
    values = [codes.setdefault(answer, len(codes)) for answers in questions for answer in answers]
    return percent_agreement(items, values)


def canonicalise_answer(sample: Sample, record: Record, score: Score) -> str:
    """An answer that two replies share or not: the option meant, whatever letter it had; else the plain text."""
    position = find_chosen_position(sample, record, score)
    if position is not None:
        return f"option {(record.order or range(len(sample.options)))[position]}"
    return f"text {normalise_text(score.answer)}" if score.status == "scored" else "unparsed"


def find_chosen_position(sample: Sample, record: Record, score: Score) -> int | None:
    """At which place the option stood that a reply chose; None where it chose none."""
    options = record.options or sample.options
    return next((position for position, option in enumerate(options) if option.name == score.answer), None)
