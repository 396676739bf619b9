"""Command-line options made from their declarations."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from msgspec import Struct
from typer import Argument, Option
from typer.models import ArgumentInfo

from vivant.cli.parsing import parse_number_or_server, parse_pairs
from vivant.core.option_specs import DeclaredOption, list_declared_options

KEYWORD = inspect.Parameter.KEYWORD_ONLY
_NUMBERS = (int, float, int | None, float | None)
_TYPES = {
    "control": str,
    "permute": str,
    "budget_time": str | None,
    "frames": int | None,
    "prompts": str | None,
    "max_tokens": str | None,
    "temperature": str | None,
}
"""Types on the command line, where they are not those in Python."""
_OR_SERVER: Mapping[str, type[int] | type[float]] = {"max_tokens": int, "temperature": float}
"""Numbers that may also be left to the server."""


def list_flags(cls: type[Struct], *without: str) -> dict[str, DeclaredOption]:
    """The options of a struct that the command line has."""
    return {n: option for n, option in list_declared_options(cls).items() if option.flag and n not in without}


def make_parameter(option: DeclaredOption, name: str = "", **changes: Any) -> inspect.Parameter:
    """The command's parameter for an option; Typer reads its type, default and help.

    Args:
        option: The declaration.
        name: Of the parameter, where it is not the option's.
        changes: `kind` or `default`, where they are not the option's.
    """
    kind = _TYPES.get(option.name, option.type)
    if option.is_sequence or (option.is_mapping and option.name not in _TYPES):
        kind = list[str] if option.required else list[str] | None
    default = option.argument_default
    if option.required:
        default = inspect.Parameter.empty
    elif option.is_sequence:
        default = None
    elif kind is str:
        default = str(default)
    metadata = make_option(option, hidden=not option.spec.common)
    return inspect.Parameter(
        name or option.name,
        KEYWORD,
        annotation=Annotated[changes.get("kind", kind), metadata],
        default=changes.get("default", default),
    )


def make_option(option: DeclaredOption, *, hidden: bool = False) -> Any:
    """The Typer option of a declaration. A hidden one shows in `--help-all` alone."""
    spec = option.spec
    if not option.flag:
        return Argument(metavar=spec.metavar, help=spec.help, show_default=False)
    return Option(
        *(flag for flag in (option.flag, spec.short) if flag),
        help=f"{spec.help} [default: {spec.default}]" if spec.default else spec.help,
        metavar=spec.metavar or "|".join(option.choices) or None,
        min=spec.minimum if _TYPES.get(option.name, option.type) in _NUMBERS else None,
        rich_help_panel=spec.panel,
        hidden=hidden,
    )


def parse_value(option: DeclaredOption, value: Any) -> Any:
    """A value from the command line; `NAME=VALUE` entries become a mapping."""
    if option.name in _OR_SERVER and isinstance(value, str):
        return parse_number_or_server(value, option.flag, _OR_SERVER[option.name])
    return parse_pairs(value, option.flag) if option.spec.metavar == "NAME=VALUE" else value


def add_parameters(
    command: Callable[..., None],
    parameters: Mapping[str, inspect.Parameter],
    receives: str,
    make: Callable[[dict[str, Any]], Any],
    *,
    first: bool = True,
) -> Callable[..., None]:
    """A command with more parameters, which it receives as one value.

    Args:
        command: A function whose parameters are its own options.
        parameters: Those to add.
        receives: The name of the command's parameter that gets what `make` returns.
        make: Makes that value of the arguments by name.
        first: Whether the added ones come before the command's own options. Its own arguments come before all.
    """
    own = {
        name: parameter.replace(kind=KEYWORD)
        for name, parameter in inspect.signature(command, eval_str=True).parameters.items()
        if name != receives
    }
    ordered = [*parameters.values(), *own.values()] if first else [*own.values(), *parameters.values()]
    ordered.sort(key=lambda parameter: not (parameter.name in own and _is_argument(parameter)))

    @functools.wraps(command)
    def run_command(**arguments: Any) -> None:
        values = {name: arguments[name] for name in parameters}
        command(**{receives: make(values)}, **{name: arguments[name] for name in own})

    run_command.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    run_command.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered}
    return run_command


def _is_argument(parameter: inspect.Parameter) -> bool:
    metadata = getattr(parameter.annotation, "__metadata__", ())
    return any(isinstance(each, ArgumentInfo) for each in metadata)
