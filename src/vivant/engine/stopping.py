"""Stop a run when it is enough (`--until`, `--until-better-than`, `--until-rank`).

Samples are asked in units, in random order (`metrics/sampling_order.py`). A unit counts when it and all before it are
answered whole, so that quick replies are not counted before slow ones. After each, the rules of its task look whether
it is enough; then nothing more of the task is sent. What is under way is still logged, and counts where no gap is
before it.

Answers that a judge scores, and batches, come in rounds: each asks as many units as are probably still needed.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol, ScoredRun, ScoreSettings
from vivant.benchmarks.recipes import find_recipe
from vivant.benchmarks.sample_units import SampleUnit, Target, TaskOrder
from vivant.benchmarks.summary import cluster_of, get_counted_value
from vivant.benchmarks.validation import scores_apart
from vivant.core.errors import UsageError
from vivant.core.records import Record, Score
from vivant.core.stored_lines import KeySet, select_values
from vivant.core.types import Job, Sample
from vivant.engine.options import RunOptions
from vivant.engine.permutations import count_orders
from vivant.engine.plan import Plan, TaskPlan
from vivant.engine.recording import RecordListener, RunOutcome
from vivant.engine.stopping_opponents import Opponents, load_opponents
from vivant.engine.stopping_rules import DifferenceRule, StoppingRule, WidthRule
from vivant.metrics.sampling_order import order_in_units
from vivant.runs.directory import RunDir
from vivant.runs.reply_scoring import score_answers
from vivant.runs.run import Run
from vivant.runs.run_scoring import merge_scoring_values
from vivant.runs.stopping import Stopping, read_stopping, write_stopping

logger = logging.getLogger("vivant")
_FEW_UNITS = 20
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


class EarlyStop:
    """A run that may stop early: what is asked next, and whether it is enough."""

    def __init__(
        self, plan: Plan, directory: RunDir, options: RunOptions, protocol: Protocol, opponents: Opponents
    ) -> None:
        self._directory = directory
        self._options = options
        self._protocol: Protocol = protocol
        self._settings = plan.settings
        self._opponents = opponents
        self._current: TaskProgress | None = None
        self._stopping = read_stopping(directory) or Stopping(
            tasks={task.task: _make_order(task, plan) for task in plan.tasks}
        )
        self.tasks = {
            task.task: TaskProgress(
                task, self._stopping.tasks[task.task], _score_settings(task, options, protocol)
            )
            for task in plan.tasks
        }
        for task in plan.tasks:
            benchmark = task.benchmark
            if not benchmark.task(task.task).judged and not scores_apart(benchmark):
                raise UsageError(
                    f"{benchmark.name} scores all replies together, so that a run cannot stop early; where each score "
                    "depends on its own record alone, set scores_apart = True in its class"
                )
        self.in_rounds = options.batch or any(task.judged for task in self.tasks.values())

    @property
    def enough(self) -> bool:
        """Whether nothing more needs to be asked."""
        return all(task.enough for task in self.tasks.values())

    def update(self, record: Record) -> None:
        """A reply, new or from the log."""
        task = self.tasks.get(record.task)
        if task is not None:
            task.update(record)

    def begin(self) -> None:
        """Called when the log is read: note a new target, make the rules, and let them see what is there."""
        for name, task in self.tasks.items():
            scale = task.plan.benchmark.task(name).scale
            rules: list[StoppingRule] = []
            if self._options.until is not None:
                target = self._options.until / scale
                changes = task.order.targets
                if not changes or changes[-1].half_width != target:
                    # Bets on units that are known already were made for the old target.
                    kept = tuple(change for change in changes if change.unit < task.complete)
                    task.order.targets = (*kept, Target(task.complete, target))
                rules.append(WidthRule(task.order, target, scale))
            rivals = self._opponents.get(name, {})
            level = 1 - 0.05 / max(1, len(rivals))
            rules += [DifferenceRule(task.order, run, values, level, scale) for run, values in rivals.items()]
            task.rules = rules
            if not task.judged:
                task.count()
        write_stopping(self._directory, self._stopping)

    def count_judged(self) -> None:
        """Let the rules see what a judge has scored."""
        for part in Run(self._directory.path).scores(self._protocol):
            task = self.tasks[part.task]
            if task.judged:
                task.count_judged(part.rows)

    def start_round(self) -> None:
        """Allow the next units, where they come in rounds."""
        if self.in_rounds:
            for task in self.tasks.values():
                task.widen()

    def jobs(self, done: KeySet) -> Iterator[Job]:
        """What is still to be asked, in the order of units; ends where it is enough."""
        for task in self.tasks.values():
            self._current = task
            places = {sample.id: index for index, sample in enumerate(task.plan.chosen)}
            indices = [places[name] for unit in task.order.units[: task.limit] for name in unit.ids]
            ordered = msgspec.structs.replace(task.plan, chosen=select_values(task.plan.chosen, indices))
            for job in Plan(tasks=(ordered,), settings=self._settings).jobs():
                if task.enough:
                    break
                if job.key not in done:
                    task.note_asked(job.id)
                    yield job

    def is_wanted(self, job: Job) -> bool:
        """Whether a job should still be sent."""
        return self.tasks[job.task].is_wanted(job.id)

    def may_ask(self) -> bool:
        """Whether the next job may be taken: not while many replies wait for a slow one that comes before them."""
        task = self._current
        return task is None or self.in_rounds or task.may_ask(self._options.concurrency)

    def follow(self, progress: RecordListener, done: KeySet) -> _Follower:
        """A listener that shows progress, and keeps what is done and what is enough up to date."""
        return _Follower(self, progress, done)

    def run(
        self, ask: Callable[[Iterator[Job]], RunOutcome], done: KeySet, judge: Callable[[], object] | None
    ) -> RunOutcome:
        """Ask until it is enough; `ask` carries out jobs, `judge` judges what is answered."""
        self.begin()
        whole = RunOutcome()
        while True:
            if judge is not None and any(task.judged and task.complete for task in self.tasks.values()):
                judge()
                self.count_judged()
            if self.enough:
                break
            self.start_round()
            before = len(done)
            outcome = ask(self.jobs(done))
            whole = msgspec.structs.replace(
                outcome,
                done=whole.done + outcome.done,
                errors=whole.errors + outcome.errors,
                cached=whole.cached + outcome.cached,
            )
            if outcome.stopped or len(done) == before:
                break
        self._stopping.enough = self._directory.log_file.stat().st_size if self.enough else 0
        self._stopping.outcomes = {
            name: tuple(rule.describe() for rule in task.rules or () if isinstance(rule, DifferenceRule))
            for name, task in self.tasks.items()
        }
        write_stopping(self._directory, self._stopping)
        return whole


class _Follower:
    """Told of every record as it is logged."""

    def __init__(self, early: EarlyStop, progress: RecordListener, done: KeySet) -> None:
        self._early = early
        self._progress = progress
        self._done = done

    def update(self, record: Record) -> None:
        self._progress.update(record)
        self._done.add(record.key)
        self._early.update(record)


def prepare_early_stop(
    plan: Plan, directory: RunDir, options: RunOptions, protocol: Protocol | None, *, has_judge: bool
) -> EarlyStop:
    """Check that a run can stop early, read the runs that it is measured against, and say how it is asked."""
    tasks = [task.task for task in plan.tasks]
    protocol = registry.choose_protocol(tasks, protocol)
    judged = [task.task for task in plan.tasks if task.benchmark.task(task.task).judged]
    if judged and not has_judge:
        raise UsageError(
            f"{judged[0]} is scored by a judge, without whom nothing says when it is enough: add --judge openai/NAME, "
            "or leave out --until"
        )
    for task in plan.tasks:
        reason = task.benchmark.explain_unscorable(task.task)
        if reason:
            raise UsageError(
                f"{task.task} cannot be scored here, so that nothing says when it is enough. {reason}"
            )
        widest = task.benchmark.task(task.task).scale / 2
        if options.until is not None and options.until >= widest:
            raise UsageError(
                f"--until {options.until:g}: must be below {widest:g}, half the scale of {task.task}, which holds "
                "before anything is asked"
            )
    opponents = load_opponents(plan, directory.path, options, protocol)
    early = EarlyStop(plan, directory, options, protocol, opponents)
    for name, state in early.tasks.items():
        logger.info("%s", _describe_order(name, state.order))
    return early


def _describe_order(task: str, order: TaskOrder) -> str:
    units = len(order.units)
    text = f"{task}: {order.samples} samples in {units} units, asked in random order until it is enough."
    if not order.clustered:
        text += " The data name no clusters, so that each sample counts as independent of the others."
    if units < _FEW_UNITS:
        text += " So few units seldom allow to stop early."
    return text


def _make_order(task: TaskPlan, plan: Plan) -> TaskOrder:
    samples = list(task.chosen)
    units = order_in_units(
        [cluster_of(sample) for sample in samples],
        [sample.facets for sample in samples],
        plan.settings.seed,
        task.task,
    )
    repeat, permute = plan.settings.repeat, plan.settings.permute
    return TaskOrder(
        units=tuple(
            SampleUnit(
                tuple(samples[index].id for index in unit),
                repeat * sum(count_orders(samples[index], permute) for index in unit),
            )
            for unit in units
        ),
        clustered=any(sample.cluster not in ("", sample.id) for sample in samples),
    )


def _score_settings(task: TaskPlan, options: RunOptions, protocol: Protocol) -> ScoreSettings:
    recipe = (
        find_recipe(task.benchmark.name, options.recipe).scoring
        if options.recipe and protocol == "paper"
        else {}
    )
    return ScoreSettings(
        protocol=protocol,
        style=options.style or task.benchmark.styles[0],
        values=merge_scoring_values(task.benchmark, recipe),
    )
