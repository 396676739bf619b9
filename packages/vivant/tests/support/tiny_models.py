"""Tiny checkpoints of real families, randomly initialised from their configurations, with a trained tokenizer.

They answer nonsense, but everything about them is real: configuration, processor, chat template, weights.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

_TEXT = "Which one is it? Answer with the letter alone. A. right B. wrong C. also wrong D. wrong too number"


def tokenizer(special: list[str], end: str, pad: str, **named: Any) -> Any:
    """A byte-level BPE of a few hundred tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([_TEXT] * 4, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token=end, pad_token=pad, **named)


def template(picture: str, more: str = "") -> str:
    """A chat template in the usual shape, with what stands for a picture; `more` are branches for other media."""
    return (
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
        "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for c in m['content'] %}"
        "{% if c['type'] == 'image' %}"
        + picture
        + more
        + "{% else %}{{ c['text'] }}{% endif %}{% endfor %}{% endif %}"
        "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )


CHAT = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
_SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 8192,
}


def save(folder: Path, model: Any, words: Any, pictures: Any, **processor: Any) -> Path:
    """Write a checkpoint whose replies end where the tokenizer says."""
    import json

    ends = words.convert_tokens_to_ids(words.eos_token)
    model.generation_config.bos_token_id = None
    model.generation_config.eos_token_id = ends
    model.generation_config.pad_token_id = words.pad_token_id
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    if pictures is not None:
        pictures.save_pretrained(folder)
    if processor:
        (folder / "processor_config.json").write_text(json.dumps(processor))
    return folder


def text_config(words: Any, **more: Any) -> dict[str, Any]:
    """The configuration of a small language model."""
    ids = {"bos_token_id": None, "eos_token_id": words.eos_token_id, "pad_token_id": words.pad_token_id}
    return {**_SMALL, "vocab_size": len(words), **ids, **more}


def qwen(folder: Path) -> Path:
    """Qwen2.5-VL."""
    from transformers import (
        Qwen2_5_VLConfig,
        Qwen2_5_VLForConditionalGeneration,
        Qwen2VLImageProcessorPil,
    )

    vision = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
    words = tokenizer([*CHAT, *vision], "<|im_end|>", "<|endoftext|>")
    words.chat_template = template("<|vision_start|><|image_pad|><|vision_end|>")
    start, end, picture, video = map(words.convert_tokens_to_ids, vision)
    config = Qwen2_5_VLConfig(
        text_config=text_config(
            words, rope_parameters={"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]}
        ),
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "out_hidden_size": 32,
            "patch_size": 14,
            "window_size": 56,
            "fullatt_block_indexes": [1],
        },
        image_token_id=picture,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
    )
    pictures = Qwen2VLImageProcessorPil(min_pixels=28 * 28, max_pixels=28 * 28 * 16)
    return save(folder, Qwen2_5_VLForConditionalGeneration(config), words, pictures)


def smolvlm(folder: Path) -> Path:
    """Idefics3, which is what SmolVLM's first checkpoints are."""
    from transformers import Idefics3Config, Idefics3ForConditionalGeneration, Idefics3ImageProcessorPil

    own = ["<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>"]
    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    words = tokenizer([*CHAT, *own, *tiles], "<|im_end|>", "<|endoftext|>")
    words.chat_template = template("<image>")
    config = Idefics3Config(
        text_config={"model_type": "llama", **text_config(words)},
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 56,
            "patch_size": 14,
        },
        image_token_id=words.convert_tokens_to_ids("<image>"),
        pad_token_id=words.pad_token_id,
        scale_factor=2,
    )
    pictures = Idefics3ImageProcessorPil(size={"longest_edge": 112}, max_image_size={"longest_edge": 56})
    return save(
        folder,
        Idefics3ForConditionalGeneration(config),
        words,
        pictures,
        processor_class="Idefics3Processor",
        image_seq_len=4,
    )


def gemma(folder: Path) -> Path:
    """Gemma 3."""
    from transformers import Gemma3Config, Gemma3ForConditionalGeneration, Gemma3ImageProcessorPil

    own = ["<boi>", "<eoi>", "<img>"]
    words = tokenizer(
        ["<bos>", *CHAT, *own],
        "<|im_end|>",
        "<|endoftext|>",
        bos_token="<bos>",
        extra_special_tokens={"boi_token": "<boi>", "eoi_token": "<eoi>", "image_token": "<img>"},
    )
    words.chat_template = template("<boi>")
    begin, end, picture = map(words.convert_tokens_to_ids, own)
    config = Gemma3Config(
        text_config={**text_config(words), "head_dim": 8, "sliding_window": 64},
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 56,
            "patch_size": 14,
        },
        mm_tokens_per_image=4,
        boi_token_index=begin,
        eoi_token_index=end,
        image_token_index=picture,
    )
    pictures = Gemma3ImageProcessorPil(size={"height": 56, "width": 56})
    return save(
        folder,
        Gemma3ForConditionalGeneration(config),
        words,
        pictures,
        processor_class="Gemma3Processor",
        image_seq_length=4,
    )


def internvl(folder: Path) -> Path:
    """InternVL in the library's own form, with tiles."""
    from transformers import GotOcr2ImageProcessorPil, InternVLConfig, InternVLForConditionalGeneration

    own = ["<img>", "</img>", "<IMG_CONTEXT>", "<video>"]
    words = tokenizer(
        [*CHAT, *own],
        "<|im_end|>",
        "<|endoftext|>",
        extra_special_tokens={
            "start_image_token": "<img>",
            "end_image_token": "</img>",
            "context_image_token": "<IMG_CONTEXT>",
            "video_token": "<video>",
        },
    )
    words.chat_template = template("<IMG_CONTEXT>\n")
    config = InternVLConfig(
        text_config={"model_type": "qwen2", **text_config(words)},
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": [56, 56],
            "patch_size": [14, 14],
        },
        image_token_id=words.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
    )
    pictures = GotOcr2ImageProcessorPil(
        size={"height": 56, "width": 56}, crop_to_patches=True, min_patches=1, max_patches=4
    )
    return save(
        folder,
        InternVLForConditionalGeneration(config),
        words,
        pictures,
        processor_class="InternVLProcessor",
        image_seq_length=4,
    )


def llava(folder: Path) -> Path:
    """LLaVA-OneVision."""
    from transformers import (
        LlavaOnevisionConfig,
        LlavaOnevisionForConditionalGeneration,
        LlavaOnevisionImageProcessorPil,
    )

    own = ["<image>", "<video>"]
    words = tokenizer([*CHAT, *own], "<|im_end|>", "<|endoftext|>")
    words.chat_template = template("<image>\n")
    picture, video = map(words.convert_tokens_to_ids, own)
    grid = [[56, 56], [56, 112], [112, 56]]
    config = LlavaOnevisionConfig(
        text_config={"model_type": "qwen2", **text_config(words)},
        vision_config={
            "model_type": "siglip_vision_model",
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 56,
            "patch_size": 14,
            "vision_use_head": False,
        },
        image_token_index=picture,
        video_token_index=video,
        image_grid_pinpoints=grid,
    )
    pictures = LlavaOnevisionImageProcessorPil(size={"height": 56, "width": 56}, image_grid_pinpoints=grid)
    return save(
        folder,
        LlavaOnevisionForConditionalGeneration(config),
        words,
        pictures,
        processor_class="LlavaOnevisionProcessor",
        num_image_tokens=16,
        patch_size=14,
        vision_feature_select_strategy="full",
    )


def llama(folder: Path) -> Path:
    """A language model without eyes."""
    from transformers import LlamaConfig, LlamaForCausalLM

    words = tokenizer(CHAT, "<|im_end|>", "<|endoftext|>")
    words.chat_template = template("")
    return save(folder, LlamaForCausalLM(LlamaConfig(**text_config(words))), words, None)


FAMILIES: dict[str, Callable[[Path], Path]] = {
    "qwen": qwen,
    "smolvlm": smolvlm,
    "gemma": gemma,
    "internvl": internvl,
    "llava": llava,
}


def build(name: str, folder: Path) -> Path:
    """The checkpoint of a family, the same every time."""
    import torch

    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    return {**FAMILIES, "llama": llama}[name](folder)


def diffusion_pipeline(folder: Path) -> Path:
    """A Stable Diffusion pipeline of diffusers' own classes that draws 16×16 pixels in two steps."""
    import json

    import torch
    from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

    torch.manual_seed(0)
    words = ["a", "i", "k", "t", "e", "e</w>", "a</w>", "<|startoftext|>", "<|endoftext|>"]
    source = folder.parent / f"{folder.name}-words"
    source.mkdir()
    (source / "vocab.json").write_text(json.dumps({word: number for number, word in enumerate(words)}))
    (source / "merges.txt").write_text("#version: 0.2\n")
    blocks = {"block_out_channels": (8, 16), "norm_num_groups": 4, "sample_size": 8}
    StableDiffusionPipeline(
        vae=AutoencoderKL(
            down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, **blocks
        ),
        text_encoder=CLIPTextModel(
            CLIPTextConfig(
                vocab_size=len(words),
                hidden_size=16,
                intermediate_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                bos_token_id=7,
                eos_token_id=8,
                pad_token_id=8,
            )
        ),
        tokenizer=CLIPTokenizer.from_pretrained(source, model_max_length=77),
        unet=UNet2DConditionModel(
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
            cross_attention_dim=16,
            attention_head_dim=4,
            layers_per_block=1,
            **blocks,
        ),
        scheduler=DDIMScheduler(clip_sample=False, steps_offset=1),
        safety_checker=None,
        feature_extractor=None,
        image_encoder=None,
        requires_safety_checker=False,
    ).save_pretrained(folder)
    return folder
