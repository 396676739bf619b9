"""What goes wrong in a training: each is one line that names the place and the remedy."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.helpers import logged_messages
from tests.support.train_kit import recipe, write_world
from vivant.core.errors import DataError, UsageError, VivantError
from vivant.models.base import ModelOptions
from vivant.models.registry import create


@pytest.fixture
def world(tmp_path: Path) -> Path:
    return write_world(tmp_path / "world", 5, side=32, times=4)


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from vivant_train.cli.train import app

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "torch" else real(name, *a)
    )
    for arguments in (["sizes"], ["mimic-chat", "--config", "any.yaml"]):
        ran = CliRunner().invoke(app, arguments)
        assert isinstance(ran.exception, UsageError)
        assert "'torch'" in str(ran.exception) and "pip install 'vivant[train]'" in str(ran.exception)
    with pytest.raises(UsageError, match=r"pip install 'vivant\[train\]'"):
        create("mimic-chat/somewhere", ModelOptions())


def test_the_folder_of_a_training_names_its_best_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "config.json").touch()
    with pytest.raises(UsageError, match=f"the best one is mimic-chat/{tmp_path}/best$"):
        create(f"mimic-chat/{tmp_path}", ModelOptions())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train": {"device": "mps"}}, "there is no mps on this machine; write cpu"),
        ({"train": {"device": "gpu"}}, "train.device is 'gpu'; write auto, cpu, cuda or mps"),
        ({"train": {"device": "cpu", "precision": "fp16"}}, "fp16 needs a CUDA device"),
        ({"train": {"device": "cpu", "fsdp": {"shards": 2}}}, "train.fsdp"),
    ],
)
def test_devices_that_are_not_there(world: Path, changes: dict[str, Any], message: str) -> None:
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    with pytest.raises(UsageError, match=message):
        train(make_recipe(recipe(world, **changes)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "medium"}, "Unknown size 'medium'"),
        (
            {"model": {"size": "tiny", "fusion": {"place": "output"}}},
            r"Invalid enum value 'output'.*model\.fusion",
        ),
        ({"train": {"learning_rat": 1}}, "learning_rat"),
        ({"train": {"steps": 0}}, r"train\.steps is 0; it must be at least 1"),
        ({"model": {"size": "tiny", "vision": {"frozen": True}}}, "begins from chance, so it must learn"),
        ({"model": {"size": "tiny", "temporal": {"init": "backbone"}}}, "has no layers to begin from"),
        (
            {"model": {"size": "tiny", "temporal": {"init": "features"}}},
            r"model\.temporal\.init: features needs a backbone that does not learn; write vision\.frozen: true",
        ),
        ({"train": {"row_tokens": 3}}, "a video alone takes 3 tokens"),
    ],
)
def test_recipes_that_cannot_be(world: Path, changes: dict[str, Any], message: str) -> None:
    from vivant_train.settings import make_recipe

    with pytest.raises(UsageError, match=message):
        make_recipe(recipe(world, **changes))


@pytest.mark.parametrize("name", ["deepspeed", "fsdp"])
def test_how_weights_are_shared_out_is_said_by_the_recipe_alone(
    world: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    monkeypatch.setenv(f"ACCELERATE_USE_{name.upper()}", "true")
    with pytest.raises(UsageError, match=rf"launched with {name}; write train\.{name} in the recipe"):
        train(make_recipe(recipe(world)))
    assert not (world.parent / "out").exists()


def test_packages_that_a_recipe_needs_are_named(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vivant_train.model.config import LanguageSettings, LoraSettings
    from vivant_train.model.language import make_language_model
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    real = importlib.util.find_spec
    absent = ("deepspeed", "bitsandbytes")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name in absent else real(name, *a)
    )
    with pytest.raises(UsageError, match="'deepspeed'"):
        train(make_recipe(recipe(world, train={"deepspeed": {"zero_stage": 1}})))
    with pytest.raises(UsageError, match="'bitsandbytes'"):
        make_language_model(
            LanguageSettings(quantize="nf4", lora=LoraSettings()), "no/model", pretrained=True
        )


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [
        ({"language": {"lora": None}}, {}, "quantized weights cannot learn"),
        ({"vision": {"name": "", "config": {"model_type": "vit"}}}, {}, "both backbones need a name"),
        ({}, {"fsdp": {}}, r"train\.fsdp cannot share out quantized weights"),
    ],
)
def test_quantized_weights_stay_as_they_are(
    world: Path, model: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    from vivant_train.settings import make_recipe

    content = recipe(world, train={"row_tokens": 4096, **settings})
    content["data"]["frames"] = {"count": 16}
    language = {"quantize": "nf4", **model.get("language", {})}
    content["model"] = {"size": "1b", **model, "language": language}
    with pytest.raises(UsageError, match=message):
        make_recipe(content)


def test_files_that_are_no_recipe(tmp_path: Path) -> None:
    from vivant_train.settings import load_recipe

    with pytest.raises(UsageError, match="Cannot read the recipe"):
        load_recipe(tmp_path / "none.yaml")
    (tmp_path / "broken.yaml").write_text("a: [", encoding="utf-8")
    with pytest.raises(UsageError, match="is not YAML"):
        load_recipe(tmp_path / "broken.yaml")
    (tmp_path / "list.yaml").write_text(yaml.safe_dump([1]), encoding="utf-8")
    with pytest.raises(UsageError, match="should be a mapping"):
        load_recipe(tmp_path / "list.yaml")


def test_a_broken_video_is_left_out_and_counted_until_there_are_too_many(world: Path) -> None:
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    (world / "videos" / "v0001.mp4").write_bytes(b"not a video at all")
    content = recipe(world, data={"max_failed": 0.3}, train={"steps": 1}, out=str(world / "out"))
    with logged_messages() as messages:
        train(make_recipe(content))
    assert any("v0001.mp4" in line for line in messages)
    assert "1 videos cannot be used; their questions are left out." in messages
    assert (world / "out" / "metrics.csv").read_text().splitlines()[-1].split(",")[7] == "1", "skipped"
    content = recipe(world, data={"max_failed": 0.2}, out=str(world / "other"))
    with pytest.raises(DataError, match=r"1 of 4 videos cannot be used, more than the share of 0\.2.*v0001"):
        train(make_recipe(content))


def test_options_that_do_not_fit_a_row(world: Path) -> None:
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    messages = {
        12: "None of the 16 examples fits into a row of 12 tokens",
        45: "are longer than train.row_tokens",
    }
    for tokens, line in messages.items():
        content = recipe(world, train={"row_tokens": tokens, "steps": 3}, out=str(world / f"out{tokens}"))
        with pytest.raises(VivantError, match=line):
            train(make_recipe(content))


def test_a_loss_that_is_no_number_stops_and_keeps_the_last_good_checkpoint(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vivant_train.checkpoint_store import TrainingError
    from vivant_train.checkpoints import list_checkpoints, load_state
    from vivant_train.model.modeling import MimicChat
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    usual = MimicChat.forward
    passes = 0

    def spoilt(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal passes
        passes += 1
        out = usual(self, *args, **kwargs)
        return out if passes < 4 else type(out)(loss=out.loss * float("nan"))

    monkeypatch.setattr(MimicChat, "forward", spoilt)
    out = world.parent / "out"
    with pytest.raises(TrainingError) as caught:
        train(make_recipe(recipe(world)))
    message = str(caught.value)
    assert "The loss of step 3 (epoch " in message and "step-00000002" in message and "mimic/" in message
    assert [path.name for path in list_checkpoints(out)] == ["step-00000002"]
    _, weights, _ = load_state(list_checkpoints(out)[-1])
    assert all(bool(value.isfinite().all()) for value in weights.values())
    monkeypatch.undo()
    assert train(make_recipe(recipe(world)), resume=True).finished


def test_a_folder_that_holds_something_else(world: Path) -> None:
    from vivant_train.checkpoints import CheckpointError, list_checkpoints
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    out = world.parent / "out"
    with pytest.raises(UsageError, match=r"no training in .* to resume"):
        train(make_recipe(recipe(world)), resume=True)
    train(make_recipe(recipe(world, train={"steps": 2})))
    with pytest.raises(UsageError, match="holds a training already; --resume goes on"):
        train(make_recipe(recipe(world, train={"steps": 2})))
    with pytest.raises(CheckpointError, match=r"another recipe \(train\.steps: 2 then, 3 now\)"):
        train(make_recipe(recipe(world, train={"steps": 3})), resume=True)
    (list_checkpoints(out)[-1] / "weights.safetensors").write_bytes(b"torn")
    with pytest.raises(CheckpointError, match=r"cannot be read.*delete it to go on from an earlier one"):
        train(make_recipe(recipe(world, train={"steps": 2})), resume=True)
    other = world.parent / "full"
    other.mkdir()
    (other / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="is not empty and holds no training"):
        train(make_recipe(recipe(world, out=str(other))))


def test_a_training_that_took_no_step_leaves_its_folder_to_another_recipe(world: Path) -> None:
    from vivant_train.checkpoints import list_checkpoints, load_model
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    refused = recipe(world, data={"vocabulary": 410}, train={"row_tokens": 20})
    with pytest.raises(VivantError, match=r"raise train\.row_tokens"):
        train(make_recipe(refused))
    out = world.parent / "out"
    assert (out / "recipe.json").is_file() and not list_checkpoints(out)
    train(make_recipe(recipe(world, train={"steps": 2})))
    assert json.loads((out / "recipe.json").read_text())["recipe"]["data"]["vocabulary"] == 420
    assert load_model(out / "last")[1].tokenizer.vocab_size > 410, "nor is the tokenizer the other's"


def test_a_training_of_an_earlier_version_is_refused_with_a_remedy(world: Path) -> None:
    from vivant_train.checkpoints import CheckpointError, list_checkpoints
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    out = world.parent / "out"
    train(make_recipe(recipe(world, train={"steps": 2})))
    content = json.loads((out / "recipe.json").read_text())
    content.pop("format")
    content["fingerprint"] = "0123456789abcdef"
    for odd in ({}, {"words_of_old": 3}):
        content["recipe"]["train"] |= odd
        (out / "recipe.json").write_text(json.dumps(content))
        with pytest.raises(CheckpointError, match=r"earlier version of Vivant.*\(begin: .*last\)"):
            train(make_recipe(recipe(world, train={"steps": 2})), resume=True)
    assert list_checkpoints(out), "nothing is lost"


def test_a_checkpoint_of_another_model_is_refused(world: Path) -> None:
    from safetensors.torch import load_file, save_file

    from vivant_train.checkpoints import CheckpointError, list_checkpoints
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    out = world.parent / "out"
    train(make_recipe(recipe(world, train={"steps": 2})))
    file = list_checkpoints(out)[-1] / "weights.safetensors"
    weights = load_file(file)
    name = next(name for name in weights if name.startswith("temporal."))
    for changed, message in (
        ({n: v for n, v in weights.items() if n != name}, f"it lacks {name}"),
        (
            {**weights, "temporal.other": weights[name].clone()},
            "it has temporal.other, which this model has not",
        ),
    ):
        save_file(changed, file)
        with pytest.raises(CheckpointError, match=f"does not fit this model: {message}"):
            train(make_recipe(recipe(world, train={"steps": 2})), resume=True)


@pytest.mark.parametrize(
    ("evaluation", "message"),
    [
        ({"benchmark": "mimic/topic", "data": "nowhere"}, "nowhere"),
        ({"benchmark": "mimic/topic", "data": "WORLD", "where": ["platform=moon"]}, "moon"),
        ({"benchmark": "mimic/topics", "data": "WORLD"}, "did you mean"),
        ({"benchmark": "mimic/topic", "data": "WORLD", "style": "zeroshot"}, "did you mean 'zero-shot'"),
    ],
)
def test_an_evaluation_that_cannot_take_place_is_refused_before_the_first_step(
    world: Path, evaluation: dict[str, Any], message: str
) -> None:
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    evaluation = {k: str(world) if v == "WORLD" else v for k, v in evaluation.items()}
    with pytest.raises(VivantError, match=message):
        train(make_recipe(recipe(world, evaluation=evaluation)), world.parent)
    assert not (world.parent / "out").exists()


def test_a_kill_while_a_checkpoint_or_model_is_replaced_loses_none(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training that ends writes its last checkpoint again; a kill between the two renames leaves no name."""

    from vivant_train.checkpoints import STATE, copy_model, list_checkpoints
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    content = recipe(world, train={"steps": 2})
    out = world.parent / "out"
    train(make_recipe(content))
    names = sorted(path.name for path in out.iterdir())
    checkpoint = list_checkpoints(out)[-1]
    for folder in (checkpoint, out / "last"):
        kept = (folder / STATE).read_bytes() if folder == checkpoint else None
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", _kill)
            with pytest.raises(KeyboardInterrupt):
                copy_model(folder, folder)
        assert not folder.exists()
        if folder == checkpoint:
            with pytest.raises(UsageError, match="holds a training already"):
                train(make_recipe(content))
        with logged_messages() as messages:
            assert train(make_recipe(content), resume=True).finished
        assert f"Going on from {checkpoint}." in messages
        assert kept is None or (folder / STATE).read_bytes() == kept
    assert sorted(path.name for path in out.iterdir()) == names


def _kill(*_: Any) -> None:
    raise KeyboardInterrupt
