"""What another order of the options changes: consistent accuracy, and a preference for places.

The test of a preference: within a question, the options chosen under its several orders are exchanged among
those orders. A model that looks at what options say is as likely to have chosen any of them under any order, so
the places it chose should be those that such exchanges give. Their mean and covariance are known exactly
(Hoeffding 1951), and summed over questions they give a chi-square. Questions that are answered alike under
every order say nothing on places and add nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.analysis.repeats import answer_of, chosen_place, same_answers
from vivant.benchmarks.base import Benchmark, ScoredRun
from vivant.benchmarks.summary import cluster_of, counted_value
from vivant.core.errors import UsageError
from vivant.metrics.distributions import chi_square_p_value
from vivant.metrics.intervals import Interval, mean_interval, wilson

Matrix = NDArray[np.float64]


class Place(Struct, frozen=True, kw_only=True):
    """One place among so many options, over all questions that have them."""

    options: int
    """0 for questions with any number of options together."""
    place: int
    chosen: int
    """Replies that chose it."""
    expected: float
    """Replies that would have, if what they chose did not depend on the order."""
    replies: int
    keyed: int
    """Replies to orders with the right option at this place."""
    right: int
    """Those of them that are right."""

    @property
    def accuracy(self) -> Interval | None:
        """How right replies are when the right option stands here."""
        return wilson(self.right, self.keyed) if self.keyed else None


class Permuted(Struct, frozen=True, kw_only=True):
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
    places: tuple[Place, ...]

    def together(self) -> list[Place]:
        """The places over questions with any number of options."""
        width = max(place.options for place in self.places)
        replies = sum({place.options: place.replies for place in self.places}.values())
        found: list[Place] = []
        for number in range(width):
            own = [place for place in self.places if place.place == number]
            found.append(
                Place(
                    options=0,
                    place=number,
                    chosen=sum(place.chosen for place in own),
                    expected=sum(place.expected for place in own),
                    replies=replies,
                    keyed=sum(place.keyed for place in own),
                    right=sum(place.right for place in own),
                )
            )
        return found


class _Question(Struct):
    cluster: str
    options: int
    values: list[float]
    answers: list[str]
    orders: list[tuple[int, ...]]
    places: list[int | None]
    keys: list[int | None]


def was_permuted(run: ScoredRun) -> bool:
    """Whether any reply is to another order of the options than the usual one."""
    return any(record is not None and record.permutation for _, record, _ in run.rows)


def permuted_of(run: ScoredRun, benchmark: Benchmark) -> Permuted:
    """Summarise a task that was run with `--permute`. Raises where no question was answered in two orders."""
    asked = [question for question in _questions(run, benchmark) if len(set(question.orders)) > 1]
    if not asked:
        raise UsageError(
            f"{run.run}: no question of {run.task} has been answered under two orders of its options"
        )
    clusters = [one.cluster for one in asked]
    means = [sum(one.values) / len(one.values) for one in asked]
    always = [float(min(one.values) == 1) for one in asked]
    found = [moments(orders, places) for orders, places in map(_read, asked) if places]
    p, degrees = preference_test(found)
    return Permuted(
        run=run,
        questions=len(asked),
        orders=max(len(set(one.orders)) for one in asked),
        replies=sum(len(one.values) for one in asked),
        value=sum(means) / len(means),
        # Shares of right replies: Wilson on the effective number of questions keeps inside 0 to 1.
        interval=mean_interval(means, clusters, binary=True),
        consistent=sum(always) / len(always),
        consistent_interval=mean_interval(always, clusters, binary=True),
        ever=sum(max(one.values) == 1 for one in asked) / len(asked),
        same=same_answers([one.answers for one in asked]),
        p=p,
        degrees=degrees,
        places=tuple(_places(asked, found)),
    )


def _read(one: _Question) -> tuple[list[tuple[int, ...]], list[int]]:
    """Orders and places of the replies that chose an option."""
    pairs = [(o, p) for o, p in zip(one.orders, one.places, strict=True) if p is not None]
    return [order for order, _ in pairs], [place for _, place in pairs]


def _questions(run: ScoredRun, benchmark: Benchmark) -> list[_Question]:
    unparsed_value = benchmark.unparsed_value
    found: dict[str, _Question] = {}
    for sample, record, score in run.rows:
        value = counted_value(run, score, unparsed_value)
        if value is None or record is None or len(sample.options) < 2:
            continue
        order = record.order or tuple(range(len(sample.options)))
        own = found.setdefault(
            sample.id, _Question(cluster_of(sample), len(sample.options), [], [], [], [], [])
        )
        own.values.append(value)
        own.answers.append(answer_of(sample, record, score))
        own.orders.append(order)
        own.places.append(chosen_place(sample, record, score))
        own.keys.append(None if sample.key is None else order.index(sample.key))
    return list(found.values())


class Moments(Struct, frozen=True, eq=False):
    """Of one question: how often each place was chosen, and what exchanging the choices would give."""

    chosen: Matrix
    expected: Matrix
    covariance: Matrix


def moments(orders: Sequence[tuple[int, ...]], places: Sequence[int]) -> Moments:
    """From the orders shown and the place chosen in each."""
    count, size = len(places), len(orders[0])
    shown = np.asarray(orders)
    options = shown[np.arange(count), places]
    # indicator[p, j, i]: under order j, the option of reply i stands at place p.
    stands = np.argsort(shown, axis=1)[:, options]
    indicator = (stands[None] == np.arange(size)[:, None, None]).astype(np.float64)
    centred = (
        indicator
        - indicator.mean(axis=1, keepdims=True)
        - indicator.mean(axis=2, keepdims=True)
        + indicator.mean(axis=(1, 2), keepdims=True)
    )
    flat = centred.reshape(size, -1)
    return Moments(
        chosen=np.bincount(places, minlength=size).astype(np.float64),
        expected=indicator.sum(axis=(1, 2)) / count,
        covariance=flat @ flat.T / max(1, count - 1),
    )


def preference_test(questions: Sequence[Moments]) -> tuple[float | None, int]:
    """p value and degrees of freedom; no p value where no choice depends on the order."""
    by_size: dict[int, tuple[Matrix, Matrix]] = {}
    for one in questions:
        size = one.chosen.size
        excess, covariance = by_size.setdefault(size, (np.zeros(size), np.zeros((size, size))))
        excess += one.chosen - one.expected
        covariance += one.covariance
    statistic, degrees = 0.0, 0
    for excess, covariance in by_size.values():
        values, vectors = np.linalg.eigh(covariance)
        kept = values > 1e-9 * max(1.0, float(values.max()))
        statistic += float((np.square(vectors.T @ excess)[kept] / values[kept]).sum())
        degrees += int(kept.sum())
    return (chi_square_p_value(statistic, degrees), degrees) if degrees else (None, 0)


def _places(asked: Sequence[_Question], found: Sequence[Moments]) -> list[Place]:
    places: list[Place] = []
    for size in sorted({one.options for one in asked}):
        own = [one for one in found if one.chosen.size == size]
        chosen = sum((one.chosen for one in own), np.zeros(size))
        expected = sum((one.expected for one in own), np.zeros(size))
        keyed, right = np.zeros(size), np.zeros(size)
        for one in asked:
            if one.options == size:
                for key, value in zip(one.keys, one.values, strict=True):
                    if key is not None:
                        keyed[key] += 1
                        right[key] += value
        places += [
            Place(
                options=size,
                place=place,
                chosen=int(chosen[place]),
                expected=float(expected[place]),
                replies=int(chosen.sum()),
                keyed=int(keyed[place]),
                right=int(right[place]),
            )
            for place in range(size)
        ]
    return places
