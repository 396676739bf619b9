"""Runs jobs: media prepared ahead, requests under way together, one log line per sample as it finishes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from typing import Protocol

from vivant.core.errors import MediaError
from vivant.core.generated_images import PictureFolder
from vivant.core.types import Job, Reply
from vivant.engine.attempts import Attempts, FailureWatch
from vivant.engine.budget import Meter, Reservation
from vivant.engine.byte_budget import ByteBudget
from vivant.engine.concurrency import AdaptiveLimit
from vivant.engine.cut_offs import CutOffWatch
from vivant.engine.executor import Executor, ExecutorStoppedError, PreparedRequest, RequestKey
from vivant.engine.recording import RecordListener, RunOutcome, RunRecorder
from vivant.engine.reply_cache import ReplyCache, is_cacheable
from vivant.engine.request_building import build_record, check_reply
from vivant.engine.retry import RetryPolicy, TypicalDuration
from vivant.engine.waiting import WaitNotices, is_set_within
from vivant.models.base import DeniedError, TransientError
from vivant.models.thinking import Thinking
from vivant.runs.log import LogWriter

_PACE = 0.02
"""Seconds between two looks whether the next job may be taken."""
_NO_KEY = RequestKey("", ())


class Pacer(Protocol):
    """Decides which jobs are still sent, and when the next is taken."""

    def is_wanted(self, job: Job) -> bool: ...

    def may_ask(self) -> bool: ...


class Runner:
    """One run. Call `run` once. Everything is decided here; the executor does the work."""

    def __init__(
        self,
        *,
        executor: Executor,
        log: LogWriter,
        cache: ReplyCache | None = None,
        concurrency: int = 16,
        retry: RetryPolicy | None = None,
        meter: Meter | None = None,
        max_time: float | None = None,
        progress: RecordListener | None = None,
        pictures: PictureFolder | None = None,
        has_answers: bool = False,
        thinking: Thinking | None = None,
        pacer: Pacer | None = None,
    ) -> None:
        self._pacer = pacer
        self._thinking = thinking or Thinking()
        self._cut_offs = CutOffWatch(thinking)
        self._executor = executor
        self._cache = cache
        self._failures = FailureWatch(retry or RetryPolicy(), concurrency, has_answers=has_answers)
        self._meter = meter
        self._max_time = max_time
        self._concurrency = concurrency
        self._limit = AdaptiveLimit(concurrency)
        self._recorder = RunRecorder(log, progress, pictures)
        self._outcome = self._recorder.outcome
        self._budget = ByteBudget()
        self._typical = TypicalDuration()
        self._waits = WaitNotices()
        if meter is not None:
            meter.call_on_wait(self._waits.note_rates)

    async def run(self, jobs: Iterable[Job]) -> RunOutcome:
        """Ask everything. Raises ModelError or LogError when going on makes no sense; the log stays whole."""
        self._stopping = asyncio.Event()
        self._prepared: asyncio.Queue[PreparedRequest | None] = asyncio.Queue(
            maxsize=max(2, self._concurrency)
        )
        self._tasks: list[asyncio.Task[None]] = []
        source = iter(jobs)
        try:
            await self._executor.open()
        except ExecutorStoppedError:
            self._outcome.stopped = True
            return self._outcome
        if self._meter is None and self._pacer is None:
            self._limit.ahead = self._executor.queue_ahead(self._concurrency)
        self._senders = self._concurrency + self._limit.ahead
        self._budget.limit *= self._executor.shares
        clock: asyncio.Task[None] | None = None
        try:
            async with asyncio.TaskGroup() as group:
                self._tasks = [group.create_task(self._prepare_all(source))]
                self._tasks += [group.create_task(self._send_all()) for _ in range(self._senders)]
                if self._max_time is not None:
                    clock = asyncio.create_task(self._watch_clock(self._max_time))
        except BaseExceptionGroup as failures:
            raise _first_exception(failures) from None
        finally:
            if clock is not None:
                clock.cancel()
            await self._executor.close()
            if self._cache is not None:
                self._cache.flush()
        self._outcome.highest_in_flight = min(self._limit.highest, self._concurrency)
        self._outcome.stopped = self._stopping.is_set()
        return self._outcome

    def stop(self, reason: str = "") -> None:
        """Ask nothing more; what is under way is still logged."""
        if not self._stopping.is_set():
            self._outcome.reason = reason
            self._stopping.set()
            self._executor.set_limit(0, self._limit.cuts)
            if self._meter is not None:
                self._meter.stop()

    def abandon(self, reason: str = "") -> None:
        """Drop what is under way too: it is asked again when the run is resumed."""
        self.stop(reason)
        for task in self._tasks:
            task.cancel()

    async def _watch_clock(self, seconds: float) -> None:
        """Stop early enough for what is under way to come back in time, and never run longer."""
        end = time.monotonic() + seconds
        while (remaining := end - time.monotonic()) > 0:
            if remaining <= self._typical.longest:
                self.stop(f"the next request could pass --budget-time {seconds:g} s")
            await asyncio.sleep(min(remaining, 0.1))
        self.abandon(f"--budget-time {seconds:g} s is over")

    # ── preparing ──

    async def _prepare_all(self, source: Iterator[Job]) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._executor.prepare_concurrency):
                group.create_task(self._prepare_some(source))
        for _ in range(self._senders):
            await self._prepared.put(None)

    async def _prepare_some(self, source: Iterator[Job]) -> None:
        # `next` on the shared iterator never awaits, so that two workers cannot take the same job.
        while not self._stopping.is_set():
            while self._pacer is not None and not self._pacer.may_ask():
                if await is_set_within(self._stopping, _PACE):
                    return
            job = next(source, None)
            if job is None:
                return
            try:
                request = await self._prepare(job)
            except MediaError as error:
                self._record_unsent(job, _NO_KEY, Reply(status="error", error=str(error)))
                continue
            except ExecutorStoppedError:
                return
            if request is not None:
                await self._prepared.put(request)
            else:
                await asyncio.sleep(0)

    async def _prepare(self, job: Job) -> PreparedRequest | None:
        key: RequestKey | None = None
        if self._cache is not None:
            key = await self._executor.identify(job)
            reply = self._cache.get(key.fingerprint)
            if reply is not None:
                self._recorder.add(
                    build_record(
                        job, key, reply, started=time.time(), cached=True, server=self._executor.server
                    )
                )
                return None
        expected = self._executor.estimate_bytes(job)
        await self._budget.acquire(expected)
        try:
            request = await self._executor.prepare(job, key)
        except BaseException:
            self._budget.release(expected)
            raise
        self._budget.correct(expected, request.size.bytes)
        if request.refused is not None:
            self._record_unsent(request.job, request.key, request.refused)
            self._release(request)
            return None
        return request

    def _record_unsent(self, job: Job, key: RequestKey, reply: Reply) -> None:
        self._recorder.add(build_record(job, key, reply, started=time.time()))

    def _release(self, request: PreparedRequest) -> None:
        self._executor.release(request)
        self._budget.release(request.size.bytes)

    # ── sending ──

    async def _send_all(self) -> None:
        while True:
            request = await self._prepared.get()
            if request is None:
                return
            # What is prepared may have become needless meanwhile.
            needless = self._pacer is not None and not self._pacer.is_wanted(request.job)
            if not self._stopping.is_set() and not needless:
                try:
                    await self._send(request)
                except MediaError as error:
                    self._record_unsent(request.job, _NO_KEY, Reply(status="error", error=str(error)))
            self._release(request)

    async def _send(self, request: PreparedRequest) -> None:
        attempts = Attempts(time.time(), time.monotonic())
        estimated = None
        if self._meter is None:
            reply = await self._answer(request, attempts, None)
        else:
            limit = request.job.decoding.max_tokens
            limit = None if limit is None else limit + self._thinking.room
            reservation = await self._meter.admit(request.size, limit)
            if reservation is None:
                self.stop(self._meter.reason)
                return
            reply = None
            try:
                reply = await self._answer(request, attempts, reservation)
            finally:
                estimated = self._meter.settle(reservation, reply)
        if reply is None:
            return
        if request.refused is not None:
            self._record_unsent(request.job, request.key, request.refused)
            return
        if self._cache is not None and is_cacheable(reply):
            self._cache.put(request.key.fingerprint, reply)
        self._recorder.add(
            build_record(
                request.job,
                request.key,
                reply,
                started=attempts.started,
                seconds=attempts.seconds,
                attempts=attempts.count,
                estimated=estimated,
                server=self._executor.server,
            )
        )
        if reason := self._cut_offs.add(reply):
            self._outcome.cut_off = True
            self.stop(reason)

    async def _answer(
        self, request: PreparedRequest, attempts: Attempts, reservation: Reservation | None
    ) -> Reply | None:
        """Ask until there is an answer or no hope of one. None where the run stops before."""
        while True:
            outcome = await self._attempt(request, attempts, reservation)
            if outcome is None or isinstance(outcome, Reply):
                return outcome
            pause = self._failures.pause(outcome, attempts)
            if pause is None:
                return Reply(status="error", error=f"{outcome} (tried {attempts.count} times)")
            self._waits.note_retry(outcome, pause, attempts.count)
            if await is_set_within(self._stopping, pause):
                return None

    async def _attempt(
        self, request: PreparedRequest, attempts: Attempts, reservation: Reservation | None
    ) -> Reply | TransientError | None:
        entry = await self._limit.enter()
        try:
            slot = (
                await self._meter.wait_for_rates(reservation)
                if self._meter is not None and reservation is not None
                else None
            )
            if self._stopping.is_set():
                return None
            attempts.count += 1
            try:
                outcome = await self._executor.send(request)
            except DeniedError as error:
                outcome = self._failures.note_denied(error)
            if outcome is None or request.refused is not None:
                return outcome
            attempts.seconds = request.seconds
            if attempts.count == 1:
                attempts.started = time.time() - request.seconds
            if isinstance(outcome, Reply):
                outcome = check_reply(outcome)
            if slot is not None and self._meter is not None:
                self._meter.note_attempt(slot, outcome if isinstance(outcome, Reply) else None)
            if isinstance(outcome, TransientError):
                if outcome.slow_down:
                    self._limit.slow_down(request.admission or entry)
                    self._share_limit()
                if outcome.unreachable:
                    return outcome
            self._failures.note_reached()
            if isinstance(outcome, Reply):
                self._failures.note_reply(outcome)
                self._waits.note_answer()
                self._limit.note_success()
                self._share_limit()
                self._typical.add(attempts.seconds)
            return outcome
        finally:
            self._limit.release()

    def _share_limit(self) -> None:
        if not self._stopping.is_set():
            self._executor.set_limit(int(self._limit.limit), self._limit.cuts)


def _first_exception(group: BaseExceptionGroup[BaseException]) -> BaseException:
    for error in group.exceptions:
        return _first_exception(error) if isinstance(error, BaseExceptionGroup) else error
    return group
