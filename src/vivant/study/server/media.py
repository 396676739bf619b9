"""Media under names that say nothing: by range, with no trace of file names or dates."""

from __future__ import annotations

from collections.abc import Iterator
from email.utils import formatdate
from functools import lru_cache
from pathlib import Path

from fastapi.responses import FileResponse

from vivant.errors import MediaError
from vivant.media.sniff import browser_type
from vivant.study.design import StudyItem, StudyMedia
from vivant.study.load import LoadedStudy, media_of
from vivant.study.store.answers import Current

_PATIENCE = 1.0
"""Seconds that a video may seem to have ended early: players skip a frame, clocks differ."""
_SPEED = 1.1


def media_response(loaded: LoadedStudy, media: StudyMedia, name: str) -> FileResponse:
    """The file, whole or the range asked for."""
    path = loaded.media_file(media.file)
    kind = media_type(str(path), media.kind)
    # A file's date may tell who made it: all have the same.
    headers = {
        "etag": f'"{name}"',
        "last-modified": formatdate(0, usegmt=True),
        "Cache-Control": "private, max-age=3600",
    }
    return FileResponse(path, media_type=kind, headers=headers)


@lru_cache(maxsize=4096)
def media_type(path: str, kind: str) -> str:
    """What a file is by its first bytes; only what browsers show as media is sent."""
    with open(path, "rb") as file:
        return browser_type(kind, file.read(65536), Path(path).name)


@lru_cache(maxsize=4096)
def seconds(path: str) -> float:
    """How long a file plays; 0 where it does not say."""
    import av

    try:
        with av.open(path) as container:
            return float(container.duration or 0) / av.time_base
    except (av.FFmpegError, OSError) as error:
        raise MediaError(f"{Path(path).name} cannot be played: {error}") from error


def playing(item: StudyItem) -> Iterator[tuple[int, StudyMedia]]:
    """The files of an item that take time, with their numbers among all."""
    return ((number, media) for number, media in enumerate(media_of(item)) if media.kind != "image")


def unwatched(loaded: LoadedStudy, item: StudyItem, current: Current, now: float) -> list[int]:
    """Which files have not been played whole, as far as the server's clock can tell.

    Without scripts a browser reports nothing; then the time since the file was fetched counts.
    """
    if not loaded.study.watch_whole:
        return []
    found = []
    for number, media in playing(item):
        watch = current.watches.get(number)
        if watch is not None and watch.ended is not None:
            continue
        silent = watch is not None and watch.started is None and watch.fetched is not None
        if silent and watch is not None and plausible(loaded, media, watch.fetched or now, now):
            continue
        found.append(number)
    return found


def plausible(loaded: LoadedStudy, media: StudyMedia, start: float, end: float) -> bool:
    """Whether a file can have been played from start to end between two moments."""
    return end - start >= seconds(str(loaded.media_file(media.file))) / _SPEED - _PATIENCE
