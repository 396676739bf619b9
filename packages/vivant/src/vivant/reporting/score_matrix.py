"""Scores as a matrix: a line per model and way of asking, a column per task.

The viewer's home page, the report and the leaderboard show the same matrix. `build_matrix` computes it from rows that
were measured already. Baselines and people are lines of their own kind, so that no page presents a guesser as a leader.
Published figures and people's scores belong to the task, beside what was measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from vivant.benchmarks import registry
from vivant.benchmarks.summary import natural_sort_key
from vivant.core.errors import VivantError
from vivant.core.table import Row
from vivant.core.types import FramePolicy
from vivant.models.registry import is_baseline
from vivant.runs.directory import Manifest

EntryKind = Literal["model", "baseline", "human"]
DIMENSIONS = ("style", "control", "frames", "recipe", "settings")
"""How runs of one model may differ. `settings` holds all that has no dimension of its own."""


class RunRows(Struct, frozen=True, kw_only=True):
    """A run and its rows, one per task, each for the whole task."""

    manifest: Manifest
    rows: Sequence[Row]
    key: str = ""
    """What tells it from every other run; default: the run's name."""


class MatrixEntry(Struct, frozen=True, kw_only=True):
    """One line: a model, asked in one way. Runs on different tasks that were asked alike share a line."""

    name: str
    """The model, with what tells this line from other lines of the same model."""
    model: str
    kind: EntryKind
    dimensions: Mapping[str, str]
    """A value for each of DIMENSIONS; empty where there is none."""
    runs: Mapping[str, str]
    """By task, the key of the run that its cell comes from."""
    cells: Mapping[str, Row]
    """By task. A task that the line lacks was not asked."""

    @property
    def way(self) -> str:
        """What `name` adds to the model."""
        return self.name[len(self.model) :].removeprefix(" · ")

    @property
    def is_contestant(self) -> bool:
        """Whether it may lead: a model that was shown everything, not a baseline, people or a control."""
        return self.kind == "model" and self.dimensions["control"] == "none"


class MatrixTask(Struct, frozen=True, kw_only=True):
    """One column."""

    task: str
    title: str
    metric: str
    scale: float
    """The highest value, as cells print it."""
    judged: bool = False
    chance: float | None = None
    """What guessing scores, on the samples of the line that has most of them."""
    human: Row | None = None
    """What people score: measured here, else published for the edition that was asked."""
    published: tuple[Row, ...] = ()
    """The papers' figures for the whole task, best first, people and baselines among them."""


class MatrixBenchmark(Struct, frozen=True, kw_only=True):
    """The columns of one benchmark."""

    name: str
    title: str
    tasks: tuple[MatrixTask, ...]


class ScoreMatrix(Struct, frozen=True, kw_only=True):
    """Lines and columns."""

    entries: tuple[MatrixEntry, ...]
    """Models first, then baselines, then people; in each kind by name."""
    benchmarks: tuple[MatrixBenchmark, ...]
    dimensions: Mapping[str, tuple[str, ...]]
    """The dimensions in which lines differ, with their values."""

    @property
    def tasks(self) -> tuple[MatrixTask, ...]:
        """All columns."""
        return tuple(task for benchmark in self.benchmarks for task in benchmark.tasks)

    def rank(self, task: str) -> list[MatrixEntry]:
        """The contestants that have a score on a task, best first."""
        scored = [
            (cell.value, entry)
            for entry in self.entries
            if entry.is_contestant and (cell := entry.cells.get(task)) and cell.value is not None
        ]
        return [entry for _, entry in sorted(scored, key=lambda pair: -pair[0])]


def classify_model(model: str) -> EntryKind:
    """What a name in a table stands for: `human`, `random`, or a model."""
    if model.casefold().split(" ")[0] == "human":
        return "human"
    return "baseline" if is_baseline(model) else "model"


def build_matrix(
    scored: Sequence[RunRows],
    published: Sequence[Row] = (),
    *,
    other_editions: Collection[str] = (),
) -> ScoreMatrix:
    """Lay out rows that were measured and rows that were published.

    Args:
        scored: The runs with their rows.
        published: Figures of papers for whole tasks.
        other_editions: Benchmarks whose figures are of another edition than a run's: no reference for its scores.
    """
    lines = _merge_runs(scored)
    entries = [_name_entry(entry, lines) for entry in lines]
    kinds: tuple[EntryKind, ...] = ("model", "baseline", "human")
    entries.sort(key=lambda entry: (kinds.index(entry.kind), natural_sort_key(entry.name)))
    tasks = dict.fromkeys(row.task for each in scored for row in each.rows)
    benchmarks = _sort_benchmarks(entries)
    return ScoreMatrix(
        entries=tuple(entries),
        benchmarks=tuple(
            _build_benchmark(
                name, _sort_tasks(name, tasks), entries, published, reference=name not in other_editions
            )
            for name in benchmarks
        ),
        dimensions=_list_dimensions(entries),
    )


def describe_dimensions(manifest: Manifest) -> dict[str, str]:
    """How a run was asked, a value for each of DIMENSIONS."""
    settings = manifest.settings
    frames = describe_frames(settings.frames)
    own = {settings.control, frames, f"at most {settings.frames.cap} frames"}
    return {
        "style": manifest.style,
        "control": settings.control,
        "frames": frames,
        "recipe": manifest.recipe,
        "settings": ", ".join(word for word in settings.list_distinctions() if word not in own),
    }


def describe_frames(frames: FramePolicy) -> str:
    """Which frames of a video were shown: `8 frames`, `1 fps, at most 32`."""
    text = {
        "count": f"{frames.count} frames",
        "fps": f"{frames.fps:g} fps",
        "every": f"every {frames.every} frames",
        "all": "all frames",
    }[frames.select]
    return f"{text}, at most {frames.cap}" if frames.cap else text


def _merge_runs(scored: Iterable[RunRows]) -> list[MatrixEntry]:
    """One entry per model and way of asking. Where two runs were asked alike on one task, each has its own."""
    lines: dict[tuple[str, ...], list[MatrixEntry]] = {}
    for each in scored:
        manifest = each.manifest
        dimensions = describe_dimensions(manifest)
        run = each.key or manifest.run
        cells = {row.task: row for row in each.rows}
        # Benchmarks name their usual style differently; asked in the usual style is asked alike.
        usual = all(manifest.style == _usual_style(task) for task in manifest.tasks)
        way = (
            manifest.model,
            "" if usual else manifest.style,
            *(dimensions[name] for name in DIMENSIONS[1:]),
        )
        alike = lines.setdefault(way, [])
        index = next((i for i, line in enumerate(alike) if not line.cells.keys() & cells.keys()), None)
        runs = dict.fromkeys(cells, run)
        if index is None:
            alike.append(
                MatrixEntry(
                    name=manifest.run,
                    model=manifest.model,
                    kind=classify_model(manifest.model),
                    dimensions=dimensions,
                    runs=runs,
                    cells=cells,
                )
            )
        else:
            line = alike[index]
            styles = dict.fromkeys((*line.dimensions["style"].split(", "), dimensions["style"]))
            alike[index] = replace(
                line,
                dimensions={**line.dimensions, "style": ", ".join(styles)},
                runs={**line.runs, **runs},
                cells={**line.cells, **cells},
            )
    return [entry for entries in lines.values() for entry in entries]


def _usual_style(task: str) -> str:
    try:
        return registry.get_by_task(task).styles[0]
    except VivantError:  # a benchmark that is not installed here
        return ""


def _name_entry(entry: MatrixEntry, entries: Sequence[MatrixEntry]) -> MatrixEntry:
    """The entry under the shortest name that no other has; at worst with the run's own name."""
    rivals = [
        _drop_usual_style(other) for other in entries if other.model == entry.model and other is not entry
    ]
    own = _drop_usual_style(entry)
    words = [
        value
        for name in DIMENSIONS
        if (value := own[name])
        and (value != "none" if name == "control" else any(other[name] != value for other in rivals))
    ]
    if own in rivals:
        words.append(entry.name)
    return replace(entry, name=" · ".join((entry.model, *words)))


def _drop_usual_style(entry: MatrixEntry) -> Mapping[str, str]:
    """How a line was asked. The usual style has no name: benchmarks call it differently."""
    usual = {_usual_style(task) for task in entry.cells}
    is_usual = usual.issuperset(entry.dimensions["style"].split(", "))
    return {**entry.dimensions, "style": "" if is_usual else entry.dimensions["style"]}


def _list_dimensions(entries: Sequence[MatrixEntry]) -> dict[str, tuple[str, ...]]:
    values = {
        name: tuple(sorted({entry.dimensions[name] for entry in entries}, key=natural_sort_key))
        for name in DIMENSIONS
    }
    return {name: different for name, different in values.items() if len(different) > 1}


def _sort_benchmarks(entries: Sequence[MatrixEntry]) -> list[str]:
    """Those that most lines were asked first, then those with fewer tasks: so that a screen shows most scores."""
    lines = Counter(name for entry in entries for name in {task.partition("/")[0] for task in entry.cells})
    tasks = Counter(task.partition("/")[0] for task in {task for entry in entries for task in entry.cells})
    return sorted(lines, key=lambda name: (-lines[name], tasks[name], name))


def _sort_tasks(benchmark: str, tasks: Iterable[str]) -> list[str]:
    """A benchmark's tasks in its own order."""
    own = [task for task in tasks if task.partition("/")[0] == benchmark]
    try:
        order = {
            f"{benchmark}/{task.name}": index for index, task in enumerate(registry.get(benchmark).tasks)
        }
    except VivantError:
        order = {}
    return sorted(own, key=lambda task: (order.get(task, len(order)), natural_sort_key(task)))


def _build_benchmark(
    name: str,
    tasks: Sequence[str],
    entries: Sequence[MatrixEntry],
    published: Sequence[Row],
    *,
    reference: bool,
) -> MatrixBenchmark:
    try:
        title = registry.get(name).title
    except VivantError:
        title = name
    return MatrixBenchmark(
        name=name,
        title=title,
        tasks=tuple(_build_task(task, entries, published, reference=reference) for task in tasks),
    )


def _build_task(
    task: str, entries: Sequence[MatrixEntry], published: Sequence[Row], *, reference: bool
) -> MatrixTask:
    cells = [(entry, entry.cells[task]) for entry in entries if task in entry.cells]
    metric = next((cell.metric for _, cell in cells if cell.metric), "")
    known = [(cell.n, cell.chance) for _, cell in cells if cell.chance is not None]
    figures = sorted(
        (row for row in published if row.task == task), key=lambda row: -(row.value or float("-inf"))
    )
    people = [cell for entry, cell in cells if entry.kind == "human" and cell.value is not None]
    if reference:
        people += [row for row in figures if classify_model(row.model) == "human" and row.metric == metric]
    try:
        info = registry.get_by_task(task).task(task)
        title, scale, judged = info.title, info.scale, info.judged
    except VivantError:
        title, scale, judged = task.partition("/")[2], 100.0, False
    return MatrixTask(
        task=task,
        title=title,
        metric=metric,
        scale=scale,
        judged=judged,
        chance=max(known)[1] if known else None,
        human=people[0] if people else None,
        published=tuple(figures),
    )
