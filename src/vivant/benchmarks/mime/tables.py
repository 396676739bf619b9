"""The paper's six tables, and one of people, from any mix of runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun
from vivant.benchmarks.mime import failures, ttest
from vivant.benchmarks.mime.cells import SHORT, TASKS, Item, Line, Rounding, gather, has
from vivant.benchmarks.mime.names import REAL
from vivant.benchmarks.mime.published import SCENES
from vivant.benchmarks.mime.score import SETTINGS
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.table import Cell, Row, Table

LAYOUTS: Mapping[str, str] = {
    "1": "MIME (base, blank) and REAL",
    "2": "Zero-shot by avatar and background",
    "3": "The woman avatar, all styles",
    "4": "Camera angles",
    "5": "All styles by avatar and background",
    "6": "The two actors",
    "annotators": "People, one by one, and on their first video",
    "failures": "Failure modes of free-form answers",
}
_SCENE_NAMES = ("man blank", "man aligned", "man misal.", "suit blank", "suit aligned", "suit misal.")
_ANGLES = {"0°": "base+blank@0", "90°": "base+blank@90", "180°": "base+blank@180", "270°": "base+blank@270"}
_ACTORS = ("n", "j")


class Builder:
    """Gathers lines, cells and the rows behind them while a table is made."""

    def __init__(
        self, name: str, runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark
    ) -> None:
        self.name = name
        self.protocol = protocol
        self.benchmark = benchmark
        self.rounding = Rounding(runs, protocol)
        self.lines = gather(runs)
        self.body: list[tuple[Cell, ...]] = []
        self.rows: list[Row] = []
        self.rules: list[int] = []
        self.notes: list[str] = []
        default = SETTINGS["threshold"]
        asked = {f"{run.run}, {run.task}": run.settings.get("threshold", default) for run in runs}
        self._thresholds = {
            name: value for name, value in asked.items() if value != default and name.endswith(TASKS[1])
        }
        self._sizes: dict[str, set[int]] = {}
        self._lost: dict[tuple[str, str], list[int]] = {}

    def only_zero_shot(self) -> None:
        """The paper's tables 1, 2 and 4 compare zero-shot runs, and people."""
        kept = [line for line in self.lines if line.is_human or line.style == "zero-shot"]
        others = len(self.lines) - len(kept)
        if not kept:
            raise UsageError(
                f"Table {self.name} shows zero-shot runs, and none is given; table 5 shows all styles"
            )
        if others:
            self.notes.append(f"{others} lines in other styles are left out; table 5 shows them.")
        self.lines = kept

    def figure(self, line: Line, row: Row | None) -> Cell:
        """A cell, with the row behind it kept and its losses remembered for the notes."""
        if row is None:
            return None
        row = self.rounding.row(row)
        self.rows.append(row)
        self._sizes.setdefault(line.label, set()).add(row.n)
        if row.errors or row.unparsed:
            who = f"{line.label}, {line.style}" if line.style else line.label
            lost = self._lost.setdefault((who, row.task), [0, 0])
            lost[0] += row.errors
            lost[1] += row.unparsed
        return row.value

    def variant_cells(self, line: Line, *variants: str) -> list[Cell]:
        """Multiple choice and free form side by side, variant by variant."""
        return [
            self.figure(line, line.by_facet(self.benchmark, task, "variant", variant))
            for variant in variants
            for task in TASKS
        ]

    def add(self, line: Line, *cells: Cell) -> None:
        """One line of the table, unless it has no figure; a rule parts people from models."""
        if not any(isinstance(cell, int | float) for cell in cells):
            return
        if line.is_human and self.body and not self.rules:
            self.rules.append(len(self.body))
        self.body.append((line.label, *cells))

    def table(self, *columns: str, notes: Sequence[str] = ()) -> Table:
        """The finished table. Lines without a single figure are an error: the runs hold other samples."""
        if not self.rows:
            raise UsageError(f"None of these runs holds samples that table {self.name} shows")
        sizes = {size for line in self._sizes.values() for size in line}
        found = [f"n per cell: {min(sizes)}" + (f" to {max(sizes)}" if len(sizes) > 1 else "") + "."]
        for (who, task), (errors, unparsed) in self._lost.items():
            found.append(
                f"{who}, {task}: {errors} errors (not counted), {unparsed} unparsed (counted as wrong)."
            )
        for run, value in self._thresholds.items():
            found.append(f"{run}: free-form answers are right from a similarity of {value:g} up.")
        if self.protocol == "paper" and any(line.is_human for line in self.lines):
            found.append(
                "People's free-form figures are those of the paper: how often (similarity ≥ threshold) and "
                "(similarity > lower quartile) agree. The strict protocol gives their accuracy."
            )
        return Table(
            title=f"MIME {self.name}: {LAYOUTS[self.name]} (protocol {self.protocol})",
            columns=columns,
            body=tuple(self.body),
            rows=tuple(self.rows),
            notes=(*found, *self.notes, *notes, self.rounding.note),
            rules=tuple(self.rules),
        )


def layout(name: str, runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """One of the tables by its short name."""
    if name not in LAYOUTS:
        raise unknown_name_error("table of mime", name, LAYOUTS)
    if name == "failures":
        return failures.table(f"MIME: {LAYOUTS[name]}", runs)
    return _MAKERS[name](Builder(name, runs, protocol, benchmark))


def _pairs(names: Sequence[str]) -> list[str]:
    return [f"{name} {SHORT[task]}" for name in names for task in TASKS]


def _table_1(made: Builder) -> Table:
    made.only_zero_shot()
    for line in made.lines:
        made.add(line, *made.variant_cells(line, SCENES[0], REAL))
    return made.table("model", *_pairs(("MIME", "REAL")))


def _table_2(made: Builder) -> Table:
    made.only_zero_shot()
    for line in made.lines:
        made.add(line, *made.variant_cells(line, *SCENES))
    return made.table("model", *_pairs(_SCENE_NAMES))


def _table_3(made: Builder) -> Table:
    for line in made.lines:
        made.add(line, line.style or None, *made.variant_cells(line, "woman+blank@0"))
    return made.table("model", "style", *_pairs(("woman blank",)))


def _table_5(made: Builder) -> Table:
    for line in made.lines:
        made.add(line, line.style or None, *made.variant_cells(line, *SCENES))
    return made.table("model", "style", *_pairs(_SCENE_NAMES))


def _table_4(made: Builder) -> Table:
    made.only_zero_shot()
    for task in TASKS:
        for line in made.lines:
            rows = [line.by_facet(made.benchmark, task, "variant", variant) for variant in _ANGLES.values()]
            known = [row for row in rows if row is not None]
            if not known:
                continue
            cells = [made.figure(line, row) for row in rows]
            values = [row.value for row in known if row.value is not None]
            # Over an incomplete circle the mean would be another quantity under the same name.
            complete = len(values) == len(_ANGLES)
            mean = math.fsum(values) / len(values) if complete else None
            spread = (
                math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
                if mean is not None
                else None
            )
            for metric, value in (("mean over angles", mean), ("standard deviation over angles", spread)):
                made.rows.append(
                    msgspec.structs.replace(
                        made.rounding.row(msgspec.structs.replace(known[0], value=value)),
                        metric=metric,
                        group={},
                        n=sum(row.n for row in known),
                        errors=sum(row.errors for row in known),
                        unparsed=sum(row.unparsed for row in known),
                        interval=None,
                        interval_method="",
                    )
                )
            made.body.append(
                (line.label, SHORT[task], *cells, made.rounding.value(mean), made.rounding.value(spread))
            )
        if task == TASKS[0]:
            made.rules.append(len(made.body))
    return made.table(
        "model", "task", *_ANGLES, "avg", "std", notes=("std: of the four figures, divided by n.",)
    )


def _table_6(made: Builder) -> Table:
    for line in made.lines:
        tested: list[Cell] = []
        for actor in _ACTORS:
            cells: list[Cell] = []
            for task in TASKS:
                row = line.by_facet(made.benchmark, task, "actor", actor)
                value = made.figure(line, row)
                right = round(row.value * row.n / 100) if row is not None and row.value is not None else None
                cells += [row.n if row is not None else None, right, value]
            made.add(line, line.style or None, actor, *cells)
        for task in TASKS:
            tested += [None, None, _tested(made, line, task)]
        if any(tested):
            made.body.append((line.label, line.style or None, f"{_ACTORS[0]} − {_ACTORS[1]}", *tested))
    kind = (
        "Student's t from variances divided by n, as published"
        if made.protocol == "paper"
        else "Welch's t; answers to one action are not independent, so the true p is larger"
    )
    columns = [f"{SHORT[task]} {what}" for task in TASKS for what in ("n", "right", "%")]
    return made.table("model", "style", "actor", *columns, notes=(f"Test: {kind}.",))


def _tested(made: Builder, line: Line, task: str) -> str | None:
    """The test as a cell, and its two figures as rows."""
    groups = [_values(made, line, task, has("actor", actor)) for actor in _ACTORS]
    if not all(groups):
        return None
    test = ttest.pooled(*groups) if made.protocol == "paper" else ttest.welch(*groups)
    part = next(part for part in line.parts if part.task == task)
    for metric, value in (("t", test.t), ("p", test.p)):
        made.rows.append(
            Row(
                run=part.run,
                benchmark="mime",
                task=task,
                group={"actor": " − ".join(_ACTORS)},
                metric=metric,
                value=value,
                n=sum(map(len, groups)),
                errors=0,
                unparsed=0,
                interval=None,
                model=line.model,
                style=line.style,
                protocol=made.protocol,
            )
        )
    return "no spread" if test.t is None else f"t {test.t:.4f}, p {test.p:.5f}"


def _values(made: Builder, line: Line, task: str, keep: Callable[[Item], bool]) -> list[float]:
    """What each item counts as in a mean."""
    unparsed = made.benchmark.unparsed_value
    values = [
        unparsed if score.status == "unparsed" else score.value for _, _, score in line.items(task, keep)
    ]
    return [value for value in values if value is not None]


def _annotators(made: Builder) -> Table:
    made.lines = [line for line in made.lines if line.is_human]
    if not made.lines:
        raise UsageError("The table of annotators needs a run of the model 'human'")
    for line in made.lines:
        sources = dict.fromkeys(
            record.source for part in line.parts for _, record, _ in part.rows if record is not None
        )
        groups: list[tuple[str, dict[str, str], Callable[[Item], bool]]] = [
            (source, {"annotator": source}, _is_from(source)) for source in sources
        ]
        for data in ("MIME", "REAL"):
            groups.append((f"first videos, {data}", {"dataset": data, "place": "first"}, _is_first(data)))
            groups.append((f"all, {data}", {"dataset": data}, has("dataset", data)))
        made.rules.append(len(made.body) + len(sources))
        for who, group, keep in groups:
            rows = [line.cell(made.benchmark, task, group, keep) for task in TASKS]
            if any(rows):
                n = max(row.n for row in rows if row is not None)
                made.body.append((who, n, *(made.figure(line, row) for row in rows)))
    return made.table("annotator", "n", "MC", "FF")


def _is_from(source: str) -> Callable[[Item], bool]:
    return lambda item: item[1] is not None and item[1].source == source


def _is_first(dataset: str) -> Callable[[Item], bool]:
    """The first video that a person saw: nothing can have been learnt from others yet."""

    def keep(item: Item) -> bool:
        sample, record, _ = item
        place = record.extra.get("human", {}).get("place") if record is not None else None
        return sample.facets.get("dataset") == dataset and place == 0

    return keep


_MAKERS: Mapping[str, Callable[[Builder], Table]] = {
    "1": _table_1,
    "2": _table_2,
    "3": _table_3,
    "4": _table_4,
    "5": _table_5,
    "6": _table_6,
    "annotators": _annotators,
}
