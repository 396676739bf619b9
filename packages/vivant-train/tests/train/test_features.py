"""Cached features of frozen backbones, decoding on demand, and one encoding of each video an update."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from typer.testing import CliRunner

from tests.support import hub_checkpoints as hub
from tests.support.train_kit import recipe, write_world
from tests.train.test_backbones import write_chat, write_tokenizer
from vivant.core.errors import UsageError
from vivant.core.types import FramePolicy
from vivant_train.cli.train import app


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_world(tmp_path_factory.mktemp("features") / "world", 8, side=32, times=8)


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """InternVL2 in OpenGVLab's format, with InternLM2's tokenizer."""
    return write_tokenizer(write_chat(tmp_path_factory.mktemp("hub") / "chat"))


def make_published(world: Path, chat: Path, out: Path, **settings: Any) -> dict[str, Any]:
    """The published architecture at the size of a test."""
    content = recipe(
        world, out=str(out), train={"steps": 3, "row_tokens": 700, "batch_tokens": 2400, **settings}
    )
    content["model"] = {
        "checkpoint": str(chat),
        "vision": {"image_size": 56},
        "spatial": {"frames": 4, "grid": 2, "pool": "shuffle"},
        "temporal": {"init": "features", "window": 4, "tokens": 16, "patches": 2, "cells": 2, "heads": 4},
        "fusion": {"place": "both", "start": 0.0, "every": 1, "width": 32},
        "language": {"lora": {"rank": 2, "alpha": 4}, "chat": True},
    }
    return content


def read_losses(out: Path) -> list[str]:
    with (out / "metrics.csv").open(encoding="utf-8") as file:
        return [row["loss"] for row in csv.DictReader(file)]


def test_cached_features_give_the_losses_of_encoding_anew(
    world: Path, chat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vivant_train.checkpoints import load_model
    from vivant_train.data.frame_loader import FrameLoader
    from vivant_train.model.vision_encoder import VisionEncoder
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    content = make_published(world, chat, tmp_path / "anew", gradient_checkpointing=True)
    train(make_recipe(content))
    content["out"] = str(tmp_path / "cached")
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    command = ["features", "--config", str(tmp_path / "recipe.yaml")]
    first, second = (CliRunner().invoke(app, command) for _ in range(2))
    assert first.exit_code == second.exit_code == 0, first.output

    def refuse(*_: Any) -> Any:
        raise AssertionError("nothing is encoded or decoded again")

    monkeypatch.setattr(VisionEncoder, "forward", refuse)
    monkeypatch.setattr(FrameLoader, "load_frames", refuse)
    train(make_recipe(content))
    assert read_losses(tmp_path / "cached") == read_losses(tmp_path / "anew")
    assert read_losses(tmp_path / "anew")[0] != read_losses(tmp_path / "anew")[-1]
    model, _ = load_model(tmp_path / "cached" / "last")
    assert model.inside is not None
    assert any(float(block.gates["temporal"].weight.detach().abs()) > 0 for block in model.inside.blocks)


def test_features_that_change_are_not_cached(world: Path, tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe(world)), encoding="utf-8")
    result = CliRunner().invoke(app, ["features", "--config", str(tmp_path / "recipe.yaml")])
    assert result.exit_code != 0
    assert isinstance(result.exception, UsageError) or "change as the model learns" in result.output


def test_each_video_is_encoded_once_an_update(
    world: Path, chat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four questions about each of two videos, one row a pass: eight frames of a video go through the tower once."""

    from vivant_train.model.vision_encoder import VisionEncoder
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    seen: list[int] = []
    forward = VisionEncoder.forward

    def count(self: Any, pixels: Any) -> Any:
        seen.append(len(pixels))
        return forward(self, pixels)

    monkeypatch.setattr(VisionEncoder, "forward", count)
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    content = make_published(
        world, chat, tmp_path / "out", steps=1, micro_rows=1, per_video=4, batch_tokens=900
    )
    train(make_recipe(content))
    with (tmp_path / "out" / "metrics.csv").open(encoding="utf-8") as file:
        assert int(next(csv.DictReader(file))["tokens"]) > 600, "several questions"
    assert sum(seen) <= 3 * 8, "frames of at most three videos"


def test_temporal_tokens_are_all_different(world: Path, chat: Path, tmp_path: Path) -> None:
    import torch

    from vivant_train.checkpoints import load_model
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    train(make_recipe(make_published(world, chat, tmp_path / "out", steps=1)))
    model, _ = load_model(tmp_path / "out" / "last")
    frames = torch.randint(0, 256, (8, 56, 56, 3), dtype=torch.uint8)
    with torch.no_grad():
        tokens = model.encode_videos(frames, [8])["temporal"][0]
    distances = torch.cdist(tokens, tokens) + torch.eye(len(tokens)) * 9
    assert tokens.shape[0] == 16 and float(distances.min()) > 1e-4
    content = make_published(world, chat, tmp_path / "many", steps=1)
    content["model"]["temporal"]["tokens"] = 64
    with pytest.raises(UsageError, match="8 frames give only 32 different ones"):
        make_recipe(content)


def test_only_what_a_step_needs_is_decoded(world: Path, chat: Path, tmp_path: Path) -> None:
    """A folder whose other videos are missing trains its first step nevertheless."""

    from vivant_train.data.frame_loader import FrameLoader
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    shutil.copytree(world, tmp_path / "world")
    content = make_published(tmp_path / "world", chat, tmp_path / "out", steps=1, batch_tokens=700)
    content["data"]["max_failed"] = 1.0
    before = sorted((tmp_path / "world" / "videos").iterdir())
    opened: list[str] = []
    submit = FrameLoader._submit

    def note(self: Any, example: Any) -> Any:
        opened.append(example.video)
        return submit(self, example)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FrameLoader, "_submit", note)
        train(make_recipe(content))
    assert 0 < len(set(opened)) < len(before) - 2


def test_bf16_checkpoints_train_by_default_and_load_again(world: Path, tmp_path: Path) -> None:
    import torch

    from vivant_train.checkpoints import load_model
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    config, weights = hub.chat_checkpoint("qwen2")
    chat = write_tokenizer(hub.write_checkpoint(tmp_path / "chat", config, weights, dtype="bfloat16"))
    result = train(make_recipe(make_published(world, chat, tmp_path / "out")))
    assert result.finished
    model, processor = load_model(result.model)
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    ids = torch.tensor([processor.encode_prompt("the red ball", video=False)])
    assert model.generate(ids, max_new_tokens=2, do_sample=False).shape[1] <= 2


def test_backbones_that_learnt_stay_so_when_a_later_training_freezes_them(
    world: Path, chat: Path, tmp_path: Path
) -> None:
    import torch

    from vivant_train.checkpoints import load_model
    from vivant_train.feature_cache import FeatureCache, open_feature_cache
    from vivant_train.feature_extraction import write_features
    from vivant_train.model.config import TemporalSettings
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    def run(out: str, *, frozen: bool, begin: str = "") -> tuple[Any, dict[str, Any]]:
        content = make_published(world, chat, tmp_path / out, steps=1, learning_rate=0.01)
        content["model"]["vision"]["frozen"] = frozen
        content["model"] |= {"temporal": {"on": False}, "fusion": {"place": "input"}}
        content["model"]["language"] = {"chat": True, "frozen": frozen}
        if begin:
            content["begin"] = str(tmp_path / begin / "last")
        train(make_recipe(content))
        return load_model(tmp_path / out / "last")[0], content

    first, _ = run("first", frozen=False)
    second, content = run("second", frozen=True, begin="first")
    wanted, found = first.state_dict(), second.state_dict()
    names = [name for name in wanted if name.startswith(("eyes.", "language_model."))]
    assert len(names) > 60 and all(torch.equal(wanted[name], found[name]) for name in names)
    settings = make_recipe(content).model
    FeatureCache(second.settings, FramePolicy(), "no").folder.mkdir(parents=True, exist_ok=True)
    assert open_feature_cache(settings, FramePolicy(), "no") is not None, "the named backbone's"
    assert open_feature_cache(second.settings, FramePolicy(), "no", second.trained) is None
    with pytest.raises(UsageError, match="has learnt"):
        write_features(make_recipe(content))
    second.settings = msgspec.structs.replace(second.settings, temporal=TemporalSettings(init="features"))
    with pytest.raises(UsageError, match=r"init: features needs a backbone that does not learn"):
        second.set_trainable(first.settings)
    config = tmp_path / "second" / "last" / "config.json"
    marked = json.loads(config.read_text("utf-8"))
    assert marked.pop("trained") == ["language", "vision"]
    config.write_text(json.dumps(marked), encoding="utf-8")  # as earlier versions wrote it
    assert load_model(config.parent)[0].trained == {"language", "vision"}
