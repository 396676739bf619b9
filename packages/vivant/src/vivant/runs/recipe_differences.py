"""Where a run and the recipe of a published row differ, by the run's settings alone: any run against any row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark
from vivant.benchmarks.official_wording import wording_digest
from vivant.benchmarks.recipes import FIELDS, RowRecipe, load_recipes
from vivant.benchmarks.wording import JUDGE
from vivant.core.types import Decoding, FramePolicy
from vivant.runs.settings import RunSettings, make_decoding, make_frame_policy

TITLES = {**FIELDS, "items": "number of questions"}
"""What each kind of difference is called."""
_FRAME_OPTIONS = ("frames", "fps", "every")
_ASKED = ("model", "media", "frames", "order", "wording", "reply_limit", "temperature")


class RecipeDifference(Struct, frozen=True, order=True):
    """One thing that a run did otherwise than a recipe states."""

    field: str
    """One of `recipes.FIELDS`, or `items`."""
    run_value: str
    recipe_value: str

    def __str__(self) -> str:
        return f"{self.run_value}; the recipe: {self.recipe_value}"


def list_recipe_differences(
    recipe: RowRecipe, settings: RunSettings, planned: Mapping[str, int] | None = None
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
    differences: list[RecipeDifference] = []

    def compare(name: str, run_value: Any, recipe_value: Any) -> None:
        if run_value != recipe_value:
            differences.append(RecipeDifference(name, str(run_value), str(recipe_value)))

    if "style" in sets:
        compare("style", settings.style, sets["style"])
    _compare_media(differences, recipe, settings)
    variant = {option.key: option.default for option in benchmark.task_options} | dict(settings.variant)
    for name in ("order", "demonstrations"):
        if name in sets.get("task_options", {}) and (name == "order" or settings.style == "few-shot"):
            compare(name, variant[name], sets["task_options"][name])
    decoding, wanted = settings.decoding, make_decoding(Decoding(), sets)
    if "max_tokens" in sets:
        compare("reply_limit", _describe_limit(decoding), _describe_limit(wanted))
    if "temperature" in sets:
        compare("temperature", _describe_temperature(decoding), _describe_temperature(wanted))
    _compare_wording(differences, recipe, settings, tasks, benchmark)
    if planned is not None:
        _compare_items(differences, recipe, planned)
    return differences


def list_recipe_notes(recipe: RowRecipe, settings: RunSettings, planned: Mapping[str, int]) -> list[str]:
    """What a run by a recipe does otherwise, and what the recipe does not state, a line each."""
    differences = list_recipe_differences(recipe, settings, planned)
    notes = [f"recipe {recipe.name}: {TITLES[change.field]}: {change}" for change in differences]
    if any(change.field == "wording" for change in differences):
        notes.append(
            f"the original's wording is not part of Vivant: vivant recipes wording {recipe.benchmark} "
            "--repo CLONE --out FILE reads it, --prompts FILE uses it"
        )
    missing = [FIELDS[field] for field in _ASKED if recipe.fields.get(field) is None]
    if missing:
        notes.append(f"recipe {recipe.name}: not stated by the original: {', '.join(missing)}")
    return notes


def _compare_media(differences: list[RecipeDifference], recipe: RowRecipe, settings: RunSettings) -> None:
    """What of a video was sent, and how."""
    sets = recipe.sets
    expected = make_frame_policy(sets)
    native = _NATIVE.get(settings.model.get("video", False))
    wanted = sets.get("video_as") == "native"
    if recipe.fields.get("media") is not None and native is not None and native != wanted:
        names = {True: "the video itself", False: "frames"}
        differences.append(RecipeDifference("media", names[native], names[wanted]))
    if settings.control != "none":
        differences.append(RecipeDifference("media", f"control {settings.control}", "none"))
    if any(name in sets for name in _FRAME_OPTIONS):
        run_value, recipe_value = describe_frames(settings.frames), describe_frames(expected)
        if run_value != recipe_value:
            differences.append(RecipeDifference("frames", run_value, recipe_value))
    if "longest_side" in sets or "jpeg_quality" in sets:
        run_value, recipe_value = _describe_size(settings.frames), _describe_size(expected)
        if run_value != recipe_value:
            differences.append(RecipeDifference("size", run_value, recipe_value))
    for option, field in (("detail", "detail"), ("max_pixels", "size")):
        value, wanted_value = settings.model.get(option), sets.get("model_options", {}).get(option)
        if wanted_value is not None and value != wanted_value:
            unit = " pixels in all at most" if option == "max_pixels" else ""
            absent = _describe_size(settings.frames) if option == "max_pixels" else "not sent"
            run_value = absent if value is None else f"{value}{unit}"
            differences.append(RecipeDifference(field, run_value, f"{wanted_value}{unit}"))


_NATIVE = {True: True, "native": True, "file": True, "video": True, False: False, "images": False}
"""How backends say in their identity that they take videos; what `auto` comes to is not known beforehand."""


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
        return f"{policy.fps:g} frame{'s' * (policy.fps != 1)} a second{cap}"
    if policy.select == "every":
        first = policy.every - 1 if policy.every_start == "kth" else 0
        return f"frames {first}, {first + policy.every}, {first + 2 * policy.every} …{cap}"
    return f"all frames{cap}"


def _describe_size(policy: FramePolicy) -> str:
    side = "full size" if policy.longest_side is None else f"longer side at most {policy.longest_side} pixels"
    return f"{side}, quality {policy.quality}"


def _describe_limit(decoding: Decoding) -> str:
    if decoding.max_tokens == 0:
        return "none sent"
    return "Vivant's own" if decoding.max_tokens is None else f"{decoding.max_tokens} tokens"


def _describe_temperature(decoding: Decoding) -> str:
    return "not sent" if decoding.temperature is None else f"{decoding.temperature:g}"


def _compare_wording(
    differences: list[RecipeDifference],
    recipe: RowRecipe,
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
        differences.append(RecipeDifference("wording", ours[0], "the original's"))


def _compare_items(
    differences: list[RecipeDifference], recipe: RowRecipe, planned: Mapping[str, int]
) -> None:
    items = load_recipes(recipe.benchmark).items
    own = {task: n for task, n in planned.items() if task.partition("/")[0] == recipe.benchmark}
    if recipe.benchmark in items:  # a total over all tasks
        total = sum(own.values())
        if total != items[recipe.benchmark]:
            differences.append(
                RecipeDifference("items", f"{total:,} questions", f"{items[recipe.benchmark]:,}")
            )
        return
    for task, number in own.items():
        if task in items and number != items[task]:
            differences.append(RecipeDifference("items", f"{task}: {number:,} questions", f"{items[task]:,}"))
