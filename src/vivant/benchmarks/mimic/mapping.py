"""A set in another shape → ours, by a small YAML file: our field ← their column.

videos:
  file: metadata.csv                 # CSV, JSON lines, JSON, Parquet; beside the mapping
  columns:
    platform: {value: youtube}       # the same for all
    id: video_id                     # a column, or a path: snippet.title, files.0.url
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

import csv
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from vivant.benchmarks.mimic.format import (
    ITEMS,
    VIDEOS,
    Comment,
    Item,
    ItemOption,
    VideoLine,
    raw_lines,
    write_jsonl,
)
from vivant.core.errors import DataError, UsageError, unknown_name_error

_T = TypeVar("_T")
Row = Mapping[str, Any]
_STRETCH = 50_000


class Column(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where one of our fields comes from, and what is done to it on the way, in this order."""

    column: str | None = None
    value: Any = None
    """In place of a column: the same for every row."""
    split: str | None = None
    values: dict[str, Any] | None = None
    """Their value → ours; others are refused."""
    format: str | None = None
    base: int = 0
    """For `key`: the number of the first option."""
    columns: dict[str, str | Column] | None = None
    """For lists of objects: our field ← theirs."""


Source = str | Column


class Block(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One file, and which of its columns are which."""

    file: str
    rows: str | None = None
    """In a JSON file: the path of the list of rows; default: the file is the list."""
    columns: dict[str, Source | list[Source]]


class Mapped(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A mapping file."""

    videos: Block
    items: Block | None = None
    comments: Block | None = None


def read_mapping(path: Path) -> Mapped:
    """The mapping in a YAML file, with our fields checked by name."""
    import yaml

    try:
        mapped = msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), Mapped)
    except OSError as error:
        raise DataError(f"Cannot read the mapping {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise DataError(f"{path}: {' '.join(str(error).split())}") from error
    known = {
        "videos": set(VideoLine.__struct_fields__),
        "items": set(Item.__struct_fields__),
        "comments": {*Comment.__struct_fields__, "video"},
    }
    for name, fields in known.items():
        block: Block | None = getattr(mapped, name)
        for field in block.columns if block else ():
            if field not in fields:
                raise UsageError(f"{path}, {name}: {unknown_name_error('field', field, fields)}")
    return mapped


def convert(mapping: Path, out: Path) -> tuple[int, int]:
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


def map_videos(mapped: Mapped, folder: Path) -> Iterator[VideoLine]:
    """Videos one by one; comments of a file of their own are gathered first."""
    apart = _comments_apart(mapped.comments, folder) if mapped.comments else {}
    for place, row in _rows(mapped.videos, folder):
        fields = _fields(mapped.videos.columns, row, place)
        fields["comments"] = [
            _numbered(comment, number) for number, comment in enumerate(fields.get("comments") or [], 1)
        ]
        ref = f"{fields.get('platform')}/{_text(fields.get('id'))}"
        fields["comments"] += apart.pop(ref, None) or apart.pop(_text(fields.get("id")), [])
        yield _make(fields, VideoLine, place)
    if apart:
        assert mapped.comments is not None
        raise DataError(
            f"{folder / mapped.comments.file}: comments on {len(apart)} videos that are not in "
            f"{mapped.videos.file}, the first is {next(iter(apart))}"
        )


def iter_fields(block: Block, folder: Path) -> Iterator[tuple[str, dict[str, Any] | DataError]]:
    """Place and fields of each row as they stand, unchecked; in place of a row that cannot be read, why."""
    file = folder / block.file
    rows = _rows(block, folder) if file.suffix.lower() not in (".jsonl", ".ndjson") else _each_line(file)
    for place, row in rows:
        try:
            yield place, row if isinstance(row, DataError) else _fields(block.columns, row, place)
        except DataError as error:
            yield place, error


def _each_line(file: Path) -> Iterator[tuple[str, Row | DataError]]:
    for number, line in raw_lines(file):
        place = f"{file}, row {number}"
        try:
            row = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            yield place, DataError(f"{place}: {error}")
            continue
        yield place, row if isinstance(row, Mapping) else DataError(f"{place}: not an object with fields")


def _comments_apart(block: Block, folder: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for place, row in _rows(block, folder):
        fields = _fields(block.columns, row, place)
        video = _text(fields.pop("video", None))
        if not video:
            raise DataError(f"{place}: the comment names no video; map the field `video`")
        own = found.setdefault(video, [])
        own.append(_numbered(fields, len(own) + 1))
    return found


def _numbered(comment: Any, number: int) -> dict[str, Any]:
    """A comment with an id: its place where the data give none. A bare text is a comment, too."""
    fields = {"text": comment} if isinstance(comment, str) else dict(comment)
    return {"id": f"c{number}", **{name: value for name, value in fields.items() if value is not None}}


def map_items(block: Block, folder: Path) -> Iterator[Item]:
    """Items one by one; an id is made of the row's place where the data give none."""
    for number, (place, row) in enumerate(_rows(block, folder), 1):
        fields = _fields(block.columns, row, place)
        options = [_option(option, place) for option in _listed(fields.get("options"))]
        fields["options"] = options
        source = block.columns.get("key")
        base = source.base if isinstance(source, Column) else 0
        if fields.get("key") is not None:
            fields["key"] = _key(fields["key"], base, options, place)
            right = options[fields["key"]]
            right.setdefault("video", fields.get("video"))
        fields.setdefault("id", str(number))
        yield _make(fields, Item, place)


def _listed(options: Any) -> list[Any]:
    """Options as a list; `{"A": …, "B": …}` in the order of its letters."""
    if isinstance(options, Mapping):
        return [options[name] for name in sorted(options)]
    return list(options or [])


def _option(option: Any, place: str) -> dict[str, Any]:
    if isinstance(option, Mapping):
        return {name: value for name, value in option.items() if value is not None}
    if option is None:
        raise DataError(f"{place}: an option is missing")
    return {"text": _text(option)}


def _key(value: Any, base: int, options: list[dict[str, Any]], place: str) -> int:
    texts = [option.get("text") for option in options]
    written = _text(value).strip()
    letter = written.strip("().").upper()
    if written in texts:
        found = texts.index(written)
    elif written.lstrip("-").isdecimal():
        found = int(written) - base
    elif len(letter) == 1 and letter.isalpha():
        found = ord(letter) - ord("A")
    else:
        raise DataError(f"{place}: the key '{written}' is no letter, no place and no option's text")
    if not 0 <= found < len(options):
        raise DataError(f"{place}: the key '{written}' is none of {len(options)} options")
    return found


# ── a row's fields ──


def _fields(columns: Mapping[str, Source | list[Source]], row: Row, place: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field, source in columns.items():
        value: Any
        if isinstance(source, list):
            value = [_value(one, row, f"{place}, field {field}") for one in source]
        else:
            value = _value(source, row, f"{place}, field {field}")
        if value is not None:
            found[field] = value
    return found


def _value(source: Source, row: Row, place: str) -> Any:
    if isinstance(source, str):
        return _at(row, source)
    value = source.value if source.column is None else _at(row, source.column)
    if source.columns is not None:
        inner = [row] if source.column is None else value
        if not isinstance(inner, list | tuple):
            raise DataError(f"{place}: '{source.column}' should be a list")
        made = [_fields(source.columns, each, place) for each in inner if isinstance(each, Mapping)]
        return made[0] if source.column is None else made
    if value is None:
        return None
    if source.split is not None:
        value = _split(value, source.split, place)
    if source.values is not None:
        if _text(value) not in source.values:
            raise DataError(f"{place}: {unknown_name_error('value', _text(value), source.values)}")
        value = source.values[_text(value)]
    return value if source.format is None else source.format.replace("{}", _text(value))


def _split(value: Any, how: str, place: str) -> Any:
    if isinstance(value, list | tuple):
        return value
    if how == "json":
        try:
            return msgspec.json.decode(str(value))
        except msgspec.MsgspecError as error:
            raise DataError(f"{place}: not JSON: {error}") from error
    return [piece.strip() for piece in str(value).split(how) if piece.strip()]


def _at(row: Any, path: str) -> Any:
    """The value in a column, or at the end of a dotted path; None where there is none."""
    if isinstance(row, Mapping) and path in row:
        value = row[path]
        empty = value == "" or (isinstance(value, float) and math.isnan(value))
        return None if empty else value
    head, dot, rest = path.partition(".")
    if not dot:
        return row[int(path)] if isinstance(row, list) and path.isdecimal() and int(path) < len(row) else None
    inner = _at(row, head)
    return None if inner is None else _at(inner, rest)


def _text(value: Any) -> str:
    """An id as text: 20, 20.0 and "20" are the same."""
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


_TEXTS = {
    name
    for kind in (VideoLine, Item, Comment, ItemOption)
    for name in kind.__struct_fields__
    if name not in ("likes", "views", "width", "height", "comment_count", "duration", "key", "rank")
}


def _make(fields: dict[str, Any], kind: type[_T], place: str) -> _T:
    try:
        return msgspec.convert(_texts(fields), kind, strict=False)
    except msgspec.ValidationError as error:
        raise DataError(f"{place}: {error}") from error


def _texts(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers as texts where texts are wanted, in objects inside as well."""
    made: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, list | tuple):
            made[name] = [_texts(v) if isinstance(v, Mapping) else _text(v) for v in value]
        elif name in _TEXTS and isinstance(value, int | float):
            made[name] = _text(value)
        elif isinstance(value, float) and value.is_integer() and name != "duration":
            made[name] = int(value)
        else:
            made[name] = value
    return made


# ── their files ──


def _rows(block: Block, folder: Path) -> Iterator[tuple[str, Row]]:
    file = folder / block.file
    kind = file.suffix.lower()
    readers = {".csv": _csv, ".tsv": _csv, ".jsonl": _jsonl, ".ndjson": _jsonl, ".parquet": _parquet}
    if kind == ".json":
        rows = _json(file, block.rows)
    elif kind in readers:
        rows = readers[kind](file)
    else:
        raise DataError(f"{file}: rows are read from .csv, .tsv, .jsonl, .json and .parquet")
    for number, row in rows:
        if not isinstance(row, Mapping):
            raise DataError(f"{file}, row {number}: not an object with fields")
        yield f"{file}, row {number}", row


def _csv(file: Path) -> Iterator[tuple[int, Any]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            yield from enumerate(csv.DictReader(text, delimiter="\t" if file.suffix == ".tsv" else ","), 1)
    except OSError as error:
        raise DataError(f"Cannot read {file}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{file} is not a CSV file in UTF-8: {error}") from error


def _jsonl(file: Path) -> Iterator[tuple[int, Any]]:
    for number, line in raw_lines(file):
        try:
            yield number, msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise DataError(f"{file}, line {number}: {error}") from error


def _json(file: Path, path: str | None) -> Iterator[tuple[int, Any]]:
    try:
        content = msgspec.json.decode(file.read_bytes())
    except OSError as error:
        raise DataError(f"Cannot read {file}: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: {error}") from error
    rows = content if path is None else _at(content, path)
    if not isinstance(rows, list):
        raise DataError(f"{file}: no list of rows{f' at {path}' if path else '; name its path with `rows`'}")
    yield from enumerate(rows, 1)


def _parquet(file: Path) -> Iterator[tuple[int, Any]]:
    import polars

    rows = polars.scan_parquet(file)
    done = 0
    while True:  # a stretch at a time, whatever the file's size
        try:
            frame = rows.slice(done, _STRETCH).collect()
        except (OSError, polars.exceptions.PolarsError) as error:
            raise DataError(f"Cannot read {file}: {' '.join(str(error).split())[:200]}") from error
        yield from enumerate(frame.iter_rows(named=True), done + 1)
        done += len(frame)
        if len(frame) < _STRETCH:
            return
