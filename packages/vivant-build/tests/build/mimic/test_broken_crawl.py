"""What is broken in a crawl is named with its file and place, counted and set aside; the rest is taken in."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.build.mimic.test_sources import thread, video
from tests.support.crawl_kit import (
    ALONE,
    ID,
    quarantine,
    rows,
    scraped,
    take,
    web_comment,
    web_item,
)
from vivant.cli.main import app
from vivant_build.mimic.ingestion import ingest, json_scan, raw_json
from vivant_build.mimic.ingestion.ytdlp import LARGE, ingest_info
from vivant_build.mimic.steps import StepError


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
    assert f"kept: {kept} records before" in quarantine(tmp_path)[0][2]
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
        assert reason.endswith(f"bytes; kept: {number} records before")


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


def _info(number: int, comments: int) -> str:
    said = [
        {"id": f"c{number}.{each}", "text": f"remark {each} {{[", "like_count": each, "parent": "root"}
        for each in range(comments)
    ]
    video = {"id": f"v{number}", "title": f"No. {number}", "extractor_key": "Youtube", "channel_id": "UC1"}
    return json.dumps(video | {"comments": said})


@pytest.mark.parametrize("large", [LARGE, 100])
def test_a_video_that_breaks_off_inside_its_comments_stays_with_the_whole_ones(
    large: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_info, "__kwdefaults__", {"large": large})
    text = _info(1, 40)
    cut = text[: text.index('"c1.13"') + 20]
    step = take(tmp_path, whole__info__json=_info(2, 3), cut__info__json=cut)
    assert [row["id"] for row in rows(tmp_path, "videos")] == ["v1", "v2"]
    kept = sorted(row["likes"] for row in rows(tmp_path, "comments") if row["ref"] == "youtube/v1")
    assert kept == list(range(13))
    assert quarantine(tmp_path) == [
        (
            "cut.info.json",
            "comment 14",
            f"cut off after {len(cut):,} bytes, inside the comments of youtube/v1; the video and 13 comments are kept",
        )
    ]
    videos, comments = step.record.counts
    assert (videos.into, videos.out, videos.why) == (2, 2, {})
    assert (comments.into, comments.out, comments.why) == (17, 16, {"cut off": 1})


def test_dumps_that_break_off_inside_comments_keep_their_last_video(tmp_path: Path) -> None:
    listed = f"[{_info(1, 4)}, {_info(2, 5)}"
    comments = [web_comment(f"c{each}", f"remark {each}") for each in range(3)]
    nested = json.dumps({"itemList": [web_item(), web_item(id=str(int(ID) + 1), comments=comments)]})
    page = json.dumps(
        {"comments": [web_comment("p1", "one"), web_comment("p2", "two", reply_comment=comments)]}
    )
    take(
        tmp_path,
        listed__json=listed[: listed.index('"c2.3"') + 9],
        lines__jsonl=f"{_info(3, 2)}\n{_info(4, 9)}"[:-40],
        nested__json=nested[: nested.index('"remark 2"')],
        page__json=page[: page.index('"remark 1"')],
    )
    assert len(rows(tmp_path, "videos")) == 6
    by_video: dict[str, int] = {}
    for row in rows(tmp_path, "comments"):
        by_video[row["ref"]] = by_video.get(row["ref"], 0) + 1
    assert by_video == {
        "youtube/v1": 4,
        "youtube/v2": 3,
        "youtube/v3": 2,
        "youtube/v4": 8,
        f"tiktok/{int(ID) + 1}": 2,
        f"tiktok/{ID}": 3,  # of the page: p1, and p2 with the answer that is whole
    }
    places = [(source, item) for source, item, _ in quarantine(tmp_path)]
    assert places == [
        ("lines.jsonl, line 2", "comment 9"),
        ("listed.json", "comment 4"),
        ("nested.json", "comment 3"),
        ("page.json", "comment 2"),
    ]


def test_a_video_whose_name_comes_after_the_break_is_set_aside_with_both_reasons(tmp_path: Path) -> None:
    text = json.dumps({"comments": [{"id": f"c{each}", "text": "so it is"} for each in range(9)], "id": "v1"})
    take(tmp_path, good__info__json=_info(2, 1), cut__info__json=text[:-60])
    assert quarantine(tmp_path) == [
        (
            "cut.info.json",
            "",
            f"cut off after {len(text) - 60} bytes (no platform; name it with `platform` in the "
            "settings; lost with it: 7 comments)",
        )
    ]


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
        ("threads.json, item 2", "1 comment"),
        ("threads.json", "item 3"),
    }


def test_comments_with_broken_values_stay_beside_those_that_are_set_aside(tmp_path: Path) -> None:
    comments = [web_comment("1", "one"), web_comment("2", "two", digg_count="lots"), web_comment("3", "")]
    take(tmp_path, item__json=web_item(), comments__json={"comments": comments, "has_more": 0})
    assert [row["text"] for row in rows(tmp_path, "comments")] == ["one", "two"]
    assert any("'lots' is no count" in reason for _, _, reason in quarantine(tmp_path))


def test_comments_without_ids_all_stay(tmp_path: Path) -> None:
    comments = [web_comment("", text) | {"cid": None} for text in ("one", "two", "three")]
    same = [{"text": "nice"}, {"text": "nice"}, {"text": "well"}]
    video = {"id": "v1", "title": "No. 1", "extractor_key": "Youtube", "comments": same}
    take(tmp_path, item__json=web_item(), comments__json={"comments": comments}, a__info__json=video)
    assert sorted(row["text"] for row in rows(tmp_path, "comments")) == [
        "nice",
        "nice",
        "one",
        "three",
        "two",
        "well",
    ]
    assert not quarantine(tmp_path)


def test_a_broken_character_does_not_cost_the_file_and_a_chat_is_named(tmp_path: Path) -> None:
    text = json.dumps([web_item(desc="Crème brûlée, señor, 今日は雨だった")], ensure_ascii=False)
    _crawl(
        tmp_path,
        item__json=text.encode().replace("ñ".encode(), b"\xc3"),
        ID__live_chat__json=b'{"replayChatItemAction": {}}\n' * 3,
        empty__json=b"[]",
        zeros__info__json=_info(1, 2).encode() + b"\0" * 300,
    )
    step = take(tmp_path)
    titles = [row["title"] for row in rows(tmp_path, "videos")]
    assert titles == ["Crème brûlée, se\ufffdor, 今日は雨だった", "No. 1"]
    assert [source for source, _, _ in quarantine(tmp_path)] == ["ID.live_chat.json"]
    assert (step.record.counts[0].into, step.record.counts[0].why) == (2, {})
    assert step.record.counts[1].out == 2


def test_a_mapped_file_is_read_as_far_as_it_goes_and_a_missing_one_refused(tmp_path: Path) -> None:
    mapping = (
        "videos:\n  file: clips.json\n  rows: data.clips\n"
        "  columns: {platform: {value: vimeo}, id: v, title: name}\n"
        "comments:\n  file: said.parquet\n  columns: {video: v, text: body}\n"
    )
    clips = json.dumps(
        {"data": {"clips": [{"v": 1, "name": "One"}, 5, {"name": "two"}, {"v": 3, "name": "Three"}]}}
    )
    _crawl(tmp_path, map__yaml=mapping.encode(), clips__json=clips[:-20].encode())
    with pytest.raises(StepError, match=r"map\.yaml names said\.parquet, which is not beside it"):
        take(tmp_path)
    (tmp_path / "crawl" / "said.parquet").write_bytes(b"PAR1 and then nothing")
    step = take(tmp_path, item__json=web_item())
    assert {row["ref"] for row in rows(tmp_path, "videos")} == {"vimeo/1", f"tiktok/{ID}"}
    reasons = {Path(source).name: reason for source, _, reason in quarantine(tmp_path)}
    assert "kept: 1 row before" in reasons["clips.json"]
    assert "not an object with fields" in reasons["clips.json, row 2"]
    assert reasons["clips.json, row 3"] == "no id"
    assert "cannot be read further" in reasons["said.parquet"]
    assert sum(step.record.counts[0].why.values()) == 3


def test_links_that_go_in_a_circle_and_folders_without_rights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "more.JSON").write_text(json.dumps(web_item(id=str(int(ID) + 1))))
    crawl = tmp_path / "crawl"
    (crawl / "closed").mkdir(parents=True)
    (crawl / "around").symlink_to(crawl)
    (crawl / "linked").symlink_to(tmp_path / "elsewhere")
    (crawl / "again").symlink_to(tmp_path / "elsewhere")
    (crawl / "gone.json").symlink_to(tmp_path / "nowhere.json")
    (crawl / "itself.json").symlink_to(crawl / "itself.json")
    scandir = os.scandir

    def refuse(path: Any) -> Any:  # rights do not hold the user that tests may run as
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    step = take(tmp_path, one__json=web_item())
    assert [row["id"] for row in rows(tmp_path, "videos")] == [ID, str(int(ID) + 1)]
    assert quarantine(tmp_path) == [
        ("closed", "", "not read: the folder cannot be opened; look at its rights"),
        ("gone.json", "", "cannot be read: No such file or directory"),
        ("itself.json", "", "cannot be read: Too many levels of symbolic links"),
    ]
    assert any(note.startswith("Not read: closed.") for note in step.record.notes)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "item.json").write_text(json.dumps(web_item()))
    with pytest.raises(StepError, match=r"^ingest: cannot work in .*file"):
        ingest(tmp_path / "file", [tmp_path / "crawl"], ALONE)
    result = CliRunner().invoke(
        app, ["build", "mimic", "world", "--out", str(tmp_path / "file"), "--videos", "5"]
    )
    assert result.exit_code == 1 and str(result.exception).startswith("world: cannot work in")


def test_a_work_folder_inside_the_source_does_not_make_it_new(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(web_item()))
    assert not ingest(tmp_path / "work", [tmp_path], ALONE).kept
    assert ingest(tmp_path / "work", [tmp_path], ALONE).kept


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_comments_are_found_wherever_blocks_of_a_file_end(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brackets and quotes inside texts are no structure, nor is a list of that name further in."""
    comments = [{"id": str(n), "text": text} for n, text in enumerate(['a "]}" b', "\\\\", "[{", '\\"'])]
    info = {
        "tags": ["comments", "x"],
        "more": {"comments": [{"id": "inner"}]},
        "comments": comments,
        "title": "t",
    }
    path = tmp_path / "video.info.json"
    path.write_text(json.dumps(info))
    monkeypatch.setattr(json_scan, "_BLOCK", block)
    rest, spans, cut = raw_json.split_off_comments(str(path))
    assert json.loads(rest) == info | {"comments": []}
    assert [json.loads(piece) for piece in raw_json.read_spans(str(path), spans)] == [comments]
    assert not cut


def test_a_torn_file_of_comments_counts_under_comments(tmp_path: Path) -> None:
    whole = json.dumps({"comments": [web_comment(f"c{number}", f"text {number}") for number in range(5)]})
    step = take(tmp_path, items__json=[web_item()], comments__json=whole[:-30])
    videos, comments = step.record.counts
    assert (videos.into, videos.out, videos.why) == (1, 1, {})
    assert (comments.into, comments.out, comments.why) == (5, 4, {"cut off": 1})
    ((source, item, reason),) = quarantine(tmp_path)
    assert (source, item) == ("comments.json", "1 comment")
    assert reason.endswith("; kept: 4 records before")


def test_comments_that_two_files_hold_are_named_by_their_video(tmp_path: Path) -> None:
    said = {"comments": [web_comment(f"c{number}", f"text {number}") for number in range(3)]}
    take(tmp_path, items__json=[web_item()], first__json=said, second__json=said)
    assert quarantine(tmp_path) == [(f"tiktok/{ID}", "3 comments", "the same comment twice")]
