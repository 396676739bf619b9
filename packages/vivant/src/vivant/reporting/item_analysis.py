"""The items of a benchmark through many runs. `vivant.items(...)` and `vivant items` are this."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from vivant.analysis.items.findings import ItemAnalysis, ItemReport, analyse_items
from vivant.analysis.items.responses import read_responses
from vivant.benchmarks.base import Protocol
from vivant.core.arguments import as_strings
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.shown_tables import ShownTables
from vivant.core.table import Table
from vivant.reporting.items import KINDS, build_item_tables, draw_items, write_items
from vivant.runs.run import RunLike, load_runs


class BenchmarkItems(ShownTables, Struct, frozen=True, kw_only=True, eq=False):
    """What many runs say about the items of each task."""

    analyses: tuple[ItemAnalysis, ...]
    """One a task."""
    kinds: tuple[str, ...] = ()
    """Findings that are shown; empty: all."""

    def select(self, *kinds: str) -> list[ItemReport]:
        """Items with findings of these kinds (none named: those that are shown), the heaviest of each task first."""
        chosen = parse_kinds(kinds) or self.kinds
        return [item for analysis in self.analyses for item in analysis.select(*chosen)]

    def tables(self, limit: int = 20) -> list[Table]:
        """An overview, items with findings, options that stand out, and the ceiling where people answered."""
        return build_item_tables(self.analyses, self.kinds, limit)

    def write(self, path: str | Path) -> int:
        """Write every item with figures, findings and answers, a JSON line each; returns how many."""
        try:
            return write_items(self.analyses, Path(path))
        except OSError as error:
            raise UsageError(f"Cannot write {path}: {error.strerror}") from error

    def draw(self, path: str | Path) -> None:
        """Draw difficulty against discrimination (.svg, .png, .pdf)."""
        draw_items(self.analyses, Path(path))


def parse_kinds(kinds: str | Sequence[str]) -> tuple[str, ...]:
    """Kinds of findings by name, with spaces or dashes."""
    names = {name.replace(" ", "-"): name for name in KINDS}
    for kind in (chosen := [kind.replace(" ", "-") for kind in as_strings(kinds)]):
        if kind not in names:
            raise unknown_name_error("kind of finding", kind, names)
    return tuple(names[kind] for kind in chosen)


def items(
    runs: RunLike | Sequence[RunLike],
    kinds: str | Sequence[str] = (),
    where: str | Sequence[str] = (),
    *,
    protocol: Protocol | None = None,
) -> BenchmarkItems:
    """Look at the items of a benchmark through many runs: difficulty, discrimination, suspect keys, give-aways.

    >>> vivant.items("runs").select("suspect-key")

    Args:
        runs: Runs, run directories, or folders of them. Runs with a control say what is solved without media; runs of
            the model `human` say how far people agree.
        kinds: Only findings of these kinds, such as `suspect-key`.
        where: Conditions on samples, as `facet=value`.
        protocol: `paper` or `strict`. None takes the first that all benchmarks have.
    """
    chosen = parse_kinds(kinds)
    matrices = read_responses(load_runs(runs), protocol, as_strings(where))
    return BenchmarkItems(analyses=tuple(map(analyse_items, matrices)), kinds=chosen)
