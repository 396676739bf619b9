"""`vivant/tiny` from nothing: its data, its training, its export."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import msgspec
import yaml

from tiny.training_data import make_training_data
from vivant.models.baselines import split_words
from vivant.models.onnx_backend import OnnxModelSettings
from vivant_train.checkpoints import list_checkpoints
from vivant_train.data.sources import load_examples, phrase_example
from vivant_train.onnx_export import export_onnx
from vivant_train.settings import Recipe, make_recipe
from vivant_train.trainer import train

LESSONS, TRAINED, EXPORTED = "lessons", "trained", "tiny"
NOTE = "Trained by `tools/tiny` on generated videos alone; see docs/tiny-card.md."


def make_tiny(work: Path, *, steps: int | None = None) -> OnnxModelSettings | None:
    """Make the model below `work`, or continue where an earlier call stopped; None if this one is stopped.

    Args:
        work: the folder for the data, the training and the model.
        steps: for a try; fewer than the recipe has make a worse model.
    """
    make_training_data(work / LESSONS)
    recipe = load_tiny_recipe(work / TRAINED, steps)
    resume = bool(list_checkpoints(work / TRAINED))
    result = train(recipe, work / LESSONS, resume=resume)
    if not result.finished:
        return None
    words = list_question_words(recipe, work / LESSONS)
    return export_onnx(result.best or result.model, work / EXPORTED, weights="fp16", note=NOTE, words=words)


def list_question_words(recipe: Recipe, lessons: Path) -> list[str]:
    """Every word of the questions that the recipe's data hold, options included."""
    words: set[str] = set()
    for example in load_examples(recipe.data.sources, lessons, recipe.seed).examples:
        words.update(split_words(phrase_example(example, 0, recipe.seed).text))
    return sorted(words)


def load_tiny_recipe(out: Path, steps: int | None = None) -> Recipe:
    """The recipe that the bundled weights were trained by."""
    text = resources.files(__package__).joinpath("recipe.yaml").read_text("utf-8")
    recipe = make_recipe({**yaml.safe_load(text), "out": str(out.resolve())}, "the recipe of vivant/tiny")
    if steps is None:
        return recipe
    return msgspec.structs.replace(recipe, train=msgspec.structs.replace(recipe.train, steps=steps))
