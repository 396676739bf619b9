"""Answers of the YouTube Data API: lists of videos, of comment threads and of comments, as JSON or JSON lines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vivant.build.mimic.ingest.reading import as_utf8, loosely
from vivant.build.mimic.ingest.values import Wrong, loose_row, plain
from vivant.build.mimic.ingest.writer import Writer
from vivant.build.mimic.ingest.ytdlp import Defaults, take_loose_comments

CATEGORIES = {
    "1": "Film & Animation", "2": "Autos & Vehicles", "10": "Music", "15": "Pets & Animals", "17": "Sports",
    "18": "Short Movies", "19": "Travel & Events", "20": "Gaming", "21": "Videoblogging", "22": "People & Blogs",
    "23": "Comedy", "24": "Entertainment", "25": "News & Politics", "26": "Howto & Style", "27": "Education",
    "28": "Science & Technology", "29": "Nonprofits & Activism",
}  # fmt: skip
_ADDRESS = "https://www.youtube.com/watch?v="


def take_answers(path: Path, media: Path, writer: Writer, defaults: Defaults) -> None:
    """Read a file of answers into the writer. Comments may come before, after or without their videos."""
    source = os.path.relpath(path, media)
    try:
        for number, answer in _answers(path, source, writer):
            _take(answer, f"{source}:{number}" if number else source, writer, defaults)
    except Wrong as wrong:
        writer.leave(source, "", str(wrong), kind=str(wrong).partition(" after ")[0].partition(":")[0])
    except OSError as error:
        writer.leave(source, "", f"cannot be read: {error.strerror}", kind="cannot be read")


def _answers(path: Path, source: str, writer: Writer) -> Iterator[tuple[int, Any]]:
    if path.suffix != ".jsonl":
        yield 0, loosely(as_utf8(path.read_bytes())[0])
        return
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield number, loosely(as_utf8(line)[0])
                except Wrong as wrong:
                    writer.leave(source, f"line {number}", str(wrong), kind="broken line")


def _take(answer: Any, source: str, writer: Writer, defaults: Defaults) -> None:
    items = answer.get("items", [answer]) if isinstance(answer, Mapping) else answer
    if not isinstance(items, list):
        raise Wrong("no answer of the YouTube Data API: `items` is not a list")
    for number, item in enumerate(items, 1):
        kind = item.get("kind", "") if isinstance(item, Mapping) else ""
        snippet = item.get("snippet") if isinstance(item, Mapping) else None
        place = f"item {number}"
        if not isinstance(snippet, Mapping):
            writer.leave(source, place, "no `snippet` in it", kind="no snippet")
        elif kind == "youtube#commentThread" or "topLevelComment" in snippet:
            _thread(item, writer)
        elif kind == "youtube#comment" or "textDisplay" in snippet or "textOriginal" in snippet:
            _comments(str(snippet.get("videoId") or ""), [item], writer)
        elif kind in ("youtube#video", ""):
            _video(item, snippet, source, place, writer, defaults)
        else:
            writer.leave(
                source, place, f"a {kind}, not a video or a comment", kind="not a video or a comment"
            )


def _part(item: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = item.get(name)
    return found if isinstance(found, Mapping) else {}


def _video(
    item: Mapping[str, Any],
    snippet: Mapping[str, Any],
    source: str,
    place: str,
    writer: Writer,
    defaults: Defaults,
) -> None:
    statistics, details = _part(item, "statistics"), _part(item, "contentDetails")
    name = item.get("id")
    if isinstance(name, Mapping):  # an answer of `search`
        name = name.get("videoId")
    topics = _part(item, "topicDetails").get("topicCategories")
    number = str(snippet.get("categoryId") or "")
    fields = {
        "platform": "youtube",
        "id": name,
        "uploader": snippet.get("channelId") or snippet.get("channelTitle"),
        "title": snippet.get("title"),
        "description": snippet.get("description"),
        "tags": snippet.get("tags"),
        "topics": [str(one).rsplit("/", 1)[-1].replace("_", " ") for one in topics]
        if isinstance(topics, list)
        else None,
        "category": CATEGORIES.get(number, number),
        "language": snippet.get("defaultAudioLanguage") or snippet.get("defaultLanguage"),
        "uploaded": snippet.get("publishedAt"),
        "duration": details.get("duration"),
        "views": statistics.get("viewCount"),
        "likes": statistics.get("likeCount"),
        "comment_count": statistics.get("commentCount"),
        "licence": _part(item, "status").get("license") or defaults.licence,
        "source": f"{_ADDRESS}{name}" if name else None,
    }
    try:
        row, problems = loose_row(fields)
    except Wrong as wrong:
        writer.leave(source, place, str(wrong))
        return
    ref = writer.video(row)
    for problem in problems:
        writer.mend(source, ref, problem)


def _thread(item: Mapping[str, Any], writer: Writer) -> None:
    snippet = _part(item, "snippet")
    replies = _part(item, "replies").get("comments")
    comments = [snippet.get("topLevelComment"), *(replies if isinstance(replies, list) else [])]
    _comments(str(snippet.get("videoId") or ""), comments, writer)


def _comments(video: str, comments: list[Any], writer: Writer) -> None:
    made: list[Any] = []
    for comment in comments:
        snippet = _part(comment, "snippet") if isinstance(comment, Mapping) else {}
        video = video or str(snippet.get("videoId") or "")
        words = snippet.get("textOriginal")
        made.append(
            {
                "id": comment.get("id"),
                "text": plain(str(snippet.get("textDisplay") or "")) if words is None else words,
                "like_count": snippet.get("likeCount"),
                "timestamp": snippet.get("publishedAt"),
                "parent": snippet.get("parentId"),
            }
            if snippet
            else comment
        )
    if not video:
        writer.leave_comments("youtube/", "no videoId", len(made), new=True)
        return
    take_loose_comments(f"youtube/{video}", made, (), writer)
