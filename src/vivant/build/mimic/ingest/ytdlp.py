"""yt-dlp's `.info.json` files, with comments.

A file that is as yt-dlp writes it is decoded straight into structs with the few fields that are wanted; one with a
value of another kind (a count as text, a null where there should be a number) is read again by looser rules, and
what those cannot use goes into the quarantine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from vivant.build.mimic.ingest import values
from vivant.build.mimic.ingest.privacy import without_name
from vivant.build.mimic.ingest.reading import as_utf8, loosely, spans_of, without_comments
from vivant.build.mimic.ingest.values import Row, Wrong, loose_row
from vivant.build.mimic.ingest.writer import Writer

LARGE = 64 << 20
"""Bytes from which a file's comments are read piece by piece."""
_Count = Annotated[int, Meta(ge=0, le=1 << 60)] | None
_Seconds = Annotated[float, Meta(ge=0, le=4_102_444_800)] | None
_KINDS = ("mp4", "webm", "mkv", "mov")


class _Comment(Struct, gc=False):
    id: str
    text: str = ""
    like_count: _Count = None
    timestamp: _Seconds = None
    parent: str | None = None


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


class Defaults(Struct, frozen=True):
    """What is said for records that do not say it."""

    platform: str = ""
    licence: str = ""


def take_info(path: str, media: str, writer: Writer, defaults: Defaults, *, large: int = LARGE) -> None:
    """Read one `.info.json` into the writer, or into its quarantine."""
    source = relative(path, media)
    try:
        _take(path, source, media, writer, defaults, large)
    except Wrong as wrong:
        writer.leave(
            source,
            "",
            str(wrong),
            kind=str(wrong).partition(" (")[0].partition(" after ")[0].partition(":")[0],
        )
    except OSError as error:
        writer.leave(source, "", f"cannot be read: {error.strerror}", kind="cannot be read")


def _take(path: str, source: str, media: str, writer: Writer, defaults: Defaults, large: int) -> None:
    spans = None
    descriptor = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        content = os.read(descriptor, size) if size < large else b""
    finally:
        os.close(descriptor)
    if size >= large:
        content, spans = without_comments(path)
    try:
        info = _DECODER.decode(content)
        row = _row(info, path, media, defaults)
    except (msgspec.MsgspecError, UnicodeDecodeError, Wrong):
        ref, names = _take_loosely(content, source, path, media, writer, defaults)
    else:
        ref, names = writer.video(row), (info.uploader or "", info.channel or "")
        if info.comments:
            _take_comments(ref, info.comments, names, writer)
    if spans:
        for some in spans_of(path, spans):
            try:
                _take_comments(ref, _COMMENTS.decode(some), names, writer)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                try:
                    take_loose_comments(ref, loosely(as_utf8(some)[0]), names, writer)
                except Wrong as wrong:
                    writer.leave_comments(ref, f"a run of comments: {wrong}", some.count(b'"id"'), new=True)


def _row(info: _Info, path: str, media: str, defaults: Defaults) -> Row:
    names = [name for name in (info.uploader, info.channel) if name]
    title, description = without_name([info.title or "", info.description or ""], names)
    platform = info.extractor_key or info.ie_key or info.extractor or defaults.platform
    if not platform or not info.id.strip() or info.kind not in (None, "video"):
        raise Wrong("the looser rules say why")
    if info.timestamp is not None:
        uploaded: int | None = int(info.timestamp)
    else:
        uploaded = values.moment(info.upload_date)
    tags = info.tags or _hashtags(description)
    return Row(
        platform=platform.lower().partition(":")[0],
        id=info.id,
        uploader=info.channel_id or info.uploader_id or info.uploader or "",
        title=title,
        description=description,
        tags=tags,
        topics=info.topics or [],
        category=info.categories[0] if info.categories else "",
        language=values.language(info.language),
        uploaded=uploaded,
        duration=info.duration,
        width=info.width,
        height=info.height,
        views=info.view_count,
        likes=info.like_count,
        comment_count=info.comment_count,
        licence=info.license or defaults.licence,
        source=info.webpage_url or "",
        file=_video_beside(path, info.ext, media),
    )


def _take_comments(ref: str, comments: Sequence[_Comment], names: tuple[str, ...], writer: Writer) -> None:
    texts = without_name([c.text for c in comments], [name for name in names if name])
    writer.comments(
        ref,
        [c.id for c in comments],
        texts,
        [c.like_count for c in comments],
        [c.timestamp for c in comments],
        [c.parent for c in comments],
    )


def _hashtags(text: str) -> list[str]:
    """On platforms without tags people write them into the text."""
    return (
        [word[1:].rstrip(".,!") for word in text.split() if word[0] == "#" and len(word) > 2]
        if "#" in text
        else []
    )


def relative(path: str, folder: str) -> str:
    """A path as seen from a folder; for those inside it without asking the system."""
    start = f"{folder}{os.sep}"
    return path[len(start) :] if path.startswith(start) else os.path.relpath(path, folder)


def _video_beside(path: str, ext: str | None, media: str) -> str:
    folder, _, name = path.rpartition(os.sep)
    beside = _videos_in(folder, os.stat(folder or ".").st_mtime_ns)  # noqa: PTH116 - a Path for every file costs time
    if not beside:
        return ""
    stem = name.removesuffix(".info.json")
    for kind in (ext, *_KINDS):
        if kind and f"{stem}.{kind}" in beside:
            return relative(f"{folder}{os.sep}{stem}.{kind}", media)
    return ""


@lru_cache(maxsize=256)
def _videos_in(folder: str, changed: int) -> frozenset[str]:
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


def _take_loosely(
    content: bytes, source: str, path: str, media: str, writer: Writer, defaults: Defaults
) -> tuple[str, tuple[str, ...]]:
    content, encoding = as_utf8(content)
    if encoding != "utf-8":
        writer.note(
            f"files in {encoding.removesuffix('-sig')} with a mark"
            if "utf" in encoding
            else f"files read as {encoding}"
        )
    found = loosely(content)
    if not isinstance(found, Mapping):
        raise Wrong(f"not an object but a {type(found).__name__}")
    if found.get("_type") not in (None, "video"):
        raise Wrong(f"a {found['_type']}, not a video")
    fields: dict[str, Any] = {name: found.get(name) for name in _SAME}
    for name, theirs in _NAMES.items():
        fields[name] = next((found[one] for one in theirs if found.get(one) not in (None, "")), None)
    if isinstance(fields["category"], list):
        fields["category"] = fields["category"][0] if fields["category"] else None
    names = tuple(
        name for name in (found.get("uploader"), found.get("channel")) if isinstance(name, str) and name
    )
    fields["platform"] = next(
        (found[one] for one in ("extractor_key", "ie_key", "extractor") if found.get(one)), defaults.platform
    )
    row, problems = loose_row(fields)
    row.title, row.description = without_name([row.title, row.description], names)
    row.platform = row.platform.partition(":")[0]
    row.licence = row.licence or defaults.licence
    row.tags = row.tags or _hashtags(row.description)
    row.file = _video_beside(path, None, media)
    ref = writer.video(row)
    for problem in problems:
        writer.mend(source, ref, problem)
    comments = found.get("comments")
    if isinstance(comments, list):
        take_loose_comments(ref, comments, names, writer)
    elif comments is not None:
        writer.mend(source, ref, "comments: a list is wanted")
    return ref, names


def take_loose_comments(ref: str, comments: Sequence[Any], names: Sequence[str], writer: Writer) -> None:
    """Comments whose values may be of any kind: id, text, like_count, timestamp, parent."""
    columns: tuple[list[Any], ...] = ([], [], [], [], [])
    odd = 0
    for number, comment in enumerate(comments, 1):
        if not isinstance(comment, Mapping):
            odd += 1
            continue
        try:
            body = values.text(comment.get("text"))
            name = values.text(comment.get("id")) or f"c{number}"
            parent = values.text(comment.get("parent"))
        except Wrong:
            odd += 1
            continue
        made: list[int | None] = []
        for field, read in (("like_count", values.count), ("timestamp", values.moment)):
            try:
                made.append(read(comment.get(field)))
            except Wrong as wrong:
                writer.mend(ref, f"comment {name}", f"{field}: {wrong}")
                made.append(None)
        for column, value in zip(columns, (name, body, *made, parent), strict=True):
            column.append(value)
    if odd:
        writer.leave_comments(ref, "not a comment: no object, or no text in it", odd, new=True)
    ids, texts, likes, times, parents = columns
    writer.comments(ref, ids, without_name(texts, names), likes, times, parents)
