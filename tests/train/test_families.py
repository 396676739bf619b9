"""Small models of real families with random weights, as checkpoints on disk, through a whole training and use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.train_kit import recipe, write_world
from vivant.core.types import FramePolicy
from vivant.engine.evaluation import evaluate

if TYPE_CHECKING:  # imported when the first test of this file runs: see tests/conftest.py
    import torch
    from safetensors.torch import load_file

    from vivant.train.checkpoints import load_model
    from vivant.train.model.processing import train_tokenizer
    from vivant.train.settings import make_recipe
    from vivant.train.trainer import train


_SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
_CHAT = "{% for turn in messages %}<u>{{ turn.content }}</u>{% endfor %}{% if add_generation_prompt %}<a>{% endif %}"


def save_encoder(folder: Path, family: str) -> Path:
    """A backbone as its own library writes it."""
    from transformers import AutoConfig, AutoModel

    sides: dict[str, Any] = {"image_size": 32, "patch_size": 16}
    if family == "internvl_vision":
        sides = {"image_size": [32, 32], "patch_size": [16, 16]}
    torch.manual_seed(2)
    AutoModel.from_config(AutoConfig.for_model(family, **_SMALL, **sides)).save_pretrained(folder)
    return folder


def save_language_model(folder: Path, family: str) -> Path:
    """A language model with a tokenizer that has a chat template."""
    from transformers import AutoConfig, AutoModelForCausalLM

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
    [("siglip_vision_model", "qwen2", "input"), ("internvl_vision", "llama", "layers")],
)
def test_a_family_is_trained_kept_loaded_and_evaluated(
    tmp_path: Path, seeing: str, reading: str, place: str
) -> None:
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
