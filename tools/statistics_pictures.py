"""Draw the pictures of docs/stop-early.md, docs/subsets.md and docs/ranking.md from runs of MIME.

    python tools/statistics_pictures.py RUN… --out docs/images

The runs in the docs are imports of the released outputs of three models, zero-shot and chain of thought.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from vivant.analysis.ranking import rank
from vivant.analysis.subset_making import make_subset
from vivant.benchmarks import registry
from vivant.benchmarks.base import ScoredRun
from vivant.benchmarks.sample_units import SampleUnit, StoppedOrder, TaskOrder
from vivant.benchmarks.summary import cluster_of, sum_units
from vivant.metrics.confidence_sequence import ConfidenceSequence
from vivant.metrics.sampling_order import order_in_units
from vivant.runs.run import Run, load_runs

INK, SOFT, ACCENT = "#222222", "#b8c4d6", "#2f6db3"


def draw_stopping(run: Run, target: float, path: Path) -> str:
    """The interval as a run is asked, with the moment at which it is narrow enough."""
    part: ScoredRun = run.scores()[0]
    samples = [sample for sample, _, _ in part.rows]
    clusters = [cluster_of(sample) for sample in samples]
    order = order_in_units(clusters, [sample.facets for sample in samples], 0, part.task)
    units = [SampleUnit(tuple(samples[index].id for index in unit), len(unit)) for unit in order]
    rows = ((sample, score) for sample, _, score in part.rows)
    whole = StoppedOrder(TaskOrder(units=tuple(units)), len(units))
    sums = sum_units(whole, rows, registry.get_by_task(part.task), part)
    sequence = ConfidenceSequence(units=len(units), largest=max(map(len, order)), target=target / 100)
    asked, lows, highs, means = [], [], [], []
    stop = None
    for total, size in sums:
        sequence.update(total, size)
        asked.append(sequence.size)
        lows.append(100 * sequence.low)
        highs.append(100 * sequence.high)
        means.append(100 * (sequence.mean or 0.0))
        if stop is None and sequence.half_width <= target / 100:
            stop = len(asked) - 1
    truth = means[-1]
    pyplot = start_figure()
    figure, axes = pyplot.subplots(figsize=(7, 3.6))
    axes.fill_between(asked, lows, highs, color=SOFT, label="95 % interval, valid at every moment")
    axes.plot(asked, means, color=ACCENT, label="score so far")
    axes.axhline(truth, color=INK, linewidth=0.8, linestyle=":", label=f"score on all: {truth:.1f}")
    if stop is not None:
        axes.axvline(asked[stop], color=INK, linewidth=0.8)
        axes.text(
            asked[stop] - 8,
            8,
            f"± {target:g} points: stop at {asked[stop]:.0f} of {asked[-1]:.0f}",
            color=INK,
            ha="right",
        )
    axes.set(xlabel="samples asked", ylabel="accuracy", ylim=(0, 100), xlim=(0, asked[-1]))
    axes.legend(frameon=False, loc="upper center")
    save(figure, path)
    moment = "never" if stop is None else f"at {asked[stop]:.0f}, {lows[stop]:.1f} to {highs[stop]:.1f}"
    return f"{run.name}: stops {moment}; all of it has {truth:.1f}"


def draw_ranks(runs: list[Run], path: Path) -> str:
    """The ranks that are possible for each run."""
    result = rank(runs)
    ranked = result.tasks[0]
    ranking = ranked.ranking
    pyplot = start_figure()
    figure, axes = pyplot.subplots(figsize=(7, 2.8))
    labels = []
    for place, index in enumerate(ranking.order):
        name = ranked.runs[index]
        low, high = ranking.ranks[index]
        axes.plot([low, high], [place, place], color=SOFT, linewidth=8, solid_capstyle="round")
        axes.plot(place + 1, place, "o", color=ACCENT)
        labels.append(f"{result.models[name].rpartition('/')[2]}, {result.settings[name]}")
        axes.text(
            len(ranking.order) + 0.4,
            place,
            f"{ranking.scores[index] * ranked.scale:.1f}",
            va="center",
            color=INK,
        )
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set(xlabel="rank", xlim=(0.5, len(labels) + 0.9))
    save(figure, path)
    return repr(result)


def draw_subsets(runs: list[Run], path: Path) -> str:
    """The error on models left out, by the size of the subset."""
    sizes = (25, 50, 100, 150, 200, 300, 400)
    tasks = [next(iter(make_subset(runs, size).tasks.values())) for size in sizes]
    errors, at_random = (
        [100 * value for value in column]
        for column in zip(*((t.error, t.random_error) for t in tasks), strict=True)
    )
    pyplot = start_figure()
    figure, axes = pyplot.subplots(figsize=(7, 3.2))
    axes.plot(sizes, at_random, "o--", color=INK, label="drawn at random")
    axes.plot(sizes, errors, "o-", color=ACCENT, label="chosen from the other models' runs")
    axes.set(xlabel="samples asked", ylabel="error of the score, points", ylim=(0, None), xlim=(0, None))
    axes.legend(frameon=False)
    save(figure, path)
    return "\n".join(
        f"{n}: {e:.1f} against {r:.1f}" for n, e, r in zip(sizes, errors, at_random, strict=True)
    )


def start_figure() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update(
        {"svg.hashsalt": "vivant", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    )
    return pyplot


def save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    arguments = parser.parse_args()
    runs = load_runs(arguments.runs)
    if len(runs) > 1:
        print(draw_ranks(runs, arguments.out / "ranking.svg"))
        print(draw_subsets(runs, arguments.out / "subsets.svg"))
    print(draw_stopping(runs[0], 6, arguments.out / "stop-early.svg"))


if __name__ == "__main__":
    main()
