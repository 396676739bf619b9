"""Checkpoints in the formats of the hub's own repositories: features and logits are those of the originals' code.

The expected figures in `data/hub_expected.json` were computed with OpenGVLab's and InternLM's modeling code.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import hub_checkpoints as hub
from vivant.models.base import ModelError

if TYPE_CHECKING:
    from vivant_train.model.config import ModelSettings

DATA = Path(__file__).parent / "data"


def read_expected(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((DATA / "hub_expected.json").read_text())[name]
    return content


def assert_expected(values: Any, name: str) -> None:
    expected = read_expected(name)
    assert values[0, 0, :6].tolist() == pytest.approx(expected["first"], abs=2e-4)
    assert values[-1, -1, -6:].tolist() == pytest.approx(expected["last"], abs=2e-4)
    assert float(values.abs().sum()) == pytest.approx(expected["sum"], rel=1e-5)


@pytest.mark.parametrize(("size", "config"), [("vit_300m", hub.VIT_300M), ("vit_6b", hub.VIT_6B)])
def test_internvit_has_the_features_of_the_original(
    tmp_path: Path, size: str, config: dict[str, Any]
) -> None:
    import torch

    from vivant_train.backbones.loading import load_vision_tower

    folder = hub.write_checkpoint(tmp_path / "vit", config, hub.vit_weights(config))
    tower = load_vision_tower(str(folder), dtype=torch.float32)
    with torch.no_grad():
        assert_expected(tower(pixel_values=hub.draw_pixels(2, 56)).last_hidden_state, size)


def test_internlm2_has_the_logits_of_the_original_without_its_code(tmp_path: Path) -> None:
    import torch

    from vivant_train.backbones.conversion import split_grouped_rows
    from vivant_train.backbones.loading import load_language_model

    weights = hub.internlm2_weights(hub.INTERNLM2)
    folder = hub.write_checkpoint(tmp_path / "lm", hub.INTERNLM2, weights, shards=3)
    model = load_language_model(str(folder), dtype=torch.float32).eval()
    assert type(model).__name__ == "LlamaForCausalLM"
    with torch.no_grad():
        assert_expected(model(input_ids=hub.draw_ids(2, 12)).logits, "internlm2")
    fused = weights["model.layers.0.attention.wqkv.weight"]
    parts = split_grouped_rows(fused, model.config)
    plain = torch.cat([parts[name] for name in ("q_proj", "k_proj", "v_proj")])
    assert plain.shape == fused.shape and not torch.equal(plain, fused), "a plain split would have fitted too"


def test_packed_questions_of_internlm2_do_not_see_each_other(tmp_path: Path) -> None:
    import torch

    from vivant_train.backbones.loading import load_language_model

    folder = hub.write_checkpoint(tmp_path / "lm", hub.INTERNLM2, hub.internlm2_weights(hub.INTERNLM2))
    model = load_language_model(str(folder), dtype=torch.float32).eval()
    ids = hub.draw_ids(1, 20)
    positions = torch.cat([torch.arange(8), torch.arange(12)])[None]
    with torch.no_grad():
        packed = model(input_ids=ids, position_ids=positions, use_cache=False).logits
        alone = model(input_ids=ids[:, 8:]).logits
    assert torch.allclose(packed[:, 8:], alone, atol=1e-4)
    assert model.generate(ids, max_new_tokens=3, do_sample=False).shape == (1, 23)


def test_internlm3_and_bf16_files(tmp_path: Path) -> None:
    import torch

    from vivant_train.backbones.loading import load_language_model

    folder = hub.write_checkpoint(
        tmp_path / "lm3", hub.INTERNLM3, hub.llama_weights(hub.INTERNLM3), dtype="bfloat16"
    )
    model = load_language_model(str(folder), dtype=torch.bfloat16)
    assert model.dtype == torch.bfloat16 and model.config.head_dim == 16
    assert model.config.rope_parameters == {"rope_type": "dynamic", "rope_theta": 5e7, "factor": 6.0}


def write_chat(folder: Path, llm: str = "internlm2") -> Path:
    config, weights = hub.chat_checkpoint(llm)
    return hub.write_checkpoint(folder, config, weights, shards=2)


def to_native(chat: Path, folder: Path, *, early: bool) -> Path:
    """The same model in transformers' own format, made with its own class; `early` has the first release's names."""

    import torch
    from safetensors.torch import load_file, save_file
    from transformers import InternVLConfig, InternVLForConditionalGeneration

    from vivant_train.backbones.loading import load_language_model, load_vision_tower

    tower, words = (load(str(chat), dtype=torch.float32) for load in (load_vision_tower, load_language_model))
    config = InternVLConfig(
        vision_config=tower.config.to_dict(),
        text_config={**words.config.to_dict(), "tie_word_embeddings": False},
        image_token_id=600,
        tie_word_embeddings=False,
    )
    model = InternVLForConditionalGeneration(config)
    model.model.vision_tower.load_state_dict(tower.state_dict())
    model.model.language_model.load_state_dict(words.model.state_dict())
    model.lm_head.load_state_dict(words.lm_head.state_dict())
    _, weights = hub.chat_checkpoint()
    names = {"layer_norm": "0", "linear_1": "1", "linear_2": "3"}
    model.model.multi_modal_projector.load_state_dict(
        {f"{n}.{kind}": weights[f"mlp1.{i}.{kind}"] for n, i in names.items() for kind in ("weight", "bias")}
    )
    model.save_pretrained(folder)
    if early:
        stored = load_file(folder / "model.safetensors")
        renamed = {
            name.replace("lm_head.", "language_model.lm_head.")
            .replace("model.language_model.", "language_model.model.")
            .removeprefix("model."): value
            for name, value in stored.items()
        }
        save_file(renamed, folder / "model.safetensors", {"format": "pt"})
    return folder


def make_whole_settings(checkpoint: Path, **changes: Any) -> ModelSettings:
    import msgspec

    from vivant_train.model.config import ModelSettings

    content = {
        "checkpoint": str(checkpoint),
        "vision": {"image_size": 56},
        "spatial": {"frames": 2, "grid": 2, "pool": "shuffle"},
        "temporal": {"init": "features", "window": 4, "tokens": 4, "patches": 2, "cells": 2, "heads": 4},
        "fusion": {"place": "both", "start": 0.0, "every": 1, "width": 32},
        "language": {"lora": {"rank": 2, "alpha": 4}},
        **changes,
    }
    return msgspec.convert(content, ModelSettings)


@pytest.mark.parametrize("form", ["opengvlab", "hf", "early hf"])
def test_a_whole_internvl_reads_frames_as_before_until_the_temporal_branch_learns(
    tmp_path: Path, form: str
) -> None:
    import torch
    from transformers import InternVLForConditionalGeneration

    from vivant_train.model.config import MimicChatConfig
    from vivant_train.model.modeling import MimicChat

    chat = write_chat(tmp_path / "chat")
    native = to_native(chat, tmp_path / "hf", early=False)
    folder = chat if form == "opengvlab" else to_native(chat, tmp_path / form, early="early" in form)
    model = MimicChat(MimicChatConfig.from_settings(make_whole_settings(folder)), pretrained=True).eval()
    frames = torch.randint(0, 256, (5, 56, 56, 3), dtype=torch.uint8)
    patches = 2 * 4
    ids = torch.cat([hub.draw_ids(1, 3), torch.full((1, patches), 640 + 3), hub.draw_ids(1, 6)], dim=1)
    index = torch.zeros_like(ids)
    with torch.no_grad():
        mine = model(ids, frames, [5], question_videos=[0], video_index=index).logits
        reference = InternVLForConditionalGeneration.from_pretrained(native).eval()
        scaled = (frames[[0, 4]].float() / 255 - torch.tensor(model.settings.vision.mean)) / torch.tensor(
            model.settings.vision.spread
        )
        theirs = reference(
            input_ids=ids.masked_fill(ids == 643, 600), pixel_values=scaled.permute(0, 3, 1, 2)
        ).logits
    assert torch.allclose(mine, theirs, atol=2e-3)
    gate = model.inside.blocks[0].gates["temporal"]
    with torch.no_grad():
        gate.weight.fill_(1.0)
        moved = model(ids, frames, [5], question_videos=[0], video_index=index).logits
        backwards = model(
            ids, frames.flip(0)[[4, 1, 2, 3, 0]], [5], question_videos=[0], video_index=index
        ).logits
    assert not torch.allclose(mine, moved, atol=1e-2), "the temporal branch reaches the language model"
    assert not torch.allclose(moved, backwards, atol=1e-4), (
        "and tells an order that the spatial one does not see"
    )


@pytest.mark.parametrize("family", ["qwen2_5_vl", "qwen3_vl"])
def test_a_whole_qwen_vl_gives_tower_and_language_model(tmp_path: Path, family: str) -> None:
    import torch

    from vivant_train.model.config import MimicChatConfig
    from vivant_train.model.modeling import MimicChat

    whole, patch = hub.save_qwen_vl(tmp_path / "vl", family)
    side = 4 * patch
    settings = make_whole_settings(
        tmp_path / "vl",
        vision={"image_size": side, "mean": [0, 0, 0], "spread": [1, 1, 1]},
        spatial={"frames": 2, "grid": 2, "pool": "frames"},
    )
    model = MimicChat(MimicChatConfig.from_settings(settings), pretrained=True).eval()
    ids = hub.draw_ids(1, 9)
    frames = torch.randint(0, 256, (2, side, side, 3), dtype=torch.uint8)
    with torch.no_grad():
        assert torch.allclose(
            model.language_model(input_ids=ids).logits, whole(input_ids=ids).logits, atol=1e-4
        )
        tokens = model.encode_videos(frames, [2])["spatial"][0]
        pixels = (frames.float() / 255).permute(0, 3, 1, 2)
        flat = torch.stack([
            pixels[f, :, (r * 2 + i) * patch : (r * 2 + i + 1) * patch, (c * 2 + j) * patch : (c * 2 + j + 1) * patch]
            for f in range(2) for r in range(2) for c in range(2) for i in range(2) for j in range(2)
        ])[:, :, None].expand(-1, -1, 2, -1, -1).flatten(1)  # fmt: skip
        seen = whole.model.visual(flat, grid_thw=torch.tensor([[1, 4, 4]] * 2)).pooler_output
    assert torch.allclose(tokens, seen, atol=1e-4)


def test_siglip2_of_fixed_and_of_any_aspect(tmp_path: Path) -> None:
    import torch
    from transformers import AutoConfig, AutoModel

    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    for family, sides in (("siglip", {"image_size": 32, "patch_size": 16}), ("siglip2", {"num_patches": 16})):
        whole = AutoModel.from_config(
            AutoConfig.for_model(
                family,
                vision_config={**small, "patch_size": 16, **sides},
                text_config={**small, "vocab_size": 50},
            )
        ).eval()
        whole.save_pretrained(tmp_path / family)
        from vivant_train.model.config import VisionSettings
        from vivant_train.model.vision_encoder import VisionEncoder

        encoder = VisionEncoder(
            VisionSettings(image_size=64), name=str(tmp_path / family), pretrained=True
        ).eval()
        pixels = hub.draw_pixels(2, 64)
        with torch.no_grad():
            seen = encoder(pixels)
            if family == "siglip":
                same = whole.vision_model(pixel_values=pixels, interpolate_pos_encoding=True)
            else:
                flat = torch.stack([
                    pixels[:, :, r * 16 : r * 16 + 16, c * 16 : c * 16 + 16].permute(0, 2, 3, 1).flatten(1)
                    for r in range(4) for c in range(4)
                ], dim=1)  # fmt: skip
                same = whole.get_image_features(
                    flat, torch.ones(2, 16, dtype=torch.long), torch.full((2, 2), 4)
                )
        assert torch.allclose(seen, same.last_hidden_state, atol=1e-4)


@pytest.mark.parametrize("family", ["timesformer", "videomae", "vjepa2"])
def test_video_encoders_of_the_library(tmp_path: Path, family: str) -> None:
    import torch
    from safetensors.torch import load_file, save_file
    from transformers import AutoConfig, AutoModel

    from vivant_train.backbones.loading import load_video_encoder
    from vivant_train.model.config import VideoEncoderSettings
    from vivant_train.model.video_encoder import VideoEncoder

    small: dict[str, Any] = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "patch_size": 16,
    }
    small |= {"intermediate_size": 64} if family != "vjepa2" else {"crop_size": 32, "frames_per_clip": 4}
    small |= {"image_size": 32, "num_frames": 4} if family != "vjepa2" else {
        "pred_hidden_size": 16, "pred_num_attention_heads": 2, "pred_num_hidden_layers": 1
    }  # fmt: skip
    torch.manual_seed(1)
    model = AutoModel.from_config(AutoConfig.for_model(family, **small)).eval()
    model.save_pretrained(tmp_path / "video")
    if family == "videomae":  # as the hub's files are named, with a classifier on top
        stored = load_file(tmp_path / "video" / "model.safetensors")
        renamed = {
            "videomae."
            + name.replace("attention.query.bias", "attention.q_bias").replace(
                "attention.value.bias", "attention.v_bias"
            ): value
            for name, value in stored.items()
        }
        renamed["classifier.weight"] = torch.zeros(3, 32)
        save_file(renamed, tmp_path / "video" / "model.safetensors", {"format": "pt"})
    loaded = load_video_encoder(str(tmp_path / "video"), dtype=torch.float32)
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in loaded.state_dict().items())
    encoder = VideoEncoder(VideoEncoderSettings(name=str(tmp_path / "video")), pretrained=True).eval()
    frames = torch.randint(0, 256, (6, 48, 48, 3), dtype=torch.uint8)
    seen = encoder(frames)
    assert seen.shape == (6 if family == "timesformer" else 3, 4, 32)
    assert torch.allclose(encoder(frames[:4]), seen[: 4 if family == "timesformer" else 2], atol=1e-5)


def test_stored_lora_is_merged(tmp_path: Path) -> None:
    import torch

    from vivant_train.backbones.loading import load_language_model

    config, weights = hub.chat_checkpoint()
    down, up = hub.draw("down", 2, 64), hub.draw("up", 96, 2)
    target = "language_model.model.layers.0.feed_forward.w1"
    wrapped = {name: value for name, value in weights.items() if not name.startswith("language_model.")}
    for name, value in weights.items():
        if name.startswith("language_model."):
            inner = name.removeprefix("language_model.")
            if name == f"{target}.weight":
                inner = inner.replace(".weight", ".base_layer.weight")
            wrapped[f"language_model.base_model.model.{inner}"] = value
    stem = target.replace("language_model.", "language_model.base_model.model.")
    wrapped |= {f"{stem}.lora_A.default.weight": down, f"{stem}.lora_B.default.weight": up}
    folder = hub.write_checkpoint(tmp_path / "chat", {**config, "use_llm_lora": 2}, wrapped)
    model = load_language_model(str(folder), dtype=torch.float32)
    wanted = weights[f"{target}.weight"] + 2 * up @ down
    assert torch.allclose(model.model.layers[0].mlp.gate_proj.weight, wanted, atol=1e-5)


# ── tokenizers ──


def write_tokenizer(folder: Path, **special: int) -> Path:
    """InternLM2's files: a sentencepiece model, and special tokens over pieces that are never used."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(DATA / "tokenizer.model", folder / "tokenizer.model")
    tokens = {"<unk>": 0, "<s>": 1, "</s>": 2, "<|im_end|>": 3, "<|im_start|>": 4, **special}
    content = {
        "tokenizer_class": "InternLM2Tokenizer",
        "auto_map": {"AutoTokenizer": ["tokenization_internlm2.InternLM2Tokenizer", None]},
        "added_tokens_decoder": {str(index): {"content": text, "special": True} for text, index in tokens.items()},
        "bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>", "unk_token": "<unk>",
        "chat_template": "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
        "{% endfor %}<|im_start|>assistant\n",
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(content))
    if not (folder / "config.json").is_file():
        (folder / "config.json").write_text("{}")
    return folder


def test_internlm2s_tokenizer_cuts_text_as_sentencepiece_does(tmp_path: Path) -> None:
    from vivant_train.backbones.tokenizers import load_tokenizer

    tokenizer = load_tokenizer(write_tokenizer(tmp_path / "tok"))
    assert len(tokenizer) == 500
    for text, ids in json.loads((DATA / "tokenizer_expected.json").read_text()):
        assert tokenizer.encode(text, add_special_tokens=False) == ids
        assert tokenizer.decode(ids) == text
    chat = tokenizer.apply_chat_template([{"role": "user", "content": "the"}], tokenize=False)
    assert tokenizer.encode(chat, add_special_tokens=False)[:2] == [1, 4]


def test_a_tokenizer_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    from vivant_train.backbones.tokenizers import check_tokenizer, load_tokenizer

    tokenizer = load_tokenizer(write_tokenizer(tmp_path / "tok"))
    with pytest.raises(ModelError, match="there is no vector for"):
        check_tokenizer(tokenizer, 499, "x", chat=True)
    tokenizer.chat_template = None
    with pytest.raises(ModelError, match="no chat template"):
        check_tokenizer(tokenizer, 640, "x", chat=True)
    with pytest.raises(ModelError, match="lacks <img> at 700"):
        load_tokenizer(write_tokenizer(tmp_path / "other", **{"<img>": 700}))
    (tmp_path / "tok" / "tokenizer.model").write_bytes(b"\x0a\xff\xff")
    with pytest.raises(ModelError, match="no sentencepiece file"):
        load_tokenizer(tmp_path / "tok")
    tower = hub.write_checkpoint(tmp_path / "tower", hub.VIT_300M, hub.vit_weights(hub.VIT_300M))
    with pytest.raises(ModelError, match=r"tower holds no tokenizer .* it is no language model"):
        load_tokenizer(tower)
