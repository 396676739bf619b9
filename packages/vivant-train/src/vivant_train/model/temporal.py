"""The temporal branch: divided space-time attention over windows of frames, then attention over the whole video.

In a window, every patch attends to itself at other times, then the patches of a frame attend to each other. Memory is
that of one window, plus a few vectors for each frame of the video. On cached features, a patch also attends to itself
in the window before; the last layer attends over all windows.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from vivant_train.model.config import TemporalSettings
from vivant_train.model.vision_encoder import VisionEncoder, compute_stem_side, make_conv_stem

TIME_SCALE = 0.1
"""The weight of time embeddings beside what is seen."""


class ResidualAttention(nn.Module):  # type: ignore[misc]
    """Attention among the last but one dimension, with a norm before and what came in added after."""

    def __init__(self, width: int, heads: int, *, silent: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        if silent:  # a pretrained backbone begins as it was
            nn.init.zeros_(self.out.weight)
            nn.init.zeros_(self.out.bias)

    def forward(
        self, tokens: Tensor, positions: Tensor | None = None, memory: Tensor | None = None
    ) -> Tensor:
        """[…, length, width] → the same. `positions` are added before attention alone; `memory` came before."""
        flat = self.norm(tokens.reshape(-1, *tokens.shape[-2:]))
        placed = flat if positions is None else flat + positions
        query, key, value = self.qkv(placed).unflatten(2, (3, self.heads, -1)).unbind(2)
        if memory is not None:
            before = self.norm(memory.reshape(-1, *memory.shape[-2:]))
            _, old_key, old_value = self.qkv(before).unflatten(2, (3, self.heads, -1)).unbind(2)
            key, value = torch.cat([old_key, key], dim=1), torch.cat([old_value, value], dim=1)
        mixed = functional.scaled_dot_product_attention(
            query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
        )
        return tokens + self.out(mixed.transpose(1, 2).flatten(2)).reshape(tokens.shape)


class FeedForward(nn.Module):  # type: ignore[misc]
    """The usual two layers after attention."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.layers = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, tokens: Tensor) -> Tensor:
        """The same shape."""
        return tokens + self.layers(self.norm(tokens))


class DividedBlock(nn.Module):  # type: ignore[misc]
    """Over time for each patch, over space for each frame, then a feed-forward layer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.time = ResidualAttention(width, heads)
        self.space = ResidualAttention(width, heads)
        self.thought = FeedForward(width)

    def forward(self, tokens: Tensor, memory: Tensor | None = None) -> Tensor:
        """[videos, times, patches, width] → the same; `memory` is this block's input in the window before."""
        before = None if memory is None else memory.transpose(1, 2)
        timed = self.time(tokens.transpose(1, 2), memory=before).transpose(1, 2)
        return self.thought(self.space(timed))


class FreshWindowEncoder(nn.Module):  # type: ignore[misc]
    """Blocks of its own on patches that span a few frames: the first of them, and how each next one differs.

    Differences are what makes a motion visible to a model that begins from chance.
    """

    def __init__(self, temporal: TemporalSettings, image_size: int) -> None:
        super().__init__()
        self.tubelet = temporal.tubelet
        self.width = temporal.widths[-1]
        self.stem = make_conv_stem(3 * temporal.tubelet, temporal.widths)
        patches = compute_stem_side(image_size, temporal.widths) ** 2
        self.places = nn.Parameter(torch.randn(patches, self.width) * 0.02)
        self.blocks = nn.ModuleList(DividedBlock(self.width, temporal.heads) for _ in range(temporal.depth))

    def forward(self, encoder: VisionEncoder, pixels: Tensor) -> Tensor:  # noqa: ARG002 (a twin takes the backbone)
        """[videos, times, 3, side, side] → one vector per video and time, [videos, times / tubelet, width]."""
        missing = -pixels.shape[1] % self.tubelet
        if missing:
            pixels = torch.cat([pixels, pixels[:, -1:].expand(-1, missing, -1, -1, -1)], dim=1)
        grouped = pixels.unflatten(1, (-1, self.tubelet))
        changes = torch.cat([grouped[:, :, :1], grouped[:, :, 1:] - grouped[:, :, :-1]], dim=2)
        seen = self.stem(changes.flatten(2, 3).flatten(0, 1)).flatten(2).transpose(1, 2)
        tokens = seen.unflatten(0, grouped.shape[:2]) + self.places
        tokens = tokens + TIME_SCALE * embed_time(tokens.shape[1], self.width, tokens)[:, None]
        for block in self.blocks:
            tokens = block(tokens)
        return tokens.amax(2)


class BackboneWindowEncoder(nn.Module):  # type: ignore[misc]
    """The spatial branch's backbone with attention over time before each of its layers.

    Its weights are shared, not copied; attention over time begins silent, so that it starts as the backbone is.
    """

    def __init__(self, temporal: TemporalSettings, encoder: VisionEncoder) -> None:
        super().__init__()
        self.width = encoder.width
        heads = _choose_heads(encoder.width, temporal.heads)
        self.time = nn.ModuleList(
            ResidualAttention(encoder.width, heads, silent=True) for _ in encoder.layers
        )
        self.checkpointing = False

    def forward(self, encoder: VisionEncoder, pixels: Tensor) -> Tensor:
        """[videos, times, 3, side, side] → one vector per video and time."""
        videos, times = pixels.shape[:2]
        layers: list[Any] = list(encoder.layers)
        for layer, attention in zip(layers, self.time, strict=True):
            layer.forward = self._put_time_before(layer, attention, times)
        try:
            seen = encoder(pixels.flatten(0, 1))
        finally:
            for layer in layers:
                del layer.forward
        return seen.mean(1).unflatten(0, (videos, times))

    def _put_time_before(self, layer: Any, attention: nn.Module, times: int) -> Any:
        """A layer's function in which each token of its input first attends to itself at other times."""
        usual = layer.forward

        def run(hidden_states: Tensor, *args: Any, **kwargs: Any) -> Any:
            timed = hidden_states.unflatten(0, (-1, times)).transpose(1, 2)
            timed = attention(timed, embed_time(times, hidden_states.shape[-1], hidden_states))
            return usual(timed.transpose(1, 2).flatten(0, 1), *args, **kwargs)

        if not (self.checkpointing and torch.is_grad_enabled()):
            return run
        return partial(checkpoint, run, use_reentrant=False)


class FeatureEncoder(nn.Module):  # type: ignore[misc]
    """Divided blocks on what a frozen encoder made of each frame. A window also attends to the one before it."""

    def __init__(self, temporal: TemporalSettings, width: int) -> None:
        super().__init__()
        self.temporal = temporal
        self.width = width
        self.norm = nn.LayerNorm(width)
        heads = _choose_heads(width, temporal.heads)
        self.places = nn.Parameter(torch.randn(temporal.patches**2, width) * 0.02)
        self.blocks = nn.ModuleList(DividedBlock(width, heads) for _ in range(temporal.depth))
        self.checkpointing = False

    def forward(self, features: Tensor) -> Tensor:
        """[videos, times, patches, width] → vectors of each time's cells, [videos, times · cells, width]."""
        memories: list[Tensor | None] = [None] * len(self.blocks)
        results: list[Tensor] = []
        clock = embed_time(features.shape[1], self.width, self.places)
        for start in range(0, features.shape[1], self.temporal.window):
            end = start + self.temporal.window
            tokens = self.norm(features[:, start:end].to(self.places.dtype)) + self.places
            tokens = tokens + TIME_SCALE * clock[start:end, None].to(tokens.dtype)
            for index, block in enumerate(self.blocks):
                before, memories[index] = memories[index], tokens.detach()
                if self.checkpointing and torch.is_grad_enabled():
                    tokens = checkpoint(block, tokens, before, use_reentrant=False)
                else:
                    tokens = block(tokens, before)
            results.append(_average_cells(tokens, self.temporal.patches, self.temporal.cells))
        return torch.cat(results, dim=1).flatten(1, 2)


def _average_cells(tokens: Tensor, side: int, cells: int) -> Tensor:
    """[videos, times, side · side, width] → [videos, times, cells · cells, width]."""
    size = side // cells
    return tokens.unflatten(2, (cells, size, cells, size)).mean((3, 5)).flatten(2, 3)


class TemporalBranch(nn.Module):  # type: ignore[misc]
    """A video of any length as a fixed number of tokens.

    Args:
        temporal: its settings.
        encoder: the spatial branch's backbone.
        image_size: the side of frames.
        feature_width: for `features` and `video`, the width of what the frozen encoder makes.
    """

    def __init__(
        self,
        temporal: TemporalSettings,
        encoder: VisionEncoder,
        image_size: int,
        feature_width: int | None = None,
    ) -> None:
        super().__init__()
        self.temporal = temporal
        self.windows: FreshWindowEncoder | BackboneWindowEncoder | FeatureEncoder
        if feature_width is not None:
            self.windows = FeatureEncoder(temporal, feature_width)
        elif temporal.init == "fresh":
            self.windows = FreshWindowEncoder(temporal, image_size)
        else:
            self.windows = BackboneWindowEncoder(temporal, encoder)
        self.cells = temporal.cells**2 if feature_width is not None else 1
        self.width = self.windows.width
        self.whole = ResidualAttention(self.width, _choose_heads(self.width, temporal.heads))
        self.thought = FeedForward(self.width)
        self.checkpointing = False

    def forward(self, encoder: VisionEncoder, pixels: Tensor) -> Tensor:
        """[videos, times, 3, side, side] → [videos, tokens, width]; for `features`, [videos, times, patches, width]."""
        if not isinstance(self.windows, FreshWindowEncoder):
            self.windows.checkpointing = self.checkpointing
        if isinstance(self.windows, FeatureEncoder):
            return self._look_over(self.windows(pixels))
        window = self.temporal.window
        seen = [
            self._encode_window(encoder, pixels[:, start : start + window])
            for start in range(0, pixels.shape[1], window)
        ]
        return self._look_over(torch.cat(seen, dim=1))

    def _encode_window(self, encoder: VisionEncoder, pixels: Tensor) -> Tensor:
        if self.checkpointing and torch.is_grad_enabled():
            return checkpoint(self.windows, encoder, pixels, use_reentrant=False)
        return self.windows(encoder, pixels)

    def _look_over(self, tokens: Tensor) -> Tensor:
        """Attention over the vectors of all windows, then as many tokens as the language model receives."""
        times = tokens.shape[1] // self.cells
        clock = embed_time(times, self.width, tokens).repeat_interleave(self.cells, 0)
        tokens = self.thought(self.whole(tokens + TIME_SCALE * clock))
        if not isinstance(self.windows, FeatureEncoder):
            channels_first = tokens.transpose(1, 2)
            return functional.adaptive_avg_pool1d(channels_first, self.temporal.tokens).transpose(1, 2)
        by_cell = tokens.unflatten(1, (times, self.cells)).transpose(1, 2).flatten(0, 1)
        pooled = pool_times(by_cell, self.temporal.tokens // self.cells)
        return pooled.unflatten(0, (-1, self.cells)).transpose(1, 2).flatten(1, 2)


def pool_times(tokens: Tensor, count: int) -> Tensor:
    """[videos, times, width] → [videos, count, width]: averaged; where there are fewer times, interpolated,
    so that no two tokens are the same."""
    channels_first = tokens.transpose(1, 2)
    if count <= tokens.shape[1] or tokens.shape[1] == 1:
        return functional.adaptive_avg_pool1d(channels_first, count).transpose(1, 2)
    return functional.interpolate(channels_first, count, mode="linear", align_corners=True).transpose(1, 2)


def _choose_heads(width: int, max_heads: int) -> int:
    return next(heads for heads in range(max_heads, 0, -1) if width % heads == 0)


def embed_time(times: int, width: int, like: Tensor) -> Tensor:
    """Sines and cosines of the time, [times, width]: of no fixed length, so that a video may have any."""
    half = width // 2
    frequencies = torch.exp(torch.arange(half, device=like.device) * (-math.log(10_000.0) / half))
    angles = torch.arange(times, device=like.device)[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos(), angles.new_zeros(times, width - 2 * half)], dim=1).to(
        like.dtype
    )
