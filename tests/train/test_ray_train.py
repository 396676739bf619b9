"""The documented example of Ray Train, on two workers."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.support.train_kit import recipe, write_world

if TYPE_CHECKING:  # imported when the first test of this file runs: see tests/conftest.py
    from vivant.train.settings import make_recipe
    from vivant.train.trainer import train

PAGE = Path(__file__).parents[2] / "docs" / "train.md"


def read_example() -> str:
    """The example in the documentation: indented lines from its first import to the call of `fit`."""
    _, _, after = PAGE.read_text(encoding="utf-8").partition("    from ray.train import ScalingConfig\n")
    body, end, _ = after.partition(".fit()\n")
    assert end, "the example is there"
    return textwrap.dedent("    from ray.train import ScalingConfig\n" + body + end)


def read_losses(out: Path) -> list[float]:
    with (out / "metrics.csv").open(encoding="utf-8") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.xdist_group("ray")
@pytest.mark.timeout(600)
def test_the_example_trains_on_two_workers_with_the_losses_of_one(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", 10, side=32, times=6)
    settings = {"steps": 3, "micro_rows": 1, "batch_tokens": 900}
    train(make_recipe(recipe(world, out=str(tmp_path / "one"), train=settings)))
    file = tmp_path / "recipe.yaml"
    file.write_text(
        yaml.safe_dump(recipe(world, out=str(tmp_path / "two"), train=settings)), encoding="utf-8"
    )
    code = read_example()
    for old, new in (
        ("/shared/recipe.yaml", str(file)),
        ("num_workers=4", "num_workers=2"),
        ("use_gpu=True", "use_gpu=False"),
    ):
        assert old in code
        code = code.replace(old, new)
    script = tmp_path / "example.py"
    script.write_text("import ray\nray.init(num_cpus=2, include_dashboard=False)\n" + code, encoding="utf-8")
    # The cache and Ray's results stay in the test's folder.
    environment = {**os.environ, "HOME": str(tmp_path), "VIVANT_CACHE": str(tmp_path / "cache")}
    environment["RAY_USAGE_STATS_ENABLED"] = "0"
    ended = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    assert read_losses(tmp_path / "two") == pytest.approx(read_losses(tmp_path / "one"), rel=1e-4)
