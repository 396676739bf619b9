"""The paper's six tables, and one of people, from any mix of runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun
from vivant.benchmarks.mime import failures, ttest
from vivant.benchmarks.mime.cells import SHORT, TASKS, ModelLine, Rounding, ScoredItem, group_runs, has_facet
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


class MimeTableBuilder:
    """Gathers lines, cells and the rows behind them while a table is made."""

    def __init__(
        self, name: str, runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark
    ) -> None:
        self.name = name
        self.protocol = protocol
        self.benchmark = benchmark
        self.rounding = Rounding(runs, protocol)
        self.lines = group_runs(runs)
        self.body: list[tuple[Cell, ...]] = []
        self.rows: list[Row] = []
        self.rules: list[int] = []
        self.notes: list[str] = []
        default = SETTINGS["threshold"]
        thresholds = {f"{run.run}, {run.task}": run.settings.get("threshold", default) for run in runs}
        self._thresholds = {
            name: value for name, value in thresholds.items() if value != default and name.endswith(TASKS[1])
        }
        self._sizes: dict[str, set[int]] = {}
        self._lost: dict[tuple[str, str], list[int]] = {}

    def keep_zero_shot(self) -> None:
        """The paper's tables 1, 2 and 4 compare zero-shot runs, and people."""
        zero_shot = [line for line in self.lines if line.is_human or line.style == "zero-shot"]
        others = len(self.lines) - len(zero_shot)
        if not zero_shot:
            raise UsageError(
                f"Table {self.name} shows zero-shot runs, and none is given; table 5 shows all styles"
            )
        if others:
            self.notes.append(f"{others} lines in other styles are left out; table 5 shows them.")
        self.lines = zero_shot

    def add_figure(self, line: ModelLine, row: Row | None) -> Cell:
        """A cell, with the row behind it kept and its losses remembered for the notes."""
        if row is None:
            return None
        row = self.rounding.round_row(row)
        self.rows.append(row)
        self._sizes.setdefault(line.label, set()).add(row.n)
        if row.errors or row.unparsed:
            label = f"{line.label}, {line.style}" if line.style else line.label
            lost = self._lost.setdefault((label, row.task), [0, 0])
            lost[0] += row.errors
            lost[1] += row.unparsed
        return row.value

    def add_variants(self, line: ModelLine, *variants: str) -> list[Cell]:
        """Multiple choice and free form side by side, variant by variant."""
        return [
            self.add_figure(line, line.summarise_facet(self.benchmark, task, "variant", variant))
            for variant in variants
            for task in TASKS
        ]

    def add_line(self, line: ModelLine, *cells: Cell) -> None:
        """One line of the table, unless it has no figure; a rule parts people from models."""
        if not any(isinstance(cell, int | float) for cell in cells):
            return
        if line.is_human and self.body and not self.rules:
            self.rules.append(len(self.body))
        self.body.append((line.label, *cells))

    def build(self, *columns: str, notes: Sequence[str] = ()) -> Table:
        """The finished table. Lines without a single figure are an error: the runs hold other samples."""
        if not self.rows:
            raise UsageError(f"None of these runs holds samples that table {self.name} shows")
        sizes = {size for line in self._sizes.values() for size in line}
        all_notes = [f"n per cell: {min(sizes)}" + (f" to {max(sizes)}" if len(sizes) > 1 else "") + "."]
        for (label, task), (errors, unparsed) in self._lost.items():
            all_notes.append(
                f"{label}, {task}: {errors} errors (not counted), {unparsed} unparsed (counted as wrong)."
            )
        for run, value in self._thresholds.items():
            all_notes.append(f"{run}: free-form answers are right from a similarity of {value:g} up.")
        if self.protocol == "paper" and any(line.is_human for line in self.lines):
            all_notes.append(
                "People's free-form figures are those of the paper: how often (similarity ≥ "
                "threshold) and (similarity > lower quartile) agree. The strict protocol gives their "
                "accuracy."
            )
        return Table(
            title=f"MIME {self.name}: {LAYOUTS[self.name]} (protocol {self.protocol})",
            columns=columns,
            body=tuple(self.body),
            rows=tuple(self.rows),
            notes=(*all_notes, *self.notes, *notes, self.rounding.note),
            rules=tuple(self.rules),
        )


def build_table(name: str, runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """One of the tables by its short name."""
    if name not in LAYOUTS:
        raise unknown_name_error("table of mime", name, LAYOUTS)
    if name == "failures":
        return failures.build_failure_table(f"MIME: {LAYOUTS[name]}", runs)
    return _BUILDERS[name](MimeTableBuilder(name, runs, protocol, benchmark))


def _pair_columns(names: Sequence[str]) -> list[str]:
    return [f"{name} {SHORT[task]}" for name in names for task in TASKS]


def _build_table_1(builder: MimeTableBuilder) -> Table:
    builder.keep_zero_shot()
    for line in builder.lines:
        builder.add_line(line, *builder.add_variants(line, SCENES[0], REAL))
    return builder.build("model", *_pair_columns(("MIME", "REAL")))


def _build_table_2(builder: MimeTableBuilder) -> Table:
    builder.keep_zero_shot()
    for line in builder.lines:
        builder.add_line(line, *builder.add_variants(line, *SCENES))
    return builder.build("model", *_pair_columns(_SCENE_NAMES))


def _build_table_3(builder: MimeTableBuilder) -> Table:
    for line in builder.lines:
        builder.add_line(line, line.style or None, *builder.add_variants(line, "woman+blank@0"))
    return builder.build("model", "style", *_pair_columns(("woman blank",)))


def _build_table_5(builder: MimeTableBuilder) -> Table:
    for line in builder.lines:
        builder.add_line(line, line.style or None, *builder.add_variants(line, *SCENES))
    return builder.build("model", "style", *_pair_columns(_SCENE_NAMES))


def _build_table_4(builder: MimeTableBuilder) -> Table:
    builder.keep_zero_shot()
    for task in TASKS:
        for line in builder.lines:
            rows = [
                line.summarise_facet(builder.benchmark, task, "variant", variant)
                for variant in _ANGLES.values()
            ]
            present = [row for row in rows if row is not None]
            if not present:
                continue
            cells = [builder.add_figure(line, row) for row in rows]
            values = [row.value for row in present if row.value is not None]
            # Over an incomplete circle the mean would be another quantity under the same name.
            complete = len(values) == len(_ANGLES)
            mean = math.fsum(values) / len(values) if complete else None
            spread = (
                math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
                if mean is not None
                else None
            )
            for metric, value in (("mean over angles", mean), ("standard deviation over angles", spread)):
                builder.rows.append(
                    msgspec.structs.replace(
                        builder.rounding.round_row(msgspec.structs.replace(present[0], value=value)),
                        metric=metric,
                        group={},
                        n=sum(row.n for row in present),
                        errors=sum(row.errors for row in present),
                        unparsed=sum(row.unparsed for row in present),
                        interval=None,
                        interval_method="",
                    )
                )
            builder.body.append(
                (
                    line.label,
                    SHORT[task],
                    *cells,
                    builder.rounding.round_value(mean),
                    builder.rounding.round_value(spread),
                )
            )
        if task == TASKS[0]:
            builder.rules.append(len(builder.body))
    return builder.build(
        "model", "task", *_ANGLES, "avg", "std", notes=("std: of the four figures, divided by n.",)
    )


def _build_table_6(builder: MimeTableBuilder) -> Table:
    for line in builder.lines:
        tests: list[Cell] = []
        for actor in _ACTORS:
            cells: list[Cell] = []
            for task in TASKS:
                row = line.summarise_facet(builder.benchmark, task, "actor", actor)
                value = builder.add_figure(line, row)
                correct = (
                    round(row.value * row.n / 100) if row is not None and row.value is not None else None
                )
                cells += [row.n if row is not None else None, correct, value]
            builder.add_line(line, line.style or None, actor, *cells)
        for task in TASKS:
            tests += [None, None, _add_test(builder, line, task)]
        if any(tests):
            builder.body.append((line.label, line.style or None, f"{_ACTORS[0]} − {_ACTORS[1]}", *tests))
    kind = (
        "Student's t from variances divided by n, as published"
        if builder.protocol == "paper"
        else "Welch's t; answers to one action are not independent, so the true p is larger"
    )
    columns = [f"{SHORT[task]} {column}" for task in TASKS for column in ("n", "right", "%")]
    return builder.build("model", "style", "actor", *columns, notes=(f"Test: {kind}.",))


def _add_test(builder: MimeTableBuilder, line: ModelLine, task: str) -> str | None:
    """The test as a cell, and its two figures as rows."""
    groups = [_list_values(builder, line, task, has_facet("actor", actor)) for actor in _ACTORS]
    if not all(groups):
        return None
    test = ttest.pooled_t_test(*groups) if builder.protocol == "paper" else ttest.welch_t_test(*groups)
    part = next(part for part in line.parts if part.task == task)
    for metric, value in (("t", test.t), ("p", test.p)):
        builder.rows.append(
            Row(
                run=part.run,
                benchmark="mime",
                task=task,
                group={"actor": " − ".join(_ACTORS)},
                metric=metric,
                value=value,
                n=sum(map(len, groups)),
                model=line.model,
                style=line.style,
                protocol=builder.protocol,
            )
        )
    return "no spread" if test.t is None else f"t {test.t:.4f}, p {test.p:.5f}"


def _list_values(
    builder: MimeTableBuilder, line: ModelLine, task: str, keep: Callable[[ScoredItem], bool]
) -> list[float]:
    """What each item counts as in a mean."""
    unparsed = builder.benchmark.unparsed_value
    values = [
        unparsed if score.status == "unparsed" else score.value for _, _, score in line.list_items(task, keep)
    ]
    return [value for value in values if value is not None]


def _build_annotators_table(builder: MimeTableBuilder) -> Table:
    builder.lines = [line for line in builder.lines if line.is_human]
    if not builder.lines:
        raise UsageError("The table of annotators needs a run of the model 'human'")
    for line in builder.lines:
        sources = dict.fromkeys(
            record.source for part in line.parts for _, record, _ in part.rows if record is not None
        )
        groups: list[tuple[str, dict[str, str], Callable[[ScoredItem], bool]]] = [
            (source, {"annotator": source}, _is_from(source)) for source in sources
        ]
        for data in ("MIME", "REAL"):
            groups.append((f"first videos, {data}", {"dataset": data, "place": "first"}, _is_first(data)))
            groups.append((f"all, {data}", {"dataset": data}, has_facet("dataset", data)))
        builder.rules.append(len(builder.body) + len(sources))
        for label, group, keep in groups:
            rows = [line.summarise_items(builder.benchmark, task, group, keep) for task in TASKS]
            if any(rows):
                n = max(row.n for row in rows if row is not None)
                builder.body.append((label, n, *(builder.add_figure(line, row) for row in rows)))
    return builder.build("annotator", "n", "MC", "FF")


def _is_from(source: str) -> Callable[[ScoredItem], bool]:
    return lambda item: item[1] is not None and item[1].source == source


def _is_first(dataset: str) -> Callable[[ScoredItem], bool]:
    """The first video that a person saw: nothing can have been learnt from others yet."""

    def keep(item: ScoredItem) -> bool:
        sample, record, _ = item
        position = record.extra.get("human", {}).get("place") if record is not None else None
        return sample.facets.get("dataset") == dataset and position == 0

    return keep


_BUILDERS: Mapping[str, Callable[[MimeTableBuilder], Table]] = {
    "1": _build_table_1,
    "2": _build_table_2,
    "3": _build_table_3,
    "4": _build_table_4,
    "5": _build_table_5,
    "6": _build_table_6,
    "annotators": _build_annotators_table,
}
