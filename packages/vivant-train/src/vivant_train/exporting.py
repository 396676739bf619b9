"""A trained model and its questions for others: weights that transformers loads by itself, files for other trainers.

The language model is written in its native class, with LoRA merged or beside it; a whole InternVL with what it learnt
in place. The temporal branch and its gates have no class there: they stay in `mimic_chat.safetensors`; a line says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from vivant.core.errors import DataError, UsageError
from vivant.core.files import atomic_path, write_jsonl
from vivant_train.data.sources import Example, load_examples, phrase_example
from vivant_train.settings import Recipe

Trainer = Literal["ms-swift", "llama-factory"]
_IMAGE_TOKEN = "<IMG_CONTEXT>"
"""What InternVL's tokenizers call the place of a patch."""


class ExportedWeights(Struct, frozen=True):
    """What was written."""

    parts: tuple[str, ...]
    left_out: tuple[str, ...]
    """Branches that transformers has no class for."""


def export_transformers(
    checkpoint: Path, out: Path, *, lora: Literal["merged", "apart"] = "merged"
) -> ExportedWeights:
    """Write a finished model in forms that `from_pretrained` loads without Vivant.

    Args:
        checkpoint: what a training wrote.
        out: a folder that does not exist yet.
        lora: merged into the language model, or beside the unchanged one as an adapter of peft.
    """
    from safetensors.torch import save_file

    from vivant_train.checkpoints import load_model
    from vivant_train.model.lora import make_peft_config, merge_lora, split_lora

    if out.exists():
        raise UsageError(f"{out} is there already; name another folder")
    model, processor = load_model(checkpoint, quantized=False)
    settings = model.settings
    state = model.state_dict()
    prefix = "language_model."
    words = {name: value for name, value in state.items() if name.startswith(prefix)}
    parts = ["language_model", "vision_tower"]
    with atomic_path(out) as temporary:
        temporary.mkdir(parents=True)
        if settings.language.lora is not None and lora == "apart":
            base, updates = split_lora(words)
            adapter = make_peft_config(model.language_model, settings.language.lora)
            adapter.base_model_name_or_path = "../language_model"
            adapter.save_pretrained(temporary / "adapter")
            save_file(updates, temporary / "adapter" / "adapter_model.safetensors", {"format": "pt"})
            parts.append("adapter")
        elif settings.language.lora is not None:
            base = merge_lora(words, settings.language.lora)
        else:
            base = words
        native = {name.removeprefix(prefix): value.contiguous() for name, value in base.items()}
        _make_plain_copy(model.language_model, native).save_pretrained(temporary / "language_model")
        processor.tokenizer.save_pretrained(temporary / "language_model")
        if hasattr(model.eyes.model, "save_pretrained"):
            model.eyes.model.save_pretrained(temporary / "vision_tower")
        else:
            parts.remove("vision_tower")
        rest = {
            name: value.contiguous().clone()
            for name, value in state.items()
            if not name.startswith((prefix, "eyes.")) and "lora_" not in name
        }
        save_file(rest, temporary / "mimic_chat.safetensors", {"format": "pt"})
        if settings.checkpoint and "spatial" in model.projectors and not model.eyes.takes_patches_of_qwen:
            _save_internvl(model, native, processor.tokenizer, temporary / "internvl")
            processor.tokenizer.save_pretrained(temporary / "internvl")
            parts.append("internvl")
    left_out = ("temporal branch", "gated fusion") if settings.temporal.on else ()
    return ExportedWeights(tuple(parts), left_out)


def _make_plain_copy(language_model: Any, weights: dict[str, Any]) -> Any:
    """The language model in its own class, without LoRA and without hooks."""
    plain = type(language_model)(language_model.config)
    plain.load_state_dict(
        {name: weights[name] for name in plain.state_dict() if name in weights}, strict=False
    )
    missing = sorted(plain.state_dict().keys() - weights.keys())
    if missing and not plain.config.tie_word_embeddings:
        raise DataError(f"The language model cannot be exported: it lacks {missing[0]}")
    return plain


def _save_internvl(model: Any, words: dict[str, Any], tokenizer: Any, folder: Path) -> None:
    """The whole model without its temporal branch, in the class that its checkpoint came in."""
    from transformers import InternVLConfig, InternVLForConditionalGeneration

    text = model.language_model.config
    mark = tokenizer.get_vocab().get(_IMAGE_TOKEN)
    config = InternVLConfig(
        **({} if mark is None else {"image_token_id": mark}),
        vision_config=model.eyes.model.config.to_dict(),
        text_config=text.to_dict(),
        tie_word_embeddings=bool(text.tie_word_embeddings),
        image_seq_length=model.settings.spatial.grid**2,
    )
    whole = InternVLForConditionalGeneration(config)
    whole.model.vision_tower.load_state_dict(model.eyes.model.state_dict())
    body = {n.removeprefix("model."): v for n, v in words.items() if n.startswith("model.")}
    whole.model.language_model.load_state_dict(body)
    if "lm_head.weight" in words:
        whole.lm_head.weight.data.copy_(words["lm_head.weight"])
    layers = model.projectors["spatial"].layers
    projector = whole.model.multi_modal_projector
    for name, index in (("layer_norm", 0), ("linear_1", 1), ("linear_2", 3)):
        getattr(projector, name).load_state_dict(layers[index].state_dict())
    whole.save_pretrained(folder)


# ── questions for other trainers ──


def export_questions(recipe: Recipe, base: Path, out: Path, trainer: Trainer) -> int:
    """Write a recipe's questions and settings for another trainer, and return how many there are.

    Questions are phrased as in the first epoch here: the same texts, options and answers.
    """
    examples = load_examples(recipe.data.sources, base, recipe.seed).examples
    if out.exists():
        raise UsageError(f"{out} is there already; name another folder")
    rows = [_make_row(example, recipe.seed) for example in examples]
    with atomic_path(out) as temporary:
        temporary.mkdir(parents=True)
        write_jsonl(temporary / "questions.jsonl", rows)
        if trainer == "llama-factory":
            (temporary / "dataset_info.json").write_text(_make_dataset_info(rows), encoding="utf-8")
        (temporary / "recipe.yaml").write_text(_make_recipe(recipe, trainer), encoding="utf-8")
    return len(rows)


def _make_row(example: Example, seed: int) -> dict[str, Any]:
    from vivant.core.types import Video

    phrased = phrase_example(example, 0, seed)
    marks: list[str] = []
    files: dict[str, list[str]] = {"videos": [], "images": []}
    for part in phrased.media:
        kind = "videos" if isinstance(part, Video) else "images"
        files[kind].append(str(Path(example.media_root) / part.path))
        marks.append("<video>" if kind == "videos" else "<image>")
    messages = [
        {"role": "user", "content": "".join(marks) + _break_marks(phrased.text)},
        {"role": "assistant", "content": _break_marks(phrased.answer)},
    ]
    return {"messages": messages, **{kind: paths for kind, paths in files.items() if paths}}


def _break_marks(text: str) -> str:
    """Text in which nothing stands for a medium: both trainers count marks, also those that a user wrote."""
    for mark in ("<video>", "<image>", "<audio>"):
        text = text.replace(mark, f"< {mark[1:]}")
    return text


def _make_dataset_info(rows: Sequence[Mapping[str, Any]]) -> str:
    """LLaMA-Factory's description of the file. It reads each column that is named, so only those that are there."""
    columns = [name for name in ("messages", "videos", "images") if any(name in row for row in rows)]
    tags = {
        "role_tag": "role",
        "content_tag": "content",
        "user_tag": "user",
        "assistant_tag": "assistant",
    }
    described = {
        "file_name": "questions.jsonl",
        "formatting": "sharegpt",
        "columns": {name: name for name in columns},
        "tags": tags,
    }
    return msgspec.json.format(msgspec.json.encode({"vivant": described})).decode()


_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
_INTERNLM2_ATTENTION = ("wqkv", "wo")
"""In OpenGVLab's format, which ms-swift loads and LLaMA-Factory does not."""
_TEMPLATES = {
    "internvl": "intern_vl",
    "internvl_chat": "intern_vl",
    "qwen2_5_vl": "qwen2_vl",
    "qwen3_vl": "qwen3_vl_nothink",
}
"""LLaMA-Factory's names of prompt templates, by the checkpoint's type. Without one it refuses videos."""


def _read_family(checkpoint: str) -> str:
    from vivant_train.backbones.files import open_checkpoint

    return open_checkpoint(checkpoint).model_type


def _find_template(checkpoint: str) -> str:
    family = _read_family(checkpoint)
    if family not in _TEMPLATES:
        raise UsageError(f"LLaMA-Factory has no template that Vivant knows for {checkpoint}, a {family}")
    thinks = family == "qwen3_vl" and "thinking" in checkpoint.lower()
    return "qwen3_vl" if thinks else _TEMPLATES[family]


def _make_recipe(recipe: Recipe, trainer: Trainer) -> str:
    """The settings that both trainers share, under the other's names."""
    import yaml

    train, lora = recipe.train, recipe.model.language.lora
    model = recipe.model.checkpoint or recipe.model.language_source
    common: dict[str, Any] = {
        "learning_rate": train.learning_rate,
        "max_steps": train.steps,
        "warmup_steps": train.warm_up,
        "weight_decay": train.weight_decay,
        "max_grad_norm": train.clip,
        "lr_scheduler_type": "cosine",
        "seed": recipe.seed,
        "bf16": True,
        "gradient_checkpointing": train.gradient_checkpointing,
        "save_steps": recipe.checkpoint_every,
        "output_dir": recipe.out,
    }
    if trainer == "ms-swift":
        named: dict[str, Any] = {
            "model": model,
            "use_hf": True,
            "dataset": ["questions.jsonl"],
            "tuner_type": "lora" if lora else "full",
            "max_length": train.row_tokens,
        }
        if lora:
            # By name alone, it would also find layers of the vision tower.
            names = "|".join(lora.targets or (*_ATTENTION, *_INTERNLM2_ATTENTION))
            pattern = rf"^(?!.*(vision|visual)).*\.({names})$"
            named |= {"lora_rank": lora.rank, "lora_alpha": lora.alpha, "target_regex": pattern}
        else:
            named |= {"freeze_vit": recipe.model.vision.frozen, "freeze_aligner": False}
    else:
        named = {
            "stage": "sft",
            "do_train": True,
            "model_name_or_path": model,
            "dataset_dir": ".",
            "dataset": "vivant",
            "finetuning_type": "lora" if lora else "full",
            "cutoff_len": train.row_tokens,
            "freeze_vision_tower": recipe.model.vision.frozen,
        }
        if not lora:
            named["freeze_multi_modal_projector"] = False
        if recipe.model.checkpoint:
            named["template"] = _find_template(recipe.model.checkpoint)
        if lora:
            targets = ",".join(lora.targets or _ATTENTION)
            named |= {"lora_rank": lora.rank, "lora_alpha": lora.alpha, "lora_target": targets}
    head = "# For ms-swift 4: swift sft recipe.yaml\n"
    if trainer == "llama-factory":
        head = "# llamafactory-cli train recipe.yaml\n"
    head += (
        "# The temporal branch, gated fusion and packing of MIMIC-Chat have no counterpart in this trainer.\n"
    )
    if lora:
        head += "# Only LoRA learns here: the projector stays as it is.\n"
    if trainer == "llama-factory" and recipe.model.checkpoint and _read_family(model) == "internvl_chat":
        head += (
            f"# It does not load {model}, which has OpenGVLab's format: name an edition that ends in -hf.\n"
        )
    if not recipe.model.checkpoint:
        head += f"# {model} is a language model without a vision tower: name a whole vision-language model instead.\n"
    text: str = yaml.safe_dump({**named, **common}, sort_keys=False)
    return head + text
