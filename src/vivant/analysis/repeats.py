"""What asking again tells: the spread between repeats, pass@k, and how often the answer stays the same."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from msgspec import Struct

from vivant.benchmarks.base import Benchmark, ScoredRun
from vivant.benchmarks.summary import cluster_of, counted_value, is_binary
from vivant.core.errors import UsageError
from vivant.core.types import Record, Sample, Score
from vivant.metrics.agreement import percent_agreement
from vivant.metrics.intervals import Interval, mean_interval
from vivant.metrics.text import plain


class Repeats(Struct, frozen=True, kw_only=True):
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


def repeats_of(run: ScoredRun, benchmark: Benchmark) -> Repeats:
    """Summarise a task of a repeated run. Raises where nothing was asked twice."""
    unparsed_value = benchmark.unparsed_value
    questions: dict[tuple[str, int], _Question] = {}
    by_repeat: dict[int, list[float]] = {}
    for sample, record, score in run.rows:
        value = counted_value(run, score, unparsed_value)
        if value is None or record is None:
            continue
        own = questions.setdefault((sample.id, record.permutation), _Question(cluster_of(sample), [], []))
        own.values.append(value)
        own.answers.append(answer_of(sample, record, score))
        by_repeat.setdefault(record.repeat, []).append(value)
    most = max((len(one.values) for one in questions.values()), default=0)
    if most < 2:
        raise UsageError(
            f"{run.run}: no question of {run.task} was answered twice; run it with --repeat K, and with a "
            "temperature above 0 where the model is to vary"
        )
    every = list(questions.values())
    binary = is_binary(run, unparsed_value)
    values = [value for one in every for value in one.values]
    return Repeats(
        run=run,
        questions=len(every),
        repeats=most,
        value=math.fsum(values) / len(values),
        interval=mean_interval(values, [one.cluster for one in every for _ in one.values], binary=binary),
        means=tuple(math.fsum(own) / len(own) for _, own in sorted(by_repeat.items())),
        passes={k: pass_at(k, [one.values for one in every]) for k in _steps(most)} if binary else {},
        always=sum(min(one.values) == 1 for one in every) / len(every) if binary else None,
        same=same_answers([one.answers for one in every]),
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


def _steps(most: int) -> list[int]:
    """1, 2, 4, 8 … and the number of repeats itself."""
    return [*(1 << power for power in range(most.bit_length()) if 1 << power < most), most]


def same_answers(questions: Sequence[Sequence[str]]) -> float:
    """Share of pairs of answers to one question that are equal."""
    codes: dict[str, int] = {}
    items = [number for number, answers in enumerate(questions) for _ in answers]
    values = [codes.setdefault(answer, len(codes)) for answers in questions for answer in answers]
    return percent_agreement(items, values)


def answer_of(sample: Sample, record: Record, score: Score) -> str:
    """An answer that two replies share or not: the option meant, whatever letter it had; else the plain text."""
    place = chosen_place(sample, record, score)
    if place is not None:
        return f"option {(record.order or range(len(sample.options)))[place]}"
    return f"text {plain(score.answer)}" if score.status == "scored" else "unparsed"


def chosen_place(sample: Sample, record: Record, score: Score) -> int | None:
    """At which place the option stood that a reply chose; None where it chose none."""
    shown = record.options or sample.options
    return next((place for place, option in enumerate(shown) if option.name == score.answer), None)
