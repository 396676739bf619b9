"""Rows of CSV tables as other programs write them, Excel among them.

Encoding and separator are found where nobody states them. A row that is broken (a quotation mark that nothing closes,
more values than columns, bytes that are no text) is a `DataError` in its place, and the next row is read all the same.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from vivant.core.encodings import UnknownEncodingError, find_encoding
from vivant.core.errors import DataError

Row = Mapping[str, Any]
_SEPARATORS = ",;\t|"
_LONGEST_CELL = 1 << 24


class _Lines:
    """Lines one after another; those of the row that is being read can be given back."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._back: deque[str] = deque()
        self.taken: list[str] = []

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._back.popleft() if self._back else next(self._lines)
        self.taken.append(line)
        return line

    def give_back(self) -> None:
        """All lines of the present row but its first."""
        self._back.extendleft(reversed(self.taken[1:]))
        self.taken.clear()


def iter_table_rows(
    file: Path, encoding: str | None = None, separator: str | None = None
) -> Iterator[tuple[int, Row | DataError]]:
    """Each row with its number, the first after the header being 1.

    Args:
        file: A CSV or TSV file.
        encoding: As Python names it; None finds it.
        separator: Between values; None takes the one that the header has most of.
    """
    try:
        name = encoding or find_encoding(file)
        with file.open(
            encoding="utf-8-sig" if name == "utf-8" else name, errors="surrogateescape", newline=""
        ) as text:
            yield from _iter_rows(file, _Lines(text), name, separator)
    except OSError as error:
        raise DataError(f"Cannot read {file}: {error.strerror or error}") from error
    except UnknownEncodingError as error:
        raise DataError(f"{file}: {error}, or state `encoding` in its mapping") from error
    except UnicodeError as error:
        raise DataError(f"{file} is not {name} ({error}); state its `encoding` in the mapping") from error


def _iter_rows(
    file: Path, lines: _Lines, encoding: str, separator: str | None
) -> Iterator[tuple[int, Row | DataError]]:
    first = next(lines, "")
    if first[:4].lower() == "sep=" and len(first.strip()) == 5:  # Excel's own line
        separator = separator or first[4]
        lines.taken.clear()
        first = next(lines, "")
    separator = separator or _find_separator(first, "\t" if file.suffix.lower() == ".tsv" else ",")
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    # The header may go over several lines as any row may.
    lines.give_back()
    reader = csv.reader(_chain(first, lines), delimiter=separator, strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise DataError(f"{file}: its first line does not name columns: {error}") from error
    repeated = next((name for name in header if name and header.count(name) > 1), None)
    if repeated is not None:
        raise DataError(f"{file} has two columns called '{repeated}'")
    number = 0
    lines.taken.clear()
    while True:
        lines.taken.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            number += 1
            over = f"; it begins with {lines.taken[0].strip()[:40]!r}" if lines.taken else ""
            lines.give_back()
            reader = csv.reader(lines, delimiter=separator, strict=True)
            yield number, DataError(f"{file}, row {number}: a quotation mark is out of place ({error}){over}")
            continue
        if not cells:
            continue
        number += 1
        yield number, _make_row(file, number, header, cells, encoding)


def _make_row(file: Path, number: int, header: list[str], cells: list[str], encoding: str) -> Row | DataError:
    if len(cells) > len(header) and any(cells[len(header) :]):
        return DataError(f"{file}, row {number}: {len(cells)} values for {len(header)} columns")
    if any("\udc80" <= character <= "\udcff" for cell in cells if not cell.isascii() for character in cell):
        return DataError(f"{file}, row {number}: bytes that are no {encoding}")
    return dict(zip(header, cells, strict=False))


def _chain(first: str, lines: _Lines) -> Iterator[str]:
    yield first
    yield from lines


def _find_separator(header: str, usual: str) -> str:
    """The sign that stands most often between the names, outside of quotation marks."""
    outside = "".join(header.split('"')[::2])
    best = max(_SEPARATORS, key=lambda sign: (outside.count(sign), sign == usual))
    return best if outside.count(best) else usual
