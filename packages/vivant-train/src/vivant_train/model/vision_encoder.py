"""The vision encoder: any backbone as one function from frames to patch tokens."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from vivant.core.errors import UsageError
from vivant.models.base import ModelError
from vivant.models.transformers_engine import describe_loading_error
from vivant_train.backbones.loading import QWEN_VL, load_vision_tower, read_vision_config, vision_class
from vivant_train.model.config import VisionSettings

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
    """Any backbone as one function from normalised frames to patch tokens, class and register tokens left out.

    Args:
        vision: its settings.
        name: the checkpoint, its own or a whole one; empty for random weights.
        pretrained: whether the checkpoint's weights are loaded.
        dtype: the number format of loaded weights.
    """

    def __init__(
        self, vision: VisionSettings, *, name: str = "", pretrained: bool, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        self.vision = vision
        self.is_conv = vision.config.get("model_type") == CONV
        self.family = CONV
        self.merge = 1
        if self.is_conv:
            widths = tuple(vision.config.get("widths", (48, 64, 96)))
            self.model: Any = ConvEncoder(widths)
            self.width = widths[-1]
            self.side = compute_stem_side(vision.image_size, widths)
            return
        if pretrained and name:
            self.model = load_vision_tower(
                name, dtype=dtype, attention=vision.attention, trust_remote_code=vision.trust_remote_code
            )
            config = self.model.config
            _check_stated_config(vision.config, config, name)
        else:
            config = make_vision_config(vision, name)
            self.model = _make_backbone(vision, config)
        self.family = str(config.model_type)
        patch = config.patch_size
        cell = int(patch[0] if isinstance(patch, list | tuple) else patch)
        if self.takes_patches_of_qwen:
            self.merge = int(config.spatial_merge_size)
            cell *= self.merge
            self.width = int(config.out_hidden_size)
        else:
            self.width = int(config.hidden_size)
        self.side = vision.image_size // cell
        if self.side < 1 or vision.image_size % cell:
            raise UsageError(
                f"model.vision.image_size is {vision.image_size}; it must be a multiple of {cell}"
            )
        self._interpolates = "interpolate_pos_encoding" in inspect.signature(self.model.forward).parameters

    @property
    def takes_patches_of_qwen(self) -> bool:
        """Whether this is Qwen-VL's tower, which takes flattened patches and merges neighbours itself."""
        return self.family.removesuffix("_vision") in QWEN_VL

    @property
    def dtype(self) -> torch.dtype:
        """The number format of its weights."""
        parameter: Tensor = next(self.model.parameters())
        return parameter.dtype

    def forward(self, pixels: Tensor) -> Tensor:
        """[frames, 3, side, side] → [frames, patches, width]."""
        if self.is_conv:
            return self.model(pixels)
        pixels = pixels.to(self.dtype)
        if self.takes_patches_of_qwen:
            return self._run_qwen(pixels)
        if self.family == "siglip2_vision_model":
            return self._run_flexible(pixels)
        named = {"interpolate_pos_encoding": True} if self._interpolates else {}
        seen = self.model(pixel_values=pixels, **named).last_hidden_state
        return seen[:, -self.side * self.side :]

    def _run_flexible(self, pixels: Tensor) -> Tensor:
        """SigLIP 2 with any aspect: patches cut out beforehand, each as rows, columns, colours."""
        frames, patch = len(pixels), pixels.shape[-1] // self.side
        cut = pixels.unflatten(3, (self.side, patch)).unflatten(2, (self.side, patch))
        flat = cut.permute(0, 2, 4, 3, 5, 1).reshape(frames, self.side**2, -1)
        mask = torch.ones(frames, self.side**2, dtype=torch.long, device=pixels.device)
        shapes = torch.full((frames, 2), self.side, dtype=torch.long, device=pixels.device)
        seen: Tensor = self.model(
            pixel_values=flat, pixel_attention_mask=mask, spatial_shapes=shapes
        ).last_hidden_state
        return seen

    def _run_qwen(self, pixels: Tensor) -> Tensor:
        """Qwen-VL: each frame twice, as it takes pictures; patches in the order of the cells that it merges."""
        frames, merge, side = len(pixels), self.merge, self.side
        patch = pixels.shape[-1] // (side * merge)
        doubled = pixels[:, None].expand(-1, 2, -1, -1, -1)
        cut = doubled.reshape(frames, 2, 3, side, merge, patch, side, merge, patch)
        flat = cut.permute(0, 3, 6, 4, 7, 2, 1, 5, 8).reshape(frames * (side * merge) ** 2, -1)
        grid = torch.tensor([[1, side * merge, side * merge]] * frames, device=pixels.device)
        seen: Tensor = self.model(flat, grid_thw=grid).pooler_output
        return seen.unflatten(0, (frames, side * side))

    @property
    def layers(self) -> nn.ModuleList:
        """The transformer layers of the backbone, whatever its family calls them."""
        lists = [m for m in self.model.modules() if isinstance(m, nn.ModuleList) and len(m) > 0]
        if not lists or self.takes_patches_of_qwen:
            raise UsageError("model.vision: this backbone has no list of layers; use temporal.init: features")
        return max(lists, key=lambda layers: sum(p.numel() for p in layers.parameters()))


def make_vision_config(vision: VisionSettings, name: str = "") -> Any:
    """The configuration of the part that sees, also where a checkpoint has a text half beside it."""
    from transformers import AutoConfig

    if not vision.config:
        return read_vision_config(name, trust_remote_code=vision.trust_remote_code)
    values = {key: value for key, value in vision.config.items() if key != "model_type"}
    try:
        kind = str(vision.config["model_type"])
        if kind.removesuffix("_vision") in QWEN_VL:
            return _make_qwen_vision_config(kind, values)
        config = AutoConfig.for_model(kind, **values)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(describe_loading_error(vision.name or "model.vision.config", error)) from error
    return getattr(config, "vision_config", config)


def _make_qwen_vision_config(kind: str, values: dict[str, Any]) -> Any:
    if kind.startswith("qwen2_5"):
        from transformers.models.qwen2_5_vl.configuration_qwen2_5_vl import Qwen2_5_VLVisionConfig

        return Qwen2_5_VLVisionConfig(**values)
    from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLVisionConfig

    return Qwen3VLVisionConfig(**values)


def _make_backbone(vision: VisionSettings, config: Any) -> Any:
    from transformers import AutoModel

    model_class = vision_class(config)
    if vision.attention:
        config._attn_implementation = vision.attention
    if model_class is not None:
        return model_class(config)
    return AutoModel.from_config(config, trust_remote_code=vision.trust_remote_code)


def _check_stated_config(stated: Any, config: Any, name: str) -> None:
    """A size's stated figures serve to count without a download; they must be the checkpoint's."""
    for key, value in stated.items():
        real = getattr(config, key, None)
        if real is not None and key != "model_type" and _plain(value) != _plain(real):
            raise UsageError(f"model.vision.config.{key} is {value}, but {name} has {real}")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else value


def normalize_pixels(frames: Tensor, vision: VisionSettings, dtype: torch.dtype) -> Tensor:
    """Frames as bytes, [frames, side, side, 3], in the form that backbones take."""
    mean = torch.tensor(vision.mean, device=frames.device, dtype=torch.float32)
    spread = torch.tensor(vision.spread, device=frames.device, dtype=torch.float32)
    scaled = (frames.to(torch.float32) / 255.0 - mean) / spread
    return scaled.permute(0, 3, 1, 2).to(dtype)
