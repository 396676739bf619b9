"""The options that `run`, `plan`, `sweep`, `watch` and `benchmarks check` share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import typer

from vivant.cli.option_parameters import KEYWORD, add_parameters, list_flags, make_parameter, parse_value
from vivant.cli.parsing import parse_permute
from vivant.core.errors import UsageError
from vivant.core.option_specs import list_declared_options
from vivant.engine.option_parsing import make_options
from vivant.engine.options import RunOptions


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether the user wrote an option: a recipe may set the others."""
    source = context.get_parameter_source(name)
    return source is None or source.name != "DEFAULT"


def with_run_options(
    *without: str, only: Sequence[str] = (), **unless_given: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command every option of a run, or some. It receives them parsed and checked, as `options`.

    Args:
        without: Options that the command does not have, or declares itself.
        only: Where not empty, the options that the command has.
        unless_given: What the command sets where the user does not, by option. It goes over a recipe.
    """
    declared = {
        "selectors": list_declared_options(RunOptions)["selectors"],
        **list_flags(RunOptions, *without),
    }
    if only:
        declared = {name: declared[name] for name in ("selectors", *only)}
    parameters = {name: make_parameter(option) for name, option in declared.items()}
    # Optional for Typer, because a recipe may name the benchmark.
    parameters["selectors"] = make_parameter(declared["selectors"], kind=list[str] | None, default=None)

    def make(arguments: dict[str, Any]) -> RunOptions:
        values = {name: parse_value(option, arguments[name]) for name, option in declared.items()}
        if "permute" in values:
            values["permute"] = parse_permute(values["permute"])
        explicit = {name: value for name, value in values.items() if _is_given(arguments["ctx"], name)}
        explicit["selectors"] = values["selectors"] or ()
        options = make_options(**{**unless_given, **explicit})
        if not options.selectors:
            own = ", or a recipe of one with --recipe" if "recipe" in declared else ""
            raise UsageError(f"Name a benchmark, e.g. mime, or a file of your own questions{own}")
        return options

    parameters["ctx"] = inspect.Parameter("ctx", KEYWORD, annotation=typer.Context)
    return lambda command: add_parameters(command, parameters, "options", make)
