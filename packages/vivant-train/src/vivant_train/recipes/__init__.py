"""Bundled recipes: whole trainings as files to copy and change."""

from __future__ import annotations

from importlib import resources

import yaml
from msgspec import Struct

from vivant.core.errors import unknown_name_error


class BundledRecipe(Struct, frozen=True):
    """One recipe as it lies in the package; its first comment says what it is for."""

    name: str
    summary: str
    text: str


def load_bundled_recipes() -> dict[str, BundledRecipe]:
    """All of them by name."""
    recipes: dict[str, BundledRecipe] = {}
    files = (file for file in resources.files(__name__).iterdir() if file.name.endswith(".yaml"))
    for file in sorted(files, key=lambda file: file.name):
        text = file.read_text("utf-8")
        name = file.name.removesuffix(".yaml")
        recipes[name] = BundledRecipe(name, text.partition("\n")[0].removeprefix("#").strip(), text)
    return recipes


def read_recipe_text(name: str) -> str:
    """One recipe's file, comments and all."""
    recipes = load_bundled_recipes()
    if name not in recipes:
        raise unknown_name_error("recipe", name, recipes)
    return recipes[name].text


def get_model_size(text: str) -> str:
    """The size that a recipe's text names."""
    model = yaml.safe_load(text).get("model", "tiny")
    return str(model if isinstance(model, str) else model.get("size", "its own"))
