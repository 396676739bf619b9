"""Tables and mappings in a source folder, and values as platforms show them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
import pytest

from tests.support.crawl_kit import ALONE, quarantine, rows, take, web_comment, web_item
from vivant.core.errors import UsageError
from vivant_build.mimic.crawl_survey import survey_sources
from vivant_build.mimic.ingestion import ingest
from vivant_build.mimic.ingestion.values import (
    InvalidValueError,
    find_hashtags,
    make_title,
    parse_count,
    parse_row,
    parse_time,
)


def test_a_table_of_comments_whose_cells_are_printed_objects(tmp_path: Path) -> None:
    """pandas writes the objects of a comment as Python prints them: names in them count, and places of mentions."""
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    comments = [
        web_comment("c1", "ask @Bowl Nan", text_extra=[{"start": 4, "end": 13, "user_id": "5"}]),
        web_comment(
            "c2", "thanks someone.else!", user={"uid": "9", "unique_id": "x", "nickname": "it's fine"}
        ),
        web_comment(
            "c3", "agreed", user={"uid": "7", "unique_id": "someone.else", "nickname": "S"}, reply_id="c2"
        ),
    ]
    with (crawl / "chair_comments.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, comments[0].keys() | {"text_extra"})
        table.writeheader()
        table.writerows({"text_extra": [], **comment} for comment in comments)
    take(tmp_path, items__json=[web_item()])
    found = [(c["id"], c["text"], c["reply_to"]) for c in rows(tmp_path, "comments")]
    assert found == [("c1", "ask", ""), ("c2", "thanks !", ""), ("c3", "agreed", "c2")]


def test_comments_in_a_table_that_look_like_objects_stay_texts(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    said = ["[1]", "{5}", '["why"]', "{'a': 1}", "[]"]
    with (crawl / "chair_comments.csv").open("w", newline="", encoding="utf-8") as file:
        comments = [web_comment(f"c{number}", text) for number, text in enumerate(said)]
        table = csv.DictWriter(file, comments[0].keys())
        table.writeheader()
        table.writerows(comments)
    step = take(tmp_path, items__json=[web_item()])
    assert [c["text"] for c in rows(tmp_path, "comments")] == said
    assert step.record.counts[1].why == {}


def test_tables_in_a_folder_are_read_or_named(tmp_path: Path) -> None:
    mapping = (
        "videos:\n  file: clips.csv\n  columns:\n    platform: {value: tiktok}\n    id: vid\n    title: name\n"
        '    tags: "challenges[].title"\n    likes: {column: [likes, hearts], absent: ["-1"]}\n'
        "    comments: {column: said, split: json, columns: {id: cid, text: body, likes: n}}\n"
    )
    clips = 'vid,name,challenges,likes,hearts\n5,Five,"[{""title"": ""a""}, {""title"": ""b""}]",,-1\n'
    step = take(
        tmp_path,
        map__yaml=mapping,
        settings__yaml="seed: 3\n",
        clips__csv=clips,
        people__csv="who,age\nx,3\n",
        dump__zip="",
        one__json=web_item(),
    )
    five = next(row for row in rows(tmp_path, "videos") if row["id"] == "5")
    assert (five["tags"], five["likes"]) == (["a", "b"], None)
    reasons = {source: reason for source, _, reason in quarantine(tmp_path)}
    assert "its columns (who, age) fit no known form" in reasons["people.csv"]
    assert "unpack it" in reasons["dump.zip"]
    assert "clips.csv" not in reasons
    unknown, note = step.record.notes
    assert "clips.csv, comments: Unknown column 'said'" in unknown
    assert note.startswith("Not read: dump.zip, people.csv. ")
    assert step.record.counts[0].into == 2


def test_a_value_that_stands_for_none_gives_way_to_the_next_column(tmp_path: Path) -> None:
    mapping = (
        "videos:\n  file: clips.jsonl\n  columns:\n    platform: {value: tiktok}\n    id: vid\n    title: name\n"
        '    likes: {column: [stats.diggCount, likes], absent: ["-1"]}\n'
    )
    clips = [{"vid": str(n), "name": "n", "stats": {"diggCount": -n}, "likes": 7} for n in (1, 2)]
    take(tmp_path, map__yaml=mapping, clips__jsonl="\n".join(map(json.dumps, clips)))
    assert rows(tmp_path, "videos")[0]["likes"] == 7


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ("video:\n  file: clips.csv\n", "m.yaml: not read: a mapping has a block `videos`; this has video"),
        (
            "videos: clips.csv\n",
            "m.yaml: not read: `videos` of a mapping is a block with `file` and `columns`",
        ),
    ],
)
def test_a_wrong_mapping_is_named(tmp_path: Path, mapping: str, said: str) -> None:
    source, reason = said.split(": ", 1)
    take(tmp_path, m__yaml=mapping, one__json=web_item())
    assert (source, "", reason) in quarantine(tmp_path)
    (tmp_path / "crawl" / "one.json").write_text('[{"a": 1}]')
    with pytest.raises(UsageError) as caught:
        survey_sources([tmp_path / "crawl"], ALONE)
    assert str(caught.value).endswith(said)


@pytest.mark.parametrize("end", ["jsonl", "json", "csv"])
def test_a_mapped_column_that_no_record_has_is_said(tmp_path: Path, end: str) -> None:
    mapping = (
        f"videos:\n  file: clips.{end}\n  columns:\n    platform: {{value: tiktok}}\n    id: vid\n    title: capt\n"
        "    description: text\n    likes: {column: [likes, hearts]}\n"
    )
    clips = [{"vid": str(n), "cap": "Bowls", "text": None, "hearts": 3} for n in range(3)]
    written = {
        "jsonl": "\n".join(map(json.dumps, clips)),
        "json": json.dumps(clips),
        "csv": "vid,cap,text,hearts\n0,Bowls,,3\n",
    }
    step = take(tmp_path, m__yaml=mapping, **{f"clips__{end}": written[end]})
    said = "title: Unknown column 'capt'; did you mean 'cap'?"
    notes = [note for note in step.record.notes if "Unknown column" in note]
    assert notes == [f"fields without any value: clips.{end}, {said}: 1"]


def test_the_mapping_of_the_docs_reads_its_table(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[5] / "docs" / "mimic-pipeline.md"
    block = page.read_text(encoding="utf-8").partition("    videos:\n      file: clips.csv\n")
    example = (block[1] + block[2]).partition("\n\n")[0]
    take(
        tmp_path,
        map__yaml="\n".join(line[4:] for line in example.splitlines()),
        clips__csv="video,caption,challenges,likes,length_ms,url\n"
        '1,One,"[{""title"": ""a""}]",-1,1500,https://example.org/v/1?u=2\n',
    )
    (video,) = rows(tmp_path, "videos")
    assert (video["tags"], video["likes"], video["duration"]) == (["a"], None, 1.5)
    assert video["source"] == "https://example.org/v/1"


def test_the_same_records_in_other_files_give_the_same_bytes(tmp_path: Path) -> None:
    items = [web_item(id=str(number), createTime=1_700_000_000 + number) for number in range(6)]
    comments = [web_comment(f"c{n}", f"text {n}", aweme_id=str(n % 6), digg_count=n % 3) for n in range(30)]
    ways = {
        "one": {"a.json": items, "b.json": {"comments": comments}},
        "two": {"a.json": {"comments": comments[::-1]}, "y.json": items[3:], "z.json": items[:4][::-1]},
    }
    written: list[list[bytes]] = []
    for name, files in ways.items():
        crawl, work = tmp_path / name / "crawl", tmp_path / name / "work"
        crawl.mkdir(parents=True)
        work.mkdir()
        (work / ".salt").write_bytes(b"0" * 32)
        for file, content in files.items():
            (crawl / file).write_text(json.dumps(content))
        ingest(work, [crawl], ALONE)
        written.append(
            [(work / "ingest" / kind / "settled.parquet").read_bytes() for kind in ("videos", "comments")]
        )
    assert written[0] == written[1]


def test_the_work_folder_inside_a_source_is_no_source(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(web_item()))
    ingest(tmp_path / "work", [tmp_path], ALONE)
    step = ingest(tmp_path / "work", [tmp_path], ALONE, force=True)
    assert step.record.counts[0].why == {} and step.record.notes == ()


def test_a_mapping_keeps_the_likes_of_comments_inside_rows(tmp_path: Path) -> None:
    (tmp_path / "clips.json").write_text(
        json.dumps([{"v": "1", "said": [{"cid": "a", "body": "hm", "n": 4}, {"cid": "b", "body": "eh"}]}])
    )
    (tmp_path / "map.yaml").write_text(
        "videos:\n  file: clips.json\n  columns:\n    platform: {value: vimeo}\n    id: v\n"
        "    comments: {column: said, columns: {id: cid, text: body, likes: n}}\n"
    )
    ingest(tmp_path / "work", [tmp_path / "map.yaml"], ALONE)
    assert [(c["text"], c["likes"]) for c in rows(tmp_path, "comments")] == [("hm", 4), ("eh", None)]


def test_a_mapping_with_a_mistake_is_named_beside_its_table(tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "a.yaml").write_text("video:\n  file: t.csv\n  columns: {id: name}\n")
    (tmp_path / "crawl" / "b.yaml").write_text("videos:\n  file: t.csv\n   columns: {id\n")
    (tmp_path / "crawl" / "settings.yaml").write_text("select: {target: 5}\n")
    take(tmp_path, t__csv="name\n1\n", item__json=web_item())
    reasons = {source: reason for source, _, reason in quarantine(tmp_path)}
    assert sorted(reasons) == ["a.yaml", "b.yaml", "t.csv"]
    assert reasons["a.yaml"] == "not read: a mapping has a block `videos`; this has video"
    assert "line 3" in reasons["b.yaml"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1.2K", 1200),
        ("1,2 Mio.", 1_200_000),
        ("3.4万", 34_000),
        ("2억", 200_000_000),
        ("12\N{NO-BREAK SPACE}345", 12345),
        ("10万+", 100_000),
        ("1.2w", 12_000),
        ("2,3 mil", 2300),
        ("1,1 млрд", 1_100_000_000),
        ("1.5 lakh", 150_000),
        ("1’234", 1234),
        ("1e+05", 100_000),  # as R writes it
    ],
)
def test_counts_as_platforms_show_them(text: str, count: int) -> None:
    assert parse_count(text) == count


def test_values_that_mislead() -> None:
    assert parse_time(1699999999000) == parse_time("1699999999000") == 1699999999
    assert parse_time("2023/1/5 9:07") == parse_time("2023-01-05T09:07:00Z")
    assert parse_time(0) is parse_time("0") is None
    assert find_hashtags("a #one#two, ＃三四 #5 #one") == ["one", "two", "三四"]
    assert make_title("#a #b\n\nwords here #c") == "words here"
    assert make_title("#a 🔥") == ""
    with pytest.raises(InvalidValueError, match="rounded"):
        parse_row({"platform": "tiktok", "id": 7.3e18})


@pytest.mark.parametrize("form", ["spreadsheet", "column with gaps"])
def test_comments_whose_ids_were_rounded_are_all_kept(tmp_path: Path, form: str) -> None:
    """Their ids are equal, and they are not."""
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    (crawl / "videos.csv").write_text("vid,title\nabc,hi\n")
    ids = [7123456789012345678.0, 7123456789012345679.0, 7123456789012345680.0]
    texts, parents = ["first", "second", "third"], [None, None, ids[0]]
    if form == "spreadsheet":
        lines = [
            f"abc,7.12346E+18,{text},{'7.12346E+18' if up else ''}"
            for text, up in zip(texts, parents, strict=True)
        ]
        file = "comments.csv"
        (crawl / file).write_text("\n".join(["vid,cid,body,parent", *lines]))
    else:
        file = "comments.parquet"
        table = {"vid": ["abc"] * 3, "cid": ids, "body": texts, "parent": parents}
        pl.DataFrame(table).write_parquet(crawl / file)
    step = take(
        tmp_path,
        m__yaml="videos: {file: videos.csv, columns: {platform: {value: tiktok}, id: vid, title: title}}\n"
        f"comments: {{file: {file}, columns: {{video: vid, id: cid, text: body, reply_to: parent}}}}\n",
    )
    comments = rows(tmp_path, "comments")
    assert sorted(comment["text"] for comment in comments) == ["first", "second", "third"]
    assert {comment["reply_to"] for comment in comments} == {""}
    assert any("ids were rounded" in note and note.endswith(": 3") for note in step.record.notes)
