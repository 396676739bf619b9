"""Checkpoints are evaluated as they appear, once, and their scores make a curve that TensorBoard reads."""

from __future__ import annotations

import csv
import shutil
import threading
import time
from pathlib import Path

import pytest

from tests.support.helpers import questions, vivant
from vivant import mini
from vivant.bridges.trackers import find_step, make_point, write_tensorboard
from vivant.bridges.watching import fill_checkpoint, list_checkpoints, watch
from vivant.core.errors import DataError
from vivant.engine.option_parsing import make_options
from vivant.runs.run import Run

MODEL = '''
from pathlib import Path


class Learner:
    """Answers as its checkpoint says: right for so many questions."""

    def __init__(self, folder=""):
        self.right = int((Path(folder) / "weights.txt").read_text())

    def generate(self, prompts, media):
        replies = []
        for prompt in prompts:
            number = int(prompt.partition("number ")[2].partition("?")[0])
            lines = [line for line in prompt.splitlines() if line.endswith("right") or line.endswith(" wrong")]
            wanted = "right" if number < self.right else " wrong"
            replies.append(next(line for line in lines if line.endswith(wanted))[0])
        return replies
'''


def _checkpoint(folder: Path, step: int, right: int) -> None:
    path = folder / f"checkpoint-{step}"
    path.mkdir(parents=True)
    (path / "weights.txt").write_text(str(right))
    (path / "config.json").write_text("{}")


@pytest.fixture
def training(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    questions(tmp_path, 10, pictures=False)
    _checkpoint(tmp_path / "checkpoints", 100, 2)
    _checkpoint(tmp_path / "checkpoints", 20, 1)
    return tmp_path


COMMAND = ("--model", "./model.py:Learner", "--model-option", "folder={}")


def test_each_checkpoint_has_a_run_and_a_point_on_the_curve(training: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    command = ("watch", "checkpoints", "mine.jsonl", *COMMAND, "--once", "--tensorboard", "curves")
    result = vivant(*command, cwd=training)
    assert result.returncode == 0, result.stderr
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == ["step 20", "step 100"]
    folder = training / "runs" / "watch-checkpoints"
    with (folder / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["step"], float(row["jsonl/mine/accuracy"])) for row in rows] == [("20", 10.0), ("100", 20.0)]
    assert (folder / "curve.svg").read_text().startswith("<?xml")
    events = EventAccumulator(str(training / "curves"))
    events.Reload()
    assert [(e.step, e.value) for e in events.Scalars("jsonl/mine/accuracy")] == [(20, 10.0), (100, 20.0)]
    _checkpoint(training / "checkpoints", 300, 7)
    again = vivant(*command, cwd=training)  # what is there is reused, and drawn with the new one
    assert "step 300: jsonl/mine/accuracy 70.0" in again.stdout
    events.Reload()  # TensorBoard has each point once
    values = [(20, 10.0), (100, 20.0), (300, 70.0)]
    assert [(e.step, e.value) for e in events.Scalars("jsonl/mine/accuracy")] == values
    assert (folder / "curve.csv").read_text().count("\n") == 4


ECHO = """
class Echo:
    def __init__(self, folder=""):
        self.folder = folder

    def generate(self, prompts, media):
        return ["A" for _ in prompts]
"""


def test_a_recipe_says_how_checkpoints_are_asked(training: Path) -> None:
    (training / "echo.py").write_text(ECHO)
    command = ["watch", "checkpoints", "mime/mcq", "--data", "mini", "--limit", "1", "--once"]
    command += ["--recipe", "paper/gpt-4o-mini"]
    own = vivant(*command, "--model", "./echo.py:Echo", "--model-option", "folder={}", cwd=training)
    assert own.returncode == 0, own.stderr
    for name in ("checkpoint-20", "checkpoint-100"):
        manifest = Run(training / "runs" / "watch-checkpoints" / name).manifest
        assert manifest.model == "echo:Echo"
        assert manifest.recipe == "paper/gpt-4o-mini"
        assert manifest.settings.decoding.max_tokens == 200


def test_the_checkpoint_is_asked_and_not_the_model_of_the_recipe(tmp_path: Path) -> None:
    _checkpoint(tmp_path, 20, 1)
    options = make_options(selectors=("mime",), model="{}", recipe="paper/gpt-4o-mini")
    filled = fill_checkpoint(options, list_checkpoints(tmp_path)[0], tmp_path / "out")
    assert filled.model == f"transformers/{tmp_path / 'checkpoint-20'}"
    assert filled.every == 30  # as the recipe says
    assert not filled.model_options  # those of the recipe are another backend's


def test_an_exported_model_is_asked_through_onnx(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint-7"
    shutil.copytree(Path(mini.__file__).parent / "tiny", checkpoint)
    (found,) = list_checkpoints(tmp_path)
    options = make_options(selectors=("mime",), model="{}")
    assert fill_checkpoint(options, found, tmp_path / "out").model == f"onnx/{checkpoint}"


def test_a_checkpoint_that_appears_is_evaluated_when_its_files_have_settled(
    training: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(training)
    options = make_options(
        selectors=("mine.jsonl",), model="./model.py:Learner", model_options={"folder": "{}"}
    )
    seen: list[int] = []

    class Enough(Exception):  # noqa: N818 (ends the watch, and is no error)
        pass

    def report(point: object) -> None:
        seen.append(point.step)  # type: ignore[attr-defined]
        if seen == [20, 100]:
            threading.Thread(target=_write_slowly, args=(training / "checkpoints",)).start()
        if 500 in seen:
            raise Enough

    with pytest.raises(Enough):
        watch(training / "checkpoints", options, training / "out", interval=0.2, report=report)
    assert seen == [20, 100, 500]
    assert Run(training / "out" / "checkpoint-500").table().rows[0].value == 90.0


def _write_slowly(folder: Path) -> None:
    path = folder / "checkpoint-500"
    path.mkdir()
    (path / "config.json").write_text("{}")
    for size in range(6):  # still growing at every look
        (path / "other.bin").write_bytes(bytes(size * 1000))
        time.sleep(0.1)
    (path / "weights.txt").write_text("9")


def test_a_broken_checkpoint_is_named_and_the_others_go_on(training: Path) -> None:
    (training / "checkpoints" / "checkpoint-20" / "weights.txt").unlink()
    result = vivant("watch", "checkpoints", "mine.jsonl", *COMMAND, "--once", cwd=training)
    assert "step 100" in result.stdout
    assert "checkpoint-20" in result.stderr


def test_a_checkpoint_without_a_step_is_not_the_first_of_the_curve(training: Path) -> None:
    _checkpoint(training / "checkpoints", 300, 7)
    (training / "checkpoints" / "checkpoint-300").rename(training / "checkpoints" / "final")
    result = vivant("watch", "checkpoints", "mine.jsonl", *COMMAND, "--once", cwd=training)
    assert result.returncode == 0, result.stderr
    assert "final: jsonl/mine/accuracy 70.0" in result.stderr
    folder = training / "runs" / "watch-checkpoints"
    with (folder / "curve.csv").open() as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["20", "100"]
    assert (folder / "final" / "log.jsonl").is_file()


def test_a_folder_without_checkpoints_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is no folder"):
        list_checkpoints(tmp_path / "none")
    questions(tmp_path, 2, pictures=False)
    (tmp_path / "empty").mkdir()
    result = vivant("watch", "empty", "mine.jsonl", "--model", "random", "--once", cwd=tmp_path)
    assert result.returncode == 1
    assert "holds no checkpoint" in result.stderr


def test_mistakes_in_the_questions_are_found_before_a_checkpoint_is_there(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "mine.jsonl").write_text('{"qestion": "What?"}')
    for benchmark, reason in (
        ("mimee", "did you mean 'mime'?"),
        ("mine.jsonl", "line 1: the field `qestion` is unknown"),
    ):
        result = vivant("watch", "empty", benchmark, cwd=tmp_path)  # without --once it would wait
        assert result.returncode == 1
        assert reason in result.stderr


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("mimic-chat/out/checkpoint-500", 500),
        ("transformers/step_00012000", 12000),
        ("openai/gpt", None),
        ("a/7b/final", None),
    ],
)
def test_the_step_is_the_last_number_of_the_last_part(name: str, step: int | None) -> None:
    assert find_step(name) == step


def test_a_point_holds_score_and_interval(training: Path) -> None:
    result = vivant("run", "mine.jsonl", "--model", "random", "--out", "r", cwd=training)
    assert result.returncode == 0, result.stderr
    point = make_point(Run(training / "r"), 7)
    assert point.step == 7
    value, low = point.values["jsonl/mine/accuracy"], point.values["jsonl/mine/accuracy_low"]
    assert low <= value <= point.values["jsonl/mine/accuracy_high"]
    write_tensorboard([point], str(training / "tb"))
