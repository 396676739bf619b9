"""What is broken in a crawl is named with its file and place, counted and set aside; the rest is taken in."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.build.mimic.test_crawl_forms import ID, quarantine, rows, scraped, take, web_comment, web_item
from tests.build.mimic.test_sources import thread, video


def _crawl(folder: Path, **files: bytes) -> None:
    (folder / "crawl").mkdir()
    for name, content in files.items():
        (folder / "crawl" / name.replace("__", ".")).write_bytes(content)


def _table(*records: dict[str, Any]) -> str:
    flat = []
    for record in records:
        flat.append({name: each for name, each in record.items() if not isinstance(each, dict | list)})
        flat[-1] |= {"authorMeta.name": "pan_fan", "videoMeta.duration": 14}
    text = io.StringIO()
    writer = csv.DictWriter(text, list(flat[0]))
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


@pytest.mark.parametrize("missing", [1, 40, 300])
def test_a_list_that_breaks_off_gives_the_records_before(missing: int, tmp_path: Path) -> None:
    whole = json.dumps([web_item(id=str(int(ID) + n)) for n in range(4)])
    # Without its last bracket alone, all four are whole.
    kept = 4 if missing == 1 else 3
    step = take(tmp_path, hashtag__json=whole[:-missing])
    assert [row["id"] for row in rows(tmp_path, "videos")] == [str(int(ID) + n) for n in range(kept)]
    assert quarantine(tmp_path)[0][:2] == ("hashtag.json", f"item {kept + 1}")
    assert f"the {kept} before are kept" in quarantine(tmp_path)[0][2]
    assert sum(step.record.counts[0].why.values()) == 1


def test_an_answer_that_breaks_off_gives_the_records_before(tmp_path: Path) -> None:
    def items(start: int) -> list[dict[str, Any]]:
        return [web_item(id=str(int(ID) + start + n)) for n in range(4)]

    written = {
        "answer": {"code": 0, "data": {"videos": items(0)}},
        "pages": [{"data": {"videos": items(10)}}, {"data": {"videos": items(20)}}],
        "under_ids": {item["id"]: item for item in items(30)},
    }
    take(tmp_path, **{f"{name}__json": json.dumps(page)[:-300] for name, page in written.items()})
    kept = [0, 1, 2, 10, 11, 12, 13, 20, 21, 22, 30, 31, 32]
    assert [row["id"] for row in rows(tmp_path, "videos")] == [str(int(ID) + n) for n in kept]
    for (source, item, reason), (name, number) in zip(
        sorted(quarantine(tmp_path)), (("answer", 3), ("pages", 7), ("under_ids", 3)), strict=True
    ):
        assert (source, item) == (f"{name}.json", f"item {number + 1}")
        assert reason.endswith(f"bytes; the {number} before are kept")


def test_comments_of_an_answer_that_breaks_off_are_kept(tmp_path: Path) -> None:
    web = json.dumps({"comments": [web_comment(f"c{n}", f"number {n}") for n in range(5)], "has_more": 1})
    threads = [thread("T1", "v1", "first", "an answer"), thread("T2", "v1", "second", "another", "and one")]
    api = json.dumps({"kind": "youtube#commentThreadListResponse", "items": threads})
    videos = {"item__json": web_item(), "video__json": {"items": [video("v1")]}}
    take(tmp_path, web__json=web[: web.index('"c3"') + 30], api__json=api[:-60], **videos)
    assert [row["id"] for row in rows(tmp_path, "comments")] == ["T1", "T1.0", "c0", "c1", "c2"]
    assert {source for source, _, _ in quarantine(tmp_path)} == {"web.json", "api.json"}


def test_of_a_video_that_is_cut_off_nothing_is_taken(tmp_path: Path) -> None:
    item = json.dumps(web_item() | {"challenges": [{"id": "1", "title": "a"}, {"id": "2", "title": "b"}]})
    take(
        tmp_path,
        good__json=[web_item(id=str(int(ID) + 1))],
        cut__json=item[:-12],
        half__json=f"[{item[:-12]}",
    )
    assert len(rows(tmp_path, "videos")) == 1
    assert sorted(source for source, _, _ in quarantine(tmp_path)) == ["cut.json", "half.json"]
    assert all("cut off after" in reason for _, _, reason in quarantine(tmp_path))


def test_lines_in_utf_16_as_powershell_writes_them(tmp_path: Path) -> None:
    lines = "\r\n".join([json.dumps(web_item()), '{"id": "1', json.dumps(web_item(id=str(int(ID) + 1)))])
    _crawl(tmp_path, dump__jsonl=lines.encode("utf-16"))
    take(tmp_path)
    assert len(rows(tmp_path, "videos")) == 2
    assert quarantine(tmp_path)[0][:2] == ("dump.jsonl", "line 2")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_tables_in_the_encodings_of_spreadsheets(encoding: str, tmp_path: Path) -> None:
    _crawl(tmp_path, user__csv=_table(scraped(text="Crème brûlée, señor")).encode(encoding))
    take(tmp_path)
    assert [row["description"] for row in rows(tmp_path, "videos")] == ["Crème brûlée, señor"]
    assert not quarantine(tmp_path)


def test_a_table_whose_encoding_cannot_be_told_is_named(tmp_path: Path) -> None:
    _crawl(tmp_path, user__csv=_table(scraped(text="こんにちは世界")).encode("shift-jis"))
    take(tmp_path, good__json=[web_item()])
    assert len(rows(tmp_path, "videos")) == 1
    source, _, reason = quarantine(tmp_path)[0]
    assert source == "user.csv" and "its encoding cannot be told; convert it to UTF-8" in reason


def test_empty_files_are_named_and_empty_pages_are_nothing(tmp_path: Path) -> None:
    step = take(
        tmp_path,
        good__json=[web_item()],
        page__json={"comments": None, "cursor": 40, "has_more": 0, "total": 0},
        research__json={"data": {"videos": [], "cursor": 100, "has_more": False}, "error": {"code": "ok"}},
        rows__csv="",
        lines__jsonl="",
        other__json="",
    )
    assert sorted(quarantine(tmp_path)) == [
        ("lines.jsonl", "", "the file is empty"),
        ("other.json", "", "the file is empty"),
        ("rows.csv", "", "not read: it has no rows"),
    ]
    assert step.record.counts[0].why == {"the file is empty": 2}


def test_a_thread_without_its_comment_is_no_video(tmp_path: Path) -> None:
    threads = {
        "kind": "youtube#commentThreadListResponse",
        "items": [thread("t1", "abcdefghijk", "nice"), {"id": "t2", "snippet": {}}, "t3"],
    }
    take(tmp_path, videos__json={"items": [video("abcdefghijk")]}, threads__json=threads)
    assert [row["id"] for row in rows(tmp_path, "videos")] == ["abcdefghijk"]
    assert [row["text"] for row in rows(tmp_path, "comments")] == ["nice"]
    assert {place[:2] for place in quarantine(tmp_path)} == {
        ("threads.json, item 2", "1 comments"),
        ("threads.json", "item 3"),
    }


def test_comments_with_broken_values_stay_beside_those_that_are_set_aside(tmp_path: Path) -> None:
    comments = [web_comment("1", "one"), web_comment("2", "two", digg_count="lots"), web_comment("3", "")]
    take(tmp_path, item__json=web_item(), comments__json={"comments": comments, "has_more": 0})
    assert [row["text"] for row in rows(tmp_path, "comments")] == ["one", "two"]
    assert any("'lots' is no count" in reason for _, _, reason in quarantine(tmp_path))
