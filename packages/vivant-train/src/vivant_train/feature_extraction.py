"""`vivant train features`: what frozen encoders make of every video of a recipe, kept in the cache."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import torch
from msgspec import Struct
from torch import nn

from vivant.core.errors import MediaError, UsageError
from vivant.core.paths import cache_root
from vivant_train.accelerator import frozen_dtype, make_accelerator
from vivant_train.checkpoints import read_trained
from vivant_train.data.frame_loader import FrameLoader
from vivant_train.data.sources import load_examples
from vivant_train.feature_cache import FeatureCache
from vivant_train.model.config import ModelSettings
from vivant_train.model.features import extract_features
from vivant_train.model.processing import Processor
from vivant_train.model.spatial import SpatialBranch
from vivant_train.model.video_encoder import VideoEncoder
from vivant_train.model.vision_encoder import VisionEncoder
from vivant_train.settings import Recipe

logger = logging.getLogger("vivant")
_AHEAD = 8


class ExtractedFeatures(Struct, frozen=True):
    """What all processes did together."""

    folder: Path
    written: int
    present: int
    failed: int


class FrozenEncoders(nn.Module):  # type: ignore[misc]
    """The parts of a MIMIC-Chat below its branches, without a language model."""

    def __init__(self, settings: ModelSettings, dtype: torch.dtype) -> None:
        super().__init__()
        self.settings = settings
        self.eyes = VisionEncoder(settings.vision, name=settings.vision_source, pretrained=True, dtype=dtype)
        if settings.spatial.on:
            self.spatial = SpatialBranch(settings.spatial, self.eyes.side, self.eyes.width)
        if settings.temporal.on and settings.temporal.init == "video":
            self.video_encoder = VideoEncoder(settings.temporal.encoder, pretrained=True, dtype=dtype)
        self.requires_grad_(False).eval()


def write_features(
    recipe: Recipe, base: Path = Path(), progress: Callable[[int, int], None] | None = None
) -> ExtractedFeatures:
    """Compute the features of all videos that have none yet; several processes share them out.

    Args:
        recipe: names the encoders, the data and the frames.
        base: the folder that the recipe's paths are relative to.
        progress: is called in the main process with the videos done and all videos of this process.
    """
    settings = recipe.model
    if not settings.has_fixed_features or not settings.vision_source:
        raise UsageError(
            "Features can be cached where a named backbone is frozen and temporal.init is features or video; "
            "in this recipe they change as the model learns"
        )
    if recipe.begin and "vision" in read_trained(base / Path(recipe.begin).expanduser()):
        raise UsageError(
            f"The backbone of {recipe.begin} has learnt, so its features are not those of {settings.vision_source}; "
            "train without cached features"
        )
    accelerator: Any = make_accelerator(recipe)
    precision = str(accelerator.mixed_precision)
    examples = load_examples(recipe.data.sources, base, recipe.seed).examples
    videos = list({example.video: example for example in examples if example.video}.values())
    share = videos[accelerator.process_index :: accelerator.num_processes]
    cache = FeatureCache(settings, recipe.data.frames, precision)
    cache.folder.mkdir(parents=True, exist_ok=True)
    missing = [example for example in share if not cache.has(example)]
    encoders = FrozenEncoders(settings, frozen_dtype(precision)).to(accelerator.device)
    data = recipe.data
    written = 0
    with closing(
        FrameLoader(
            Processor(ModelSettings(vision=settings.vision), None, 0),  # only resizes frames
            data.frames,
            cache_root(),
            workers=data.workers,
            megabytes=data.memory,
        )
    ) as loader:
        loader.limit_failures(len(videos), data.max_failed)
        for number, example in enumerate(missing):
            loader.request(missing[number : number + _AHEAD])
            try:
                frames = torch.from_numpy(loader.load_frames(example)).to(accelerator.device)
            except MediaError:
                if (excess := loader.find_excess()) is not None:
                    raise excess from None
                continue
            with accelerator.autocast():
                cache.write(example, extract_features(encoders, frames))
            written += 1
            if progress is not None and accelerator.is_main_process:
                progress(number + 1, len(missing))
        loader.share_failures(accelerator)
        if (excess := loader.find_excess()) is not None:
            raise excess
        failed = len(loader.failed)
    counts = torch.tensor([written, len(share) - len(missing)], device=accelerator.device)
    written, present = accelerator.reduce(counts, "sum").tolist()
    return ExtractedFeatures(cache.folder, written, present, failed)
