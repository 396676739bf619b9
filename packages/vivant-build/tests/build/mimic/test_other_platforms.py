"""Crawls of Instagram, Bilibili and YouTube Shorts in the forms that scrapers write."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.crawl_kit import rows, take
from vivant_build.mimic.ingestion.platform_ids import make_bvid, make_shortcode


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
