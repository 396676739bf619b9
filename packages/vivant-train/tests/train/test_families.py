"""Small models of real families with random weights, as checkpoints on disk, through a whole training and use."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support import hub_checkpoints as hub
from tests.support.train_kit import read_rows, recipe, write_world
from tests.train.test_backbones import write_tokenizer
from vivant.core.types import FramePolicy
from vivant.engine.evaluation import evaluate

pytestmark = pytest.mark.usefixtures("short_replies", "engine_here")

_SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
_CHAT = "{% for turn in messages %}<u>{{ turn.content }}</u>{% endfor %}{% if add_generation_prompt %}<a>{% endif %}"


def save_encoder(folder: Path, family: str) -> Path:
    """A backbone as its own library writes it."""

    import torch
    from transformers import AutoConfig, AutoModel

    sides: dict[str, Any] = {"image_size": 32, "patch_size": 16}
    if family == "internvl_vision":
        sides = {"image_size": [32, 32], "patch_size": [16, 16]}
    torch.manual_seed(2)
    AutoModel.from_config(AutoConfig.for_model(family, **_SMALL, **sides)).save_pretrained(folder)
    return folder


def save_language_model(folder: Path, family: str) -> Path:
    """A language model with a tokenizer that has a chat template."""

    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from vivant_train.model.processing import train_tokenizer

    tokenizer = train_tokenizer(
        ["Which of these four fits the video? A. my red ball on sea B. grass"] * 4, 400
    )
    tokenizer.chat_template = _CHAT
    vocabulary = {
        "vocab_size": len(tokenizer) + 4,  # the family's own class adds an end of text
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    config = AutoConfig.for_model(
        family, **_SMALL, num_key_value_heads=2, max_position_embeddings=1024, bos_token_id=None, **vocabulary
    )
    torch.manual_seed(3)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("seeing", "reading", "place"),
    [
        pytest.param("siglip_vision_model", "qwen2", "input", marks=pytest.mark.full),
        ("internvl_vision", "llama", "layers"),
    ],
)
def test_a_family_is_trained_kept_loaded_and_evaluated(
    tmp_path: Path, seeing: str, reading: str, place: str
) -> None:
    import torch
    from safetensors.torch import load_file

    from vivant_train.checkpoints import load_model
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    world = write_world(tmp_path / "world", 6, side=32, times=6, tasks=("tag", "topic"))
    vision, text = save_encoder(tmp_path / "eyes", seeing), save_language_model(tmp_path / "text", reading)
    content = recipe(world, out=str(tmp_path / "out"), train={"steps": 3, "row_tokens": 1024})
    content["model"] = {
        "vision": {"name": str(vision), "image_size": 32},
        "spatial": {"frames": 2, "grid": 2},
        "temporal": {"tokens": 2, "heads": 2, "window": 4},
        "fusion": {"place": place},
        "language": {"name": str(text), "lora": {"rank": 2, "alpha": 4}, "chat": True},
    }
    result = train(make_recipe(content))
    assert result.finished
    weights = load_file(result.model / "model.safetensors")
    assert not any(name.startswith("eyes.") for name in weights), "what never learns is fetched by its name"
    assert (result.model / "adapter" / "adapter_model.safetensors").is_file()
    model, _ = load_model(result.model)
    original = load_file(vision / "model.safetensors")
    state = model.eyes.model.state_dict()
    assert all(torch.equal(state[name], value) for name, value in original.items() if name in state)
    assert set(state) & set(original)
    assert any(float(value.abs().max()) > 0 for name, value in model.state_dict().items() if "lora_B" in name)
    run = evaluate(
        "mimic/tag",
        f"mimic-chat/{result.model}",
        data=(str(world),),
        frames=FramePolicy(count=4),
        out=str(tmp_path / "run"),
        cache="off",
    )
    statuses = {record.reply.status for record in run.records().values()}
    assert len(run.records()) == 6 and statuses <= {"ok", "truncated"}


_PUBLISHED = {
    "spatial": {"frames": 2, "grid": 2},
    "temporal": {"init": "features", "window": 4, "tokens": 4, "patches": 2, "cells": 2, "heads": 4},
    "fusion": {"place": "both", "start": 0.0, "every": 1, "width": 32},
}


def make_parts(folder: Path, family: str) -> dict[str, Any]:
    """The model settings of a small checkpoint of this family, in the published architecture."""
    lora = {"lora": {"rank": 2, "alpha": 4}, "chat": True}
    if family.startswith("qwen"):
        _, patch = hub.save_qwen_vl(folder / "vl", family)
        checkpoint = str(write_tokenizer(folder / "vl"))
        return {
            **_PUBLISHED,
            "checkpoint": checkpoint,
            "vision": {"image_size": 4 * patch},
            "language": lora,
        }
    vision, language = folder / "tower", folder / "words"
    hub.write_checkpoint(vision, hub.VIT_6B, hub.vit_weights(hub.VIT_6B), dtype="bfloat16")
    if family == "internlm3":
        hub.write_checkpoint(language, hub.INTERNLM3, hub.llama_weights(hub.INTERNLM3), dtype="bfloat16")
        write_tokenizer(language)
    else:
        save_language_model(language, "qwen3")
    return {
        **_PUBLISHED,
        "vision": {"name": str(vision), "image_size": 56},
        "language": {"name": str(language), **lora},
    }


@pytest.mark.parametrize(
    "family",
    [
        *(
            pytest.param(family, marks=pytest.mark.full)
            for family in ("internlm3", "internvit and qwen3", "qwen2_5_vl")
        ),
        "qwen3_vl",
    ],
)
def test_a_family_resumes_and_is_loaded_by_transformers_alone(tmp_path: Path, family: str) -> None:
    import torch
    from transformers import AutoModel, AutoModelForCausalLM

    from vivant_train.checkpoints import list_checkpoints, load_model
    from vivant_train.exporting import export_transformers
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    world = write_world(tmp_path / "world", 4, side=32, times=6, tasks=("tag",))
    settings = {"steps": 2, "row_tokens": 512, "batch_tokens": 512, "learning_rate": 0.01}
    content = recipe(world, out=str(tmp_path / "out"), train=settings, checkpoint_every=1)
    content["model"] = make_parts(tmp_path, family)
    result = train(make_recipe(content))
    losses = read_rows(tmp_path / "out", "loss")
    shutil.rmtree(list_checkpoints(tmp_path / "out")[-1])
    assert train(make_recipe(content), resume=True).finished
    assert read_rows(tmp_path / "out", "loss") == losses and len(losses) == 2
    export_transformers(result.model, tmp_path / "hf")
    model, _ = load_model(result.model)
    words, missed = AutoModelForCausalLM.from_pretrained(
        tmp_path / "hf" / "language_model", output_loading_info=True
    )
    tower, blind = AutoModel.from_pretrained(tmp_path / "hf" / "vision_tower", output_loading_info=True)
    assert not any(each[kind] for each in (missed, blind) for kind in ("missing_keys", "unexpected_keys"))
    ids = torch.arange(5, 12)[None]
    with torch.no_grad():
        wanted = model.eval().language_model(input_ids=ids).logits
        assert torch.allclose(words.eval()(input_ids=ids).logits, wanted, atol=1e-4)
    for name, value in model.eyes.model.state_dict().items():
        assert torch.equal(tower.state_dict()[name].float(), value.float()), name
