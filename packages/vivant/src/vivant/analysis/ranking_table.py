"""Rankings as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from string import ascii_lowercase

from vivant.analysis.next_requests import NextRequests
from vivant.analysis.ranking import STRENGTHS, RankedTask
from vivant.core.table import Cell, Row, Table


def build_rank_table(task: RankedTask, models: Mapping[str, str], settings: Mapping[str, str]) -> Table:
    """One line per run, the best first."""
    differ = any(settings[name] for name in task.runs)
    ranking = task.ranking
    letters = dict.fromkeys(ranking.order, "")
    for number, group in enumerate(ranking.groups):
        for index in group:
            letters[index] += _letter(number)
    body: list[tuple[Cell, ...]] = []
    rows = []
    ties = any(ranking.find_place(index)[1] for index in ranking.order)
    for index in ranking.order:
        rank, tied = ranking.find_place(index)
        low, high = ranking.ranks[index]
        name = task.runs[index]
        span = f"{low}" if low == high else f"{low}–{high}"
        score = float(ranking.scores[index]) * task.scale
        setting_cells = [settings[name]] if differ else []
        first = f"{ranking.best[index]:.0%}"
        body.append(
            (
                f"{rank}=" if tied else rank,
                models[name],
                *setting_cells,
                score,
                span,
                letters[index],
                first,
                name,
            )
        )
        rows.append(
            Row(
                run=name,
                benchmark=task.title.partition("/")[0],
                task=task.title,
                group={"rank": str(rank), "ranks": span, "group": letters[index]},
                metric=task.metric,
                value=score,
                n=task.samples,
                model=models[name],
            )
        )
    return Table(
        title=f"Ranks: {task.title}",
        columns=(
            "rank",
            "model",
            *["settings"] * differ,
            task.metric,
            "ranks possible",
            "group",
            "first in",
            "run",
        ),
        body=tuple(body),
        notes=(
            f"{task.samples:,} samples in {ranking.clusters:,} clusters. Ranks possible: all of these ranges hold "
            "together, at 95 %.",
            "Runs that share a letter cannot be told apart. First in: share of resamples in which the run is first.",
            *(["=: the same score as another run."] if ties else []),
            *task.notes,
        ),
        rows=tuple(rows),
        decimals=2 if task.metric == STRENGTHS else 1,
        kept=2,
        optional=("run", "first in"),
    )


def _letter(number: int) -> str:
    return ascii_lowercase[number] if number < 26 else f"({number + 1})"


def build_next_table(plan: NextRequests, more: Sequence[str] = ()) -> Table:
    """Where the next requests should go."""
    title = f"Next: {plan.requests:,} requests to settle who is first"
    columns = ("run", "task", "requests", "not asked yet") if plan.shares else ()
    if plan.settled:
        notes: list[str] = [
            f"{plan.leader} is first, and told apart from all others: nothing is left to settle."
        ]
        return Table(title=title, columns=columns, body=(), notes=(*notes, *more))
    notes = []
    for contest in plan.contests[:5]:
        if math.isinf(contest.more) or contest.more > 100:
            size = "no benchmark of a practical size would"
        else:
            size = f"about {contest.more:.1f} times the clusters would"
        notes.append(f"{plan.leader} and {contest.run} cannot be told apart; {size} settle it (80 % power).")
    if len(plan.contests) > 5:
        notes.append(f"So it is with {len(plan.contests) - 5} more runs.")
    spent = sum(share.requests for share in plan.shares)
    if plan.restrictions and spent < plan.requests:
        notes.append(
            f"Runs were made with {', '.join(plan.restrictions)}, so that the rest of the benchmark is not asked. Ask "
            "more of it, in clusters that are new."
        )
    elif not plan.shares:
        notes.append(
            "These runs have answered every sample that is here. More requests of the same samples tell nothing new: "
            "take a larger edition or another benchmark, with new clusters."
        )
    elif spent < plan.requests:
        notes.append("There are no more samples to ask than these.")
    return Table(
        title=title,
        columns=columns,
        body=tuple((share.run, share.task, share.requests, share.available) for share in plan.shares),
        notes=(*notes, *more),
    )
