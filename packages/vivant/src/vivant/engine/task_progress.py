"""How far one task of a run that may stop early has come: the units answered whole, and what its rules say of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from vivant.benchmarks.base import ScoredRun, ScoreSettings
from vivant.benchmarks.sample_units import TaskOrder
from vivant.benchmarks.summary import get_counted_value
from vivant.core.errors import UsageError
from vivant.core.records import Record, Score
from vivant.core.types import Sample
from vivant.engine.plan import TaskPlan
from vivant.engine.stopping_rules import StoppingRule
from vivant.runs.reply_scoring import score_answers

_AHEAD = 2
"""Times the requests at once: so many replies may wait for a slow one, or half of those probably needed."""
_FIRST_ROUND = 20
"""Units that the first round asks, at least."""


class TaskProgress:
    """One task of a run that may stop early."""

    def __init__(self, plan: TaskPlan, order: TaskOrder, settings: ScoreSettings) -> None:
        self.plan = plan
        self.order = order
        self.judged = plan.benchmark.task(plan.task).judged
        self.counted = 0
        """Units that the rules have seen."""
        self.limit = len(order.units)
        """Units that may be asked in this round."""
        self.rules: Sequence[StoppingRule] | None = None
        """None until what the log holds is known."""
        self._settings = settings
        self._part = ScoredRun(
            run=plan.task, model="", style="", task=plan.task, protocol=settings.protocol, rows=()
        )
        self._complete = 0
        self._enough = False
        self._places = {name: number for number, unit in enumerate(order.units) for name in unit.ids}
        self._samples = {sample.id: sample for sample in plan.chosen}
        self._replies: Counter[int] = Counter()
        self._waiting: dict[int, list[Record]] = {}
        self._asked: Counter[int] = Counter()
        self._last = 0

    @property
    def complete(self) -> int:
        """Units that are answered whole, from the first on."""
        units = self.order.units
        while self._complete < len(units) and self._replies[self._complete] >= units[self._complete].replies:
            self._complete += 1
        return self._complete

    @property
    def enough(self) -> bool:
        """Whether nothing more needs to be asked. Stays so, whatever comes in late."""
        if not self._enough and self.counted and self.rules is not None:
            self._enough = all(rule.settled for rule in self.rules)
        return self._enough or self.complete == len(self.order.units)

    def is_wanted(self, name: str) -> bool:
        """Whether a sample should still be asked."""
        return not self.enough and self._places[name] < self.limit

    def update(self, record: Record) -> None:
        """One more reply."""
        unit = self._places.get(record.id)
        if unit is None:
            return
        self._replies[unit] += 1
        if self.rules is None:  # from the log
            self._asked[unit] += 1
        if not self.judged:
            self._waiting.setdefault(unit, []).append(record)
            self.count()

    def count(self) -> None:
        """Let the rules see the units that are answered whole."""
        while self.rules is not None and self.counted < self.complete:
            pairs = [(self._samples[record.id], record) for record in self._waiting.pop(self.counted)]
            scores = score_answers(self.plan.benchmark, pairs, self._settings)
            self._tell(self._sum(zip((sample for sample, _ in pairs), scores, strict=True)))

    def count_judged(self, rows: Iterable[tuple[Sample, Record | None, Score]]) -> None:
        """The same with the verdicts of a judge."""
        sums = self._sum((sample, score) for sample, _, score in rows)
        while self.counted < self.complete:
            names = self.order.units[self.counted].ids
            self._tell({name: sums[name] for name in names if name in sums})

    def _sum(self, scores: Iterable[tuple[Sample, Score]]) -> dict[str, tuple[float, int]]:
        sums: dict[str, tuple[float, int]] = {}
        for sample, score in scores:
            value = get_counted_value(self._part, score, self.plan.benchmark.unparsed_value)
            if value is None:
                continue
            if not 0.0 <= value <= 1.0:
                raise UsageError(
                    f"{score.key} has the value {value:g}; a run stops early only where scores lie between 0 and 1. "
                    "Run the same command without --until to go on"
                )
            total, count = sums.get(sample.id, (0.0, 0))
            sums[sample.id] = total + value, count + 1
        return sums

    def _tell(self, values: Mapping[str, tuple[float, int]]) -> None:
        for rule in self.rules or ():
            rule.update(values)
        self.counted += 1

    def note_asked(self, name: str) -> None:
        """A sample is about to be asked."""
        self._last = self._places[name]
        self._asked[self._last] += 1

    def may_ask(self, concurrency: int) -> bool:
        """Whether to go on asking: not while a slow reply holds up many, or all that are probably needed."""
        if self.enough or self._last <= self.complete:  # nothing is held up
            return True
        remaining = self.estimate_remaining()
        ahead = sum(count for unit, count in self._asked.items() if unit >= self.complete)
        waiting = self.count_waiting()
        return ahead < max(concurrency, remaining) and (
            waiting <= _AHEAD * concurrency or waiting < remaining / 2
        )

    def count_waiting(self) -> int:
        """Replies that came before their turn."""
        return sum(map(len, self._waiting.values()))

    def estimate_remaining(self) -> float:
        """Replies that are probably still needed."""
        units = self.order.units
        needed = max((rule.count_remaining() for rule in self.rules or () if not rule.settled), default=1)
        return needed * sum(unit.replies for unit in units) / len(units)

    def widen(self) -> None:
        """Allow as many more units as are probably needed."""
        if self.enough:
            return
        units = len(self.order.units)
        if not self.counted:
            self.limit = max(_FIRST_ROUND, units // 10)
            return
        open_rules = [rule for rule in self.rules or () if not rule.settled]
        self.limit = min(units, self.complete + max(rule.count_remaining() for rule in open_rules))
