"""Small YAML files that people edit: read into structs, refused in one line, written with a word on top."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
_PATH = re.compile(r"at `\$\.?([^`\[]*)")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>[^`]*)`(?: - at `\$(?P<path>.*)`)?")


def load_yaml(file: Path) -> Any:
    """The one document of a file as plain data."""
    try:
        return yaml.load(file.read_bytes(), _LOADER)
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}") from None
    except yaml.MarkedYAMLError as error:
        begun = f" of line {error.context_mark.line + 1}" if error.context_mark else ""
        inside = f"{error.context}{begun}, " if error.context else ""
        mark = error.problem_mark or error.context_mark
        position = f", line {mark.line + 1}" if mark else ""
        raise DataError(f"{file}{position}: this is not YAML: {inside}{error.problem}") from None
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
    return read_plain(file, plain, kind, {})


def read_plain(file: Path, plain: Any, kind: type[T], lines: Mapping[str, int]) -> T:
    """Plain data of a file as `kind`.

    Args:
        file: The file, for error messages.
        plain: The data.
        kind: The type of the document.
        lines: Line numbers by dotted path, where they are known (`load_yaml_lines`).
    """
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        match = _UNKNOWN.fullmatch(str(error))
        if match is None:
            path_match = _PATH.search(str(error))
            path = path_match[1] if path_match else ""
            remedy = _list_values(kind, path) if "enum value" in str(error) else ""
            raise FieldError(f"{file}{_line(lines, path)}: {error}{remedy}", path) from None
        inside = (match["path"] or "").lstrip(".")
        location = f" at {inside}" if inside else ""
        path = f"{inside}.{match['name']}".lstrip(".")
        error_text = unknown_name_error("field", match["name"], _fields(kind))
        raise FieldError(f"{file}{_line(lines, path)}{location}: {error_text}", path) from None


class FieldError(DataError):
    """A field that does not fit."""

    def __init__(self, text: str, path: str) -> None:
        super().__init__(text)
        self.path = path
        """Where it is: `columns.key`; empty where that is not known."""


def list_field_errors(file: Path, kind: type[Any]) -> list[str]:
    """Everything in a file that does not fit `kind`, a line each: after each mistake the field is left out."""
    plain, lines = load_yaml_lines(file)
    errors: list[str] = []
    while True:
        try:
            read_plain(file, plain, kind, lines)
            return errors
        except FieldError as error:
            errors.append(str(error))
            *parents, name = error.path.split(".")
            holder = plain
            for parent in parents:
                holder = holder.get(parent) if isinstance(holder, dict) else None
            if not isinstance(holder, dict) or name not in holder:
                return errors
            del holder[name]


def _line(lines: Mapping[str, int], path: str) -> str:
    """`, line 7` for a field, or for the nearest one above it that is known."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        number = lines.get(".".join(parts[:end]))
        if number:
            return f", line {number}"
    return ""


def load_yaml_lines(file: Path) -> tuple[Any, dict[str, int]]:
    """The document of a file as plain data, and the line of each field by its dotted path.

    A key that a mapping holds twice is an error: YAML itself would silently take the last.
    """
    plain = load_yaml(file)
    lines: dict[str, int] = {}

    def visit(node: yaml.Node, path: str) -> None:
        if not isinstance(node, yaml.MappingNode):
            return
        for key, value in node.value:
            inner = f"{path}.{key.value}" if path else str(key.value)
            number = key.start_mark.line + 1
            if inner in lines:
                raise DataError(f"{file}, line {number}: '{key.value}' is already set in line {lines[inner]}")
            lines[inner] = number
            visit(value, inner)

    node = yaml.compose(file.read_bytes(), _LOADER)
    if node is not None:
        visit(node, "")
    return plain, lines


def _fields(kind: Any) -> list[str]:
    """The names of all fields in a struct and in the structs within it."""
    return [field.name for field in _list_fields(kind)]


def _list_fields(kind: Any) -> list[msgspec.inspect.Field]:
    """All fields of a struct and of the structs within it."""
    fields: list[msgspec.inspect.Field] = []
    visited: set[Any] = set()

    def visit(inspected: Any) -> None:
        if isinstance(inspected, msgspec.inspect.StructType):
            if inspected.cls in visited:
                return
            visited.add(inspected.cls)
            for field in inspected.fields:
                fields.append(field)
                visit(field.type)
        for part in ("item_type", "value_type"):
            if hasattr(inspected, part):
                visit(getattr(inspected, part))
        for part in getattr(inspected, "types", ()):
            visit(part)

    visit(msgspec.inspect.type_info(kind))
    return fields


def _list_values(kind: Any, path: str) -> str:
    """`; known: a, b` for a field that takes only some texts; empty where fields of its name differ in that."""
    name = path.rpartition(".")[2]
    allowed = {
        part.values
        for field in _list_fields(kind)
        if field.name == name
        for part in getattr(field.type, "types", (field.type,))
        if isinstance(part, msgspec.inspect.LiteralType)
    }
    return f"; known: {', '.join(map(str, allowed.pop()))}" if len(allowed) == 1 else ""


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
