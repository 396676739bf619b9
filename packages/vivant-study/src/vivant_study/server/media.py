"""Media under names that say nothing: by range, with no trace of file names or dates."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from email.utils import formatdate
from functools import lru_cache
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from vivant.core.errors import MediaError
from vivant.core.file_types import detect_browser_type
from vivant_study.design import StudyItem, StudyMedia
from vivant_study.loading import LoadedStudy, list_media
from vivant_study.playback import media_duration
from vivant_study.store.attendance import SPEED
from vivant_study.store.participant_state import CurrentPage

_TOLERANCE = 1.0
"""Seconds that a video may seem to have ended early: players skip a frame, clocks differ."""
_DATE = formatdate(0, usegmt=True)
_CHUNK = 256 * 1024
_FRESH, _REMEMBERED = 10.0, 64
"""Seconds for which a file stays open to be sent again, and how many files do."""
_THREADS = ThreadPoolExecutor(40, "study-media")
_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})", re.ASCII)


class MediaFile:
    """A file that is open for reading, by several at once; it is closed when nobody has it any more."""

    def __init__(self, path: Path, kind: str) -> None:
        self.kind = kind
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
        self._lock = threading.Lock()
        self.size = os.fstat(self._file).st_size
        self.opened = time.monotonic()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    def read(self, start: int, count: int) -> bytes:
        """So many bytes from there, or as many as there are."""
        if hasattr(os, "pread"):
            return os.pread(self._file, count, start)
        with self._lock:
            os.lseek(self._file, start, os.SEEK_SET)
            return os.read(self._file, count)

    def read_now(self, start: int, count: int) -> bytes | None:
        """The same as far as the system has the bytes in memory; None where the disk would have to be asked."""
        if not hasattr(os, "RWF_NOWAIT"):
            return None
        buffer = bytearray(count)
        try:
            length = os.preadv(self._file, [buffer], start, os.RWF_NOWAIT)
        except OSError:
            # Not in memory, or a file system that cannot tell.
            return None
        return bytes(buffer[:length]) if length or not count else None


class OpenFiles:
    """The media files that were asked for last, so that what is in memory can be sent without a thread."""

    def __init__(self) -> None:
        self._files: OrderedDict[object, MediaFile] = OrderedDict()

    def get(self, key: object) -> MediaFile | None:
        """A file that was opened a moment ago; None for others: they may have been replaced since."""
        file = self._files.get(key)
        return file if file is not None and time.monotonic() - file.opened < _FRESH else None

    def put(self, key: object, file: MediaFile) -> None:
        """Remember a file, in the place of the oldest."""
        self._files[key] = file
        self._files.move_to_end(key)
        while len(self._files) > _REMEMBERED:
            self._files.popitem(last=False)


_OPEN_FILES = OpenFiles()


class MediaResponse(Response):
    """A file, whole or the range asked for. A thread finds and reads it, unless it was sent a moment ago and is in
    memory still.

    Several ranges at once are answered with the whole file, as HTTP allows.
    """

    def __init__(
        self,
        find: Callable[[], tuple[Path, str]],
        name: str,
        while_sending: AbstractContextManager[None] | None = None,
        key: object = None,
    ) -> None:
        """`find` tells where the file is and its media type; `while_sending` is entered for as long as it is sent;
        `key` names the file among all that are sent, None for one that is not remembered."""
        self._find, self._key = find, key
        self._while_sending = while_sending or nullcontext()
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
        with self._while_sending:
            await self._send(scope, send)

    async def _send(self, scope: Scope, send: Send) -> None:
        headers = Headers(scope=scope)
        fresh = headers.get("if-range") in (None, self.headers["etag"], _DATE)
        file = None if self._key is None else _OPEN_FILES.get(self._key)
        if file is None:
            file = await asyncio.get_running_loop().run_in_executor(_THREADS, self._open)
            if self._key is not None:
                _OPEN_FILES.put(self._key, file)
        span = parse_range(headers.get("range", "") if fresh else "", file.size)
        whole = range(file.size) if span is None else span
        self.headers["content-type"] = file.kind
        if span:
            # Also for all of it: some browsers play nothing else.
            self.status_code = 206
            self.headers["content-range"] = f"bytes {span.start}-{span.stop - 1}/{file.size}"
        elif span is not None:
            self.status_code = 416
            self.headers["content-range"] = f"bytes */{file.size}"
        self.headers["content-length"] = str(len(whole))
        chunk = b"" if scope["method"] == "HEAD" else await _read(file, whole.start, len(whole))
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        at = whole.start
        while True:
            at += len(chunk)
            more = at < whole.stop and len(chunk) > 0
            await send({"type": "http.response.body", "body": chunk, "more_body": more})
            if not more:
                return
            chunk = await _read(file, at, whole.stop - at)

    def _open(self) -> MediaFile:
        return MediaFile(*self._find())


async def _read(file: MediaFile, start: int, count: int) -> bytes:
    size = min(_CHUNK, count)
    chunk = file.read_now(start, size)
    if chunk is None:
        chunk = await asyncio.get_running_loop().run_in_executor(_THREADS, file.read, start, size)
    return chunk


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


def respond_with_media(
    loaded: LoadedStudy,
    media: StudyMedia,
    name: str,
    while_sending: AbstractContextManager[None] | None = None,
) -> MediaResponse:
    """The file under its name of no meaning."""

    def find() -> tuple[Path, str]:
        path = loaded.media_file(media.file)
        if loaded.study.watch_whole and media.kind != "image":
            # Looked up here, in a thread, for whoever asks next in the event loop; they are told of a broken file too.
            with suppress(MediaError):
                media_duration(str(path))
        return path, media_type(str(path), media.kind)

    return MediaResponse(find, name, while_sending, key=(loaded.media_root, media.file))


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
