"""Frames of videos as the model takes them: decoded once by `media/`, kept in memory up to a limit."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vivant.core.errors import DataError, MediaError
from vivant.core.progress import ProgressCallback
from vivant.core.types import Clip, FramePolicy, Job, Message, Picture
from vivant.media import MediaLoader
from vivant.train.data.sources import Example, Media
from vivant.train.model.processing import Processor


class FrameLoader:
    """Frames by video. What is not in memory is read from the cache of frames, or decoded into it."""

    def __init__(
        self, processor: Processor, policy: FramePolicy, cache: Path, *, workers: int, megabytes: int
    ) -> None:
        self._processor = processor
        self._policy = policy
        self._loader = MediaLoader(cache, workers=workers)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="vivant-frames")
        self._thread.start()
        self._frames: OrderedDict[str, Any] = OrderedDict()
        self._free_bytes = megabytes * 2**20

    def close(self) -> None:
        """End the workers."""
        self._loader.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def load_frames(self, example: Example) -> Any:
        """The frames of an example's media as bytes, [frames, side, side, 3]. Raises MediaError."""
        return self._load(example.video, example.media, example.media_root)

    def _load(self, name: str, media: Media, root: str) -> Any:
        if name in self._frames:
            self._frames.move_to_end(name)
            return self._frames[name]
        job = Job(
            key=name, task="", id=name, messages=(Message("user", media),), root=root, frames=self._policy
        )
        prepared = asyncio.run_coroutine_threadsafe(self._loader.load(job), self._loop).result()
        frames = self._processor.encode_frames(
            list_pictures(part for turn in prepared.turns for part in turn.parts)
        )
        self._frames[name] = frames
        self._free_bytes -= frames.nbytes
        while self._free_bytes < 0 and self._frames:
            self._free_bytes += self._frames.popitem(last=False)[1].nbytes
        return frames

    def select_usable(
        self, examples: Sequence[Example], max_failed: float, progress: ProgressCallback | None = None
    ) -> tuple[list[Example], list[str]]:
        """The examples whose media can be shown, and a line for each video that cannot.

        Every video is decoded once, which also fills the cache. It is an error if more than the
        share `max_failed` fails.
        """
        firsts = {example.video: example for example in examples if example.video}
        failed: dict[str, str] = {}
        for number, (video, example) in enumerate(firsts.items(), 1):
            try:
                self.load_frames(example)
            except MediaError as error:
                failed[video] = str(error)
            if progress is not None:
                progress(number, len(firsts), "videos decoded")
        if len(failed) > max_failed * len(firsts):
            raise DataError(
                f"{len(failed)} of {len(firsts)} videos cannot be used, more than the share of {max_failed:g} that "
                f"data.max_failed allows; the first: {next(iter(failed.values()))}"
            )
        return [example for example in examples if example.video not in failed], list(failed.values())


def list_pictures(parts: Any) -> list[Picture]:
    """All pictures and frames in order."""
    pictures: list[Picture] = []
    for part in parts:
        if isinstance(part, Picture):
            pictures.append(part)
        elif isinstance(part, Clip):
            pictures += part.frames
    return pictures
