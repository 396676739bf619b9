"""Ingest: four shapes come in as one, names go out, and what is broken is set aside with a reason."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vivant.core.errors import UsageError
from vivant_build.mimic.ingestion import ingest, media_root
from vivant_build.mimic.ingestion.writer import RecordWriter
from vivant_build.mimic.ingestion.ytdlp import SourceDefaults, ingest_info
from vivant_build.mimic.settings import IngestSettings, PipelineSettings
from vivant_build.mimic.steps import StepError, begin_step
from vivant_build.mimic.world import TRUTH, WorldPlan
from vivant_build.mimic.world.crawl import write_crawl
from vivant_build.privacy import Anonymizer, read_salt

ALONE = PipelineSettings(workers=1)


def info(**changes: Any) -> dict[str, Any]:
    return {
        "id": "abc123",
        "extractor_key": "Youtube",
        "title": "A walk by the sea",
        "description": "Nothing happens.",
        "uploader": "Marta Walks",
        "channel_id": "UC1",
        "timestamp": 1_700_000_000,
        "duration": 12.5,
        "view_count": 1000,
        "like_count": 50,
        "comment_count": 2,
        "tags": ["sea"],
        "categories": ["Travel"],
        "comments": [
            {"id": "c1", "text": "lovely", "like_count": 3, "timestamp": 1_700_000_100, "parent": "root"},
            {"id": "c2", "text": "yes", "like_count": 0, "timestamp": 1_700_000_200, "parent": "c1"},
        ],
    } | changes


def put(folder: Path, name: str, value: Mapping[str, Any] | bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.info.json"
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return path


def table(work: Path, kind: str) -> pl.DataFrame:
    return pl.read_parquet(work / "ingest" / kind / "*.parquet")


def quarantine(work: Path) -> dict[str, str]:
    rows = pl.read_parquet(work / "ingest" / "quarantine.parquet")
    assert set(rows["step"].to_list()) <= {"ingest"}
    found: dict[str, str] = {}
    for source, item, reason in rows.select("source", "item", "reason").iter_rows():
        found[f"{source} {item}"] = f"{found.get(f'{source} {item}', '')} {reason}"
    return found


def test_an_info_file_comes_in_whole(tmp_path: Path) -> None:
    put(tmp_path / "crawl", "x", info(language="en-GB", license="CC", webpage_url="https://example.com/x"))
    (tmp_path / "crawl" / "x.webm").write_bytes(b"video")
    ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    row = table(tmp_path / "work", "videos").row(0, named=True)
    assert row["ref"] == "youtube/abc123"
    assert (row["title"], row["category"], row["language"]) == ("A walk by the sea", "Travel", "en")
    assert (row["views"], row["likes"], row["duration"]) == (1000, 50, 12.5)
    assert (row["licence"], row["source"], row["file"]) == ("CC", "https://example.com/x", "x.webm")
    assert str(row["uploaded"]) == "2023-11-14 22:13:20"
    assert media_root(tmp_path / "work") == (tmp_path / "crawl").resolve()
    said = table(tmp_path / "work", "comments").sort("id")
    assert said["text"].to_list() == ["lovely", "yes"]
    assert said["reply_to"].to_list() == ["", "c1"]
    assert said["likes"].to_list() == [3, 0]


BROKEN: dict[str, tuple[Any, str]] = {
    "half": (json.dumps(info(id="half")).encode()[:200], "cut off after 200 bytes"),
    "empty": (b"", "the file is empty"),
    "page": (b"<html>429</html>", "not JSON"),
    "list": (b"[1, 2]", "not an object but a list"),
    "noid": (info(id=None), "no id"),
    "playlist": (info(id="p", _type="playlist"), "a playlist, not a video"),
    "nowhere": (info(id="n", extractor_key=None), "no platform; name it with `platform` in the settings"),
    "chinese": ('{"id": "g", "title": "测试文字测试文字"}'.encode("gb18030"), "its encoding cannot be told"),
}


def test_broken_files_are_set_aside_with_reasons(tmp_path: Path) -> None:
    put(tmp_path / "crawl", "good", info())
    for name, (value, _) in BROKEN.items():
        put(tmp_path / "crawl", name, value)
    step = ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    assert table(tmp_path / "work", "videos")["id"].to_list() == ["abc123"]
    found = quarantine(tmp_path / "work")
    for name, (_, reason) in BROKEN.items():
        assert reason in found[f"{name}.info.json "], name
    count = step.record.counts[0]
    assert (count.into, count.out) == (len(BROKEN) + 1, 1)


MENDED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "texts": ({"view_count": "12,345", "like_count": "1.2K"}, {"views": 12345, "likes": 1200}, ""),
    "words": ({"view_count": "many"}, {"views": None, "likes": 50}, "views: 'many' is no count"),
    "minus": ({"view_count": -5, "like_count": -1}, {"views": None, "likes": None}, "views: -5 is negative"),
    "nulls": (
        {"title": None, "tags": None, "view_count": None},
        {"title": "", "tags": [], "views": None},
        "",
    ),
    "date": ({"timestamp": None, "upload_date": "20251399"}, {"uploaded": None}, "'20251399' is no time"),
    "number": ({"title": 1984}, {"title": "1984"}, ""),
    "objects": ({"tags": {"a": 1}}, {"tags": []}, "tags: a list of texts is wanted"),
    "huge": ({"view_count": 10**30}, {"views": None}, "too large to be a count"),
    "endless": ({"duration": "1:02:03"}, {"duration": 3723.0}, ""),
}


@pytest.mark.parametrize("name", MENDED)
def test_odd_values_are_read_or_taken_as_unknown(name: str, tmp_path: Path) -> None:
    changes, expected, reason = MENDED[name]
    put(tmp_path / "crawl", "x", info(**changes))
    ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    row = table(tmp_path / "work", "videos").row(0, named=True)
    assert {field: row[field] for field in expected} == expected
    reasons = " ".join(quarantine(tmp_path / "work").values())
    assert reason in reasons
    assert bool(reason) == bool(reasons)
    assert len(table(tmp_path / "work", "comments")) == 2


def test_other_encodings_are_read(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    put(
        crawl,
        "mark",
        b"\xef\xbb\xbf" + json.dumps(info(id="a", title="Caf\u00e9"), ensure_ascii=False).encode(),
    )
    put(crawl, "wide", json.dumps(info(id="b", title="海边"), ensure_ascii=False).encode("utf-16"))
    put(crawl, "west", json.dumps(info(id="c", title="Café Süd à gogo"), ensure_ascii=False).encode("cp1252"))
    put(crawl, "torn", json.dumps(info(id="d", title="half \ud83d pair")).encode())
    put(crawl, "null", json.dumps(info(id="e", title="a\x00b")).encode())
    ingest(tmp_path / "work", [crawl], ALONE)
    titles = dict(table(tmp_path / "work", "videos").select("id", "title").iter_rows())
    assert titles == {"a": "Café", "b": "海边", "c": "Café Süd à gogo", "d": "half \ufffd pair", "e": "ab"}


def test_odd_comments(tmp_path: Path) -> None:
    comments = [
        {"id": "1", "text": "kept", "like_count": "7"},
        {"id": "2", "text": None},
        {"id": "1", "text": "kept again"},
        "not a comment",
        {"id": "4", "text": {"a": 1}},
        {"id": 5, "text": "number", "like_count": -3, "timestamp": "soon"},
        {"text": "half \ud83d pair"},
    ]
    put(tmp_path / "crawl", "x", info(comments=comments))
    step = ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    said = table(tmp_path / "work", "comments")
    assert dict(said.select("text", "likes").iter_rows()) == {
        "kept": 7,
        "number": None,
        "half \ufffd pair": None,
    }
    assert step.record.counts[1].why == {
        "no text": 1,
        "the same comment twice": 1,
        "not a comment: no object, or no text in it": 2,
    }
    assert step.record.counts[1].into == 7


def test_names_links_and_addresses_go(tmp_path: Path) -> None:
    texts = [
        "@some.one look at this",
        "thanks Marta Walks, you are great",
        "write me: a.b+c@mail.example.org or www.example.com/x?y=1 now",
        "see https://example.com/päth and bit.ly/abc",
        "call +49 (170) 123-45 67 please",
        "meet @ five, 3.5 of 10, version 1.2.3",
        "@مريم مرحبا",
    ]
    comments = [{"id": str(n), "text": text, "author": "Secret Person"} for n, text in enumerate(texts)]
    words = "By Marta Walks. Mail marta@example.org"
    put(tmp_path / "crawl", "x", info(comments=comments, description=words, tags=["sea", "@marta"]))
    ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    said = table(tmp_path / "work", "comments").sort("id")["text"].to_list()
    assert said == [
        "look at this",
        "thanks , you are great",
        "write me: or now",
        "see and",
        "call please",
        "meet @ five, 3.5 of 10, version 1.2.3",
        "مرحبا",
    ]
    row = table(tmp_path / "work", "videos").row(0, named=True)
    assert row["description"] == "By . Mail"
    assert row["tags"] == ["sea"]
    everything = b"".join(path.read_bytes() for path in (tmp_path / "work" / "ingest").rglob("*.parquet"))
    assert b"UC1" not in everything
    assert len(row["uploader"]) == 16


def test_every_comment_keeps_its_own_text(tmp_path: Path) -> None:
    """Texts are masked by columns, in several ways; each comment here says in a word of its own which it is."""
    forms = (
        "{mark} 谢谢羽毛笔先生",
        "𝗠𝗮𝗿𝘁𝗮 𝗪𝗮𝗹𝗸𝘀 {mark}",
        "{mark} ask quill_77 or @some.one",
        "nothing in {mark}",
        "mail me {mark} a.b@example.org",
        "谢谢quill_77的 {mark}",
        "ｆｕｌｌ width {mark}",
    )
    marks = ["".join("abcdefghij"[int(figure)] for figure in f"{number:04}") * 2 for number in range(140)]
    people = ("quill_77", "羽毛笔先生", "Marta Walks")
    comments = [
        {"id": mark, "text": forms[number * 5 % 7].format(mark=mark), "author": people[number % 3]}
        for number, mark in enumerate(marks)
    ]
    put(tmp_path / "crawl", "x", info(comments=comments))
    ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    rows = table(tmp_path / "work", "comments").select("id", "text").rows()
    assert len(rows) == len(marks)
    assert [(mark, text) for mark, text in rows if mark not in text] == []


def test_uploaders_are_told_apart_by_a_salt_of_the_work_folder(tmp_path: Path) -> None:
    for name, channel in (("a", "UC1"), ("b", "UC1"), ("c", "UC2")):
        put(tmp_path / "crawl", name, info(id=name, channel_id=channel))
    hashes = []
    for work in (tmp_path / "one", tmp_path / "two"):
        ingest(work, [tmp_path / "crawl"], ALONE)
        hashes.append(table(work, "videos").sort("id")["uploader"].to_list())
        assert (work / ".salt").stat().st_mode & 0o077 == 0
        assert not list((work / "ingest").rglob("*salt*"))
    assert hashes[0][0] == hashes[0][1] != hashes[0][2]
    assert set(hashes[0]).isdisjoint(hashes[1])
    assert read_salt(tmp_path / "one") == read_salt(tmp_path / "one")


def test_a_salt_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "crawl", "x", info())
    work = tmp_path / "work"
    work.mkdir()
    (work / ".salt").touch()
    with pytest.raises(
        UsageError, match=r"\.salt has 0 bytes instead of 32.* delete it and run ingest again"
    ):
        ingest(work, [tmp_path / "crawl"], ALONE)
    (work / ".salt").unlink()
    assert len(read_salt(work)) == 32
    assert [path.name for path in work.iterdir()] == [".salt"]


def test_the_same_again_is_kept_and_a_new_file_is_seen(tmp_path: Path) -> None:
    put(tmp_path / "crawl", "a", info(id="a"))
    assert not ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE).kept
    assert ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE).kept
    put(tmp_path / "crawl", "b", info(id="b"))
    assert not ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE).kept
    assert len(table(tmp_path / "work", "videos")) == 2
    other = PipelineSettings(workers=1, ingest=IngestSettings(mentions="hash"))
    assert not ingest(tmp_path / "work", [tmp_path / "crawl"], other).kept


def test_another_folder_of_media_is_seen(tmp_path: Path) -> None:
    put(tmp_path / "crawl", "x", info())
    (tmp_path / "crawl" / "x.mp4").write_bytes(b"video")
    ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    assert ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE, media=tmp_path / "crawl").kept
    ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE, media=tmp_path)
    assert table(tmp_path / "work", "videos")["file"].to_list() == ["crawl/x.mp4"]
    assert media_root(tmp_path / "work") == tmp_path


def test_what_an_older_version_wrote_is_done_again_and_so_is_what_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> list[bool]:
        taken = ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
        with begin_step(tmp_path / "work", "later", ["ingest"], {}) as later:
            pass
        return [taken.kept, later.kept]

    put(tmp_path / "crawl", "x", info())
    with monkeypatch.context() as patched:
        patched.setattr("vivant_build.mimic.ingestion._VERSION", 1)
        assert [run(), run()] == [[False, False], [True, True]]
    assert [run(), run()] == [[False, False], [True, True]]


def test_a_video_crawled_twice_stays_once_with_all_its_comments(tmp_path: Path) -> None:
    put(tmp_path / "crawl" / "monday", "x", info())
    later = [{"id": "c2", "text": "yes", "like_count": 0}, {"id": "c3", "text": "later", "like_count": 1}]
    put(tmp_path / "crawl" / "tuesday", "x", info(title="changed", comments=later))
    step = ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    assert table(tmp_path / "work", "videos")["title"].to_list() == ["A walk by the sea"]
    assert sorted(table(tmp_path / "work", "comments")["id"].to_list()) == ["c1", "c2", "c3"]
    assert step.record.counts[0].why == {"the same video twice": 1}
    assert step.record.counts[1].why == {"the same comment twice": 1}


def test_a_large_file_is_read_piece_by_piece_with_the_same_result(tmp_path: Path) -> None:
    comments = [
        {"id": f"c{n}", "text": f'say "{n}" \\ [x] {{y}}', "like_count": n, "parent": "root"}
        for n in range(12_000)
    ]
    comments[7000] |= {"like_count": "70"}
    value = {"comments": comments, **info(comments=None), "chapters": [{"comments": [1]}], "after": "]}"}
    value["comments"] = comments
    path = put(tmp_path / "crawl", "x", value)
    found = []
    for name, large in (("whole", 1 << 30), ("pieces", 1000)):
        folder = tmp_path / name
        writer = RecordWriter(folder, "0", Anonymizer(b"s" * 32), batch=1000)
        ingest_info(str(path), str(tmp_path / "crawl"), writer, SourceDefaults(), large=large)
        report = writer.close()
        assert (report.videos, report.comments, report.left) == (1, 12_000, {})
        found.append([pl.read_parquet(folder / kind / "0.parquet") for kind in ("videos", "comments")])
    assert found[0][0].equals(found[1][0])
    assert found[0][1].equals(found[1][1])
    half = path.read_bytes()[: path.stat().st_size // 2]
    path.write_bytes(half)
    writer = RecordWriter(tmp_path / "whole", "1", Anonymizer(b"s" * 32), batch=1000)
    ingest_info(str(path), str(tmp_path / "crawl"), writer, SourceDefaults(), large=1000)
    assert writer.close().left == {"cut off": 1}


def test_the_world_as_a_crawl_comes_back_as_it_was(tmp_path: Path) -> None:
    plan = WorldPlan(videos=200, comments=4000, seed=2)
    happened = write_crawl(tmp_path / "crawl", plan, broken=0.1)
    step = ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    lost = sum(happened.get(name, 0) for name in ("cut in half", "empty", "not JSON", "no id", "a playlist"))
    assert lost > 0
    kept = step.record.counts[1].why.get("cut off", 0)  # files that break off inside their comments
    assert step.record.counts[0].out == 200 - lost + kept
    truth = pl.read_parquet(tmp_path / "crawl" / TRUTH)
    assert set(table(tmp_path / "work", "videos")["ref"]) <= set(truth["ref"])
    assert not table(tmp_path / "work", "comments")["text"].str.contains("@").any()
    sheet = (tmp_path / "work" / "ingest" / "datasheet.md").read_text()
    assert f"taken in: {200 - lost + kept:,} videos" in sheet


def test_a_video_that_comes_later_is_found(tmp_path: Path) -> None:
    put(tmp_path / "crawl", "x", info())
    ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    assert table(tmp_path / "work", "videos")["file"].to_list() == [""]
    (tmp_path / "crawl" / "x.mp4").write_bytes(b"video")
    ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    assert table(tmp_path / "work", "videos")["file"].to_list() == ["x.mp4"]


def test_a_source_mistyped_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^ingest: .*carwl does not exist"):
        ingest(tmp_path / "work", [tmp_path / "carwl"], ALONE)
    assert not (tmp_path / "work").exists()


def test_nothing_usable_is_an_error_that_names_the_step(tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    with pytest.raises(StepError, match=r"^ingest: no \.info\.json file, API answer or mapping in "):
        ingest(tmp_path / "work", [tmp_path / "bare"], ALONE)
    put(tmp_path / "crawl", "x", b"")
    with pytest.raises(
        StepError, match=r"^ingest: not one of 1 records could be used: the file is empty"
    ) as e:
        ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    assert "the first: " in str(e.value) and "  " not in str(e.value)
    (tmp_path / "film.mp4").write_bytes(b"")
    with pytest.raises(StepError, match=r"^ingest: .*film.mp4 is no \.info\.json"):
        ingest(tmp_path / "work", [tmp_path / "film.mp4"], ALONE)


def test_an_interrupted_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import vivant_build.mimic.ingestion as module

    monkeypatch.setattr(module, "_PART", 2)
    for n in range(6):
        put(tmp_path / "crawl", f"v{n}", info(id=f"v{n}"))
    real, calls = module._ingest_part, []

    def dies(task: Any) -> Any:
        calls.append(task.name)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(task)

    monkeypatch.setattr(module, "_ingest_part", dies)
    with pytest.raises(KeyboardInterrupt):
        ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    assert not (tmp_path / "work" / "ingest").exists()
    ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    assert calls == ["info-000000", "info-000001", "info-000002", "info-000002"]
    assert table(tmp_path / "work", "videos")["id"].sort().to_list() == [f"v{n}" for n in range(6)]
    assert len(table(tmp_path / "work", "comments")) == 12


def test_a_table_of_comments_finds_its_videos(tmp_path: Path) -> None:
    with (tmp_path / "videos.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["vid", "name", "plays"], ["1", "One", "10"], ["2", "Two", "-4"], ["", "?", "1"]]
        )
    lines = [{"v": "1", "t": "hello", "n": 3}, {"v": "9", "t": "lost"}, {"v": "2", "t": "hi", "n": "2"}]
    body = "\n".join(json.dumps(line) for line in lines) + "\n{broken\n"
    (tmp_path / "comments.jsonl").write_text(body)
    (tmp_path / "map.yaml").write_text(
        "videos:\n  file: videos.csv\n  columns: {platform: {value: vimeo}, id: vid, title: name, views: plays}\n"
        "comments:\n  file: comments.jsonl\n  columns: {video: v, text: t, likes: n}\n"
    )
    step = ingest(tmp_path / "work", [tmp_path / "map.yaml"], ALONE)
    made = table(tmp_path / "work", "videos").sort("id")
    assert made["ref"].to_list() == ["vimeo/1", "vimeo/2"]
    assert made["views"].to_list() == [10, None]
    said = dict(table(tmp_path / "work", "comments").select("ref", "text").iter_rows())
    assert said == {"vimeo/1": "hello", "vimeo/2": "hi"}
    assert step.record.counts[0].why == {"no id": 1}
    why = step.record.counts[1].why
    assert why["its video was not taken in"] == 1
    assert sum(why.values()) == 2
    assert ingest(tmp_path / "work", [tmp_path / "map.yaml"], ALONE).kept
    (tmp_path / "comments.jsonl").write_text(json.dumps({"v": "2", "t": "another"}) + "\n")
    ingest(tmp_path / "work", [tmp_path / "map.yaml"], ALONE)
    assert table(tmp_path / "work", "comments")["text"].to_list() == ["another"], (
        "its tables are looked at too"
    )


def test_comments_without_ids_in_two_tables_all_stay(tmp_path: Path) -> None:
    said = {"one": ["aaa", "first!", "first!"], "two": ["bbb", "ccc", "first!"]}
    for name, texts in said.items():
        (tmp_path / f"{name}-videos.csv").write_text(f"id,title\n{name},A title\n")
        (tmp_path / f"{name}-comments.csv").write_text(
            "video,text,id\n" + "".join(f"one,{text},\n" for text in texts)
        )
        (tmp_path / f"{name}.yaml").write_text(
            f"videos:\n  file: {name}-videos.csv\n  columns: {{platform: {{value: web}}, id: id, title: title}}\n"
            f"comments:\n  file: {name}-comments.csv\n  columns: {{video: video, text: text, id: id}}\n"
        )
    step = ingest(tmp_path / "work", [tmp_path / f"{name}.yaml" for name in said], ALONE)
    kept = table(tmp_path / "work", "comments")["text"].sort().to_list()
    # The third row of both is the same comment, as far as anyone can tell.
    assert kept == ["aaa", "bbb", "ccc", "first!", "first!"]
    assert step.record.counts[1].why == {"the same comment twice": 1}


def test_a_comment_of_blanks_is_none_whatever_stands_beside_it(tmp_path: Path) -> None:
    blank = [{"id": "c1", "text": "lovely"}, {"id": "c2", "text": "  "}, {"id": "c3", "text": "\n"}]
    put(tmp_path / "crawl", "a", info(comments=blank))
    put(tmp_path / "crawl", "b", info(id="b", comments=[*blank, {"id": "c4", "text": ""}]))
    step = ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    assert table(tmp_path / "work", "comments")["text"].to_list() == ["lovely", "lovely"]
    assert step.record.counts[1].why == {"no text": 5}
