"""Samples that are asked together and in a fixed order, so that a run can stop at any of them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from vivant.metrics.confidence_sequence import ConfidenceSequence
    from vivant.metrics.intervals import Interval

Group = TypeVar("Group", bound=Hashable)
_WIDEST = 0.25
"""No group is aimed at with a larger half-width than this."""


class SampleUnit(Struct, frozen=True, array_like=True):
    """Samples that are asked together: a cluster, or several."""

    ids: tuple[str, ...]
    replies: int
    """Replies that make it whole."""


class Target(Struct, frozen=True, array_like=True):
    """From which unit on which half-width was aimed at, as a share."""

    unit: int
    half_width: float


class TaskOrder(Struct, kw_only=True):
    """One task: its units in the order of asking."""

    units: tuple[SampleUnit, ...]
    targets: tuple[Target, ...] = ()
    clustered: bool = True
    """Whether the data name clusters."""

    @property
    def samples(self) -> int:
        """All samples of the task."""
        return sum(len(unit.ids) for unit in self.units)

    @property
    def largest(self) -> int:
        """Replies of the largest unit."""
        return max(unit.replies for unit in self.units)

    def count_complete(self, replies: Mapping[str, int]) -> int:
        """How many units are answered whole, from the first on; `replies` counts records by sample id."""
        for number, unit in enumerate(self.units):
            if sum(replies.get(name, 0) for name in unit.ids) < unit.replies:
                return number
        return len(self.units)


class StoppedOrder(Struct, frozen=True):
    """A task of which not everything was asked."""

    order: TaskOrder
    complete: int
    """Units that count."""
    facets: Mapping[str, Mapping[str, str]] = {}
    """By id, those of the samples that are looked at, asked or not; empty where they are not known."""

    @property
    def ids(self) -> frozenset[str]:
        """The samples that count."""
        return frozenset(self.places)

    @property
    def places(self) -> dict[str, int]:
        """By sample that counts, the number of its unit."""
        units = self.order.units[: self.complete]
        return {name: number for number, unit in enumerate(units) for name in unit.ids}


def follow_targets(
    order: TaskOrder, sums: Sequence[tuple[float, float]], *, finite: bool = True
) -> ConfidenceSequence:
    """The confidence sequence after these units, with the targets that were aimed at.

    Args:
        order: The units of the task.
        sums: Totals and sizes of the first units.
        finite: For the mean of all units of the benchmark; else for the source that they come from.
    """
    from vivant.metrics.confidence_sequence import ConfidenceSequence

    changes = {target.unit: target.half_width for target in order.targets}
    first = changes.pop(0, None)
    sequence = ConfidenceSequence(
        units=len(order.units) if finite else None, largest=order.largest, target=first
    )
    for number, (total, size) in enumerate(sums):
        if number in changes:
            sequence.aim(changes[number])
        sequence.update(total, size)
    return sequence


def group_intervals(
    stopped: StoppedOrder,
    values: Iterable[tuple[Group, str, float]],
    members: Mapping[Group, Iterable[str]] = MappingProxyType({}),
) -> dict[Group, Interval]:
    """For each group of samples, an interval that holds at the moment of stopping.

    It is for the mean of all samples of the group, asked or not. A unit counts in each group by the samples that it
    has of it. The order of units is random within every group, so that the same bets are fair. Each interval holds by
    itself; of twenty groups one may be missed.

    Args:
        stopped: What was asked.
        values: The group, the sample's id and the value of each reply that has one. Samples whose turn had not come
            do not count.
        members: The ids of all samples of a group, asked or not. It makes intervals narrower. Leave out groups of which
            this is not known before the reply, such as long replies.
    """
    units = stopped.order.units
    places = {name: number for number, unit in enumerate(units) for name in unit.ids}
    sums: dict[Group, list[list[float]]] = {}
    for group, name, value in values:
        number = places.get(name, stopped.complete)
        if number < stopped.complete:
            own = sums.setdefault(group, [[0.0, 0.0] for _ in range(stopped.complete)])[number]
            own[0] += value
            own[1] += 1
    intervals: dict[Group, Interval] = {}
    for group, totals in sums.items():
        order, counted = stopped.order, list(range(stopped.complete))
        if group in members:
            sizes = Counter(places[name] for name in members[group] if name in places)
            order = _restrict_order(order, sizes)
            counted = [number for number in counted if number in sizes]
        intervals[group] = follow_targets(order, [(totals[n][0], totals[n][1]) for n in counted]).interval
    return intervals


def _restrict_order(order: TaskOrder, sizes: Mapping[int, int]) -> TaskOrder:
    """The units of a group alone; `sizes` are its samples in each unit. A part is aimed at in proportion."""
    numbers = sorted(sizes)
    units = [order.units[number] for number in numbers]
    # Repeats, where all samples have as many.
    repeats = {unit.replies / len(unit.ids) for unit in order.units}
    share = sum(sizes.values()) / order.samples
    return TaskOrder(
        units=tuple(
            SampleUnit(unit.ids, round(repeat * sizes[number])) if len(repeats) == 1 else unit
            for number, unit in zip(numbers, units, strict=True)
            for repeat in [min(repeats)]
        ),
        targets=tuple(
            Target(bisect_left(numbers, target.unit), min(_WIDEST, target.half_width / math.sqrt(share)))
            for target in order.targets
        ),
        clustered=order.clustered,
    )
