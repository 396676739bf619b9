"""What a table says of a run that stopped early: intervals that hold at that moment, what was asked, what was saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from vivant.benchmarks.base import Benchmark, ScoredRun
from vivant.benchmarks.sample_units import StoppedOrder, TaskOrder, follow_targets
from vivant.benchmarks.summary import sum_units
from vivant.runs.log import read_log
from vivant.runs.run import Run
from vivant.runs.stopping import Stopping, read_stopping


class StoppedTask(msgspec.Struct, frozen=True):
    """One task of a run that may have stopped early."""

    order: TaskOrder
    complete: int
    """Units that count."""
    asked_count: int
    """Samples that were asked, in turn or not."""
    late: int
    """Replies whose turn had not come."""
    outcomes: tuple[str, ...]

    @property
    def stopped(self) -> bool:
        """Whether not everything was asked."""
        return self.complete < len(self.order.units)


def find_stopped(run: Run) -> dict[str, StoppedTask]:
    """The tasks of a run that was made to stop early; empty for others."""
    stopping: Stopping | None = read_stopping(run.dir)
    if stopping is None:
        return {}
    answered: dict[str, Counter[str]] = {task: Counter() for task in stopping.tasks}
    for record in read_log(run.dir.log_file):
        answered[record.task][record.id] += 1
    tasks = {}
    for name, order in stopping.tasks.items():
        complete = order.count_complete(answered[name])
        counted = sum(unit.replies for unit in order.units[:complete])
        late = answered[name].total() - counted
        tasks[name] = StoppedTask(order, complete, len(answered[name]), late, stopping.outcomes.get(name, ()))
    return tasks


def find_shared_order(stopped: Sequence[StoppedTask]) -> StoppedOrder | None:
    """The order in which a pair of runs was asked, up to the first stop.

    None without a stop. None also where both have an order of their own: what they share is then a beginning of
    neither, and no interval is known that holds for it.
    """
    if not stopped:
        return None
    complete = min(task.complete for task in stopped)
    first = stopped[0].order
    if any(task.order.units[:complete] != first.units[:complete] for task in stopped[1:]):
        return None
    return StoppedOrder(first, complete)


def describe_stopped_runs(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    """A note for rankings and comparisons, whose intervals are made for samples that were fixed beforehand."""
    stopped = [
        name
        for run, name in zip(runs, names, strict=True)
        if any(task.stopped for task in find_stopped(run).values())
    ]
    if not stopped:
        return []
    return [
        f"{', '.join(stopped)}: stopped early, by what was answered so far. Intervals and tests here are made for "
        "samples that are fixed beforehand, so that they are a little too sure. Those of `vivant table` hold."
    ]


def describe_stop(
    part: ScoredRun, benchmark: Benchmark, task: StoppedTask, *, in_groups: bool = False
) -> list[str]:
    """The notes under the table: asked, saved, for what the interval holds, and what else was found.

    Args:
        part: The scores of the task.
        benchmark: Its benchmark.
        task: What was asked of it.
        in_groups: Whether the table shows parts of the task, by facet or by a condition.
    """
    where = f"{part.run}, {part.task}"
    notes = []
    if task.stopped:
        samples, scale = task.order.samples, benchmark.task(part.task).scale
        rows = ((sample, score) for sample, _, score in part.rows)
        sums = sum_units(StoppedOrder(task.order, task.complete), rows, benchmark, part)
        if in_groups:
            scope = "Each interval is for the score on all samples of its group, asked or not"
        else:
            scope = f"The interval is for the score on all {samples}"
        notes.append(
            f"{where}: asked {task.asked_count} of {samples} samples, which saved "
            f"{1 - task.asked_count / samples:.0%}. {scope}, "
            "and is valid at the moment of stopping (docs/stop-early.md)."
        )
        if task.order.targets and not in_groups:
            half = follow_targets(task.order, sums).half_width * scale
            notes.append(
                f"{where}: half of the interval is {half:.1f} points; the score need not lie in its middle."
            )
        wide = follow_targets(task.order, sums, finite=False).interval.scale(scale)
        kind = "all groups shown together, for" if in_groups else "for"
        notes.append(f"{where}: {kind} other questions of the same kind, {wide.low:.1f} – {wide.high:.1f}.")
        if not task.order.clustered:
            notes.append(f"{where}: the data name no clusters; each sample counts as independent.")
        if task.late:
            replies = "1 reply" if task.late == 1 else f"{task.late} replies"
            notes.append(f"{where}: not counted, because out of turn: {replies}.")
    notes += [f"{where}: {outcome}." for outcome in task.outcomes]
    return notes
