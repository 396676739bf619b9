"""The options of `run`, `plan` and `sweep`, made from their declarations."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from vivant.cli.help import HelpAll
from vivant.cli.parsing import parse_pairs, parse_permute
from vivant.core.option_specs import DeclaredOption, declared_options
from vivant.engine.option_parsing import make_options
from vivant.engine.options import RunOptions

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_NUMBERS = (int, float, int | None, float | None)
_TYPES = {
    "control": str,
    "permute": str,
    "budget_time": str | None,
    "frames": int | None,
    "prompts": str | None,
}
"""Types on the command line, where they are not those in Python."""


def with_run_options(
    *without: str, model_required: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command every option of a run. It receives them parsed and checked, as `options`.

    Args:
        without: Options that the command does not have, or declares itself.
        model_required: Whether `--model` must be given. Where it need not, it is empty.
    """
    declared = {
        name: option
        for name, option in declared_options(RunOptions).items()
        if name not in without and (option.flag or option.name == "selectors")
    }

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        parameters = [_make_parameter(option) for option in declared.values()]
        if not model_required:
            parameters = [p.replace(default="") if p.name == "model" else p for p in parameters]
        parameters += [p.replace(kind=_KEYWORD) for name, p in own.items() if name != "options"]
        parameters.append(inspect.Parameter("help_all", _KEYWORD, annotation=HelpAll, default=False))

        @functools.wraps(command)
        def run_command(**arguments: Any) -> None:
            values = {name: arguments[name] for name in declared}
            for name, option in declared.items():
                if option.spec.metavar == "NAME=VALUE":
                    values[name] = parse_pairs(values[name], option.flag)
            values["permute"] = parse_permute(values["permute"])
            command(
                options=make_options(**values), **{name: arguments[name] for name in own if name in arguments}
            )

        run_command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run_command.__annotations__ = {p.name: p.annotation for p in parameters}
        return run_command

    return decorate


def _make_parameter(option: DeclaredOption) -> inspect.Parameter:
    """The command's parameter for an option; Typer reads its type, default and help."""
    kind = _TYPES.get(option.name, option.type)
    if option.is_sequence or (option.is_mapping and option.name not in _TYPES):
        kind = list[str] if option.required else list[str] | None
    default = option.argument_default or None if option.is_sequence else option.argument_default
    return inspect.Parameter(
        option.name,
        _KEYWORD,
        annotation=Annotated[kind, make_option(option.name, hidden=not option.spec.common)],
        default=inspect.Parameter.empty if option.required else str(default) if kind is str else default,
    )


def make_option(name: str, *, hidden: bool = False) -> Any:
    """The Typer option of a declaration. A hidden one shows in `--help-all` alone."""
    option = declared_options(RunOptions)[name]
    spec = option.spec
    if name == "selectors":
        return typer.Argument(metavar=spec.metavar, help=spec.help, show_default=False)
    return typer.Option(
        *(flag for flag in (option.flag, spec.short) if flag),
        help=f"{spec.help} [default: {spec.default}]" if spec.default else spec.help,
        metavar=spec.metavar or "|".join(option.choices) or None,
        min=spec.minimum if _TYPES.get(name, option.type) in _NUMBERS else None,
        rich_help_panel=spec.panel,
        hidden=hidden,
    )
