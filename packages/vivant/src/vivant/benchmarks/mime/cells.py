"""Runs gathered into the lines of a table, and figures for its cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct, field

from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun
from vivant.benchmarks.mime.human import MODEL as HUMAN
from vivant.benchmarks.mime.prompts import STYLES
from vivant.benchmarks.summary import summarise
from vivant.core.errors import UsageError
from vivant.core.records import Record, Score
from vivant.core.table import Row
from vivant.core.types import Sample

ScoredItem = tuple[Sample, Record | None, Score]
TASKS = ("mime/mcq", "mime/ff")
SHORT = {"mime/mcq": "MC", "mime/ff": "FF"}


class ModelLine(Struct, frozen=True):
    """One line of a table: what one model did in one style, over all tasks and runs given."""

    model: str
    style: str
    label: str
    parts: tuple[ScoredRun, ...]
    groups: dict[tuple[str, str], dict[str, list[tuple[ScoredRun, list[ScoredItem]]]]] = field(
        default_factory=dict
    )
    """Items by task and facet, then by the facet's value, grouped when they are first asked for."""

    @property
    def is_human(self) -> bool:
        """People are asked in no style."""
        return self.model == HUMAN

    def list_items(self, task: str, keep: Callable[[ScoredItem], bool]) -> list[ScoredItem]:
        """This line's items of a task that `keep` keeps."""
        return [item for part in self.parts if part.task == task for item in part.rows if keep(item)]

    def summarise_items(
        self, benchmark: Benchmark, task: str, group: Mapping[str, str], keep: Callable[[ScoredItem], bool]
    ) -> Row | None:
        """The score on some of the items, with all that is needed to judge it; None where there are none."""
        parts = [
            (part, [item for item in part.rows if keep(item)]) for part in self.parts if part.task == task
        ]
        return _summarise_parts(benchmark, group, [(part, items) for part, items in parts if items])

    def summarise_facet(self, benchmark: Benchmark, task: str, facet: str, value: str) -> Row | None:
        """The score on the samples with this facet."""
        if (task, facet) not in self.groups:
            self.groups[task, facet] = self._group_items(task, facet)
        return _summarise_parts(benchmark, {facet: value}, self.groups[task, facet].get(value, []))

    def _group_items(self, task: str, facet: str) -> dict[str, list[tuple[ScoredRun, list[ScoredItem]]]]:
        groups: dict[str, list[tuple[ScoredRun, list[ScoredItem]]]] = {}
        for part in self.parts:
            own: dict[str, list[ScoredItem]] = {}
            for item in part.rows if part.task == task else ():
                own.setdefault(item[0].facets.get(facet, ""), []).append(item)
            for value, items in own.items():
                groups.setdefault(value, []).append((part, items))
        return groups


def _summarise_parts(
    benchmark: Benchmark, group: Mapping[str, str], parts: Sequence[tuple[ScoredRun, list[ScoredItem]]]
) -> Row | None:
    if not parts:
        return None
    merged = msgspec.structs.replace(
        parts[0][0],
        run=" + ".join(dict.fromkeys(part.run for part, _ in parts)),
        rows=tuple(item for _, items in parts for item in items),
    )
    (row,) = summarise(merged, benchmark, ())
    return msgspec.structs.replace(row, group=dict(group))


def has_facet(facet: str, value: str) -> Callable[[ScoredItem], bool]:
    """Whether an item's sample has this facet."""
    return lambda item: item[0].facets.get(facet) == value


def group_runs(runs: Sequence[ScoredRun]) -> list[ModelLine]:
    """Lines in the order in which models first occur, people last.

    Runs of one model and style belong together (a file per task, MIME and REAL apart) unless they answer
    the same samples: then they are rivals, and each gets a line with its own name.
    """
    groups: dict[tuple[str, str], list[list[ScoredRun]]] = {}
    for run in runs:
        style = "" if run.model == HUMAN else run.style
        rivals = groups.setdefault((run.model, style), [])
        fitting = [parts for parts in rivals if not any(_have_overlap(run, part) for part in parts)]
        same = [parts for parts in fitting if any(part.run == run.run for part in parts)]
        if fitting:
            (same or fitting)[0].append(run)
        else:
            rivals.append([run])
    models = list(dict.fromkeys(model for model, _ in groups))
    lines = [
        ModelLine(model, style, _format_label(model, parts, several=len(rivals) > 1), tuple(parts))
        for (model, style), rivals in groups.items()
        for parts in rivals
    ]
    return sorted(lines, key=lambda line: (line.is_human, models.index(line.model), _style_index(line.style)))


def _have_overlap(first: ScoredRun, second: ScoredRun) -> bool:
    if first.task != second.task:
        return False
    return not {score.key for _, _, score in first.rows}.isdisjoint(score.key for _, _, score in second.rows)


def _format_label(model: str, parts: Sequence[ScoredRun], *, several: bool) -> str:
    names = " + ".join(dict.fromkeys(part.run for part in parts))
    return f"{model} ({names})" if several else model


def _style_index(style: str) -> int:
    return STYLES.index(style) if style in STYLES else len(STYLES)


class Rounding:
    """Figures as a protocol prints them."""

    def __init__(self, runs: Sequence[ScoredRun], protocol: Protocol) -> None:
        roundings = {str(run.settings.get("rounding", "protocol")) for run in runs} - {"protocol"}
        if len(roundings) > 1 or not roundings <= {"paper", "plain"}:
            raise UsageError(
                f"rounding is {' and '.join(sorted(roundings))}; it must be paper or plain, for all runs"
            )
        self.as_published = (roundings.pop() if roundings else protocol) == "paper"

    def round_value(self, figure: float | None) -> float | None:
        """The figure that is then printed with one decimal: 47 of 86 is 54.65, and prints as 54.6."""
        return round(figure, 2) if figure is not None and self.as_published else figure

    def round_row(self, row: Row) -> Row:
        """The row with its value so rounded."""
        return msgspec.structs.replace(row, value=self.round_value(row.value))

    @property
    def note(self) -> str:
        """What a reader should know."""
        if self.as_published:
            return (
                "Figures are rounded to two decimals and then to one, as published (54.651 prints as 54.6)."
            )
        return "Figures are rounded once."
