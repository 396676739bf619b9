"""The matrix of scores: lines by model and way of asking, columns by task, baselines apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.runs_kit import TASK, answer, make_run, quiz
from tests.support.view_kit import write_run
from vivant import mini
from vivant.benchmarks import registry
from vivant.core.records import Record
from vivant.core.table import Row
from vivant.core.types import Control, Reply
from vivant.reporting.html.report_data import gather_report_data
from vivant.reporting.score_matrix import (
    MatrixEntry,
    RunRows,
    ScoreMatrix,
    build_matrix,
    classify_model,
)
from vivant.runs.run import Run

SAMPLES = quiz(20)


def _run(path: Path, right: int, model: str = "m", control: Control = "none", **settings: Any) -> Run:
    records = [answer(sample, 0 if index < right else 1) for index, sample in enumerate(SAMPLES)]
    return make_run(path, SAMPLES, records, model=model, control=control, **settings)


def _row(task: str, value: float, model: str, source: str = "measured", metric: str = "accuracy") -> Row:
    return Row(
        run=model,
        benchmark=task.partition("/")[0],
        task=task,
        group={},
        metric=metric,
        value=value,
        n=50,
        chance=25.0 if source == "measured" else None,
        model=model,
        source=source,
    )


def _gather(runs: Sequence[Run]) -> ScoreMatrix:
    """The matrix as a report has it."""
    return gather_report_data(runs, None).matrix


def _names(matrix: ScoreMatrix) -> list[str]:
    return [entry.name for entry in matrix.entries]


def _entry(matrix: ScoreMatrix, name: str) -> MatrixEntry:
    return next(entry for entry in matrix.entries if entry.name == name)


def test_a_cell_has_all_that_a_reader_needs_to_judge_it(tmp_path: Path) -> None:
    records: list[Record] = [answer(sample, 0) for sample in SAMPLES[:12]]
    records += [answer(sample, None) for sample in SAMPLES[12:15]]
    failed = answer(SAMPLES[15], 0)
    records.append(Record(key=failed.key, task=TASK, id=failed.id, reply=Reply(status="error", error="503")))
    matrix = _gather([make_run(tmp_path / "r", SAMPLES, records, model="m")])
    (entry,) = matrix.entries
    cell = entry.cells[TASK]
    # Unparsed replies count as wrong; samples without a reply do not count.
    assert cell.value == 100 * 12 / 15
    assert (cell.n, cell.errors, cell.unparsed, cell.truncated) == (15, 5, 3, 0)
    assert cell.interval is not None and cell.interval[0] < cell.value < cell.interval[1]
    (task,) = matrix.tasks
    assert (task.chance, task.metric, task.human) == (25.0, "accuracy", None)
    assert entry.runs == {TASK: "r"}


def test_baselines_people_and_controls_never_lead(tmp_path: Path) -> None:
    matrix = _gather(
        [
            _run(tmp_path / "a", 10, "good"),
            _run(tmp_path / "b", 20, "random"),
            _run(tmp_path / "c", 20, "human"),
            _run(tmp_path / "d", 20, "good", control="blind"),
            _run(tmp_path / "e", 8, "poor"),
        ]
    )
    assert _names(matrix) == ["good", "good · blind", "poor", "random", "human"]
    assert [entry.kind for entry in matrix.entries] == ["model", "model", "model", "baseline", "human"]
    assert [entry.name for entry in matrix.rank(TASK)] == ["good", "poor"]
    assert matrix.dimensions == {"control": ("blind", "none")}
    human = matrix.tasks[0].human
    assert human is not None and human.value == 100.0


def test_lines_of_one_model_are_told_apart_by_what_differs(tmp_path: Path) -> None:
    matrix = _gather(
        [
            _run(tmp_path / "a", 10, frames={"count": 4}, seed=7),
            _run(tmp_path / "b", 10, frames={"count": 16}, seed=7),
            _run(tmp_path / "c", 10, frames={"count": 16}, seed=7),
        ]
    )
    assert _names(matrix) == ["m · 4 frames", "m · 16 frames · b", "m · 16 frames · c"]
    assert matrix.dimensions == {"frames": ("4 frames", "16 frames")}


def test_runs_on_different_tasks_asked_alike_share_a_line(tmp_path: Path) -> None:
    first = _run(tmp_path / "a", 10)
    scored = [
        RunRows(manifest=first.manifest, rows=[_row("mime/mcq", 40.0, "m")], key="a"),
        RunRows(manifest=first.manifest, rows=[_row("mmrv/all", 50.0, "m")], key="b"),
        RunRows(manifest=first.manifest, rows=[_row("mmrv/all", 60.0, "m")], key="c"),
    ]
    matrix = build_matrix(scored)
    assert [dict(entry.runs) for entry in matrix.entries] == [
        {"mime/mcq": "a", "mmrv/all": "b"},
        {"mmrv/all": "c"},
    ]
    assert [benchmark.name for benchmark in matrix.benchmarks] == ["mmrv", "mime"]


def test_published_figures_stand_at_the_task_and_people_are_its_line(tmp_path: Path) -> None:
    run = _run(tmp_path / "a", 10)
    task = "mmrv/all"
    figures = [
        _row(task, 30.0, "Random", "paper"),
        _row(task, 86.0, "Human", "paper"),
        _row(task, 52.5, "GPT-4o", "paper"),
        _row("mime/mcq", 99.0, "Human", "paper"),
    ]
    matrix = build_matrix([RunRows(manifest=run.manifest, rows=[_row(task, 40.0, "m")])], figures)
    (column,) = matrix.tasks
    assert [row.model for row in column.published] == ["Human", "GPT-4o", "Random"]
    assert column.human is not None and column.human.value == 86.0
    other = [_row(task, 4.0, "Human", "paper", metric="realism")]
    (column,) = build_matrix([RunRows(manifest=run.manifest, rows=[_row(task, 40.0, "m")])], other).tasks
    assert column.human is None, "a figure of another metric is no line in this column"


def test_models_are_known_by_their_names() -> None:
    kinds: Sequence[tuple[str, str]] = [
        ("random", "baseline"),
        ("Random", "baseline"),
        ("blind", "baseline"),
        ("echo/yes", "baseline"),
        ("human", "human"),
        ("Human", "human"),
        ("human comments", "human"),
        ("vivant/tiny", "model"),
        ("random-forest", "model"),
        ("humanoid-7b", "model"),
    ]
    assert {name: classify_model(name) for name, _ in kinds} == dict(kinds)


def test_a_run_without_its_judge_is_named_not_dropped(tmp_path: Path) -> None:
    good = _run(tmp_path / "a", 10)
    task = "mmie/" + registry.get("mmie").tasks[0].name
    sample = registry.get("mmie").load(_mini("mmie"), task)[0]
    judged = write_run(tmp_path / "judged", [sample], [], model="m")
    data = gather_report_data([good, judged], None)
    (reason,) = data.unscored
    assert str(judged.dir.path) in reason and "--judge" in reason
    assert len(data.matrix.entries) == 1


def _mini(name: str) -> Path:
    root = mini.root(name)
    assert root is not None
    return root
