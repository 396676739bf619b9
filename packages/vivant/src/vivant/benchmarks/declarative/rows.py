"""Rows of data files in any of the usual forms, each with its place for error messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vivant.benchmarks.data_files import iter_csv_rows, iter_json_objects, iter_parquet_rows, read_json
from vivant.benchmarks.declarative.spec import BenchmarkSpec
from vivant.core.errors import DataError, unknown_name_error

Row = dict[str, Any]
TABLES = (".parquet", ".jsonl", ".ndjson", ".json", ".csv", ".tsv")
MEDIA = {
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff"), "image"),
    **dict.fromkeys((".mp4", ".mkv", ".webm", ".avi", ".mov", ".m4v"), "video"),
    **dict.fromkeys((".wav", ".mp3", ".flac", ".ogg", ".m4a"), "audio"),
}
_PARQUET_ROWS = 200
"""Rows that may hold a picture each are read so many at a time."""


def find_files(spec: BenchmarkSpec, root: Path, task: str) -> list[Path]:
    """The data files of a task, sorted. Raises DataError where there are none."""
    if root.is_file():
        return [root]
    patterns = [pattern.replace("{task}", task) for pattern in spec.patterns]
    if not patterns:
        files = [
            path for path in sorted(root.iterdir()) if path.suffix in TABLES and path.name[0] not in "._"
        ]
        if len(files) != 1:
            listed = ", ".join(path.name for path in files[:6]) or "none"
            raise DataError(
                f"{root} must hold one data file, or `source.files` must say which to read; there: {listed}"
            )
        return files
    files = sorted({path for pattern in patterns for path in _match(root, pattern)})
    if not files:
        fetch = f" or fetch it: vivant data get {spec.name}" if spec.source.hub else ""
        raise DataError(f"{root} holds no file {' or '.join(patterns)}; give the folder with --data{fetch}")
    return files


def _match(root: Path, pattern: str) -> list[Path]:
    """The files of the first alternative that has any."""
    for alternative in pattern.split(" | "):
        files = [path for path in root.glob(alternative.strip()) if path.is_file()]
        if files:
            return files
    return []


def iter_rows(spec: BenchmarkSpec, root: Path, task: str) -> Iterator[tuple[str, Row]]:
    """The rows of a task with their places, as `source.where` selects them."""
    where = {
        column: {str(value) for value in (values if isinstance(values, tuple) else (values,))}
        for column, values in spec.source.where.items()
    }
    for file in find_files(spec, root, task):
        for location, row in read_table(file, spec.source.rows.replace("{task}", task), root):
            if all(_is_wanted(row, column, values, location) for column, values in where.items()):
                yield location, row


def _is_wanted(row: Row, column: str, values: set[str], location: str) -> bool:
    if column not in row:
        raise DataError(f"{location}: `source.where`: {unknown_name_error('column', column, row)}")
    return str(row[column]).lower() in {value.lower() for value in values}


def read_table(file: Path, inner: str = "", root: Path | None = None) -> Iterator[tuple[str, Row]]:
    """The rows of one file with their places.

    Args:
        file: The file. A media file is one row.
        inner: In a JSON file, the dotted path of the rows.
        root: The folder that paths of media files are relative to.
    """
    suffix = file.suffix.lower()
    if suffix == ".parquet":
        for number, row in enumerate(iter_parquet_rows(file, _PARQUET_ROWS), 1):
            yield f"{file}, row {number}", row
    elif suffix in (".jsonl", ".ndjson"):
        for number, row in iter_json_objects(file):
            yield f"{file}, line {number}", row
    elif suffix in (".csv", ".tsv"):
        delimiter = "\t" if suffix == ".tsv" else ","
        for number, cells in iter_csv_rows(file, delimiter):
            yield f"{file}, row {number}", {name: cell or None for name, cell in cells.items()}
    elif suffix == ".json":
        yield from _json_rows(file, inner)
    elif suffix in MEDIA:
        path = file.relative_to(root or file.parent)
        row = {"path": path.as_posix(), "name": file.name, "stem": file.stem, "folder": file.parent.name}
        yield str(file), row
    else:
        raise DataError(f"{file}: data are read from {', '.join(TABLES)} files, or from media files")


def _json_rows(file: Path, inner: str) -> Iterator[tuple[str, Row]]:
    value = read_json(file)
    for name in filter(None, inner.split(".")):
        if not isinstance(value, dict) or name not in value:
            known = value if isinstance(value, dict) else ()
            raise DataError(f"{file}: `source.rows`: {unknown_name_error('field', name, known)}")
        value = value[name]
    if isinstance(value, dict) and all(isinstance(row, dict) for row in value.values()):
        value = [{"key": key, **row} for key, row in value.items()]
    if not isinstance(value, list):
        fields = ", ".join(value) if isinstance(value, dict) else type(value).__name__
        raise DataError(
            f"{file} holds no list of rows; name where it is with `source.rows` (there: {fields})"
        )
    for number, row in enumerate(value, 1):
        if not isinstance(row, dict):
            raise DataError(f"{file}, row {number} is not a JSON object")
        yield f"{file}, row {number}", row


def flatten_columns(row: Mapping[str, Any], prefix: str = "") -> list[str]:
    """The names of all columns, with those inside structs as `outer.inner`."""
    names: list[str] = []
    for name, value in row.items():
        names.append(prefix + name)
        if isinstance(value, dict) and "bytes" not in value:
            names += flatten_columns(value, f"{prefix}{name}.")
    return names
