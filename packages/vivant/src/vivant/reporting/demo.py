"""The one table of `vivant demo`: a model, two baselines and chance on the mini-editions it was made for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vivant.benchmarks import registry
from vivant.benchmarks.base import ScoredRun
from vivant.benchmarks.summary import cluster_of, get_counted_value
from vivant.core.table import Cell, Table
from vivant.runs.run import Run, choose_common_protocol

SELECTORS = {"mime/mcq": "MIME-mini", "mimic/thinking": "MIMIC-mini"}
"""The columns: what is asked, and how the table calls it."""


class DemoColumn:
    """The tasks of one selector, taken together."""

    def __init__(self, selector: str, title: str) -> None:
        benchmark, _, part = selector.partition("/")
        self.title = title
        self.benchmark = registry.get(benchmark)
        self.tasks = {f"{benchmark}/{task}" for task in self.benchmark.expand(part)}

    def score(self, parts: Sequence[ScoredRun]) -> tuple[str, int]:
        """The mean in percent with its interval, and how many samples it rests on."""
        from vivant.metrics.intervals import mean_interval

        counted = [
            (sample, value)
            for part in parts
            if part.task in self.tasks
            for sample, _, score in part.rows
            if (value := get_counted_value(part, score, self.benchmark.unparsed_value)) is not None
        ]
        if not counted:
            return "–", 0
        values = [value for _, value in counted]
        interval = mean_interval(values, [cluster_of(sample) for sample, _ in counted])
        text = f"{100 * sum(values) / len(values):.1f}"
        if interval is not None:
            text += f" ({100 * interval.low:.0f}–{100 * interval.high:.0f})"
        return text, len(values)

    def chance(self, run: Run) -> str:
        """What guessing gives on these samples, in percent."""
        chances = [
            self.benchmark.chance(sample) or 0.0 for sample in run.dir.samples() if sample.task in self.tasks
        ]
        return f"{100 * sum(chances) / len(chances):.1f}" if chances else "–"


def build_demo_table(runs: Mapping[str, Run], sees: Mapping[str, str]) -> Table:
    """One row per run, in order, and one for chance.

    Args:
        runs: Runs of the same samples by the name that the table shows.
        sees: What each of them is shown, by the same names.
    """
    columns = [DemoColumn(selector, title) for selector, title in SELECTORS.items()]
    protocol = choose_common_protocol(runs.values())
    body: list[tuple[Cell, ...]] = []
    sizes: dict[str, int] = {}
    missing = unparsed = 0
    for name, run in runs.items():
        parts = run.scores(protocol)
        cells: list[Cell] = [name, sees[name]]
        for column in columns:
            text, sizes[column.title] = column.score(parts)
            cells.append(text)
        body.append(tuple(cells))
        statuses = [score.status for part in parts for _, _, score in part.rows]
        missing += statuses.count("missing")
        unparsed += statuses.count("unparsed")
    first = next(iter(runs.values()))
    body.append(("chance", "nothing", *(column.chance(first) for column in columns)))
    numbers = " and ".join(map(str, sizes.values()))
    return Table(
        title="Right answers in percent, with 95 % intervals",
        columns=("model", "what it sees", *(column.title for column in columns)),
        body=tuple(body),
        notes=(f"Questions: {numbers}. Failed: {missing}. Unreadable replies: {unparsed}.",),
    )
