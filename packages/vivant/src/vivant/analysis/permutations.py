"""What another order of the options changes: consistent accuracy, and a preference for positions.

The test of a preference: within a question, the options chosen under its several orders are exchanged among
those orders. A model that looks at what options say is as likely to have chosen any of them under any order, so
the positions it chose should be those that such exchanges give. Their mean and covariance are known exactly
(Hoeffding 1951), and summed over questions they give a chi-square. Questions that are answered alike under
every order say nothing on positions and add nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from vivant.analysis.repeats import canonicalise_answer, find_chosen_position, same_answer_share
from vivant.benchmarks.base import Benchmark, ScoredRun
from vivant.benchmarks.summary import cluster_of, get_counted_value
from vivant.core.errors import UsageError
from vivant.metrics.distributions import chi_square_p_value
from vivant.metrics.intervals import Interval, Values, mean_interval, wilson


class OptionPosition(Struct, frozen=True, kw_only=True):
    """One position among so many options, over all questions that have them."""

    options: int
    """0 for questions with any number of options together."""
    position: int
    chosen: int
    """Replies that chose it."""
    expected: float
    """Replies that would have, if what they chose did not depend on the order."""
    replies: int
    keyed: int
    """Replies to orders with the right option at this position."""
    right: int
    """Those of them that are right."""

    @property
    def accuracy(self) -> Interval | None:
        """How right replies are when the right option stands here."""
        return wilson(self.right, self.keyed) if self.keyed else None


class PermutationSummary(Struct, frozen=True, kw_only=True):
    """A task of a run that was asked under several orders."""

    run: ScoredRun
    questions: int
    orders: int
    """Under so many orders at most."""
    replies: int
    value: float
    """Mean over questions of the share of their replies that are right."""
    interval: Interval | None
    consistent: float
    """Share of questions that are right under every order."""
    consistent_interval: Interval | None
    ever: float
    """Share of questions that are right under at least one order."""
    same: float
    """Share of pairs of replies to one question that choose the same option."""
    p: float | None
    """Of the test for a preference; None where no question is answered differently under different orders."""
    degrees: int
    positions: tuple[OptionPosition, ...]

    def merge_option_counts(self) -> list[OptionPosition]:
        """The positions over questions with any number of options."""
        width = max(position.options for position in self.positions)
        replies = sum({position.options: position.replies for position in self.positions}.values())
        merged: list[OptionPosition] = []
        for number in range(width):
            group = [position for position in self.positions if position.position == number]
            merged.append(
                OptionPosition(
                    options=0,
                    position=number,
                    chosen=sum(position.chosen for position in group),
                    expected=sum(position.expected for position in group),
                    replies=replies,
                    keyed=sum(position.keyed for position in group),
                    right=sum(position.right for position in group),
                )
            )
        return merged


class _Question(Struct):
    cluster: str
    options: int
    values: list[float]
    answers: list[str]
    orders: list[tuple[int, ...]]
    positions: list[int | None]
    keys: list[int | None]


def was_permuted(run: ScoredRun) -> bool:
    """Whether any reply is to another order of the options than the usual one."""
    return any(record is not None and record.permutation for _, record, _ in run.rows)


def summarise_permutations(run: ScoredRun, benchmark: Benchmark) -> PermutationSummary:
    """Summarise a task that was run with `--permute`. Raises where no question was answered in two orders."""
    questions = [question for question in _gather_questions(run, benchmark) if len(set(question.orders)) > 1]
    if not questions:
        raise UsageError(
            f"{run.run}: no question of {run.task} has been answered under two orders of its options"
        )
    clusters = [question.cluster for question in questions]
    means = [sum(question.values) / len(question.values) for question in questions]
    always = [float(min(question.values) == 1) for question in questions]
    moments = [
        compute_moments(orders, positions) for orders, positions in map(_read_choices, questions) if positions
    ]
    p, degrees = preference_test(moments)
    return PermutationSummary(
        run=run,
        questions=len(questions),
        orders=max(len(set(question.orders)) for question in questions),
        replies=sum(len(question.values) for question in questions),
        value=sum(means) / len(means),
        # Shares of right replies: Wilson on the effective number of questions keeps inside 0 to 1.
        interval=mean_interval(means, clusters, binary=True),
        consistent=sum(always) / len(always),
        consistent_interval=mean_interval(always, clusters, binary=True),
        ever=sum(max(question.values) == 1 for question in questions) / len(questions),
        same=same_answer_share([question.answers for question in questions]),
        p=p,
        degrees=degrees,
        positions=tuple(_count_positions(questions, moments)),
    )


def _read_choices(question: _Question) -> tuple[list[tuple[int, ...]], list[int]]:
    """Orders and positions of the replies that chose an option."""
    pairs = [(o, p) for o, p in zip(question.orders, question.positions, strict=True) if p is not None]
    return [order for order, _ in pairs], [position for _, position in pairs]


def _gather_questions(run: ScoredRun, benchmark: Benchmark) -> list[_Question]:
    unparsed_value = benchmark.unparsed_value
    questions: dict[str, _Question] = {}
    for sample, record, score in run.rows:
        value = get_counted_value(run, score, unparsed_value)
        if value is None or record is None or len(sample.options) < 2:
            continue
        order = record.order or tuple(range(len(sample.options)))
        question = questions.setdefault(
            sample.id, _Question(cluster_of(sample), len(sample.options), [], [], [], [], [])
        )
        question.values.append(value)
        question.answers.append(canonicalise_answer(sample, record, score))
        question.orders.append(order)
        question.positions.append(find_chosen_position(sample, record, score))
        question.keys.append(None if sample.key is None else order.index(sample.key))
    return list(questions.values())


class Moments(Struct, frozen=True, eq=False):
    """Of one question: how often each position was chosen, and what exchanging the choices would give."""

    chosen: Values
    expected: Values
    covariance: Values


def compute_moments(orders: Sequence[tuple[int, ...]], positions: Sequence[int]) -> Moments:
    """From the orders shown and the position chosen in each."""
    count, size = len(positions), len(orders[0])
    arrangements = np.asarray(orders)
    options = arrangements[np.arange(count), positions]
    # indicator[p, j, i]: under order j, the option of reply i stands at position p.
    stands = np.argsort(arrangements, axis=1)[:, options]
    indicator = (stands[None] == np.arange(size)[:, None, None]).astype(np.float64)
    centred = (
        indicator
        - indicator.mean(axis=1, keepdims=True)
        - indicator.mean(axis=2, keepdims=True)
        + indicator.mean(axis=(1, 2), keepdims=True)
    )
    flat = centred.reshape(size, -1)
    return Moments(
        chosen=np.bincount(positions, minlength=size).astype(np.float64),
        expected=indicator.sum(axis=(1, 2)) / count,
        covariance=flat @ flat.T / max(1, count - 1),
    )


def preference_test(questions: Sequence[Moments]) -> tuple[float | None, int]:
    """p value and degrees of freedom; no p value where no choice depends on the order."""
    by_size: dict[int, tuple[Values, Values]] = {}
    for question in questions:
        size = question.chosen.size
        excess, covariance = by_size.setdefault(size, (np.zeros(size), np.zeros((size, size))))
        excess += question.chosen - question.expected
        covariance += question.covariance
    statistic, degrees = 0.0, 0
    for excess, covariance in by_size.values():
        values, vectors = np.linalg.eigh(covariance)
        nonzero = values > 1e-9 * max(1.0, float(values.max()))
        statistic += float((np.square(vectors.T @ excess)[nonzero] / values[nonzero]).sum())
        degrees += int(nonzero.sum())
    return (chi_square_p_value(statistic, degrees), degrees) if degrees else (None, 0)


def _count_positions(questions: Sequence[_Question], moments: Sequence[Moments]) -> list[OptionPosition]:
    positions: list[OptionPosition] = []
    for size in sorted({question.options for question in questions}):
        group = [moment for moment in moments if moment.chosen.size == size]
        chosen = sum((moment.chosen for moment in group), np.zeros(size))
        expected = sum((moment.expected for moment in group), np.zeros(size))
        keyed, right = np.zeros(size), np.zeros(size)
        for question in questions:
            if question.options == size:
                for key, value in zip(question.keys, question.values, strict=True):
                    if key is not None:
                        keyed[key] += 1
                        right[key] += value
        positions += [
            OptionPosition(
                options=size,
                position=index,
                chosen=int(chosen[index]),
                expected=float(expected[index]),
                replies=int(chosen.sum()),
                keyed=int(keyed[index]),
                right=int(right[index]),
            )
            for index in range(size)
        ]
    return positions
