"""JSON, JSON lines and CSV as people leave them on disk: read whole, refused with file and item."""

from __future__ import annotations

import ast
import contextlib
import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from vivant.core.errors import DataError


def read_text(path: Path) -> str:
    """The file as text, without a byte-order mark."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path} does not exist") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from error


def read_json(path: Path) -> Any:
    """The one JSON value in a file."""
    try:
        return msgspec.json.decode(read_text(path))
    except (msgspec.DecodeError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON: {error}") from error


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object of a JSON-lines file with the number of its line; empty lines are passed over."""
    # Not splitlines(): that would also cut at the other line separators that a JSON text may hold.
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise DataError(f"{path}, line {number} is not valid JSON: {error}") from error
        if not isinstance(value, dict):
            raise DataError(f"{path}, line {number} is not a JSON object")
        yield number, value


def csv_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row of a CSV file with its number (the first after the header is 1)."""
    reader = csv.reader(io.StringIO(read_text(path), newline=""))
    try:
        header = [name.strip() for name in next(reader, [])]
        if not any(header):
            raise DataError(f"{path} is empty: its first line should name the columns")
        if len(set(header)) != len(header):
            twice = next(name for name in header if header.count(name) > 1)
            raise DataError(f"{path} has two columns called '{twice}'")
        number = 0
        for cells in reader:
            if not cells:
                continue
            number += 1
            if len(cells) != len(header):
                raise DataError(
                    f"{path}, row {number} has {len(cells)} fields where the header has {len(header)}"
                )
            yield number, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num} is not valid CSV: {error}") from error


def texts(value: Any) -> tuple[str, ...]:
    """One or several texts: a list, `a|b`, or a list written out as text (`['a', 'b']`)."""
    if value is None:
        return ()
    if isinstance(value, str):
        parsed = listed(value)
        parts: list[Any] = value.split("|") if parsed is None else parsed
    else:
        parts = list(value) if isinstance(value, list | tuple) else [value]
    return tuple(text for part in parts if (text := str(part).strip()))


def listed(text: str) -> list[Any] | None:
    """The list that a text spells out in Python's or JSON's way; None where it spells none."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return None
    value: Any = None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            value = ast.literal_eval(text)
    return value if isinstance(value, list) else None
