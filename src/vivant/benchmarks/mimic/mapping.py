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
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from vivant.benchmarks.data_files import (
    decode_json,
    iter_json_lines,
    iter_lines,
    iter_parquet_rows,
    read_json,
)
from vivant.benchmarks.mimic.format import ITEMS, VIDEOS, Comment, MimicItem, MimicOption, MimicVideo
from vivant.benchmarks.mimic.table_rows import Row, iter_table_rows
from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.files import write_jsonl
from vivant.core.yaml_files import read_yaml

_T = TypeVar("_T")


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


def convert_dataset(mapping: Path, out: Path) -> tuple[int, int]:
    """Write `videos.jsonl` and `items.jsonl` into a folder; returns how many of each."""
    mapped = read_mapping(mapping)
    if any((out / name).exists() for name in (VIDEOS, ITEMS)):
        raise UsageError(f"{out} holds {VIDEOS} or {ITEMS} already; choose another --out")
    try:
        out.mkdir(parents=True, exist_ok=True)
        videos = write_jsonl(out / VIDEOS, map_videos(mapped, mapping.parent))
        items = write_jsonl(out / ITEMS, map_items(mapped.items, mapping.parent)) if mapped.items else 0
    except OSError as error:
        raise UsageError(f"Cannot write to {out}: {error.strerror}") from error
    return videos, items


def map_videos(mapped: ColumnMapping, folder: Path) -> Iterator[MimicVideo]:
    """Videos one by one; comments of a file of their own are gathered first."""
    apart = _read_comments(mapped.comments, folder) if mapped.comments else {}
    for where, row in _iter_rows(mapped.videos, folder):
        fields = map_fields(mapped.videos.columns, row, where)
        fields["comments"] = [
            _number_comment(comment, number) for number, comment in enumerate(fields.get("comments") or [], 1)
        ]
        ref = f"{fields.get('platform')}/{_format_id(fields.get('id'))}"
        fields["comments"] += apart.pop(ref, None) or apart.pop(_format_id(fields.get("id")), [])
        yield _convert_fields(fields, MimicVideo, where)
    if apart:
        assert mapped.comments is not None
        raise DataError(
            f"{folder / mapped.comments.file}: comments on {len(apart)} videos that are not in "
            f"{mapped.videos.file}, the first is {next(iter(apart))}"
        )


def iter_fields(block: MappedFile, folder: Path) -> Iterator[tuple[str, dict[str, Any] | DataError]]:
    """Place and fields of each row as they stand, unchecked; in place of a row that cannot be read, why."""
    file = folder / block.file
    rows: Iterator[tuple[str, Row | DataError]]
    if file.suffix.lower() in (".jsonl", ".ndjson"):
        rows = _iter_lines(file)
    elif file.suffix.lower() in (".csv", ".tsv"):
        table = iter_table_rows(file, block.encoding, block.separator)
        rows = ((f"{file}, row {number}", row) for number, row in table)
    else:
        rows = _iter_rows(block, folder)
    for where, row in rows:
        try:
            yield where, row if isinstance(row, DataError) else map_fields(block.columns, row, where)
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


def _read_comments(block: MappedFile, folder: Path) -> dict[str, list[dict[str, Any]]]:
    by_video: dict[str, list[dict[str, Any]]] = {}
    for where, row in _iter_rows(block, folder):
        fields = map_fields(block.columns, row, where)
        video = _format_id(fields.pop("video", None))
        if not video:
            raise DataError(f"{where}: the comment names no video; map the field `video`")
        comments = by_video.setdefault(video, [])
        comments.append(_number_comment(fields, len(comments) + 1))
    return by_video


def _number_comment(comment: Any, number: int) -> dict[str, Any]:
    """A comment with an id: its place where the data give none. A bare text is a comment, too."""
    fields = {"text": comment} if isinstance(comment, str) else dict(comment)
    fields.pop("author", None)  # who wrote it is asked for only to take the name out of texts
    return {"id": f"c{number}", **{name: value for name, value in fields.items() if value is not None}}


def map_items(block: MappedFile, folder: Path) -> Iterator[MimicItem]:
    """Items one by one; an id is made of the row's place where the data give none."""
    for number, (where, row) in enumerate(_iter_rows(block, folder), 1):
        fields = map_fields(block.columns, row, where)
        options = [_build_option(option, where) for option in _list_options(fields.get("options"))]
        fields["options"] = options
        source = block.columns.get("key")
        base = source.base if isinstance(source, MappedColumn) else 0
        if fields.get("key") is not None:
            fields["key"] = _parse_key(fields["key"], base, options, where)
            correct = options[fields["key"]]
            correct.setdefault("video", fields.get("video"))
        fields.setdefault("id", str(number))
        yield _convert_fields(fields, MimicItem, where)


def _list_options(options: Any) -> list[Any]:
    """Options as a list; `{"A": …, "B": …}` in the order of its letters."""
    if isinstance(options, Mapping):
        return [options[name] for name in sorted(options)]
    return list(options or [])


def _build_option(option: Any, where: str) -> dict[str, Any]:
    if isinstance(option, Mapping):
        return {name: value for name, value in option.items() if value is not None}
    if option is None:
        raise DataError(f"{where}: an option is missing")
    return {"text": _format_id(option)}


def _parse_key(value: Any, base: int, options: list[dict[str, Any]], where: str) -> int:
    texts = [option.get("text") for option in options]
    text = _format_id(value).strip()
    letter = text.strip("().").upper()
    if text in texts:
        index = texts.index(text)
    elif text.lstrip("-").isdecimal():
        index = int(text) - base
    elif len(letter) == 1 and letter.isalpha():
        index = ord(letter) - ord("A")
    else:
        raise DataError(f"{where}: the key '{text}' is no letter, no place and no option's text")
    if not 0 <= index < len(options):
        raise DataError(f"{where}: the key '{text}' is none of {len(options)} options")
    return index


# ── a row's fields ──


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
    value = source.value if source.column is None else _get_first(row, source.column)
    if value is not None and _format_id(value) in source.absent:
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
        match = re.search(source.extract, _format_id(value))
        if match is None:
            return None
        value = match.group(1)
    if source.divide != 1:
        value = _divide(value, source.divide)
    if source.split is not None:
        value = _split_value(value, source.split, where)
    if source.values is not None:
        if _format_id(value) not in source.values:
            raise DataError(f"{where}: {unknown_name_error('value', _format_id(value), source.values)}")
        value = source.values[_format_id(value)]
    return value if source.format is None else source.format.replace("{}", _format_id(value))


def _split_value(value: Any, separator: str, where: str) -> Any:
    if isinstance(value, list | tuple):
        return value
    if separator == "json":
        try:
            return msgspec.json.decode(str(value))
        except msgspec.MsgspecError as error:
            raise DataError(f"{where}: not JSON: {error}") from error
    return [piece.strip() for piece in str(value).split(separator) if piece.strip()]


def _get_first(row: Any, columns: str | list[str]) -> Any:
    if isinstance(columns, str):
        return get_path(row, columns)
    for column in columns:
        value = get_path(row, column)
        # An object holds values but is none: `author` is a name in one dump and an object in the next.
        if value is not None and value != [] and not isinstance(value, Mapping):
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


def _format_id(value: Any) -> str:
    """An id as text: 20, 20.0 and "20" are the same."""
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


_TEXTS = {
    name
    for kind in (MimicVideo, MimicItem, Comment, MimicOption)
    for name in kind.__struct_fields__
    if name not in ("likes", "views", "width", "height", "comment_count", "duration", "key", "rank")
}


def _convert_fields(fields: dict[str, Any], kind: type[_T], where: str) -> _T:
    try:
        return msgspec.convert(_format_fields(fields), kind, strict=False)
    except msgspec.ValidationError as error:
        raise DataError(f"{where}: {error}") from error


def _format_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers as texts where texts are wanted, in objects inside as well."""
    result: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, list | tuple):
            result[name] = [_format_fields(v) if isinstance(v, Mapping) else _format_id(v) for v in value]
        elif name in _TEXTS and isinstance(value, int | float):
            result[name] = _format_id(value)
        elif isinstance(value, float) and value.is_integer() and name != "duration":
            result[name] = int(value)
        else:
            result[name] = value
    return result


# ── their files ──


def _iter_rows(block: MappedFile, folder: Path) -> Iterator[tuple[str, Row]]:
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
