"""The report's first screen in sentences: three to five that a reader can act on.

A difference is stated where it holds after correction within its benchmark. Baselines are what models are measured
against, never leaders.
"""

from __future__ import annotations

from collections.abc import Sequence

from vivant.benchmarks import registry
from vivant.core.table import Row
from vivant.reporting.html.leader_comparison import LeaderComparison
from vivant.reporting.html.report_data import ReportData

_MOST_SENTENCES = 5
_FEW_NAMES = 4
_LONGEST_NAMES = 90
"""Characters: names that fit a line beside the rest of the sentence."""
_LOSS = 0.05
"""From this share of lost replies on, a score should not be quoted."""


def describe_comparison(data: ReportData) -> str:
    """What was compared, in a line or two."""
    models = list(dict.fromkeys(entry.name for entry in data.matrix.entries if entry.is_contestant))
    others = list(dict.fromkeys(entry.name for entry in data.matrix.entries if not entry.is_contestant))
    who, beside = join_names(_cut(models)), join_names(_cut(others))
    if len(who) + len(beside) > _LONGEST_NAMES:  # the matrix below names them
        who, beside = f"{len(models)} models and ways of asking", f"{len(others)} baselines and controls"
    parts = [who] if models else []
    parts += [f"{'beside' if models else 'only'} {beside} for reference"] if others else []
    tasks = data.matrix.tasks
    titles = join_names([benchmark.title for benchmark in data.matrix.benchmarks])
    noun = "task" if len(tasks) == 1 else "tasks"
    return f"{', '.join(parts)}, on {len(tasks)} {noun} of {titles}."


def _cut(names: Sequence[str], most: int = 6) -> list[str]:
    return list(names) if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} more"]


def describe_findings(data: ReportData) -> list[str]:
    """At most five sentences, the most useful first."""
    benchmarks = sorted(
        data.benchmarks, key=lambda name: (not _has_leader(data, name), -_count_samples(data, name))
    )
    room = _MOST_SENTENCES - 2
    if len(benchmarks) <= room:
        sentences = [_describe_benchmark(data, name) for name in benchmarks]
    else:
        sentences = [_describe_benchmark(data, name) for name in benchmarks[:room]]
        sentences.append(_describe_others(data, benchmarks[room:]))
    sentences += [*_describe_people(data), *_advise(data), *_describe_strongest_baseline(data)]
    if not any(entry for entry in data.matrix.entries if not entry.is_contestant):
        sentences.append(
            "No baseline was run. --control blind and --model random show what these scores are worth."
        )
    return sentences[:_MOST_SENTENCES]


def _has_leader(data: ReportData, benchmark: str) -> bool:
    """Whether a model is shown to be better than every other on a task."""
    return any(
        rivals and all(c.is_significant for c in rivals)
        for task in data.tasks(benchmark)
        if data.best(task) is not None
        for rivals in (_split_leads(data, task)[0],)
    )


def _describe_others(data: ReportData, benchmarks: Sequence[str]) -> str:
    """Benchmarks for which the first screen has no room."""
    settled = [name for name in benchmarks if _has_leader(data, name)]
    open_ = [name for name in benchmarks if name not in settled]
    parts = []
    for names, text in ((settled, "a lead holds; see below"), (open_, "no model is shown to lead")):
        if names:
            parts.append(f"on {join_names([registry.get(name).title for name in names])} {text}")
    sentence = "; ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}."


def _count_samples(data: ReportData, benchmark: str) -> int:
    return sum(row.n for row in data.rows if row.benchmark == benchmark)


def _describe_benchmark(data: ReportData, benchmark: str) -> str:
    tasks = [task for task in data.tasks(benchmark) if data.best(task) is not None]
    title = registry.get(benchmark).title
    if not tasks:
        return f"{title}: nothing could be scored."
    if not any(row.run in data.contestants for row in data.rows if row.benchmark == benchmark):
        return f"{title}: only baselines were run, so there is no model to judge."
    return _describe_task(data, tasks[0]) if len(tasks) == 1 else _describe_tasks(data, benchmark, tasks)


def format_score(row: Row) -> str:
    """A score with its interval, as prose."""
    if row.value is None:
        return "no score"
    ends = f" (95 % interval {row.interval[0]:.1f} to {row.interval[1]:.1f})" if row.interval else ""
    return f"{row.value:.1f}{ends}"


def _describe_task(data: ReportData, task: str) -> str:
    """The best model of a task, and what it is shown to be better than."""
    best = data.best(task)
    assert best is not None
    rivals, baselines = _split_leads(data, task)
    metric = "" if best.metric == "accuracy" else f" ({best.metric})"
    text = f"{task}{metric}: {data.names[best.run]} scores {format_score(best)} on {best.n:,} samples"
    chance = data.chance_level(task)
    if chance is not None:
        above = best.interval is not None and best.interval[0] > chance
        text += f", {'above guessing' if above else 'not clearly above guessing'} ({chance:.1f})"
    held = sorted((c for c in rivals if c.is_significant), key=lambda c: c.lead)
    open_ = [c for c in rivals if not c.is_significant]
    if held:
        more = f" and than {len(held) - 1} more model{'s' if len(held) > 2 else ''}" if held[1:] else ""
        text += f"; better than {_format_lead(data, held[0])}{more}"
    if open_:
        text += f"; that it is better than {_name_others(data, open_)} is not shown"
    return text + _describe_baselines(data, baselines) + "."


def _format_lead(data: ReportData, comparison: LeaderComparison) -> str:
    return f"{data.names[comparison.other]} by {comparison.lead:.1f} points ({format_p(comparison)})"


def format_p(comparison: LeaderComparison) -> str:
    """A corrected p value, as prose."""
    if comparison.adjusted is None:
        return "too few samples to test"
    return "p < 0.001" if comparison.adjusted < 0.001 else f"p = {comparison.adjusted:.3f}"


def _name_others(data: ReportData, comparisons: Sequence[LeaderComparison]) -> str:
    return join_names(_cut([data.names[c.other] for c in comparisons], 3))


def _describe_baselines(data: ReportData, baselines: Sequence[LeaderComparison]) -> str:
    """Whether a model beats what guessers and look-ups reach: if not, its score proves little."""
    if not baselines:
        return ""
    beaten = [c for c in baselines if c.is_significant]
    if len(beaten) == len(baselines):
        return (
            f"; above the baseline {_name_others(data, baselines)}"
            if len(baselines) == 1
            else "; above every baseline"
        )
    unbeaten = [c for c in baselines if not c.is_significant]
    return f"; that it beats the baseline {_name_others(data, unbeaten)} is not shown"


def _split_leads(data: ReportData, task: str) -> tuple[list[LeaderComparison], list[LeaderComparison]]:
    """The best model against other models, and against baselines and controls."""
    leads = data.find_leads(task)
    rivals = [c for c in leads if c.other in data.contestants]
    return rivals, [c for c in leads if c.other not in data.contestants]


def _describe_tasks(data: ReportData, benchmark: str, tasks: Sequence[str]) -> str:
    """Several tasks: on which of them a lead holds, guessing is beaten, baselines are beaten."""
    leaders: dict[str, list[str]] = {}
    undecided: list[str] = []
    at_chance: list[str] = []
    unbeaten: list[str] = []
    rivals_named = [
        name
        for name, present in (
            ("guessing", all(data.chance_level(task) is not None for task in tasks)),
            ("every baseline", all(_split_leads(data, task)[1] for task in tasks)),
        )
        if present
    ]
    compared = False
    for task in tasks:
        best = data.best(task)
        assert best is not None
        rivals, baselines = _split_leads(data, task)
        compared = compared or bool(rivals)
        name = data.names[best.run]
        if rivals and all(c.is_significant for c in rivals):
            leaders.setdefault(name, []).append(task)
        elif rivals:
            undecided.append(task)
        chance = data.chance_level(task)
        if chance is not None and best.interval is not None and best.interval[0] <= chance:
            at_chance.append(task)
        elif not all(c.is_significant for c in baselines):
            unbeaten.append(task)
    title = registry.get(benchmark).title
    text = f"{title}, {len(tasks)} tasks: "
    if compared and leaders:
        shares = [
            f"{name} is better than every other model on {_list_tasks(own, tasks)}"
            for name, own in leaders.items()
        ]
        text += "; ".join(shares)
        text += f"; on {_list_tasks(undecided, tasks)} no lead holds" if undecided else ""
    elif compared:
        text += "no model is shown to be better than every other on any task"
    else:
        only = [row for task in tasks if (row := data.best(task)) is not None and row.value is not None]
        values = [row.value or 0.0 for row in only]
        text += f"{data.names[only[0].run]} scores between {min(values):.1f} and {max(values):.1f}"
    return f"{text}. {_describe_weak_tasks(at_chance, unbeaten, tasks, rivals_named)}".rstrip()


def _describe_weak_tasks(
    at_chance: Sequence[str], unbeaten: Sequence[str], tasks: Sequence[str], measured: Sequence[str]
) -> str:
    """Where the best model may be guessing, and where it is above guessing, but perhaps not above a baseline.

    `measured` is what it was held against on every task: nothing is said to be beaten that was not there.
    """
    if not at_chance and not unbeaten:
        return f"The best model beats {' and '.join(measured)} on all of them." if measured else ""
    sentences = []
    pronoun = "that task" if len(at_chance) == 1 else "those"
    for own, rival, advice in (
        (at_chance, "guessing", f": do not build on {pronoun}"),
        (unbeaten, "every baseline", ""),
    ):
        if len(own) == len(tasks):
            sentences.append(f"On none of them is the best model shown to beat {rival}.")
        elif own:
            names = _list_tasks(own, tasks)
            sentences.append(f"On {names} the best model is not shown to beat {rival}{advice}.")
    return " ".join(sentences)


def _list_tasks(own: Sequence[str], tasks: Sequence[str]) -> str:
    if len(own) == len(tasks):
        return "all of them"
    names = [task.partition("/")[2] for task in own]
    return join_names(names) if len(own) <= _FEW_NAMES else f"{len(own)} of {len(tasks)}"


def _describe_people(data: ReportData) -> list[str]:
    """How far the best model is from people, on the task where the gap is widest."""
    gaps = []
    for task in data.matrix.tasks:
        best = data.best(task.task)
        if task.human is None or task.human.value is None or best is None or best.value is None:
            continue
        gaps.append((task.human.value - best.value, task.task, task.human, best))
    if not gaps:
        return []
    gap, name, human, best = max(gaps, key=lambda entry: entry[0])
    side = "below" if gap > 0 else "above"
    source = "" if human.source == "measured" else f" ({human.source})"
    model = data.names[best.run]
    return [
        f"People score {human.value:.1f} on {name}{source}; {model} is {abs(gap):.1f} points {side} them."
    ]


def _describe_strongest_baseline(data: ReportData) -> list[str]:
    """The task on which a baseline comes nearest to the best model: it tells models apart least."""
    near = [
        (row.value / best.value, task.task, row, best)
        for task in data.matrix.tasks
        if (best := data.best(task.task)) is not None and best.value and best.run in data.contestants
        for row in data.ranking(task.task)
        if row.run not in data.contestants and row.value is not None and (task.chance or 0) < row.value
    ]
    if not near:
        return []
    _, name, row, best = max(near, key=lambda entry: entry[0])
    ahead = (row.value or 0) - (best.value or 0)
    share = "more than" if ahead > 0 else "as much as" if ahead == 0 else "nearly as much as"
    if (row.value or 0) < 0.8 * (best.value or 0):
        return []
    return [
        f"On {name} the baseline {data.names[row.run]} scores {row.value:.1f}, {share} the best model "
        f"({best.value:.1f}): that task says little about models."
    ]


def _advise(data: ReportData) -> list[str]:
    """What to do before a score is quoted."""
    failed: list[str] = []
    cut_off: list[str] = []
    unread: list[str] = []
    for run in data.runs:
        rows = [row for row in data.rows if row.run == run.name]
        total = sum(row.n + row.errors + row.truncated for row in rows) or 1
        name = data.names[run.name]
        if sum(row.errors for row in rows) / total > _LOSS:
            failed.append(name)
        elif sum(row.truncated for row in rows) / total > _LOSS:
            cut_off.append(name)
        elif sum(row.unparsed for row in rows) / total > _LOSS and run.name in data.contestants:
            unread.append(name)
    sentences = [
        f"{before}{join_names(_cut(names, 3))}{after}{'them' if len(names) > 1 else 'it'}{end}"
        for names, before, after, end in (
            (failed, "Run ", " again before you quote ", ": samples without a reply are asked again."),
            (cut_off, "Give ", " more room (--max-tokens) before you quote ", ": replies were cut off."),
            (unread, "Read the unparsed replies of ", " (vivant view) before you quote ", "."),
        )
        if names
    ]
    sentences += _advise_samples(data)
    return sentences


def _advise_samples(data: ReportData) -> list[str]:
    """The lead that stays open, and what would settle it."""
    open_ = [
        c for c in data.comparisons
        if c.other in data.contestants and not c.is_significant and c.detectable is not None
        and 0 < c.lead < c.detectable
    ]  # fmt: skip
    if not open_:
        return []
    first = max(open_, key=lambda c: (c.n, -c.lead))
    names = f"{data.names[first.best]} from {data.names[first.other]}"
    return [
        f"To tell {names} on {first.task}, ask more samples: with {first.n:,}, "
        f"only a difference of about {first.detectable:.1f} points would show."
    ]


def join_names(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if not names:
        return "none"
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
