"""Videos as the model takes them: frames decoded on demand by `media/`, or features that were cached before.

Nothing is decoded before it is needed. What the next batches need is decoded ahead by all workers. A video that cannot
be decoded is left out and counted when it is met, once, however many processes meet it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from vivant.core.errors import DataError, MediaError
from vivant.core.types import FramePolicy, Job, Message, iter_pictures
from vivant.media import MediaLoader
from vivant_train.accelerator import share_counts
from vivant_train.data.sources import Example
from vivant_train.feature_cache import FeatureCache
from vivant_train.model.processing import Processor

logger = logging.getLogger("vivant")
_FIRST_VIDEOS = 20
"""Where all of so many fail, something is wrong with the data as a whole."""
_LOGGED = 5


class FrameLoader:
    """Frames and features by video.

    Args:
        processor: resizes pictures.
        policy: which frames of a video are decoded.
        cache: the folder of decoded frames.
        workers: processes that decode.
        megabytes: of frames kept in memory.
        features: what `vivant train features` wrote, where there is any.
    """

    def __init__(
        self,
        processor: Processor,
        policy: FramePolicy,
        cache: Path,
        *,
        workers: int,
        megabytes: int,
        features: FeatureCache | None = None,
    ) -> None:
        self._processor = processor
        self._policy = policy
        self._loader = MediaLoader(cache, workers=workers)
        self._features = features
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="vivant-frames")
        self._thread.start()
        self._slots = asyncio.Semaphore(2 * max(1, workers))
        self._frames: OrderedDict[str, Future[Any]] = OrderedDict()
        self._free_bytes = megabytes * 2**20
        self._counted: set[str] = set()
        self._total: int | None = 0
        self._max_failed = 1.0
        self.decoded = 0
        """Videos decoded, or read from the cache of frames."""
        self.failed: dict[str, str] = {}
        """Videos that could not be used, and why; of all processes where they share them."""
        self._unshared: dict[str, str] = {}
        self._decoded_by_all = 0

    def close(self) -> None:
        """End the workers."""
        self._loader.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def limit_failures(self, total: int | None, max_failed: float) -> None:
        """Let `find_excess` allow the share `max_failed` of so many videos to fail.

        Without a number, of those met so far, as soon as there are twenty.
        """
        self._total, self._max_failed = total, max_failed

    def share_failures(self, accelerator: Any) -> None:
        """Count videos that fail over all processes, each once; all must call it, and wait here for each other."""
        news = self._unshared
        self._unshared = {}
        everywhere, self._decoded_by_all = share_counts(news, self.decoded, accelerator)
        self.failed.update(everywhere)

    def find_excess(self) -> DataError | None:
        """The error that too many failed videos are."""
        failed, decoded = len(self.failed), max(self.decoded, self._decoded_by_all)
        total = self._total
        if total is None:
            total = max(_FIRST_VIDEOS, decoded + failed)
        is_hopeless = failed >= _FIRST_VIDEOS and not decoded
        if not total or not (is_hopeless or failed > self._max_failed * total):
            return None
        return DataError(
            f"{failed} of {total} videos cannot be used, more than the share of "
            f"{self._max_failed:g} that data.max_failed allows; one of them: {self.failed[min(self.failed)]}"
        )

    def request(self, examples: Iterable[Example]) -> None:
        """Begin to decode what these examples need, in the background."""
        for example in examples:
            if not self.has_features(example):
                self._submit(example)

    def load_frames(self, example: Example) -> Any:
        """The frames of an example's media as bytes, [frames, side, side, 3]. Raises MediaError."""
        name = example.video
        future = self._submit(example)
        try:
            frames = future.result()
        except MediaError as error:
            self._count_failure(name, error)
            raise
        if name not in self._counted:
            self._counted.add(name)
            self.decoded += 1
            self._free_bytes -= frames.nbytes
        self._evict(name)
        return frames

    def has_features(self, example: Example) -> bool:
        """Whether there are cached features of an example's video."""
        return self._features is not None and self._features.has(example)

    def load_features(self, example: Example) -> dict[str, Any]:
        """Cached features of an example's video."""
        assert self._features is not None
        return self._features.read(example)

    def _submit(self, example: Example) -> Future[Any]:
        name = example.video
        if name in self._frames:
            self._frames.move_to_end(name)
        else:
            self._frames[name] = asyncio.run_coroutine_threadsafe(self._decode(example), self._loop)
        return self._frames[name]

    async def _decode(self, example: Example) -> Any:
        name = example.video
        job = Job(
            key=name,
            task="",
            id=name,
            messages=(Message("user", example.media),),
            root=example.media_root,
            frames=self._policy,
        )
        async with self._slots:
            prepared = await self._loader.load(job)
            pictures = list(iter_pictures(prepared.turns))
            return await asyncio.to_thread(self._processor.encode_frames, pictures)

    def _evict(self, keep: str) -> None:
        for name in list(self._frames):
            if self._free_bytes >= 0:
                return
            if name != keep and name in self._counted:
                self._counted.discard(name)
                self._free_bytes += self._frames.pop(name).result().nbytes

    def _count_failure(self, video: str, error: MediaError) -> None:
        if video in self.failed:
            return
        self.failed[video] = self._unshared[video] = str(error)
        if len(self.failed) <= _LOGGED:
            logger.warning("Left out: %s", error)


def count_videos(examples: Sequence[Example]) -> int:
    """How many different videos examples are about."""
    return len({example.video for example in examples} - {""})
