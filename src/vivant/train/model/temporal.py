"""The temporal branch: divided space-time attention over windows of frames, then attention over the whole video.

In a window, every patch attends to itself at other times, then the patches of a frame attend to each other.
Windows are independent, so memory is that of one window, plus a vector for each frame of the video.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from vivant.train.model.config import TemporalSettings
from vivant.train.model.spatial import VisionEncoder, compute_stem_side, make_conv_stem

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

    def forward(self, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        """[…, length, width] → the same. `positions` are added before attention alone."""
        flat = self.norm(tokens.reshape(-1, *tokens.shape[-2:]))
        placed = flat if positions is None else flat + positions
        query, key, value = self.qkv(placed).unflatten(2, (3, self.heads, -1)).unbind(2)
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

    def forward(self, tokens: Tensor) -> Tensor:
        """[videos, times, patches, width] → the same."""
        timed = self.time(tokens.transpose(1, 2)).transpose(1, 2)
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

    def forward(self, encoder: VisionEncoder, pixels: Tensor) -> Tensor:
        """[videos, times, 3, side, side] → one vector per video and time."""
        videos, times = pixels.shape[:2]
        hooks = [
            layer.register_forward_pre_hook(_make_time_attention_hook(attention, times), with_kwargs=True)
            for layer, attention in zip(encoder.layers, self.time, strict=True)
        ]
        try:
            seen = encoder(pixels.flatten(0, 1))
        finally:
            for hook in hooks:
                hook.remove()
        return seen.mean(1).unflatten(0, (videos, times))


def _make_time_attention_hook(attention: nn.Module, times: int) -> Any:
    """A hook that lets each token of a layer's input attend to itself at other times."""

    def hook(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        hidden = args[0] if args else kwargs["hidden_states"]
        timed = hidden.unflatten(0, (-1, times)).transpose(1, 2)
        timed = attention(timed, embed_time(times, hidden.shape[-1], hidden))
        hidden = timed.transpose(1, 2).flatten(0, 1)
        return ((hidden, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": hidden})

    return hook


class TemporalBranch(nn.Module):  # type: ignore[misc]
    """A video of any length as a fixed number of tokens."""

    def __init__(self, temporal: TemporalSettings, encoder: VisionEncoder, image_size: int) -> None:
        super().__init__()
        self.temporal = temporal
        self.windows: FreshWindowEncoder | BackboneWindowEncoder
        if temporal.init == "fresh":
            self.windows = FreshWindowEncoder(temporal, image_size)
        else:
            self.windows = BackboneWindowEncoder(temporal, encoder)
        self.width = self.windows.width
        self.whole = ResidualAttention(self.width, _choose_heads(self.width, temporal.heads))
        self.thought = FeedForward(self.width)

    def forward(self, encoder: VisionEncoder, pixels: Tensor) -> Tensor:
        """[videos, times, 3, side, side] → [videos, tokens, width]."""
        window = self.temporal.window
        seen = [
            self.windows(encoder, pixels[:, start : start + window])
            for start in range(0, pixels.shape[1], window)
        ]
        tokens = torch.cat(seen, dim=1)
        tokens = tokens + TIME_SCALE * embed_time(tokens.shape[1], self.width, tokens)
        tokens = self.thought(self.whole(tokens))
        return functional.adaptive_avg_pool1d(tokens.transpose(1, 2), self.temporal.tokens).transpose(1, 2)


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
