"""Options that only one benchmark understands: declared by it, given as `--task-option NAME=VALUE`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct, field

from vivant.core.errors import UsageError, unknown_name_error

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class TaskOption(Struct, frozen=True, kw_only=True):
    """One option of a benchmark, with its type and default."""

    name: str
    """As a user writes it: `max-context-len`. Python code may write `max_context_len`."""
    default: bool | int | str | None = None
    kind: Literal["bool", "int", "str"] = "str"
    help: str = ""
    choices: tuple[str, ...] = ()
    """The values that a text may have, where they are limited."""
    minimum: int = 0
    """The least value, for `int`."""
    limit: str = ""
    """For an option that `prompt` reads: its name in `PromptContext.limits`. Others are arguments of the class."""

    @property
    def key(self) -> str:
        """The name as Python and run manifests write it."""
        return self.limit or self.name.replace("-", "_")

    def convert(self, value: Any) -> Any:
        """Convert a text from the command line, or check a value from Python."""
        if self.kind == "bool":
            if isinstance(value, bool):
                return value
            if str(value).lower() in _TRUTH:
                return _TRUTH[str(value).lower()]
            raise UsageError(f"{self.name} is true or false, not '{value}'")
        if self.kind == "int":
            text = "" if isinstance(value, bool) else str(value)
            if not text.isdecimal() or int(text) < self.minimum:
                raise UsageError(f"{self.name} is a whole number, {self.minimum} or more, not '{value}'")
            return int(text)
        if self.choices and str(value) not in self.choices:
            raise unknown_name_error(self.name, str(value), self.choices)
        return str(value)


MISSING_MEDIA = TaskOption(
    name="missing",
    default="refuse",
    choices=("refuse", "keep"),
    help="questions without their media file: refuse the data, or keep them (each an error, or for --control blind)",
)
"""For benchmarks whose files are the user's own. The plan of a run follows it."""


class TaskOptionValues(Struct, frozen=True, kw_only=True):
    """Checked task options, as a run's settings hold them. Values equal to the default are left out."""

    variant: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the benchmark classes."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """What `PromptContext.limits` gets."""


def parse_values(options: Iterable[TaskOption], values: Mapping[str, Any], label: str) -> TaskOptionValues:
    """Check names and convert values.

    Args:
        options: Every option declared, by all benchmarks concerned.
        values: Texts or Python values by name.
        label: What an error message calls such an option: `milebench option`.
    """
    declared = {option.name: option for option in options}
    variant: dict[str, Any] = {}
    limits: dict[str, int] = {}
    for name, value in values.items():
        option = declared.get(name.replace("_", "-"))
        if option is None:
            raise unknown_name_error(label, name, declared)
        converted = option.convert(value)
        if converted != option.default:
            (limits if option.limit else variant)[option.key] = converted
    return TaskOptionValues(variant=variant, limits=limits)
