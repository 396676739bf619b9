"""Figures of what is in a benchmark beside what is left for training: drawn where matplotlib is installed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vivant.benchmarks.mimic.format import MimicItem
from vivant.benchmarks.mimic.names import OWN, choose_length_bucket
from vivant_build.mimic.database import parquet_source
from vivant_build.mimic.split import BENCH, TRAIN

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MOST = 14
_LENGTHS = ("under-15s", "15-60s", "1-5min", "5-20min", "over-20min", "unknown")


def draw_distributions(
    connection: DuckDBPyConnection, work: Path, folder: Path, items: Sequence[MimicItem]
) -> list[Path]:
    """Videos by category, language, length and platform, scores, and lengths of options, as SVG.

    Without matplotlib (the extra `figures`) nothing is drawn: the figures are for people, no step needs them.
    """
    if find_spec("matplotlib") is None:
        return []
    paths = [folder / "videos.svg", folder / "scores.svg", folder / "options.svg"]
    _draw_videos(_count_videos(connection, work), paths[0])
    _draw_scores(_count_scores(connection, work), paths[1])
    _draw_options(items, paths[2])
    return paths


Counts = dict[str, dict[str, Counter[str]]]


def _count_videos(connection: DuckDBPyConnection, work: Path) -> Counts:
    """Facet → part → value → how many."""
    rows = connection.execute(f"""
        SELECT s.part, v.category, v.language, v.platform, v.duration, count(*)
        FROM {parquet_source(work / "split" / "videos.parquet")} s
        JOIN {parquet_source(work / "clean" / "videos")} v USING (ref)
        WHERE s.part IN ('{BENCH}', '{TRAIN}') GROUP BY ALL ORDER BY ALL
    """).fetchall()
    counts: Counts = {
        facet: {BENCH: Counter(), TRAIN: Counter()}
        for facet in ("category", "language", "length", "platform")
    }
    for part, category, language, platform, duration, number in rows:
        values = {
            "category": category or "unknown",
            "language": language or "unknown",
            "length": choose_length_bucket(duration),
            "platform": platform,
        }
        for facet, value in values.items():
            counts[facet][part][value] += number
    return counts


def _draw_videos(counts: Counts, path: Path) -> None:
    from vivant.reporting.figure_style import COLORS, load_pyplot, save_figure

    pyplot = load_pyplot()
    figure, axes = pyplot.subplots(2, 2, figsize=(8.4, 5.6))
    for axis, (facet, parts) in zip(axes.flat, counts.items(), strict=True):
        total = {part: max(counter.total(), 1) for part, counter in parts.items()}
        names = [name for name, _ in (parts[BENCH] + parts[TRAIN]).most_common(_MOST)]
        if facet == "length":
            names = [name for name in _LENGTHS if name in names]
        for shift, (part, colour) in enumerate(zip((BENCH, TRAIN), COLORS, strict=False)):
            shares = [100 * parts[part][name] / total[part] for name in names]
            positions = [row + 0.4 * shift - 0.2 for row in range(len(names))]
            axis.barh(positions, shares, 0.38, color=colour, label=f"{part} ({parts[part].total():,})")
        axis.set_yticks(range(len(names)), names)
        axis.set_ylim(max(len(names), 3) - 0.5, -0.5)  # a single value gets no bar as high as the panel
        axis.set_xlabel("% of videos")
        axis.set_title(facet, loc="left", fontsize=9)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="upper center", ncols=2)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    save_figure(pyplot, figure, path)


def _count_scores(connection: DuckDBPyConnection, work: Path) -> dict[str, list[float]]:
    rows = connection.execute(f"""
        SELECT CASE WHEN s.part = '{BENCH}' THEN s.part ELSE 'other videos' END AS side,
               floor(c.score * 50) / 50 AS bin, count(*)
        FROM {parquet_source(work / "split" / "videos.parquet")} s
        JOIN {parquet_source(work / "select" / "videos.parquet")} c USING (ref)
        WHERE c.score IS NOT NULL GROUP BY ALL ORDER BY ALL
    """).fetchall()
    bins: dict[str, list[float]] = {BENCH: [0.0] * 51, "other videos": [0.0] * 51}
    for side, start, number in rows:
        bins[side][round(start * 50)] += number
    return bins


def _draw_scores(bins: dict[str, list[float]], path: Path) -> None:
    from vivant.reporting.figure_style import COLORS, load_pyplot, save_figure

    pyplot = load_pyplot()
    figure, axis = pyplot.subplots(figsize=(4.6, 2.8))
    for (side, counts), colour in zip(bins.items(), COLORS, strict=False):
        total = max(sum(counts), 1)
        edges = [number / 50 for number in range(51)]
        axis.stairs(
            [100 * c / total for c in counts], [*edges, 1.02], color=colour, fill=True, alpha=0.5, label=side
        )
    axis.set_xlabel("interaction score")
    axis.set_ylabel("% of videos")
    axis.legend(frameon=False)
    save_figure(pyplot, figure, path)


def _draw_options(items: Sequence[MimicItem], path: Path) -> None:
    from vivant.reporting.figure_style import COLORS, load_pyplot, save_figure

    pyplot = load_pyplot()
    tasks = list(dict.fromkeys(item.task for item in items))
    figure, axis = pyplot.subplots(figsize=(0.8 * len(tasks) + 1.6, 3.0))
    for shift, (name, right) in enumerate((("right", True), ("wrong", False))):
        lengths = [_list_lengths(items, task, right) for task in tasks]
        boxes: Any = axis.boxplot(
            lengths,
            positions=[row + 0.34 * shift - 0.17 for row in range(len(tasks))],
            widths=0.28,
            showfliers=False,
            patch_artist=True,
            manage_ticks=False,
            medianprops={"color": "black"},
        )
        for box in boxes["boxes"]:
            box.set_facecolor(COLORS[shift])
            box.set_alpha(0.6)
        axis.plot([], [], "s", color=COLORS[shift], alpha=0.6, label=f"{name} options")
    short = [task if task != OWN else "popularity" for task in tasks]
    axis.set_xticks(range(len(tasks)), short, rotation=20, ha="right")
    axis.set_ylabel("characters")
    axis.legend(frameon=False)
    save_figure(pyplot, figure, path)


def _list_lengths(items: Sequence[MimicItem], task: str, right: bool) -> list[int]:
    return [
        len(option.text)
        for item in items
        if item.task == task
        for index, option in enumerate(item.options)
        if (index == item.key) == right
    ]
