"""Files as named scrapers and services write them, with their fields, file names and types."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.build.mimic.test_crawl_forms import ALONE, ID, quarantine, rows, take, web_comment, web_item
from vivant.build.mimic.ingestion import ingest

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


def test_bright_data(tmp_path: Path) -> None:
    post = {
        "url": f"https://www.tiktok.com/@loom.lady/video/{ID}",
        "post_id": ID,
        "description": "Warp day #weaving",
        "create_time": "2024-01-02T03:04:05.000Z",
        "digg_count": 12,
        "share_count": "3",
        "collect_count": 2,
        "comment_count": 2,
        "play_count": 900,
        "video_duration": 31,
        "hashtags": ["#weaving", "#loom"],
        "profile_id": "68",
        "profile_username": "Loom Lady",
        "profile_url": "https://www.tiktok.com/@loom.lady",
        "post_type": "video",
        "is_verified": False,
    }
    comment = {
        "url": post["url"],
        "post_url": post["url"],
        "post_id": ID,
        "post_date_created": "2024-01-02T03:04:05.000Z",
        "date_created": "2024-01-03T00:00:00.000Z",
        "comment_text": "the tension!",
        "num_likes": 3,
        "num_replies": 0,
        "commenter_user_name": "shuttle",
        "commenter_id": "9",
        "commenter_url": "https://www.tiktok.com/@shuttle",
        "comment_id": "7543571864086496018",
        "replies": None,
    }
    reel = {
        "url": "https://www.instagram.com/p/C1loomReel2",
        "user_posted": "loom.lady",
        "description": "Blue yarn",
        "hashtags": None,
        "num_comments": 1,
        "date_posted": "2024-01-02T03:04:05.000Z",
        "likes": -1,
        "views": 40,
        "video_play_count": 70,
        "post_id": "3270000000000000000_1",
        "shortcode": "C1loomReel2",
        "product_type": "clips",
        "length": "12.5",
    }
    answer = {
        "url": "https://www.instagram.com/p/C1loomReel2/",
        "comment_user": "shuttle",
        "comment_user_url": "https://www.instagram.com/shuttle",
        "comment_date": "Wed Jan 03 2024 00:00:00 GMT+0000",
        "comment": "so blue",
        "likes_number": 5,
        "replies_number": 0,
        "replies": None,
        "post_url": "https://www.instagram.com/reel/C1loomReel2/",
        "post_user": "loom.lady",
        "comment_id": "18050089526322689",
        "post_id": "3270000000000000000_1",
    }
    clip = {
        "url": "https://www.youtube.com/watch?v=loom_lady-1",
        "title": "How a heddle works",
        "youtuber": "@loomlady",
        "youtuber_id": "UC9",
        "video_length": 61,
        "likes": 7,
        "views": 1200,
        "date_posted": "2024-01-02T03:04:05.000Z",
        "description": "a look inside",
        "num_comments": 1,
        "video_id": "loom_lady-1",
        "hashtags": [{"hashtag": "#heddle", "link": "https://www.youtube.com/hashtag/heddle"}],
    }
    remark = {
        "url": "https://www.youtube.com/watch?v=loom_lady-1&lc=Ugx",
        "comment_id": "UgyKz0",
        "comment_text": "at last",
        "likes": 250,
        "replies": 12,
        "username": "@shuttle",
        "user_channel": "https://www.youtube.com/@shuttle",
        "date": "2024-01-03T00:00:00.000Z",
    }
    take(
        tmp_path,
        posts__json=[post, post | {"post_id": "1", "post_type": "image"}],
        comments__csv=make_table(comment),
        reels__ndjson=f"{json.dumps(reel)}\n{json.dumps(answer)}\n",
        youtube__json=[clip, remark],
    )
    by_id = {row["id"]: row for row in rows(tmp_path, "videos")}
    woven, blue, heddle = by_id[ID], by_id["C1loomReel2"], by_id["loom_lady-1"]
    assert get(woven, "ref", "views", "likes", "duration") == (f"tiktok/{ID}", 900, 12, 31.0)
    assert (woven["tags"], woven["title"]) == (["weaving", "loom"], "Warp day")
    assert get(blue, "ref", "views", "likes", "duration") == ("instagram/C1loomReel2", 70, None, 12.5)
    assert get(heddle, "ref", "views", "likes", "tags") == ("youtube/loom_lady-1", 1200, 7, ["heddle"])
    assert {str(row["uploaded"]) for row in by_id.values()} == {TIME}
    assert list_comments(tmp_path) == [
        ("instagram/C1loomReel2", "18050089526322689", 5, ""),
        (f"tiktok/{ID}", "7543571864086496018", 3, ""),
        ("youtube/loom_lady-1", "UgyKz0", 250, ""),
    ]
    assert {str(comment["time"]) for comment in rows(tmp_path, "comments")} == {"2024-01-03 00:00:00"}
    assert [reason for _, _, reason in quarantine(tmp_path)] == ["pictures, not a video"]


def test_media_crawler(tmp_path: Path) -> None:
    video = {
        "video_id": "170001",
        "video_type": "video",
        "title": "煮面",
        "desc": "-",
        "create_time": SECONDS,
        "creator_hash": "ab12",
        "nickname": "面**",
        "liked_count": "1200",
        "disliked_count": "0",
        "video_play_count": "9007",
        "video_comment": "2",
        "last_modify_ts": 1704164645123,
        "video_url": "https://www.bilibili.com/video/av170001",
        "source_keyword": "面",
    }
    comment = {
        "comment_id": "100",
        "parent_comment_id": 0,
        "create_time": SECONDS,
        "video_id": "170001",
        "content": "好吃",
        "nickname": "x",
        "sub_comment_count": "1",
        "like_count": 6,
        "last_modify_ts": 1704164645123,
    }
    douyin = {
        "aweme_id": ID,
        "aweme_type": "0",
        "title": "做陶 #陶艺",
        "desc": "做陶 #陶艺",
        "create_time": SECONDS,
        "creator_hash": "cd34",
        "nickname": "陶*",
        "liked_count": "88",
        "comment_count": "1",
        "aweme_url": f"https://www.douyin.com/video/{ID}",
    }
    under = {
        "comment_id": "7",
        "create_time": SECONDS,
        "aweme_id": ID,
        "content": "好看",
        "like_count": 2,
        "parent_comment_id": "0",
    }
    take(
        tmp_path,
        search_contents__json=[video],
        search_comments__csv=make_table(comment, comment | {"comment_id": "101", "parent_comment_id": 100}),
        douyin__jsonl="\n".join(
            map(json.dumps, (douyin, douyin | {"aweme_id": "2", "aweme_type": "68"}, under))
        ),
    )
    clay, noodles = rows(tmp_path, "videos")
    assert get(noodles, "ref", "views", "likes", "comment_count") == ("bilibili/BV17x411w7KC", 9007, 1200, 2)
    assert get(clay, "ref", "tags", "likes", "views") == (f"douyin/{ID}", ["陶艺"], 88, None)
    assert list_comments(tmp_path) == [
        ("bilibili/BV17x411w7KC", "100", 6, ""),
        ("bilibili/BV17x411w7KC", "101", 6, "100"),
        (f"douyin/{ID}", "7", 2, ""),
    ]


def test_tables_of_4cat_and_pyktok(tmp_path: Path) -> None:
    post = {
        "collected_from_url": "https://www.tiktok.com/tag/kites",
        "id": ID,
        "thread_id": ID,
        "author": "kite.kid",
        "author_full": "Kite Kid",
        "author_followers": 5,
        "body": "First flight #kites",
        "timestamp": TIME,
        "unix_timestamp": SECONDS,
        "is_ad": "no",
        "tiktok_url": f"https://www.tiktok.com/@kite.kid/video/{ID}",
        "likes": 10,
        "comments": 2,
        "shares": 0,
        "plays": 500,
        "hashtags": "kites",
        "challenges": "kites,wind",
        "diversification_labels": "Sports,Outdoor",
    }
    comment = {
        "id": "c1",
        "thread_id": ID,
        "author": "someone",
        "author_full": "Some One",
        "body": "higher!",
        "timestamp": TIME,
        "unix_timestamp": SECONDS,
        "likes": 4,
        "replies": 1,
        "post_id": ID,
        "is_comment_on_comment": "no",
    }
    answer = comment | {"id": "c2", "thread_id": "c1", "body": "it is windy", "is_comment_on_comment": "yes"}
    pyktok = {
        "video_id": "7301234567890123999",
        "video_timestamp": "2024-01-02T03:04:05",
        "video_duration": 9.0,
        "video_locationcreated": "DE",
        "video_diggcount": "33.0",
        "video_sharecount": "nan",
        "video_commentcount": "0.0",
        "video_playcount": "9007.0",
        "video_description": "Second flight",
        "video_is_ad": False,
        "author_username": "kite.kid",
        "author_name": "Kite Kid",
    }
    take(
        tmp_path,
        tiktok__csv=make_table(post),
        comments__csv=make_table(comment, answer),
        pyktok__csv=make_table(pyktok),
    )
    first, second = rows(tmp_path, "videos")
    assert get(first, "tags", "topics", "views") == (["kites", "wind"], ["Sports", "Outdoor"], 500)
    # pandas writes whole numbers with a point where a column has gaps: 9007.0 is not 90,070.
    assert get(second, "views", "likes", "comment_count", "duration") == (9007, 33, 0, 9.0)
    assert str(first["uploaded"]) == str(second["uploaded"]) == TIME
    assert first["uploader"] == second["uploader"]
    assert list_comments(tmp_path) == [(f"tiktok/{ID}", "c1", 4, ""), (f"tiktok/{ID}", "c2", 4, "c1")]


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


def test_apify_actors(tmp_path: Path) -> None:
    clip = {
        "title": "Kiln at night",
        "id": "abc_DEF-123",
        "url": "https://www.youtube.com/watch?v=abc_DEF-123",
        "viewCount": 9007,
        "date": "2024-01-02T03:04:05.000Z",
        "likes": None,
        "channelName": "Potters",
        "channelId": "UC1",
        "duration": "00:01:03",
        "commentsCount": "1.2K",
        "text": "glow",
        "hashtags": ["#kiln"],
    }
    comment = {
        "comment": "warm",
        "cid": "Ugx1",
        "author": "@potter",
        "videoId": "abc_DEF-123",
        "pageUrl": "https://www.youtube.com/watch?v=abc_DEF-123",
        "commentsCount": 171,
        "replyCount": 1,
        "voteCount": 2,
        "authorIsChannelOwner": False,
        "hasCreatorHeart": False,
        "type": "comment",
        "replyToCid": None,
        "title": "Kiln at night",
    }
    answer = comment | {"cid": "Ugx1.9", "type": "reply", "replyToCid": "Ugx1", "voteCount": 0}
    said = {
        "text": "yum",
        "diggCount": 2,
        "replyCommentTotal": None,
        "createTimeISO": "2024-01-02T03:04:05.000Z",
        "createTime": SECONDS,
        "uniqueId": "someone",
        "videoWebUrl": f"https://www.tiktok.com/@noodle_nan/video/{ID}?is_from_webapp=1",
        "cid": "c1",
        "repliesToId": None,
    }
    take(
        tmp_path,
        youtube__json=[clip],
        comments__csv=make_table(comment, answer),
        item__json=web_item(),
        tiktok__json=[said, said | {"cid": "c2", "repliesToId": "c1"}],
    )
    kiln = next(row for row in rows(tmp_path, "videos") if row["id"] == "abc_DEF-123")
    assert get(kiln, "views", "likes", "comment_count", "duration", "tags") == (
        9007,
        None,
        1200,
        63.0,
        ["kiln"],
    )
    assert list_comments(tmp_path) == [
        ("youtube/abc_DEF-123", "Ugx1", 2, ""),
        ("youtube/abc_DEF-123", "Ugx1.9", 0, "Ugx1"),
        (f"tiktok/{ID}", "c1", 2, ""),
        (f"tiktok/{ID}", "c2", 2, "c1"),
    ]


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


def test_tables_of_trending_videos(tmp_path: Path) -> None:
    video = {
        "video_id": "abc_DEF-123",
        "trending_date": "17.14.11",
        "title": "Kiln at night",
        "channel_title": "Potters",
        "category_id": "26",
        "publish_time": "2024-01-02T03:04:05.000Z",
        "tags": 'kiln|"night firing"',
        "views": 9000,
        "likes": 12,
        "comment_count": 3,
        "description": "glow",
    }
    later = video | {"views": 9007, "tags": "[none]"}
    other = video | {"video_id": "#NAME?"}
    # A video is listed on each day that it was trending, and a spreadsheet took an id for a formula.
    step = take(tmp_path, trending__csv=make_table(video, later, other))
    (row,) = rows(tmp_path, "videos")
    assert get(row, "views", "category", "tags") == (9007, "Howto & Style", [])
    assert step.record.counts[0].why == {"the same video twice": 1, "an id that is none of youtube": 1}


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


def flatten(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as pandas puts it into a table: what is inside as Python prints it."""
    return {
        name: repr(value) if isinstance(value, Mapping | Sequence) and not isinstance(value, str) else value
        for name, value in record.items()
    }
