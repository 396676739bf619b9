"""Crawls of TikTok in the forms that scrapers write."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from tests.support.crawl_kit import ID, quarantine, rows, scraped, take, web_comment, web_item
from vivant_build.mimic.ingestion.crawl_forms import load_forms
from vivant_build.mimic.ingestion.values import (
    VideoRow,
)


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


def test_forms_name_fields_that_exist() -> None:
    forms = load_forms()
    for form in forms.videos:
        assert set(form.columns) <= set(VideoRow.__struct_fields__), form.name
        assert {"id", "uploader", "likes"} <= set(form.columns), form.name
    for form in forms.comments:
        assert set(form.columns) <= {"id", "video", "author", "text", "likes", "time", "reply_to"}, form.name
        assert isinstance(form.columns["id"], str), form.name
