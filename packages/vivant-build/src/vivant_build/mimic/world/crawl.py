"""A small world as a crawler would have left it: `.info.json` files with names, links and accidents, and videos."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vivant.core.progress import ProgressCallback, ignore_progress
from vivant.core.randomness import derive_generator
from vivant_build.mimic.world import TRUTH, WorldPlan
from vivant_build.mimic.world.phrases import Phrases
from vivant_build.mimic.world.platform import make_platform
from vivant_build.mimic.world.rendering import render_video
from vivant_build.mimic.world.threads import generate_comments
from vivant_build.mimic.world.truth import make_truth_table

_KEYS = {"youtube": "Youtube", "tiktok": "TikTok"}
_NAMES = ("Mira", "Tomas", "Aiko", "Farid", "Lena", "Juan", "Priya", "Omar", "Wei", "Greta", "Sami", "Noor")
_TRADES = ("Bakes", "Builds", "Travels", "Plays", "Daily", "Studio", "Workshop", "Kitchen")
_SECONDS = 2.0
ACCIDENTS = (
    "cut in half",
    "empty",
    "not JSON",
    "nulls",
    "counts as text",
    "negative counts",
    "in Latin-1",
    "in UTF-16",
    "no id",
    "a playlist",
)
"""What happens to some files, in turn."""


def write_crawl(
    out: Path,
    plan: WorldPlan,
    *,
    render_first: int = 0,
    broken: float = 0.02,
    size: tuple[int, int] = (128, 96),
    progress: ProgressCallback = ignore_progress,
) -> dict[str, int]:
    """Write OUT/<platform>/<id>.info.json, the first `render_first` videos beside them, and OUT/truth.parquet.

    Returns how many files had which accident. The share `broken` of the files has one.
    """
    for name in _KEYS:
        (out / name).mkdir(parents=True, exist_ok=True)
    world = CrawledWorld(plan)
    happened: dict[str, int] = {}
    files = (out / f"{ref}.mp4" for ref in world.refs[:render_first])
    for number, info in enumerate(world.iter_infos(files, size)):
        content = json.dumps(info).encode()
        if number >= render_first and world.rng.random() < broken:
            accident = ACCIDENTS[sum(happened.values()) % len(ACCIDENTS)]
            content = _break_content(accident, info, content)
            happened[accident] = happened.get(accident, 0) + 1
        (out / f"{world.refs[number]}.info.json").write_bytes(content)
        progress(number + 1, plan.videos, "videos written")
    pq.write_table(make_truth_table(world.phrases, world.platform), out / TRUTH)
    return happened


class CrawledWorld:
    """A world whose videos are told one after the other, as yt-dlp would describe them."""

    def __init__(self, plan: WorldPlan) -> None:
        self.phrases = Phrases()
        self.platform = make_platform(self.phrases, plan.videos, plan.comments, plan.seed, plan.shares)
        self.refs: list[str] = self.platform.table["ref"].to_pylist()
        self.rng = derive_generator(plan.seed, "mimic-world", "crawl")
        self._seed = plan.seed

    def iter_infos(self, files: Iterator[Path], size: tuple[int, int]) -> Iterator[dict[str, Any]]:
        """Each video with its comments; the first are drawn, as long as there are `files` to draw into."""
        threads = _iter_threads(generate_comments(self.phrases, self.platform, self._seed))
        waiting = next(threads, None)
        for number, video in enumerate(self.platform.table.to_pylist()):
            comments: list[dict[str, Any]] = []
            if waiting is not None and waiting[0] == video["ref"]:
                comments, waiting = waiting[1], next(threads, None)
            info = _make_info(video, comments, self.rng)
            if file := next(files, None):
                topic = self.phrases.topics[int(self.platform.topic[number])]
                render_video(topic, int(self.platform.clip_seed[number]), file, size=size, seconds=_SECONDS)
                info |= {"duration": _SECONDS, "width": size[0], "height": size[1], "ext": "mp4"}
            yield info


def _iter_threads(tables: Iterator[pa.Table]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The comments of one video after the other, in the order of the videos."""
    ref, comments = "", list[dict[str, Any]]()
    for table in tables:
        for row in table.to_pylist():
            if row["ref"] != ref:
                if comments:
                    yield ref, comments
                ref, comments = row["ref"], []
            comments.append(row)
    if comments:
        yield ref, comments


def _make_info(video: dict[str, Any], comments: list[dict[str, Any]], rng: Random) -> dict[str, Any]:
    person = Random(video["uploader"])
    name = f"{person.choice(_NAMES)}{person.choice(_TRADES)}{person.randint(1, 99)}"
    uploaded = video["uploaded"]
    description = video["description"]
    if rng.random() < 0.3:
        description += (
            f" Follow @{name} or write to {name.lower()}@example.com, shop: https://example.com/{name}"
        )
    page = f"https://{video['platform']}.example/{video['id']}"
    return {
        "id": video["id"],
        "extractor_key": _KEYS[video["platform"]],
        "extractor": video["platform"],
        "_type": "video",
        "webpage_url": page,
        "title": video["title"] or None,
        "description": description,
        "uploader": name,
        "uploader_id": f"@{name}",
        "channel_id": f"UC{video['uploader']}",
        "upload_date": uploaded.strftime("%Y%m%d"),
        "timestamp": int(uploaded.timestamp()),
        "duration": video["duration"],
        "width": video["width"],
        "height": video["height"],
        "view_count": video["views"],
        "like_count": video["likes"],
        "comment_count": video["comment_count"],
        "tags": video["tags"],
        "topics": video["topics"],
        "categories": [video["category"]],
        "language": video["language"] or None,
        "license": video["licence"] or None,
        "formats": [
            {"format_id": str(n), "url": f"{page}/{n}", "ext": "mp4", "height": n} for n in (240, 480)
        ],
        "comments": [_make_comment(row, rng) for row in comments],
    }


def _make_comment(row: dict[str, Any], rng: Random) -> dict[str, Any]:
    author = f"@{rng.choice(_NAMES).lower()}{rng.randint(1, 9999)}"
    text = row["text"]
    if rng.random() < 0.04:
        text = f"@{rng.choice(_NAMES).lower()}{rng.randint(1, 9999)} {text}"
    return {
        "id": row["id"],
        "parent": row["reply_to"] or "root",
        "text": text,
        "like_count": row["likes"],
        "author": author,
        "author_id": author,
        "timestamp": int(row["time"].timestamp()),
        "author_is_uploader": False,
    }


def _break_content(accident: str, info: dict[str, Any], content: bytes) -> bytes:
    if accident == "cut in half":
        return content[: len(content) // 2]
    if accident == "empty":
        return b""
    if accident == "not JSON":
        return b"<html><body>429 Too Many Requests</body></html>"
    if accident == "in Latin-1":
        words = {
            "title": "Caf\u00e9 am S\u00fcdufer, \u00e0 bient\u00f4t",
            "description": "d\u00e9j\u00e0 vu",
            "tags": [],
            "comments": [],
        }
        return json.dumps(info | words, ensure_ascii=False).encode("latin-1", "replace")
    if accident == "in UTF-16":
        return json.dumps(info, ensure_ascii=False).encode("utf-16")
    changes: dict[str, dict[str, Any]] = {
        "nulls": {"title": None, "description": None, "tags": None, "view_count": None, "comments": None},
        "counts as text": {"view_count": "12,345", "like_count": "1.2K", "comment_count": "many"},
        "negative counts": {"view_count": -5, "like_count": -1},
        "no id": {"id": None},
        "a playlist": {"_type": "playlist"},
    }
    return json.dumps(info | changes[accident]).encode()
