"""Parameters, memory and arithmetic of a model, counted from its settings; nothing is downloaded or allocated."""

from __future__ import annotations

import msgspec
import torch
from msgspec import Struct
from torch import nn

from vivant.core.table import Cell, Table
from vivant_train.model.config import MimicChatConfig, ModelSettings
from vivant_train.model.modeling import MimicChat
from vivant_train.settings import SIZES, load_size

TEXT_TOKENS, FRAMES = 128, 32
_DEFAULT_VOCABULARY = 2048
"""Of a tokenizer that is trained along, where the settings leave it open."""
_ADAM_BYTES = 8
"""Bytes that the optimizer keeps for a weight that learns, beside the weight (4) and its gradient (4)."""


class ModelSize(Struct, frozen=True, kw_only=True):
    """One model."""

    vision: int
    temporal: int
    joining: int
    """Projectors, gates, marks, cross-attention."""
    language: int
    lora: int
    learning: int
    visual_tokens: int
    weights: float
    """Gigabytes: two bytes a frozen weight, four one that learns."""
    training: float
    """Gigabytes with gradients and optimizer; activations come on top, and depend on length."""
    answer: float
    """Teraflops to read one video of 32 frames and a task of 128 tokens."""
    step: float
    """Teraflops of one training step on it."""

    @property
    def total(self) -> int:
        """All parameters."""
        return self.vision + self.temporal + self.joining + self.language + self.lora


def measure_model(settings: ModelSettings) -> ModelSize:
    """Count a model on the meta device."""
    config = {"vocab_size": _DEFAULT_VOCABULARY, **settings.language.config}
    vision = msgspec.structs.replace(
        settings.vision, name=settings.vision.name and "", trust_remote_code=False
    )
    language = msgspec.structs.replace(
        settings.language, config=config, name="", trust_remote_code=False, frozen=settings.language.frozen
    )
    local = msgspec.structs.replace(settings, vision=vision, language=language)
    with torch.device("meta"):
        model = MimicChat(MimicChatConfig(parts=msgspec.to_builtins(local)))
    lora = sum(w.numel() for n, w in model.language_model.named_parameters() if "lora_" in n)
    language_size = _count_parameters(model.language_model) - lora
    temporal = _count_parameters(model.temporal) if settings.temporal.on else 0
    vision_size = _count_parameters(model.eyes)
    trainable = sum(w.numel() for w in model.parameters() if w.requires_grad)
    total = _count_parameters(model)
    weight_bytes = (total - trainable) * 2 + trainable * 4
    vision_flops, language_flops = _vision_flops(model, settings), _language_flops(model, settings)
    # A backward pass costs two forward passes through what learns, one through what is frozen.
    through_vision = settings.temporal.on and not settings.has_fixed_features
    vision_backward = 2.0 if not settings.vision.frozen else (1.0 if through_vision else 0.0)
    language_backward = 1.0 if settings.language.frozen else 2.0
    return ModelSize(
        vision=vision_size,
        temporal=temporal,
        joining=total - vision_size - temporal - language_size - lora,
        language=language_size,
        lora=lora,
        learning=trainable,
        visual_tokens=settings.visual_tokens,
        weights=weight_bytes / 1e9,
        training=(weight_bytes + trainable * (4 + _ADAM_BYTES)) / 1e9,
        answer=(vision_flops + language_flops) / 1e12,
        step=(vision_flops * (1 + vision_backward) + language_flops * (1 + language_backward)) / 1e12,
    )


def _count_parameters(module: nn.Module) -> int:
    return sum(weight.numel() for weight in module.parameters())


def _vision_flops(model: MimicChat, settings: ModelSettings) -> float:
    """Two operations a weight and patch, attention among patches, for the frames of both branches."""
    patches: int = model.eyes.side**2
    width: int = model.eyes.width
    depth = 0 if model.eyes.is_conv else len(model.eyes.layers)
    frame = _patch_flops(model.eyes, patches) + 4.0 * depth * patches**2 * width
    total = 0.0
    if settings.spatial.on:
        total += settings.spatial.frames * frame
    if settings.temporal.on and settings.temporal.init in ("backbone", "features"):
        window = min(FRAMES, settings.temporal.window)
        positions = patches if settings.temporal.init == "backbone" else settings.temporal.patches**2
        timed = (
            2.0 * _count_parameters(model.temporal.windows) * positions
            + 4.0 * depth * positions * window * width
        )
        total += FRAMES * (frame + timed)
        if settings.has_fixed_features and settings.spatial.on:  # the same frames serve both branches
            total -= min(FRAMES, settings.spatial.frames) * frame
    elif settings.temporal.on and settings.temporal.init == "fresh":
        windows = model.temporal.windows
        total += FRAMES / settings.temporal.tubelet * _patch_flops(windows, len(windows.places))
    return total


def _patch_flops(module: nn.Module, patches: int) -> float:
    """Operations of linear layers on each patch, and of convolutions where they stand."""
    total = 0.0
    side = patches**0.5
    convolutions = [layer for layer in module.modules() if isinstance(layer, nn.Conv2d)]
    for index, layer in enumerate(convolutions):
        scale = 2 ** (len(convolutions) - 1 - index)
        total += 2.0 * layer.weight.numel() * (side * scale) ** 2
    linear = sum(layer.weight.numel() for layer in module.modules() if isinstance(layer, nn.Linear))
    return float(total + 2.0 * linear * patches)


def _language_flops(model: MimicChat, settings: ModelSettings) -> float:
    text = model.language_model.config.get_text_config()
    tokens = settings.visual_tokens + TEXT_TOKENS
    table = model.language_model.get_input_embeddings().weight.numel()
    body = _count_parameters(model.language_model) - table
    attention = 4.0 * text.num_hidden_layers * tokens**2 / 2 * text.hidden_size
    return float(2.0 * body * tokens + attention)


def make_sizes_table() -> Table:
    """The bundled sizes side by side."""
    body: list[tuple[Cell, ...]] = []
    for name in SIZES:
        model_size = measure_model(msgspec.convert(load_size(name), ModelSettings))
        millions = [
            count / 1e6
            for count in (
                model_size.vision,
                model_size.temporal,
                model_size.joining,
                model_size.language,
                model_size.lora,
            )
        ]
        body.append(
            (
                name,
                model_size.total / 1e6,
                *millions,
                model_size.learning / 1e6,
                model_size.visual_tokens,
                model_size.weights,
                model_size.training,
                model_size.answer,
                model_size.step,
            )
        )
    return Table(
        title="MIMIC-Chat by size: parameters in millions, memory in GB, arithmetic in TFLOP",
        columns=(
            "Size",
            "Parameters",
            "Vision",
            "Temporal",
            "Joining",
            "Language",
            "LoRA",
            "Learning",
            "Visual tokens",
            "Weights",
            "Training",
            "Answer",
            "Step",
        ),
        body=tuple(body),
        rows=(),
        decimals=3,
        notes=(
            "Counted from the settings; nothing was downloaded. Vision is shared by both branches.",
            "Weights: 2 bytes where frozen, 4 where learning. Training adds gradients and AdamW, but no activations.",
            f"Answer and step: one video of {FRAMES} frames and a task of {TEXT_TOKENS} tokens.",
        ),
    )
