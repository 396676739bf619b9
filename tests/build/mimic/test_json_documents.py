"""JSON however its documents are laid out in a file: a list, lines, several one after another, with a mark or none."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawl_kit import ALONE, ID, quarantine, rows, take, web_comment, web_item
from vivant.build.mimic.ingestion import ingest, youtube

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


@pytest.mark.parametrize("layout", ["list", "answer", "around", "cut", "in a record"])
def test_a_large_document_gives_what_a_small_one_does(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read piece by piece where all of its records are in one list."""
    comments = [web_comment(f"c{number}", f"remark [{number}] }}{{") for number in range(7)]
    document: Any = {
        "list": [*_ITEMS, *comments, {"odd": 1}],
        "answer": {"data": {"videos": _ITEMS, "all": [*comments, {"odd": 1}, "a text"]}, "ids": [1, 2]},
        "around": {"first": _ITEMS[0], "other": [*_ITEMS[1:], *comments]},
        "cut": [*_ITEMS, *comments],
        "in a record": _ITEMS[0]
        | {"comments": [{"cid": c["cid"], "text": c["text"], "reply_id": 0} for c in comments]},
    }[layout]
    text = json.dumps(document)[: -30 if layout == "cut" else None]
    found: list[list[Any]] = []
    for large in (10**9, 10):
        monkeypatch.setattr(youtube, "LARGE", large)
        monkeypatch.setattr(youtube, "_AT_ONCE", 4)
        (tmp_path / f"{large}").mkdir()
        take(tmp_path / f"{large}", dump__json=text)
        found.append([rows(tmp_path / f"{large}", kind) for kind in ("videos", "comments")])
        found[-1].append(quarantine(tmp_path / f"{large}"))
    whole, pieces = found
    for table in (*whole[:2], *pieces[:2]):
        for row in table:
            row.pop("uploader", None)  # each work folder has its own salt
    assert whole == pieces and len(whole[1]) >= 6


def test_a_broken_element_of_a_large_list_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(youtube, "LARGE", 10)
    monkeypatch.setattr(youtube, "_AT_ONCE", 4)
    lines = [*_LINES[:6], '{"id" "7", desc: [1]}', *_LINES[6:]]
    take(tmp_path, dump__json='{"videos": [' + ",\n".join(lines) + "]}")
    assert [row["id"] for row in rows(tmp_path, "videos")] == [item["id"] for item in _ITEMS]
    assert [(source, item) for source, item, _ in quarantine(tmp_path)] == [("dump.json", "videos[7]")]
