"""`vivant/tiny` from nothing: its lessons, its training, its export."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path

import msgspec
import yaml

from vivant.train.checkpoints import checkpoints
from vivant.train.embedded.lessons import make_lessons
from vivant.train.loop import train
from vivant.train.onnx_backend import Exported
from vivant.train.onnx_export import export_onnx
from vivant.train.settings import Recipe, make_recipe

LESSONS, TRAINED, EXPORTED = "lessons", "trained", "tiny"
NOTE = "Trained by `vivant train tiny` on generated videos alone; see docs/tiny-card.md."


def make_tiny(work: Path, say: Callable[[str], None], *, steps: int | None = None) -> Exported | None:
    """Make the model below `work`, going on where an earlier call was stopped; None if this one was stopped.

    `steps` is for a try: fewer than the recipe has make a worse model.
    """
    make_lessons(work / LESSONS, say)
    recipe = embedded_recipe(work / TRAINED, steps)
    begun = bool(checkpoints(work / TRAINED))
    outcome = train(recipe, work / LESSONS, resume=begun, say=say)
    if not outcome.finished:
        return None
    return export_onnx(outcome.best or outcome.model, work / EXPORTED, weights="fp16", note=NOTE)


def embedded_recipe(out: Path, steps: int | None = None) -> Recipe:
    """The recipe that the bundled weights were trained by."""
    text = resources.files(__package__).joinpath("recipe.yaml").read_text("utf-8")
    recipe = make_recipe({**yaml.safe_load(text), "out": str(out.resolve())}, "the recipe of vivant/tiny")
    if steps is None:
        return recipe
    return msgspec.structs.replace(recipe, train=msgspec.structs.replace(recipe.train, steps=steps))
