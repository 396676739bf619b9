"""What these runs do not show: unfinished runs, lost replies, open leads, few samples, unequal settings."""

from __future__ import annotations

from collections.abc import Sequence

from vivant.benchmarks import registry
from vivant.benchmarks.summary import judge_notes
from vivant.reporting.html.findings import format_p, join_names
from vivant.reporting.html.leader_comparison import LeaderComparison
from vivant.reporting.html.report_data import ReportData, is_mini
from vivant.runs.run import Run
from vivant.runs.settings import list_differences

_FEW_TASKS = 3
_FEW_SAMPLES = 50
_MISSING_SHARE = 0.01


def describe_limits(data: ReportData) -> list[str]:
    """What these data do not show, the gravest first."""
    return [
        *data.unscored,
        *_unfinished_runs(data),
        *_notes_of_imports(data),
        *_missing_replies(data),
        *_undecided_leads(data),
        *_stopped_apart(data),
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


def _notes_of_imports(data: ReportData) -> list[str]:
    """What imports say of their files, above all samples without a prediction; what only one says comes first."""
    names_by_note: dict[str, list[str]] = {}
    for run in data.runs:
        if run.manifest.origin == "import":
            for note in run.manifest.notes:
                names_by_note.setdefault(note, []).append(run.name)
    return [
        f"{names[0] if len(names) == 1 else f'{len(names)} imported runs'}: {note}."
        for note, names in sorted(names_by_note.items(), key=lambda entry: len(entry[1]))
    ]


def _missing_replies(data: ReportData) -> list[str]:
    names_by_loss: dict[str, list[str]] = {}
    for run in data.runs:
        rows = [row for row in data.rows if row.run == run.name]
        errors, total = sum(row.errors for row in rows), sum(row.n + row.errors for row in rows)
        if not total or errors / total <= _MISSING_SHARE:
            continue
        line = f"{errors:,} of {total:,} samples ({errors / total:.0%}) have no reply"
        worst = max(rows, key=lambda row: row.errors / max(1, row.n + row.errors))
        if len(rows) > 1:
            line += f", most of all on {worst.task} ({worst.errors:,} of {worst.n + worst.errors:,})"
        names_by_loss.setdefault(line, []).append(data.names[run.name])
    return [
        f"{join_names(names)}: {line}{' in each' if len(names) > 1 else ''}; "
        f"{'their' if len(names) > 1 else 'its'} scores say nothing about those."
        for line, names in names_by_loss.items()
    ]


def _undecided_leads(data: ReportData) -> list[str]:
    """Where the lead over the second model is not shown to be more than chance."""
    nearest: dict[str, LeaderComparison] = {}
    for comparison in data.comparisons:
        if comparison.other in data.contestants and comparison.best in data.contestants:
            nearest.setdefault(comparison.task, comparison)
    sentences = []
    undecided: list[str] = []
    for comparison in nearest.values():
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
            f"{comparison.task}: that {a} is better than {b} is not shown ({format_p(comparison)}).{hint}"
        )
    if len(sentences) <= _FEW_TASKS:
        return sentences
    tasks = join_names(_abbreviate_tasks(data, undecided))
    return [
        f"Whether the best model is better than the second is not shown on {tasks} "
        "(paired by sample, corrected for being many comparisons)."
    ]


def _stopped_apart(data: ReportData) -> list[str]:
    """Runs that stopped early in different orders, so that nothing better than a fixed-sample test is known."""
    names = dict.fromkeys(run for comparison in data.comparisons for run in comparison.too_sure)
    if not names:
        return []
    return [
        f"{join_names([data.names[name] for name in names])} stopped early, each in its own order: what is said of "
        "leads between them is made for samples that are fixed beforehand, and so a little too sure."
    ]


def _runs_at_chance(data: ReportData) -> list[str]:
    tasks_at_chance: dict[str, list[str]] = {}
    for row in data.rows:
        if row.run not in data.contestants and data.contestants:
            continue  # a baseline at chance is as it should be
        chance = data.chance.get((row.run, row.task))
        if chance is not None and row.interval and row.interval[0] <= chance <= row.interval[1]:
            tasks_at_chance.setdefault(data.names[row.run], []).append(row.task)
    names_by_tasks: dict[tuple[str, ...], list[str]] = {}
    for name, tasks in tasks_at_chance.items():
        names_by_tasks.setdefault(tuple(_abbreviate_tasks(data, tasks)), []).append(name)
    return [
        f"{join_names(names)} cannot be told from guessing on {join_names(list(on))}."
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
        f"Fewer than {_FEW_SAMPLES} samples were scored on {join_names(_abbreviate_tasks(data, thin))}: "
        "only large differences could show."
    ]


def _unequal_settings(data: ReportData) -> list[str]:
    """Runs on the same tasks that were not asked in the same way. Controls differ on purpose, and are not meant."""
    benchmarks: dict[str, list[str]] = {}
    for benchmark in data.benchmarks:
        runs = [
            run
            for run in data.runs
            if run.manifest.settings.control == "none"
            and any(task.partition("/")[0] == benchmark for task in run.manifest.tasks)
        ]
        differing = {name for run in runs[1:] for name in _differing_settings(runs[0], run)}
        if differing:
            title = registry.get(benchmark).title
            benchmarks.setdefault(", ".join(sorted(differing)), []).append(title)
    return [
        f"The runs on {join_names(titles)} differ in more than the model ({names}), "
        "so a difference between them need not be the model's."
        for names, titles in benchmarks.items()
    ]


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
    titles = join_names([registry.get(name).title for name in names])
    return [
        f"The runs on {titles} used the bundled mini-edition. Published figures come from the full benchmark, so "
        "none stands beside these runs."
    ]
