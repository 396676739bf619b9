"""The report's first page in sentences: what was describe_findings, and what cannot be concluded from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vivant.benchmarks import registry
from vivant.benchmarks.summary import judge_notes
from vivant.core.table import Row
from vivant.reporting.html.leader_comparison import LeaderComparison
from vivant.reporting.html.report_data import ReportData, is_mini
from vivant.runs.run import Run
from vivant.runs.settings import list_differences

_FEW_TASKS = 3
_FEW_SAMPLES = 50
_MISSING_SHARE = 0.01


def describe_findings(data: ReportData) -> list[str]:
    """One or two sentences per benchmark."""
    sentences: list[str] = []
    for benchmark in data.benchmarks:
        tasks = data.tasks(benchmark)
        if len(tasks) <= _FEW_TASKS:
            sentences += [sentence for task in tasks for sentence in _describe_task(data, task)]
        else:
            sentences += _describe_tasks(data, benchmark, tasks)
    return sentences


def _format_score(row: Row) -> str:
    """A score with its interval, as prose."""
    if row.value is None:
        return "no score"
    ends = f" (95 % interval {row.interval[0]:.1f} to {row.interval[1]:.1f})" if row.interval else ""
    return f"{row.value:.1f}{ends}"


def _describe_task(data: ReportData, task: str) -> list[str]:
    rows = [row for row in data.ranking(task) if row.value is not None]
    if not rows:
        return [f"{task}: nothing could be scored."]
    best, names = rows[0], data.names
    metric = "" if best.metric == "accuracy" else f" ({best.metric})"
    first = [names[row.run] for row in rows if row.value == best.value]
    verb = "scores" if len(first) == 1 else "score"
    text = f"{task}{metric}: {_join_names(first)} {verb} {'highest, ' if len(rows) > 1 else ''}{_format_score(best)}"
    if len(rows) > len(first):
        text += f", then {names[rows[len(first)].run]} with {_format_score(rows[len(first)])}"
    text += f", on {best.n:,} samples."
    chance = data.chance_level(task)
    if chance is not None:
        above = [names[row.run] for row in rows if row.interval and row.interval[0] > chance]
        below = [names[row.run] for row in rows if row.interval and row.interval[1] < chance]
        text += f" Guessing scores {chance:.1f}; "
        text += f"{_join_names(above)} {_is(above)} above it." if above else "no run is clearly above it."
        text += f" {_join_names(below)} {_is(below)} below it." if below else ""
    ahead = [
        comparison
        for comparison in _runner_up_comparisons(data)
        if comparison.task == task and comparison.is_significant
    ]
    text += (
        f" Its lead over {names[ahead[0].other]} is more than chance ({_format_p(ahead[0])})."
        if ahead
        else ""
    )
    people = [row for row in data.published if row.task == task and row.model.lower() == "human"]
    if people and people[0].value is not None:
        text += f" People score {people[0].value:.1f} ({people[0].source})."
    return [text]


def _runner_up_comparisons(data: ReportData) -> list[LeaderComparison]:
    """The best run of each task against the second."""
    return list({comparison.task: comparison for comparison in reversed(data.comparisons)}.values())[::-1]


def _format_p(comparison: LeaderComparison) -> str:
    if comparison.adjusted is None:
        return "too few samples to test"
    return "p < 0.001" if comparison.adjusted < 0.001 else f"p = {comparison.adjusted:.3f}"


def _describe_tasks(data: ReportData, benchmark: str, tasks: list[str]) -> list[str]:
    """For benchmarks of many tasks: who leads on how many, and who beats guessing."""
    leads: Counter[str] = Counter()
    above: Counter[str] = Counter()
    with_chance = 0
    for task in tasks:
        rows = [row for row in data.ranking(task) if row.value is not None]
        chance = data.chance_level(task)
        with_chance += chance is not None
        if rows and (len(rows) == 1 or rows[0].value != rows[1].value):
            leads[data.names[rows[0].run]] += 1
        for row in rows:
            if chance is not None and row.interval and row.interval[0] > chance:
                above[data.names[row.run]] += 1
    runs = list(dict.fromkeys(data.names[row.run] for row in data.rows if row.benchmark == benchmark))
    title = registry.get(benchmark).title
    text = f"{title} ({len(tasks)} tasks): "
    if len(runs) > 1:
        text += (
            "; ".join(f"{run} leads on {leads[run]}" for run in sorted(runs, key=lambda r: -leads[r])) + ". "
        )
    if with_chance:
        text += f"Of the {with_chance} tasks with a known chance level, clearly above it: "
        text += ", ".join(f"{run} on {above[run]}" for run in sorted(runs, key=lambda r: -above[r])) + "."
    return [text.rstrip()]


def _join_names(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def describe_limits(data: ReportData) -> list[str]:
    """What these data do not show, the gravest first."""
    return [
        *data.unscored,
        *_unfinished_runs(data),
        *_missing_replies(data),
        *_undecided_leads(data),
        *_runs_at_chance(data),
        *_small_tasks(data),
        *_unequal_settings(data),
        *_mini_editions(data),
        *[note for note in judge_notes(data.parts) if "never for results" in note],
    ]


def _unfinished_runs(data: ReportData) -> list[str]:
    sentences = []
    for run in data.runs:
        parts = [part for part in data.parts if part.run == run.name]
        absent = sum(record is None for part in parts for _, record, _ in part.rows)
        if absent:
            planned = sum(len(part.rows) for part in parts)
            sentences.append(
                f"{run.name} is not finished: {absent:,} of {planned:,} samples were not answered yet, "
                "and what was answered first need not be like the rest."
            )
    return sentences


def _missing_replies(data: ReportData) -> list[str]:
    sentences = []
    for run in data.runs:
        rows = [row for row in data.rows if row.run == run.name]
        errors, total = sum(row.errors for row in rows), sum(row.n + row.errors for row in rows)
        if not total or errors / total <= _MISSING_SHARE:
            continue
        line = f"{data.names[run.name]}: {errors:,} of {total:,} samples ({errors / total:.0%}) have no reply"
        worst = max(rows, key=lambda row: row.errors / max(1, row.n + row.errors))
        if len(rows) > 1:
            line += f", most of all on {worst.task} ({worst.errors:,} of {worst.n + worst.errors:,})"
        sentences.append(f"{line}; its scores say nothing about those.")
    return sentences


def _undecided_leads(data: ReportData) -> list[str]:
    """Where the lead over the second is not shown to be more than chance."""
    sentences = []
    undecided: list[str] = []
    for comparison in _runner_up_comparisons(data):
        if comparison.is_significant:
            continue
        undecided.append(comparison.task)
        a, b = data.names[comparison.best], data.names[comparison.other]
        detectable = comparison.detectable
        hint = (
            f" A difference of {detectable:.1f} points would probably have shown."
            if detectable is not None
            else ""
        )
        sentences.append(
            f"{comparison.task}: that {a} is better than {b} is not shown ({_format_p(comparison)}).{hint}"
        )
    if len(sentences) <= _FEW_TASKS:
        return sentences
    tasks = _join_names(_abbreviate_tasks(data, undecided))
    return [
        f"Whether the best run is better than the second is not shown on {tasks} "
        "(paired by sample, corrected for being many comparisons)."
    ]


def _runs_at_chance(data: ReportData) -> list[str]:
    tasks_at_chance: dict[str, list[str]] = {}
    for row in data.rows:
        chance = data.chance.get((row.run, row.task))
        if chance is not None and row.interval and row.interval[0] <= chance <= row.interval[1]:
            tasks_at_chance.setdefault(data.names[row.run], []).append(row.task)
    names_by_tasks: dict[tuple[str, ...], list[str]] = {}
    for name, tasks in tasks_at_chance.items():
        names_by_tasks.setdefault(tuple(_abbreviate_tasks(data, tasks)), []).append(name)
    return [
        f"{_join_names(names)} cannot be told from guessing on {_join_names(list(on))}."
        for on, names in names_by_tasks.items()
    ]


def _abbreviate_tasks(data: ReportData, tasks: Sequence[str]) -> list[str]:
    """Tasks by name where they are few, by number where they are many."""
    texts: list[str] = []
    for benchmark in data.benchmarks:
        of_benchmark = [task for task in tasks if task.partition("/")[0] == benchmark]
        if len(of_benchmark) > _FEW_TASKS:
            total = len(data.tasks(benchmark))
            count = f"all {total}" if len(of_benchmark) == total else f"{len(of_benchmark)} of the {total}"
            texts.append(f"{count} tasks of {registry.get(benchmark).title}")
        else:
            texts += of_benchmark
    return texts


def _small_tasks(data: ReportData) -> list[str]:
    thin = sorted({row.task for row in data.rows if 0 < row.n < _FEW_SAMPLES})
    if not thin:
        return []
    return [
        f"Fewer than {_FEW_SAMPLES} samples were scored on {_join_names(_abbreviate_tasks(data, thin))}: "
        "only large differences could show."
    ]


def _unequal_settings(data: ReportData) -> list[str]:
    """Runs on the same tasks that were not asked in the same way."""
    sentences = []
    for benchmark in data.benchmarks:
        runs = [r for r in data.runs if any(t.partition("/")[0] == benchmark for t in r.manifest.tasks)]
        differing = {name for run in runs[1:] for name in _differing_settings(runs[0], run)}
        if differing:
            sentences.append(
                f"The runs on {registry.get(benchmark).title} differ in more than the model "
                f"({', '.join(sorted(differing))}), so a difference between them need not be the model's."
            )
    return sentences


def _differing_settings(first: Run, second: Run) -> list[str]:
    """Names of settings that differ, besides the model and tasks that only one of two runs has."""
    shared = set(first.manifest.tasks) & set(second.manifest.tasks)
    changed = [
        c.partition(":")[0] for c in list_differences(first.manifest.settings, second.manifest.settings)
    ]
    return [
        name
        for name in changed
        if name.partition(".")[0] not in ("model", "tasks")
        and (not name.startswith("data.") or name.removeprefix("data.") in shared)
    ]


def _mini_editions(data: ReportData) -> list[str]:
    names = [name for name in data.benchmarks if is_mini(data, name) and registry.get(name).published.rows()]
    if not names:
        return []
    titles = _join_names([registry.get(name).title for name in names])
    return [
        f"The runs on {titles} used the bundled mini-edition. Published figures come from the full benchmark, so "
        "none stands beside these runs."
    ]
