"""What a recipe sets in a run's options, and which of several prompt texts it chooses.

A recipe only sets defaults: what the user gives outright goes over it. It is part of a run's identity through what it
sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vivant.benchmarks import registry
from vivant.benchmarks.recipes import RowRecipe, find_owner
from vivant.benchmarks.wording import VARIANT
from vivant.core.errors import UsageError


def recipe_benchmark(selectors: Sequence[str], recipe: str) -> str:
    """The one benchmark that a recipe can be for: the selected one, or without a selection, the recipe's own."""
    if not selectors:
        return find_owner(recipe)
    names = list(dict.fromkeys(registry.split_selector(selector)[0] for selector in selectors))
    if len(names) != 1 or registry.is_file(names[0]):
        raise UsageError(
            "--recipe belongs to one benchmark: run one at a time, e.g. vivant run mime --recipe NAME"
        )
    return names[0]


def apply_recipe(recipe: RowRecipe, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the user gives outright, by option, over what the recipe sets."""
    sets = recipe.sets
    if any(values.get(name) is not None for name in _FRAME_OPTIONS):
        sets = {name: value for name, value in sets.items() if name not in (*_FRAME_OPTIONS, *_FRAME_DETAILS)}
    model = values.get("model")
    if model and sets.get("model", "").partition("/")[0] != model.partition("/")[0]:
        sets.pop("model_options", None)  # they are those of another backend
    explicit = {name: value for name, value in values.items() if name != "model" or value}
    merged = {**sets, **explicit, "recipe": recipe.name}
    for name in ("model_options", "task_options"):
        if name in sets and name in values:
            merged[name] = {**sets[name], **values[name]}
    if not merged.get("model"):
        stated = recipe.state("model")
        raise UsageError(
            f"The recipe {recipe.name} names no model ({stated}): add --model; see `vivant models`"
        )
    return merged


_FRAME_OPTIONS = ("frames", "fps", "every")
_FRAME_DETAILS = ("every_start", "max_frames", "spread")


def choose_wording(texts: Mapping[str, str], recipe: RowRecipe | None, style: str = "") -> dict[str, str]:
    """The texts of a file of prompts that hold for a run: of several for one name, the recipe's.

    Args:
        texts: The file's.
        recipe: The run's, if it has one.
        style: Without a recipe, texts of other styles need not be chosen from; they are left out.
    """
    chosen = {key: text for key, text in texts.items() if VARIANT not in key}
    if recipe is not None:
        return chosen | {name: texts[key] for name, key in recipe.wording.items() if key in texts}
    for key in texts:
        name = key.partition(VARIANT)[0]
        if VARIANT in key and name not in chosen and (style or _DEFAULT_STYLE) in name.split("."):
            several = [other for other in texts if other.startswith(name + VARIANT)]
            more = f" and {len(several) - 2} more" if len(several) > 2 else ""
            raise UsageError(
                f"The file of prompts holds several texts for '{name}' ({', '.join(several[:2])}{more}): choose with "
                f"--recipe, or rename one of them to '{name}'"
            )
    return chosen


_DEFAULT_STYLE = "zero-shot"
