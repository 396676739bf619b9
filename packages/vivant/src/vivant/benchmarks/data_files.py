"""Data files as people publish them: JSON, JSON lines, CSV and Parquet, with errors that name file and row.

A byte-order mark and empty lines are skipped. Lines and rows are read as they are asked for, so that a large
file costs one line at a time.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

import msgspec

from vivant.core.errors import DataError
from vivant.core.optional_packages import require_package

_T = TypeVar("_T")
_MARK = b"\xef\xbb\xbf"
_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_LONGEST_CELL = 1 << 30
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_PARQUET_ROWS = 50_000
"""Rows of a Parquet file that are held in memory at once."""


def read_bytes(path: Path) -> bytes:
    """The content of a file, without a byte-order mark."""
    try:
        return path.read_bytes().removeprefix(_MARK)
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}") from error


def decode_json(data: bytes, where: str, decoder: msgspec.json.Decoder[_T] = _ANY) -> _T:
    """One JSON value; the error says where it is and what is wrong with it."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise DataError(f"{where}: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        try:
            data.decode()
        except UnicodeDecodeError as wrong:
            raise DataError(f"{where} is not UTF-8 text (byte {wrong.start}); save it as UTF-8") from error
        raise DataError(f"{where} is not valid JSON: {error}") from error


def read_json(path: Path) -> Any:
    """The one JSON value in a file."""
    return decode_json(read_bytes(path), str(path))


def iter_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The number and content of each line that is not empty."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                text = line.removeprefix(_MARK) if number == 1 else line
                if text.strip():
                    yield number, text
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}") from error


def iter_json_lines(path: Path, kind: type[_T]) -> Iterator[tuple[int, _T]]:
    """The number and value of each line."""
    decoder = msgspec.json.Decoder(kind)
    for number, line in iter_lines(path):
        yield number, decode_json(line, f"{path}, line {number}", decoder)


def iter_json_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number and object of each line; any other value is an error."""
    for number, value in iter_json_lines(path, object):
        if not isinstance(value, dict):
            raise DataError(f"{path}, line {number} is not a JSON object")
        yield number, value


@contextmanager
def open_csv(path: Path, encoding: str = "utf-8-sig") -> Iterator[TextIO]:
    """Open a CSV file; a file that cannot be read, or is no CSV in UTF-8, is a DataError."""
    try:
        with path.open(encoding=encoding, newline="") as file:
            yield file
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is not a CSV file in UTF-8: {error}") from error


def iter_csv_rows(path: Path, delimiter: str = ",") -> Iterator[tuple[int, dict[str, str]]]:
    """Each row with its number (the first after the header is 1); all rows must have the header's length."""
    with open_csv(path) as file:
        # A cell may hold a picture in base64.
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
        reader = csv.reader(file, delimiter=delimiter)
        header = [name.strip() for name in next(reader, [])]
        if not any(header):
            raise DataError(f"{path} is empty: its first line should name the columns")
        other = next(
            (name for sign, name in _SEPARATORS.items() if sign != delimiter and sign in header[0]), None
        )
        if len(header) == 1 and other is not None:
            raise DataError(f"{path} is separated by {other}; write it with {_SEPARATORS[delimiter]}")
        repeated = next((name for name in header if header.count(name) > 1), None)
        if repeated is not None:
            raise DataError(f"{path} has two columns called '{repeated}'")
        for number, cells in enumerate(filter(None, reader), 1):
            if len(cells) != len(header):
                raise DataError(
                    f"{path}, row {number} has {len(cells)} fields where the header has {len(header)}"
                )
            yield number, dict(zip(header, cells, strict=True))


def iter_parquet_rows(path: Path, portion: int = _PARQUET_ROWS) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file, so many of them at a time."""
    require_package("polars", "parquet", f"Reading {path}")
    import polars

    start = 0
    while True:
        try:
            frame = polars.scan_parquet(path).slice(start, portion).collect()
        except (OSError, polars.exceptions.PolarsError) as error:
            raise DataError(f"{path} is not a readable Parquet file: {first_line(error)}") from error
        yield from frame.iter_rows(named=True)
        start += len(frame)
        if len(frame) < portion:
            return


def first_line(error: Exception) -> str:
    """The first line of an error's text; its type where it has none."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__
