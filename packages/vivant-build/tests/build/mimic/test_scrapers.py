"""Files as named scrapers and services write them, with their fields, file names and types."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import resource
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawl_kit import ALONE, ID, quarantine, rows, take, web_comment, web_item
from vivant_build.mimic.ingestion import ingest
from vivant_build.mimic.ingestion.packed_files import unpack
from vivant_build.mimic.steps import StepError

TIME = "2024-01-02 03:04:05"
SECONDS = 1704164645
"""The same in seconds."""


def make_table(*records: Mapping[str, Any]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]))
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def get(row: Mapping[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def list_comments(folder: Path) -> list[tuple[Any, ...]]:
    return [get(comment, "ref", "id", "likes", "reply_to") for comment in rows(folder, "comments")]


def test_instaloader_with_packed_posts_and_comments_beside_them(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    node = {
        "shortcode": "C1insta_Lo",
        "is_video": True,
        "edge_media_to_caption": {"edges": [{"node": {"text": "surf check"}}]},
        "taken_at_timestamp": SECONDS,
        "edge_media_preview_like": {"count": 5},
        "video_view_count": 77,
        "owner": {"id": "4", "username": "wave.watcher"},
    }
    post = {"node": node, "instaloader": {"version": "4.14", "node_type": "Post"}}
    comments = [
        {
            "id": 17900000000000001,
            "created_at": SECONDS,
            "text": "cold?",
            "owner": {"id": "9", "username": "x"},
            "likes_count": 3,
            "answers": [{"id": 2, "created_at": SECONDS, "text": "very", "owner": None, "likes_count": 0}],
        }
    ]
    stem = "2024-01-02_03-04-05_UTC"
    with lzma.open(crawl / f"{stem}.json.xz", "wt", check=lzma.CHECK_NONE) as file:
        json.dump(post, file)
    (crawl / f"{stem}.mp4").write_bytes(b"video")
    (crawl / f"{stem}_comments.json").write_text(json.dumps(comments))
    take(tmp_path)
    (video,) = rows(tmp_path, "videos")
    assert get(video, "ref", "views", "file") == ("instagram/C1insta_Lo", 77, f"{stem}.mp4")
    assert list_comments(tmp_path) == [
        ("instagram/C1insta_Lo", "17900000000000001", 3, ""),
        ("instagram/C1insta_Lo", "2", 0, "17900000000000001"),
    ]
    assert not quarantine(tmp_path)


def test_gallery_dl_and_snscrape_and_instagrapi(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    clip = {
        "category": "instagram",
        "subcategory": "reels",
        "post_id": "3270000000000000000",
        "post_shortcode": "C1galleryD",
        "description": "harbour at six",
        "tags": ["#harbour"],
        "likes": 12,
        "owner_id": "4",
        "username": "wave.watcher",
        "fullname": "Wave Watcher",
        "post_date": TIME,
        "date": TIME,
        "video_url": "https://example.org/x.mp4",
        "width": 720,
        "height": 1280,
        "extension": "mp4",
        "num": 1,
    }
    (crawl / "327_1.mp4").write_bytes(b"video")
    (crawl / "327_1.mp4.json").write_text(json.dumps(clip))
    (crawl / "327_2.jpg.json").write_text(
        json.dumps(clip | {"extension": "jpg", "post_shortcode": "C1picture0"})
    )
    scraped = {
        "_type": "snscrape.modules.instagram.InstagramPost",
        "url": "https://www.instagram.com/p/C1snscrape_/",
        "date": "2024-01-02T03:04:05+00:00",
        "content": "gulls",
        "thumbnailUrl": "https://example.org/t.jpg",
        "displayUrl": "https://example.org/d.jpg",
        "username": "wave.watcher",
        "likes": 3,
        "comments": 0,
        "commentsDisabled": False,
        "isVideo": True,
    }
    media = {
        "pk": "482584233761418119",
        "id": "482584233761418119_4",
        "code": "aye83DjauH",
        "taken_at": "2024-01-02T03:04:05+00:00",
        "media_type": 2,
        "product_type": "clips",
        "user": {"pk": "4", "username": "wave.watcher"},
        "comment_count": 1,
        "like_count": 8,
        "play_count": 300,
        "view_count": 0,
        "video_duration": 8.5,
        "caption_text": "foam #sea",
    }
    said = {
        "pk": "18000000000000001",
        "text": "lovely",
        "user": {"pk": "9", "username": "x"},
        "created_at_utc": "2024-01-02T03:04:05+00:00",
        "content_type": "comment",
        "status": "Active",
        "replied_to_comment_id": None,
        "like_count": 2,
    }
    app = said | {"pk": "18000000000000002", "media_id": "482584233761418119", "comment_like_count": 1}
    take(
        tmp_path,
        posts__jsonl=json.dumps(scraped),
        media__json=[media],
        aye83DjauH_comments__json=[said, said | {"pk": "3", "replied_to_comment_id": "18000000000000001"}],
        app__json={"comments": [app], "has_more_comments": False},
    )
    by_id = {row["id"]: row for row in rows(tmp_path, "videos")}
    assert get(by_id["C1galleryD"], "file", "tags", "likes") == ("327_1.mp4", ["harbour"], 12)
    assert get(by_id["C1snscrape_"], "title", "likes", "comment_count") == ("gulls", 3, 0)
    assert get(by_id["aye83DjauH"], "views", "duration", "tags") == (300, 8.5, ["sea"])
    assert {str(row["uploaded"]) for row in by_id.values()} == {TIME}
    ref = "instagram/aye83DjauH"
    assert list_comments(tmp_path) == [
        (ref, "18000000000000001", 2, ""),
        (ref, "18000000000000002", 1, ""),
        (ref, "3", 2, "18000000000000001"),
    ]
    assert [reason for _, _, reason in quarantine(tmp_path)] == ["pictures, not a video"]


def test_comments_of_youtube_comment_downloader_go_by_the_name_of_their_file(tmp_path: Path) -> None:
    info = {"id": "abc_DEF-123", "title": "Kiln", "extractor_key": "Youtube", "channel_id": "UC1"}
    comment = {
        "cid": "Ugx1",
        "text": "warm",
        "time": "2 years ago (edited)",
        "author": "@potter",
        "channel": "UC2",
        "votes": "1.2K",
        "replies": "1",
        "photo": "https://example.org/p.jpg",
        "heart": False,
        "reply": False,
        "time_parsed": 1704164645.25,
    }
    answer = comment | {"cid": "Ugx1.9a", "text": "very warm", "votes": "0", "reply": True}
    lines = "\n".join(map(json.dumps, (comment, answer)))
    # Its default form is a line a comment, whatever the file is called.
    take(tmp_path, a__info__json=info, notes__json=lines)
    assert [reason[:14] for _, _, reason in quarantine(tmp_path)] == ["names no video"] * 2
    assert not rows(tmp_path, "comments")
    (tmp_path / "crawl" / "notes.json").rename(tmp_path / "crawl" / "abc_DEF-123.json")
    ingest(tmp_path / "work", [tmp_path / "crawl"], ALONE)
    assert list_comments(tmp_path) == [
        ("youtube/abc_DEF-123", "Ugx1", 1200, ""),
        ("youtube/abc_DEF-123", "Ugx1.9a", 0, "Ugx1"),
    ]
    assert {str(comment["time"]) for comment in rows(tmp_path, "comments")} == {TIME}


def test_yt_dlp_on_bilibili_and_douyin_and_its_lists(tmp_path: Path) -> None:
    bilibili = {
        "id": "BV17x411w7KC",
        "title": "煮面",
        "extractor_key": "BiliBili",
        "uploader": "面条",
        "uploader_id": "7",
        "timestamp": SECONDS,
        "duration": 50.2,
        "view_count": 5,
        "tags": ["美食"],
        "_type": "video",
        "comments": [
            {
                "author": "x",
                "author_id": "8",
                "id": 100,
                "text": "好吃",
                "timestamp": SECONDS,
                "parent": "root",
            },
            {"author": "y", "author_id": "9", "id": 101, "text": "对", "timestamp": SECONDS, "parent": 100},
        ],
    }
    caption = "A pot that is far too large for the kiln and what became of it in the end #pottery"
    douyin = {
        "id": ID,
        "title": f"{caption[:69]}...",
        "description": caption,
        "extractor_key": "Douyin",
        "channel_id": "MS4",
        "uploader": "potter",
        "timestamp": SECONDS,
    }
    listing = {"_type": "playlist", "extractor_key": "TikTokUser", "id": "potter", "entries": [douyin, None]}
    flat = {
        "_type": "url",
        "ie_key": "TikTok",
        "id": "1",
        "url": "https://www.tiktok.com/@_/video/1",
        "title": "x",
    }
    take(
        tmp_path,
        a__info__json=bilibili,
        list__info__json=listing,
        flat__json=listing | {"entries": [flat]},
    )
    noodles, pot = sorted(rows(tmp_path, "videos"), key=lambda row: row["platform"])
    assert get(noodles, "ref", "duration", "tags") == ("bilibili/BV17x411w7KC", 50.2, ["美食"])
    assert pot["title"] == "A pot that is far too large for the kiln and what became of it in the end"
    assert list_comments(tmp_path) == [
        ("bilibili/BV17x411w7KC", "100", None, ""),
        ("bilibili/BV17x411w7KC", "101", None, "100"),
    ]
    assert quarantine(tmp_path) == [
        ("flat.json", "entries[1]", "a link, not a video (run yt-dlp without --flat-playlist)"),
        ("list.info.json", "entry 2", "nothing where a video should be (yt-dlp could not read it)"),
    ]


@pytest.mark.parametrize("kept", [1.0, 0.6])
def test_compressed_dumps_are_read_as_far_as_they_go(kept: float, tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    lines = [
        json.dumps(web_item(id=str(int(ID) + number), desc=f"No. {number * number}")) for number in range(400)
    ]
    content = gzip.compress("\n".join(lines).encode())
    (crawl / "dump.jsonl.gz").write_bytes(content[: int(kept * len(content))])
    (crawl / "comments.CSV.xz").write_bytes(
        lzma.compress(make_table(flatten(web_comment("c1", "nice"))).encode())
    )
    step = take(tmp_path)
    found = len(rows(tmp_path, "videos"))
    assert found == 400 if kept == 1 else 100 < found < 400
    assert [comment["text"] for comment in rows(tmp_path, "comments")] == ["nice"]
    reasons = [reason for source, _, reason in quarantine(tmp_path) if source == "dump.jsonl.gz"]
    assert not reasons if kept == 1 else any("it breaks off" in reason for reason in reasons)
    assert not step.record.notes if kept == 1 else any("break off" in note for note in step.record.notes)


@pytest.mark.parametrize("name", ["dump.jsonl.gz", "dump.jsonl"])
def test_a_full_disk_stops_the_step_and_no_file_is_blamed(name: str, tmp_path: Path) -> None:
    """Neither where a file is unpacked nor where records are written is the file at fault that is read."""
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    texts = [secrets.token_hex(1000) for _ in range(50)]
    lines = [json.dumps(web_item(id=str(int(ID) + number), desc=text)) for number, text in enumerate(texts)]
    content = "\n".join(lines).encode()
    (crawl / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(StepError, match=r"cannot be written: .*; make room and run the same command"):
            take(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    take(tmp_path)
    assert len(rows(tmp_path, "videos")) == 50
    assert not quarantine(tmp_path)


def test_compressed_files_of_one_name_are_unpacked_apart(tmp_path: Path) -> None:
    """Two processes may read dumps of one name from two folders at once."""
    packed = [tmp_path / day / "dump.jsonl.gz" for day in ("monday", "tuesday")]
    for path in packed:
        path.parent.mkdir()
        path.write_bytes(gzip.compress(path.parent.name.encode()))
    folder = tmp_path / "unpacked"
    folder.mkdir()
    with unpack(packed[0], folder) as (first, _), unpack(packed[1], folder) as (second, _):
        assert [first.read_text(), second.read_text()] == ["monday", "tuesday"]
        assert first.suffix == ".jsonl"
    assert not list(folder.iterdir())


def flatten(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as pandas puts it into a table: what is inside as Python prints it."""
    return {
        name: repr(value) if isinstance(value, Mapping | Sequence) and not isinstance(value, str) else value
        for name, value in record.items()
    }
