"""Small crawls in the forms that scrapers write, and what ingest makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from vivant_build.mimic.ingestion import ingest
from vivant_build.mimic.settings import PipelineSettings
from vivant_build.mimic.steps import BuildStep

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
