"""Small YAML files that people edit: read into structs, refused in one line, written with a word on top."""

from __future__ import annotations

import re
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from vivant.core.errors import DataError, unknown_name_error
from vivant.core.files import write_atomic

T = TypeVar("T")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The C parser, where PyYAML has it: ten times as fast."""
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>[^`]*)`(?: - at `\$(?P<path>.*)`)?")


def load_yaml(file: Path) -> Any:
    """The one document of a file as plain data."""
    try:
        return yaml.load(file.read_bytes(), _LOADER)
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{file} is not YAML: {' '.join(str(error).split())}") from None


def read_resource(package: str, name: str, kind: type[T]) -> T:
    """Read a YAML file that comes with a package of Vivant."""
    with as_file(files(package).joinpath(name)) as file:
        return read_yaml(file, kind)


def read_yaml(file: Path, kind: type[T], *, empty: T | None = None) -> T:
    """The one document of a file as `kind`; a misspelt field comes with the nearest right one.

    Args:
        file: the file to read.
        kind: the type of the document.
        empty: what a file without content stands for; without it, such a file is an error.
    """
    plain = load_yaml(file)
    if plain is None and empty is not None:
        return empty
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        match = _UNKNOWN.fullmatch(str(error))
        if match is None:
            raise DataError(f"{file}: {error}") from None
        location = f" at {match['path'].lstrip('.')}" if match["path"] else ""
        raise DataError(
            f"{file}{location}: {unknown_name_error('field', match['name'], _fields(kind))}"
        ) from None


def _fields(kind: Any) -> list[str]:
    """The names of all fields in a struct and in the structs within it."""
    names: list[str] = []
    visited: set[Any] = set()

    def visit(inspected: Any) -> None:
        if isinstance(inspected, msgspec.inspect.StructType):
            if inspected.cls in visited:
                return
            visited.add(inspected.cls)
            for field in inspected.fields:
                names.append(field.name)
                visit(field.type)
        for part in ("item_type", "value_type"):
            if hasattr(inspected, part):
                visit(getattr(inspected, part))
        for part in getattr(inspected, "types", ()):
            visit(part)

    visit(msgspec.inspect.type_info(kind))
    return names


def write_yaml(file: Path, content: Any, head: str) -> None:
    """Write plain data or structs; `head` stands above as a comment and says what the file is for."""
    comment = "".join(f"# {line}\n" for line in head.strip().splitlines())
    text = yaml.safe_dump(
        msgspec.to_builtins(content), sort_keys=False, allow_unicode=True, width=100, default_flow_style=None
    )
    write_text(file, comment + text)


def write_text(file: Path, text: str) -> None:
    """Replace a text file at once; folders above it are made."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, text, durable=False)
    except OSError as error:
        raise DataError(f"{file} cannot be written: {error.strerror or error}") from None
