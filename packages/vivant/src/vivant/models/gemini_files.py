"""Gemini's files API: videos too large for a request are uploaded once, used by many, and deleted.

The provider deletes them after two days; a run deletes each as soon as more than `_KEPT` others were used
after it, and the rest at its end. What a killed run leaves there expires by itself.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from vivant.core.errors import MediaError
from vivant.core.types import Clip, Request
from vivant.models.base import ModelError, TransientError
from vivant.models.http import HttpClient
from vivant.models.server_errors import RequestRefusedError

_MAX_IDLE = 32
_FIRST_POLL, _LONGEST_POLL = 0.25, 5.0
_PROCESSING_SECONDS = 600.0
_MAX_AGE = 40 * 3600.0
"""An older upload may expire before the request that names it is answered."""


class _File(msgspec.Struct):
    name: str
    uri: str
    since: float


class UploadedFiles:
    """The uploads of one run, by path."""

    def __init__(self, client: HttpClient, inline: int) -> None:
        self._client = client
        self._inline = inline
        self._files: dict[str, _File] = {}
        """In the order of their last use."""
        self._used: Counter[str] = Counter()
        self._locks: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def holding(self, request: Request) -> AsyncIterator[Mapping[str, str]]:
        """Addresses of the videos of a request that do not go into it, by path; kept while in use."""
        large = _list_large_videos(request, self._inline)
        self._used.update(clip.path for clip in large)
        try:
            yield {clip.path: await self._address(clip) for clip in large}
        finally:
            self._used.subtract(clip.path for clip in large)
            await self._trim(_MAX_IDLE)

    async def close(self) -> None:
        """Delete everything."""
        await self._trim(0)

    async def upload(self, data: bytes, media_type: str, name: str) -> Mapping[str, Any]:
        """Put bytes there, in the two steps that the API asks for, and return what it says of them."""
        begin = {
            "X-Goog-Upload-Protocol": "resumable",
            "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": str(len(data)),
            "X-Goog-Upload-Header-Content-Type": media_type,
        }
        metadata = msgspec.json.encode({"file": {"display_name": name}})
        _, headers = await self._client.call("POST", "//upload/v1beta/files", metadata, begin)
        address = headers.get("X-Goog-Upload-URL", "")
        if not address:
            raise TransientError("The files API gave no address to upload to")
        send = {
            "X-Goog-Upload-Offset": "0",
            "X-Goog-Upload-Command": "upload, finalize",
            "Content-Type": media_type,
        }
        answer = self._client.decode((await self._client.call("POST", address, data, send))[0])
        file = answer.get("file") if isinstance(answer, dict) else None
        if not isinstance(file, dict) or not file.get("name"):
            raise TransientError(f"The files API sent no file after an upload: {str(answer)[:120]}")
        return file

    async def _address(self, clip: Clip) -> str:
        async with self._locks.setdefault(clip.path, asyncio.Lock()):
            file = self._files.pop(clip.path, None)
            if file is None or time.monotonic() - file.since > _MAX_AGE:
                data = await asyncio.to_thread(Path(clip.path).read_bytes)
                file_info = await self.upload(data, clip.media_type, f"vivant-{os.getpid()}")
                try:
                    uri = await self._active(file_info, clip.path)
                except BaseException:  # also when the run is interrupted: nothing stays at the provider
                    await self._delete(file_info["name"])
                    raise
                file = _File(file_info["name"], uri, time.monotonic())
            self._files[clip.path] = file
            return file.uri

    async def _active(self, file_info: Mapping[str, Any], path: str) -> str:
        """Wait until the provider has looked through the video."""
        waited, pause = 0.0, _FIRST_POLL
        while file_info.get("state", "ACTIVE") == "PROCESSING":
            if waited > _PROCESSING_SECONDS:
                raise TransientError(
                    f"The files API has been processing a video for {_PROCESSING_SECONDS:.0f} s"
                )
            await asyncio.sleep(pause)
            waited += pause
            pause = min(_LONGEST_POLL, pause * 1.5)
            file_info = await self._client.get(f"/{file_info['name']}")
        if file_info.get("state", "ACTIVE") != "ACTIVE":
            raise MediaError(
                f"{Path(path).name}: the provider cannot read this video ({file_info.get('state')})"
            )
        return str(file_info["uri"])

    async def _trim(self, keep: int) -> None:
        idle = [path for path in self._files if self._used[path] <= 0]
        for path in idle[: max(0, len(self._files) - keep)]:
            await self._delete(self._files.pop(path).name)

    async def _delete(self, name: str) -> None:
        try:
            await self._client.call("DELETE", f"/{name}")
        except (TransientError, ModelError, RequestRefusedError):
            return  # it expires by itself, and no answer depends on it


def _list_large_videos(request: Request, size: int) -> list[Clip]:
    """Videos to be sent as files that are larger than so many bytes."""
    native = [p for turn in request.turns for p in turn.parts if isinstance(p, Clip) and not p.frames]
    return [clip for clip in native if Path(clip.path).stat().st_size > size]
