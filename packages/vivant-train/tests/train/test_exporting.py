"""What leaves: weights that transformers loads by itself, questions and recipes for other trainers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from tests.support import hub_checkpoints as hub
from tests.support.train_kit import COLOURS, QUESTIONS, write_questions, write_world
from tests.train.test_backbones import write_chat, write_tokenizer
from tests.train.test_features import make_published
from vivant.core.errors import UsageError
from vivant_train.cli.train import app


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short training of a whole InternVL, and its recipe."""

    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    folder = tmp_path_factory.mktemp("export")
    world = write_world(folder / "world", 6, side=32, times=8, tasks=("tag",))
    chat = write_tokenizer(write_chat(folder / "chat"))
    content = make_published(world, chat, folder / "out", learning_rate=0.01)
    (folder / "recipe.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    train(make_recipe(content))
    return folder


@pytest.mark.parametrize("lora", ["merged", "apart"])
def test_transformers_loads_what_was_trained(folder: Path, tmp_path: Path, lora: str) -> None:
    import torch
    from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer, InternVLForConditionalGeneration

    from vivant_train.checkpoints import load_model

    out = tmp_path / "hf"
    command = ["export", str(folder / "out" / "last"), str(out), "--to", "transformers", "--lora", lora]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "Without: temporal branch, gated fusion" in result.output
    model, _ = load_model(folder / "out" / "last")
    ids = hub.draw_ids(1, 7)
    words = AutoModelForCausalLM.from_pretrained(out / "language_model").eval()
    if lora == "apart":
        from peft import PeftModel

        words = PeftModel.from_pretrained(words, out / "adapter")
    with torch.no_grad():
        wanted = model.language_model(input_ids=ids).logits
        assert torch.allclose(words(input_ids=ids).logits, wanted, atol=1e-4)
        pixels = hub.draw_pixels(1, 56)
        tower = AutoModel.from_pretrained(out / "vision_tower").eval()
        assert torch.allclose(
            tower(pixel_values=pixels).last_hidden_state[:, 1:], model.eyes(pixels), atol=1e-4
        )
        if lora == "merged":
            whole, info = InternVLForConditionalGeneration.from_pretrained(
                out / "internvl", output_loading_info=True
            )
            assert not info["missing_keys"] and not info["unexpected_keys"]
            assert torch.allclose(whole.eval()(input_ids=ids).logits, wanted, atol=1e-4)
    assert AutoTokenizer.from_pretrained(out / "language_model").eos_token_id == 2


def test_questions_and_settings_for_other_trainers(folder: Path, tmp_path: Path) -> None:
    for trainer in ("ms-swift", "llama-factory"):
        out = tmp_path / trainer
        result = CliRunner().invoke(app, ["export", str(folder / "recipe.yaml"), str(out), "--as", trainer])
        assert result.exit_code == 0, result.output
        rows = [json.loads(line) for line in (out / "questions.jsonl").read_text().splitlines()]
        assert len(rows) == 5
        for row in rows:
            user, assistant = row["messages"]
            assert (
                user["content"].count("<video>") == len(row["videos"]) == 1
                and Path(row["videos"][0]).is_file()
            )
            assert "#" in user["content"] and assistant["content"] in "ABCD"
        recipe = yaml.safe_load((out / "recipe.yaml").read_text())
        assert recipe["max_steps"] == 3 and recipe["lora_rank"] == 2
        if trainer == "ms-swift":  # its version 4 knows no train_type
            assert recipe["tuner_type"] == "lora" and "target_modules" not in recipe
            chosen = re.compile(recipe["target_regex"])
            for name in (
                "model.language_model.layers.0.self_attn.q_proj",  # transformers
                "language_model.model.layers.0.attention.wqkv",  # OpenGVLab
            ):
                assert chosen.fullmatch(name)
            for name in (
                "model.vision_tower.encoder.layer.0.attention.q_proj",
                "model.visual.blocks.0.attn.q_proj",
                "model.language_model.layers.0.mlp.up_proj",
            ):
                assert not chosen.fullmatch(name)
        else:  # without a template it takes no videos
            assert recipe["template"] == "intern_vl" and recipe["lora_target"].startswith("q_proj,k_proj")
            assert "name an edition that ends in -hf" in (out / "recipe.yaml").read_text()
    info = json.loads((tmp_path / "llama-factory" / "dataset_info.json").read_text())
    # A column that is named and not there is a KeyError in LLaMA-Factory.
    assert info["vivant"]["columns"] == {"messages": "messages", "videos": "videos"}


def test_a_mark_that_a_user_wrote_stands_for_no_video(tmp_path: Path) -> None:
    from vivant_train.exporting import export_questions
    from vivant_train.settings import make_recipe

    world = write_world(tmp_path / "world", 5, side=32, times=4, tasks=("tag",))
    write_questions(world, {colour: f"<image> of {colour} <video>" for colour in COLOURS})
    source = {"benchmark": str(world / QUESTIONS), "where": ["kind=colour"]}
    assert (
        export_questions(make_recipe({"data": {"sources": [source]}}), tmp_path, tmp_path / "x", "ms-swift")
        == 5
    )
    for line in (tmp_path / "x" / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        text = "".join(message["content"] for message in row["messages"])
        assert text.count("<video>") == len(row["videos"]) == 1 and "<image>" not in text
        assert "< image> of " in row["messages"][1]["content"]


def test_a_tracker_that_is_not_installed_is_one_line(folder: Path, tmp_path: Path) -> None:
    from vivant_train.settings import make_recipe

    content = yaml.safe_load((folder / "recipe.yaml").read_text())
    content["out"] = str(tmp_path / "out")
    content["train"]["trackers"] = ["comet"]
    with pytest.raises(UsageError, match="comet"):
        make_recipe(content)
