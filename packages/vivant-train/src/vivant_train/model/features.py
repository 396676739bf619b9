"""What frozen encoders make of a video: the same at every step, so that it can be computed once and cached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from vivant.models.mimic_chat_format import spatial_frame_indices
from vivant_train.model.vision_encoder import normalize_pixels

VideoFeatures = Mapping[str, Tensor]
"""By branch: `spatial`, [tokens, width]; `temporal`, [times, patches, width]."""


@torch.no_grad()  # type: ignore[untyped-decorator]
def extract_features(model: Any, frames: Tensor) -> dict[str, Tensor]:
    """Both branches' inputs from the frames of one video as bytes, [times, side, side, 3].

    Every frame goes through the backbone once, in chunks of one window. The spatial branch takes its frames from those.
    """
    settings = model.settings
    temporal, spatial = settings.temporal, settings.spatial
    times = len(frames)
    chosen = spatial_frame_indices(times, spatial.frames) if spatial.on else []
    whole = temporal.on and temporal.init == "features"
    wanted = list(range(times)) if whole else sorted(set(chosen))
    kept: dict[int, Tensor] = {}
    averaged: list[Tensor] = []
    for start in range(0, len(wanted), temporal.window):
        indices = wanted[start : start + temporal.window]
        pixels = normalize_pixels(frames[indices], settings.vision, model.eyes.dtype)
        seen = model.eyes(pixels)
        if whole:
            averaged.append(average_patches(seen, model.eyes.side, temporal.patches))
        kept.update({index: seen[row] for row, index in enumerate(indices) if index in chosen})
    features: dict[str, Tensor] = {}
    if spatial.on:
        stacked = torch.stack([kept[index] for index in chosen])
        features["spatial"] = model.spatial.pool_patches(stacked[None])[0]
    if whole:
        features["temporal"] = torch.cat(averaged)
    elif temporal.on:
        seen = model.video_encoder(frames)
        features["temporal"] = average_patches(seen, model.video_encoder.side, temporal.patches)
    return features


def average_patches(seen: Tensor, side: int, patches: int) -> Tensor:
    """[frames, side · side, width] → [frames, patches · patches, width]."""
    grid = seen.transpose(1, 2).unflatten(2, (side, side))
    return functional.adaptive_avg_pool2d(grid, patches).flatten(2).transpose(1, 2)


def group_by_length(videos: Sequence[Tensor], encode: Any) -> Tensor:
    """Encode videos of one length together; the order is kept."""
    results: list[Tensor | None] = [None] * len(videos)
    for length in sorted({len(video) for video in videos}):
        indices = [index for index, video in enumerate(videos) if len(video) == length]
        encoded = encode(torch.stack([videos[index] for index in indices]))
        for index, tokens in zip(indices, encoded, strict=True):
            results[index] = tokens
    return torch.stack([tokens for tokens in results if tokens is not None])
