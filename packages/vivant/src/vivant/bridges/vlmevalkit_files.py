"""Result files of VLMEvalKit as rows of texts: .xlsx, .tsv, .csv and .json, as its own code writes them."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from vivant.core.errors import DataError

_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_FORMS = (".xlsx", ".tsv", ".csv", ".json")


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a result file; an empty cell, and one that holds `nan`, is an empty text."""
    if path.suffix not in _FORMS:
        beside = (
            " VLMEvalKit writes the same rows to an .xlsx file beside it." if path.suffix == ".pkl" else ""
        )
        raise DataError(f"{path}: results are read from {', '.join(_FORMS)}.{beside}")
    try:
        rows = iter(_read_workbook(path)) if path.suffix == ".xlsx" else _read_text(path)
        return [{name: _read_cell(value) for name, value in row.items()} for row in rows]
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is no text in UTF-8: {error.reason}") from error


def _read_cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return "" if text == "nan" else text


def _read_text(path: Path) -> Iterator[Mapping[str, Any]]:
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".json":
        try:
            rows = json.loads(text)  # it holds NaN, which is not strict JSON
        except ValueError as error:
            raise DataError(f"{path} is no JSON: {error}") from error
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise DataError(f"{path}: a result file is a list of rows")
        return iter(rows)
    csv.field_size_limit(1 << 30)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t" if path.suffix == ".tsv" else ",")
    return ({key: value for key, value in row.items() if key} for row in reader)


def _read_workbook(path: Path) -> list[dict[str, str]]:
    """The rows of the first sheet of an .xlsx file, which is a zip of XML files."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            shared: list[str] = []
            if "xl/sharedStrings.xml" in names:
                root = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
                shared = [_join_text(item) for item in root]
            sheet = next(name for name in sorted(names) if re.fullmatch(r"xl/worksheets/sheet\d+\.xml", name))
            rows = [
                _read_cells(row, shared)
                for row in ElementTree.fromstring(archive.read(sheet)).iter(f"{_SHEET}row")
            ]
    except (zipfile.BadZipFile, ElementTree.ParseError, StopIteration) as error:
        raise DataError(f"{path} is no .xlsx file: {error}") from error
    if not rows:
        return []
    header = rows[0]
    return [{name: row.get(column, "") for column, name in header.items()} for row in rows[1:]]


def _read_cells(row: ElementTree.Element, shared: list[str]) -> dict[str, str]:
    """A row's texts by column letter."""
    cells: dict[str, str] = {}
    for cell in row.iter(f"{_SHEET}c"):
        column = re.sub(r"\d+", "", cell.get("r", ""))
        value = cell.find(f"{_SHEET}v")
        if cell.get("t") == "inlineStr":
            cells[column] = _join_text(cell)
        elif value is not None and value.text is not None:
            cells[column] = shared[int(value.text)] if cell.get("t") == "s" else value.text
    return cells


def _join_text(element: ElementTree.Element) -> str:
    """The text of a cell. Signs that XML does not carry, such as a carriage return, are written `_x000D_`."""
    text = "".join(part.text or "" for part in element.iter(f"{_SHEET}t"))
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
