"""A small world as a script around TikTokApi would have left it: videos and comments as TikTok's site gives them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vivant.core.progress import ProgressCallback, ignore_progress
from vivant_build.mimic.world import WorldPlan
from vivant_build.mimic.world.crawl import CrawledWorld

_FIRST_ID = 7_301_234_567_890_123_000
_FOLLOWERS = "name,followers\nMiraBakes7,1200\nOmarStudio12,88\n"


def write_web_crawl(
    out: Path,
    plan: WorldPlan,
    *,
    render_first: int = 0,
    broken: bool = True,
    size: tuple[int, int] = (128, 96),
    progress: ProgressCallback = ignore_progress,
) -> None:
    """Write OUT/videos.jsonl, OUT/comments.json and OUT/<id>.mp4 of the first `render_first` videos.

    A `broken` crawl ends with a slideshow and a line that breaks off, and has a table that is no list of videos.
    """
    out.mkdir(parents=True, exist_ok=True)
    names = [str(_FIRST_ID + number) for number in range(plan.videos + 2)]
    files = (out / f"{name}.mp4" for name in names[:render_first])
    comments: list[dict[str, Any]] = []
    lines: list[str] = []
    for name, info in zip(names, CrawledWorld(plan).iter_infos(files, size), strict=False):
        lines.append(json.dumps(make_web_item(name, info)))
        comments += [make_web_comment(name, comment) for comment in info["comments"]]
        progress(len(lines), plan.videos, "videos written")
    if broken:
        slideshow = json.loads(lines[-1]) | {"id": names[-2], "imagePost": {"images": []}}
        lines += [json.dumps(slideshow), f'{{"id": "{names[-1]}", "de']
        (out / "followers.csv").write_text(_FOLLOWERS, encoding="utf-8")
    (out / "videos.jsonl").write_text("\n".join([*lines, ""]), encoding="utf-8")
    page = {"comments": comments, "has_more": 0}
    (out / "comments.json").write_text(json.dumps(page), encoding="utf-8")


def make_web_item(name: str, info: dict[str, Any]) -> dict[str, Any]:
    """A video as TikTok's site gives it: a caption with hashtags in place of title, description and tags."""
    tags = [str(tag).replace(" ", "") for tag in info["tags"] or ()]
    maker = info["uploader"]
    return {
        "id": name,
        "desc": " ".join([info["title"] or "", *(f"#{tag}" for tag in tags)]),
        "createTime": info["timestamp"],
        "author": {"uniqueId": maker.lower(), "nickname": maker, "secUid": f"MS4w{info['channel_id']}"},
        "challenges": [{"title": tag} for tag in tags],
        "stats": {
            "diggCount": info["like_count"],
            "playCount": info["view_count"],
            "commentCount": info["comment_count"],
        },
        "video": {"duration": int(info["duration"]), "width": info["width"], "height": info["height"]},
    }


def make_web_comment(video: str, comment: dict[str, Any]) -> dict[str, Any]:
    """A comment as the site's list gives it."""
    author = comment["author"].lstrip("@")
    return {
        "cid": comment["id"],
        "aweme_id": video,
        "text": comment["text"],
        "create_time": comment["timestamp"],
        "digg_count": comment["like_count"],
        "reply_id": "0" if comment["parent"] == "root" else comment["parent"],
        "user": {"unique_id": author, "nickname": author.title()},
    }
