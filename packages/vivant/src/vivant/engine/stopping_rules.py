"""When it is enough: an interval that is narrow enough, or a difference to another run that is settled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

from vivant.benchmarks.sample_units import TaskOrder, follow_targets
from vivant.metrics.confidence_sequence import ConfidenceSequence, count_to_settle

Values = Mapping[str, tuple[float, int]]
"""By sample of a unit, the sum of its values and how many they are."""


class StoppingRule(Protocol):
    """Follows one task unit by unit."""

    @property
    def settled(self) -> bool: ...

    def update(self, values: Values) -> None: ...

    def describe(self) -> str: ...

    def count_remaining(self) -> int: ...


class WidthRule:
    """Enough when the interval around the benchmark's score is narrow enough."""

    def __init__(self, order: TaskOrder, target: float, scale: float) -> None:
        self._order = order
        self._target = target
        self._scale = scale
        self._sequence = follow_targets(order, ())
        self._aims = {change.unit: change.half_width for change in order.targets if change.unit}

    @property
    def settled(self) -> bool:
        """Whether the interval is narrow enough."""
        return self._sequence.half_width <= self._target

    def update(self, values: Values) -> None:
        """The next unit."""
        sequence = self._sequence
        if sequence.count in self._aims:
            sequence.aim(self._aims[sequence.count])
        total, size = sum_values(values)
        sequence.update(total, size)

    def describe(self) -> str:
        """The interval in words."""
        sequence = self._sequence
        if sequence.count == len(self._order.units):
            return f"all {self._order.samples} samples were asked before half of the interval was {self._points()}"
        state = "at most" if self.settled else "not yet at most"
        return (
            f"the score on all {self._order.samples} samples lies between {sequence.low * self._scale:.1f} and "
            f"{sequence.high * self._scale:.1f} (half of it is {state} {self._points()})"
        )

    def _points(self) -> str:
        return f"{self._target * self._scale:g}"

    def count_remaining(self) -> int:
        """Units that are probably still needed."""
        sequence, units = self._sequence, len(self._order.units)
        # An interval of this kind shrinks as a usual one for a finite population, with 2.9 in place of 1.96.
        wide = sequence.half_width / self._target
        count = max(1, sequence.count)
        free = wide**2 * count / max(1e-9, 1 - count / units)
        return max(1, math.ceil(free / (1 + free / units)) - count)


class DifferenceRule:
    """Enough when this run is better or worse than another one, or when the benchmark is too small to tell."""

    def __init__(
        self, order: TaskOrder, name: str, opponent: Mapping[str, float], level: float, scale: float
    ) -> None:
        """Args:
        order: The units of the task.
        name: The other run.
        opponent: Its mean value on each sample.
        level: Of the interval, corrected for the number of runs.
        scale: Figures times this are what tables print.
        """
        self._units = len(order.units)
        self._name = name
        self._opponent = opponent
        self._level = level
        self._scale = scale
        largest = max(len(unit.ids) for unit in order.units)
        self._sequence = ConfidenceSequence(largest=largest, bounds=(-1.0, 1.0), level=level)

    @property
    def settled(self) -> bool:
        """Whether the difference is clear, or hopeless."""
        return self.verdict != ""

    @property
    def verdict(self) -> str:
        """`better`, `worse`, `too close`, or empty while it is open."""
        sequence = self._sequence
        if sequence.low > 0:
            return "better"
        if sequence.high < 0:
            return "worse"
        if sequence.count >= max(20, self._units / 10) and self._needed() > self._units:
            return "too close"
        return ""

    def _needed(self) -> float:
        return count_to_settle(self._sequence, self._level)

    def update(self, values: Values) -> None:
        """The next unit; samples that the other run lacks do not count."""
        changes = [
            total / count - self._opponent[name]
            for name, (total, count) in values.items()
            if count and name in self._opponent
        ]
        self._sequence.update(math.fsum(changes), len(changes))

    def describe(self) -> str:
        """The difference in words."""
        sequence = self._sequence
        ends = f"{sequence.low * self._scale:+.1f} to {sequence.high * self._scale:+.1f} points"
        verdict = self.verdict
        if verdict == "too close":
            return f"too close to {self._name} to be settled within this benchmark ({ends})"
        if verdict:
            return f"{verdict} than {self._name} ({ends})"
        return f"not settled against {self._name} ({ends})"

    def count_remaining(self) -> int:
        """Units that are probably still needed."""
        needed = min(self._needed(), float(self._units))
        return max(1, math.ceil(needed) - self._sequence.count)


def sum_values(values: Values) -> tuple[float, float]:
    """The total of a unit, and how many values it has."""
    return math.fsum(total for total, _ in values.values()), float(sum(count for _, count in values.values()))
