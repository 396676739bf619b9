"""The report's first page in sentences: what was found, and what cannot be concluded from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vivant.benchmarks import registry
from vivant.benchmarks.summary import judge_notes
from vivant.core.table import Row
from vivant.report.html.leader_comparison import LeaderComparison
from vivant.report.html.report_data import ReportData, is_mini
from vivant.runs.run import Run
from vivant.runs.settings import list_differences

_FEW = 3
_SMALL = 50
_LOST = 0.01


def found(material: ReportData) -> list[str]:
    """One or two sentences per benchmark."""
    said: list[str] = []
    for benchmark in material.benchmarks:
        tasks = material.tasks(benchmark)
        if len(tasks) <= _FEW:
            said += [sentence for task in tasks for sentence in _task(material, task)]
        else:
            said += _many(material, benchmark, tasks)
    return said


def _share(row: Row) -> str:
    """A score with its interval, as prose."""
    if row.value is None:
        return "no score"
    ends = f" (95 % interval {row.interval[0]:.1f} to {row.interval[1]:.1f})" if row.interval else ""
    return f"{row.value:.1f}{ends}"


def _task(material: ReportData, task: str) -> list[str]:
    rows = [row for row in material.of(task) if row.value is not None]
    if not rows:
        return [f"{task}: nothing could be scored."]
    best, name = rows[0], material.names
    metric = "" if best.metric == "accuracy" else f" ({best.metric})"
    first = [name[row.run] for row in rows if row.value == best.value]
    verb = "scores" if len(first) == 1 else "score"
    said = f"{task}{metric}: {_listed(first)} {verb} {'highest, ' if len(rows) > 1 else ''}{_share(best)}"
    if len(rows) > len(first):
        said += f", then {name[rows[len(first)].run]} with {_share(rows[len(first)])}"
    said += f", on {best.n:,} samples."
    chance = material.chance_of(task)
    if chance is not None:
        above = [name[row.run] for row in rows if row.interval and row.interval[0] > chance]
        below = [name[row.run] for row in rows if row.interval and row.interval[1] < chance]
        said += f" Guessing scores {chance:.1f}; "
        said += f"{_listed(above)} {_is(above)} above it." if above else "no run is clearly above it."
        said += f" {_listed(below)} {_is(below)} below it." if below else ""
    ahead = [contest for contest in _second(material) if contest.task == task and contest.shown]
    said += f" Its lead over {name[ahead[0].other]} is more than chance ({_p(ahead[0])})." if ahead else ""
    people = [row for row in material.published if row.task == task and row.model.lower() == "human"]
    if people and people[0].value is not None:
        said += f" People score {people[0].value:.1f} ({people[0].source})."
    return [said]


def _second(material: ReportData) -> list[LeaderComparison]:
    """The best run of each task against the second."""
    return list({contest.task: contest for contest in reversed(material.contests)}.values())[::-1]


def _p(contest: LeaderComparison) -> str:
    if contest.adjusted is None:
        return "too few samples to test"
    return "p < 0.001" if contest.adjusted < 0.001 else f"p = {contest.adjusted:.3f}"


def _many(material: ReportData, benchmark: str, tasks: list[str]) -> list[str]:
    """For benchmarks of many tasks: who leads on how many, and who beats guessing."""
    leads: Counter[str] = Counter()
    above: Counter[str] = Counter()
    asked = 0
    for task in tasks:
        rows = [row for row in material.of(task) if row.value is not None]
        chance = material.chance_of(task)
        asked += chance is not None
        if rows and (len(rows) == 1 or rows[0].value != rows[1].value):
            leads[material.names[rows[0].run]] += 1
        for row in rows:
            if chance is not None and row.interval and row.interval[0] > chance:
                above[material.names[row.run]] += 1
    runs = list(dict.fromkeys(material.names[row.run] for row in material.rows if row.benchmark == benchmark))
    title = registry.get(benchmark).title
    said = f"{title} ({len(tasks)} tasks): "
    if len(runs) > 1:
        said += (
            "; ".join(f"{run} leads on {leads[run]}" for run in sorted(runs, key=lambda r: -leads[r])) + ". "
        )
    if asked:
        said += f"Of the {asked} tasks with a known chance level, clearly above it: "
        said += ", ".join(f"{run} on {above[run]}" for run in sorted(runs, key=lambda r: -above[r])) + "."
    return [said.rstrip()]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def not_concluded(material: ReportData) -> list[str]:
    """What these data do not show, the gravest first."""
    return [
        *material.unscored,
        *_unfinished(material),
        *_lost(material),
        *_close(material),
        *_like_chance(material),
        *_thin(material),
        *_unlike(material),
        *_borrowed(material),
        *[note for note in judge_notes(material.parts) if "never for results" in note],
    ]


def _unfinished(material: ReportData) -> list[str]:
    said = []
    for run in material.runs:
        parts = [part for part in material.parts if part.run == run.name]
        absent = sum(record is None for part in parts for _, record, _ in part.rows)
        if absent:
            planned = sum(len(part.rows) for part in parts)
            said.append(
                f"{run.name} is not finished: {absent:,} of {planned:,} samples were not answered yet, "
                "and what was answered first need not be like the rest."
            )
    return said


def _lost(material: ReportData) -> list[str]:
    said = []
    for run in material.runs:
        rows = [row for row in material.rows if row.run == run.name]
        errors, total = sum(row.errors for row in rows), sum(row.n + row.errors for row in rows)
        if not total or errors / total <= _LOST:
            continue
        line = f"{material.names[run.name]}: {errors:,} of {total:,} samples ({errors / total:.0%}) have no reply"
        worst = max(rows, key=lambda row: row.errors / max(1, row.n + row.errors))
        if len(rows) > 1:
            line += f", most of all on {worst.task} ({worst.errors:,} of {worst.n + worst.errors:,})"
        said.append(f"{line}; its scores say nothing about those.")
    return said


def _close(material: ReportData) -> list[str]:
    """Where the lead over the second is not shown to be more than chance."""
    said = []
    open_: list[str] = []
    for contest in _second(material):
        if contest.shown:
            continue
        open_.append(contest.task)
        a, b = material.names[contest.best], material.names[contest.other]
        least = contest.smallest
        could = f" A difference of {least:.1f} points would probably have shown." if least is not None else ""
        said.append(f"{contest.task}: that {a} is better than {b} is not shown ({_p(contest)}).{could}")
    if len(said) <= _FEW:
        return said
    return [
        f"Whether the best run is better than the second is not shown on {_listed(_briefly(material, open_))} "
        "(paired by sample, corrected for being many comparisons)."
    ]


def _like_chance(material: ReportData) -> list[str]:
    like: dict[str, list[str]] = {}
    for row in material.rows:
        chance = material.chance.get((row.run, row.task))
        if chance is not None and row.interval and row.interval[0] <= chance <= row.interval[1]:
            like.setdefault(material.names[row.run], []).append(row.task)
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, tasks in like.items():
        alike.setdefault(tuple(_briefly(material, tasks)), []).append(name)
    return [
        f"{_listed(names)} cannot be told from guessing on {_listed(list(on))}."
        for on, names in alike.items()
    ]


def _briefly(material: ReportData, tasks: Sequence[str]) -> list[str]:
    """Tasks by name where they are few, by number where they are many."""
    said: list[str] = []
    for benchmark in material.benchmarks:
        own = [task for task in tasks if task.partition("/")[0] == benchmark]
        if len(own) > _FEW:
            total = len(material.tasks(benchmark))
            count = f"all {total}" if len(own) == total else f"{len(own)} of the {total}"
            said.append(f"{count} tasks of {registry.get(benchmark).title}")
        else:
            said += own
    return said


def _thin(material: ReportData) -> list[str]:
    thin = sorted({row.task for row in material.rows if 0 < row.n < _SMALL})
    if not thin:
        return []
    return [
        f"Fewer than {_SMALL} samples were scored on {_listed(_briefly(material, thin))}: only large differences "
        "could show."
    ]


def _unlike(material: ReportData) -> list[str]:
    """Runs on the same tasks that were not asked in the same way."""
    said = []
    for benchmark in material.benchmarks:
        own = [r for r in material.runs if any(t.partition("/")[0] == benchmark for t in r.manifest.tasks)]
        unlike = {name for run in own[1:] for name in _unlike_settings(own[0], run)}
        if unlike:
            said.append(
                f"The runs on {registry.get(benchmark).title} differ in more than the model "
                f"({', '.join(sorted(unlike))}), so a difference between them need not be the model's."
            )
    return said


def _unlike_settings(first: Run, second: Run) -> list[str]:
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


def _borrowed(material: ReportData) -> list[str]:
    names = [
        name for name in material.benchmarks if is_mini(material, name) and registry.get(name).published()
    ]
    if not names:
        return []
    titles = _listed([registry.get(name).title for name in names])
    return [
        f"The runs on {titles} used the bundled mini-edition; published figures come from the full benchmark and "
        "stand here for orientation only."
    ]
