"""A benchmark from its ids: the videos are fetched again, and the questions' words with them.

What has gone since, or says something else now, cannot be asked about any more: such items are left out and counted,
by reason, in `missing.jsonl`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.benchmarks.mimic.format import ITEMS, VIDEOS, Comment, MimicItem, MimicOption, MimicVideo
from vivant.core.errors import DataError, UsageError
from vivant.core.files import write_jsonl
from vivant.core.structs import copy_shared_fields
from vivant_build.mimic.database import connect, parquet_source
from vivant_build.mimic.ids_edition import (
    IdItem,
    IdOption,
    IdsHeader,
    IdVideo,
    hash_text,
    read_ids,
    strip_hash_signs,
)
from vivant_build.mimic.ingestion import ingest
from vivant_build.mimic.ingestion.download import DownloadRequest, download
from vivant_build.mimic.media_files import find_media, link_or_copy
from vivant_build.mimic.settings import IngestSettings, PipelineSettings
from vivant_build.mimic.video_records import shorten

WORK = ".refetch"
MISSING = "missing.jsonl"
logger = logging.getLogger("vivant")


class MissingEntry(Struct, frozen=True, kw_only=True):
    """A video or item that could not be had again."""

    what: str
    name: str
    reason: str


def refetch(ids: Path, folder: Path, request: DownloadRequest) -> Counter[str]:
    """Fetch the videos that `ids` names into `folder`, in the benchmark's format; returns what is missing and why.

    `request.urls` is ignored: the addresses are those of `ids`. Run again, it fetches what is not there yet.
    """
    header, videos, items = read_ids(ids)
    unreachable = [video for video in videos if not video.url]
    if len(unreachable) == len(videos):
        raise UsageError(
            f"{ids}: none of its videos has an address; their platforms are not ones that Vivant knows the addresses of"
        )
    work = folder / WORK
    work.mkdir(parents=True, exist_ok=True)
    urls = work / "urls.txt"
    urls.write_text("".join(f"{video.url}\n" for video in videos if video.url), encoding="utf-8")
    fetched = download(msgspec.structs.replace(request, urls=urls), work)
    if not any(fetched.rglob("*.info.json")):
        raise DataError(f"Nothing could be fetched into {fetched}; see what yt-dlp said above")
    cleaned = msgspec.convert({"mentions": header.mentions, "links": header.links}, IngestSettings)
    ingest(work, [fetched], PipelineSettings(ingest=cleaned), media=fetched)
    return restore(work, folder, header, videos, items)


def restore(
    work: Path, folder: Path, header: IdsHeader, videos: list[IdVideo], items: list[IdItem]
) -> Counter[str]:
    """Put the edition together from what was taken in again."""
    missing: list[MissingEntry] = []
    lines = _read_lines(work, folder, header, videos, missing)
    restored_items: list[MimicItem] = []
    comment_counts = {f"{video.platform}/{video.id}": len(video.ranked) for video in videos}
    thinned = {ref for ref, line in lines.items() if len(line.comments) < comment_counts[ref]}
    for item in items:
        restored = _restore_item(item, lines, thinned)
        if isinstance(restored, str):
            missing.append(MissingEntry(what=item.task, name=item.id, reason=restored))
        else:
            restored_items.append(restored)
    if not lines:
        raise DataError(
            f"None of the {len(videos)} videos could be fetched again; {WORK} in {folder} has what came"
        )
    write_jsonl(folder / VIDEOS, list(lines.values()))
    write_jsonl(folder / ITEMS, restored_items)
    write_jsonl(folder / MISSING, missing)
    logger.info(
        "%d of %d videos and %d of %d items are there again",
        len(lines),
        len(videos),
        len(restored_items),
        len(items),
    )
    return Counter(f"{entry.what}: {entry.reason}" for entry in missing)


def _read_lines(
    work: Path, folder: Path, header: IdsHeader, videos: list[IdVideo], missing: list[MissingEntry]
) -> dict[str, MimicVideo]:
    rows: dict[str, tuple[str, str, list[str], str]] = {}
    texts: dict[str, dict[str, str]] = {}
    with connect(work) as connection:
        for ref, *rest in connection.execute(
            f"SELECT ref, title, description, tags, file FROM {parquet_source(work / 'ingest' / 'videos')}"
        ).fetchall():
            rows[ref] = (rest[0], rest[1], rest[2] or [], rest[3])
        for ref, name, text in connection.execute(
            f"SELECT ref, id, text FROM {parquet_source(work / 'ingest' / 'comments')}"
        ).fetchall():
            texts.setdefault(ref, {})[name] = text
    lines: dict[str, MimicVideo] = {}
    for video in videos:
        ref = f"{video.platform}/{video.id}"
        media = find_media(work, rows[ref][3]) if ref in rows else None
        if media is None:
            reason = "no address" if not video.url else "could not be fetched"
            missing.append(MissingEntry(what="video", name=ref, reason=reason))
            continue
        link_or_copy(media, folder / video.file)
        lines[ref] = _make_line(video, rows[ref], texts.get(ref, {}), header)
    return lines


def _make_line(
    video: IdVideo, row: tuple[str, str, list[str], str], texts: Mapping[str, str], header: IdsHeader
) -> MimicVideo:
    title, description, tags, _ = row
    return MimicVideo(
        **copy_shared_fields(video, MimicVideo),
        title=title,
        description=shorten(description, header.description_characters),
        tags=tuple(tags),
        source=video.url,
        comments=tuple(
            Comment(id=name, text=texts[name], likes=likes) for name, likes in video.ranked if name in texts
        ),
    )


def _restore_item(item: IdItem, lines: Mapping[str, MimicVideo], thinned: set[str]) -> MimicItem | str:
    """The item with its words, or why it cannot be had."""
    if item.video not in lines:
        return "its video is gone"
    options: list[MimicOption] = []
    for option in item.options:
        line = lines.get(option.video)
        if line is None:
            return "the video of an option is gone"
        text = _find_text(item.task, option, line)
        if text is None:
            return "the words of an option are gone or have changed"
        # A rank counts all comments of the video; where some have gone, likes alone still hold.
        rank = option.rank if option.video not in thinned else None
        options.append(
            MimicOption(text=text, video=option.video, comment=option.comment, rank=rank, likes=option.likes)
        )
    if len({option.text for option in options}) < len(options):
        return "two options say the same now"
    return MimicItem(id=item.id, task=item.task, video=item.video, options=tuple(options), key=item.key)


def _find_text(task: str, option: IdOption, line: MimicVideo) -> str | None:
    if option.comment:
        candidates = [comment.text for comment in line.comments if comment.id == option.comment]
    elif task == "tag":
        named = strip_hash_signs(line.tags)
        if not all(index < len(named) for index in option.tags):
            return None
        candidates = [" ".join(f"#{named[index]}" for index in option.tags)]
    else:
        candidates = {
            "title": [line.title],
            "description": [line.description],
            "topic": list(line.topics),
            "category": [line.category],
        }.get(task, [])
    return next((text for text in candidates if hash_text(text) == option.check), None)
