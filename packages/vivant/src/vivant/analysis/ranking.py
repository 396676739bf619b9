"""Runs in order, with the ranks that the data allow. `vivant.rank(...)` and `vivant rank` are this.

Each task is ranked by itself, on the samples that all its runs have. Over several tasks there are two ways, and each
states its weighting: Bradley–Terry, in which every sample that two runs both answered is a match; or a mean of the
tasks' scores with the weights that the user gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.analysis.next_requests import NextRequests, plan_next_requests
from vivant.analysis.value_matrix import ValueMatrix, nothing_shared_error, read_value_matrices
from vivant.benchmarks.base import Protocol
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.shown_tables import ShownTables
from vivant.core.table import Table
from vivant.metrics.bootstrap import resample_jointly
from vivant.metrics.ranking import (
    FEWEST_CLUSTERS,
    Ranking,
    count_wins,
    difference_errors,
    find_unconnected,
    rank_estimates,
    rank_means,
    rank_strengths,
    sum_clusters,
)
from vivant.runs.overview import list_run_distinctions
from vivant.runs.run import Run, RunLike, choose_common_protocol, load_runs
from vivant.runs.stopping_table import describe_stopped_runs

STRENGTHS, WEIGHTED = "Bradley–Terry", "weighted mean"


class RankedTask(Struct, frozen=True, eq=False, kw_only=True):
    """One ranking: of a task, or over several."""

    title: str
    metric: str
    runs: tuple[str, ...]
    ranking: Ranking
    scale: float
    samples: int
    notes: tuple[str, ...] = ()


class RunRanking(ShownTables, Struct, frozen=True, eq=False, kw_only=True):
    """All rankings of some runs, and what to ask next."""

    tasks: tuple[RankedTask, ...]
    overall: RankedTask | None
    models: Mapping[str, str]
    settings: Mapping[str, str]
    """By run, style and settings that not all runs share."""
    notes: tuple[str, ...] = ()
    next_requests: NextRequests

    def tables(self) -> list[Table]:
        """A table per ranking, and one of what to ask next."""
        from vivant.analysis.ranking_table import build_next_table, build_rank_table

        ranked = [*self.tasks, *([self.overall] if self.overall is not None else [])]
        tables = [build_rank_table(task, self.models, self.settings) for task in ranked]
        return [*tables, build_next_table(self.next_requests, self.notes)]


def rank(
    runs: RunLike | Sequence[RunLike],
    *,
    protocol: Protocol | None = None,
    weights: Mapping[str, float] | str | None = None,
    requests: int = 500,
    seed: int = 0,
) -> RunRanking:
    """Rank runs: ranges of ranks, groups that cannot be told apart, and what to ask next.

    >>> vivant.rank("runs").tables()[0]

    Args:
        runs: Runs, run directories, or folders of them.
        protocol: `paper` or `strict`. None takes the first that all benchmarks have.
        weights: Over several tasks, the weight of each, for a mean of their scores; `equal` for the same. None ranks by
            Bradley–Terry instead.
        requests: How many more requests there is money for.
        seed: Of the resamples.
    """
    loaded = load_runs(runs)
    if len(loaded) < 2:
        raise UsageError("Name two runs or more to rank them")
    protocol = choose_common_protocol(loaded, protocol)
    names = [run.name for run in loaded]
    matrices = read_value_matrices(loaded, names, protocol)
    contested = {task: matrix for task, matrix in matrices.items() if len(matrix.runs) > 1}
    if not contested:
        raise UsageError(
            "No task was answered by two of these runs: "
            + "; ".join(f"{task} by {matrix.runs[0]}" for task, matrix in matrices.items())
        )
    models = {name: run.model for name, run in zip(names, loaded, strict=True)}
    ranked = tuple(_rank_task(matrix, seed) for matrix in contested.values())
    overall: RankedTask | None = None
    notes: list[str] = []
    if weights is not None:
        overall = _rank_weighted(contested, _parse_weights(weights, contested), seed)
    elif len(contested) > 1:
        matches = _rank_matches(contested, names, seed)
        if isinstance(matches, str):
            notes.append(matches)
        else:
            overall = matches
    deciding = overall or ranked[0]
    notes += describe_stopped_runs(loaded, names)
    return RunRanking(
        tasks=ranked,
        overall=overall,
        models=models,
        settings=_describe_settings(loaded, names),
        notes=tuple(notes),
        next_requests=plan_next_requests(
            deciding.ranking,
            deciding.runs,
            contested,
            _list_samples(loaded, names),
            requests,
            _list_restrictions(loaded),
        ),
    )


def _describe_settings(runs: Sequence[Run], names: Sequence[str]) -> dict[str, str]:
    """Style and settings, where they tell runs apart."""
    styles = {run.manifest.style for run in runs}
    words = zip(runs, list_run_distinctions(runs), strict=True)
    texts = [", ".join(filter(None, (run.manifest.style * (len(styles) > 1), own))) for run, own in words]
    return dict(zip(names, texts, strict=True))


def _list_samples(runs: Sequence[Run], names: Sequence[str]) -> dict[str, dict[str, int]]:
    """By task and run, how many samples the run planned."""
    planned: dict[str, dict[str, int]] = {}
    for run, name in zip(runs, names, strict=True):
        for task, count in run.manifest.planned.items():
            planned.setdefault(task, {})[name] = count
    return planned


def _list_restrictions(runs: Sequence[Run]) -> list[str]:
    """The options that kept all runs from asking everything, where each has one: else some run asked all there is."""
    words = []
    for run in runs:
        settings = run.manifest.settings
        own = [f"--limit {settings.limit}"] if settings.limit else []
        own += [f"--where {condition}" for condition in settings.where]
        own += ["--subset"] if settings.subset else []
        if not own:
            return []
        words += own
    return list(dict.fromkeys(words))


def _check_clusters(count: int, task: str) -> None:
    if not count:
        raise nothing_shared_error(task)
    if count < FEWEST_CLUSTERS:
        raise UsageError(
            f"{task}: the runs share {count} clusters of samples, and {FEWEST_CLUSTERS} are needed to rank them. Name "
            "runs that answered the same samples, or ask more"
        )


def _rank_task(matrix: ValueMatrix, seed: int) -> RankedTask:
    shared = matrix.shared
    labels = _renumber(matrix.clusters[shared])
    _check_clusters(int(labels.max()) + 1 if labels.size else 0, matrix.task)
    ranking = rank_means(matrix.values[shared], labels, seed=seed)
    notes = []
    left_out = len(matrix.ids) - int(shared.sum())
    if left_out:
        notes.append(f"{left_out} samples that not all runs have are left out; {int(shared.sum())} are left.")
    if matrix.changed:
        notes.append(
            f"{matrix.changed} samples are left out: runs were asked them with other options, keys or answers."
        )
    if not matrix.clustered:
        notes.append("The data name no clusters; each sample counts as independent.")
    return RankedTask(
        title=matrix.task,
        metric=matrix.metric,
        runs=matrix.runs,
        ranking=ranking,
        scale=matrix.scale,
        samples=int(shared.sum()),
        notes=tuple(notes),
    )


def _rank_matches(matrices: Mapping[str, ValueMatrix], names: Sequence[str], seed: int) -> RankedTask | str:
    """Bradley–Terry over all samples of all tasks, or why there is none."""
    players = [name for name in names if any(name in matrix.runs for matrix in matrices.values())]
    stacks = []
    for matrix in matrices.values():
        columns = np.full((len(matrix.ids), len(players)), np.nan)
        for number, name in enumerate(matrix.runs):
            columns[:, players.index(name)] = matrix.values[:, number]
        stacks.append(count_wins(columns, matrix.clusters))
    wins = np.concatenate(stacks)
    _check_clusters(len(wins), ", ".join(matrices))
    apart = find_unconnected(wins.sum(axis=0))
    if apart is not None:
        return (
            f"There is no ranking over all tasks: {players[apart[0]]} and {players[apart[1]]} never met on a sample, "
            "nor is there a chain of runs between them."
        )
    sizes = ", ".join(f"{task} {len(matrix.ids):,}" for task, matrix in matrices.items())
    return RankedTask(
        title=f"{len(matrices)} tasks together",
        metric=STRENGTHS,
        runs=tuple(players),
        ranking=rank_strengths(wins, seed=seed),
        scale=1.0,
        samples=sum(len(matrix.ids) for matrix in matrices.values()),
        notes=(
            f"Every sample that two runs both answered is a match, so that a task weighs as its samples do: {sizes}. A "
            "strength of 1 more wins 73 of 100 matches. --weights ranks by a mean of scores instead.",
        ),
    )


def _parse_weights(
    weights: Mapping[str, float] | str, matrices: Mapping[str, ValueMatrix]
) -> dict[str, float]:
    if isinstance(weights, str):
        if weights != "equal":
            raise unknown_name_error("weighting", weights, ["equal"], "(or give TASK=WEIGHT)")
        return dict.fromkeys(matrices, 1.0)
    for task, weight in weights.items():
        if task not in matrices:
            raise unknown_name_error("task", task, matrices)
        if not weight > 0:
            raise UsageError(f"The weight of {task} is {weight:g}; it must be above 0")
    return dict(weights)


def _rank_weighted(
    matrices: Mapping[str, ValueMatrix], weights: Mapping[str, float], seed: int
) -> RankedTask:
    """A mean of the tasks' means, as scores of 0 to 100, with stated weights."""
    chosen = {task: matrices[task] for task in weights}
    first = next(iter(chosen.values()))
    players = [name for name in first.runs if all(name in matrix.runs for matrix in chosen.values())]
    if len(players) < 2:
        raise UsageError(f"Fewer than two runs have all of {', '.join(chosen)}; leave out --weights")
    total = sum(weights.values())
    means: NDArray[np.float64] = np.zeros(len(players))
    covariance = np.zeros((len(players), len(players)))
    drawn: NDArray[np.float64] | None = None
    samples, fewest = 0, 0
    for number, (task, matrix) in enumerate(chosen.items()):
        columns = matrix.values[:, [matrix.runs.index(name) for name in players]]
        shared = ~np.isnan(columns).any(axis=1)
        labels = _renumber(matrix.clusters[shared])
        clusters = int(labels.max()) + 1 if labels.size else 0
        _check_clusters(clusters, task)
        sums, sizes = sum_clusters(columns[shared], labels)
        weight = weights[task] / total * matrix.scale
        own = columns[shared].mean(axis=0)
        residuals = sums - np.outer(sizes, own)
        means = means + weight * own
        covariance += weight**2 * residuals.T @ residuals * (clusters / (clusters - 1) / sizes.sum() ** 2)
        part = weight * resample_jointly(sums, sizes, seed=seed + number)
        drawn = part if drawn is None else drawn + part
        samples += int(shared.sum())
        fewest = min(fewest or clusters, clusters)
    assert drawn is not None
    parts = ", ".join(
        f"{task} {weight / total:.0%} ({chosen[task].metric})" for task, weight in weights.items()
    )
    return RankedTask(
        title=f"{len(chosen)} tasks, weighted",
        metric=WEIGHTED,
        runs=tuple(players),
        ranking=rank_estimates(means, difference_errors(covariance), drawn, fewest),
        scale=1.0,
        samples=samples,
        notes=(f"The mean of scores with the weights {parts}.",),
    )


def _renumber(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)
