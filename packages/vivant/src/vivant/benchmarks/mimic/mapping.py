"""A set in another shape → ours, by a small YAML file: our field ← their column.

videos:
  file: metadata.csv                 # CSV, JSON lines, JSON, Parquet; beside the mapping
  columns:
    platform: {value: youtube}       # the same for all
    id: video_id                     # a column, or a path: snippet.title, files.0.url, challenges[].title
    likes: {column: [likes, stats.diggCount], absent: ["-1"]}   # the first that holds a value
    tags: {column: tags, split: ","} # a list in one cell; `split: json` for a JSON list
    file: {column: video_id, format: "clips/{}.mp4"}
    comments: {column: comments, columns: {id: cid, text: body, likes: like_count}}
comments: …                          # where they have a file of their own: `video`, `id`, `text` …
items:
  file: questions.json
  columns:
    task: {column: type, values: {title_match: title}}
    video: {column: vid, format: "youtube/{}"}
    options: [A, B, C, D]            # or one column: a list of texts, of objects, or letters → texts
    key: answer                      # a letter, a place from 0 (`base: 1` for from 1), or the text itself
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vivant.benchmarks.data_files import (
    decode_json,
    iter_json_lines,
    iter_lines,
    iter_parquet_rows,
    read_json,
)
from vivant.benchmarks.mimic.format import Comment, MimicItem, MimicVideo
from vivant.benchmarks.mimic.table_rows import Row, iter_table_rows
from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.yaml_files import read_yaml


class MappedColumn(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where one of our fields comes from, and what is done to it on the way, in this order."""

    column: str | list[str] | None = None
    """A column or path; of several the first that holds a value."""
    value: Any = None
    """In place of a column: the same for every row."""
    absent: list[str] = []
    """Values that stand for none: `"0"`, `"-1"`."""
    extract: str | None = None
    """An expression; its first group is the value, and where it is not found there is none."""
    divide: float = 1
    """What numbers are divided by: 1000 for milliseconds."""
    split: str | None = None
    values: dict[str, Any] | None = None
    """Their value → ours; others are refused."""
    format: str | None = None
    base: int = 0
    """For `key`: the number of the first option."""
    columns: dict[str, str | MappedColumn] | None = None
    """For lists of objects: our field ← theirs."""


Source = str | MappedColumn


class MappedFile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One file, and which of its columns are which."""

    file: str
    rows: str | None = None
    """In a JSON file: the path of the list of rows; default: the file is the list."""
    encoding: str | None = None
    """Of a CSV file, as Python names it; default: UTF-8, UTF-16 or Western European, as found."""
    separator: str | None = None
    """Of a CSV file; default: comma, semicolon, tab or bar, as found."""
    columns: dict[str, Source | list[Source]]


class ColumnMapping(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A mapping file."""

    videos: MappedFile
    items: MappedFile | None = None
    comments: MappedFile | None = None


def read_mapping(path: Path) -> ColumnMapping:
    """The mapping in a YAML file, with our fields checked by name."""
    mapped = read_yaml(path, ColumnMapping)
    allowed = {
        "videos": set(MimicVideo.__struct_fields__),
        "items": set(MimicItem.__struct_fields__),
        "comments": {*Comment.__struct_fields__, "video", "author"},
    }
    for name, fields in allowed.items():
        block: MappedFile | None = getattr(mapped, name)
        for field in block.columns if block else ():
            if field not in fields:
                raise UsageError(f"{path}, {name}: {unknown_name_error('field', field, fields)}")
        if block is not None:
            _check_form(block, f"{path}, {name}")
    return mapped


def _check_form(block: MappedFile, where: str) -> None:
    if block.separator is not None and len(block.separator) != 1:
        raise UsageError(f"{where}: separator is one character, not '{block.separator}'")
    try:
        codecs.lookup(block.encoding or "utf-8")
    except LookupError:
        raise UsageError(
            f"{where}: no encoding is called '{block.encoding}'; try utf-8, utf-16, cp1252 …"
        ) from None


class ColumnUse:
    """Which columns rows have, and which of our fields got a value from them."""

    def __init__(self) -> None:
        self._columns: set[str] = set()
        self._objects: set[str] = set()
        self._filled: set[str] = set()

    def map(self, block: MappedFile, row: Row, where: str) -> dict[str, Any]:
        """Our fields of one row, which is taken note of."""
        self._columns.update(row)
        for name, value in row.items():
            if isinstance(value, Mapping):
                self._objects.add(name)
                self._columns.update(f"{name}.{inner}" for inner in value)
        fields = map_fields(block.columns, row, where)
        self._filled.update(fields)
        return fields

    def list_unknown(self, block: MappedFile) -> list[str]:
        """Fields that got no value because no row has their column, each with the nearest column."""
        lines = []
        for field, source in block.columns.items():
            column = source.column if isinstance(source, MappedColumn) else source
            names = [column] if isinstance(column, str) else column or []
            texts = [name for name in names if isinstance(name, str)]
            if not self._columns or field in self._filled or not texts or any(map(self._has, texts)):
                continue
            near = unknown_name_error("column", texts[0], self._columns)
            lines.append(f"{field}: {near}")
        return lines

    def _has(self, path: str) -> bool:
        head, _, rest = path.partition(".")
        if head not in self._objects or path in self._columns:
            return path in self._columns or head.removesuffix("[]") in self._columns
        return f"{head}.{rest.partition('.')[0].removesuffix('[]')}" in self._columns


def iter_fields(
    block: MappedFile, folder: Path, use: ColumnUse
) -> Iterator[tuple[str, dict[str, Any] | DataError]]:
    """Place and fields of each row as they stand, unchecked; in place of a row that cannot be read, why."""
    file = folder / block.file
    rows: Iterator[tuple[str, Row | DataError]]
    if file.suffix.lower() in (".jsonl", ".ndjson"):
        rows = _iter_lines(file)
    elif file.suffix.lower() in (".csv", ".tsv"):
        table = iter_table_rows(file, block.encoding, block.separator)
        rows = ((f"{file}, row {number}", row) for number, row in table)
    else:
        rows = iter_rows(block, folder)
    for where, row in rows:
        try:
            yield where, row if isinstance(row, DataError) else use.map(block, row, where)
        except DataError as error:
            yield where, error


def _iter_lines(file: Path) -> Iterator[tuple[str, Row | DataError]]:
    for number, line in iter_lines(file):
        where = f"{file}, row {number}"
        try:
            row: Any = decode_json(line, where)
        except DataError as error:
            yield where, error
            continue
        yield where, row if isinstance(row, Mapping) else DataError(f"{where}: not an object with fields")


def map_fields(columns: Mapping[str, Source | list[Source]], row: Row, where: str) -> dict[str, Any]:
    """Our fields of one row, without those that it does not have."""
    fields: dict[str, Any] = {}
    for field, source in columns.items():
        value: Any
        if isinstance(source, list):
            value = [_map_value(item, row, f"{where}, field {field}") for item in source]
        else:
            value = _map_value(source, row, f"{where}, field {field}")
        if value is not None:
            fields[field] = value
    return fields


def _map_value(source: Source, row: Row, where: str) -> Any:
    if isinstance(source, str):
        return get_path(row, source)
    value = source.value if source.column is None else _get_first(row, source.column, source.absent)
    if value is not None and format_id(value) in source.absent:
        value = None
    if source.columns is not None and source.column is None:
        return map_fields(source.columns, row, where)
    if value is None:
        return None
    if source.columns is not None:
        objects = value if source.split is None else _split_value(value, source.split, where)
        if not isinstance(objects, list | tuple):
            raise DataError(f"{where}: '{source.column}' should be a list")
        return [map_fields(source.columns, each, where) for each in objects if isinstance(each, Mapping)]
    if source.extract is not None:
        match = re.search(source.extract, format_id(value))
        if match is None:
            return None
        value = match.group(1)
    if source.divide != 1:
        value = _divide(value, source.divide)
    if source.split is not None:
        value = _split_value(value, source.split, where)
    if source.values is not None:
        if format_id(value) not in source.values:
            raise DataError(f"{where}: {unknown_name_error('value', format_id(value), source.values)}")
        value = source.values[format_id(value)]
    return value if source.format is None else source.format.replace("{}", format_id(value))


def _split_value(value: Any, separator: str, where: str) -> Any:
    if isinstance(value, list | tuple):
        return value
    if separator == "json":
        try:
            return msgspec.json.decode(str(value))
        except msgspec.MsgspecError as error:
            raise DataError(f"{where}: not JSON: {error}") from error
    return [piece.strip() for piece in str(value).split(separator) if piece.strip()]


def _get_first(row: Any, columns: str | list[str], absent: list[str]) -> Any:
    if isinstance(columns, str):
        return get_path(row, columns)
    for column in columns:
        value = get_path(row, column)
        # An object holds values but is none: `author` is a name in one dump and an object in the next.
        if value is None or value == [] or isinstance(value, Mapping) or format_id(value) in absent:
            continue
        return value
    return None


def _divide(value: Any, divisor: float) -> Any:
    """A number divided; anything else as it is, for the checks that follow to refuse."""
    try:
        return float(value) / divisor
    except (TypeError, ValueError):
        return value


def get_path(row: Any, path: str) -> Any:
    """The value in a column, or at the end of a dotted path; None where there is none.

    `name[]` is every element of a list, also of one that a table holds as JSON in a cell.
    """
    if isinstance(row, Mapping) and path in row:
        value = row[path]
        empty = value == "" or (isinstance(value, float) and math.isnan(value))
        return None if empty else value
    head, dot, rest = path.partition(".")
    if head.endswith("[]"):
        return _get_each(get_path(row, head[:-2]), rest)
    if not dot:
        return row[int(path)] if isinstance(row, list) and path.isdecimal() and int(path) < len(row) else None
    inner = get_path(row, head)
    return None if inner is None else get_path(inner, rest)


def _get_each(elements: Any, rest: str) -> list[Any] | None:
    if isinstance(elements, str) and elements.lstrip()[:1] == "[":
        try:
            elements = msgspec.json.decode(elements)
        except msgspec.MsgspecError:
            return None
    if not isinstance(elements, list | tuple):
        return None
    values: list[Any] = []
    for element in elements:
        value = get_path(element, rest) if rest else element
        if isinstance(value, list) and "[]" in rest:
            values += value
        elif value is not None:
            values.append(value)
    return values


def format_id(value: Any) -> str:
    """An id as text: 20, 20.0 and "20" are the same."""
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def iter_rows(block: MappedFile, folder: Path) -> Iterator[tuple[str, Row]]:
    """Place and content of each row of a file; what cannot be read is raised."""
    file = folder / block.file
    kind = file.suffix.lower()
    rows: Iterator[tuple[int, Any]]
    if kind == ".json":
        rows = _iter_json(file, block.rows)
    elif kind in (".csv", ".tsv"):
        rows = iter_table_rows(file, block.encoding, block.separator)
    elif kind in (".jsonl", ".ndjson"):
        rows = iter_json_lines(file, object)
    elif kind == ".parquet":
        rows = enumerate(iter_parquet_rows(file), 1)
    else:
        raise DataError(f"{file}: rows are read from .csv, .tsv, .jsonl, .json and .parquet")
    for number, row in rows:
        if isinstance(row, DataError):
            raise row
        if not isinstance(row, Mapping):
            raise DataError(f"{file}, row {number}: not an object with fields")
        yield f"{file}, row {number}", row


def _iter_json(file: Path, path: str | None) -> Iterator[tuple[int, Any]]:
    content = read_json(file)
    rows = content if path is None else get_path(content, path)
    if not isinstance(rows, list):
        raise DataError(f"{file}: no list of rows{f' at {path}' if path else '; name its path with `rows`'}")
    yield from enumerate(rows, 1)
