"""yt-dlp's `.info.json` files, with comments.

A file that is as yt-dlp writes it is decoded straight into structs with the few fields that are wanted; one with a
value of another kind (a count as text, a null where there should be a number) is read again by looser rules, and
what those cannot use goes into the quarantine.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from vivant.runs.settings import digest
from vivant_build.mimic.ingestion import values
from vivant_build.mimic.ingestion.raw_json import (
    convert_to_utf8,
    parse_json_leniently,
    read_spans,
    split_off_comments,
)
from vivant_build.mimic.ingestion.values import InvalidValueError, VideoRow, parse_row
from vivant_build.mimic.ingestion.writer import RecordWriter
from vivant_build.mimic.notes import count_noun
from vivant_build.privacy import remove_names

LARGE = 64 << 20
"""Bytes from which a file's comments are read piece by piece."""
_Count = Annotated[int, Meta(ge=0, le=1 << 60)] | None
_Seconds = Annotated[float, Meta(ge=0, le=4_102_444_800)] | None
_KINDS = ("mp4", "webm", "mkv", "mov")
_HANDLE = re.compile(r"tiktok\.com/@[^/]+/")
ROUNDED_IDS = (
    "comments whose ids were rounded, by a spreadsheet or the like: they got others, and answers stand alone"
)
_MADE_UP = re.compile(r"(Video|Post) by ")


class _Comment(Struct, gc=False):
    id: str
    text: str = ""
    like_count: _Count = None
    timestamp: _Seconds = None
    parent: str | None = None
    author: str | None = None


class _Info(Struct, gc=False):
    id: str
    title: str | None = None
    description: str | None = None
    extractor_key: str | None = None
    ie_key: str | None = None
    extractor: str | None = None
    uploader_id: str | None = None
    channel_id: str | None = None
    uploader: str | None = None
    channel: str | None = None
    tags: list[str] | None = None
    topics: list[str] | None = None
    categories: list[str] | None = None
    language: str | None = None
    timestamp: _Seconds = None
    upload_date: str | None = None
    duration: _Seconds = None
    width: _Count = None
    height: _Count = None
    view_count: _Count = None
    like_count: _Count = None
    comment_count: _Count = None
    license: str | None = None
    webpage_url: str | None = None
    ext: str | None = None
    kind: str | None = msgspec.field(default=None, name="_type")
    comments: list[_Comment] | None = None


_DECODER = msgspec.json.Decoder(_Info)
_COMMENTS = msgspec.json.Decoder(list[_Comment])


class SourceDefaults(Struct, frozen=True):
    """What is said for records that do not say it."""

    platform: str = ""
    licence: str = ""


def ingest_info(
    path: str, media: str, writer: RecordWriter, defaults: SourceDefaults, *, large: int = LARGE
) -> None:
    """Read one `.info.json` into the writer, or into its quarantine."""
    source = relative(path, media)
    try:
        _ingest_file(path, source, media, writer, defaults, large)
    except InvalidValueError as wrong:
        writer.leave(
            source,
            "",
            str(wrong),
            kind=str(wrong).partition(" (")[0].partition(" after ")[0].partition(":")[0],
        )
    except OSError as error:
        writer.leave(source, "", f"cannot be read: {error.strerror}", kind="cannot be read")


def _ingest_file(
    path: str, source: str, media: str, writer: RecordWriter, defaults: SourceDefaults, large: int
) -> None:
    spans, cut = None, ""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        content = os.read(descriptor, size) if size < large else b""
    finally:
        os.close(descriptor)
    if size >= large or (size and _breaks_off(content)):
        content, spans, cut = split_off_comments(path)
    try:
        info = _DECODER.decode(content)
        row = _make_row(info, path, media, defaults)
    except (msgspec.MsgspecError, UnicodeDecodeError, InvalidValueError):
        try:
            ref, names = _ingest_leniently(content, source, path, media, writer, defaults)
        except InvalidValueError as wrong:
            if not cut:
                raise
            raise InvalidValueError(
                f"{cut} ({wrong}; lost with it: {count_noun(len(spans or ()) // 2, 'comment')})"
            ) from wrong
    else:
        names = tuple(name for name in (info.uploader, info.channel, _get_handle(info.uploader_id)) if name)
        writer.maker(row, names)
        ref = writer.video(row)
        if info.comments:
            _add_comments(ref, info.comments, names, writer)
    if spans:
        for chunk in read_spans(path, spans):
            try:
                _add_comments(ref, _COMMENTS.decode(chunk), names, writer)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                try:
                    add_raw_comments(ref, parse_json_leniently(convert_to_utf8(chunk)[0]), names, writer)
                except InvalidValueError as wrong:
                    writer.leave_comments(ref, f"a run of comments: {wrong}", chunk.count(b'"id"'), new=True)
    if cut:
        writer.cut_comments(source, f"{cut}, inside the comments of {ref}", len(spans or ()) // 2)


def _breaks_off(content: bytes) -> bool:
    """Whether an object in UTF-8 has no end."""
    begin, end = content[:64].lstrip(), content[-64:].rstrip()
    return begin[:1] == b"{" and b"\0" not in begin[:4] and end[-1:] != b"}"


def _make_row(info: _Info, path: str, media: str, defaults: SourceDefaults) -> VideoRow:
    names = [name for name in (info.uploader, info.channel, _get_handle(info.uploader_id)) if name]
    platform = info.extractor_key or info.ie_key or info.extractor or defaults.platform
    title = _settle_caption(platform.lower(), info.title or "", info.description or "")
    title, description = remove_names([title, info.description or ""], names)
    if not platform or not info.id.strip() or info.kind not in (None, "video"):
        raise InvalidValueError("the looser rules say why")
    if info.timestamp is not None:
        uploaded: int | None = int(info.timestamp)
    else:
        uploaded = values.parse_time(info.upload_date)
    tags = info.tags or values.find_hashtags(description)
    return VideoRow(
        platform=platform.lower().partition(":")[0],
        id=info.id,
        uploader=info.channel_id or info.uploader_id or info.uploader or "",
        title=title,
        description=description,
        tags=tags,
        topics=info.topics or [],
        category=info.categories[0] if info.categories else "",
        language=values.parse_language(info.language),
        uploaded=uploaded,
        duration=info.duration,
        width=info.width,
        height=info.height,
        views=info.view_count,
        likes=info.like_count,
        comment_count=info.comment_count,
        licence=info.license or defaults.licence,
        source=_hide_handle(info.webpage_url or ""),
        file=find_video(path, info.ext, media),
    )


def _add_comments(
    ref: str, comments: Sequence[_Comment], names: tuple[str, ...], writer: RecordWriter
) -> None:
    writer.people([c.author for c in comments])
    texts = remove_names([c.text for c in comments], names)
    writer.comments(
        ref,
        [c.id for c in comments],
        texts,
        [c.like_count for c in comments],
        [c.timestamp for c in comments],
        [c.parent for c in comments],
    )


def _settle_caption(platform: str, title: str, description: str) -> str:
    """A title where yt-dlp makes one up: TikTok's is the caption cut off, Instagram's names who put it up."""
    if (
        platform in ("tiktok", "douyin")
        and title
        and description.startswith(title.removesuffix("...").rstrip())
    ):
        return values.make_title(description)
    if platform == "instagram" and description and _MADE_UP.match(title):
        return values.make_title(description)
    return title


def _hide_handle(address: str) -> str:
    """The address of a TikTok video without its maker's name, which leads to the same page."""
    return _HANDLE.sub("tiktok.com/@_/", address)


def _get_handle(name: Any) -> str:
    """An uploader's id where it is a handle that people write, and no number."""
    return name if isinstance(name, str) and name.startswith("@") else ""


def relative(path: str, folder: str) -> str:
    """A path as seen from a folder; for those inside it without asking the system."""
    start = f"{folder}{os.sep}"
    return path[len(start) :] if path.startswith(start) else os.path.relpath(path, folder)


def find_video(path: str, ext: str | None, media: str) -> str:
    """The video file beside an info file, as seen from the media folder; nothing where there is none."""
    folder, _, name = path.rpartition(os.sep)
    beside = _list_videos(folder, os.stat(folder or ".").st_mtime_ns)  # noqa: PTH116 - a Path for every file costs time
    if not beside:
        return ""
    stem = name.removesuffix(".info.json")
    for kind in (ext, *_KINDS):
        if kind and f"{stem}.{kind}" in beside:
            return relative(f"{folder}{os.sep}{stem}.{kind}", media)
    return ""


@lru_cache(maxsize=256)
def _list_videos(folder: str, changed: int) -> frozenset[str]:
    """Names in a folder but those of metadata, as it is since it was `changed`."""
    del changed
    with os.scandir(folder or ".") as entries:
        return frozenset(entry.name for entry in entries if not entry.name.endswith(".json"))


# ── by looser rules ──

_NAMES = {
    "uploader": ("channel_id", "uploader_id", "uploader"),
    "category": ("categories",),
    "uploaded": ("timestamp", "upload_date"),
    "views": ("view_count",),
    "likes": ("like_count",),
    "licence": ("license",),
    "source": ("webpage_url",),
}
_SAME = (
    "id",
    "title",
    "description",
    "tags",
    "topics",
    "language",
    "duration",
    "width",
    "height",
    "comment_count",
)


def _ingest_leniently(
    content: bytes, source: str, path: str, media: str, writer: RecordWriter, defaults: SourceDefaults
) -> tuple[str, tuple[str, ...]]:
    content, encoding = convert_to_utf8(content)
    if encoding != "utf-8":
        writer.note(
            f"files in {encoding.removesuffix('-sig')} with a mark"
            if encoding in ("utf-8-sig", "utf-16", "utf-32")
            else f"files read as {encoding}"
        )
    info = parse_json_leniently(content)
    if not isinstance(info, Mapping) or not isinstance(info.get("entries"), list) or not info["entries"]:
        return ingest_parsed_info(info, source, path, media, writer, defaults)
    for number, entry in enumerate(info["entries"], 1):
        try:
            ingest_parsed_info(entry, source, path, media, writer, defaults)
        except InvalidValueError as wrong:
            writer.leave(source, f"entry {number}", str(wrong), kind=str(wrong).partition(" (")[0])
    return "", ()


def ingest_parsed_info(
    info: Any, source: str, path: str, media: str, writer: RecordWriter, defaults: SourceDefaults
) -> tuple[str, tuple[str, ...]]:
    """Take in one info object whose values may be of any kind; returns the video's ref and its maker's names."""
    if info is None:
        raise InvalidValueError("nothing where a video should be (yt-dlp could not read it)")
    if not isinstance(info, Mapping):
        raise InvalidValueError(f"not an object but a {type(info).__name__}")
    if info.get("_type") in ("url", "url_transparent"):
        raise InvalidValueError("a link, not a video (run yt-dlp without --flat-playlist)")
    if info.get("_type") not in (None, "video"):
        raise InvalidValueError(f"a {info['_type']}, not a video")
    fields: dict[str, Any] = {name: info.get(name) for name in _SAME}
    for name, theirs in _NAMES.items():
        fields[name] = next((info[key] for key in theirs if info.get(key) not in (None, "")), None)
    if isinstance(fields["category"], list):
        fields["category"] = fields["category"][0] if fields["category"] else None
    names = tuple(
        name
        for name in (info.get("uploader"), info.get("channel"), _get_handle(info.get("uploader_id")))
        if isinstance(name, str) and name
    )
    fields["platform"] = next(
        (info[key] for key in ("extractor_key", "ie_key", "extractor") if info.get(key)), defaults.platform
    )
    row, problems = parse_row(fields)
    row.platform = row.platform.partition(":")[0]
    writer.maker(row, names)
    row.title = _settle_caption(row.platform, row.title, row.description)
    row.title, row.description = remove_names([row.title, row.description], names)
    row.source = _hide_handle(row.source)
    row.licence = row.licence or defaults.licence
    row.tags = row.tags or values.find_hashtags(row.description)
    row.file = find_video(path, None, media)
    ref = writer.video(row)
    for problem in problems:
        writer.mend(source, ref, problem)
    comments = info.get("comments")
    if isinstance(comments, list):
        add_raw_comments(ref, comments, names, writer)
    elif comments is not None:
        writer.mend(source, ref, "comments: a list is wanted")
    return ref, names


def make_comment_id(comment: Mapping[str, Any], *place: int) -> str:
    """An id for a comment without one, of what it says: its place alone would be that of another file's comment too."""
    said = [
        ascii(comment.get(field)) for field in ("text", "timestamp", "parent")
    ]  # half a pair has no bytes
    return f"c{digest([*place, *said])[:12]}"


def add_raw_comments(ref: str, comments: Sequence[Any], names: Sequence[str], writer: RecordWriter) -> None:
    """Comments whose values may be of any kind: id, text, like_count, timestamp, parent, author."""
    columns: tuple[list[Any], ...] = ([], [], [], [], [])
    odd = 0
    made: Counter[str] = Counter()
    for comment in comments:
        if not isinstance(comment, Mapping):
            odd += 1
            continue
        try:
            body = values.parse_text(comment.get("text"))
            name = values.parse_text(comment.get("id"))
            if values.is_rounded(comment.get("id")):
                writer.note(ROUNDED_IDS)
                name = ""
            if not name:
                name = make_comment_id(comment)
                made[name] += 1
                name += f"-{made[name]}" if made[name] > 1 else ""
            parent = comment.get("parent")
            parent = "" if values.is_rounded(parent) else values.parse_text(parent)
        except InvalidValueError:
            odd += 1
            continue
        author = comment.get("author")
        if isinstance(author, str):
            writer.people([author])
        numbers: list[int | None] = []
        for field, read in (("like_count", values.parse_count), ("timestamp", values.parse_time)):
            try:
                numbers.append(read(comment.get(field)))
            except InvalidValueError as wrong:
                writer.mend(ref, f"comment {name}", f"{field}: {wrong}")
                numbers.append(None)
        for column, value in zip(columns, (name, body, *numbers, parent), strict=True):
            column.append(value)
    if odd:
        writer.leave_comments(ref, "not a comment: no object, or no text in it", odd, new=True)
    ids, texts, likes, times, parents = columns
    writer.comments(ref, ids, remove_names(texts, names), likes, times, parents)
