"""Try what users install: the wheel alone, and each extra alone. Every command's help, and what the extra is for.

The tests' own environment holds everything, so that a missing dependency is never seen there.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support import standin, tiny_models
from tests.workspace.environments import build_wheels, make_environment

RUN = ["run", "mime/mcq", "--data", "mini", "--model", "vivant/tiny", "--limit", "4"]
DRAW = ["run", "mmie/sa", "--data", "mini", "--model", "echo/<picture>a kite</picture>", "--limit", "1"]
DRAW += ["--image-model", "diffusers/pipeline", "--image-option", "steps=2", "--judge", "heuristic"]
KERNEL = [
    ["demo"],
    [*RUN, "--out", "runs/mine"],
    ["plan", "mime/mcq", "--data", "mini", "--model", "openai/gpt-4o-mini"],
    ["score", "runs/first", "--protocol", "strict"],
    ["table", "runs", "--by", "variant"],
    ["table", "runs/judged", "--corrected-by", "people.csv"],
    ["compare", "runs/first", "runs/second"],
    ["report", "runs", "-o", "report.html"],
    ["items", "runs/first", "runs/second"],
    ["rank", "runs/first", "runs/second"],
    ["judge", "plan", "runs/judged", "--half-width", "5"],
    ["judge-check", "people.csv", "runs/judged"],
    ["export", "runs/first", "--as", "mime-raw", "--out", "native"],
    ["board", "build", "runs", "--out", "board"],
    ["benchmarks"],
    ["benchmarks", "show", "mimic"],
    ["recipes", "list", "mime"],
    ["models"],
    ["models", "new", "my_model.py"],
    ["run", "mime/mcq", "--data", "mini", "--model", "./my_model.py", "--limit", "2", "--out", "runs/own"],
    ["sweep", "mmrv", "--data", "mini", "--model", "random", "--limit", "2", "--frames", "2,4"],
    ["data", "list"],
    ["cache"],
    ["audit"],
]
"""What needs no extra, in an order that works."""
NEEDS_EXTRA = {
    "study": (
        ["study", "new", "study"],
        "vivant study is not installed. Install it with: pip install 'vivant[study]'",
    ),
    "build": (
        ["build", "mime"],
        "vivant build is not installed. Install it with: pip install 'vivant[build]'",
    ),
    "train": (
        ["train", "sizes"],
        "vivant train is not installed. Install it with: pip install 'vivant[train]'",
    ),
    "web": (["view", "runs"], "pip install 'vivant[web]'"),
    "figures": (["figures", "runs", "--out", "drawn"], "pip install 'vivant[figures]'"),
    "a figure": (["items", "runs/first", "runs/second", "--figure", "items.svg"], "'vivant[figures]'"),
    "parquet": (["publish", "runs/first", "--to", "dataset"], "pip install 'vivant[parquet]'"),
    "ray": ([*RUN, "--executor", "ray"], "pip install 'vivant[ray]'"),
    "transformers": (
        ["run", "mime/mcq", "--data", "mini", "--model", "transformers/x/y"],
        "'vivant[transformers]'",
    ),
    "vllm": ([*RUN[:-3], "vllm-local/x/y"], "pip install 'vivant[vllm]'"),
    "sglang": ([*RUN[:-3], "sglang-local/x/y"], "pip install 'vivant[sglang]'"),
    "diffusers": ([*DRAW, "--out", "runs/drawn"], "pip install 'vivant[diffusers]'"),
    "trackers": (["publish", "runs/first", "--mlflow", "scores"], "pip install 'vivant[trackers]'"),
    "mimic-chat": (
        ["run", "mime/mcq", "--data", "mini", "--model", "mimic-chat/folder"],
        "vivant train is not installed. Install it with: pip install 'vivant[train]'",
    ),
    "a study": (
        ["table", "runs/judged", "--corrected-by", "someones-study"],
        "vivant study is not installed. Install it with: pip install 'vivant[study]'",
    ),
    "a planned study": (
        ["judge", "plan", "runs/judged", "--study", "planned"],
        "vivant study is not installed. Install it with: pip install 'vivant[study]'",
    ),
}
"""What the wheel alone answers in one line."""
USES = {
    "build": [
        ["build", "mime", "motions", "--out", "motions"],
        ["build", "needles", "--lengths", "0", "--depths", "0", "--out", "needles"],
        ["build", "mimic", "world", "--videos", "20", "--out", "crawl"],
        ["build", "mimic", "ingest", "crawl", "--work", "work"],
    ],
    "diffusers": [[*DRAW, "--out", "runs/drawn"]],
    "figures": [["figures", "runs", "--out", "drawn"]],
    "inspect": [["export", "runs/first", "--as", "inspect", "--out", "logs"]],
    "parquet": [["publish", "runs/first", "--to", "dataset"]],
    "ray": [["run", "mime/mcq", "--data", "mini", "--model", "random", "--limit", "4", "--executor", "ray"]],
    "study": [
        ["study", "new", "study", "--kind", "mcq", "--from", "mime", "--data", "mini", "--limit", "4"],
        ["study", "check", "study"],
        ["judge", "plan", "runs/judged", "--count", "2", "--study", "planned"],
        ["items", "runs/first", "runs/second"],
    ],
    "trackers": [
        ["publish", "runs/first", "--tensorboard", "curves"],
        ["publish", "runs/first", "--mlflow", "scores"],
    ],
    "train": [["train", "recipes"], ["train", "sizes"]],
    "transformers": [[*RUN[:-3], "transformers/checkpoint", "--limit", "1", "--out", "runs/local"]],
    "web": [["view", "runs", "--export", "site"]],
}
"""What each extra is for."""


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build_wheels(tmp_path_factory.mktemp("wheels"))


def use(
    folder: Path, wheels: dict[str, Path], runs: Path, extra: str, commands: list[list[str]]
) -> list[dict[str, Any]]:
    """Make the environment, and run the help of all commands and these commands in it."""
    python = make_environment(folder / "environment", wheels, extra)
    home = folder / "home"
    shutil.copytree(runs, home)
    environment = {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "COLUMNS": "80",
        "OMP_NUM_THREADS": "1",
        # The client of the extra writes to servers; without one, to files, if it is allowed to.
        "MLFLOW_TRACKING_URI": f"file://{home}/mlruns",
        "MLFLOW_ALLOW_FILE_STORE": "true",
    }
    driver = Path(__file__).with_name("install_driver.py")
    done = subprocess.run(
        [str(python), str(driver), str(home), json.dumps(commands)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    results = [json.loads(line) for line in done.stdout.splitlines()]
    for result in results:
        assert "Traceback" not in result["errors"], f"{result['words']}\n{result['errors']}"
        if result["words"][-1] == "--help":
            assert result["code"] == 0 and "Usage: vivant" in result["out"], result
            assert max(map(len, result["out"].splitlines())) <= 80, result["words"]
    return results[-len(commands) :]


def test_the_wheel_alone_evaluates_analyses_and_names_the_extra_of_everything_else(
    tmp_path: Path, wheels: dict[str, Path], runs: Path
) -> None:
    refused = list(NEEDS_EXTRA.values())
    with standin.openai(lambda _: standin.openai_says("A")) as server:
        served = [
            *RUN[:-4],
            "--model",
            "openai/x",
            "--base-url",
            f"http://127.0.0.1:{server.port}/v1",
            "--limit",
            "4",
        ]
        works = [*KERNEL, served]
        results = use(tmp_path, wheels, runs, "", [*works, *(words for words, _ in refused)])
    assert len(server.requests) == 4
    for result in results[: len(works)]:
        assert result["code"] == 0, result
    for result, (_, remedy) in zip(results[len(works) :], refused, strict=True):
        assert result["code"] == 1 and remedy in result["errors"] and not result["out"], result
        assert result["errors"].count("\n") == 1, result["errors"]


@pytest.fixture(scope="session")
def checkpoints(runs: Path) -> None:
    """Put small models in the hub's own formats beside the runs."""
    tiny_models.build("qwen", runs / "checkpoint")
    tiny_models.diffusion_pipeline(runs / "pipeline")


@pytest.mark.usefixtures("checkpoints")
@pytest.mark.parametrize(
    "extra",
    # The trackers are installed apart, by `make test-full`.
    [pytest.param(extra, marks=[pytest.mark.full] if extra == "trackers" else []) for extra in USES],
)
def test_an_extra_alone_is_enough_for_what_it_is_for(
    tmp_path: Path, wheels: dict[str, Path], runs: Path, extra: str
) -> None:
    for result in use(tmp_path, wheels, runs, extra, USES[extra]):
        assert result["code"] == 0, result
    if extra == "diffusers":
        assert len(list((tmp_path / "home/runs/drawn/media").iterdir())) == 1, "one image was drawn"
