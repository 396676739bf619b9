"""`vivant build mimic`: what is wrong is told in a line, and `all` does what its options say."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.support.helpers import vivant
from vivant_build.cli import mimic
from vivant_build.cli.mimic_tasks import STEPS
from vivant_build.mimic.steps import BuildStep, begin_step


@pytest.mark.parametrize(
    ("step", "written", "said"),
    [
        (
            "all",
            "",
            r"clean: {work}/ingest is not there yet; first run: vivant build mimic ingest --work {work}",
        ),
        (
            "split",
            "",
            r"split: {work}/clean is not there yet; first run: vivant build mimic clean --work {work}",
        ),
        (
            "select",
            "select: {tarjet: 3}",
            "{config} at select: Unknown field 'tarjet'; did you mean 'target'?",
        ),
        ("all", "select: {target: many}", "{config}: Expected `int`, got `str` - at `$.select.target`"),
    ],
)
def test_a_mistake_is_told_in_one_line(step: str, written: str, said: str, tmp_path: Path) -> None:
    work, config = tmp_path / "work", tmp_path / "own.yaml"
    config.write_text(written)
    done = vivant("build", "mimic", step, "--work", str(work), "--config", str(config), cwd=tmp_path)
    assert done.returncode == 1
    wanted = said.replace("{work}", str(work)).replace("{config}", str(config))
    assert done.stderr.splitlines() == [f"vivant: {wanted}"]


@pytest.mark.parametrize("force", [False, True])
def test_all_forces_every_step_or_none(force: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced: dict[str, bool] = {}

    def fake(name: str) -> Any:
        def run(work: Path, *_: object, force: bool = False, **__: object) -> BuildStep:
            forced[name] = force
            with begin_step(work, name, [], {}, force=force) as step:
                return step

        return run

    monkeypatch.setattr("vivant_build.mimic.cleaning.clean", fake("clean"))
    monkeypatch.setattr("vivant_build.mimic.topics.needs_topics", lambda *_: False)
    monkeypatch.setattr(mimic, "STEPS", {name: fake(name) for name in STEPS})
    monkeypatch.setattr(mimic, "bar", lambda: nullcontext(lambda *_: None))
    mimic.everything(tmp_path, force=force)
    assert list(forced) == ["clean", "select", "split", "tasks", "audit", "pool", "train", "publish"]
    assert set(forced.values()) == {force}
