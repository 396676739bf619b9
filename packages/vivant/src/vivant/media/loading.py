"""From a job, which names files, to turns that hold their pixels and sound."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from msgspec import Struct

from vivant.core.closing import Closeable
from vivant.core.errors import MediaError
from vivant.core.file_types import detect_impostor, detect_video_type
from vivant.core.records import MediaUse
from vivant.core.types import (
    Audio,
    Clip,
    ClipTiming,
    Content,
    FramePolicy,
    Image,
    Job,
    Text,
    Turn,
    Video,
    VideoInput,
    join_texts,
)
from vivant.media.cached_media import (
    LoadedFrames,
    SoundTrack,
    measure_timing,
    read_cached_frames,
    read_cached_sound,
)
from vivant.media.clips import describe_clip, round_rate
from vivant.media.controls import apply_control
from vivant.media.file_hashes import SMALL, FileHashes
from vivant.media.frame_cache import FrameCache, find_writable_cache
from vivant.media.frame_selection import FrameSelection, check_policy, order_frames
from vivant.media.image_grid import grid_digest, load_grid
from vivant.media.images import LoadedPicture, convert_picture, load_unchanged
from vivant.media.paths import resolve_media, stat_file
from vivant.media.shown_cues import list_cues, spread_cues
from vivant.media.worker_pool import LostWorkerError, MediaWorkerPool
from vivant.media.worker_protocol import FramesTask, SoundTask

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")

# One more than there are cores, as libav chooses too: some wait for others. Many would only take memory.
_THREADS = min(9, (os.cpu_count() or 1) + 1)
_RUN = "run:"
_AS_IMAGES = VideoInput()


class LoadedMedia(Struct, frozen=True, eq=False):
    """A job's messages with their media read, and a record of what was used and how."""

    turns: tuple[Turn, ...]
    media: tuple[MediaUse, ...]

    def __repr__(self) -> str:
        # asyncio writes out the result of `asyncio.run`; megabytes of bytes as text would take half a second.
        return f"LoadedMedia({len(self.turns)} turns, {len(self.media)} media)"


class MediaLoader(Closeable):
    """Reads, decodes and caches the media of jobs. Start one per run; `close` it, or use it as a context.

    Videos and sound are decoded in `workers` processes with `threads` each, every file within `time_limit`
    seconds. Pictures are read on the spot where they are small, in threads otherwise. MediaError means that
    one job cannot be loaded; UsageError, that the cache can no longer be used. A cache that cannot be written is
    replaced by a temporary folder.
    """

    def __init__(
        self, cache: Path, *, workers: int = 2, time_limit: float = 120.0, threads: int = _THREADS
    ) -> None:
        self._cache = Path(cache)
        self._threads = threads
        self._hashes = FileHashes(self._cache, find_writable_cache)
        self._pool = MediaWorkerPool(workers, time_limit)
        self._decoding = ThreadPoolExecutor(workers, "vivant-decode")
        self._reading = ThreadPoolExecutor(2, "vivant-read")
        # Two questions about one video decode it once: the second waits.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._checked: FramePolicy | None = None
        self._hopeless: dict[str, str] = {}
        """Files that hung or crashed a worker, by hash: they are not tried again for the next question."""

    def close(self) -> None:
        """End workers and threads; what is still being loaded ends with an error."""
        self._pool.close()
        self._decoding.shutdown(wait=False, cancel_futures=True)
        self._reading.shutdown(wait=False, cancel_futures=True)
        self._hashes.close()

    @cached_property
    def _folder(self) -> Path:
        """Looked at when it is first needed: text alone needs no cache."""
        return find_writable_cache(self._cache)

    @cached_property
    def _frame_cache(self) -> FrameCache:
        return FrameCache(self._folder, also=self._cache)

    # ── which files ──

    def describe(self, job: Job) -> tuple[MediaUse, ...]:
        """The files that a job uses and their hashes, in the order shown; nothing is decoded.

        A large file that was never met before is read once for its hash: see `identify` for event loops.
        """
        return tuple(
            self._use(job, part)
            for message in apply_control(job.messages, job.control, job.seed)
            for part in message.parts
            if not isinstance(part, Text)
        )

    async def identify(self, job: Job) -> tuple[MediaUse, ...]:
        """`describe`, with large files hashed in a thread."""
        for message in apply_control(job.messages, job.control, job.seed):
            for part in message.parts:
                if isinstance(part, Video | Audio):
                    await self._sha256(_real(job, part.path), part.path)
        return self.describe(job)

    def _use(self, job: Job, part: Image | Video | Audio) -> MediaUse:
        if isinstance(part, Image):
            if part.tiles:
                hashes = [self._hashes.sha256(_real(job, tile), tile) for tile in part.tiles]
                return MediaUse("image", part.path, grid_digest(map(bytes.fromhex, hashes), part.first))
            return MediaUse("image", part.path, self._hashes.sha256(_real(job, part.path), part.path))
        kind: Literal["video", "audio"] = "video" if isinstance(part, Video) else "audio"
        return MediaUse(kind, part.path, self._hashes.sha256(_real(job, part.path), part.path))

    # ── what is in them ──

    async def load(
        self,
        job: Job,
        *,
        video: VideoInput = _AS_IMAGES,
        audio: bool = False,
    ) -> LoadedMedia:
        """Read all media of a job, one after another.

        `video` says how the model takes videos. A model that takes files receives one unless only frames can
        honour the job (a control; a start or an end that cannot be sent along). With `audio`, the sound of
        each video that has any follows it.
        """
        if job.frames is not self._checked:
            check_policy(job.frames)
            self._checked = job.frames
        turns: list[Turn] = []
        uses: list[MediaUse] = []
        for message in apply_control(job.messages, job.control, job.seed):
            parts: list[Content] = []
            for part in message.parts:
                if isinstance(part, Text):
                    parts.append(part)
                elif isinstance(part, Image):
                    loaded, sha256 = await self._picture(job, part)
                    parts.append(loaded.picture)
                    uses.append(MediaUse("image", part.path, sha256, note=loaded.note))
                elif isinstance(part, Video):
                    await self._video(job, part, video, audio, parts, uses)
                else:
                    real = _real(job, part.path)
                    sha256 = await self._sha256(real, part.path)
                    track = await self._sound(sha256, real, part.path, None, None, with_pictures=False)
                    if track.sound is None:
                        raise MediaError(f"{part.path} has no sound in it")
                    parts.append(track.sound)
                    uses.append(MediaUse("audio", part.path, sha256, note=track.note))
            cued = any(isinstance(part, Video) and part.cues for part in message.parts)
            turns.append(Turn(message.role, join_texts(parts) if cued else tuple(parts)))
        return LoadedMedia(tuple(turns), tuple(uses))

    async def _picture(self, job: Job, part: Image) -> tuple[LoadedPicture, str]:
        if part.tiles:
            return await self._read(self._grid, job, part)
        real = _real(job, part.path)
        if stat_file(real, part.path).st_size >= SMALL:
            return await self._read(self._large_picture, real, part.path, job.frames)
        data, sha256 = self._hashes.read(real, part.path)
        loaded = load_unchanged(data, job.frames, part.path)
        if loaded is None:
            loaded = await self._read(convert_picture, self._frame_cache, sha256, data, job.frames, part.path)
        return loaded, sha256

    def _large_picture(self, real: str, name: str, policy: FramePolicy) -> tuple[LoadedPicture, str]:
        data, sha256 = self._hashes.read(real, name)
        return load_unchanged(data, policy, name) or convert_picture(
            self._frame_cache, sha256, data, policy, name
        ), sha256

    def _grid(self, job: Job, part: Image) -> tuple[LoadedPicture, str]:
        file = load_grid([Path(_real(job, tile)) for tile in part.tiles], part.first, self._folder)
        data = file.read_bytes()
        os.utime(file)
        loaded = load_unchanged(data, job.frames, part.path)
        return loaded or convert_picture(self._frame_cache, file.stem, data, job.frames, part.path), file.stem

    async def _video(
        self,
        job: Job,
        part: Video,
        video: VideoInput,
        audio: bool,
        parts: list[Content],
        uses: list[MediaUse],
    ) -> None:
        real = _real(job, part.path)
        sha256 = await self._sha256(real, part.path)
        want = FrameSelection(job.frames, part.start, part.end, job.control == "one-frame")
        start, end = want.limits
        whole = start is None and end is None
        if video.form == "file" and job.control == "none" and (whole or video.windows):
            clip = Clip((), real, _video_type(real, part.path))
            note = "the server chooses the frames"
            if video.sampling or not whole:
                timing = await self._timing(sha256, real, part.path, want)
                policy = job.frames if video.sampling else None
                clip = Clip((), real, clip.media_type, timing, policy)
                note = "" if video.sampling else note
            parts += [clip, *([list_cues(part, None)] if part.cues else [])]
            uses.append(
                MediaUse("video", part.path, sha256, note=note, shown_as="file", fps=round_rate(clip.fps))
            )
        else:
            frames = await self._frames(sha256, real, part.path, want)
            order = order_frames(len(frames.pictures), job.control, job.seed, part.path)
            pictures = tuple(frames.pictures[index] for index in order)
            not_file = "shown as frames, not as a file" if video.form == "file" else ""
            note = "; ".join(filter(None, (frames.note, not_file)))
            clip = Clip(pictures, real, _video_type(real, part.path), frames.timing)
            times = [picture.time or 0.0 for picture in pictures]
            if part.cues_between and video.form == "images" and job.control == "none":
                parts += spread_cues(pictures, part.cues)
            else:
                parts += [clip, *([list_cues(part, times)] if part.cues else [])]
            use = MediaUse("video", part.path, sha256, note=note)
            uses.append(describe_clip(use, clip, "video" if video.form == "video" else "images"))
        if audio:
            track = await self._sound(sha256, real, part.path, start, end, with_pictures=True)
            if track.sound is not None:
                parts.append(track.sound)
                uses.append(MediaUse("audio", part.path, sha256, note=track.note))

    async def _timing(self, sha256: str, real: str, name: str, want: FrameSelection) -> ClipTiming:
        table = await self._read(self._frame_cache.table, sha256)
        if table is None:
            async with self._lock(sha256):
                await self._work(self._extract_task(sha256, real, name, ()))
            table = await self._read(self._frame_cache.table, sha256)
        if table is None:
            raise MediaError(f"{name}: its table vanished from the cache at {self._folder}; try again")
        return measure_timing(table, want, name)

    async def _frames(self, sha256: str, real: str, name: str, want: FrameSelection) -> LoadedFrames:
        frames = await self._read(read_cached_frames, self._frame_cache, sha256, want, name)
        if frames is None:
            async with self._lock(sha256):
                # Decoded meanwhile, if there was a wait.
                frames = await self._read(read_cached_frames, self._frame_cache, sha256, want, name)
                if frames is None:
                    await self._work(self._extract_task(sha256, real, name, (want,)))
                    frames = await self._read(read_cached_frames, self._frame_cache, sha256, want, name)
        if frames is None:
            raise MediaError(f"{name}: its frames vanished from the cache at {self._folder}; try again")
        return frames

    async def _sound(
        self,
        sha256: str,
        real: str,
        name: str,
        start: float | None,
        end: float | None,
        *,
        with_pictures: bool,
    ) -> SoundTrack:
        track = await self._read(read_cached_sound, self._frame_cache, sha256, start, end)
        if track is None:
            task = SoundTask(
                cache=str(self._folder),
                sha256=sha256,
                path=real,
                name=name,
                start=start,
                end=end,
                with_pictures=with_pictures,
            )
            async with self._lock(sha256):
                await self._work(task)
                track = await self._read(read_cached_sound, self._frame_cache, sha256, start, end)
        if track is None:
            raise MediaError(f"{name}: its sound vanished from the cache at {self._folder}; try again")
        return track

    def _extract_task(
        self, sha256: str, real: str, name: str, wants: tuple[FrameSelection, ...]
    ) -> FramesTask:
        return FramesTask(
            cache=str(self._folder), sha256=sha256, path=real, name=name, wants=wants, threads=self._threads
        )

    async def _work(self, task: FramesTask | SoundTask) -> None:
        if task.sha256 in self._hopeless:
            raise MediaError(self._hopeless[task.sha256])
        try:
            await self._in(self._decoding, self._pool.run, task)
        except LostWorkerError as error:
            self._hopeless[task.sha256] = str(error)
            raise

    # ── ahead of a run ──

    def warm(
        self, root: str | os.PathLike[str], paths: Iterable[str | Video], policies: Sequence[FramePolicy]
    ) -> dict[str, str]:
        """Bring the frames of many videos into the cache, each decoded once for all policies.

        Returns a line for each video that cannot be used, by its path.
        """
        for policy in policies:
            check_policy(policy)

        def cache_video(video: Video) -> tuple[str, str]:
            try:
                real = resolve_media(root, video.path)
                sha256 = self._hashes.sha256(real, video.path)
                wants = tuple(FrameSelection(policy, video.start, video.end) for policy in policies)
                if any(
                    read_cached_frames(self._frame_cache, sha256, want, video.path) is None for want in wants
                ):
                    self._pool.run(self._extract_task(sha256, real, video.path, wants))
            except MediaError as error:
                return video.path, str(error)
            return video.path, ""

        videos = [Video(path) if isinstance(path, str) else path for path in paths]
        return {path: line for path, line in self._decoding.map(cache_video, videos) if line}

    # ── helpers ──

    async def _sha256(self, real: str, name: str) -> str:
        status = stat_file(real, name)
        if status.st_size < SMALL or self._hashes.get(real, status):
            return self._hashes.sha256(real, name)
        return await self._read(self._hashes.sha256, real, name)

    def _lock(self, sha256: str) -> asyncio.Lock:
        lock = self._locks.get(sha256)
        if lock is None:
            lock = self._locks[sha256] = asyncio.Lock()
        return lock

    async def _read(
        self, function: Callable[_Args, _Result], *args: _Args.args, **kwargs: _Args.kwargs
    ) -> _Result:
        return await self._in(self._reading, function, *args, **kwargs)

    async def _in(
        self,
        executor: ThreadPoolExecutor,
        function: Callable[_Args, _Result],
        *args: _Args.args,
        **kwargs: _Args.kwargs,
    ) -> _Result:
        return await asyncio.wrap_future(executor.submit(function, *args, **kwargs))


def _real(job: Job, path: str) -> str:
    if path.startswith(_RUN) and job.run:
        return resolve_media(job.run, path.removeprefix(_RUN))
    return resolve_media(job.root, path)


def _video_type(real: str, name: str) -> str:
    with open(real, "rb") as file:
        head = file.read(512)
    text = detect_impostor(head)
    if text is not None:
        raise MediaError(f"{name} {text}")
    return detect_video_type(head)
