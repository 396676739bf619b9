"""Records as scraping services, and the tables of researchers' tools, hold them: their fields, names and types."""

from __future__ import annotations

import json
from pathlib import Path

from tests.build.mimic.test_scrapers import SECONDS, TIME, get, list_comments, make_table
from tests.support.crawl_kit import ID, quarantine, rows, take, web_item


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
