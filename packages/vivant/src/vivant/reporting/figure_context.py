"""What all figures of some runs share: names, settings, colours; and their tasks taken together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from vivant.benchmarks.base import ScoredRun
from vivant.core.table import Row
from vivant.reporting.figure_style import COLORS, GREYS, FigureStyle
from vivant.reporting.score_matrix import classify_model, describe_dimensions
from vivant.runs.overview import list_run_distinctions
from vivant.runs.run import Run


class FigureContext(Struct, frozen=True, kw_only=True):
    """What all figures of some runs share."""

    style: FigureStyle
    names: Mapping[str, str]
    """What a legend calls each run."""
    settings: Mapping[str, str]
    """How each run was asked, in a few words."""
    colors: Mapping[str, str]
    protocol: str

    def sort(self, runs: Iterable[str]) -> list[str]:
        """Models first, then baselines, each in the order in which they were named."""
        order = list(self.names)
        return sorted(runs, key=lambda run: (self.colors[run] in GREYS, order.index(run)))

    def describe(self, rows: Sequence[Row], *, with_n: bool = True) -> str:
        """Who was measured, how, and on how many samples."""
        texts = []
        for run in self.sort({row.run for row in rows}):
            n = sum(row.n for row in rows if row.run == run)
            count = f", n = {n:,}" if with_n else ""
            texts.append(f"{self.names[run]}: {self.settings[run]}{count}")
        return f"{'. '.join(texts)}. Protocol {self.protocol}."


def make_context(runs: Sequence[Run], protocol: str, style: FigureStyle) -> FigureContext:
    """Names, settings and colours of runs, the same in every figure; baselines are grey."""
    names = _name_runs(runs)
    colors: dict[str, str] = {}
    used = {"model": 0, "baseline": 0}
    for run in runs:
        kind = "model" if classify_model(run.model) == "model" else "baseline"
        palette = COLORS if kind == "model" else GREYS
        colors[run.name] = palette[used[kind] % len(palette)]
        used[kind] += 1
    return FigureContext(
        style=style,
        names=names,
        settings={r.name: _describe_run(r) for r in runs},
        colors=colors,
        protocol=protocol,
    )


def _name_runs(runs: Sequence[Run]) -> dict[str, str]:
    """Models, with what sets their runs apart as in tables; the run's name where that is nothing."""
    ways = list_run_distinctions(runs)
    labels = [
        run.model if [r.model for r in runs].count(run.model) == 1 or not way else f"{run.model} · {way}"
        for run, way in zip(runs, ways, strict=True)
    ]
    benchmarks = [{task.partition("/")[0] for task in run.manifest.tasks} for run in runs]
    return {
        run.name: f"{label} ({run.name})"
        if any(label == labels[i] and benchmarks[n] & benchmarks[i] for i in range(len(runs)) if i != n)
        else label
        for n, (run, label) in enumerate(zip(runs, labels, strict=True))
    }


def _describe_run(run: Run) -> str:
    dimensions = describe_dimensions(run.manifest)
    control = "" if dimensions["control"] == "none" else dimensions["control"]
    recipe = f"recipe {dimensions['recipe']}" if dimensions["recipe"] else ""
    words = (dimensions["style"], dimensions["frames"], control, recipe, dimensions["settings"])
    return ", ".join(filter(None, words))


def merge_tasks(parts: Sequence[ScoredRun]) -> list[ScoredRun]:
    """The tasks of a run as one, for facets that span tasks."""
    joined: list[ScoredRun] = []
    for run in dict.fromkeys(part.run for part in parts):
        run_parts = [part for part in parts if part.run == run]
        rows = tuple(row for part in run_parts for row in part.rows)
        joined.append(msgspec.structs.replace(run_parts[0], rows=rows))
    return joined
