"""Pretrained video encoders of the transformers library as one function from frames to patches in space and time."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from vivant.models.base import ModelError
from vivant.models.transformers_engine import describe_loading_error
from vivant_train.backbones.loading import load_video_encoder
from vivant_train.model.config import VideoEncoderSettings


class VideoEncoder(nn.Module):  # type: ignore[misc]
    """TimeSformer, VideoMAE or V-JEPA 2: a window of frames → patches of each time. Always frozen."""

    def __init__(
        self, settings: VideoEncoderSettings, *, pretrained: bool, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        self.settings = settings
        if pretrained and settings.name:
            self.model: Any = load_video_encoder(settings.name, dtype=dtype)
        else:
            self.model = _make_random(settings)
        config = self.model.config
        self.family = str(config.model_type)
        is_vjepa = self.family == "vjepa2"
        self.frames = settings.frames or int(config.frames_per_clip if is_vjepa else config.num_frames)
        self.tubelet = 1 if self.family == "timesformer" else int(config.tubelet_size)
        size = config.crop_size if is_vjepa else config.image_size
        self.image_size = int(size[0] if isinstance(size, list | tuple) else size)
        self.side = self.image_size // int(config.patch_size)
        self.width = int(config.hidden_size)
        self.requires_grad_(False)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def forward(self, frames: Tensor) -> Tensor:
        """Frames as bytes, [times, side, side, 3] → [times / tubelet, patches, width]; windows follow each other."""
        pixels = frames.permute(0, 3, 1, 2).to(torch.float32) / 255.0
        pixels = functional.interpolate(
            pixels, (self.image_size, self.image_size), mode="bilinear", antialias=True, align_corners=False
        )
        mean, spread = (
            torch.tensor(values, device=pixels.device)[:, None, None]
            for values in (self.settings.mean, self.settings.spread)
        )
        pixels = ((pixels - mean) / spread).to(next(self.model.parameters()).dtype)
        return torch.cat([self._run(window) for window in pixels.split(self.frames)])

    def _run(self, pixels: Tensor) -> Tensor:
        """One window; a short one is filled with its last frame, whose patches are dropped again."""
        count = len(pixels)
        if count < self.frames:
            pixels = torch.cat([pixels, pixels[-1:].expand(self.frames - count, -1, -1, -1)])
        times = -(-count // self.tubelet)
        if self.family == "timesformer":
            seen = self.model(pixel_values=pixels[None]).last_hidden_state[0, 1:]
            return seen.unflatten(0, (self.side**2, self.frames)).transpose(0, 1)[:times]
        if self.family == "vjepa2":
            seen = self.model.get_vision_features(pixel_values_videos=pixels[None])[0]
        else:
            seen = self.model(pixel_values=pixels[None]).last_hidden_state[0]
        return seen.unflatten(0, (self.frames // self.tubelet, self.side**2))[:times]


def _make_random(settings: VideoEncoderSettings) -> Any:
    from transformers import AutoConfig, AutoModel

    try:
        if settings.config:
            values = {name: value for name, value in settings.config.items() if name != "model_type"}
            config = AutoConfig.for_model(settings.config["model_type"], **values)
        else:
            config = AutoConfig.from_pretrained(settings.name)
        return AutoModel.from_config(config)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(describe_loading_error(settings.name or "model.temporal.encoder", error)) from error
