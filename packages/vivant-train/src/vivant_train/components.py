"""From a recipe to examples, a tokenizer and a model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch
from msgspec import Struct

from vivant.core.errors import UsageError, VivantError
from vivant.core.files import atomic_path
from vivant.core.randomness import derive_seed
from vivant_train.accelerator import frozen_dtype, raise_together
from vivant_train.backbones.tokenizers import check_tokenizer, load_tokenizer
from vivant_train.checkpoints import load_model
from vivant_train.data.example_set import ExampleSet
from vivant_train.data.sources import Example, list_answers, phrase_example
from vivant_train.model.config import MimicChatConfig, ModelSettings
from vivant_train.model.modeling import MimicChat
from vivant_train.model.processing import (
    Processor,
    find_line_breaks,
    find_shared_lines,
    train_tokenizer,
)
from vivant_train.output_folder import TOKENIZER_FOLDER
from vivant_train.settings import Recipe

logger = logging.getLogger("vivant")
_MAX_TOKENIZER_EXAMPLES = 20_000
"""Examples that a tokenizer is trained on at most."""


class TrainingComponents(Struct, frozen=True, eq=False):
    """The parts that a training starts with."""

    examples: ExampleSet
    processor: Processor
    model: MimicChat


def load_components(recipe: Recipe, base: Path, out: Path, accelerator: Any) -> TrainingComponents:
    """Read data, train or load the tokenizer, make the model. The same recipe always gives the same components."""
    examples = ExampleSet(recipe.data.sources, base, recipe.seed)
    is_main = accelerator.is_main_process
    if is_main:
        for warning in examples.warnings:
            logger.warning("%s", warning)
    torch.manual_seed(derive_seed(recipe.seed, "weights") % 2**63)
    if recipe.begin:
        model, processor = load_model(base / Path(recipe.begin).expanduser())
        model.set_trainable(recipe.model)
        model.to_training_dtypes(frozen_dtype(accelerator.mixed_precision))
    else:
        tokenizer = load_tokenizer_for(recipe, examples, out, accelerator)
        settings = fill_vocabulary(recipe.model, tokenizer)
        dtype = frozen_dtype(accelerator.mixed_precision)
        model = MimicChat(MimicChatConfig.from_settings(settings), pretrained=True, dtype=dtype)
        if settings.language_source:
            check_tokenizer(
                tokenizer, model.vocabulary, settings.language_source, chat=settings.language.chat
            )
        processor = Processor(model.settings, tokenizer, model.vocabulary)
    trainable = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    total = sum(weight.numel() for weight in model.parameters())
    if is_main:
        logger.info(
            f"{examples.describe()}; {total / 1e6:.2f} M parameters, {trainable / 1e6:.2f} M of them "
            f"learn; {accelerator.num_processes} process(es) on {accelerator.device}."
        )
    return TrainingComponents(examples, processor, model)


def load_tokenizer_for(recipe: Recipe, examples: ExampleSet, out: Path, accelerator: Any) -> Any:
    """The language model's own tokenizer, or one trained on the examples and kept with the training."""
    language = recipe.model.language
    if recipe.model.language_source:
        return load_tokenizer(recipe.model.language_source, trust_remote_code=language.trust_remote_code)
    folder = out / TOKENIZER_FOLDER
    failed: VivantError | None = None
    if accelerator.is_main_process and not folder.is_dir():
        try:
            trained = train_example_tokenizer(recipe, examples.sample_examples(_MAX_TOKENIZER_EXAMPLES))
            with atomic_path(folder) as temporary:
                trained.save_pretrained(temporary)
        except VivantError as error:
            failed = error
        except OSError as error:
            failed = UsageError(f"{folder} cannot be written: {error}")
    raise_together(failed, accelerator)
    return load_tokenizer(folder)


def train_example_tokenizer(recipe: Recipe, examples: Sequence[Example]) -> Any:
    """A tokenizer for what the examples ask and answer."""
    texts: list[str] = []
    prompts: list[tuple[str, Sequence[str]]] = []
    for example in examples:
        phrased = phrase_example(example, 0, recipe.seed)
        prompts.append((phrased.text, phrased.options))
        texts += [phrased.text, phrased.answer, *list_answers(example)]
        if example.source.words:
            prompts.append((phrase_example(example, 0, recipe.seed, "words").text, ()))
    return train_tokenizer(texts, recipe.data.vocabulary, find_shared_lines(prompts))


def fill_vocabulary(settings: ModelSettings, tokenizer: Any) -> ModelSettings:
    """Fill in the tokenizer's size and special tokens, where the language model is made from scratch."""
    if settings.language_source:
        return settings
    vocabulary = {
        "vocab_size": len(tokenizer),
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    language = msgspec.structs.replace(
        settings.language,
        config={**settings.language.config, **vocabulary},
        breaks=find_line_breaks(tokenizer) if settings.language.lines else (),
    )
    return msgspec.structs.replace(settings, language=language)
