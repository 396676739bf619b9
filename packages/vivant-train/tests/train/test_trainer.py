"""Training: resuming after a kill, sharing between processes, evaluating on the way, what is written."""

from __future__ import annotations

import csv
import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from typer.testing import CliRunner

from tests.support.helpers import logged_messages
from tests.support.processes import wait_until
from tests.support.train_kit import join_all, read_rows, recipe, start_process, start_two, write_world
from vivant.cli.main import app as main_app
from vivant.core.errors import VivantError
from vivant.core.types import Reply, Request
from vivant.engine.evaluation import evaluate
from vivant.models import local_model
from vivant.models.local_model import select_batch
from vivant.runs.run import Run
from vivant_train.cli.train import app

if TYPE_CHECKING:
    from vivant_train.live_model import LiveEngine

pytestmark = pytest.mark.usefixtures("short_replies")

LONG = 600.0
"""Seconds after which a process hangs, however busy the machine is."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_world(tmp_path_factory.mktemp("loop") / "world", 10, side=32, times=8)


def make_content(world: Path, out: Path, **changes: Any) -> dict[str, Any]:
    return recipe(world, out=str(out), **changes)


def read_evaluations(out: Path) -> list[tuple[str, ...]]:
    with (out / "evaluations.csv").open(encoding="utf-8") as file:
        return [(row["step"], row["accuracy"], row["samples"], row["errors"]) for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def undisturbed(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training from end to end, with LoRA and dropout, so that chance has a part in it."""

    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    out = tmp_path_factory.mktemp("whole") / "out"
    result = train(make_recipe(with_lora(world, out)))
    assert result.finished and result.steps == 8
    return out


def with_lora(world: Path, out: Path) -> dict[str, Any]:
    content = make_content(world, out)
    content["train"]["steps"] = 8
    content["model"]["language"]["lora"] = {"rank": 2, "alpha": 4, "dropout": 0.3}
    return content


def hold_step(patch: pytest.MonkeyPatch, step: int) -> None:
    """Let a training begin this step and never end it, also in processes, which are forked."""

    from vivant_train.trainer import Trainer

    usual = Trainer.train_step

    def train_step(self: Trainer, batch: Any) -> dict[str, Any]:
        while batch.plan.position.step == step:
            time.sleep(0.1)
        return usual(self, batch)

    patch.setattr(Trainer, "train_step", train_step)


def await_checkpoint(out: Path, processes: Sequence[Any]) -> None:
    """Wait until a training has written its first checkpoint."""

    from vivant_train.checkpoints import list_checkpoints

    wait_until(lambda: list_checkpoints(out) or not all(each.is_alive() for each in processes), LONG)
    assert list_checkpoints(out), "there is one to go on from"


def kill_after_checkpoint(processes: Sequence[Any], out: Path) -> None:
    """Kill a training amid its work, after its first checkpoint."""
    try:
        await_checkpoint(out, processes)
    finally:
        for process in processes:
            process.kill()
            process.join()
    assert [each.exitcode for each in processes] == [-signal.SIGKILL] * len(processes)


def test_killed_and_resumed_it_takes_the_same_steps(world: Path, undisturbed: Path, tmp_path: Path) -> None:
    import torch

    from vivant_train.checkpoints import list_checkpoints, load_state
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    out = tmp_path / "out"
    content = with_lora(world, out)
    with pytest.MonkeyPatch.context() as patch:
        hold_step(patch, 3)
        kill_after_checkpoint([start_process(content)], out)
    with (out / "metrics.csv").open("a", encoding="utf-8") as file:
        file.write("7,0,9.9,1e-3")  # a row that the kill cut short
    result = train(make_recipe(content), resume=True)
    assert result.finished
    wanted = ("step", "epoch", "loss", "learning_rate", "gradient_norm", "tokens", "answer_tokens")
    assert read_rows(out, *wanted) == read_rows(undisturbed, *wanted)
    state, weights, optimizer = load_state(list_checkpoints(out)[-1])
    other, same, moments = load_state(list_checkpoints(undisturbed)[-1])
    assert state.position == other.position
    assert all(torch.equal(weights[name], same[name]) for name in same)
    assert all(torch.equal(optimizer[name], moments[name]) for name in moments)


def test_the_last_model_and_curves_are_written(undisturbed: Path) -> None:
    from vivant_train.checkpoints import list_checkpoints, load_model

    model, _ = load_model(undisturbed / "last")
    assert model.settings.language.lora is None, "merged"
    assert [path.name for path in list_checkpoints(undisturbed)] == ["step-00000006", "step-00000008"]
    assert list((undisturbed / "tensorboard").iterdir())
    rates = [float(rate) for (rate,) in read_rows(undisturbed, "learning_rate")]
    assert rates[0] < rates[1] > rates[4] > rates[-1] > 0, "warm-up, then a cosine"


def test_accumulated_passes_and_unpacked_rows_take_the_same_steps(world: Path, tmp_path: Path) -> None:
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    content = make_content(world, tmp_path / "one", train={"steps": 3})
    train(make_recipe(content))
    parts = make_content(
        world, tmp_path / "two", train={"steps": 3, "micro_rows": 1, "gradient_checkpointing": True}
    )
    train(make_recipe(parts))
    loose = make_content(world, tmp_path / "three", train={"steps": 3, "packing": False})
    train(make_recipe(loose))
    full = [tuple(map(float, row)) for row in read_rows(tmp_path / "one", "loss", "gradient_norm")]
    for other in ("two", "three"):
        for row, same in zip(read_rows(tmp_path / other, "loss", "gradient_norm"), full, strict=True):
            assert tuple(map(float, row)) == pytest.approx(same, rel=2e-4)


def test_half_precision_takes_nearly_the_same_steps(world: Path, tmp_path: Path) -> None:
    """In one process one after the other: a training is not bound by the precision of the one before."""

    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    for precision in ("no", "bf16"):
        content = make_content(
            world, tmp_path / precision, train={"steps": 3, "precision": precision, "device": "cpu"}
        )
        train(make_recipe(content))
    full, half = (
        [float(loss) for (loss,) in read_rows(tmp_path / precision, "loss")] for precision in ("no", "bf16")
    )
    assert half == pytest.approx(full, rel=0.02) and half != full


@pytest.mark.full
def test_another_process_and_hash_seed_give_the_same_losses(world: Path, tmp_path: Path) -> None:
    for seed in ("1", "2"):
        content = make_content(world, tmp_path / seed, train={"steps": 2})
        (tmp_path / f"{seed}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
        subprocess.run(
            [
                sys.executable,
                "-m",
                "vivant",
                "train",
                "mimic-chat",
                "--config",
                str(tmp_path / f"{seed}.yaml"),
            ],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        )
    columns = ("loss", "gradient_norm")
    assert read_rows(tmp_path / "1", *columns) == read_rows(tmp_path / "2", *columns)
    first, second = ((tmp_path / seed / "tokenizer" / "tokenizer.json").read_bytes() for seed in ("1", "2"))
    assert first == second


def test_the_same_data_elsewhere_come_in_the_same_order(world: Path, tmp_path: Path) -> None:
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    shutil.copytree(world, tmp_path / "elsewhere")
    for data, out in ((world, tmp_path / "here"), (tmp_path / "elsewhere", tmp_path / "there")):
        train(make_recipe(make_content(data, out, train={"steps": 3})))
    assert read_rows(tmp_path / "here", "loss", "tokens") == read_rows(tmp_path / "there", "loss", "tokens")


@pytest.mark.parametrize(
    ("way", "batch_tokens"),
    [
        ({"device": "auto"}, 900),
        pytest.param({"fsdp": {}}, 900, marks=pytest.mark.full),
        ({"device": "auto"}, 1),
    ],
    ids=["ddp", "fsdp2", "one question a step"],
)
def test_two_processes_have_the_gradients_of_one(
    world: Path, tmp_path: Path, way: dict[str, Any], batch_tokens: int
) -> None:
    """Also where they have unequal numbers of rows, one has none at the end of an epoch, and weights are shared out."""

    import torch

    from vivant_train.checkpoints import list_checkpoints, load_state
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    settings = {"steps": 3, "micro_rows": 1, "batch_tokens": batch_tokens}
    data = {
        "sources": [
            {**source, "benchmark": "mimic/topic", "limit": 2} for source in recipe(world)["data"]["sources"]
        ]
    }
    changes = {"data": data} if batch_tokens == 1 else {}
    train(make_recipe(make_content(world, tmp_path / "one", train=settings, **changes)))
    content = make_content(world, tmp_path / "two", train={**settings, **way}, **changes)
    join_all(start_two(content))
    alone = [tuple(map(float, row)) for row in read_rows(tmp_path / "one", "loss", "gradient_norm")]
    for row, same in zip(read_rows(tmp_path / "two", "loss", "gradient_norm"), alone, strict=True):
        assert tuple(map(float, row)) == pytest.approx(same, rel=1e-4)
    _, weights, _ = load_state(list_checkpoints(tmp_path / "two")[-1])
    _, wanted, _ = load_state(list_checkpoints(tmp_path / "one")[-1])
    for name, value in wanted.items():
        assert torch.allclose(weights[name], value, atol=2e-3), name


@pytest.mark.full
def test_a_sharded_training_is_killed_resumed_and_exported(world: Path, tmp_path: Path) -> None:
    import torch

    from vivant_train.checkpoints import load_model
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    content = make_content(world, tmp_path / "one", train={"steps": 6})
    train(make_recipe(content))
    out = tmp_path / "two"
    content = make_content(world, out, train={"steps": 6, "fsdp": {}})
    with pytest.MonkeyPatch.context() as patch:
        hold_step(patch, 3)
        kill_after_checkpoint(start_two(content), out)
    join_all(start_two(content, resume=True))
    alone = [float(loss) for (loss,) in read_rows(tmp_path / "one", "loss")]
    assert [float(loss) for (loss,) in read_rows(out, "loss")] == pytest.approx(alone, rel=1e-4)
    model, _ = load_model(out / "last")
    same, _ = load_model(tmp_path / "one" / "last")
    for name, value in same.state_dict().items():
        assert torch.allclose(model.state_dict()[name], value, atol=2e-3), name


def test_all_processes_stop_after_the_same_step_when_one_is_asked_to(world: Path, tmp_path: Path) -> None:
    from vivant_train.checkpoints import list_checkpoints

    out = tmp_path / "two"
    both = start_two(make_content(world, out, train={"steps": 100_000}))
    await_checkpoint(out, both)
    os.kill(both[1].pid, signal.SIGTERM)
    join_all(both)
    steps = len(read_rows(out, "step"))
    assert list_checkpoints(out)[-1].name == f"step-{steps:08d}"


@pytest.mark.parametrize(
    "way", [{}, pytest.param({"fsdp": {}}, marks=pytest.mark.full)], ids=["ddp", "fsdp2"]
)
def test_two_processes_share_an_evaluation(
    world: Path, tmp_path: Path, way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answers questions of its own; the run has the replies that one process gives, and training goes on."""

    from vivant_train.live_model import LiveEngine
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    usual = LiveEngine.answer

    def answer(self: LiveEngine, requests: Sequence[Request]) -> list[Reply]:
        rank = os.environ.get("RANK", "alone")
        with (tmp_path / f"answered-{rank}").open("a", encoding="utf-8") as file:
            file.writelines(f"{request.key}\n" for request in requests)
        return usual(self, requests)

    monkeypatch.setattr(LiveEngine, "answer", answer)  # also in the processes, which are forked
    # Batches that two processes cannot share evenly, of which the first leaves nothing to one of them.
    sizes = itertools.chain([1], itertools.repeat(3))
    monkeypatch.setattr(
        local_model, "select_batch", lambda waiting, _: select_batch(waiting, next(sizes)) if waiting else []
    )
    held_out = {"benchmark": "mimic/thinking", "data": str(world), "where": ["platform=test"], "every": 2}
    for out in ("one", "two"):
        settings = {"steps": 3, **(way if out == "two" else {})}
        content = make_content(world, tmp_path / out, train=settings, evaluation=held_out)
        if out == "one":
            train(make_recipe(content))
        else:
            join_all(start_two(content))
    answered = {
        name: (tmp_path / f"answered-{name}").read_text().split("\n")[:-1] for name in ["alone", "0", "1"]
    }
    assert answered["0"] and answered["1"], "both had a share"
    assert sorted(answered["0"] + answered["1"]) == sorted(answered["alone"]), "and each question one of them"
    for step in (2, 3):
        one, two = (
            {key: record.reply.text for key, record in Run(path).records().items()}
            for path in (tmp_path / out / "evaluations" / f"step-{step:08d}" for out in ("one", "two"))
        )
        assert one == two and len(one) == 8
    first, second = (read_evaluations(tmp_path / out) for out in ("one", "two"))
    assert first == second and [row[0] for row in first] == ["2", "3"]
    losses = [[float(loss) for (loss,) in read_rows(tmp_path / out, "loss")] for out in ("one", "two")]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert (tmp_path / "two" / "best" / "model.safetensors").is_file()


def keep_errors(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let each process of a training, which is forked, write down the error that ends it."""

    from vivant_train import trainer

    usual = trainer.train

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return usual(*args, **kwargs)
        except VivantError as error:
            (folder / f"error-{os.environ['RANK']}").write_text(str(error), encoding="utf-8")
            raise

    monkeypatch.setattr(trainer, "train", run)


def end_all(both: Sequence[Any], folder: Path) -> list[str]:
    """What each process of a training that fails has raised."""
    try:
        for process in both:
            process.join(LONG)
        assert [process.exitcode for process in both] == [1, 1], "none waits for the other"
    finally:
        for process in both:
            process.kill()
    return [(folder / f"error-{rank}").read_text(encoding="utf-8") for rank in range(2)]


def test_a_broken_video_and_a_full_disk_end_all_processes(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vivant_train import checkpoint_store
    from vivant_train.checkpoints import list_checkpoints, load_state, save_state

    keep_errors(monkeypatch, tmp_path)
    usual = save_state

    def save(folder: Path, *args: Any) -> None:
        if folder.name == "step-00000004":
            raise OSError(28, "No space left on device")
        usual(folder, *args)

    monkeypatch.setattr(checkpoint_store, "save_state", save)  # the main process alone calls it
    out = tmp_path / "full"
    lines = end_all(start_two(make_content(world, out)), tmp_path)
    assert lines[0] == lines[1] and re.search(
        "step-00000004 cannot be written: .*No space left.*last good checkpoint is .*step-00000002", lines[0]
    )
    assert load_state(list_checkpoints(out)[-1])[0].position.step == 2
    broken = tmp_path / "broken"
    shutil.copytree(world, broken)
    for number in (0, 1, 2, 5):
        (broken / "videos" / f"v{number:04d}.mp4").write_bytes(b"half")
    # Neither process has the rows of all four in the first two steps; together they have lost too many then.
    settings = {"steps": 2, "batch_tokens": 6000, "per_video": 1}
    content = make_content(broken, tmp_path / "out", data={"max_failed": 0.4}, train=settings)
    lines = end_all(start_two(content), tmp_path)
    assert all("4 of 8 videos cannot be used, more than the share of 0.4" in line for line in lines)
    allowed = make_content(broken, tmp_path / "allowed", data={"max_failed": 0.5}, train=settings)
    join_all(start_two(allowed))
    assert read_rows(tmp_path / "allowed", "skipped")[-1] == ("4",), "each is counted once"


@pytest.mark.full
def test_a_question_that_cannot_be_read_costs_no_sharded_evaluation_and_a_failed_pass_ends_all(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vivant_train.checkpoints import list_checkpoints, load_state
    from vivant_train.live_model import LiveEngine

    keep_errors(monkeypatch, tmp_path)
    usual = LiveEngine._tokenize
    asked = 0

    def tokenize(self: LiveEngine, request: Request) -> Any:
        nonlocal asked
        asked += 1
        if os.environ["RANK"] == "1" and asked == 1:
            raise OSError("cannot identify image file")
        return usual(self, request)

    def generate(self: LiveEngine, *args: Any) -> Any:
        if os.environ["RANK"] == "1" and list_checkpoints(tmp_path / "out"):
            raise RuntimeError("out of memory")
        return usual_generate(self, *args)

    usual_generate = LiveEngine._generate
    monkeypatch.setattr(LiveEngine, "_tokenize", tokenize)
    monkeypatch.setattr(LiveEngine, "_generate", generate)
    held_out = {"benchmark": "mimic/thinking", "data": str(world), "where": ["platform=test"], "every": 2}
    content = make_content(world, tmp_path / "out", train={"steps": 6, "fsdp": {}}, evaluation=held_out)
    lines = end_all(start_two(content), tmp_path)
    assert [row[0::2] for row in read_evaluations(tmp_path / "out")] == [("2", "7")], "one of eight failed"
    assert "in process 1: RuntimeError: out of memory" in lines[1]
    assert lines[0].startswith("The evaluation failed in process 0: "), "it lost the other"
    assert load_state(list_checkpoints(tmp_path / "out")[-1])[0].position.step == 2


def test_the_command_trains_evaluates_and_its_model_runs(
    world: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    held_out = {"benchmark": "mimic/topic", "data": str(world), "where": ["platform=test"]}
    out = tmp_path / "my models"
    content = make_content(world, out, train={"steps": 2}, evaluation=held_out)
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    with logged_messages() as messages:
        ran = CliRunner().invoke(app, ["mimic-chat", "--config", str(tmp_path / "recipe.yaml")])
    assert ran.exit_code == 0, ran.output
    text = "\n".join(messages)
    assert "held-out accuracy" in text
    printed = shlex.split(text.partition("Use it:")[2].strip())
    assert printed[:3] == ["vivant", "run", "mimic/topic"] and printed[-2:] == ["--frames", "8"]
    pasted = CliRunner().invoke(main_app, [*printed[1:], "--out", str(tmp_path / "pasted")])
    assert pasted.exit_code == 0 and len(Run(tmp_path / "pasted").records()) == 2, pasted.output
    with (out / "evaluations.csv").open(encoding="utf-8") as file:
        evaluations = list(csv.DictReader(file))
    assert [(row["step"], row["samples"]) for row in evaluations] == [("2", "2")]
    assert (out / "best" / "model.safetensors").is_file()
    chosen: Any = {
        "data": (str(world),),
        "where": ("platform=test",),
        "out": str(tmp_path / "run"),
        "answer_by": "loglik",
    }
    request.getfixturevalue("engine_here")  # the pasted command has started a process
    run = evaluate("mimic/topic", f"mimic-chat/{out / 'best'}", **chosen)
    assert run.model == "mimic-chat/my models/best"
    replies = [record.reply for record in run.records().values()]
    assert [(reply.status, len(reply.likelihoods)) for reply in replies] == [("ok", 4)] * 2
