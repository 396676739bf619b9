"""Tables in any shape (CSV, TSV, JSON lines, JSON, Parquet) by a mapping file: see docs/mimic.md for its form.

A table that no mapping names is read if its columns are those of a known form, and otherwise named with its columns.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from vivant.benchmarks.data_files import iter_parquet_rows
from vivant.benchmarks.mimic.mapping import (
    ColumnUse,
    MappedFile,
    get_path,
    iter_fields,
    map_fields,
    read_mapping,
)
from vivant.benchmarks.mimic.table_rows import iter_table_rows
from vivant.core.encodings import find_encoding
from vivant.core.errors import DataError
from vivant_build.mimic.ingestion import values
from vivant_build.mimic.ingestion.crawl_forms import CrawlReader, find_form, is_info
from vivant_build.mimic.ingestion.json_pieces import LargeList, load_whole, open_utf8, split_documents
from vivant_build.mimic.ingestion.values import InvalidValueError, parse_row
from vivant_build.mimic.ingestion.writer import RecordWriter
from vivant_build.mimic.ingestion.ytdlp import (
    LARGE,
    ROUNDED_IDS,
    SourceDefaults,
    add_raw_comments,
    make_comment_id,
)
from vivant_build.mimic.notes import count_noun
from vivant_build.privacy import remove_names

TABLES = (".csv", ".tsv", ".tab", ".parquet")
NOT_READ = "not read: "
_NAME_AND_VALUE = 2
_FLAT = re.compile(r"\w+(?:/\w+)+")
_INFO_TEXTS = {"title", "description", "uploader", "channel"}
"""Columns of yt-dlp's records that hold texts."""
_THEIRS = {
    "id": "id",
    "text": "text",
    "like_count": "likes",
    "timestamp": "time",
    "parent": "reply_to",
    "author": "author",
}


def ingest_tables(mapping: Path, writer: RecordWriter, defaults: SourceDefaults) -> None:
    """Read the tables that a mapping names into the writer; rows that cannot be used go into its quarantine."""
    mapped = read_mapping(mapping)
    for location, fields in _iter_mapped(mapped.videos, mapping.parent, writer):
        if isinstance(fields, DataError):
            writer.leave(location, "", str(fields).removeprefix(f"{location}: "), kind="broken row")
        else:
            _add_video(fields, location, writer, defaults)
    if mapped.comments is None:
        return
    for number, (location, fields) in enumerate(_iter_mapped(mapped.comments, mapping.parent, writer), 1):
        if isinstance(fields, DataError):
            reason = str(fields).removeprefix(f"{location}: ")
            writer.leave_comments(location, f"broken row: {reason}", 1, new=True)
            continue
        video = values.parse_text(fields.get("video"))
        if not video:
            writer.leave_comments(location, "names no video", 1, new=True)
            continue
        comment = _rename_fields(fields)
        if values.is_rounded(comment["id"]):
            writer.note(ROUNDED_IDS)
            comment["id"] = ""
        if comment["id"] in (None, ""):
            comment["id"] = make_comment_id(comment, number)
        add_raw_comments(video if "/" in video else f"?/{video}", [comment], (), writer)


def _iter_mapped(
    block: MappedFile, folder: Path, writer: RecordWriter
) -> Iterator[tuple[str, dict[str, Any] | DataError]]:
    """Place and fields of each row; in place of rows that cannot be read, why. A file is read as far as it goes."""
    file = folder / block.file
    use = ColumnUse()
    try:
        if file.suffix.lower() != ".json":
            yield from iter_fields(block, folder, use)
        else:
            with open_utf8(file, LARGE) as content:
                yield from _iter_rows(block, file, content, use)
    except (DataError, InvalidValueError, OSError) as error:
        yield str(file), DataError(f"cannot be read further: {error}")
    for unknown in use.list_unknown(block):
        writer.note(f"fields without any value: {block.file}, {unknown}")


def _iter_rows(
    block: MappedFile, file: Path, content: BinaryIO, use: ColumnUse
) -> Iterator[tuple[str, dict[str, Any] | DataError]]:
    """The rows of a JSON file, the same way."""
    first, *more = split_documents(content)
    if more:
        yield str(file), DataError("several documents in one file, of which only the first is read")
    try:
        document = first.open()
    except InvalidValueError as wrong:
        part = first.open_whole_part(lambda node: _is_row(block, node))
        yield str(file), DataError(f"{wrong}; kept: {count_noun(part.records, 'row')} before")
        document = part.document
    rows = document if block.rows is None else get_path(document, block.rows)
    if not isinstance(rows, list | LargeList):
        where = f" at {block.rows}" if block.rows else "; name its path with `rows`"
        raise DataError(f"no list of rows{where}")
    for number, row in enumerate(rows, 1):
        where = f"{file}, row {number}"
        try:
            row = load_whole(row)
            if not isinstance(row, Mapping):
                raise DataError(f"{where}: not an object with fields")
            yield where, use.map(block, row, where)
        except InvalidValueError as wrong:
            yield where, DataError(f"{where}: {wrong}")
        except DataError as error:
            yield where, error


def _is_row(block: MappedFile, node: Any) -> bool:
    name = "id" if "id" in block.columns else "text"
    try:
        return isinstance(node, Mapping) and name in map_fields({name: block.columns[name]}, node, "")
    except (DataError, KeyError):
        return False


def ingest_table(
    path: Path, media: Path, writer: RecordWriter, defaults: SourceDefaults, unpacked: Path | None = None
) -> None:
    """Read a table that no mapping names, if its columns are known; otherwise say which it has.

    Where the file is compressed, `unpacked` holds its content.
    """
    source = os.path.relpath(path, media)
    reader = CrawlReader(str(path), str(media), writer, defaults)
    try:
        number = 0
        texts: set[str] | None = None
        rows = _iter_table(unpacked or path, writer)
        for number, row in rows:
            if isinstance(row, DataError):
                writer.leave(source, f"row {number}", str(row).partition(": ")[2], kind="broken row")
                continue
            if all(name == cell for name, cell in row.items()):  # of tables put one below the other
                writer.leave(source, f"row {number}", "the header again", kind="the header again")
                continue
            if texts is None:
                opened = _open_cells(row, set())
                form = find_form(opened)
                if form is None and not is_info(opened):
                    record = _read_names_and_values(opened, rows)
                    if find_form(record) is not None:
                        reader.read(record, source)
                        return
                    columns = ", ".join(map(str, list(opened)[:12]))
                    reason = f"its columns ({columns}) fit no known form; write a mapping for it"
                    writer.report.quarantine.append((source, "", f"{NOT_READ}{reason}"))
                    return
                texts = _INFO_TEXTS if form is None or is_info(opened) else form.list_texts()
            reader.read(_open_cells(row, texts), f"{source}, row {number}")
        if not number:
            writer.report.quarantine.append((source, "", f"{NOT_READ}it has no rows"))
    except (DataError, InvalidValueError, OSError, ValueError) as error:
        writer.leave(source, "", f"cannot be read further: {error}", kind="cannot be read further")


def _iter_table(path: Path, writer: RecordWriter) -> Iterator[tuple[int, Mapping[str, Any] | DataError]]:
    if path.suffix.lower() == ".parquet":
        yield from enumerate(iter_parquet_rows(path), 1)
        return
    encoding = find_encoding(path)
    if encoding not in ("utf-8", "utf-8-sig"):
        writer.note(f"files read as {encoding}")
    yield from iter_table_rows(path, encoding)


def _read_names_and_values(
    first: Mapping[str, Any], rows: Iterator[tuple[int, Mapping[str, Any] | DataError]]
) -> dict[str, Any]:
    """The one record of a table that has a field's name and its value in each line, the header included."""
    if len(first) != _NAME_AND_VALUE:
        return {}
    pairs = [tuple(first), tuple(first.values())]
    pairs += [tuple(row.values()) for _, row in rows if not isinstance(row, DataError)]
    return dict(pair for pair in pairs if len(pair) == _NAME_AND_VALUE)


def _open_cells(row: Mapping[str, Any], texts: set[str]) -> dict[str, Any]:
    """A row whose cells hold objects as JSON or as Python prints them, which pandas writes, with those objects.

    Columns such as `hashtags/0/name`, which Apify writes, become the list of objects that they were.
    `texts` are the columns whose cells stay as they are: people write [1] too.
    """
    opened: dict[str, Any] = {}
    nested: dict[str, Any] = {}
    for name, cell in row.items():
        if "/" not in name or not _FLAT.fullmatch(name):
            opened[name] = cell if name in texts else _open_cell(cell)
        elif cell not in (None, ""):
            *path, last = name.split("/")
            node: Any = nested
            for step in path:
                node = node.setdefault(step, {}) if isinstance(node, dict) else None
            if isinstance(node, dict):  # else the value of a shorter path stands there
                node[last] = _open_cell(cell)
    return opened | {name: _list_numbered(node) for name, node in nested.items() if name not in opened}


def _list_numbered(node: Any) -> Any:
    """Objects whose fields are numbers as the lists that they were."""
    if not isinstance(node, dict):
        return node
    fields = {name: _list_numbered(value) for name, value in node.items()}
    return list(fields.values()) if all(name.isdecimal() for name in fields) else fields


def _open_cell(cell: Any) -> Any:
    if not isinstance(cell, str) or (cell[:1], cell[-1:]) not in (("{", "}"), ("[", "]")):
        return cell
    for parse in (msgspec.json.decode, ast.literal_eval):
        try:
            return parse(cell)
        except (msgspec.DecodeError, ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return cell


def _rename_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fields.get(ours) for name, ours in _THEIRS.items()}


def _add_video(fields: dict[str, Any], location: str, writer: RecordWriter, defaults: SourceDefaults) -> None:
    fields.setdefault("platform", defaults.platform)
    fields.setdefault("licence", defaults.licence)
    comments = fields.pop("comments", None) or []
    try:
        row, problems = parse_row(fields)
    except InvalidValueError as wrong:
        writer.leave(location, "", str(wrong))
        return
    names = (row.uploader,)
    writer.maker(row, names)
    row.title, row.description = remove_names([row.title, row.description], names)
    ref = writer.video(row)
    for problem in problems:
        writer.mend(location, ref, problem)
    add_raw_comments(ref, list(_iter_comments(comments)), names, writer)


def _iter_comments(comments: Any) -> Iterator[dict[str, Any]]:
    for comment in comments if isinstance(comments, list | tuple) else ():
        if isinstance(comment, str):
            yield {"text": comment}
        elif isinstance(comment, Mapping):
            yield _rename_fields(comment)
