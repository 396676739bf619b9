"""Memory that a recipe needs: counted before anything is loaded, refused where it does not fit."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.train_kit import join_all, read_rows, recipe, start_two, write_world
from vivant.core.errors import UsageError
from vivant_train.cli.train import app

pytestmark = pytest.mark.usefixtures("short_replies")


def make_large(tmp_path: Path, **settings: Any) -> Any:
    import msgspec

    from vivant_train.recipes import read_recipe_text
    from vivant_train.settings import load_recipe

    file = tmp_path / "recipe.yaml"
    file.write_text(read_recipe_text("mimic-8b"), encoding="utf-8")
    loaded, _ = load_recipe(file)
    return msgspec.structs.replace(loaded, train=msgspec.structs.replace(loaded.train, **settings))


def test_the_large_recipe_is_counted_and_refused_where_it_does_not_fit(tmp_path: Path) -> None:
    from vivant_train.memory import check_memory, predict_memory
    from vivant_train.recipes import read_recipe_text

    alone = predict_memory(make_large(tmp_path))
    shared = check_memory(make_large(tmp_path), card=40, processes=8)
    assert 15 < alone.weights < 20 and shared.weights < alone.weights / 3
    kept = predict_memory(make_large(tmp_path, gradient_checkpointing=False))
    assert kept.activations > 4 * alone.activations
    with pytest.raises(UsageError, match=r"needs about .* GB on each device, a card of 16 GB"):
        check_memory(make_large(tmp_path), card=16)
    (tmp_path / "recipe.yaml").write_text(read_recipe_text("mimic-8b"), encoding="utf-8")
    command = ["sizes", "--config", str(tmp_path / "recipe.yaml"), "--card", "80"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0 and "Activations" in result.output, result.output


def test_a_backbone_that_attends_over_time_is_counted() -> None:
    """Gradients go through the tower of every window; with checkpointing, one layer of one window is kept at a time."""

    from vivant_train.memory import predict_memory
    from vivant_train.settings import make_recipe

    branch = {"size": "1b", "temporal": {"init": "backbone", "tokens": 16, "cells": 1}}
    content = {"model": branch, "data": {"sources": [{"benchmark": "mimic/tag", "data": "mini"}]}}
    train_settings = {"row_tokens": 4096, "batch_tokens": 4096, "precision": "bf16"}
    kept = predict_memory(make_recipe({**content, "train": train_settings}))
    again = predict_memory(
        make_recipe({**content, "train": {**train_settings, "gradient_checkpointing": True}})
    )
    assert kept.activations > 20 and again.activations < kept.activations / 6


def test_a_disk_that_fills_leaves_the_last_good_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vivant_train import checkpoint_store
    from vivant_train.checkpoint_store import TrainingError
    from vivant_train.checkpoints import list_checkpoints, load_state, save_state
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    world = write_world(tmp_path / "world", 4, side=32, times=6, tasks=("tag",))
    content = recipe(world, out=str(tmp_path / "out"), train={"steps": 4})

    def fill(folder: Path, *args: Any) -> None:
        if folder.name == "step-00000004":
            raise OSError(28, "No space left on device")
        save_state(folder, *args)

    monkeypatch.setattr(checkpoint_store, "save_state", fill)
    with pytest.raises(
        TrainingError, match=r"No space left on device; the last good checkpoint is .*step-00000002"
    ):
        train(make_recipe(content))
    (saved,) = list_checkpoints(tmp_path / "out")
    assert load_state(saved)[0].position.step == 2
    monkeypatch.undo()
    assert train(make_recipe(content), resume=True).finished


def test_a_disk_that_fills_during_an_evaluation_costs_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vivant_train.checkpoint_store import TrainingError
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    world = write_world(tmp_path / "world", 6, side=32, times=6, tasks=("tag", "topic"))
    held_out = {"benchmark": "mimic/thinking", "data": str(world), "every": 3}
    content = recipe(world, out=str(tmp_path / "out"), train={"steps": 4}, evaluation=held_out)
    usual, written = os.pwrite, 0

    def write(file: int, line: bytes, at: int) -> int:
        nonlocal written
        written += 1
        if written > 2:
            raise OSError(28, "No space left on device")
        return usual(file, line, at)

    monkeypatch.setattr(os, "pwrite", write)  # what the log of a run writes with
    with pytest.raises(
        TrainingError,
        match=r"evaluation of step 3 .*log.jsonl: No space left.*last good checkpoint is .*step-00000002",
    ):
        train(make_recipe(content))
    monkeypatch.undo()
    result = train(make_recipe(content), resume=True)
    assert result.finished and result.best is not None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stages": [{"steps": 3}, {"steps": 4}]}, "7 steps together, train.steps is 6"),
        ({"stages": [{"steps": 6, "parts": ["eyes"]}]}, "eyes"),
        ({"fsdp": {}, "deepspeed": {"zero_stage": 2}}, "exclude each other"),
        ({"fsdp": {"wrap": 1}}, "there is no setting 'wrap'"),
    ],
)
def test_recipes_that_contradict_themselves_are_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    from vivant_train.settings import make_recipe

    with pytest.raises(UsageError, match=message):
        make_recipe(recipe(tmp_path, train=changes))


def make_stages(folder: Path) -> dict[str, Any]:
    """A recipe whose first stage trains the projectors alone, with all its checkpoints kept."""
    world = write_world(folder / "world", 4, side=32, times=6, tasks=("tag",))
    stages = [{"steps": 2, "parts": ["projectors"]}, {"steps": 2}]
    settings = {"steps": 4, "stages": stages}
    return recipe(world, out=str(folder / "out"), train=settings, checkpoint_every=1, keep=4)


def test_a_stage_trains_its_parts_alone(tmp_path: Path) -> None:
    from vivant_train.checkpoints import list_checkpoints, load_state
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    content = make_stages(tmp_path)
    train(make_recipe(content))
    first, second, third, _ = (load_state(path)[1] for path in list_checkpoints(tmp_path / "out"))
    moved = {name.partition(".")[0] for name in first if not first[name].equal(second[name])}
    assert moved <= {"projectors", "marks", "lines"} and "projectors" in moved
    assert any(not second[name].equal(third[name]) for name in second if name.startswith("language_model."))
    losses = read_rows(tmp_path / "out", "loss", "gradient_norm")
    for later in list_checkpoints(tmp_path / "out")[1:]:
        shutil.rmtree(later)
    assert train(make_recipe(content), resume=True).finished, "also where some weights have only rested"
    assert read_rows(tmp_path / "out", "loss", "gradient_norm") == losses


@pytest.mark.full
def test_a_sharded_training_resumes_within_a_stage(tmp_path: Path) -> None:
    from vivant_train.checkpoints import list_checkpoints
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    content = make_stages(tmp_path)
    train(make_recipe(content))
    losses = read_rows(tmp_path / "out", "loss", "gradient_norm")
    for later in list_checkpoints(tmp_path / "out")[1:]:
        shutil.rmtree(later)
    join_all(start_two({**content, "train": {**content["train"], "fsdp": {}}}, resume=True))
    shared = read_rows(tmp_path / "out", "loss", "gradient_norm")
    for row, same in zip(shared, losses, strict=True):
        assert [float(value) for value in row] == pytest.approx([float(value) for value in same], rel=1e-3)
