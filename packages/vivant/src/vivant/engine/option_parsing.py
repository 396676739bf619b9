"""A user's values as `RunOptions`: files are read, texts parsed, types checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from vivant.benchmarks.recipes import find_recipe
from vivant.core.arguments import as_strings
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.option_specs import check_values, list_declared_options
from vivant.core.yaml_files import read_yaml
from vivant.engine.options import RunOptions
from vivant.engine.recipes import apply_recipe, choose_wording, recipe_benchmark
from vivant.models.yaml_config import load_model_configs


def make_options(**values: Any) -> RunOptions:
    """Options from what a user gives: files are read, texts parsed, combinations checked.

    A string where several are possible is one of them, never its letters. What is given outright goes over what
    a recipe or a file of models says.
    """
    declared = list_declared_options(RunOptions)
    check_values(RunOptions, values)
    # None is Python's way to leave an option out.
    values = {name: value for name, value in values.items() if value is not None}
    for name, value in values.items():
        if declared[name].is_sequence:
            values[name] = as_strings(value)
        elif isinstance(value, Path) and not declared[name].is_mapping:
            values[name] = str(value)
    if not isinstance(values.get("prompts", {}), Mapping):
        values["prompts"] = load_prompts(values["prompts"])
    recipe = None
    if values.get("recipe"):
        benchmark = recipe_benchmark(values.get("selectors", ()), values["recipe"])
        recipe = find_recipe(benchmark, values["recipe"])
        values = apply_recipe(recipe, {**values, "selectors": values.get("selectors") or (benchmark,)})
    values["prompts"] = choose_wording(values.get("prompts", {}), recipe, values.get("style", ""))
    for name in ("budget_time", "start_timeout"):
        if isinstance(values.get(name), str):
            values[name] = parse_duration(values[name], f"--{name.replace('_', '-')}")
    if values.get("models"):
        values |= _resolve_model(values)
    try:
        return msgspec.convert(values, RunOptions)
    except msgspec.ValidationError as error:
        raise UsageError(f"Options: {error}") from error


def _resolve_model(values: Mapping[str, Any]) -> dict[str, Any]:
    """What the file of models says about the model that the user names."""
    configs = load_model_configs(values["models"])
    if values["model"] not in configs:
        raise unknown_name_error(f"model in {values['models']}", values["model"], configs)
    config = configs[values["model"]]
    return {
        "models": None,
        "model": config.spec,
        "decoding": values.get("decoding") or config.decoding,
        "limits": {**config.limits, **values.get("limits", {})},
    }


def drop_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a user gives outright: the arguments that are not the declared defaults."""
    declared = list_declared_options(RunOptions)
    return {
        name: value
        for name, value in values.items()
        if declared[name].required or value != declared[name].argument_default
    }


def parse_duration(text: str, flag: str) -> float:
    """Seconds from `90`, `45s`, `30m`, `1h30m`, `2d`."""
    units = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
    pieces = re.findall(r"(\d+(?:\.\d+)?)([dhms])", text)
    if re.fullmatch(r"\d+(\.\d+)?", text):
        seconds = float(text)
    elif pieces and "".join(number + unit for number, unit in pieces) == text:
        seconds = sum(float(number) * units[unit] for number, unit in pieces)
    else:
        raise UsageError(f"{flag} {text}: write seconds, or 30m, 1h30m, 2d")
    if seconds <= 0:
        raise UsageError(f"{flag} {text}: must be above 0")
    return seconds


def load_prompts(file: str | Path | None) -> dict[str, str]:
    """Prompt texts of a user's own: a YAML or JSON file of names and texts."""
    if file is None:
        return {}
    path = Path(file).expanduser()
    return read_yaml(path, dict[str, str])
