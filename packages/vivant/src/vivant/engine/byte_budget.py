"""How much media a run holds at once: requests wait for room before their media are loaded.

A request holds more than its files: their bytes, the same in base64 inside the request's body, and what the connection
has not sent yet; a model in this process holds decoded pixels. All of it counts. One request always fits, at any size.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque

from vivant.core.errors import MediaError
from vivant.core.types import Image, Job, Text, Video
from vivant.media.paths import resolve_media

BYTES_AHEAD = 512 * 1024 * 1024
"""Held for requests that wait or are under way; on a cluster, by each worker."""
SENT = 2.75
"""Bytes held for each byte of media that is sent: itself, its base64 in the body, and what the connection writes."""
_DECODED = 12.0
"""Bytes held for each byte of a picture that a model in this process decodes, until its size is known."""
_FRAME = 256 * 1024
"""A frame of a video, until it is decoded."""


def estimate_held(job: Job, *, decoded: bool) -> int:
    """Bytes that a job will hold, from the sizes of its files. What cannot be read counts nothing: it will fail."""
    total = 0
    for message in job.messages:
        for part in message.parts:
            if isinstance(part, Text):
                continue
            if isinstance(part, Video):
                total += _FRAME * (job.frames.count if job.frames.select == "count" else job.frames.cap or 32)
            elif isinstance(part, Image) and part.tiles:
                total += sum(_file_size(job, tile) for tile in part.tiles)
            else:
                total += _file_size(job, part.path)
    return int(total * (_DECODED if decoded else SENT))


def _file_size(job: Job, path: str) -> int:
    if path.startswith("run:"):  # a picture that a model wrote
        return 0
    try:
        return os.stat(resolve_media(job.root, path)).st_size  # noqa: PTH116 (every request passes here)
    except (MediaError, OSError):
        return 0


class ByteBudget:
    """Room for so many bytes, given in the order in which it is asked for."""

    def __init__(self, limit: int = BYTES_AHEAD) -> None:
        self.limit = limit
        self.used = 0
        self.highest = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def acquire(self, size: int) -> None:
        """Wait until there is room for `size` bytes, or nothing else is held."""
        if not self._waiting and self._fits(size):
            self._take(size)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, future))
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.release(size)
            raise

    def correct(self, before: int, after: int) -> None:
        """What was taken as `before` bytes turns out to be `after`."""
        self._take(after - before)
        self._admit()

    def release(self, size: int) -> None:
        """Give room back."""
        self._take(-size)
        self._admit()

    def _fits(self, size: int) -> bool:
        return self.used <= 0 or self.used + size <= self.limit

    def _take(self, size: int) -> None:
        self.used += size
        self.highest = max(self.highest, self.used)

    def _admit(self) -> None:
        while self._waiting and (self._waiting[0][1].done() or self._fits(self._waiting[0][0])):
            size, future = self._waiting.popleft()
            if not future.done():
                self._take(size)
                future.set_result(None)
