"""Processors of the transformers library: what they are given, whether they take videos, and what they need.

Nothing here needs torch until it is called.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from typing import Any

from vivant.core.types import Picture


def decode_picture(picture: Picture, max_pixels: int | None = None) -> Any:
    """As pixels, scaled down to a number of them where one is given."""
    from PIL import Image

    with Image.open(io.BytesIO(picture.data)) as file:
        image = file.convert("RGB")
    if max_pixels is not None and image.width * image.height > max_pixels:
        scale = (max_pixels / (image.width * image.height)) ** 0.5
        size = max(1, int(image.width * scale)), max(1, int(image.height * scale))
        image = image.resize(size, Image.Resampling.BICUBIC)
    return image


def hide_broken_torchvision() -> str:
    """Why torchvision cannot be imported; empty where it can, or is not installed.

    One that was made for another torch keeps the transformers library from loading anything at all, so it is hidden:
    then it counts as not installed.
    """
    try:
        import torchvision  # noqa: F401
    except ModuleNotFoundError:
        return ""
    except (ImportError, RuntimeError, OSError) as error:
        sys.modules["torchvision"] = None  # type: ignore[assignment]
        return " ".join(str(error).split())[:120]
    return ""


def takes_videos(processor: Any) -> bool:
    """Whether a processor has a video half, and its chat template a place for a video."""
    token = getattr(processor, "video_token", None)
    if getattr(processor, "video_processor", None) is None or not token:
        return False
    chat = [{"role": "user", "content": [{"type": "video"}, {"type": "text", "text": "?"}]}]
    try:
        return token in processor.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    except Exception:  # a template may raise whatever it likes about a part that it does not know
        return False


def load_image_processor(checkpoint: str, origin: Mapping[str, Any]) -> Any:
    """A processor without its video half, which alone needs torchvision: videos come as frames anyway."""
    from transformers import AutoConfig, AutoFeatureExtractor, AutoImageProcessor, AutoTokenizer
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING

    family: Any = PROCESSOR_MAPPING[type(AutoConfig.from_pretrained(checkpoint, **origin))]

    def check(self: Any, name: str, part: Any) -> Any:
        return None if "video" in name else family.check_argument_for_proper_class(self, name, part)

    stills: Any = type(family.__name__, (family,), {"check_argument_for_proper_class": check})
    values, options = stills.get_processor_dict(checkpoint, **origin)
    makers = {
        "tokenizer": AutoTokenizer,
        "image_processor": AutoImageProcessor,
        "feature_extractor": AutoFeatureExtractor,
    }
    parts = [
        None if "video" in name else makers[name].from_pretrained(checkpoint, **origin)
        for name in stills.get_attributes()
    ]
    return stills.from_args_and_dict(parts, values, **options)
