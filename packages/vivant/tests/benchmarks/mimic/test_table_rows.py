"""CSV tables as other programs write them: encodings, separators, quotation marks, and rows that are broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from vivant.benchmarks.mimic.mapping import ColumnUse, iter_fields, read_mapping
from vivant.benchmarks.mimic.table_rows import iter_table_rows
from vivant.core.errors import DataError, UsageError

TABLE = 'id;title\r\n1;"Käse; zwei ""Sorten""\r\nund Brot"\r\n2;Öl\r\n'
ROWS = [{"id": "1", "title": 'Käse; zwei "Sorten"\r\nund Brot'}, {"id": "2", "title": "Öl"}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("first", ["", "sep=;\r\n"])
def test_what_excel_writes_is_read_as_it_stands(tmp_path: Path, encoding: str, first: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes((first + TABLE).encode(encoding))
    assert list(iter_table_rows(path)) == [(1, ROWS[0]), (2, ROWS[1])]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_the_headers(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(separator.join(['"a, b; c"', "d", "e"]) + "\n" + separator.join("123") + "\n")
    assert list(iter_table_rows(path)) == [(1, {"a, b; c": "1", "d": "2", "e": "3"})]


def test_a_broken_row_costs_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [
        b"1,fine",
        b'2,"never closed',
        b'3,"fine, too"',
        b"4,a,b",
        b"5,caf\xe9 broken",
        "6,naïve é ü".encode(),
    ]
    path.write_bytes(b"\n".join([b"id,title", *rows, "7,ø å ä ö ü ß é è ê".encode()]) + b"\n")
    read = list(iter_table_rows(path))
    assert [(n, row["title"]) for n, row in read if not isinstance(row, DataError)] == [
        (1, "fine"), (3, "fine, too"), (6, "naïve é ü"), (7, "ø å ä ö ü ß é è ê"),
    ]  # fmt: skip
    wrong = {number: str(row) for number, row in read if isinstance(row, DataError)}
    assert "a quotation mark is out of place" in wrong[2] and "never closed" in wrong[2]
    assert "3 values for 2 columns" in wrong[4] and "row 4" in wrong[4]
    assert "no utf-8" in wrong[5]


def test_a_mark_that_nothing_closes_does_not_swallow_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('id,title\n1,"open\n' + "".join(f"{n},row {n}\n" for n in range(2, 500)))
    read = list(iter_table_rows(path))
    assert isinstance(read[0][1], DataError)
    assert len(read) == 499 and not any(isinstance(row, DataError) for _, row in read[1:])


def test_a_mapping_states_what_cannot_be_found(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("id~title\n1~Привет, мир\n".encode("cp1251"))
    block = "file: t.csv, encoding: cp1251, separator: '~', columns: {platform: {value: vimeo}, id: id, title: title}"
    (tmp_path / "map.yaml").write_text(f"videos: {{{block}}}\n")
    ((_, fields),) = iter_fields(read_mapping(tmp_path / "map.yaml").videos, tmp_path, ColumnUse())
    assert fields == {"platform": "vimeo", "id": "1", "title": "Привет, мир"}
    (tmp_path / "map.yaml").write_text(f"videos: {{{block.replace('cp1251', 'klingon')}}}\n")
    with pytest.raises(UsageError, match=r"map.yaml, videos: no encoding is called 'klingon'"):
        read_mapping(tmp_path / "map.yaml")
