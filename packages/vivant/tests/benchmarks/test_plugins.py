"""What a plug-in gets wrong is one line before anything is sent; what is right runs end to end."""

from __future__ import annotations

import ast
import json
import os
import re
from pathlib import Path

import pytest

from tests.support.helpers import picture, vivant, vivant_process
from tests.support.media_kit import make_video
from vivant.api import load_run
from vivant.benchmarks import registry
from vivant.benchmarks.template import write_template
from vivant.core.errors import VivantError
from vivant.engine.evaluation import evaluate

RIGHT = '''
class Right:
    """Always names the option whose text is "right"."""

    async def generate(self, request):
        return next(option.name for option in request.options if option.text == "right")
'''
PLUGIN = """import json
from pathlib import Path

from vivant.benchmarks.base import Prompt, TaskInfo
from vivant.benchmarks.multiple_choice import MultipleChoice, make_options, user_message
from vivant.core.records import Score
from vivant.core.types import Image, Message, Option, Sample, Text


class Toy(MultipleChoice):
    name = "toy-bench"
    title = "Toy"
    tasks = (TaskInfo(name="mcq", title="Choice"),)

    def load(self, root, task):
        rows = json.loads((root / "toy.json").read_text())
        return [self.make(number, row, task) for number, row in enumerate(rows)]

    def make(self, number, row, task):
        return Sample(
            id=str(number),
            task=task,
            question=(Image(row["image"]), Text(f"Which, number {number}?")),
            options=make_options(["wrong", "right", "not right", "left"]),
            key=1,
        )
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    picture(tmp_path / "a.png")
    (tmp_path / "toy.json").write_text(json.dumps([{"image": "a.png"}] * 8))
    (tmp_path / "right.py").write_text(RIGHT)
    return tmp_path


def run(folder: Path, code: str, model: str = "first") -> float:
    """Evaluate a plug-in from a file and return the mean score."""
    (folder / "toy.py").write_text(code)
    scored = evaluate("./toy.py", model, out=str(folder / "run"))
    rows = scored.scores()[0].rows
    return sum(score.value or 0.0 for _, _, score in rows) / len(rows) * 100


def test_a_plugin_that_only_loads_scores_an_always_right_model_100(folder: Path) -> None:
    assert run(folder, PLUGIN, "./right.py:Right") == 100.0
    records = registry.get_by_task("toy-bench/mcq"), list((folder / "run").glob("scores/*.jsonl"))
    assert [path.name for path in records[1]] == ["strict.jsonl"]
    assert records[0].title == "Toy"


def test_a_changed_scorer_scores_a_run_again(folder: Path) -> None:
    assert run(folder, PLUGIN, "./right.py:Right") == 100.0
    (folder / "toy.py").write_text(method(NEVER))
    values = [score.value for _, _, score in load_run(folder / "run").scores()[0].rows]
    assert values == [0.0] * 8


def test_a_run_is_not_resumed_in_other_words(folder: Path) -> None:
    assert run(folder, method(WORDED), "first") == 0.0
    log = folder / "run" / "log.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:3]))
    kept = log.read_bytes()
    with pytest.raises(VivantError, match=r"asked 'toy-bench/mcq/\d' in other words.*choose another --out"):
        run(folder, method(WORDED.replace("Which?", "Which one?")), "first")
    assert log.read_bytes() == kept
    assert run(folder, method(WORDED), "first") == 0.0
    assert len(log.read_text().splitlines()) == 8


WORDED = """
def prompt(self, sample, context):
    lines = [f"{option.name}. {option.text}" for option in sample.options]
    return Prompt(messages=(user_message(sample.question, "Which?", *lines),), options=sample.options)
"""
NEVER = """
def score(self, items, settings):
    return [Score(key=record.key, task=record.task, id=record.id, value=0.0) for _, record in items]
"""


def method(code: str) -> str:
    """The plug-in with one more method."""
    return PLUGIN + "\n" + re.sub("^", "    ", code.strip(), flags=re.MULTILINE) + "\n"


SHUFFLED = """
def prompt(self, sample, context):
    order = context.order(sample)
    options = make_options([sample.options[index].text for index in order])
    lines = [f"{option.name}. {option.text}" for option in options]
    return Prompt(messages=(user_message(sample.question, *lines),), options=options)
"""
LOAD = "        return [self.make(number, row, task) for number, row in enumerate(rows)]"
MISTAKES = {
    "name": (PLUGIN.replace('    name = "toy-bench"\n', ""), "attribute `name` is missing"),
    "odd name": (PLUGIN.replace("toy-bench", "Toy/Bench"), "its name is 'Toy/Bench'"),
    "taken name": (PLUGIN.replace("toy-bench", "mime"), "the name 'mime' is taken"),
    "title": (PLUGIN.replace('title = "Toy"\n', "title = None\n"), "attribute `title` is missing"),
    "tasks": (PLUGIN.replace("tasks = (", "jobs = ("), "`tasks` is missing or not a tuple of TaskInfo"),
    "tasks of text": (
        re.sub("tasks = .*", 'tasks = ("mcq",)', PLUGIN),
        "`tasks` is missing or not a tuple of TaskInfo",
    ),
    "two tasks": (
        re.sub("tasks = (.*)", r"tasks = \1 * 2", PLUGIN),
        "two tasks are called 'mcq'; task names must be unique",
    ),
    "protocol": (
        PLUGIN.replace("title =", 'protocols = ("papr",)\n    title ='),
        "protocol 'papr'; a protocol is paper or strict",
    ),
    "part": (
        PLUGIN.replace("title =", "native = str\n    title ="),
        "`native` is not an instance of NativeFormats",
    ),
    "no load": (PLUGIN.replace("def load", "def read"), "the method load.. is missing"),
    "no benchmark": ("x = 1\n", "holds these subclasses of Benchmark: none"),
    "syntax": (PLUGIN + "\n    def", "line [0-9]+, fails to load: SyntaxError"),
    "load returns nothing": (
        PLUGIN.replace(LOAD, "        pass"),
        r"load\(\) in toy.py:Toy: it returned NoneType; return a list of Sample",
    ),
    "load returns rows": (
        PLUGIN.replace(LOAD, "        return rows"),
        "it returned a list of dict; return a list of Sample",
    ),
    "no samples": (
        PLUGIN.replace(LOAD, "        return []"),
        "there are no samples of toy-bench/mcq in .*; check --data",
    ),
    "same ids": (
        PLUGIN.replace("id=str(number)", 'id="17"'),
        "two samples of toy-bench/mcq have the id '17'; ids must be unique",
    ),
    "number as id": (PLUGIN.replace("id=str(number)", "id=number"), "Expected `str`, got `int` - at `id`"),
    "wrong task": (
        PLUGIN.replace("task=task,", 'task="mcq",'),
        "sample '0' has the task 'mcq'; set task='toy-bench/mcq'",
    ),
    "key": (PLUGIN.replace("key=1", "key=4"), "has the key 4 and 4 options; `key` is the index"),
    "no key": (PLUGIN.replace("            key=1,\n", ""), "sample '0' lacks `key`"),
    "text as question": (
        PLUGIN.replace('question=(Image(row["image"]), Text(f"Which, number {number}?"))', 'question="Which?"'),
        "Expected `array`, got `str` - at `question`",
    ),
    "same option names": (
        PLUGIN.replace("make_options([", "tuple(Option('A', text) for text in ["),
        "two options of sample '0' have the same name",
    ),
    "media outside": (PLUGIN.replace('Image(row["image"])', 'Image("../a.png")'), "leads out of the data folder"),
    "media absolute": (PLUGIN.replace('Image(row["image"])', 'Image("/a.png")'), "is an absolute path"),
    "media missing": (
        PLUGIN.replace('Image(row["image"])', 'Image("b.png")'),
        "None of the 1 media files of toy-bench/mcq is there",
    ),
    "missing file": (
        PLUGIN.replace("toy.json", "lost.json"),
        r"lost.json does not exist \(load\(\), toy.py:Toy, line 16\). Give the folder with the data as --data",
    ),
    "load fails": (
        PLUGIN.replace('row["image"]', 'row["picture"]'),
        r"toy-bench: load\(\) failed in toy.py:Toy, line 23: KeyError: 'picture'",
    ),
    "order": (method(SHUFFLED), "in another order and `Prompt.order` is empty; shuffle with order = context.order"),
    "wrong order": (
        method(SHUFFLED.replace("options=options)", "options=options, order=(0, 1, 2, 3))")),
        "in another order and `Prompt.order` says otherwise",
    ),
    "order of another length": (
        method(SHUFFLED.replace("options=options)", "options=options[:3], order=order)")),
        "it shows 3 options in the order",
    ),
    "prompt returns text": (
        method("def prompt(self, sample, context):\n    return 'Which?'"),
        r"prompt\(\) in toy.py:Toy: it returned str; return a Prompt",
    ),
    "prompt without messages": (
        method("def prompt(self, sample, context):\n    return Prompt(messages=())"),
        "there are no messages",
    ),
    "prompt fails late": (
        method(
            "def prompt(self, sample, context):\n"
            "    return super().prompt(sample, context) if sample.id != '7' else 1 / 0"
        ),
        r"prompt\(\) failed in toy.py:Toy, line 29: ZeroDivisionError",
    ),
    "number of scores": (
        method("def score(self, items, settings):\n    return super().score(items, settings)[1:]"),
        "it returned 2 scores for 3 records; return one for each",
    ),
    "score returns numbers": (
        method("def score(self, items, settings):\n    return [1.0 for _ in items]"),
        "it returned a list of float; return a list of Score",
    ),
    "score fails": (
        method("def score(self, items, settings):\n    return [settings.values['threshold'] for _ in items]"),
        r"score\(\) failed in toy.py:Toy, line 29: KeyError: 'threshold'",
    ),
    "scores without values": (
        method(
            "def score(self, items, settings):\n"
            "    return [Score(key=r.key, task=r.task, id=r.id) for _, r in items]"
        ),
        "is scored with None; give a number or another status",
    ),
    "scores of others": (
        method(
            "def score(self, items, settings):\n"
            "    return [Score(key='x', task=r.task, id=r.id, value=1.0) for _, r in items]"
        ),
        "has the key 'x'; set key=record.key",
    ),
    "score ignores the order": (
        method(
            "def score(self, items, settings):\n"
            "    return [Score(key=r.key, task=r.task, id=r.id, value=float(r.reply.text == s.options[s.key].name))"
            " for s, r in items]"
        ),
        "a wrong reply to sample '.' scores 1.0, the right one 0.0; read the option with Record.options",
    ),
    "judged without a rubric": (
        PLUGIN.replace('title="Choice")', 'title="Choice", judged=True)'),
        "toy-bench/mcq is judged but has no rubric; set `judged`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_one_line_and_nothing_is_sent(folder: Path, mistake: str) -> None:
    code, message = MISTAKES[mistake]
    with pytest.raises(VivantError, match=message) as caught:
        run(folder, code, "./right.py:Right")
    assert "\n" not in str(caught.value)
    assert "toy" in str(caught.value).lower()
    assert not (folder / "run").exists()


def test_a_protocol_that_a_benchmark_lacks_is_refused_before_anything_is_sent(folder: Path) -> None:
    (folder / "toy.py").write_text(PLUGIN)
    done = vivant("run", "./toy.py", "--model", "first", "--protocol", "paper", cwd=folder)
    assert done.returncode == 1
    assert "toy-bench has no protocol 'paper', only strict" in done.stderr
    assert not (folder / "runs").exists()


def test_the_traceback_is_shown_on_request(folder: Path) -> None:
    (folder / "toy.py").write_text(PLUGIN.replace('row["image"]', 'row["picture"]'))
    plain = vivant("run", "./toy.py", "--model", "first", cwd=folder)
    assert plain.returncode == 1
    assert "Traceback" not in plain.stderr
    full = vivant("run", "./toy.py", "--model", "first", cwd=folder, env={"VIVANT_DEBUG": "1"})
    assert "Traceback" in full.stderr
    assert "KeyError: 'picture'" in full.stderr


def test_an_installed_plugin_is_found_by_its_entry_point_and_runs_end_to_end(folder: Path) -> None:
    site = folder / "site"
    (site / "toy_package").mkdir(parents=True)
    (site / "toy_package" / "__init__.py").write_text("")
    (site / "toy_package" / "bench.py").write_text(PLUGIN)
    (site / "broken.py").write_text("import nothing_of_this_name\n")
    info = site / "toy_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-package\nVersion: 1.0\n")
    points = ["toy-bench = toy_package.bench:Toy", "broken = broken:Bench", "other = toy_package.bench:Toy"]
    (info / "entry_points.txt").write_text("\n".join(["[vivant.benchmarks]", *points, ""]))
    env = {"PYTHONPATH": os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))}
    listed = vivant_process("benchmarks", cwd=folder, env=env)
    assert listed.returncode == 0, listed.stderr
    assert "toy-bench" in listed.stdout
    assert "mime" in listed.stdout
    assert "nothing_of_this_name" in listed.stdout.replace("\n", "")
    assert "'toy-bench' but" in " ".join(listed.stdout.split())
    asked = ("run", "toy-bench", "--data", ".", "--model", "./right.py:Right", "--out", "runs/right")
    done = vivant_process(*asked, cwd=folder, env=env)
    assert done.returncode == 0, done.stderr
    assert "Scores, protocol strict" in done.stdout
    assert re.search(r"toy-bench/mcq +accuracy +100\.0 .* 8 +0 +0", done.stdout)
    again = vivant_process(*asked, cwd=folder, env=env)
    assert "8 of 8 samples are done" in again.stderr
    for command in (
        ["table", "runs/right"],
        ["score", "runs/right"],
        ["report", "runs/right", "--out", "r.html"],
    ):
        after = vivant_process(*command, cwd=folder, env=env)
        assert after.returncode == 0, after.stderr
    blind = vivant_process(*asked[:-1], "runs/blind", "--control", "blind", cwd=folder, env=env)
    assert blind.returncode == 0, blind.stderr
    compared = vivant_process("compare", "runs/right", "runs/blind", cwd=folder, env=env)
    assert compared.returncode == 0, compared.stderr
    gone = vivant_process("table", "runs/right", cwd=folder)
    assert "Unknown benchmark 'toy-bench'" in gone.stderr


def test_the_template_is_short_and_scores_an_always_right_model_100(folder: Path) -> None:
    text = write_template(folder / "my_bench.py")
    tree = ast.parse(text)
    documentation = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    code = [n for n, line in enumerate(text.splitlines(), 1) if line.strip() and n not in documentation]
    assert len(code) <= 35
    make_video(folder / "a.mp4", 8)
    line = {
        "video": "a.mp4",
        "question": "Why?",
        "options": ["x", "right", "z"],
        "answer": "B",
        "duration": "short",
    }
    (folder / "questions.jsonl").write_text("\n".join(json.dumps({"id": f"{n}", **line}) for n in range(6)))
    scored = evaluate("./my_bench.py/mcq", "./right.py:Right", out=str(folder / "run"))
    (part,) = scored.scores()
    assert part.task == "my-bench/mcq"
    assert {score.value for _, _, score in part.rows} == {1.0}
    with pytest.raises(VivantError, match="exists already"):
        write_template(folder / "my_bench.py")
    with pytest.raises(VivantError, match=r"must end in \.py"):
        write_template(folder / "my_bench.txt")


def test_two_classes_in_a_file_are_told_apart_by_name(folder: Path) -> None:
    second = "\n\nclass Second(Toy):\n    name = 'second'\n"
    (folder / "toy.py").write_text(PLUGIN + second)
    with pytest.raises(VivantError, match=r"Toy, Second\. It must hold one, or name one: toy\.py:Class"):
        registry.select(["./toy.py"])
    with pytest.raises(VivantError, match="did you mean 'Second'"):
        registry.select(["./toy.py:Secnd"])
    (selection,) = registry.select(["./toy.py:Second/mcq"])
    assert selection.tasks == ("second/mcq",)
    assert registry.get("second").title == "Toy"
    (folder / "toy.py").unlink()
    with pytest.raises(VivantError, match="Unknown benchmark 'second'"):
        registry.get("second")
    with pytest.raises(VivantError, match=r"toy.py does not exist; `vivant benchmarks new toy.py`"):
        registry.get("./toy.py")
