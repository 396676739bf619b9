"""How an option is declared: once, on a struct's field, as `name: Annotated[type, OptionSpec(…)] = default`.

Name, type and default are the field's. The command line, the signature of `vivant.evaluate`, the manifest and
`docs/reference/options.md` are derived from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from vivant.core.errors import UsageError, unknown_name_error

PYTHON_ONLY = " "
"""In place of a flag, for options that the command line does not have."""


class OptionSpec(NamedTuple):
    """What an option's field does not say itself."""

    help: str
    metavar: str = ""
    panel: str = ""
    short: str = ""
    """A one-letter flag."""
    flag: str = ""
    """Where it is not the field's name, or `PYTHON_ONLY`."""
    common: bool = False
    """Shown by `--help`; the others only by `--help-all`."""
    records: str = ""
    """The field of the run's settings that it decides, where it changes what is asked. Two runs that differ in
    it are two runs."""
    minimum: float | None = None
    accepts: Any = None
    """What `evaluate` accepts, where that is more than the field's type."""
    default: str = ""
    """What the default means, where the value does not say it."""


class DeclaredOption(NamedTuple):
    """An option with all that is known of it."""

    name: str
    type: Any
    default: Any
    """`msgspec.NODEFAULT` where it must be given."""
    spec: OptionSpec

    @property
    def flag(self) -> str:
        """`--max-tokens`; empty for an argument, and for an option that only Python has."""
        return (self.spec.flag or "--" + self.name.replace("_", "-")).strip()

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is msgspec.NODEFAULT

    @property
    def argument_type(self) -> Any:
        """The type that `evaluate` accepts."""
        kind = self.type if self.spec.accepts is None else self.spec.accepts
        return kind | None if self.argument_default is None else kind

    @property
    def argument_default(self) -> Any:
        """The default in a signature: None stands for an empty mapping and for a struct's own defaults."""
        return None if isinstance(self.default, Mapping | msgspec.Struct) else self.default

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of a `Literal`, with or without None."""
        kinds = [kind for kind in get_args(self.type) if kind is not type(None)]
        kind = kinds[0] if len(kinds) == 1 and type(None) in get_args(self.type) else self.type
        return tuple(get_args(kind)) if get_origin(kind) is Literal else ()

    @property
    def is_mapping(self) -> bool:
        """Whether it is a mapping of names to values."""
        return get_origin(self.type) is Mapping

    @property
    def is_sequence(self) -> bool:
        """Whether it takes any number of values."""
        return get_origin(self.type) is tuple


@cache
def list_declared_options(cls: type[msgspec.Struct]) -> Mapping[str, DeclaredOption]:
    """All options of a struct by name, in the order of its fields."""
    hints = get_type_hints(cls, include_extras=True)
    options: dict[str, DeclaredOption] = {}
    for field in msgspec.structs.fields(cls):
        hint = hints[field.name]
        if get_origin(hint) is not Annotated:
            continue
        kind, *metadata = get_args(hint)
        spec = next((item for item in metadata if isinstance(item, OptionSpec)), None)
        if spec is not None:
            default = field.default_factory() if callable(field.default_factory) else field.default
            options[field.name] = DeclaredOption(field.name, kind, default, spec)
    return options


def check_values(cls: type[msgspec.Struct], values: Mapping[str, Any]) -> None:
    """Raise where a name is unknown, a choice is none of those declared, or a number is too small."""
    options = list_declared_options(cls)
    for name, value in values.items():
        if name not in options:
            raise unknown_name_error("option", name, options)
        option = options[name]
        if option.choices and value is not None and value not in option.choices:
            raise unknown_name_error(name.replace("_", " "), str(value), option.choices)
        least = option.spec.minimum
        if least is not None and isinstance(value, int | float) and value < least:
            raise UsageError(f"{option.flag or name} {value}: must be at least {least:g}")
