"""Runs jobs: media prepared ahead, requests under way together, one log line per sample as it finishes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from msgspec import Struct

from vivant.core.errors import MediaError
from vivant.core.generated_images import PictureFolder, is_self_contained
from vivant.core.types import Job, Record, Reply
from vivant.engine.budget import Held, Meter
from vivant.engine.concurrency import AdaptiveLimit
from vivant.engine.executor import Hands, Look, Ready
from vivant.engine.reply_cache import ReplyCache
from vivant.engine.request_building import record_for
from vivant.engine.retry import RetryPolicy
from vivant.models.base import ModelError, TransientError
from vivant.runs.log import LogWriter

_BYTES_AHEAD = 512 * 1024 * 1024
"""Media held in memory for requests that wait or are under way; one request always fits."""
_HOPELESS = 20
"""So many samples given up in a row, or twice as many as are under way at once, end the run."""
_NOWHERE = Look("", ())


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
    """Not everything was asked: the user, or a budget, said stop."""
    reason: str = ""
    """Which budget, in words."""


class _Course(Struct):
    """What has happened to one sample so far."""

    started: float
    since: float
    tries: int = 0
    failures: int = 0
    refusals: int = 0
    absences: int = 0
    seconds: float = 0.0


class Runner:
    """One run. Call `run` once. Everything is decided here, whoever's hands do the work."""

    def __init__(
        self,
        *,
        hands: Hands,
        log: LogWriter,
        cache: ReplyCache | None = None,
        concurrency: int = 16,
        retry: RetryPolicy | None = None,
        meter: Meter | None = None,
        max_time: float | None = None,
        progress: Progress | None = None,
        pictures: PictureFolder | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self._hands = hands
        self._log = log
        self._cache = cache
        self._retry = retry or RetryPolicy()
        self._meter = meter
        self._max_time = max_time
        self._progress = progress
        self._pictures = pictures
        self._say = say or (lambda _: None)
        self._concurrency = concurrency
        self._limit = AdaptiveLimit(concurrency)
        self._outcome = Outcome()
        self._bytes = 0
        self._given_up = 0
        self._reached = False
        self._gone_since: float | None = None
        self._usual = _Usual()

    async def run(self, jobs: Iterable[Job]) -> Outcome:
        """Ask everything. Raises ModelError or LogError when going on makes no sense; the log stays whole."""
        self._stopping = asyncio.Event()
        self._room = asyncio.Event()
        self._ready: asyncio.Queue[Ready | None] = asyncio.Queue(maxsize=max(2, self._concurrency))
        source = iter(jobs)
        await self._hands.open()
        clock: asyncio.Task[None] | None = None
        try:
            async with asyncio.TaskGroup() as group:
                self._tasks = [group.create_task(self._prepare_all(source))]
                self._tasks += [group.create_task(self._send_all()) for _ in range(self._concurrency)]
                if self._max_time is not None:
                    clock = asyncio.create_task(self._watch_clock(self._max_time))
        except BaseExceptionGroup as failures:
            raise _first(failures) from None
        finally:
            if clock is not None:
                clock.cancel()
            await self._hands.close()
            if self._cache is not None:
                self._cache.flush()
        self._outcome.highest_in_flight = self._limit.highest
        self._outcome.stopped = self._stopping.is_set()
        return self._outcome

    def stop(self, reason: str = "") -> None:
        """Ask nothing more; what is under way is still logged."""
        if not self._stopping.is_set():
            self._outcome.reason = reason
            self._stopping.set()

    def abandon(self, reason: str = "") -> None:
        """Drop what is under way too: it is asked again when the run is resumed."""
        self.stop(reason)
        for task in self._tasks:
            task.cancel()

    async def _watch_clock(self, seconds: float) -> None:
        """Stop early enough for what is under way to come back in time, and never run longer."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if left <= self._usual.longest:
                self.stop(f"the next request could pass --max-time {seconds:g} s")
            await asyncio.sleep(min(left, 0.1))
        self.abandon(f"--max-time {seconds:g} s is over")

    # ── preparing ──

    async def _prepare_all(self, source: Iterator[Job]) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._hands.at_once):
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
                ready = await self._prepare(job)
            except MediaError as error:
                self._finish(job, _NOWHERE, Reply(status="error", error=str(error)), time.time())
                continue
            if ready is not None:
                self._bytes += ready.load.bytes
                await self._ready.put(ready)
            else:
                await asyncio.sleep(0)

    async def _prepare(self, job: Job) -> Ready | None:
        look: Look | None = None
        if self._cache is not None:
            look = await self._hands.look(job)
            reply = self._cache.get(look.fingerprint)
            if reply is not None:
                self._finish(job, look, reply, time.time(), cached=True)
                return None
        while self._bytes > _BYTES_AHEAD:
            self._room.clear()
            await self._room.wait()
        ready = await self._hands.prepare(job, look)
        if ready.refused is not None:
            self._finish(ready.job, ready.look, ready.refused, time.time())
            self._hands.drop(ready)
            return None
        return ready

    # ── sending ──

    async def _send_all(self) -> None:
        while True:
            ready = await self._ready.get()
            if ready is None:
                return
            if not self._stopping.is_set():
                await self._send(ready)
            self._hands.drop(ready)
            self._bytes -= ready.load.bytes
            self._room.set()

    async def _send(self, ready: Ready) -> None:
        course = _Course(time.time(), time.monotonic())
        if self._meter is None:
            reply = await self._answer(ready, course, None)
        else:
            held = await self._meter.admit(ready.load, ready.job.decoding.max_tokens)
            if held is None:
                self.stop(self._meter.reason)
                return
            reply = None
            try:
                reply = await self._answer(ready, course, held)
            finally:
                self._meter.settle(held, reply)
        if reply is None:
            return
        if self._cache is not None and reply.status in ("ok", "truncated") and is_self_contained(reply):
            self._cache.put(ready.look.fingerprint, reply)
        self._finish(
            ready.job, ready.look, reply, course.started, seconds=course.seconds, attempts=course.tries
        )

    async def _answer(self, ready: Ready, course: _Course, held: Held | None) -> Reply | None:
        """Ask until there is an answer or no hope of one. None where the run stops before."""
        while True:
            outcome = await self._attempt(ready, course, held)
            if outcome is None or isinstance(outcome, Reply):
                return outcome
            pause = self._pause(outcome, course)
            if pause is None:
                return Reply(status="error", error=f"{outcome} (tried {course.tries} times)")
            if await self._stopped_within(pause):
                return None

    async def _attempt(
        self, ready: Ready, course: _Course, held: Held | None
    ) -> Reply | TransientError | None:
        entry = await self._limit.acquire()
        try:
            slot = await self._meter.turn(held) if self._meter is not None and held is not None else None
            if self._stopping.is_set():
                return None
            course.tries += 1
            began = time.perf_counter()
            outcome = await self._hands.ask(ready)
            course.seconds = time.perf_counter() - began
            if slot is not None and self._meter is not None:
                self._meter.attempted(slot, outcome if isinstance(outcome, Reply) else None)
            if isinstance(outcome, TransientError):
                if outcome.slow_down:
                    self._limit.slow_down(entry)
                if outcome.unreachable:
                    return outcome
            self._reached = True
            self._gone_since = None
            if isinstance(outcome, Reply):
                self._given_up = 0
                self._limit.succeeded()
                self._usual.add(course.seconds)
            return outcome
        finally:
            self._limit.release()

    def _pause(self, error: TransientError, course: _Course) -> float | None:
        """Seconds to wait before the sample is tried again; None: it is given up."""
        now = time.monotonic()
        if error.unreachable:
            return self._absent(error, course, now)
        if error.slow_down:
            course.refusals += 1
        else:
            course.failures += 1
        pause = self._retry.wait(course.failures, course.refusals, now - course.since, error)
        if pause is None:
            self._given_up += 1
            if self._given_up >= max(_HOPELESS, 2 * self._concurrency):
                raise ModelError(
                    f"{error}: {self._given_up} samples in a row were given up. Run the same command to go on"
                )
        return pause

    def _absent(self, error: TransientError, course: _Course, now: float) -> float:
        """No server at all: it may be starting again."""
        course.absences += 1
        if not self._reached:
            if course.absences >= 3:
                raise ModelError(f"{error}. Start it, or give its address with --base-url")
            return self._retry.until_back(course.absences)
        if self._gone_since is None:
            self._gone_since = now
            self._say(f"{error}; waiting up to {self._retry.outage:g} s for it to come back.")
        if now - self._gone_since > self._retry.outage:
            raise ModelError(f"{error}, for {self._retry.outage:g} s. Run the same command to go on")
        return self._retry.until_back(course.absences)

    async def _stopped_within(self, seconds: float) -> bool:
        """Wait, unless the run is stopped meanwhile."""
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return False
        return True

    # ── recording ──

    def _finish(
        self,
        job: Job,
        look: Look,
        reply: Reply,
        started: float,
        *,
        seconds: float = 0.0,
        attempts: int = 1,
        cached: bool = False,
    ) -> None:
        if self._pictures is not None:
            reply = self._pictures.keep(reply)
        record = record_for(
            job,
            look.fingerprint,
            look.media,
            reply,
            attempts=attempts,
            cached=cached,
            started=started,
            seconds=seconds,
        )
        self._log.append(record)
        self._outcome.done += 1
        self._outcome.errors += reply.status == "error"
        self._outcome.cached += cached
        if self._progress is not None:
            self._progress.update(record)


class _Usual:
    """How long a request takes, with room for most of those that take longer."""

    def __init__(self) -> None:
        self._mean = 0.0
        self._spread = 0.0
        self._seen = False

    def add(self, seconds: float) -> None:
        """One more."""
        if not self._seen:
            self._seen = True
            self._mean, self._spread = seconds, seconds / 2
            return
        self._spread += 0.1 * (abs(seconds - self._mean) - self._spread)
        self._mean += 0.1 * (seconds - self._mean)

    @property
    def longest(self) -> float:
        """Most take no longer than this."""
        return self._mean + 4 * self._spread


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    for error in group.exceptions:
        return _first(error) if isinstance(error, BaseExceptionGroup) else error
    return group
