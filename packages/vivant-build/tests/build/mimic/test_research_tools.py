"""Files as tools of media researchers write them: YouTube Data Tools, 4CAT, Zeeschuimer, Apify's tables, BBDown."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.build.mimic.test_scrapers import SECONDS, TIME, get, list_comments, make_table
from tests.support.crawl_kit import ID, quarantine, rows, take, web_comment, web_item

VIDEO = "kiln_-Night"
LISTED = {
    "position": 1,
    "channelId": "UCkilnkilnkilnkilnkiln_1",
    "channelTitle": "Potters",
    "videoId": VIDEO,
    "publishedAt": "2024-01-02T03:04:05Z",
    "publishedAtSQL": TIME,
    "videoTitle": "Kiln at night",
    "videoDescription": "glow and smoke",
    "tags": "kiln,glow",
    "videoCategoryId": "26",
    "videoCategoryLabel": "Howto & Style",
    "topicCategories": "Hobby,Lifestyle_(sociology)",
    "duration": "PT1M3S",
    "durationSec": 63,
    "dimension": "2d",
    "definition": "hd",
    "caption": "false",
    "defaultLanguage": "",
    "defaultLAudioLanguage": "en",
    "thumbnail_maxres": "",
    "licensedContent": 1,
    "viewCount": 9007,
    "likeCount": 33,
    "dislikeCount": "",
    "favoriteCount": 0,
    "commentCount": 3,
}


def test_youtube_data_tools_version_1(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    lines = ("\t".join(map(str, line)) for line in (LISTED, LISTED.values()))
    (crawl / "videolist_search10_2024_01_05-10_11_12.tab").write_text("\n".join(lines))
    said = {
        "id": "Ugx1",
        "replyCount": 1,
        "likeCount": 4,
        "publishedAt": TIME,
        "authorName": "Clay Fan",
        "text": "so <b>warm</b><br>I&#39;d like one",
        "authorChannelId": "UC2",
        "authorChannelUrl": "http://www.youtube.com/channel/UC2",
        "isReply": 0,
        "isReplyTo": "",
        "isReplyToName": "",
    }
    answer = said | {"id": "Ugx1.9", "text": "me too", "isReply": 1, "isReplyTo": "Ugx1", "likeCount": 0}
    name = f"videoinfo_{VIDEO}_2024_01_05-10_11_12"
    (crawl / f"{name}_comments.csv").write_text(make_table(said, answer))
    (crawl / f"{name}_authors.csv").write_text("author,count\nClay Fan,2\n")
    take(tmp_path)
    (video,) = rows(tmp_path, "videos")
    assert get(video, "title", "tags", "topics", "category", "language", "duration", "views", "likes") == (
        "Kiln at night",
        ["kiln", "glow"],
        ["Hobby", "Lifestyle (sociology)"],
        "Howto & Style",
        "en",
        63.0,
        9007,
        33,
    )
    assert list_comments(tmp_path) == [
        (f"youtube/{VIDEO}", "Ugx1", 4, ""),
        (f"youtube/{VIDEO}", "Ugx1.9", 0, "Ugx1"),
    ]
    assert rows(tmp_path, "comments")[0]["text"] == "so warm\nI'd like one"
    (left,) = quarantine(tmp_path)
    assert "_authors.csv" in left[0] and "author, count" in left[2]


def test_youtube_data_tools_version_2_and_a_table_on_its_side(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    said = {
        "videoId": VIDEO,
        "id": "Ugx1",
        "totalReplyCount": 0,
        "likeCount": 4,
        "publishedAt": TIME,
        "authorName": "@clay.fan",
        "authorChannelId": "UC2",
        "isChannelOwner": "no",
        "text": "so warm",
        "isReply": 0,
        "threadId": "Ugx1",
        "isReplyToId": "",
        "isReplyToName": "",
    }
    (crawl / "comments_3_videos.csv").write_text(make_table(said))
    (crawl / "videoinfo_basicinfo.csv").write_text(
        f"id,{VIDEO}\npublished,{TIME}\npublished_unix,{SECONDS}\ntitle,Kiln at night\ndescription,glow\n"
        "channelId,UC1\nchannelTitle,Potters\nduration,PT1M3S\nviewCount,9007\nlikeCount,33\ncommentCount,3\n"
    )
    take(tmp_path)
    (video,) = rows(tmp_path, "videos")
    assert get(video, "ref", "title", "views", "duration") == (
        f"youtube/{VIDEO}",
        "Kiln at night",
        9007,
        63.0,
    )
    assert str(video["uploaded"]) == TIME
    assert list_comments(tmp_path) == [(f"youtube/{VIDEO}", "Ugx1", 4, "")]
    assert not quarantine(tmp_path)


def test_tables_of_4cat(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    reel = {
        "collected_from_url": "https://www.instagram.com/explore/",
        "id": "C1fourCatAb",
        "timestamp": TIME,
        "thread_id": "C1fourCatAb",
        "url": "https://www.instagram.com/p/C1fourCatAb",
        "body": "Blue yarn #weaving",
        "author_id": "4",
        "author": "loom.lady",
        "author_fullname": "Loom Lady",
        "media_type": "video",
        "num_media": 1,
        "hashtags": "weaving",
        "play_count": 70,
        "likes_hidden": "no",
        "num_likes": 12,
        "num_comments": 2,
        "unix_timestamp": SECONDS,
    }
    (crawl / "instagram.csv").write_text(
        make_table(reel, reel | {"id": "C1picture00", "media_type": "photo"})
    )
    clip = {
        "collected_from_url": "https://www.douyin.com/",
        "id": ID,
        "thread_id": ID,
        "subject": "Post",
        "body": "蓝色的线 #织布",
        "timestamp": TIME,
        "post_url": f"https://www.douyin.com/video/{ID}",
        "hashtags": "织布",
        "video_tags": "手工,生活",
        "video_duration": 14000,
        "comment_count": 2,
        "digg_count": 12,
        "play_count": 0,
        "author_user_id": "68",
        "author_nickname": "织女",
        "unix_timestamp": SECONDS,
    }
    (crawl / "douyin.csv").write_text(make_table(clip, clip | {"id": "1", "subject": "Stream"}))
    found = {
        "retrieved": True,
        "type": "video",
        "url": f"https://youtube.com/watch?v={VIDEO}",
        "video_id": VIDEO,
        "upload_time": "2024-01-02T03:04:05Z",
        "channel_id": "UC1",
        "channel_title": "Potters",
        "video_title": "Kiln at night",
        "video_description": "glow",
        "video_duration": "PT1M3S",
        "video_view_count": 9007,
        "video_comment_count": 3,
        "video_likes_count": 33,
        "video_category_id": "26",
        "video_tags": "['kiln', 'glow']",
    }
    (crawl / "youtube.csv").write_text(make_table(found, found | {"type": "channel", "video_id": ""}))
    take(tmp_path)
    videos = {row["platform"]: row for row in rows(tmp_path, "videos")}
    assert get(videos["instagram"], "id", "tags", "views", "likes") == ("C1fourCatAb", ["weaving"], 70, 12)
    assert get(videos["douyin"], "id", "topics", "duration", "views") == (ID, ["手工", "生活"], 14.0, None)
    assert get(videos["youtube"], "tags", "category", "duration") == (["kiln", "glow"], "Howto & Style", 63.0)
    assert sorted(reason for _, _, reason in quarantine(tmp_path)) == [
        "a channel or a playlist, not a video",
        "a live stream, not a video",
        "pictures, not a video",
    ]


def test_zeeschuimer_wraps_what_the_sites_send(tmp_path: Path) -> None:
    def wrap(data: dict[str, object], platform: str) -> str:
        line = {
            "nav_index": "1:2:0",
            "item_id": data.get("id") or data.get("cid"),
            "timestamp_collected": 1704164645000,
            "last_updated": 1704164645000,
            "source_platform": platform,
            "source_platform_url": "https://www.tiktok.com/foryou",
            "source_url": "https://www.tiktok.com/",
            "user_agent": "Mozilla/5.0",
            "data": data,
            "id": 1,
        }
        return json.dumps(line) + "\n"

    crawl = tmp_path / "crawl"
    crawl.mkdir()
    (crawl / "zeeschuimer-export-tiktok.com.ndjson").write_text(wrap(web_item(), "tiktok.com"))
    comment = web_comment("c1", "the tension!")
    (crawl / "zeeschuimer-export-tiktok-comments.ndjson").write_text(
        wrap(comment | {"id": comment["cid"]}, "tiktok-comments")
    )
    take(tmp_path)
    (video,) = rows(tmp_path, "videos")
    assert video["ref"] == f"tiktok/{ID}"
    assert [row["ref"] for row in rows(tmp_path, "comments")] == [f"tiktok/{ID}"]
    assert not quarantine(tmp_path)


def test_columns_of_apify_are_put_together_again(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    row = {
        "authorMeta/id": "68",
        "authorMeta/name": "loom.lady",
        "collectCount": 2,
        "commentCount": 2,
        "createTimeISO": "2024-01-02T03:04:05.000Z",
        "diggCount": 12,
        "hashtags/0/name": "weaving",
        "hashtags/1/name": "loom",
        "hashtags/2/name": "",
        "id": ID,
        "isSlideshow": "false",
        "playCount": 900,
        "text": "Warp day",
        "videoMeta/duration": 31,
    }
    (crawl / "dataset_tiktok-scraper.csv").write_text(make_table(row))
    take(tmp_path)
    (video,) = rows(tmp_path, "videos")
    assert get(video, "id", "tags", "duration", "views") == (ID, ["weaving", "loom"], 31.0, 900)
    assert video["uploader"]
    assert not quarantine(tmp_path)


def test_tables_that_were_put_together_carelessly(tmp_path: Path) -> None:
    """One below the other with both headers; a column that is both a value and an object; and what is no file."""
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    table = f"id,text,authorMeta/name,authorMeta/name/first,diggCount\n{ID},Warp day,loom.lady,x,3\n"
    (crawl / "both.csv").write_text(table + table.replace(ID, ID[:-1] + "7"))
    os.mkfifo(crawl / "waiting.jsonl")
    take(tmp_path)
    assert [row["id"] for row in rows(tmp_path, "videos")] == [ID, ID[:-1] + "7"]
    assert quarantine(tmp_path) == [
        ("both.csv", "row 2", "the header again"),
        ("waiting.jsonl", "", "not read: a pipe or a device, not a file"),
    ]


def test_danmaku_beside_bbdowns_videos_are_named(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    (crawl / "clip.xml").write_text("<?xml version='1.0'?><i><d p='1.2,1,25'>haha</d></i>")
    (crawl / "videos.jsonl").write_text(json.dumps(web_item()))
    step = take(tmp_path)
    ((source, _, reason),) = quarantine(tmp_path)
    assert source == "clip.xml" and ".xml files are not opened" in reason
    assert any("Not read: clip.xml" in note for note in step.record.notes)
