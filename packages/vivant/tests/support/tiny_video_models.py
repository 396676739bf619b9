"""Tiny checkpoints of families that take videos: the real classes, their video processors included."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import tiny_models
from tests.support.tiny_models import CHAT, text_config, tokenizer

_VISION = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}


def chat_template(picture: str, video: str) -> str:
    """A chat template in the usual shape, with what stands for a picture and for a video."""
    return tiny_models.template(picture, "{% elif c['type'] == 'video' %}" + video)


def add_video(folder: Path, processor: Any, picture: str, video: str) -> Path:
    """Put a video processor and a template for videos into a checkpoint."""
    processor.save_pretrained(folder)
    (folder / "chat_template.jinja").write_text(chat_template(picture, video))
    return folder


def qwen2_5(folder: Path) -> Path:
    """Qwen2.5-VL."""
    from transformers import Qwen2VLVideoProcessor

    tiny_models.qwen(folder)
    videos = Qwen2VLVideoProcessor(size={"shortest_edge": 28 * 28, "longest_edge": 28 * 28 * 4})
    vision = "<|vision_start|>{}<|vision_end|>"
    return add_video(folder, videos, vision.format("<|image_pad|>"), vision.format("<|video_pad|>"))


def qwen3(folder: Path) -> Path:
    """Qwen3-VL, which reads the time before each pair of frames."""
    from transformers import (
        Qwen2VLImageProcessorPil,
        Qwen3VLConfig,
        Qwen3VLForConditionalGeneration,
        Qwen3VLVideoProcessor,
    )

    special = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
    words = tokenizer([*CHAT, *special], "<|im_end|>", "<|endoftext|>")
    start, end, picture, video = map(words.convert_tokens_to_ids, special)
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}
    config = Qwen3VLConfig(
        text_config=text_config(words, head_dim=8, rope_parameters=rope),
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "out_hidden_size": 32,
            "patch_size": 16,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        },
        image_token_id=picture,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
    )
    pictures = Qwen2VLImageProcessorPil(patch_size=16, min_pixels=32 * 32, max_pixels=32 * 32 * 4)
    tiny_models.save(folder, Qwen3VLForConditionalGeneration(config), words, pictures)
    _name_processor(folder, "Qwen3VLProcessor")
    videos = Qwen3VLVideoProcessor(size={"shortest_edge": 2 * 32 * 32, "longest_edge": 8 * 32 * 32 * 4})
    return add_video(
        folder,
        videos,
        "<|vision_start|><|image_pad|><|vision_end|>",
        "<|vision_start|><|video_pad|><|vision_end|>",
    )


def internvl(folder: Path) -> Path:
    """InternVL in the library's own form."""
    from transformers import InternVLVideoProcessor

    tiny_models.internvl(folder)
    videos = InternVLVideoProcessor(size={"height": 56, "width": 56})
    return add_video(folder, videos, "<IMG_CONTEXT>\n", "<video>\n")


def llava_onevision(folder: Path) -> Path:
    """LLaVA-OneVision."""
    from transformers import LlavaOnevisionVideoProcessor

    tiny_models.llava(folder)
    videos = LlavaOnevisionVideoProcessor(size={"height": 56, "width": 56})
    return add_video(folder, videos, "<image>\n", "<video>\n")


def smolvlm2(folder: Path) -> Path:
    """SmolVLM2, which reads the time and the length of the video."""
    from transformers import (
        SmolVLMConfig,
        SmolVLMForConditionalGeneration,
        SmolVLMImageProcessorPil,
        SmolVLMVideoProcessor,
    )

    own = ["<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>", "<video>"]
    words = tokenizer([*CHAT, *own], "<|im_end|>", "<|endoftext|>")
    config = SmolVLMConfig(
        text_config={"model_type": "llama", **text_config(words)},
        vision_config={**_VISION, "image_size": 56, "patch_size": 14},
        image_token_id=words.convert_tokens_to_ids("<image>"),
        pad_token_id=words.pad_token_id,
        scale_factor=2,
    )
    pictures = SmolVLMImageProcessorPil(size={"longest_edge": 112}, max_image_size={"longest_edge": 56})
    tiny_models.save(
        folder,
        SmolVLMForConditionalGeneration(config),
        words,
        pictures,
        processor_class="SmolVLMProcessor",
        image_seq_len=4,
    )
    videos = SmolVLMVideoProcessor(
        size={"longest_edge": 112}, max_image_size={"longest_edge": 56}, num_frames=64, fps=1
    )
    return add_video(folder, videos, "<image>", "<video>")


def _name_processor(folder: Path, name: str) -> None:
    (folder / "processor_config.json").write_text(json.dumps({"processor_class": name}))


FAMILIES: dict[str, Callable[[Path], Path]] = {
    "qwen2.5": qwen2_5,
    "qwen3": qwen3,
    "internvl": internvl,
    "llava-onevision": llava_onevision,
    "smolvlm2": smolvlm2,
}


def build(name: str, folder: Path) -> Path:
    """The checkpoint of a family, the same every time."""
    import torch

    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    return FAMILIES[name](folder)
