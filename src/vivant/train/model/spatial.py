"""The vision encoder, and the spatial branch on top of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from vivant.core.errors import UsageError
from vivant.models.base import ModelError
from vivant.models.transformers_engine import loading_error
from vivant.train.model.config import SpatialSettings, VisionSettings

CONV = "conv"


def make_conv_stem(channels: int, widths: Sequence[int]) -> nn.Sequential:
    """Strided convolutions, the first by four and each further by two: what learns soonest from chance."""
    layers: list[nn.Module] = [nn.Conv2d(channels, widths[0], 7, 4, 3)]
    for before, width in pairwise(widths):
        layers += [nn.GroupNorm(8, before), nn.GELU(), nn.Conv2d(before, width, 3, 2, 1)]
    return nn.Sequential(*layers)


def compute_stem_side(image_size: int, widths: Sequence[int]) -> int:
    """Patches along one side of what such a stem makes of a picture."""
    side = -(-image_size // 4)
    for _ in widths[1:]:
        side = -(-side // 2)
    return side


class ConvEncoder(nn.Module):  # type: ignore[misc]
    """A convolutional stem alone, for a model of one or two million parameters."""

    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        self.layers = make_conv_stem(3, widths)

    def forward(self, pixels: Tensor) -> Tensor:
        """[frames, 3, side, side] → [frames, patches, width]."""
        seen: Tensor = self.layers(pixels)
        return seen.flatten(2).transpose(1, 2)


class VisionEncoder(nn.Module):  # type: ignore[misc]
    """Any backbone as one function from normalised frames to patch tokens, class and register tokens left out."""

    def __init__(self, vision: VisionSettings, *, pretrained: bool) -> None:
        super().__init__()
        self.vision = vision
        self.is_conv = vision.config.get("model_type") == CONV
        if self.is_conv:
            widths = tuple(vision.config.get("widths", (48, 64, 96)))
            self.model: Any = ConvEncoder(widths)
            self.width = widths[-1]
            self.side = compute_stem_side(vision.image_size, widths)
            return
        config = load_vision_config(vision)
        self.model = _load_backbone(vision, config, pretrained)
        self.width = int(config.hidden_size)
        patch = config.patch_size
        self.side = vision.image_size // int(patch[0] if isinstance(patch, list | tuple) else patch)

    def forward(self, pixels: Tensor) -> Tensor:
        """[frames, 3, side, side] → [frames, patches, width]."""
        if self.is_conv:
            return self.model(pixels)
        seen = self.model(pixel_values=pixels).last_hidden_state
        return seen[:, -self.side * self.side :]

    @property
    def layers(self) -> nn.ModuleList:
        """The transformer layers of the backbone, whatever its family calls them."""
        lists = [m for m in self.model.modules() if isinstance(m, nn.ModuleList) and len(m) > 0]
        if not lists:
            raise UsageError("model.vision: this backbone has no list of layers; use temporal.init: fresh")
        return max(lists, key=lambda layers: sum(p.numel() for p in layers.parameters()))


def load_vision_config(vision: VisionSettings) -> Any:
    """The configuration of the part that sees, also where a checkpoint has a text half beside it."""
    from transformers import AutoConfig

    try:
        if vision.config:
            values = {name: value for name, value in vision.config.items() if name != "model_type"}
            config = AutoConfig.for_model(vision.config["model_type"], **values)
        else:
            config = AutoConfig.from_pretrained(vision.name, trust_remote_code=vision.trust_remote_code)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(loading_error(vision.name or "model.vision.config", error)) from error
    return getattr(config, "vision_config", config)


def _load_backbone(vision: VisionSettings, config: Any, pretrained: bool) -> Any:
    from transformers import AutoModel
    from transformers.models.auto.modeling_auto import MODEL_MAPPING

    if not (pretrained and vision.name):
        return AutoModel.from_config(config, trust_remote_code=vision.trust_remote_code)
    try:
        if type(config) in MODEL_MAPPING:
            return MODEL_MAPPING[type(config)].from_pretrained(vision.name, config=config)
        return AutoModel.from_pretrained(
            vision.name, config=config, trust_remote_code=vision.trust_remote_code
        )
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ModelError(loading_error(vision.name, error)) from error


def normalize_pixels(frames: Tensor, vision: VisionSettings, dtype: torch.dtype) -> Tensor:
    """Frames as bytes, [frames, side, side, 3], in the form that backbones take."""
    mean = torch.tensor(vision.mean, device=frames.device, dtype=torch.float32)
    spread = torch.tensor(vision.spread, device=frames.device, dtype=torch.float32)
    scaled = (frames.to(torch.float32) / 255.0 - mean) / spread
    return scaled.permute(0, 3, 1, 2).to(dtype)


class SpatialBranch(nn.Module):  # type: ignore[misc]
    """Patch tokens of a few frames, averaged to a grid."""

    def __init__(self, spatial: SpatialSettings, encoder_side: int) -> None:
        super().__init__()
        self.spatial = spatial
        self.side = encoder_side

    def forward(self, encoder: VisionEncoder, pixels: Tensor) -> Tensor:
        """[videos, frames, 3, side, side] → [videos, tokens, width]."""
        videos, frames = pixels.shape[:2]
        seen = encoder(pixels.flatten(0, 1))
        grid = seen.transpose(1, 2).unflatten(2, (self.side, self.side))
        pool = (
            functional.adaptive_max_pool2d if self.spatial.pool == "max" else functional.adaptive_avg_pool2d
        )
        pooled = pool(grid, self.spatial.grid).flatten(2).transpose(1, 2).unflatten(0, (videos, frames))
        if self.spatial.pool == "frames":
            return pooled.flatten(1, 2)
        return pooled.amax(1) if self.spatial.pool == "max" else pooled.mean(1)
