"""What a report rests on: the runs, scored once, and the figures that several sections share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol, ScoredRun
from vivant.benchmarks.summary import summarise
from vivant.core.errors import UsageError
from vivant.core.table import Row
from vivant.reporting.html.leader_comparison import LeaderComparison, compare_leaders
from vivant.reporting.score_matrix import RunRows, ScoreMatrix, build_matrix
from vivant.runs.overview import chance_levels, list_published_rows
from vivant.runs.published_rows import PublishedSelection, list_selections, uses_mini
from vivant.runs.run import Run, choose_common_protocol
from vivant.runs.run_scoring import NoJudgeError
from vivant.runs.stopping_table import StoppedTask, describe_stop, find_stopped

_MAX_HELD = 300_000
"""Of a task with more samples the rows stay on disk."""
_MAX_RESCORED = 20_000
"""Up to so many samples the other protocol is scored too, only to say where the two differ."""


class ReportData(Struct, frozen=True, kw_only=True):
    """Everything measured, and everything published for the same tasks."""

    protocol: Protocol
    runs: tuple[Run, ...]
    parts: tuple[ScoredRun, ...]
    rows: tuple[Row, ...]
    """One per run and task."""
    chance: dict[tuple[str, str], float]
    published: tuple[Row, ...]
    selections: dict[str, PublishedSelection]
    """By benchmark, the published rows that belong beside these runs, and what is to be said about them."""
    other_values: dict[tuple[str, str], float]
    """Values under the other protocol, by run and task, where they were made."""
    names: dict[str, str]
    """What to call each run."""
    comparisons: tuple[LeaderComparison, ...]
    """On each task, the best model against each other run."""
    matrix: ScoreMatrix
    contestants: frozenset[str]
    """The runs that may lead: no baselines, no controls, no people."""
    stops: dict[str, tuple[str, ...]]
    """By task, what is to be said of runs that stopped early."""
    unscored: tuple[str, ...] = ()
    """Why runs, or tables, are left out: a sentence each."""

    @property
    def benchmarks(self) -> list[str]:
        """In the order of the runs."""
        return list(dict.fromkeys(row.benchmark for row in self.rows))

    def tasks(self, benchmark: str) -> list[str]:
        """The tasks of a benchmark that were measured."""
        return sorted({row.task for row in self.rows if row.benchmark == benchmark})

    def ranking(self, task: str) -> list[Row]:
        """The runs on one task, best first; without a score last."""
        rows = [row for row in self.rows if row.task == task]
        return sorted(rows, key=lambda row: (row.value is None, -(row.value or 0.0)))

    def color(self, run: str) -> int:
        """The number of a run's color among models, or among references; the same in every figure."""
        models = list(
            dict.fromkeys(
                name
                for other, name in self.names.items()
                if (other in self.contestants) == (run in self.contestants)
            )
        )
        return models.index(self.names[run])

    def best(self, task: str) -> Row | None:
        """The best model on a task; a baseline where there is no model."""
        rows = [row for row in self.ranking(task) if row.value is not None]
        return next((row for row in rows if row.run in self.contestants), rows[0] if rows else None)

    def find_leads(self, task: str) -> list[LeaderComparison]:
        """The best model of a task against each other run."""
        return [comparison for comparison in self.comparisons if comparison.task == task]

    def chance_level(self, task: str) -> float | None:
        """Of a task, where the runs agree on it."""
        levels = {round(value, 6) for (_, name), value in self.chance.items() if name == task}
        return levels.pop() if len(levels) == 1 else None


def gather_report_data(runs: Sequence[Run], protocol: Protocol | None) -> ReportData:
    """Score all runs. One whose judge is missing is named, not dropped in silence."""
    protocol = choose_common_protocol(runs, protocol)
    parts: list[ScoredRun] = []
    scored: list[Run] = []
    unscored: list[str] = []
    for run in runs:
        try:
            parts += [_hold_rows(part) for part in run.scores(protocol)]
            scored.append(run)
        except NoJudgeError as error:
            unscored.append(str(error))
    if not parts:
        raise UsageError(unscored[0] if unscored else "There is no run to report on")
    rows = [row for part in parts for row in summarise(part, registry.get_by_task(part.task))]
    selections = list_selections(scored, "auto")
    published = list_published_rows({part.task for part in parts}, (), selections)
    own = {run.name: [row for row in rows if row.run == run.name] for run in scored}
    matrix = build_matrix(
        [RunRows(manifest=run.manifest, rows=own[run.name], key=run.name) for run in scored], published
    )
    contestants = frozenset(
        run for entry in matrix.entries if entry.is_contestant for run in entry.runs.values()
    )
    stopped = {(run.name, task): state for run in scored for task, state in find_stopped(run).items()}
    early = {key: state for key, state in stopped.items() if state.stopped}
    parts.sort(key=lambda part: part.run not in contestants)
    rows.sort(key=lambda row: row.run not in contestants)
    return ReportData(
        protocol=protocol,
        runs=tuple(scored),
        parts=tuple(parts),
        rows=tuple(rows),
        chance=chance_levels(parts),
        published=tuple(published),
        selections=selections,
        other_values=_score_other(scored, "strict" if protocol == "paper" else "paper"),
        names=_name_runs(scored),
        comparisons=tuple(compare_leaders(parts, rows, contestants, early)),
        matrix=matrix,
        contestants=contestants,
        stops=_describe_stops(stopped, parts),
        unscored=tuple(unscored),
    )


def _hold_rows(part: ScoredRun) -> ScoredRun:
    """A large run's rows in memory, without the prompts: sections read them dozens of times."""
    if isinstance(part.rows, tuple) or len(part.rows) > _MAX_HELD:
        return part
    rows = tuple(
        (sample, None if record is None else structs.replace(record, messages=()), score)
        for sample, record, score in part.rows
    )
    return structs.replace(part, rows=rows)


def _describe_stops(
    states: Mapping[tuple[str, str], StoppedTask], parts: Sequence[ScoredRun]
) -> dict[str, tuple[str, ...]]:
    notes: dict[str, tuple[str, ...]] = {}
    for part in parts:
        state = states.get((part.run, part.task))
        if state is not None:
            own = describe_stop(part, registry.get_by_task(part.task), state)
            notes[part.task] = (*notes.get(part.task, ()), *own)
    return notes


_LONGEST_NAME = 200
"""Characters of a model's name in a report; it is written there many times."""


def _name_runs(runs: Sequence[Run]) -> dict[str, str]:
    """A run's model, with what tells it from other runs of the same model on the same task."""
    names: dict[str, str] = {}
    for run in runs:
        tasks = set(run.manifest.tasks)
        rivals = [o for o in runs if o is not run and o.model == run.model and tasks & set(o.manifest.tasks)]
        details = [run.manifest.style] if any(o.manifest.style != run.manifest.style for o in rivals) else []
        words = run.manifest.settings.list_distinctions()
        shared = [set(other.manifest.settings.list_distinctions()) for other in rivals]
        control = run.manifest.settings.control
        details += [w for w in words if w == control or any(w not in others for others in shared)]
        unique = all(
            (o.manifest.style, o.manifest.settings.list_distinctions()) != (run.manifest.style, words)
            for o in rivals
        )
        model = run.model if len(run.model) <= _LONGEST_NAME else f"{run.model[:_LONGEST_NAME]}…"
        names[run.name] = " · ".join([model, *(details if unique else [run.name])])
    return names


def _score_other(runs: Sequence[Run], protocol: Protocol) -> dict[tuple[str, str], float]:
    values: dict[tuple[str, str], float] = {}
    size = sum(sum(run.manifest.planned.values()) for run in runs)
    for run in runs:
        judged = any(registry.get_by_task(task).task(task).judged for task in run.manifest.tasks)
        supported = all(protocol in registry.get_by_task(task).protocols for task in run.manifest.tasks)
        if judged or not supported or (size > _MAX_RESCORED and run.dir.score_header(protocol) is None):
            continue
        for part in run.scores(protocol):
            for row in summarise(part, registry.get_by_task(part.task)):
                if row.value is not None:
                    values[row.run, row.task] = row.value
    return values


def is_mini(data: ReportData, benchmark: str) -> bool:
    """Whether the runs used the bundled edition, which no published figure was measured on."""
    return uses_mini(data.runs, benchmark)
