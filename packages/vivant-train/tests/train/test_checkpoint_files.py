"""Files of checkpoints: fetched when they are asked for, and refused where a weight is missing, broken or left over."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support import hub_checkpoints as hub
from vivant.models.base import ModelError


def break_missing(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    weights.pop(next(name for name in weights if name.endswith(("ls1", "ffn_norm.weight"))))
    save_file(weights, folder / "model.safetensors")


def break_unexpected(folder: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    save_file({**weights, "encoder.layers.9.ls1": torch.zeros(32)}, folder / "model.safetensors")


def break_half(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-2000])


def break_config(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config.pop("qkv_bias")
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (break_missing, "lacks encoder.layer"),
        (break_unexpected, "cannot use"),
        (break_half, "half downloaded"),
        (break_config, "does not state qkv_bias"),
    ],
)
def test_a_checkpoint_that_does_not_give_every_weight_is_refused(
    tmp_path: Path, damage: Any, message: str
) -> None:
    import torch

    from vivant_train.backbones.loading import load_vision_tower

    folder = hub.write_checkpoint(tmp_path / "vit", hub.VIT_300M, hub.vit_weights(hub.VIT_300M))
    damage(folder)
    with pytest.raises(ModelError, match=message):
        load_vision_tower(str(folder), dtype=torch.float32)


def test_weights_are_downloaded_when_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub
    import torch

    from vivant_train.backbones.loading import load_language_model, read_language_config

    stored = hub.write_checkpoint(tmp_path / "hub", hub.INTERNLM2, hub.internlm2_weights(hub.INTERNLM2))
    cache = tmp_path / "cache"
    cache.mkdir()

    def download(name: str, allow_patterns: list[str]) -> str:
        assert name == "internlm/for-this-test"
        for file in stored.iterdir():
            if any(file.match(pattern) for pattern in allow_patterns):
                shutil.copy(file, cache)
        return str(cache)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert read_language_config("internlm/for-this-test").hidden_size == 64
    assert not (cache / "model.safetensors").exists(), "memory is predicted without them"
    model = load_language_model("internlm/for-this-test", dtype=torch.float32)
    assert model.config.num_hidden_layers == 2 and (cache / "model.safetensors").is_file()


def test_half_a_download_and_the_wrong_family_are_refused(tmp_path: Path) -> None:
    import torch

    from vivant_train.backbones.loading import load_language_model, load_vision_tower

    folder = hub.write_checkpoint(
        tmp_path / "lm", hub.INTERNLM2, hub.internlm2_weights(hub.INTERNLM2), shards=3
    )
    with pytest.raises(ModelError, match="has no vision tower"):
        load_vision_tower(str(write_qwen(tmp_path / "qwen")), dtype=torch.float32)
    vit = hub.write_checkpoint(tmp_path / "vit", hub.VIT_300M, hub.vit_weights(hub.VIT_300M))
    with pytest.raises(ModelError):
        load_language_model(str(vit), dtype=torch.float32)
    (folder / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(ModelError, match=r"model-00002-of-00003\.safetensors is missing"):
        load_language_model(str(folder), dtype=torch.float32)


def write_qwen(folder: Path) -> Path:
    return hub.write_checkpoint(folder, hub.QWEN2, hub.llama_weights(hub.QWEN2, qkv_bias=True))


def test_a_native_language_model_that_lacks_a_weight_is_refused(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    from vivant_train.backbones.loading import load_language_model, read_language_config

    folder = write_qwen(tmp_path / "qwen")
    assert read_language_config(str(folder)).model_type == "qwen2"
    load_language_model(str(folder), dtype=torch.float32)
    weights = load_file(folder / "model.safetensors")
    weights.pop("model.layers.1.self_attn.k_proj.bias")
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ModelError, match=r"lacks model.layers.1.self_attn.k_proj.bias"):
        load_language_model(str(folder), dtype=torch.float32)
