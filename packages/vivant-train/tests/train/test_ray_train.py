"""The documented example of Ray Train, on two workers."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml

from tests.support.train_kit import recipe, write_world

PAGE = Path(__file__).resolve().parents[4] / "docs" / "train.md"

ADAPTED = ("/shared/recipe.yaml", "num_workers=4", "use_gpu=True")


def read_example() -> str:
    """The example in the documentation: indented lines from its first import to the call of `fit`."""
    _, _, after = PAGE.read_text(encoding="utf-8").partition("    from ray.train import ScalingConfig\n")
    body, end, _ = after.partition(".fit()\n")
    assert end, "the example is there"
    return textwrap.dedent("    from ray.train import ScalingConfig\n" + body + end)


def read_losses(out: Path) -> list[float]:
    with (out / "metrics.csv").open(encoding="utf-8") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


def describe_failure(ended: subprocess.CompletedProcess[str], logs: Path) -> str:
    """What the driver printed, and what Ray's processes wrote: how a worker died stands in its own log alone."""
    parts = [f"exit code {ended.returncode}", ended.stdout[-3000:], ended.stderr[-3000:]]
    for file in sorted(logs.glob("ray/session_2*/logs/*worker-*")):
        text = file.read_text(errors="replace")
        crash = min((at for at in map(text.find, ("*** SIG", "Fatal Python error")) if at >= 0), default=None)
        if crash is not None:
            parts.append(f"── {file.name}, from its crash on ──\n{text[crash : crash + 3000]}")
        elif "RayTrainWorker" in text and file.name.startswith("worker-"):
            parts.append(f"── {file.name} ──\n{text[-3000:]}")
    for file in sorted(logs.glob("ray/session_2*/logs/raylet.out")):
        lines = [line for line in file.read_text(errors="replace").splitlines() if "graceful=false" in line]
        parts.append("\n".join(["── workers that ended without a word ──", *lines[-10:]]))
    memory = Path("/proc/meminfo").read_text().splitlines()[:3] if Path("/proc/meminfo").exists() else []
    return "\n".join([*parts, *memory])


def test_a_failure_shows_the_log_of_the_worker_that_died(tmp_path: Path) -> None:
    folder = tmp_path / "ray" / "session_2026" / "logs"
    folder.mkdir(parents=True)
    (folder / "worker-1-01000000-7.err").write_text(
        ":actor_name:RayTrainWorker\nFatal Python error: Segmentation fault\n"
    )
    (folder / "worker-2-01000000-8.err").write_text(":actor_name:TrainController\nbusy\n")
    (folder / "raylet.out").write_text("a worker, graceful=true\nanother worker, graceful=false\n")
    shown = describe_failure(subprocess.CompletedProcess([], 1, "driver out", "driver err"), tmp_path)
    assert all(text in shown for text in ("driver out", "driver err", "Segmentation fault", "graceful=false"))
    assert "busy" not in shown and "graceful=true" not in shown


def test_the_example_is_python_and_names_what_a_user_adapts() -> None:
    compile(read_example(), str(PAGE), "exec")
    assert all(old in read_example() for old in ADAPTED)


@pytest.mark.full
@pytest.mark.xdist_group("ray")
def test_the_example_trains_on_two_workers_with_the_losses_of_one(tmp_path: Path) -> None:
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    world = write_world(tmp_path / "world", 10, side=32, times=6)
    settings = {"steps": 3, "micro_rows": 1, "batch_tokens": 900}
    train(make_recipe(recipe(world, out=str(tmp_path / "one"), train=settings)))
    file = tmp_path / "recipe.yaml"
    file.write_text(
        yaml.safe_dump(recipe(world, out=str(tmp_path / "two"), train=settings)), encoding="utf-8"
    )
    code = read_example()
    for old, new in zip(ADAPTED, (str(file), "num_workers=2", "use_gpu=False"), strict=True):
        code = code.replace(old, new)
    script = tmp_path / "example.py"
    script.write_text("import ray\nray.init(num_cpus=2, include_dashboard=False)\n" + code, encoding="utf-8")
    with TemporaryDirectory(prefix="ray-", dir="/tmp") as logs:  # paths of sockets may have 107 characters
        environment = {
            **os.environ,
            "HOME": str(tmp_path),  # the cache and Ray's results stay in the test's folder
            "VIVANT_CACHE": str(tmp_path / "cache"),
            "RAY_TMPDIR": logs,  # a Ray of its own, whatever else runs on this machine
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_prestart_worker_first_driver": "0",  # no processes that nobody needs
            "RAY_memory_monitor_refresh_ms": "0",  # memory that other programs take is no reason to end a worker
            "PYTHONFAULTHANDLER": "1",
        }
        ended = subprocess.run(
            [sys.executable, script], env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, describe_failure(ended, Path(logs))
    assert read_losses(tmp_path / "two") == pytest.approx(read_losses(tmp_path / "one"), rel=1e-4)
