"""The options that `run`, `plan` and `sweep` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vivant.cli.option_parameters import add_parameters, list_flags, make_parameter, parse_value
from vivant.cli.parsing import parse_permute
from vivant.core.option_specs import declared_options
from vivant.engine.option_parsing import make_options
from vivant.engine.options import RunOptions


def with_run_options(
    *without: str, model_required: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command every option of a run. It receives them parsed and checked, as `options`.

    Args:
        without: Options that the command does not have, or declares itself.
        model_required: Whether `--model` must be given. Where it need not, it is empty.
    """
    declared = {"selectors": declared_options(RunOptions)["selectors"], **list_flags(RunOptions, *without)}
    parameters = {name: make_parameter(option) for name, option in declared.items()}
    if not model_required:
        parameters["model"] = parameters["model"].replace(default="")

    def make(arguments: dict[str, Any]) -> RunOptions:
        values = {name: parse_value(option, arguments[name]) for name, option in declared.items()}
        return make_options(**values | {"permute": parse_permute(values["permute"])})

    return lambda command: add_parameters(command, parameters, "options", make)
