"""The options that `run`, `plan`, `sweep` and `watch` share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import typer

from vivant.cli.option_parameters import KEYWORD, add_parameters, list_flags, make_parameter, parse_value
from vivant.cli.parsing import parse_permute
from vivant.core.option_specs import declared_options
from vivant.engine.option_parsing import make_options
from vivant.engine.options import RunOptions


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether the user wrote an option: a recipe may set the others."""
    source = context.get_parameter_source(name)
    return source is None or source.name != "DEFAULT"


def with_run_options(
    *without: str, **unless_given: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command every option of a run. It receives them parsed and checked, as `options`.

    Args:
        without: Options that the command does not have, or declares itself.
        unless_given: What the command sets where the user does not, by option. It goes over a recipe.
    """
    declared = {"selectors": declared_options(RunOptions)["selectors"], **list_flags(RunOptions, *without)}
    parameters = {name: make_parameter(option) for name, option in declared.items()}

    def make(arguments: dict[str, Any]) -> RunOptions:
        values = {name: parse_value(option, arguments[name]) for name, option in declared.items()}
        values["permute"] = parse_permute(values["permute"])
        explicit = {name: value for name, value in values.items() if _is_given(arguments["ctx"], name)}
        return make_options(**{**unless_given, **explicit})

    parameters["ctx"] = inspect.Parameter("ctx", KEYWORD, annotation=typer.Context)
    return lambda command: add_parameters(command, parameters, "options", make)
