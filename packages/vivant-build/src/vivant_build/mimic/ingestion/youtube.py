"""JSON and JSON lines: answers of the YouTube Data API, and through `crawl_forms` what other scrapers write."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from vivant_build.mimic.ingestion.crawl_forms import (
    CrawlReader,
    find_form,
    is_info,
    list_comment_fields,
    load_forms,
)
from vivant_build.mimic.ingestion.json_pieces import (
    LargeList,
    count_records,
    load_whole,
    open_utf8,
    split_documents,
)
from vivant_build.mimic.ingestion.platform_ids import YOUTUBE_CATEGORIES
from vivant_build.mimic.ingestion.raw_json import (
    convert_to_utf8,
    parse_json_leniently,
)
from vivant_build.mimic.ingestion.values import InvalidValueError, parse_row, strip_markup
from vivant_build.mimic.ingestion.writer import RecordWriter
from vivant_build.mimic.ingestion.ytdlp import LARGE, SourceDefaults, add_raw_comments
from vivant_build.mimic.notes import count_noun
from vivant_build.privacy import remove_names

_LINES = (".jsonl", ".jsonlines", ".ndjson", ".jl")
_ADDRESS = "https://www.youtube.com/watch?v="


def ingest_api_responses(
    path: Path, media: Path, writer: RecordWriter, defaults: SourceDefaults, unpacked: Path | None = None
) -> None:
    """Read a file of answers into the writer. Comments may come before, after or without their videos.

    Where the file is compressed, `unpacked` holds its content.
    """
    source = os.path.relpath(path, media)
    reader = CrawlReader(str(path), str(media), writer, defaults)
    try:
        for document in _iter_documents(unpacked or path, source, writer):
            location = f"{source}:{document.line}" if document.line else source
            if _is_data_api(document.content):
                _ingest_response(document, location, writer, defaults)
            else:
                reader.read(document.content, location)
    except InvalidValueError as wrong:
        writer.leave(source, "", str(wrong), kind=str(wrong).partition(" after ")[0].partition(":")[0])
    except OSError as error:
        writer.leave(source, "", f"cannot be read: {error.strerror}", kind="cannot be read")


def _is_data_api(answer: Any) -> bool:
    items = answer.get("items", [answer]) if isinstance(answer, Mapping) else answer
    if isinstance(answer, Mapping) and str(answer.get("kind", "")).startswith("youtube#"):
        return True
    return isinstance(items, list | LargeList) and any(
        isinstance(i, Mapping) and "snippet" in i for i in items
    )


def _is_record(node: Any) -> bool:
    """Whether a node is a video or a comment of any form."""
    return isinstance(node, Mapping) and ("snippet" in node or is_info(node) or find_form(node) is not None)


def _is_comment(node: Any) -> bool:
    """Whether a node is a comment of any form."""
    if isinstance(node, Mapping) and "snippet" in node:
        return str(node.get("kind", "")).startswith("youtube#comment")
    form = find_form(node)
    return form is not None and any(form is known for known in load_forms().comments)


class _Document(Struct):
    content: Any
    line: int = 0
    """The line that it begins on; 0 where it is the only one."""


def _iter_documents(path: Path, source: str, writer: RecordWriter) -> Iterator[_Document]:
    if _holds_lines(path):
        for number, line in enumerate(_iter_lines(path), 1):
            if line.strip():
                yield from _parse(line, source, number, writer)
    elif path.stat().st_size >= LARGE:
        with open_utf8(path, LARGE) as file:
            yield from _open_documents(file, source, 0, writer)
    else:
        yield from _parse(path.read_bytes(), source, 0, writer)


def _parse(content: bytes, source: str, line: int, writer: RecordWriter) -> Iterator[_Document]:
    """The document; where it cannot be read in one piece, as far as its pieces can."""
    try:
        content = convert_to_utf8(content)[0]
    except InvalidValueError as wrong:
        if not line:
            raise
        writer.leave(source, f"line {line}", str(wrong), kind="broken line")
        return
    try:
        document = _Document(parse_json_leniently(content), line)
    except InvalidValueError:
        yield from _open_documents(BytesIO(content), source, line, writer)
    else:
        yield document


def _open_documents(file: BinaryIO, source: str, line: int, writer: RecordWriter) -> Iterator[_Document]:
    """The document, or several that follow one another; of one that breaks off what stands whole before."""
    for document in split_documents(file):
        number = line or document.line
        try:
            content = document.open(lenient=not line)
        except InvalidValueError as wrong:
            part = document.open_whole_part(_is_record, list_comment_fields())
            if part.comments is not None:
                reason = f"{wrong}, inside the comments of item {part.records:,}"
                writer.cut_comments(f"{source}, line {number}" if number else source, reason, part.comments)
            elif number:
                writer.leave(source, f"line {number}", str(wrong), kind="broken line")
                continue
            elif not part.records:
                raise
            else:
                reason = f"{wrong}; kept: {count_noun(part.records, 'record')} before"
                if count_records(part.document, _is_comment) == part.records:
                    writer.leave_comments(source, reason, 1, new=True, kind="cut off")
                else:
                    writer.leave(source, f"item {part.records + 1}", reason, kind="cut off")
            content = part.document
        yield _Document(content, number)


def _holds_lines(path: Path) -> bool:
    """Whether a file holds a document a line, whatever its name: some scrapers write lists as `.jsonl`, and lines as
    `.json`."""
    lines = map(bytes.strip, _iter_lines(path, LARGE))
    first, second = islice(chain(filter(None, lines), (b"", b"")), 2)
    if len(first) >= LARGE or not first.startswith((b"{", b"[")) or not second.startswith((b"{", b"[")):
        return path.suffix.lower() in _LINES and first not in (b"", b"{", b"[")
    try:
        parse_json_leniently(first.removesuffix(b","))
    except InvalidValueError:
        return path.suffix.lower() in _LINES and not first.startswith(b"[")
    return True


def _iter_lines(path: Path, longest: int = -1) -> Iterator[bytes]:
    """The lines without a mark, those that are longer than `longest` in pieces.

    A file in UTF-16, which PowerShell writes, is turned into UTF-8 first.
    """
    with path.open("rb") as lines:
        mark = lines.read(3)
        lines.seek(3 if mark == codecs.BOM_UTF8 else 0)
        if mark[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            yield from convert_to_utf8(lines.read())[0].split(b"\n")
        else:
            yield from iter(lambda: lines.readline(longest), b"")


def _ingest_response(
    document: _Document, source: str, writer: RecordWriter, defaults: SourceDefaults
) -> None:
    answer = document.content
    items = answer.get("items", [answer]) if isinstance(answer, Mapping) else answer
    if not isinstance(items, list | LargeList):
        raise InvalidValueError("no answer of the YouTube Data API: `items` is not a list")
    listed = str(answer.get("kind", "")) if isinstance(answer, Mapping) else ""
    usual = "youtube#commentThread" if listed.startswith("youtube#commentThread") else ""
    for number, item in enumerate(items, 1):
        location = f"item {number}"
        try:
            item = load_whole(item)
        except InvalidValueError as wrong:
            writer.leave(source, location, str(wrong), kind="broken JSON")
            continue
        kind = item.get("kind", usual) if isinstance(item, Mapping) else ""
        snippet = item.get("snippet") if isinstance(item, Mapping) else None
        if not isinstance(snippet, Mapping):
            writer.leave(source, location, "no `snippet` in it", kind="no snippet")
        elif kind == "youtube#commentThread" or "topLevelComment" in snippet:
            _add_thread(item, f"{source}, {location}", writer)
        elif kind == "youtube#comment" or "textDisplay" in snippet or "textOriginal" in snippet:
            _add_comments(str(snippet.get("videoId") or ""), [item], f"{source}, {location}", writer)
        elif kind in ("youtube#video", ""):
            _add_video(item, snippet, source, location, writer, defaults)
        else:
            writer.leave(
                source, location, f"a {kind}, not a video or a comment", kind="not a video or a comment"
            )


def _mapping_at(item: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = item.get(name)
    return part if isinstance(part, Mapping) else {}


def _add_video(
    item: Mapping[str, Any],
    snippet: Mapping[str, Any],
    source: str,
    location: str,
    writer: RecordWriter,
    defaults: SourceDefaults,
) -> None:
    statistics, details = _mapping_at(item, "statistics"), _mapping_at(item, "contentDetails")
    name = item.get("id")
    if isinstance(name, Mapping):  # an answer of `search`
        name = name.get("videoId")
    topics = _mapping_at(item, "topicDetails").get("topicCategories")
    number = str(snippet.get("categoryId") or "")
    fields = {
        "platform": "youtube",
        "id": name,
        "uploader": snippet.get("channelId") or snippet.get("channelTitle"),
        "title": snippet.get("title"),
        "description": snippet.get("description"),
        "tags": snippet.get("tags"),
        "topics": [str(topic).rsplit("/", 1)[-1].replace("_", " ") for topic in topics]
        if isinstance(topics, list)
        else None,
        "category": YOUTUBE_CATEGORIES.get(number, number),
        "language": snippet.get("defaultAudioLanguage") or snippet.get("defaultLanguage"),
        "uploaded": snippet.get("publishedAt"),
        "duration": details.get("duration"),
        "views": statistics.get("viewCount"),
        "likes": statistics.get("likeCount"),
        "comment_count": statistics.get("commentCount"),
        "licence": _mapping_at(item, "status").get("license") or defaults.licence,
        "source": f"{_ADDRESS}{name}" if name else None,
    }
    try:
        row, problems = parse_row(fields)
    except InvalidValueError as wrong:
        writer.leave(source, location, str(wrong))
        return
    names = [name for name in (snippet.get("channelTitle"),) if isinstance(name, str)]
    writer.maker(row, names)
    row.title, row.description = remove_names([row.title, row.description], names)
    ref = writer.video(row)
    for problem in problems:
        writer.mend(source, ref, problem)


def _add_thread(item: Mapping[str, Any], place: str, writer: RecordWriter) -> None:
    snippet = _mapping_at(item, "snippet")
    replies = _mapping_at(item, "replies").get("comments")
    comments = [snippet.get("topLevelComment"), *(replies if isinstance(replies, list) else [])]
    _add_comments(str(snippet.get("videoId") or ""), comments, place, writer)


def _add_comments(video: str, comments: list[Any], place: str, writer: RecordWriter) -> None:
    raw: list[Any] = []
    for comment in comments:
        snippet = _mapping_at(comment, "snippet") if isinstance(comment, Mapping) else {}
        video = video or str(snippet.get("videoId") or "")
        words = snippet.get("textOriginal")
        raw.append(
            {
                "id": comment.get("id"),
                "text": strip_markup(str(snippet.get("textDisplay") or "")) if words is None else words,
                "like_count": snippet.get("likeCount"),
                "timestamp": snippet.get("publishedAt"),
                "parent": snippet.get("parentId"),
                "author": snippet.get("authorDisplayName"),
            }
            if snippet
            else comment
        )
    if not video:
        writer.leave_comments(place, "no videoId", len(raw), new=True)
        return
    add_raw_comments(f"youtube/{video}", raw, (), writer)
