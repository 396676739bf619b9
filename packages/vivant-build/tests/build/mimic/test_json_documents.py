"""JSON however its documents are laid out in a file: a list, lines, several one after another, with a mark or none."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.build.mimic.test_sources import video
from tests.support.crawl_kit import ALONE, ID, quarantine, rows, take, web_comment, web_item
from tests.support.quick_params import mark_most_full
from vivant_build.mimic.ingestion import ingest, json_pieces, json_scan, raw_json, tables, youtube
from vivant_build.mimic.ingestion.writer import RecordWriter
from vivant_build.mimic.ingestion.youtube import ingest_api_responses
from vivant_build.mimic.ingestion.ytdlp import SourceDefaults
from vivant_build.privacy import Anonymizer

_ITEMS = [web_item(id=str(int(ID) + number)) for number in range(9)]
_LINES = [json.dumps(item) for item in _ITEMS]
_PRETTY = [json.dumps(item, indent=2) for item in _ITEMS]
_LAYOUTS: dict[str, tuple[str, Callable[[slice], str]]] = {
    "lines after a blank one": ("json", lambda part: "\n" + "\n\n".join(_LINES[part]) + "\n"),
    "lines that hold lists": ("json", lambda part: "\n".join(f"[{line}]" for line in _LINES[part])),
    "as jq prints them": ("json", lambda part: "\n".join(_PRETTY[part])),
    "as jq prints them, named lines": ("jsonl", lambda part: "\n".join(_PRETTY[part])),
    "one after another": ("json", lambda part: "".join(_LINES[part])),
    "a list over several lines, named lines": ("jsonl", lambda part: json.dumps(_ITEMS[part], indent=1)),
    "a list with a record a line, named lines": ("jsonl", lambda part: "[" + ",\n".join(_LINES[part]) + "]"),
    "lines with commas": ("jsonlines", lambda part: ",\n".join(_LINES[part])),
}


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_every_layout_gives_all_records(layout: str, tmp_path: Path) -> None:
    end, write = _LAYOUTS[layout]
    (tmp_path / "crawl").mkdir()
    for number, encoding in enumerate(("utf-8", "utf-8-sig", "utf-16")):
        text = write(slice(3 * number, 3 * number + 3)).replace("\n", "\r\n")
        (tmp_path / "crawl" / f"{encoding}.{end}").write_bytes(text.encode(encoding))
    ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    assert [row["id"] for row in rows(tmp_path, "videos")] == [item["id"] for item in _ITEMS]
    assert quarantine(tmp_path) == []


def test_a_broken_document_among_others_is_named_by_its_line(tmp_path: Path) -> None:
    broken = _PRETTY[1][:60]
    take(tmp_path, dump__json=f"{_PRETTY[0]}\n{broken}\n{_PRETTY[2]}\n")
    assert [row["id"] for row in rows(tmp_path, "videos")] == [_ITEMS[0]["id"], _ITEMS[2]["id"]]
    line = _PRETTY[0].count("\n") + 2
    assert [(source, item) for source, item, _ in quarantine(tmp_path)] == [("dump.json", f"line {line}")]


def test_lines_whose_first_is_broken_are_read_all_the_same(tmp_path: Path) -> None:
    mark = codecs.BOM_UTF8.decode()
    take(tmp_path, dump__jsonl=f"{mark}{_LINES[0][:50]}\n{_LINES[1]}\n{_LINES[2]}")
    assert [row["id"] for row in rows(tmp_path, "videos")] == [item["id"] for item in _ITEMS[1:3]]
    assert [(source, item) for source, item, _ in quarantine(tmp_path)] == [("dump.jsonl", "line 1")]


def test_the_last_of_many_pages_may_be_empty(tmp_path: Path) -> None:
    pages: list[Any] = [{"comments": [web_comment("c1", "first of all")], "has_more": 1, "cursor": 20}]
    pages += [{"comments": None, "has_more": 0, "cursor": 20}, {"comments": [], "has_more": 0}]
    take(tmp_path, video__json=web_item(), comments__json=pages)
    assert [row["id"] for row in rows(tmp_path, "comments")] == ["c1"]
    assert quarantine(tmp_path) == []


def test_an_id_that_looks_like_a_path_costs_nothing_else(tmp_path: Path) -> None:
    """Nor does it lead to files elsewhere."""
    (tmp_path / "secret.mp4").write_bytes(b"0")
    names = ["clips/1", "../secret", "two words"]
    videos = [web_item(id=name) for name in names] + [_ITEMS[0]]
    comments = [web_comment(f"c{n}", "a remark", aweme_id=name) for n, name in enumerate(names)]
    take(tmp_path, dump__json=[*videos, *comments])
    assert [(row["id"], row["file"]) for row in rows(tmp_path, "videos")] == [
        (name, "") for name in sorted(["clips_1", ".._secret", "two_words", _ITEMS[0]["id"]])
    ]
    assert sorted(row["ref"] for row in rows(tmp_path, "comments")) == [
        f"tiktok/{name}" for name in (".._secret", "clips_1", "two_words")
    ]
    assert quarantine(tmp_path) == []


_COMMENTS = [web_comment(f"c{number}", f'remark [{number}] }}{{ "日本') for number in range(7)]
_UNDER_IDS = {item["id"]: item for item in _ITEMS}
_DOCUMENTS: dict[str, Any] = {
    "a list": [*_ITEMS, *_COMMENTS, {"odd": 1}, "a text", None],
    "under ids": {**_UNDER_IDS, "odd": {"one": 1}},
    "modules": {
        "ItemModule": _UNDER_IDS,
        "UserModule": {"users": {"x": {"id": 1}}},
        "CommentItem": _COMMENTS,
    },
    "an answer": {"data": {"videos": _ITEMS, "cursor": 20, "all": [*_COMMENTS, {"odd": 1}]}, "ids": [1, 2]},
    "several lists": {"first": _ITEMS[0], "a": _ITEMS[1:4], "b": _COMMENTS, "c": {"d": _ITEMS[4:]}},
    "pages": [{"comments": _COMMENTS, "has_more": 1}, {"comments": None, "has_more": 0}, _ITEMS],
    "in a record": _ITEMS[0] | {"comments": _COMMENTS},
    "of the API": {"items": [video(f"v{n}") for n in range(5)] + [{"odd": 1}]},
}


def _read(content: str, folder: Path) -> list[Any]:
    """What is taken in of a file, and what is set aside."""
    folder.mkdir(exist_ok=True)
    (folder / "dump.json").write_text(content, encoding="utf-8")
    writer = RecordWriter(folder, "part", Anonymizer(b"0" * 32), 1000)
    ingest_api_responses(folder / "dump.json", folder, writer, SourceDefaults())
    report = writer.close()
    tables = [path.read_bytes() for path in sorted(folder.glob("*/*.parquet"))]
    for path in folder.glob("*/*.parquet"):
        path.unlink()
    return [tables, report]


@pytest.mark.parametrize("layout", mark_most_full([*_DOCUMENTS, "as jq prints them"], 3))
def test_a_large_document_gives_what_a_small_one_does(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole, broken off at any place, and with something broken in it."""
    text = "\n".join(_PRETTY) if layout not in _DOCUMENTS else json.dumps(_DOCUMENTS[layout])
    middle = text.index("{", len(text) // 2) + 1
    texts = [text, text[:-1], text[:-30], text[:middle], f"{text[:middle]}, {text[middle:]}", f"{text}, 5"]
    small = [_read(each, tmp_path) for each in texts]
    assert small[0][1].videos + small[0][1].comments >= 5
    monkeypatch.setattr(youtube, "LARGE", 10)
    for piece in (30, 900):
        monkeypatch.setattr(json_pieces, "PIECE", piece)
        monkeypatch.setattr(json_scan, "_BLOCK", piece // 3)
        assert [_read(each, tmp_path) for each in texts] == small


@pytest.mark.parametrize("large", [10, 10**9])
def test_a_broken_element_of_a_list_costs_itself(
    large: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(youtube, "LARGE", large)
    broken = ['{"id" "7", desc: [1]}', '{"id": "8", "desc": "two\nlines", "stats": {"playCount": 1}}']
    lines = [*_LINES[:6], *broken, *_LINES[6:]]
    take(tmp_path, dump__json='{"cursor": , "videos": [' + ",\n".join(lines) + "]}")
    assert [row["id"] for row in rows(tmp_path, "videos")] == [item["id"] for item in _ITEMS]
    assert [(source, item) for source, item, _ in quarantine(tmp_path)] == [
        ("dump.json", ""),
        ("dump.json", "videos[7]"),
        ("dump.json", "videos[8]"),
    ]


def test_a_large_document_is_never_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only pieces are parsed, none of them much larger than is allowed."""
    sizes: list[int] = []
    parse = raw_json.parse_json_leniently

    def note(content: bytes) -> Any:
        sizes.append(len(content))
        return parse(content)

    monkeypatch.setattr(json_pieces, "parse_json_leniently", note)
    monkeypatch.setattr(youtube, "parse_json_leniently", note)
    monkeypatch.setattr(youtube, "LARGE", 10)
    monkeypatch.setattr(json_pieces, "PIECE", 2000)
    for layout, document in _DOCUMENTS.items():
        if layout != "in a record":
            _read(json.dumps(document), tmp_path)
    assert max(sizes) < 2000 and len(sizes) > 50


def test_a_large_mapped_file_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LARGE", 10)
    monkeypatch.setattr(json_pieces, "PIECE", 40)
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "map.yaml").write_text(
        "videos:\n  file: clips.json\n  rows: data.clips\n"
        "  columns: {platform: {value: vimeo}, id: v, title: name}\n"
    )
    clips = [{"v": number, "name": f"No. {number}"} for number in range(9)]
    take(tmp_path, clips__json={"data": {"more": [1], "clips": [*clips, 5]}})
    assert [row["title"] for row in rows(tmp_path, "videos")] == [clip["name"] for clip in clips]
    assert [Path(source).name for source, _, _ in quarantine(tmp_path)] == ["clips.json, row 10"]


@pytest.mark.parametrize("large", [10, 10**9])
def test_a_file_may_break_off_inside_a_character(
    large: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(youtube, "LARGE", large)
    text = json.dumps([web_item(id=str(n), desc="今日は雨だった") for n in range(1, 4)], ensure_ascii=False)
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "dump.json").write_bytes(text.encode()[: text.encode().rindex("雨".encode()) + 2])
    take(tmp_path)
    assert [row["title"] for row in rows(tmp_path, "videos")] == ["今日は雨だった"] * 2
    assert [(source, item) for source, item, _ in quarantine(tmp_path)] == [("dump.json", "item 3")]
