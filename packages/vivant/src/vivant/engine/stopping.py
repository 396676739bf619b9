"""Stop a run when it is enough (`--until`, `--until-better-than`, `--until-rank`).

Samples are asked in units, in random order (`metrics/sampling_order.py`). A unit counts when it and all before it are
answered whole, so that quick replies are not counted before slow ones. After each, the rules of its task look whether
it is enough; then nothing more of the task is sent. What is under way is still logged, and counts where no gap is
before it.

Answers that a judge scores, and batches, come in rounds: each asks as many units as are probably still needed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import msgspec

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol, ScoreSettings
from vivant.benchmarks.recipes import find_recipe
from vivant.benchmarks.sample_units import SampleUnit, Target, TaskOrder
from vivant.benchmarks.summary import cluster_of
from vivant.benchmarks.validation import scores_apart
from vivant.core.errors import UsageError
from vivant.core.records import Record
from vivant.core.stored_lines import KeySet, select_values
from vivant.core.types import Job
from vivant.engine.options import RunOptions
from vivant.engine.permutations import count_orders
from vivant.engine.plan import Plan, TaskPlan
from vivant.engine.recording import RecordListener, RunOutcome
from vivant.engine.stopping_opponents import Opponents, load_opponents
from vivant.engine.stopping_rules import DifferenceRule, StoppingRule, WidthRule
from vivant.engine.task_progress import TaskProgress
from vivant.metrics.sampling_order import order_in_units
from vivant.runs.directory import RunDir
from vivant.runs.run import Run
from vivant.runs.run_scoring import merge_scoring_values
from vivant.runs.stopping import Stopping, read_stopping, write_stopping

logger = logging.getLogger("vivant")
_FEW_UNITS = 20


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
