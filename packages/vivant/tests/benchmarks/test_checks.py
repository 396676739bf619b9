"""`vivant benchmarks check` takes whatever `vivant run` takes as a file, and shows ten of its questions."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.support.helpers import picture, questions, vivant

PLUGIN = """
from vivant.benchmarks.base import TaskInfo
from vivant.benchmarks.multiple_choice import MultipleChoice, make_options
from vivant.core.types import Image, Sample, Text


class Own(MultipleChoice):
    name = "own"
    title = "Own"
    tasks = (TaskInfo(name="mcq", title="Choice"),)

    def load(self, root, task):
        return [
            Sample(
                id=f"q{number}",
                task=task,
                question=(Image("p.png"), Text(f"Which one, number {number}?")),
                options=make_options(["wrong", "right"]),
                key=1,
            )
            for number in range(12)
        ]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    questions(tmp_path, 12)
    picture(tmp_path / "p.png")
    (tmp_path / "own.py").write_text(PLUGIN)
    data = base64.b64encode((tmp_path / "p.png").read_bytes()).decode()
    rows = [f"{n}\t{data}\tWhich one, number {n}?\twrong\tright\tB" for n in range(12)]
    (tmp_path / "Mine.tsv").write_text("\n".join(("index\timage\tquestion\tA\tB\tanswer", *rows)) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "task"),
    [("./mine.jsonl", "jsonl/mine"), ("./Mine.tsv", "vlmevalkit-tsv/Mine"), ("./own.py", "own/mcq")],
)
def test_ten_questions_of_any_file_are_shown(folder: Path, file: str, task: str) -> None:
    done = vivant("benchmarks", "check", file, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{task}: 12 questions\n")
    assert done.stdout.count("Which one, number") == 10
    assert done.stdout.count(". right") == done.stdout.count("* ") == 10
    assert f"Next: vivant run {file}" in done.stderr


def test_options_of_a_run_hold_for_the_check_and_are_repeated(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "p.png").rename(folder / "elsewhere" / "p.png")
    text = PLUGIN.replace("for number in range(12)", 'for number in range(int(self.options["count"]))')
    text = text.replace(
        "    tasks =",
        '    styles = ("zero-shot", "cot")\n'
        '    task_options = (TaskOption(name="count", default=12, kind="int", help="Questions."),)\n    tasks =',
    )
    (folder / "own.py").write_text("from vivant.benchmarks.task_options import TaskOption\n" + text)
    options = ("--data", "elsewhere", "--style", "cot", "--task-option", "count=3")
    done = vivant("benchmarks", "check", "./own.py", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("own/mcq: 3 questions\n")
    assert f"Next: vivant run ./own.py {' '.join(options)} --model random" in done.stderr
    for wrong, reason in ((("--style", "cott"), "did you mean"), (("--task-option", "cuont=3"), "count")):
        done = vivant("benchmarks", "check", "./own.py", *options, *wrong, cwd=folder)
        assert done.returncode != 0
        assert done.stderr.count("\n") == 1 and reason in done.stderr


def test_mistakes_in_any_file_are_named(folder: Path) -> None:
    lines = (folder / "mine.jsonl").read_text().splitlines()
    (folder / "mine.jsonl").write_text("\n".join((lines[0], lines[1].replace("question", "qestion"))))
    done = vivant("benchmarks", "check", "./mine.jsonl", cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("vivant: mine.jsonl, line 2: ")
    assert done.stderr.count("\n") == 1
    (folder / "p.png").unlink()
    done = vivant("benchmarks", "check", "./own.py", cwd=folder)
    assert done.returncode == 1
    assert "own/mcq: 1 of 1 media files are missing" in done.stdout
