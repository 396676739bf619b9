"""How much memory a training needs on a card: counted from the recipe, nothing is downloaded or allocated.

What the backward pass keeps is not guessed: the language model and the temporal branch run once on tensors without
contents, and what they save is added up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import torch
from msgspec import Struct
from torch import Tensor
from torch.nn import functional

from vivant.core.errors import UsageError
from vivant.core.table import Table
from vivant_train.model.config import MimicChatConfig, ModelSettings
from vivant_train.model.fusion import LayerFusion, get_decoder_layers
from vivant_train.model.modeling import MimicChat
from vivant_train.settings import Recipe

ANSWER_SHARE = 0.1
"""Share of a row's tokens that are answers: only they have logits."""
RESERVE = 0.08
"""Share of a card that libraries, fragments and communication take."""


class MemoryPrediction(Struct, frozen=True, kw_only=True):
    """Gigabytes on one device."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    """What the backward pass keeps, and the largest layer that is computed anew."""
    vision: float
    """The frozen tower at work on one window of frames, before anything else is kept."""

    @property
    def total(self) -> float:
        """At the peak."""
        return self.weights + self.gradients + self.optimizer + max(self.activations, self.vision)


def predict_memory(
    recipe: Recipe, processes: int = 1, answer_share: float = ANSWER_SHARE
) -> MemoryPrediction:
    """Predict the peak of one process of so many."""
    model = _make_empty_model(recipe.model)
    half = recipe.train.precision in ("bf16", "fp16") or (
        recipe.train.precision == "auto" and bool(recipe.model.language_source)
    )
    width = 2 if half else 4
    sharded = recipe.train.fsdp is not None and processes > 1
    weights = learning = 0.0
    for name, weight in model.named_parameters():
        size = weight.numel() * _bytes_per_weight(name, weight, recipe.model, width)
        in_layers = sharded and name.startswith("language_model.") and ".layers." in name
        weights += size / processes if in_layers else size
        if weight.requires_grad:
            learning += weight.numel() / (processes if sharded else 1)
    if sharded:  # two gathered layers: the one at work and the next
        layer = get_decoder_layers(model.language_model)[0]
        weights += 2 * sum(w.numel() * width for w in layer.parameters())
    return MemoryPrediction(
        weights=weights / 1e9,
        gradients=learning * 4 / 1e9,
        optimizer=learning * 8 / 1e9,
        activations=_count_activations(model, recipe, width, answer_share) / 1e9,
        vision=_count_vision(model, recipe, width) / 1e9,
    )


def check_memory(recipe: Recipe, card: float, processes: int = 1) -> MemoryPrediction:
    """Refuse a recipe that does not fit a card of so many gigabytes."""
    prediction = predict_memory(recipe, processes)
    if prediction.total > card * (1 - RESERVE):
        raise UsageError(
            f"This recipe needs about {prediction.total:.1f} GB on each device, a card of {card:g} GB has "
            f"{card * (1 - RESERVE):.1f} to give ({_advise(recipe, prediction)})"
        )
    return prediction


def _advise(recipe: Recipe, prediction: MemoryPrediction) -> str:
    train = recipe.train
    if prediction.activations > prediction.weights and not train.gradient_checkpointing:
        return "try train.gradient_checkpointing: true"
    if prediction.activations > prediction.weights:
        return "try fewer train.micro_rows or train.row_tokens"
    return "try train.fsdp: {} over more devices, or language.quantize: nf4"


def _bytes_per_weight(name: str, weight: Any, settings: ModelSettings, width: int) -> float:
    if weight.requires_grad:
        return 4
    if name.startswith("language_model.") and settings.language.quantize and weight.dim() == 2:
        return 0.55 if settings.language.quantize == "nf4" else 1.0
    named = settings.vision_source if name.startswith("eyes.") else settings.language_source
    return width if named else 4


def _make_empty_model(settings: ModelSettings) -> MimicChat:
    """The model on the meta device, of the stated configurations where there are any."""
    if settings.vision_source and settings.vision.config:
        settings = msgspec.structs.replace(settings, vision=msgspec.structs.replace(settings.vision, name=""))
    config = {"vocab_size": 2048, **settings.language.config} if not settings.language_source else None
    if config is not None:
        language = msgspec.structs.replace(settings.language, config=config)
        settings = msgspec.structs.replace(settings, language=language)
    with torch.device("meta"):
        return MimicChat(MimicChatConfig(parts=msgspec.to_builtins(settings)))


class _FusedAttention(torch.autograd.Function):  # type: ignore[misc]
    """Attention as fused kernels keep it: no matrix of every token by every token.

    Tensors without contents would go the long way, which keeps one.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """An output of the right shape."""
        out = query.new_empty((*query.shape[:-1], value.shape[-1]))
        ctx.save_for_backward(query, key, value, out)
        return out


def _attend(query: Tensor, key: Tensor, value: Tensor, *_: Any, **__: Any) -> Tensor:
    result: Tensor = _FusedAttention.apply(query, key, value)
    return result


def count_saved(run: Callable[[], Any], own: set[int]) -> int:
    """Bytes that a computation keeps for its backward pass, without the weights in `own`."""
    kept: dict[int, Tensor] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()._cdata
        if storage not in own:
            kept.setdefault(storage, tensor)
        return tensor

    usual = functional.scaled_dot_product_attention
    functional.scaled_dot_product_attention = _attend
    try:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            result = run()
    finally:
        functional.scaled_dot_product_attention = usual
    del result
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())


def _count_activations(model: MimicChat, recipe: Recipe, width: int, answer_share: float) -> float:
    train = recipe.train
    rows = train.micro_rows or max(1, train.batch_tokens // train.row_tokens)
    text = model.language_model.config.get_text_config()
    dtype = torch.bfloat16 if width == 2 else torch.float32
    tokens, hidden = train.row_tokens, int(text.hidden_size)
    words = model.language_model.to(dtype)
    own = {weight.untyped_storage()._cdata for weight in words.parameters()}
    layers = get_decoder_layers(words)
    inputs = torch.empty(rows, tokens, hidden, device="meta", dtype=dtype, requires_grad=True)
    head = int(getattr(text, "head_dim", None) or hidden // text.num_attention_heads)
    angles = torch.empty(1, tokens, head, device="meta", dtype=dtype)

    def run_layer() -> Any:
        return layers[0](
            inputs,
            attention_mask=None,
            position_ids=torch.arange(tokens, device="meta")[None],
            position_embeddings=(angles, angles),
        )

    layer = count_saved(run_layer, own)
    fused, blocks = 0, 0
    inside = model.fusion if isinstance(model.fusion, LayerFusion) else model.inside
    if inside is not None:
        blocks = len(inside.blocks)
        own |= {weight.untyped_storage()._cdata for weight in inside.parameters()}
        seen = {
            name: torch.empty(rows, recipe.model.temporal.tokens, hidden, device="meta")
            for name in inside.blocks[0].gates
        }
        with inside.attend_to(seen, torch.zeros(rows, tokens, dtype=torch.long, device="meta")):
            fused = count_saved(run_layer, own) - layer
    edge = rows * tokens * hidden * width
    if train.gradient_checkpointing:
        body = len(layers) * edge + layer + fused
    else:
        body = len(layers) * layer + edge + blocks * fused
    # Logits in the model's format, in float32, their softmax, and the gradients of both.
    answers = max(1, round(rows * tokens * answer_share))
    logits = answers * int(text.vocab_size) * (2 * width + 3 * 4)
    mask = rows * tokens * tokens  # which question a token belongs to
    return body + logits + mask + _count_videos(model, recipe, rows, dtype)


def _count_videos(model: MimicChat, recipe: Recipe, rows: int, dtype: torch.dtype) -> float:
    """What the branches keep for as many videos as rows can hold."""
    settings, frames, train = recipe.model, recipe.data.frames, recipe.train
    times = frames.count if frames.select == "count" else frames.cap or frames.count
    videos = rows * max(1, train.row_tokens // max(128, settings.visual_tokens * train.per_video))
    if settings.has_fixed_features:
        if not settings.temporal.on:
            return 0.0
        seen = torch.empty(videos, times, settings.temporal.patches**2, model.temporal.width, device="meta")
        own = {weight.untyped_storage()._cdata for weight in model.temporal.parameters()}
        return count_saved(lambda: model.temporal(model.eyes, seen), own)
    named = bool(settings.vision_source)
    model.to(dtype if named else torch.float32)
    own = {weight.untyped_storage()._cdata for weight in model.parameters()}
    side = settings.vision.image_size
    pixels = torch.empty(videos, times, 3, side, side, device="meta", dtype=model.eyes.dtype)
    kept = float(pixels.nbytes)
    if settings.spatial.on and not settings.vision.frozen:
        chosen = pixels[:, [0] * settings.spatial.frames]
        kept += count_saved(lambda: model.spatial(model.eyes, chosen), own)
    if settings.temporal.on:
        kept += _count_windows(model, pixels, own, checkpointing=train.gradient_checkpointing)
    return kept


def _count_windows(model: MimicChat, pixels: Tensor, own: set[int], *, checkpointing: bool) -> float:
    """What windows of frames keep; with checkpointing, one of them, and of its layers the inputs and one layer."""
    temporal = model.settings.temporal
    window = pixels[:, : temporal.window]
    saved = count_saved(lambda: model.temporal.windows(model.eyes, window), own)
    if not checkpointing:
        return float(saved * pixels.shape[1] / window.shape[1])
    if temporal.init == "fresh":
        return saved
    layers = len(model.eyes.layers)
    inputs = window.shape[0] * window.shape[1] * (model.eyes.side**2 + 1) * model.eyes.width
    # The layer's gradients take as much again.
    return float(layers * inputs * window.element_size() + 2 * saved / layers)


def _count_vision(model: MimicChat, recipe: Recipe, width: int) -> float:
    """A frozen tower keeps nothing: one layer's intermediate results of one window of frames, and its features."""
    if model.eyes.is_conv or not recipe.model.vision.frozen:
        return 0.0
    config = model.eyes.model.config
    inner = int(getattr(config, "intermediate_size", 4 * model.eyes.width))
    patches = recipe.model.temporal.window * (model.eyes.side**2 + 1)
    return patches * (6 * int(config.hidden_size) + 2 * inner) * width


def make_memory_table(recipe: Recipe, card: float, processes: int) -> Table:
    """The prediction for a recipe, part by part."""
    prediction = check_memory(recipe, card, processes)
    parts = {
        "Weights": prediction.weights,
        "Gradients": prediction.gradients,
        "Optimizer": prediction.optimizer,
        "Activations": prediction.activations,
        "Vision tower at work": prediction.vision,
        "Peak": prediction.total,
    }
    return Table(
        title=f"Memory on each of {processes} device(s), in GB; a card has {card:g}",
        columns=("Part", "GB"),
        body=tuple(parts.items()),
        rows=(),
        decimals=2,
        notes=(
            "Counted on tensors without contents, for one pass of train.micro_rows rows; answers are "
            f"{ANSWER_SHARE:.0%} of a row. Attention by fused kernels. The vision tower works before "
            "activations are kept. An evaluation answers with the same weights between updates, no more tokens at "
            "once than a pass has.",
        ),
    )
