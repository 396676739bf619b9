"""MileBench through the engine: grids, windows, faults, and the way back out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.milebench_kit import make_item, write_dataset
from vivant.benchmarks.milebench import MileBench
from vivant.core.table import to_text
from vivant.engine.evaluation import evaluate
from vivant.runs.overview import build_layout
from vivant.runs.run import Run

MODEL = '''
class Counter:
    """Says how many pictures it was shown."""

    def generate(self, prompts, media):
        return [str(len(shown)) for shown in media]
'''


@pytest.fixture
def model(tmp_path: Path) -> str:
    file = tmp_path / "counter.py"
    file.write_text(MODEL)
    return f"{file}:Counter"


def count_statuses(run: Run) -> dict[str, str]:
    return {record.id: record.reply.text or record.reply.error for record in run.records().values()}


def test_a_whole_run_on_the_mini(tmp_path: Path) -> None:
    run = evaluate("milebench", "random", data=("mini",), out=str(tmp_path / "run"))
    parts = run.scores()
    assert sum(len(part.rows) for part in parts) == 230
    for name in MileBench.tables.layouts:
        text = to_text(build_layout(f"milebench:{name}", [run], "paper"))
        assert "random" in text
    for part in parts:
        MileBench().native.export([part], "milebench", tmp_path / "out")
    results = json.loads((tmp_path / "out" / "result.json").read_text())
    assert len([d for half in results["random"].values() for d in half.values() if d]) == 13


def test_pictures_are_shown_one_by_one_in_grids_or_as_far_as_they_fit(tmp_path: Path, model: str) -> None:
    settings: dict[str, dict[str, int]] = {
        "6": {},
        "1": {"combine": 1},
        "2": {"combine": 2},
        "3": {"max-context-len": 380, "tokens-per-image": 100},
    }
    for expected, options in settings.items():
        run = evaluate(
            "milebench/nuscenes", model, data=("mini",), out=tmp_path / expected, task_options=options
        )
        assert set(count_statuses(run).values()) == {expected}
        lost = {record.lost_images for record in run.records().values()}
        assert lost == ({3} if "max-context-len" in options else {0})


def test_bad_samples_are_errors_with_a_reason_and_never_wrong_answers(tmp_path: Path, model: str) -> None:
    choices = ["1", "2"]
    file = write_dataset(
        tmp_path / "data",
        "TQA",
        [
            make_item(0, "{image#1}", ["a.png"], "1", choices),
            make_item(1, "{image#1} {image#2}", ["a.png"], "1", choices),
            make_item(2, "{image#1}", ["gone.png"], "1", choices),
            make_item(3, "{image#1}", ["a.png"], "7", choices),
        ],
    )
    (file.parent / "images" / "gone.png").unlink()
    run = evaluate("milebench/TQA", model, data=(str(tmp_path / "data"),), out=str(tmp_path / "run"))
    counted = count_statuses(run)
    assert "{image#2} is missing" in counted["1"]
    assert "gone.png is missing" in counted["2"]
    (part,) = run.scores()
    status = {sample.id: (score.status, score.value) for sample, _, score in part.rows}
    assert status == {
        "0": ("scored", 1.0),
        "1": ("missing", None),
        "2": ("missing", None),
        "3": ("missing", None),
    }
