"""A backend for other harnesses: messages in, a reply out, with media loading and retries as in a run.

Other harnesses name media by path or hold them in memory. The user of the other harness chose them, so any path on
this machine may be read; what is in memory is written to a folder that lives as long as the client.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from vivant.core.errors import UsageError
from vivant.core.paths import cache_root
from vivant.core.types import Decoding, FramePolicy, Job, Message, Reply
from vivant.engine.executor import LocalExecutor
from vivant.engine.retry import RetryPolicy
from vivant.media import MediaLoader
from vivant.models.base import ModelError, ModelOptions, TransientError
from vivant.models.registry import create
from vivant.runs.settings import make_frame_policy

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage

_FRAME_OPTIONS = ("frames", "fps", "max_frames", "longest_side")


class BackendClient:
    """Asks one model. Other harnesses may use it in one event loop after another; each gets a model of its own."""

    def __init__(self, spec: str, base_url: str | None = None, **values: Any) -> None:
        """Create the model; nothing is sent.

        Args:
            spec: The model as `vivant run --model` takes it: `openai/NAME`, `transformers/NAME`, `random`.
            base_url: The server's address, where the backend takes one.
            values: Frames of videos (`frames`, `fps`, `max_frames`, `longest_side`); all others are model options.
        """
        if not spec:
            raise UsageError("Name a model as `vivant run --model` takes it, e.g. openai/NAME")
        chosen = {name: values.pop(name) for name in _FRAME_OPTIONS if name in values}
        self.frames: FramePolicy = make_frame_policy(chosen)
        self._spec, self._options = spec, ModelOptions(base_url=base_url, frames=self.frames, values=values)
        self.model = create(spec, self._options)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._retry = RetryPolicy()
        self._loader: MediaLoader | None = None
        self._executor: LocalExecutor | None = None
        self._folder: TemporaryDirectory[str] | None = None
        self._asked = 0

    async def open(self) -> None:
        """Get the model ready; a second call in the same event loop does nothing."""
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):  # the old loop is gone, and with it the model's connections
            if self._loader is not None:
                self._loader.close()
            self._executor = None
            self.model = create(self._spec, self._options)
        self._loop = loop
        if self._executor is None:
            self._loader = MediaLoader(cache_root())
            self._executor = LocalExecutor(self.model, self._loader)
            await self._executor.open()

    async def close(self) -> None:
        """Release the model, the workers and the media in memory."""
        if self._executor is not None:
            await self._executor.close()
        if self._loader is not None:
            self._loader.close()
        if self._folder is not None:
            self._folder.cleanup()
        self._executor = self._loader = self._folder = None
        self._loop = None

    def store_media(self, data: bytes, ending: str) -> str:
        """Keep media that are in memory; returns the path to name in a message."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="vivant-bridge-")
        path = Path(self._folder.name) / f"{hashlib.sha256(data).hexdigest()[:24]}.{ending}"
        if not path.exists():
            path.write_bytes(data)
        return self.locate(path)

    def store_picture(self, picture: PillowImage) -> str:
        """Keep a picture that is in memory, pixel by pixel; returns the path to name in a message."""
        buffer = io.BytesIO()
        content = (
            picture if picture.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I") else picture.convert("RGB")
        )
        content.save(buffer, "PNG", compress_level=1)
        return self.store_media(buffer.getvalue(), "png")

    def locate(self, path: str | Path) -> str:
        """The path of a file to name in a message."""
        return str(Path(path).expanduser().resolve()).lstrip("/")

    async def ask(self, messages: Sequence[Message], decoding: Decoding = Decoding()) -> Reply:  # noqa: B008 (frozen)
        """Ask once, and again after failures that may pass. What cannot be answered is a reply with a status."""
        await self.open()
        if self._executor is None:
            raise ModelError(f"{self.model.name} is not open")
        self._asked += 1
        key = f"bridge/{self._asked}"
        job = Job(
            key=key,
            task="bridge",
            id=key,
            messages=tuple(messages),
            root="/",
            frames=self.frames,
            decoding=decoding,
        )
        request = await self._executor.prepare(job, None)
        if request.refused is not None:
            return request.refused
        started, failures, refusals = time.monotonic(), 0, 0
        while True:
            outcome = await self._executor.send(request)
            if not isinstance(outcome, TransientError):
                return outcome
            failures += not outcome.slow_down
            refusals += outcome.slow_down
            pause = self._retry.wait(failures, refusals, time.monotonic() - started, outcome)
            if pause is None:
                return Reply(status="error", error=str(outcome))
            await asyncio.sleep(pause)
