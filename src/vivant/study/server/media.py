"""Media under names that say nothing: by range, with no trace of file names or dates."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from email.utils import formatdate
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from vivant.core.errors import MediaError
from vivant.core.file_types import detect_browser_type
from vivant.study.design import StudyItem, StudyMedia
from vivant.study.loading import LoadedStudy, list_media
from vivant.study.playback import media_duration
from vivant.study.store.answers import SPEED, CurrentPage

_TOLERANCE = 1.0
"""Seconds that a video may seem to have ended early: players skip a frame, clocks differ."""
_DATE = formatdate(0, usegmt=True)
_CHUNK = 256 * 1024
_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})", re.ASCII)


class MediaResponse(Response):
    """A file, whole or the range asked for; finding it and reading what is small of it is one trip to a thread.

    Several ranges at once are answered with the whole file, as HTTP allows.
    """

    def __init__(self, find: Callable[[], tuple[Path, str]], name: str) -> None:
        """`find` tells where the file is and its media type."""
        self._find = find
        # A file's date may tell who made it: all have the same.
        headers = {
            "Accept-Ranges": "bytes",
            "Cache-Control": "private, max-age=3600",
            "ETag": f'"{name}"',
            "Last-Modified": _DATE,
        }
        super().__init__(None, headers=headers)

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        """Send it."""
        headers = Headers(scope=scope)
        fresh = headers.get("if-range") in (None, self.headers["etag"], _DATE)
        requested = headers.get("range", "") if fresh else ""
        file, kind, size, span, chunk = await run_in_threadpool(
            self._open, requested, scope["method"] == "HEAD"
        )
        with file:
            self.headers["content-type"] = kind
            remaining = size if span is None else len(span)
            if span:
                # Also for all of it: some browsers play nothing else.
                self.status_code = 206
                self.headers["content-range"] = f"bytes {span.start}-{span.stop - 1}/{size}"
            elif span is not None:
                self.status_code = 416
                self.headers["content-range"] = f"bytes */{size}"
            self.headers["content-length"] = str(remaining)
            start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            await send(start)
            while True:
                remaining -= len(chunk)
                more = remaining > 0 and len(chunk) > 0
                await send({"type": "http.response.body", "body": chunk, "more_body": more})
                if not more:
                    return
                chunk = await run_in_threadpool(file.read, min(_CHUNK, remaining))

    def _open(self, requested: str, head_only: bool) -> tuple[BinaryIO, str, int, range | None, bytes]:
        path, kind = self._find()
        file = path.open("rb", buffering=0)
        try:
            size = os.fstat(file.fileno()).st_size
            span = parse_range(requested, size)
            first = range(size) if span is None else span
            file.seek(first.start)
            return file, kind, size, span, b"" if head_only else file.read(min(_CHUNK, len(first)))
        except BaseException:
            file.close()
            raise


def parse_range(requested: str, size: int) -> range | None:
    """The bytes that a Range header asks for: None where it asks for no range, an empty one where there are none."""
    match = _RANGE.fullmatch(requested)
    if match is None or match[1] == match[2] == "":
        return None
    if not match[1]:
        return range(max(0, size - int(match[2])), size)
    first, last = int(match[1]), int(match[2] or size)
    if match[2] and last < first:
        return None
    return range(first, min(last + 1, size)) if first < size else range(0)


def respond_with_media(loaded: LoadedStudy, media: StudyMedia, name: str) -> MediaResponse:
    """The file under its name of no meaning."""

    def find() -> tuple[Path, str]:
        path = loaded.media_file(media.file)
        if loaded.study.watch_whole and media.kind != "image":
            # Looked up here, in a thread, for whoever asks next in the event loop; they are told of a broken file too.
            with suppress(MediaError):
                media_duration(str(path))
        return path, media_type(str(path), media.kind)

    return MediaResponse(find, name)


@lru_cache(maxsize=4096)
def media_type(path: str, kind: str) -> str:
    """What a file is by its first bytes; only what browsers show as media is sent."""
    with open(path, "rb") as file:
        return detect_browser_type(kind, file.read(65536), Path(path).name)


def list_timed_media(item: StudyItem) -> Iterator[tuple[int, StudyMedia]]:
    """The files of an item that take time, with their numbers among all."""
    return ((number, media) for number, media in enumerate(list_media(item)) if media.kind != "image")


def find_unwatched(loaded: LoadedStudy, item: StudyItem, current: CurrentPage, now: float) -> list[int]:
    """Which files have not been played whole, as far as the server's clock can tell.

    Without scripts a browser reports nothing; then the time since the file was fetched counts, and the answer is
    marked as unconfirmed.
    """
    if not loaded.study.watch_whole:
        return []
    missing = []
    for number, media in list_timed_media(item):
        watch = current.watches.get(number)
        if watch is not None and watch.ended is not None:
            continue
        silent = watch is not None and watch.played is None and watch.fetched is not None
        if silent and watch is not None and is_whole(loaded, media, now - (watch.fetched or now)):
            continue
        missing.append(number)
    return missing


def is_whole(loaded: LoadedStudy, media: StudyMedia, seconds: float) -> bool:
    """Whether so many seconds are enough to have played a file from start to end."""
    return seconds >= media_duration(str(loaded.media_file(media.file))) / SPEED - _TOLERANCE
