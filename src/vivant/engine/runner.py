"""Runs jobs: media prepared ahead, requests under way together, one log line per sample as it finishes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec
from msgspec import Struct

from vivant.engine.limits import AdaptiveLimit
from vivant.engine.log import LogWriter
from vivant.engine.replies import ReplyCache
from vivant.engine.requests import fingerprints, fitted
from vivant.engine.retry import RetryPolicy
from vivant.errors import MediaError, VivantError
from vivant.media import Prepared, Preparer
from vivant.models.base import Model, ModelError, TransientError
from vivant.models.fitting import OnTooLarge
from vivant.pictures import PictureFolder, self_contained
from vivant.types import Clip, Job, MediaUse, Picture, Record, Reply, Request, Sound, Text, Turn

_BYTES_AHEAD = 512 * 1024 * 1024
"""Media held in memory for requests that wait or are under way; one request always fits."""
_GONE_AFTER = 10
"""So many samples in a row that no server answered end the run: it can be resumed when the server is back."""


class Progress(Protocol):
    """Told of every record as it is logged."""

    def update(self, record: Record) -> None: ...


class Outcome(Struct):
    """What happened in this process; the log has the truth."""

    done: int = 0
    errors: int = 0
    cached: int = 0
    highest_in_flight: int = 0
    stopped: bool = False
    """The user asked to stop before everything was asked."""


class _Waiting(Struct):
    job: Job
    fingerprint: str
    media: tuple[MediaUse, ...]
    prepared: Prepared
    size: int


class Runner:
    """One run in one process. Call `run` once."""

    def __init__(
        self,
        *,
        model: Model,
        preparer: Preparer,
        log: LogWriter,
        cache: ReplyCache | None = None,
        concurrency: int = 16,
        retry: RetryPolicy | None = None,
        progress: Progress | None = None,
        audio: bool = False,
        pictures: PictureFolder | None = None,
        on_too_large: OnTooLarge = "shrink",
    ) -> None:
        self._model = model
        self._preparer = preparer
        self._log = log
        self._cache = cache
        self._retry = retry or RetryPolicy()
        self._progress = progress
        self._pictures = pictures
        self._audio = audio and model.takes.audio
        self._concurrency = concurrency
        self._limit = AdaptiveLimit(concurrency)
        self._on_too_large = on_too_large
        self._fingerprints = fingerprints(model, audio=self._audio, on_too_large=on_too_large)
        self._outcome = Outcome()
        self._bytes = 0
        self._unanswered = 0
        self._answered = False

    async def run(self, jobs: Iterable[Job]) -> Outcome:
        """Ask everything. Raises ModelError or LogError when going on makes no sense; the log stays whole."""
        self._stopping = asyncio.Event()
        self._room = asyncio.Condition()
        self._ready: asyncio.Queue[_Waiting | None] = asyncio.Queue(maxsize=max(2, self._concurrency))
        source = iter(jobs)
        await self._model.open()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._prepare_all(source))
                for _ in range(self._concurrency):
                    group.create_task(self._send_all())
        except BaseExceptionGroup as failures:
            raise _first(failures) from None
        finally:
            await self._model.close()
            if self._cache is not None:
                self._cache.flush()
        self._outcome.highest_in_flight = self._limit.highest
        self._outcome.stopped = self._stopping.is_set()
        return self._outcome

    def stop(self) -> None:
        """Ask nothing more; what is under way is still logged."""
        self._stopping.set()

    # ── preparing ──

    async def _prepare_all(self, source: Iterator[Job]) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(8, max(2, self._concurrency))):
                group.create_task(self._prepare_some(source))
        for _ in range(self._concurrency):
            await self._ready.put(None)

    async def _prepare_some(self, source: Iterator[Job]) -> None:
        # `next` on the shared iterator never awaits, so that two workers cannot take the same job.
        while not self._stopping.is_set():
            job = next(source, None)
            if job is None:
                return
            try:
                waiting = await self._prepare(job)
            except MediaError as error:
                self._finish(job, "", (), Reply(status="error", error=str(error)), started=time.time())
                continue
            if waiting is not None:
                await self._ready.put(waiting)
            else:
                await asyncio.sleep(0)

    async def _prepare(self, job: Job) -> _Waiting | None:
        if not self._model.takes.images:
            return _Waiting(job, self._fingerprints.of(job, ()), (), text_alone(job), 0)
        media = self._preparer.describe(job)
        fingerprint = self._fingerprints.of(job, media)
        if self._cache is not None:
            reply = self._cache.get(fingerprint)
            if reply is not None:
                self._finish(job, fingerprint, media, reply, started=time.time(), cached=True)
                return None
        if self._bytes > _BYTES_AHEAD:
            async with self._room:
                await self._room.wait_for(lambda: self._bytes <= _BYTES_AHEAD)
        prepared = await self._preparer.prepare(job, native_video=self._model.takes.video, audio=self._audio)
        prepared, notes, refused = await fitted(prepared, self._model, self._on_too_large)
        job = msgspec.structs.replace(job, notes=job.notes + notes) if notes else job
        used = prepared.media or media
        if refused:
            self._finish(job, fingerprint, used, refused, started=time.time())
            return None
        size = prepared_bytes(prepared)
        self._bytes += size
        return _Waiting(job, fingerprint, used, prepared, size)

    # ── sending ──

    async def _send_all(self) -> None:
        while True:
            waiting = await self._ready.get()
            if waiting is None:
                return
            if not self._stopping.is_set():
                await self._send(waiting)
            self._bytes -= waiting.size
            if self._bytes <= _BYTES_AHEAD and self._room_wanted():
                async with self._room:
                    self._room.notify_all()

    def _room_wanted(self) -> bool:
        return not self._ready.full()

    async def _send(self, waiting: _Waiting) -> None:
        job = waiting.job
        request = Request(
            turns=waiting.prepared.turns,
            decoding=job.decoding,
            options=job.options,
            answer_form=job.answer_form,
            candidates=job.candidates,
            seed=job.seed,
            key=job.key,
        )
        started = time.time()
        attempt = 0
        while True:
            attempt += 1
            await self._limit.acquire()
            began = time.perf_counter()
            try:
                outcome = await self._attempt(request)
            finally:
                self._limit.release()
            if isinstance(outcome, Reply):
                reply = outcome
                break
            pause = self._retry.wait(attempt, outcome)
            if pause is None or (outcome.unreachable and not self._answered and attempt >= 3):
                self._give_up(outcome)
                reply = Reply(status="error", error=f"{outcome} (tried {attempt} times)")
                break
            if await self._paused(pause):
                return
        seconds = time.perf_counter() - began
        if self._cache is not None and reply.status in ("ok", "truncated") and self_contained(reply):
            self._cache.put(waiting.fingerprint, reply)
        self._finish(
            job, waiting.fingerprint, waiting.media, reply, started=started, seconds=seconds, attempts=attempt
        )

    async def _attempt(self, request: Request) -> Reply | TransientError:
        try:
            reply = await self._model.generate(request)
        except TransientError as error:
            if error.slow_down:
                self._limit.slow_down()
            return error
        except VivantError:
            raise
        except Exception as error:  # a backend's own defect costs this sample and is recorded as such
            return Reply(status="error", error=one_line(f"{type(error).__name__}: {error}"))
        self._answered = True
        self._unanswered = 0
        self._limit.succeeded()
        return reply

    def _give_up(self, error: TransientError) -> None:
        """One sample has failed for good: decide whether the run goes on."""
        if not error.unreachable:
            return
        self._unanswered += 1
        if not self._answered:
            raise ModelError(f"{error}. Start it, or give its address with --base-url")
        if self._unanswered >= _GONE_AFTER:
            raise ModelError(
                f"{error}, and {self._unanswered} samples in a row failed. Run the same command to go on"
            )

    async def _paused(self, seconds: float) -> bool:
        """Wait, unless the user stops the run meanwhile."""
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _finish(
        self,
        job: Job,
        fingerprint: str,
        media: tuple[MediaUse, ...],
        reply: Reply,
        *,
        started: float,
        seconds: float = 0.0,
        attempts: int = 1,
        cached: bool = False,
    ) -> None:
        if self._pictures is not None:
            reply = self._pictures.keep(reply)
        record = Record(
            key=job.key,
            task=job.task,
            id=job.id,
            repeat=job.repeat,
            permutation=job.permutation,
            fingerprint=fingerprint,
            messages=job.messages,
            media=media,
            options=job.options,
            order=job.order,
            reply=reply,
            attempts=attempts,
            cached=cached,
            started=round(started, 3),
            seconds=round(seconds, 4),
            lost_images=job.lost_images,
            notes=job.notes,
        )
        self._log.append(record)
        self._outcome.done += 1
        self._outcome.errors += reply.status == "error"
        self._outcome.cached += cached
        if self._progress is not None:
            self._progress.update(record)


def text_alone(job: Job) -> Prepared:
    """A job for a model without eyes and ears."""
    turns = (
        Turn(message.role, tuple(part for part in message.parts if isinstance(part, Text)))
        for message in job.messages
    )
    return Prepared(turns=tuple(turns), media=())


def prepared_bytes(prepared: Prepared) -> int:
    """How much memory a prepared request holds in media."""
    total = 0
    for turn in prepared.turns:
        for part in turn.parts:
            if isinstance(part, Picture | Sound):
                total += len(part.data)
            elif isinstance(part, Clip):
                total += sum(len(frame.data) for frame in part.frames)
    return total


def one_line(text: str) -> str:
    """The first line of a message, at a length that fits a log."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line if len(line) <= 300 else line[:299] + "…"


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    for error in group.exceptions:
        return _first(error) if isinstance(error, BaseExceptionGroup) else error
    return group
