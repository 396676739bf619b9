"""Weights and configurations of OpenGVLab's and InternLM's own formats in the native classes of transformers.

No code of a checkpoint is run. Every weight has a place; one that has none is an error.

- InternViT: query, key and value are the three blocks of rows of `attn.qkv`.
- InternLM2: `attention.wqkv` holds, for each key head, its query heads, then the key, then the value.
- InternVL chat models: `vision_model.`, `mlp1.` and `language_model.` in one file, perhaps with LoRA beside them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from vivant.models.base import ModelError

INTERN_VIT, INTERNVL_CHAT = "intern_vit_6b", "internvl_chat"
INTERNLM2, INTERNLM3 = "internlm2", "internlm3"

_VISION_NAMES = (
    (re.compile(r"^encoder\.layers\."), "encoder.layer."),
    (re.compile(r"^embeddings\.class_embedding$"), "embeddings.cls_token"),
    (re.compile(r"^embeddings\.position_embedding$"), "embeddings.position_embeddings"),
    (re.compile(r"^embeddings\.patch_embedding\."), "embeddings.patch_embeddings.projection."),
    (re.compile(r"\.attn\.proj\."), ".attention.projection_layer."),
    (re.compile(r"\.attn\.(q_norm|k_norm)\."), r".attention.\1."),
    (re.compile(r"\.ls([12])$"), r".lambda_\1"),
    (re.compile(r"\.norm1\."), ".layernorm_before."),
    (re.compile(r"\.norm2\."), ".layernorm_after."),
)
_LANGUAGE_NAMES = (
    (re.compile(r"^model\.tok_embeddings\."), "model.embed_tokens."),
    (re.compile(r"^output\."), "lm_head."),
    (re.compile(r"\.attention\.wo\."), ".self_attn.o_proj."),
    (re.compile(r"\.feed_forward\.w1\."), ".mlp.gate_proj."),
    (re.compile(r"\.feed_forward\.w3\."), ".mlp.up_proj."),
    (re.compile(r"\.feed_forward\.w2\."), ".mlp.down_proj."),
    (re.compile(r"\.attention_norm\."), ".input_layernorm."),
    (re.compile(r"\.ffn_norm\."), ".post_attention_layernorm."),
)


def convert_vision_config(values: Mapping[str, Any], name: str) -> Any:
    """InternViT's configuration. Its own class has the 6B's values as defaults, so a file must state them all."""
    from transformers import InternVLVisionConfig

    needed = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "norm_type")
    missing = [each for each in (*needed, "qkv_bias", "qk_normalization", "image_size") if each not in values]
    if missing:
        raise ModelError(f"{name}: the configuration of its InternViT does not state {', '.join(missing)}")
    image_size, patch_size = values["image_size"], values.get("patch_size", 14)
    return InternVLVisionConfig(
        **{each: values[each] for each in needed},
        attention_bias=bool(values["qkv_bias"]),
        use_qk_norm=bool(values["qk_normalization"]),
        hidden_act=values.get("hidden_act", "gelu"),
        layer_norm_eps=float(values.get("layer_norm_eps", 1e-6)),
        image_size=(image_size, image_size),
        patch_size=(patch_size, patch_size),
        use_mean_pooling=True,
    )


def convert_vision_weights(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """InternViT's weights under the native names."""
    converted: dict[str, Tensor] = {}
    for name, value in weights.items():
        native = _rename(name, _VISION_NAMES)
        if ".attn.qkv." in native:
            for part, rows in zip(("q_proj", "k_proj", "v_proj"), value.chunk(3, dim=0), strict=True):
                converted[native.replace(".attn.qkv.", f".attention.{part}.")] = rows.contiguous()
        else:
            converted[native] = value
    return converted


def convert_language_config(values: Mapping[str, Any], name: str) -> Any:
    """InternLM2's and InternLM3's configuration as a Llama's. What their classes default to is not Llama's default."""
    from transformers import LlamaConfig

    needed = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
    missing = [each for each in needed if each not in values]
    if missing:
        raise ModelError(
            f"{name}: the configuration of its language model does not state {', '.join(missing)}"
        )
    third = values.get("model_type") == INTERNLM3
    heads = int(values["num_attention_heads"])
    return LlamaConfig(
        **{each: values[each] for each in needed},
        num_key_value_heads=int(values.get("num_key_value_heads") or heads),
        head_dim=int(values.get("head_dim") or values["hidden_size"] // heads),
        attention_bias=bool(values.get("qkv_bias", False) if third else values.get("bias", True)),
        mlp_bias=bool(values.get("bias", False)) if third else False,
        hidden_act=values.get("hidden_act", "silu"),
        rms_norm_eps=float(values.get("rms_norm_eps", 1e-6)),
        max_position_embeddings=int(values.get("max_position_embeddings", 2048)),
        rope_parameters=_convert_rope(values),
        tie_word_embeddings=bool(values.get("tie_word_embeddings", False)),
        initializer_range=float(values.get("initializer_range", 0.02)),
        bos_token_id=values.get("bos_token_id", 1),
        eos_token_id=values.get("eos_token_id", 2),
        pad_token_id=values.get("pad_token_id", 2),
    )


def _convert_rope(values: Mapping[str, Any]) -> dict[str, Any]:
    scaling = dict(values.get("rope_scaling") or {})
    kind = scaling.pop("rope_type", None) or scaling.pop("type", None) or "default"
    scaling.pop("type", None)
    return {"rope_type": kind, "rope_theta": float(values.get("rope_theta", 10_000)), **scaling}


def convert_language_weights(weights: Mapping[str, Tensor], config: Any) -> dict[str, Tensor]:
    """InternLM2's weights as a Llama's; InternLM3 has Llama's names already."""
    converted: dict[str, Tensor] = {}
    for name, value in weights.items():
        if ".attention.wqkv." in name:
            for part, rows in split_grouped_rows(value, config).items():
                converted[name.replace(".attention.wqkv.", f".self_attn.{part}.")] = rows
        else:
            converted[_rename(name, _LANGUAGE_NAMES)] = value
    return converted


def split_grouped_rows(value: Tensor, config: Any) -> dict[str, Tensor]:
    """InternLM2's fused rows: for each key head its query heads, then the key, then the value."""
    queries = config.num_attention_heads // config.num_key_value_heads
    rows = value.unflatten(0, (config.num_key_value_heads, queries + 2, config.head_dim))
    return {
        "q_proj": rows[:, :queries].flatten(0, 2).contiguous(),
        "k_proj": rows[:, -2].flatten(0, 1).contiguous(),
        "v_proj": rows[:, -1].flatten(0, 1).contiguous(),
    }


def merge_stored_lora(weights: Mapping[str, Tensor], scale: float = 2.0) -> dict[str, Tensor]:
    """Weights with the low-rank updates added that OpenGVLab's trainer stores beside them (alpha is twice the rank)."""
    if not any(".lora_A." in name for name in weights):
        return dict(weights)
    merged: dict[str, Tensor] = {}
    for name, value in weights.items():
        if ".lora_" in name:
            continue
        base = name.replace("base_model.model.", "").replace(".base_layer.", ".")
        down = weights.get(name.replace(".base_layer.weight", ".lora_A.default.weight"))
        if ".base_layer.weight" in name and down is not None:
            up = weights[name.replace(".base_layer.weight", ".lora_B.default.weight")]
            value = (value.float() + scale * (up.float() @ down.float())).to(value.dtype)
        merged[base] = value
    return merged


def _rename(name: str, rules: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    for pattern, replacement in rules:
        name = pattern.sub(replacement, name)
    return name
