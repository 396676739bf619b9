"""What the next requests should be spent on to settle who is first.

Optimal computing budget allocation (Chen and others, 2000): a contender gets requests as the square of (spread of its
difference to the leader / that difference), the leader as the root of the summed squares. A sample counts only where
both have answered it, so that only samples which are there to be asked are given out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from vivant.analysis.value_matrix import ValueMatrix
from vivant.metrics.distributions import normal_quantile
from vivant.metrics.ranking import Ranking

_POWER = 0.8


class RequestShare(Struct, frozen=True, kw_only=True):
    """Some of the requests."""

    run: str
    task: str
    requests: int
    available: int
    """Samples of the task that other runs here have answered, or that this one planned, and that it has not."""


class Contest(Struct, frozen=True, kw_only=True):
    """The leader and one who cannot be told from it."""

    run: str
    difference: float
    """How far the leader is ahead, in the unit of the ranking."""
    error: float
    more: float
    """Times as many clusters as there are would settle it four times out of five; infinite where there is no gap."""


class NextRequests(Struct, frozen=True, kw_only=True):
    """What to do next."""

    leader: str
    requests: int
    contests: tuple[Contest, ...]
    shares: tuple[RequestShare, ...]
    restrictions: tuple[str, ...] = ()
    """What kept runs from asking the rest of their benchmark: `--limit 100`."""

    @property
    def settled(self) -> bool:
        """Whether the first place is."""
        return not self.contests


def plan_next_requests(
    ranking: Ranking,
    runs: Sequence[str],
    matrices: Mapping[str, ValueMatrix],
    planned: Mapping[str, Mapping[str, int]],
    requests: int,
    restrictions: Sequence[str] = (),
) -> NextRequests:
    """Divide requests among the leader, those who cannot be told from it, and the tasks that they have not finished.

    Args:
        ranking: The ranking that decides.
        runs: The names of its competitors.
        matrices: The values by task.
        planned: By task and run, how many samples the run set out to ask.
        requests: How many requests there are to give.
        restrictions: What kept runs from asking the rest of their benchmark.
    """
    first = ranking.order[0]
    contests = []
    for index in ranking.order[1:]:
        if ranking.is_better(first, index):
            continue
        gap, error = float(ranking.scores[first] - ranking.scores[index]), float(ranking.errors[first, index])
        needed = (ranking.critical + normal_quantile(_POWER)) * error
        more = (needed / gap) ** 2 if gap > 0 else math.inf
        contests.append(Contest(run=runs[index], difference=gap, error=error, more=more))
    shares = _share(runs[first], contests, matrices, planned, requests) if contests else ()
    return NextRequests(
        leader=runs[first],
        requests=requests,
        contests=tuple(contests),
        shares=shares,
        restrictions=tuple(restrictions),
    )


def _share(
    leader: str,
    contests: Sequence[Contest],
    matrices: Mapping[str, ValueMatrix],
    planned: Mapping[str, Mapping[str, int]],
    requests: int,
) -> tuple[RequestShare, ...]:
    # Where there is no gap, one of a tenth of an error stands for it: else it would take everything.
    weights = {c.run: (c.error / max(c.difference, 0.1 * c.error)) ** 2 for c in contests if c.error > 0}
    weights[leader] = math.sqrt(sum(weight**2 for weight in weights.values()))
    open_places: dict[tuple[str, str], int] = {}
    for task, matrix in matrices.items():
        for name in weights:
            if name in matrix.runs:
                answered = int((~np.isnan(matrix.values[:, matrix.runs.index(name)])).sum())
                most = max(planned.get(task, {}).values(), default=0) - matrix.changed
                known = max(len(matrix.ids), most)
                if known > answered:
                    open_places[name, task] = known - answered
    return _fill(open_places, weights, requests)


def _fill(
    available: Mapping[tuple[str, str], int], weights: Mapping[str, float], requests: int
) -> tuple[RequestShare, ...]:
    """Requests in proportion to weights, and never more than there is to ask."""
    counts = dict.fromkeys(available, 0)
    left = requests
    while left > 0:
        open_pairs = [pair for pair in available if counts[pair] < available[pair]]
        total = sum(weights[run] for run, _ in open_pairs)
        if not open_pairs or total <= 0:
            break
        before = left
        for pair in open_pairs:
            wish = math.floor(before * weights[pair[0]] / total)
            amount = min(wish, available[pair] - counts[pair], left)
            counts[pair] += amount
            left -= amount
        if left == before:  # what is left is less than one each
            pair = max(open_pairs, key=lambda pair: weights[pair[0]])
            counts[pair] += 1
            left -= 1
    return tuple(
        RequestShare(run=run, task=task, requests=count, available=available[run, task])
        for (run, task), count in counts.items()
        if count
    )
