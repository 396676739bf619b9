"""Clean Parquet → whole videos with their most-liked comments, one at a time, in the format of the benchmark."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from vivant.benchmarks.mimic.format import Comment, MimicVideo
from vivant_build.mimic.database import parquet_source
from vivant_build.mimic.ids_edition import video_url
from vivant_build.mimic.settings import TaskSettings
from vivant_build.mimic.topics import uses_topics, videos_source

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_BATCH = 500
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ENDINGS = (".mp4", ".webm", ".mkv", ".mov", ".m4v")
_SENTENCE = re.compile(r"[.!?。！？؟](?=\s|$)|\n")
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_COLUMNS = (
    "platform, id, uploader, title, description, tags, topics, category, language, uploaded, duration, width, "
    "height, views, likes, comment_count, licence, source, file, dup_group, made_topic"
)
_COMMENTS = (
    ", ".join(f"[c.{field} for c in listed]" for field in ("id", "text", "likes", "language"))
    + f", [coalesce(strftime(c.time, '{_TIME}'), '') for c in listed]"
)
"""A list a field: a dictionary a comment, and its time as an object, would take most of the step's time."""


class VideoRecord(Struct, frozen=True):
    """A video as the benchmark will hold it, and what else is known of it."""

    line: MimicVideo
    group: int | None
    """Its near-duplicate group."""
    media: str
    """Its file, relative to the media root; empty where there is none."""
    spoken: tuple[str, ...]
    """The language of each of its comments."""
    made_topic: str = ""
    """The id of its topic, if the step topics made it: the name is in the video's language."""


def read_video_records(
    connection: DuckDBPyConnection,
    work: Path,
    part: str,
    settings: TaskSettings,
    refs: list[str] | None = None,
) -> Iterator[VideoRecord]:
    """The videos of a part of the split by name, each with its most-liked comments: no replies, each text once.

    The settings say how many comments a video carries and where descriptions are cut. `refs` restricts them to some.
    The connection is in use until the last video has been taken.
    """
    import polars as pl

    clean = work / "clean"
    chosen = f"SELECT ref FROM {parquet_source(work / 'split' / 'videos.parquet')} WHERE part = '{part}'"
    if refs is not None:
        connection.register("wanted", pl.DataFrame({"ref": refs}, schema={"ref": pl.String}))
        chosen += " AND ref IN (SELECT ref FROM wanted)"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE mine AS {chosen}")
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE most_liked AS
        WITH once AS (
            SELECT ref, id, text, likes, time, language
            FROM {parquet_source(clean / "comments")} SEMI JOIN mine USING (ref)
            WHERE reply_to = '' AND trim(text) <> ''
            QUALIFY row_number() OVER (PARTITION BY ref, lower(trim(text)) ORDER BY likes DESC NULLS LAST, id) = 1
        )
        SELECT *, row_number() OVER (PARTITION BY ref ORDER BY likes DESC NULLS LAST, id) AS rank
        FROM once QUALIFY rank <= {settings.comments}
    """)
    connection.execute(f"""
        WITH per_video AS (
            SELECT ref, list({{'id': id, 'text': text, 'likes': likes, 'time': time, 'language': language}}
                             ORDER BY rank) AS listed
            FROM most_liked GROUP BY ref
        )
        SELECT {_COLUMNS}, {_COMMENTS} FROM {videos_source(work, uses_topics(work))} SEMI JOIN mine USING (ref)
        LEFT JOIN per_video USING (ref) ORDER BY ref
    """)
    while rows := connection.fetchmany(_BATCH):
        for row in rows:
            yield _make_record(row, settings.description_characters)


def _make_record(row: tuple[Any, ...], description: int) -> VideoRecord:
    (platform, name, uploader, title, words, tags, topics, category, language, uploaded, *rest) = row
    duration, width, height, views, likes, count, licence, source, media, group, made_topic, *columns = rest
    comments, spoken = _make_comments(*(column or () for column in columns))
    line = MimicVideo(
        platform=platform,
        id=name,
        file=f"videos/{file_name(platform, name, media)}",
        title=title,
        description=shorten(words, description),
        tags=tuple(tags or ()),
        topics=tuple(topics or ()),
        category=category,
        language=language,
        duration=duration,
        uploader=uploader,
        uploaded=_format_time(uploaded),
        width=width,
        height=height,
        views=views,
        likes=likes,
        comment_count=count,
        licence=licence,
        source=_remove_names(platform, name, source),
        comments=comments,
        extra={} if group is None else {"group": group},
    )
    return VideoRecord(line, group, media, spoken, made_topic)


def _make_comments(
    ids: Sequence[str],
    texts: Sequence[str],
    likes: Sequence[int | None],
    spoken: Sequence[str],
    times: Sequence[str],
) -> tuple[tuple[Comment, ...], tuple[str, ...]]:
    """Each id once: two comments of one name would make options ambiguous."""
    first: dict[str, int] = {}
    for number, name in enumerate(ids):
        first.setdefault(name, number)
    indices = first.values()
    comments = tuple(Comment(id=ids[k], text=texts[k], likes=likes[k], time=times[k]) for k in indices)
    return comments, tuple(spoken[k] for k in indices)


def _remove_names(platform: str, name: str, source: str) -> str:
    """A source without its maker's name, which stands in some platforms' addresses."""
    is_address = source.startswith(("http://", "https://"))
    return video_url(platform, name, source) or source.split("/")[2] if is_address else source


def file_name(platform: str, name: str, media: str) -> str:
    """A name that is safe on any disk and says nothing of the video."""
    ending = PurePosixPath(media).suffix.lower()
    stem = f"{platform}-{name}"
    if "-" in platform:  # ("x-y", "z") and ("x", "y-z") are two videos
        stem = hashlib.sha256(f"{platform}/{name}".encode()).hexdigest()[:24]
    elif not _SAFE.fullmatch(stem):
        stem = hashlib.sha256(stem.encode()).hexdigest()[:24]
    return stem + (ending if ending in _ENDINGS else ".mp4")


def shorten(text: str, most: int) -> str:
    """A text of at most so many characters, cut at the end of a sentence, else of a word."""
    text = text.strip()
    if len(text) <= most:
        return text
    head = text[:most]
    ends = [match.end() for match in _SENTENCE.finditer(head)]
    if ends and ends[-1] >= most // 3:
        return head[: ends[-1]].strip()
    words = head.rsplit(None, 1)[0] if any(c.isspace() for c in head) else head
    return words.strip()


def _format_time(time: datetime | None) -> str:
    return "" if time is None else time.strftime(_TIME)
