"""Crawls in the forms that scrapers write: TikTok, Instagram, Bilibili, Shorts, and tables in a source folder."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vivant.build.mimic.ingestion import ingest
from vivant.build.mimic.ingestion.crawl_forms import load_forms
from vivant.build.mimic.ingestion.platform_ids import make_bvid, make_shortcode
from vivant.build.mimic.ingestion.values import (
    InvalidValueError,
    VideoRow,
    find_hashtags,
    make_title,
    parse_count,
    parse_row,
    parse_time,
)
from vivant.build.mimic.settings import PipelineSettings
from vivant.build.mimic.steps import BuildStep

ALONE = PipelineSettings(workers=1)
ID = "7301234567890123456"
"""Longer than a float can hold."""


def take(folder: Path, **files: Any) -> BuildStep:
    """Ingest files of these contents: JSON, or text as it is."""
    crawl = folder / "crawl"
    crawl.mkdir(exist_ok=True)
    for name, content in files.items():
        path = crawl / name.replace("__", ".")
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return ingest(folder / "work", [crawl], ALONE)


def rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    return pl.read_parquet(folder / "work" / "ingest" / kind / "*.parquet").sort("id").to_dicts()


def quarantine(folder: Path) -> list[tuple[str, str, str]]:
    table = pl.read_parquet(folder / "work" / "ingest" / "quarantine.parquet")
    return list(table.select("source", "item", "reason").iter_rows())


def web_item(**changes: Any) -> dict[str, Any]:
    return {
        "id": ID,
        "desc": "Grandma tries ramen #ramen#fyp @bowl.club\nsecond line",
        "createTime": "1699999999",
        "author": {
            "id": "68",
            "uniqueId": "noodle_nan",
            "nickname": "Noodle Nan",
            "secUid": "MS4wLj",
            "signature": "hi",
        },
        "music": {"title": "original sound", "authorName": "Noodle Nan", "original": True},
        "challenges": [{"id": "1", "title": "ramen", "desc": ""}, {"id": "2", "title": "fyp"}],
        "textExtra": [
            {"hashtagName": "ramen", "type": 1},
            {"hashtagName": "", "userUniqueId": "bowl.club", "type": 0},
        ],
        "stats": {
            "diggCount": 1200,
            "shareCount": 3,
            "commentCount": 2,
            "playCount": 90000,
            "collectCount": 4,
        },
        "statsV2": {"diggCount": "1234", "commentCount": "2", "playCount": "90001", "repostCount": "0"},
        "video": {"id": ID, "duration": 14, "width": 576, "height": 1024},
        "textLanguage": "en",
        "isAd": False,
    } | changes


def web_comment(cid: str, text: str, **changes: Any) -> dict[str, Any]:
    return {
        "cid": cid,
        "aweme_id": ID,
        "text": text,
        "create_time": 1700000001,
        "digg_count": 7,
        "reply_id": "0",
        "reply_to_reply_id": "0",
        "reply_comment": None,
        "reply_comment_total": 0,
        "user": {"uid": "9", "unique_id": "someone", "nickname": "Some One"},
        "image_list": None,
    } | changes


def test_tiktok_web_items_and_comments(tmp_path: Path) -> None:
    reply = web_comment("c2", "same here", reply_id="c1", digg_count=1)
    pages = [
        {
            "comments": [web_comment("c1", "she is so real", reply_comment=[reply]), reply],
            "has_more": 1,
            "total": 3,
        },
        {"comments": [web_comment("c3", "", image_list=[{}]), "torn"], "has_more": 0, "total": 3},
        {"comments": None, "has_more": 0},
    ]
    step = take(
        tmp_path,
        items__json={"itemList": [web_item(), web_item(id="2", imagePost={"images": []}), {"status": 10204}]},
        comments__jsonl="\n".join(map(json.dumps, pages)),
    )
    (video,) = rows(tmp_path, "videos")
    assert video["ref"] == f"tiktok/{ID}"
    assert video["title"].startswith("Grandma tries ramen") and "#" not in video["title"]
    assert "second line" in video["description"]
    assert (video["tags"], video["language"], video["duration"]) == (["ramen", "fyp"], "en", 14.0)
    assert (video["views"], video["likes"], video["comment_count"]) == (90001, 1234, 2)
    assert str(video["uploaded"]) == "2023-11-14 22:13:19"
    assert "noodle" not in json.dumps(video, default=str).lower()
    comments = rows(tmp_path, "comments")
    assert [(c["id"], c["text"], c["likes"], c["reply_to"]) for c in comments] == [
        ("c1", "she is so real", 7, ""),
        ("c2", "same here", 1, "c1"),
    ]
    assert step.record.counts[0].why == {
        "pictures, not a video": 1,
        "no record of a known form": 2,
    }
    places = {(source, item) for source, item, _ in quarantine(tmp_path)}
    assert {("items.json", "itemList[2]"), ("items.json", "itemList[3]")} <= places
    assert ("comments.jsonl:2", "comments[2]") in places and ("comments.jsonl:3", "") not in places
    assert step.record.counts[1].why == {"the same comment twice": 1, "no text": 1}


def test_names_of_makers_and_commenters_leave_every_text(tmp_path: Path) -> None:
    user = {"uid": "9", "unique_id": "quiet_kettle77", "nickname": "K"}
    comments = [
        web_comment("c1", "first", user=user),
        web_comment("c2", "quiet_kettle77 was faster, Noodle_Nan"),
    ]
    take(tmp_path, items__json=[web_item()], comments__json={"comments": comments})
    texts = [comment["text"] for comment in rows(tmp_path, "comments")]
    assert texts[0] == "first" and "was faster" in texts[1]
    assert "kettle" not in texts[1] and "noodle" not in texts[1].lower()


def test_a_mention_by_a_name_with_spaces_leaves_whole(tmp_path: Path) -> None:
    """TikTok shows people by nickname; only the places beside the text tell where such a mention ends."""
    text = "why does @Bowl d’Amico have more 😂"
    place = {"start": 9, "end": 22, "user_id": "58", "hashtag_name": "", "sec_uid": "MS4"}
    item = web_item(
        desc="With @Soup Queen at last", textExtra=[{"start": 5, "end": 16, "userUniqueId": "sq", "type": 0}]
    )
    take(
        tmp_path,
        items__json=[item],
        comments__json={"comments": [web_comment("c1", text, text_extra=[place])]},
    )
    (video,), (comment,) = rows(tmp_path, "videos"), rows(tmp_path, "comments")
    assert comment["text"] == "why does have more 😂"
    assert (video["title"], video["description"]) == ("With at last", "With at last")


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


def test_records_that_look_like_youtubes_with_ids_of_another_site(tmp_path: Path) -> None:
    other = {"videoId": ID, "title": "t", "viewCount": 5, "channelTitle": "c", "likeCount": 1}
    step = take(tmp_path, items__json=[web_item()], channel__json=[other])
    assert step.record.counts[0].why == {"an id that is none of youtube": 1}
    assert (
        "channel.json",
        "[1]",
        f"an id that is none of youtube ({ID}); write a mapping for such records",
    ) in (quarantine(tmp_path))


def test_tiktok_item_module_with_a_bare_author(tmp_path: Path) -> None:
    old = web_item(author="noodle_nan", authorSecId="MS4wLj", nickname="Noodle Nan", statsV2=None)
    step = take(tmp_path, page__json={"ItemModule": {ID: old, "13": None, "14": {"id": "14"}}})
    (video,) = rows(tmp_path, "videos")
    assert (video["likes"], len(video["uploader"])) == (1200, 16)
    assert step.record.counts[0].why == {"no record of a known form": 1}
    assert ("page.json", "ItemModule.14") in {(source, item) for source, item, _ in quarantine(tmp_path)}


def test_tiktok_app_items(tmp_path: Path) -> None:
    aweme = {
        "aweme_id": ID,
        "desc": "fold it like this",
        "create_time": 1699999999,
        "author": {"uid": "68", "unique_id": "noodle_nan", "sec_uid": "MS4wLj"},
        "statistics": {"digg_count": 5, "play_count": 80, "comment_count": 1, "collect_count": 0},
        "text_extra": [{"hashtag_name": "origami"}, {"user_id": "3"}],
        "cha_list": [{"cha_name": "paper"}],
        "video": {"duration": 15033, "width": 720, "height": 1280},
    }
    take(tmp_path, feed__json={"aweme_list": [aweme], "has_more": 1})
    (video,) = rows(tmp_path, "videos")
    assert (video["duration"], video["tags"], video["views"]) == (15.033, ["origami"], 80)


def test_tiktok_research_api(tmp_path: Path) -> None:
    error = {"code": "ok", "message": "", "log_id": "2022"}
    videos = {
        "data": {
            "videos": [
                {
                    "id": int(ID),
                    "video_description": "how we carve spoons #woodwork",
                    "create_time": 1699999999,
                    "region_code": "US",
                    "share_count": 1,
                    "view_count": 500,
                    "like_count": 20,
                    "comment_count": 2,
                    "hashtag_names": ["woodwork"],
                    "username": "spoonery",
                    "voice_to_text": "",
                    "video_duration": 31,
                },
            ],
            "cursor": 100,
            "has_more": False,
            "search_id": "71",
        },
        "error": error,
    }
    comment = {
        "id": 11,
        "video_id": int(ID),
        "text": "smooth",
        "like_count": 4,
        "reply_count": 1,
        "create_time": 1700000000,
    }
    comments = {
        "data": {
            "comments": [
                comment | {"parent_comment_id": int(ID)},
                comment | {"id": 12, "text": "agreed", "parent_comment_id": 11},
            ],
            "cursor": 2,
            "has_more": False,
        },
        "error": error,
    }
    take(tmp_path, videos__json=videos, comments__json=comments)
    (video,) = rows(tmp_path, "videos")
    assert (video["id"], video["title"], video["tags"]) == (ID, "how we carve spoons", ["woodwork"])
    assert (video["views"], video["likes"], video["duration"]) == (500, 20, 31.0)
    assert [(c["id"], c["reply_to"]) for c in rows(tmp_path, "comments")] == [("11", ""), ("12", "11")]


def test_yt_dlp_on_tiktok_and_instagram(tmp_path: Path) -> None:
    caption = "I rebuilt the whole garden shed with nothing but pallets and one very patient dog #diy #shed"
    tiktok = {
        "id": ID,
        "title": f"{caption[:69]}...",
        "description": caption,
        "extractor": "TikTok",
        "extractor_key": "TikTok",
        "uploader": "shed_lady",
        "uploader_id": "68",
        "channel": "Shed Lady",
        "channel_id": "MS4wLj",
        "timestamp": 1699999999,
        "duration": 31,
        "view_count": 10,
        "like_count": 2,
        "repost_count": 0,
        "comment_count": 1,
        "save_count": 0,
        "track": "original sound",
        "artists": ["Shed Lady"],
        "webpage_url": f"https://www.tiktok.com/@shed_lady/video/{ID}",
        "_type": "video",
    }
    reel = {
        "id": "CsHeD123",
        "title": "Video by shed_lady",
        "description": "paint day\n#diy",
        "extractor_key": "Instagram",
        "uploader": "Shed Lady",
        "uploader_id": "42",
        "channel": "shed_lady",
        "timestamp": 1699999999,
        "like_count": 3,
        "comments": [{"id": "5", "text": "wow", "author": "x", "like_count": None, "timestamp": 1700000000}],
    }
    # `--dump-json` prints one line per video; `--write-info-json` writes a file.
    take(tmp_path, a__info__json=tiktok, all__jsonl=f"{json.dumps(reel)}\n")
    clip, short = rows(tmp_path, "videos")
    assert (
        clip["title"] == "I rebuilt the whole garden shed with nothing but pallets and one very patient dog"
    )
    assert (clip["tags"], clip["category"]) == (["diy", "shed"], "")
    assert clip["source"] == f"https://www.tiktok.com/@_/video/{ID}"
    assert (short["ref"], short["title"], short["tags"]) == ("instagram/CsHeD123", "paint day", ["diy"])
    assert [c["text"] for c in rows(tmp_path, "comments")] == ["wow"]


def scraped(**changes: Any) -> dict[str, Any]:
    return {
        "id": ID,
        "text": "one pan dinner #easy",
        "createTime": "1699999999",
        "authorMeta": {"id": "68", "name": "pan_fan", "nickName": "Pan Fan", "fans": 3, "heart": "10"},
        "musicMeta": {"musicId": "1", "musicName": "x", "musicOriginal": True},
        "videoMeta": {"width": 480, "height": 864, "ratio": 14, "duration": 14},
        "diggCount": 2104,
        "shareCount": 1,
        "playCount": 9007,
        "commentCount": 50,
        "mentions": [],
        "hashtags": [{"id": "6", "name": "easy", "title": ""}],
        "downloaded": True,
    } | changes


def test_tiktok_scraper_as_json_and_as_table(tmp_path: Path) -> None:
    flat: dict[str, Any] = {}
    for name, value in scraped(id="22", playCount="9.1K").items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": each for inner, each in value.items()}
        else:
            flat[name] = json.dumps(value) if isinstance(value, list) else value
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    (crawl / f"{ID}.mp4").write_bytes(b"video")
    with (crawl / "user_1699.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(flat))
        writer.writeheader()
        writer.writerow(flat)
        writer.writerow(flat | {"id": "7.30123E+18"})
        file.write(",".join(["x"] * (len(flat) + 2)) + "\r\n")
    step = take(tmp_path, hashtag_1__json={"collector": [scraped()], "zip": "", "json": "", "csv": ""})
    small, large = rows(tmp_path, "videos")
    assert (large["id"], large["file"], large["views"]) == (ID, f"{ID}.mp4", 9007)
    assert (small["id"], small["tags"], small["views"], small["duration"]) == ("22", ["easy"], 9100, 14.0)
    assert small["uploader"] == large["uploader"]
    assert step.record.counts[0].why == {"its id was rounded": 1, "broken row": 1}
    places = {(source, item) for source, item, _ in quarantine(tmp_path)}
    assert {("user_1699.csv, row 2", ""), ("user_1699.csv", "row 3")} <= places


def test_apify_comments_name_their_video_by_its_address(tmp_path: Path) -> None:
    comment = {
        "cid": "c1",
        "text": "yum",
        "diggCount": 2,
        "replyCommentTotal": 0,
        "repliesToId": None,
        "uniqueId": "someone",
        "createTimeISO": "2024-01-02T03:04:05.000Z",
        "videoWebUrl": f"https://www.tiktok.com/@pan_fan/video/{ID}",
    }
    take(tmp_path, posts__json=[scraped()], comments__json=[comment])
    assert [(c["ref"], c["likes"]) for c in rows(tmp_path, "comments")] == [(f"tiktok/{ID}", 2)]


def test_instagram_reels(tmp_path: Path) -> None:
    node = {
        "shortcode": "CgraphQL1",
        "is_video": True,
        "edge_media_to_caption": {"edges": [{"node": {"text": "surf check"}}]},
        "taken_at_timestamp": 1699999999,
        "edge_media_preview_like": {"count": -1},
        "video_view_count": 77,
        "owner": {"id": "4", "username": "wave.watcher"},
        "edge_media_to_parent_comment": {
            "count": 1,
            "edges": [
                {
                    "node": {
                        "id": "1",
                        "text": "cold?",
                        "created_at": 1700000000,
                        "owner": {"username": "x"},
                        "edge_liked_by": {"count": 3},
                        "edge_threaded_comments": {
                            "count": 1,
                            "edges": [
                                {
                                    "node": {
                                        "id": "2",
                                        "text": "very",
                                        "created_at": 1700000001,
                                        "edge_liked_by": {"count": 0},
                                    }
                                }
                            ],
                        },
                    }
                }
            ],
        },
    }
    app = {
        "pk": 31,
        "code": "CappItem22",
        "taken_at": 1699999999,
        "caption": None,
        "media_type": 2,
        "like_count": 9,
        "play_count": 100,
        "comment_count": 0,
        "user": {"pk": 4, "username": "wave.watcher"},
        "video_duration": 8.5,
    }
    apify = {
        "shortCode": "DapifyRee",
        "type": "Video",
        "caption": "board wax\n#surf",
        "hashtags": ["surf"],
        "likesCount": 12,
        "commentsCount": 1,
        "videoPlayCount": 300,
        "timestamp": "2024-01-02T03:04:05.000Z",
        "ownerUsername": "wave.watcher",
        "latestComments": [
            {
                "id": "9",
                "text": "nice",
                "ownerUsername": "x",
                "likesCount": 1,
                "timestamp": "2024-01-03T00:00:00.000Z",
                "replies": [],
            }
        ],
    }
    step = take(
        tmp_path,
        node__json={"node": node, "instaloader": {"version": "4"}},
        clips__json={"items": [{"media": app}, {"media": app | {"code": "Pic", "media_type": 1}}]},
        dataset__json=[apify],
    )
    by_id = {row["id"]: row for row in rows(tmp_path, "videos")}
    assert (by_id["CgraphQL1"]["likes"], by_id["CgraphQL1"]["views"]) == (None, 77)
    assert (by_id["CappItem22"]["title"], by_id["CappItem22"]["duration"]) == ("", 8.5)
    assert (by_id["DapifyRee"]["title"], by_id["DapifyRee"]["tags"]) == ("board wax", ["surf"])
    assert [(c["id"], c["likes"], c["reply_to"]) for c in rows(tmp_path, "comments")] == [
        ("1", 3, ""),
        ("2", 0, "1"),
        ("9", 1, ""),
    ]
    assert step.record.counts[0].why == {"pictures, not a video": 1}


def test_bilibili_and_shorts(tmp_path: Path) -> None:
    view = {
        "code": 0,
        "data": {
            "bvid": "BV17x411w7KC",
            "aid": 170001,
            "title": "煮面",
            "desc": "-",
            "tname": "美食",
            "pubdate": 1699999999,
            "duration": 50,
            "owner": {"mid": 7, "name": "面条"},
            "stat": {"view": 5, "danmaku": 1, "reply": 2, "like": 3, "coin": 0},
        },
    }
    reply = {
        "rpid": 100,
        "oid": 170001,
        "root": 0,
        "parent": 0,
        "ctime": 1700000000,
        "like": 6,
        "rcount": 1,
        "member": {"mid": "8", "uname": "x"},
        "content": {"message": "好吃"},
        "replies": None,
    }
    answer = reply | {"rpid": 101, "root": 100, "parent": 100, "like": 0, "content": {"message": "对"}}
    short = {
        "id": "sH0rt_id-01",
        "title": "Ice in one cut",
        "viewCount": 3400,
        "likes": 12,
        "date": "2024-01-02T03:04:05.000Z",
        "channelName": "Cutters",
        "channelId": "UC1",
        "duration": "0:45",
        "commentsCount": None,
        "text": "",
        "hashtags": ["#ice"],
        "type": "shorts",
    }
    take(
        tmp_path,
        view__json=view,
        reply__json={"code": 0, "data": {"replies": [reply | {"replies": [answer]}], "page": {"num": 1}}},
        shorts__ndjson=json.dumps(short),
    )
    panel, cut = rows(tmp_path, "videos")
    assert (panel["ref"], panel["description"], panel["category"]) == ("bilibili/BV17x411w7KC", "", "美食")
    assert (cut["ref"], cut["duration"], cut["likes"]) == ("youtube/sH0rt_id-01", 45.0, 12)
    comments = rows(tmp_path, "comments")
    assert [(c["ref"], c["id"], c["reply_to"]) for c in comments] == [
        ("bilibili/BV17x411w7KC", "100", ""),
        ("bilibili/BV17x411w7KC", "101", "100"),
    ]
    assert make_bvid(111298867365120) == "BV1L9Uoa9EUx"
    assert make_shortcode(482584233761418119) == "aye83DjauH"


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
    (note,) = step.record.notes
    assert note.startswith("Not read: dump.zip, people.csv. ")
    assert step.record.counts[0].into == 2


def test_the_mapping_of_the_docs_reads_its_table(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "mimic-pipeline.md"
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


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1.2K", 1200),
        ("1,2 Mio.", 1_200_000),
        ("3.4万", 34_000),
        ("2억", 200_000_000),
        ("12\N{NO-BREAK SPACE}345", 12345),
    ],
)
def test_counts_as_platforms_show_them(text: str, count: int) -> None:
    assert parse_count(text) == count


def test_values_that_mislead() -> None:
    assert parse_time(1699999999000) == parse_time("1699999999000") == 1699999999
    assert find_hashtags("a #one#two, ＃三四 #5 #one") == ["one", "two", "三四"]
    assert make_title("#a #b\n\nwords here #c") == "words here"
    assert make_title("#a 🔥") == ""
    with pytest.raises(InvalidValueError, match="rounded"):
        parse_row({"platform": "tiktok", "id": 7.3e18})


def test_forms_name_fields_that_exist() -> None:
    forms = load_forms()
    for form in forms.videos:
        assert set(form.columns) <= set(VideoRow.__struct_fields__), form.name
        assert {"id", "uploader", "likes"} <= set(form.columns), form.name
    for form in forms.comments:
        assert set(form.columns) <= {"id", "video", "author", "text", "likes", "time", "reply_to"}, form.name
        assert isinstance(form.columns["id"], str), form.name
