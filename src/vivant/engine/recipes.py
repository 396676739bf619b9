"""Recipes at work: what a recipe sets in a run's options, and where a run and a recipe differ.

A recipe only sets defaults: what the user gives outright goes over it. It is part of a run's identity through what it
sets. Differences are found by comparing a run's settings with the recipe, so that any run can be held against any row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark
from vivant.benchmarks.official_wording import wording_digest
from vivant.benchmarks.recipes import Recipe, load_recipes
from vivant.benchmarks.wording import JUDGE, VARIANT
from vivant.core.errors import UsageError
from vivant.core.types import Decoding, FramePolicy
from vivant.engine.options import RunOptions
from vivant.runs.settings import RunSettings


class RecipeDifference(Struct, frozen=True, order=True):
    """One thing that a run did otherwise than a recipe states."""

    field: str
    """One of `recipes.FIELDS`, or `items`."""
    here: str
    there: str

    def __str__(self) -> str:
        return f"{self.here}; the recipe: {self.there}"


def recipe_benchmark(selectors: Sequence[str]) -> str:
    """The one benchmark that a recipe can be for."""
    names = list(dict.fromkeys(registry.split_selector(selector)[0] for selector in selectors))
    if len(names) != 1 or registry.is_file(names[0]):
        raise UsageError(
            "--recipe belongs to one benchmark: run one at a time, e.g. vivant run mime --recipe NAME"
        )
    return names[0]


def apply_recipe(recipe: Recipe, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the user gives outright, by option, over what the recipe sets."""
    sets = recipe.sets
    if any(values.get(name) is not None for name in _FRAME_OPTIONS):
        sets = {name: value for name, value in sets.items() if name not in (*_FRAME_OPTIONS, *_FRAME_DETAILS)}
    model = values.get("model")
    if model and sets.get("model", "").partition("/")[0] != model.partition("/")[0]:
        sets.pop("model_options", None)  # they are those of another backend
    given = {name: value for name, value in values.items() if name != "model" or value}
    merged = {**sets, **given, "recipe": recipe.name}
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


def choose_wording(texts: Mapping[str, str], recipe: Recipe | None) -> dict[str, str]:
    """The texts of a file of prompts that hold for a run: of several for one name, the recipe's."""
    variants = [key for key in texts if VARIANT in key]
    chosen = {key: text for key, text in texts.items() if VARIANT not in key}
    if recipe is None:
        plain = {key.partition(VARIANT)[0] for key in variants} - set(chosen)
        if plain:
            name = min(plain)
            several = ", ".join(key for key in variants if key.partition(VARIANT)[0] == name)
            raise UsageError(
                f"The file of prompts holds several texts for '{name}' ({several}): name the one to use with "
                f"--recipe, or rename it to '{name}'"
            )
        return chosen
    for name, key in recipe.wording.items():
        if key in texts:
            chosen[name] = texts[key]
    return chosen


def list_recipe_differences(
    recipe: Recipe, settings: RunSettings, planned: Mapping[str, int] | None = None
) -> list[RecipeDifference]:
    """Where a run differs from what a recipe states. What the recipe does not state is no difference.

    Args:
        recipe: The recipe of a published row.
        settings: The run's.
        planned: Questions per task, where their number counts.
    """
    benchmark = registry.get(recipe.benchmark)
    tasks = [task for task in settings.tasks if task.partition("/")[0] == recipe.benchmark]
    sets = recipe.sets
    expected = msgspec.convert({"selectors": tasks, "model": "", **sets}, RunOptions)
    found: list[RecipeDifference] = []

    def compare(name: str, here: Any, there: Any) -> None:
        if here != there:
            found.append(RecipeDifference(name, str(here), str(there)))

    if "style" in sets:
        compare("style", settings.style, sets["style"])
    compare_media(found, recipe, settings, expected)
    variant = {option.key: option.default for option in benchmark.task_options} | dict(settings.variant)
    for name in ("order", "demonstrations"):
        if name in sets.get("task_options", {}) and (name == "order" or settings.style == "few-shot"):
            compare(name, variant[name], sets["task_options"][name])
    decoding, wanted = settings.decoding, expected.decoding_settings
    if "max_tokens" in sets:
        compare("reply_limit", _describe_limit(decoding), _describe_limit(wanted))
    if "temperature" in sets:
        compare("temperature", _describe_temperature(decoding), _describe_temperature(wanted))
    _compare_wording(found, recipe, settings, tasks, benchmark)
    if planned is not None:
        _compare_items(found, recipe, planned)
    return found


def compare_media(
    found: list[RecipeDifference], recipe: Recipe, settings: RunSettings, expected: RunOptions
) -> None:
    """What of a video was sent, and how."""
    native = bool(settings.model.get("video", False))
    if (
        "media" in recipe.fields
        and recipe.fields["media"] is not None
        and native != (expected.video_as == "native")
    ):
        names = {True: "the video itself", False: "frames"}
        found.append(RecipeDifference("media", names[native], names[expected.video_as == "native"]))
    if settings.control != "none":
        found.append(RecipeDifference("media", f"control {settings.control}", "none"))
    sets = recipe.sets
    if not native and any(name in sets for name in _FRAME_OPTIONS):
        here, there = describe_frames(settings.frames), describe_frames(expected.frame_policy)
        if here != there:
            found.append(RecipeDifference("frames", here, there))
    if not native and ("longest_side" in sets or "jpeg_quality" in sets):
        here, there = _describe_size(settings.frames), _describe_size(expected.frame_policy)
        if here != there:
            found.append(RecipeDifference("size", here, there))
    wanted = sets.get("model_options", {}).get("detail")
    detail = settings.model.get("detail")
    if wanted is not None and detail != wanted:
        found.append(RecipeDifference("detail", str(detail or "not sent"), wanted))


def describe_frames(policy: FramePolicy) -> str:
    """Which frames a policy shows, in words."""
    spread = {
        "ends": "from the first to the last",
        "middles": "from the middles of equal parts",
        "segments": "from the middles of equal parts, by InternVL's rule",
    }[policy.spread]
    if policy.select == "count":
        return f"{policy.count} frames {spread}"
    cap = "" if policy.cap is None else f", at most {policy.cap} {spread}"
    if policy.select == "fps":
        return f"{policy.fps:g} frames a second{cap}"
    if policy.select == "every":
        first = policy.every - 1 if policy.every_start == "kth" else 0
        return f"frames {first}, {first + policy.every}, {first + 2 * policy.every} …{cap}"
    return f"all frames{cap}"


def _describe_size(policy: FramePolicy) -> str:
    side = "full size" if policy.longest_side is None else f"at most {policy.longest_side} pixels"
    return f"{side}, quality {policy.quality}"


def _describe_limit(decoding: Decoding) -> str:
    if decoding.max_tokens == 0:
        return "none sent"
    return "Vivant's own" if decoding.max_tokens is None else f"{decoding.max_tokens} tokens"


def _describe_temperature(decoding: Decoding) -> str:
    return "not sent" if decoding.temperature is None else f"{decoding.temperature:g}"


def _compare_wording(
    found: list[RecipeDifference],
    recipe: Recipe,
    settings: RunSettings,
    tasks: Sequence[str],
    benchmark: Benchmark,
) -> None:
    """Texts are compared by their digests: the recipe does not hold the text."""
    words = load_recipes(recipe.benchmark).words
    ours = []
    for name, key in recipe.wording.items():
        task = name.partition(".")[0]
        named = task in {info.name for info in benchmark.tasks}
        if name.startswith(JUDGE) or (named and f"{recipe.benchmark}/{task}" not in tasks):
            continue
        text = settings.wording.get(name)
        if text is None or wording_digest(text) != words[key].sha256:
            ours.append("Vivant's own" if text is None else "a text of the user's")
    if ours:
        found.append(RecipeDifference("wording", ours[0], "the original's"))


def _compare_items(found: list[RecipeDifference], recipe: Recipe, planned: Mapping[str, int]) -> None:
    items = load_recipes(recipe.benchmark).items
    own = {task: n for task, n in planned.items() if task.partition("/")[0] == recipe.benchmark}
    if recipe.benchmark in items:  # a total over all tasks
        total = sum(own.values())
        if total != items[recipe.benchmark]:
            found.append(RecipeDifference("items", f"{total:,} questions", f"{items[recipe.benchmark]:,}"))
        return
    for task, number in own.items():
        if task in items and number != items[task]:
            found.append(RecipeDifference("items", f"{task}: {number:,} questions", f"{items[task]:,}"))
