"""From a recipe to examples, a tokenizer and a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch
from msgspec import Struct

from vivant.core.randomness import derive_seed
from vivant.train.checkpoints import load_model
from vivant.train.data.sources import Example, answers, load, phrase
from vivant.train.model.config import MimicChatConfig, Parts
from vivant.train.model.modeling import MimicChat
from vivant.train.model.processing import (
    Processor,
    line_breaks,
    load_tokenizer,
    shared_lines,
    train_tokenizer,
)
from vivant.train.settings import Recipe

_TEXTS = 20_000
"""Examples that a tokenizer is trained on at most."""


class Ready(Struct, frozen=True, eq=False):
    """What a training begins with."""

    examples: tuple[Example, ...]
    processor: Processor
    model: MimicChat


def set_up(recipe: Recipe, base: Path, out: Path, say: Callable[[str], None], accelerator: Any) -> Ready:
    """Read data, train or load the tokenizer, make the model. The same recipe gives the same, every time."""
    loaded = load(recipe.data.sources, base, recipe.seed)
    for note in loaded.notes:
        say(note)
    torch.manual_seed(derive_seed(recipe.seed, "weights") % 2**63)
    if recipe.begin:
        model, processor = load_model(base / Path(recipe.begin).expanduser())
        model.learn_by(recipe.model)
        ready = Ready(loaded.examples, processor, model)
    else:
        words = tokenizer_for(recipe, loaded.examples, out, accelerator)
        parts = sized(recipe.model, words)
        model = MimicChat(MimicChatConfig.of(parts), pretrained=True)
        ready = Ready(loaded.examples, Processor(parts, words, model.vocabulary), model)
    learning = sum(weight.numel() for weight in ready.model.parameters() if weight.requires_grad)
    total = sum(weight.numel() for weight in ready.model.parameters())
    say(
        f"{len(loaded.examples):,} examples; {total / 1e6:.2f} M parameters, {learning / 1e6:.2f} M of them learn; "
        f"{accelerator.num_processes} process(es) on {accelerator.device}."
    )
    return ready


def tokenizer_for(recipe: Recipe, examples: Sequence[Example], out: Path, accelerator: Any) -> Any:
    """The language model's own tokenizer, or one trained on the examples and kept with the training."""
    language = recipe.model.language
    if language.name:
        return load_tokenizer(language.name, trust_remote_code=language.trust_remote_code)
    folder = out / "tokenizer"
    if accelerator.is_main_process and not folder.is_dir():
        aside = out / ".tokenizer.writing"
        own_tokenizer(recipe, examples).save_pretrained(aside)
        aside.rename(folder)
    accelerator.wait_for_everyone()
    return load_tokenizer(folder)


def own_tokenizer(recipe: Recipe, examples: Sequence[Example]) -> Any:
    """A tokenizer for what the examples ask and answer."""
    texts: list[str] = []
    prompts: list[tuple[str, Sequence[str]]] = []
    stride = max(1, len(examples) // _TEXTS)
    for example in examples[::stride]:
        said = phrase(example, 0, recipe.seed)
        prompts.append((said.text, said.options))
        texts += [said.text, said.answer, *answers(example)]
        if example.source.words:
            shown = phrase(example, 0, recipe.seed, "words")
            prompts.append((shown.text, ()))
    return train_tokenizer(texts, recipe.data.vocabulary, shared_lines(prompts))


def sized(parts: Parts, words: Any) -> Parts:
    """Settings with the tokenizer's size and marks filled in, where the language model is made from scratch."""
    if parts.language.name:
        return parts
    given = {
        "vocab_size": len(words),
        "bos_token_id": None,
        "eos_token_id": words.eos_token_id,
        "pad_token_id": words.pad_token_id,
    }
    language = msgspec.structs.replace(
        parts.language,
        config={**parts.language.config, **given},
        breaks=line_breaks(words) if parts.language.lines else (),
    )
    return msgspec.structs.replace(parts, language=language)
