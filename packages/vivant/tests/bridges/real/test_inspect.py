"""With the real Inspect: it reads our logs, it calls our backends, and we read what it writes."""

from __future__ import annotations

import base64
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser_kit import open_browser
from tests.support.helpers import picture, questions, vivant
from vivant import api
from vivant.bridges.inspect_export import export_inspect
from vivant.bridges.inspect_import import import_inspect

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.solver import Generate, Solver, TaskState

# Nothing here imports the backends' module: Inspect finds it by the installed package's entry point.
pytestmark = pytest.mark.filterwarnings("default")  # others' packages warn about each other

MODEL = '''
class Counter:
    """Says how many pictures it saw."""

    def generate(self, prompts, media):
        return [f"{len(pictures)} pictures" for pictures in media]


class Broken:
    def generate(self, prompts, media):
        raise ValueError("no weights")


class Flaky:
    def generate(self, prompts, media):
        if any("number 1?" in prompt for prompt in prompts):
            raise ValueError("out of memory")
        return ["A"] * len(prompts)
'''


def test_inspect_reads_an_exported_run(tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    run = api.evaluate(str(questions(tmp_path, 12)), "random", out=tmp_path / "run", repeat=2)
    (file,) = export_inspect(run, tmp_path / "logs")
    log = read_eval_log(str(file), resolve_attachments=True)
    (part,) = run.scores()
    assert log.status == "success"
    assert log.eval.model == "random"
    assert log.samples is not None and log.results is not None
    theirs = {(s.id, s.epoch): s for s in log.samples}
    ours = {(s.id, r.repeat + 1): (s, r, c) for s, r, c in part.rows if r is not None}
    assert theirs.keys() == ours.keys()
    for key, sample in theirs.items():
        question, record, score = ours[key]
        assert sample.output.completion == record.reply.text
        assert sample.choices == [option.text for option in record.options]
        assert sample.scores is not None
        assert sample.scores["vivant"].value == ("C" if score.value else "I")
        # The target is the letter under which the right option was shown.
        assert sample.choices is not None
        assert sample.choices[ord(str(sample.target)) - 65] == question.options[question.key or 0].text
    assert log.results.scores[0].metrics["mean"].value == pytest.approx(
        (run.table().rows[0].value or 0) / 100
    )
    picture = next(part.image for part in log.samples[0].input[0].content if part.type == "image")
    data = base64.b64decode(picture.partition(",")[2])
    assert data in [path.read_bytes() for path in tmp_path.rglob("*") if path.suffix in (".png", ".jpg")]


def test_inspect_lists_an_exported_run_for_its_viewer(tmp_path: Path) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries

    run = api.evaluate(str(questions(tmp_path, 3)), "random", out=tmp_path / "run")
    export_inspect(run, tmp_path / "logs")
    (entry,) = list_eval_logs(str(tmp_path / "logs"))
    assert entry.task == "jsonl-mine"
    assert read_eval_log(entry, header_only=True).eval.task == "jsonl/mine"
    summaries = read_eval_log_sample_summaries(entry)
    assert [summary.id for summary in summaries] == [sample.id for sample in run.samples]


def test_inspects_viewer_shows_questions_pictures_replies_and_scores(tmp_path: Path) -> None:
    run = api.evaluate(str(questions(tmp_path, 3)), "random", out=tmp_path / "run")
    export_inspect(run, tmp_path / "logs")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "inspect_ai", "view", "--log-dir", "logs", "--port", str(port)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
        try:
            _wait_for(port, server)
            with open_browser() as browser:
                page = browser.new_page(viewport={"width": 1400, "height": 900})
                page.goto(f"http://127.0.0.1:{port}/")
                page.get_by_text("jsonl/mine").first.click()
                page.get_by_text("Which one, number 0?").first.click()
                page.locator("img[src^='data:image/png']").first.wait_for()
                assert page.evaluate("document.querySelector('img').naturalWidth") > 0
                text = page.inner_text("body")
                reply = run.records()["jsonl/mine/q000"].reply.text
                assert "Which one, number 0?" in text
                assert f"ASSISTANT 2 {reply} " in " ".join(text.split()) + " "
                page.get_by_role("tab", name="Scoring").click()
                page.get_by_text("vivant", exact=True).first.wait_for()
        finally:
            server.terminate()


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 600
    while time.monotonic() < until:
        assert server.poll() is None, server.stderr and server.stderr.read()
        with socket.socket() as connection:
            if connection.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError("inspect view does not answer")


@pytest.mark.parametrize("model", ["Flaky", "Broken"])
def test_failed_samples_are_logged_as_inspect_logs_them(tmp_path: Path, model: str) -> None:
    from inspect_ai import Task
    from inspect_ai import eval as evaluate_task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.log import read_eval_log
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import includes
    from inspect_ai.solver import solver

    (tmp_path / "model.py").write_text(MODEL)
    command = (
        "run",
        questions(tmp_path, 3, pictures=False),
        "--model",
        f"./model.py:{model}",
        "--out",
        "run",
    )
    result = vivant(*command, "--concurrency", "1", cwd=tmp_path)
    assert result.returncode == 1
    (file,) = api.export(tmp_path / "run", "inspect", tmp_path / "logs")
    ours = read_eval_log(str(file))

    @solver  # type: ignore[untyped-decorator]
    def answer() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
            if model == "Broken" or "number 1?" in state.input_text:
                raise ValueError("no weights")
            state.output = ModelOutput.from_content("none/none", "A")
            return state

        return solve

    dataset = MemoryDataset([Sample(id=s.id, input=s.input, target="A") for s in ours.samples or ()])
    task = Task(dataset=dataset, solver=answer(), scorer=includes())
    (theirs,) = evaluate_task(
        task, model="none/none", fail_on_error=False, log_dir=str(tmp_path / "theirs"), display="none"
    )
    assert ours.status == theirs.status == "success"
    assert ours.eval.config.fail_on_error is theirs.eval.config.fail_on_error is False
    assert (ours.results is None) is (theirs.results is None) is (model == "Broken")
    if ours.results is not None and theirs.results is not None:
        for name in ("total_samples", "completed_samples"):
            assert getattr(ours.results, name) == getattr(theirs.results, name)
        for name in ("scored_samples", "unscored_samples"):
            assert getattr(ours.results.scores[0], name) == getattr(theirs.results.scores[0], name)
    pairs = zip(ours.samples or (), theirs.samples or (), strict=True)
    for mine, other in pairs:
        assert (mine.error is None) is (other.error is None)
        assert bool(mine.scores) is bool(other.scores)
    assert any(s.error is not None and "ValueError" in s.error.message for s in ours.samples or ())


def test_a_run_that_was_stopped_is_a_cancelled_log_of_what_was_asked(tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    api.evaluate(str(questions(tmp_path, 3)), "random", out=tmp_path / "run")
    log_file = tmp_path / "run" / "log.jsonl"
    log_file.write_text("".join(log_file.read_text().splitlines(keepends=True)[:2]))
    (file,) = api.export(tmp_path / "run", "inspect", tmp_path / "logs")
    log = read_eval_log(str(file))
    assert log.status == "cancelled"
    assert log.samples is not None and len(log.samples) == 2
    assert all(sample.error is None for sample in log.samples)
    assert log.eval.dataset.samples == 3
    assert log.results is not None
    assert (log.results.total_samples, log.results.completed_samples) == (3, 2)


def _task(tmp_path: Path) -> Task:
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate

    image = tmp_path / "p.png"
    picture(image)
    content = [ContentImage(image=str(image)), ContentText(text="How many?")]
    samples = [
        Sample(id="one", input=[ChatMessageUser(content=content)], target="1 pictures"),
        Sample(id="none", input="How many?", target="7 pictures", metadata={"kind": "text"}),
    ]
    return Task(name="count", dataset=MemoryDataset(samples), solver=generate(), scorer=includes())


def test_inspect_evaluates_a_backend_and_the_log_comes_back(tmp_path: Path) -> None:
    from inspect_ai import eval as evaluate_task

    (tmp_path / "model.py").write_text(MODEL)
    model = f"vivant/{tmp_path}/model.py:Counter"
    (log,) = evaluate_task(_task(tmp_path), model=model, log_dir=str(tmp_path / "logs"), display="none")
    assert log.status == "success", log.error
    assert log.results is not None and log.results.scores[0].metrics["accuracy"].value == 0.5
    run = import_inspect(Path(log.location.removeprefix("file://")), tmp_path / "run")
    assert run.table().rows[0].value == 50.0
    assert {record.reply.text for record in run.records().values()} == {"1 pictures", "0 pictures"}


def test_a_second_evaluation_in_one_process_works(tmp_path: Path) -> None:
    from inspect_ai import eval as evaluate_task

    (tmp_path / "model.py").write_text(MODEL)
    model = f"vivant/{tmp_path}/model.py:Counter"
    for _ in range(2):  # Inspect keeps the model and starts another event loop
        (log,) = evaluate_task(_task(tmp_path), model=model, log_dir=str(tmp_path / "logs"), display="none")
        assert log.status == "success", log.error


def test_a_failure_of_the_backend_is_an_error_there(tmp_path: Path) -> None:
    from inspect_ai import eval as evaluate_task

    (tmp_path / "model.py").write_text(MODEL)
    model = f"vivant/{tmp_path}/model.py:Broken"
    (log,) = evaluate_task(_task(tmp_path), model=model, log_dir=str(tmp_path / "logs"), display="none")
    assert log.status == "error"
    assert log.error is not None and "no weights" in log.error.message
