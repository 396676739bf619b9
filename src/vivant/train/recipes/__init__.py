"""Bundled recipes: whole trainings as files to copy and change."""

from __future__ import annotations

from importlib import resources

import yaml
from msgspec import Struct

from vivant.core.errors import unknown_name_error


class Bundled(Struct, frozen=True):
    """One recipe as it lies in the package; its first comment says what it is for."""

    name: str
    summary: str
    text: str


def bundled() -> dict[str, Bundled]:
    """All of them by name."""
    found: dict[str, Bundled] = {}
    files = (file for file in resources.files(__name__).iterdir() if file.name.endswith(".yaml"))
    for file in sorted(files, key=lambda each: each.name):
        text = file.read_text("utf-8")
        name = file.name.removesuffix(".yaml")
        found[name] = Bundled(name, text.partition("\n")[0].removeprefix("#").strip(), text)
    return found


def recipe_text(name: str) -> str:
    """One recipe's file, comments and all."""
    known = bundled()
    if name not in known:
        raise unknown_name_error("recipe", name, known)
    return known[name].text


def model_of(text: str) -> str:
    """The size that a recipe's text names."""
    model = yaml.safe_load(text).get("model", "tiny")
    return str(model if isinstance(model, str) else model.get("size", "its own"))
