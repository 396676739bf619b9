"""Tiny checkpoints in the exact names, shapes and configurations of the hub's own repositories.

Weights are drawn by name, so that they are the same on every machine; nothing here uses the code under test.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

VIT_300M = {
    "architectures": ["InternVisionModel"],
    "model_type": "intern_vit_6b",
    "auto_map": {"AutoModel": "modeling_intern_vit.InternVisionModel"},
    "attention_dropout": 0.0,
    "drop_path_rate": 0.1,
    "dropout": 0.0,
    "hidden_act": "gelu",
    "hidden_size": 32,
    "image_size": 56,
    "initializer_factor": 0.1,
    "initializer_range": 1e-10,
    "intermediate_size": 64,
    "layer_norm_eps": 1e-06,
    "norm_type": "layer_norm",
    "num_attention_heads": 4,
    "num_channels": 3,
    "num_hidden_layers": 2,
    "patch_size": 14,
    "qk_normalization": False,
    "qkv_bias": True,
    "use_flash_attn": True,
    "torch_dtype": "float32",
}
VIT_6B = {**VIT_300M, "norm_type": "rms_norm", "qk_normalization": True, "qkv_bias": False}
INTERNLM2 = {
    "architectures": ["InternLM2ForCausalLM"],
    "model_type": "internlm2",
    "auto_map": {"AutoModelForCausalLM": "modeling_internlm2.InternLM2ForCausalLM"},
    "attn_implementation": "eager",
    "bias": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 64,
    "initializer_range": 0.02,
    "intermediate_size": 96,
    "max_position_embeddings": 512,
    "num_attention_heads": 8,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "pad_token_id": 2,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {"type": "dynamic", "factor": 2.0},
    "rope_theta": 1000000,
    "tie_word_embeddings": False,
    "vocab_size": 640,
}
INTERNLM3 = {
    **{name: value for name, value in INTERNLM2.items() if name != "auto_map"},
    "architectures": ["InternLM3ForCausalLM"],
    "model_type": "internlm3",
    "head_dim": 16,
    "qkv_bias": False,
    "rope_scaling": {"rope_type": "dynamic", "factor": 6.0},
    "rope_theta": 50000000,
}
QWEN2 = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "attention_dropout": 0.0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 64,
    "intermediate_size": 96,
    "max_position_embeddings": 512,
    "max_window_layers": 2,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-06,
    "rope_theta": 1000000.0,
    "sliding_window": None,
    "tie_word_embeddings": False,
    "use_sliding_window": False,
    "vocab_size": 640,
}


def draw(name: str, *shape: int, scale: float = 0.2, around: float = 0.0) -> Any:
    """A tensor that depends on its name alone."""
    import torch

    chance = np.random.default_rng(zlib.crc32(name.encode()))
    return torch.from_numpy((around + scale * chance.standard_normal(shape)).astype(np.float32))


def vit_weights(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """InternViT in OpenGVLab's names."""
    hidden, inner, patch = config["hidden_size"], config["intermediate_size"], config["patch_size"]
    patches = (config["image_size"] // patch) ** 2
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.class_embedding": (1, 1, hidden),
        "embeddings.patch_embedding.weight": (hidden, 3, patch, patch),
        "embeddings.patch_embedding.bias": (hidden,),
        "embeddings.position_embedding": (1, 1 + patches, hidden),
    }
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layers.{layer}."
        shapes |= {f"{at}attn.qkv.weight": (3 * hidden, hidden), f"{at}attn.proj.weight": (hidden, hidden)}
        shapes |= {f"{at}attn.proj.bias": (hidden,), f"{at}ls1": (hidden,), f"{at}ls2": (hidden,)}
        shapes |= {f"{at}mlp.fc1.weight": (inner, hidden), f"{at}mlp.fc1.bias": (inner,)}
        shapes |= {f"{at}mlp.fc2.weight": (hidden, inner), f"{at}mlp.fc2.bias": (hidden,)}
        shapes |= {f"{at}norm1.weight": (hidden,), f"{at}norm2.weight": (hidden,)}
        if config["qkv_bias"]:
            shapes[f"{at}attn.qkv.bias"] = (3 * hidden,)
        if config["norm_type"] == "layer_norm":
            shapes |= {f"{at}norm1.bias": (hidden,), f"{at}norm2.bias": (hidden,)}
        if config["qk_normalization"]:
            shapes |= {f"{at}attn.q_norm.weight": (hidden,), f"{at}attn.k_norm.weight": (hidden,)}
    return {prefix + name: _draw_weight(name, shape) for name, shape in shapes.items()}


def internlm2_weights(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """InternLM2 in its own names, with the fused and grouped `wqkv`."""
    hidden, inner, vocabulary = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    head = hidden // config["num_attention_heads"]
    rows = (config["num_attention_heads"] + 2 * config["num_key_value_heads"]) * head
    shapes: dict[str, tuple[int, ...]] = {"model.tok_embeddings.weight": (vocabulary, hidden)}
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        shapes |= {f"{at}attention.wqkv.weight": (rows, hidden), f"{at}attention.wo.weight": (hidden, hidden)}
        shapes |= {
            f"{at}feed_forward.w1.weight": (inner, hidden),
            f"{at}feed_forward.w3.weight": (inner, hidden),
        }
        shapes |= {f"{at}feed_forward.w2.weight": (hidden, inner), f"{at}attention_norm.weight": (hidden,)}
        shapes[f"{at}ffn_norm.weight"] = (hidden,)
    shapes |= {"model.norm.weight": (hidden,), "output.weight": (vocabulary, hidden)}
    return {prefix + name: _draw_weight(name, shape) for name, shape in shapes.items()}


def llama_weights(config: Mapping[str, Any], prefix: str = "", *, qkv_bias: bool = False) -> dict[str, Any]:
    """InternLM3 and Qwen2 in the names that they share with Llama."""
    hidden, inner, vocabulary = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    head = config.get("head_dim") or hidden // config["num_attention_heads"]
    widths = {"q": config["num_attention_heads"] * head, "k": config["num_key_value_heads"] * head}
    widths["v"] = widths["k"]
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (vocabulary, hidden)}
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        for each, width in widths.items():
            shapes[f"{at}self_attn.{each}_proj.weight"] = (width, hidden)
            if qkv_bias:
                shapes[f"{at}self_attn.{each}_proj.bias"] = (width,)
        shapes[f"{at}self_attn.o_proj.weight"] = (hidden, widths["q"])
        shapes |= {f"{at}mlp.gate_proj.weight": (inner, hidden), f"{at}mlp.up_proj.weight": (inner, hidden)}
        shapes |= {f"{at}mlp.down_proj.weight": (hidden, inner), f"{at}input_layernorm.weight": (hidden,)}
        shapes[f"{at}post_attention_layernorm.weight"] = (hidden,)
    shapes |= {"model.norm.weight": (hidden,), "lm_head.weight": (vocabulary, hidden)}
    return {prefix + name: _draw_weight(name, shape) for name, shape in shapes.items()}


def projector_weights(vision: int, language: int) -> dict[str, Any]:
    """OpenGVLab's `mlp1`."""
    shapes: dict[str, tuple[int, ...]] = {
        "mlp1.0.weight": (4 * vision,),
        "mlp1.0.bias": (4 * vision,),
        "mlp1.1.weight": (language, 4 * vision),
        "mlp1.1.bias": (language,),
        "mlp1.3.weight": (language, language),
        "mlp1.3.bias": (language,),
    }
    return {name: _draw_weight(name, shape) for name, shape in shapes.items()}


def chat_checkpoint(llm: str = "internlm2") -> tuple[dict[str, Any], dict[str, Any]]:
    """The configuration and weights of a whole InternVL chat model in OpenGVLab's format."""
    language = INTERNLM2 if llm == "internlm2" else QWEN2
    config = {
        "architectures": ["InternVLChatModel"],
        "model_type": "internvl_chat",
        "auto_map": {"AutoModel": "modeling_internvl_chat.InternVLChatModel"},
        "downsample_ratio": 0.5,
        "dynamic_image_size": True,
        "force_image_size": 56,
        "llm_config": language,
        "max_dynamic_patch": 12,
        "min_dynamic_patch": 1,
        "pad2square": False,
        "ps_version": "v2",
        "select_layer": -1,
        "template": "internvl2_5",
        "use_backbone_lora": 0,
        "use_llm_lora": 0,
        "use_thumbnail": True,
        "vision_config": VIT_300M,
    }
    prefix = "language_model."
    words = (
        internlm2_weights(language, prefix)
        if llm == "internlm2"
        else llama_weights(language, prefix, qkv_bias=True)
    )
    weights = {**vit_weights(VIT_300M, "vision_model."), **projector_weights(32, 64), **words}
    return config, weights


def save_qwen_vl(folder: Path, family: str) -> tuple[Any, int]:
    """A whole Qwen-VL as its library writes it: the model, and the side of its patches."""
    import torch
    from transformers import AutoConfig, AutoModelForImageTextToText

    text: dict[str, Any] = {
        "vocab_size": 640, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512,
    }  # fmt: skip
    patch = 14 if family == "qwen2_5_vl" else 16
    vision: dict[str, Any] = {"depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 4}
    vision |= {"out_hidden_size": 64, "patch_size": patch}
    if family == "qwen2_5_vl":
        vision |= {"fullatt_block_indexes": [1], "window_size": 56}
    else:
        vision |= {"deepstack_visual_indexes": [0], "num_position_embeddings": 16}
    text["rope_parameters"] = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]}
    torch.manual_seed(4)
    config = AutoConfig.for_model(family, text_config=text, vision_config=vision)
    whole = AutoModelForImageTextToText.from_config(config).eval()
    whole.save_pretrained(folder)
    return whole, patch


def write_checkpoint(
    folder: Path,
    config: Mapping[str, Any],
    weights: Mapping[str, Any],
    *,
    shards: int = 1,
    dtype: str = "float32",
) -> Path:
    """A repository as downloaded: one file, or several with their index."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({**config, "torch_dtype": dtype}), encoding="utf-8")
    cast = {name: value.to(getattr(torch, dtype)) for name, value in weights.items()}
    if shards == 1:
        save_file(cast, folder / "model.safetensors", {"format": "pt"})
        return folder
    names = sorted(cast)
    weight_map: dict[str, str] = {}
    for number in range(shards):
        file = f"model-{number + 1:05d}-of-{shards:05d}.safetensors"
        part = names[number::shards]
        save_file({name: cast[name] for name in part}, folder / file, {"format": "pt"})
        weight_map |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": 0}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    return folder


def draw_pixels(frames: int, side: int) -> Any:
    """Normalised pictures."""
    return draw("pixels", frames, 3, side, side, scale=1.0)


def draw_ids(rows: int, length: int, vocabulary: int = 640) -> Any:
    """Token ids."""
    import torch

    chance = np.random.default_rng(7)
    return torch.from_numpy(chance.integers(3, vocabulary, (rows, length)))


def _draw_weight(name: str, shape: tuple[int, ...]) -> Any:
    is_scale = ("norm" in name and name.endswith("weight")) or name.endswith(
        (".ls1", ".ls2", "mlp1.0.weight")
    )
    return draw(name, *shape, scale=0.3 if is_scale else 0.15, around=1.0 if is_scale else 0.0)
