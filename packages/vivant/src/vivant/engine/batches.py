"""A run through a provider's batch endpoint (`--batch`): submit, wait, collect, and resume after days.

State lies in the run's folder (`batch_folder.py`). The order of writing:
1. records, then the state without an id: a process that dies while handing over leaves a trace, and the
   provider is asked for a batch of that name before anything is handed over again
2. the state with the id
3. one log line per answer; an answer that is logged already is passed over
4. the state as collected
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator
from itertools import chain, islice
from typing import ParamSpec, TypeVar
from uuid import uuid4

import msgspec

from vivant.core.errors import MediaError, UsageError
from vivant.core.generated_images import PictureFolder
from vivant.core.records import Record
from vivant.core.types import Job, Reply
from vivant.engine.batch_folder import BatchFolder, SubmittedBatch, make_custom_id
from vivant.engine.cut_offs import MAX_CUT_OFF, CutOffWatch
from vivant.engine.executor import Executor, RequestKey
from vivant.engine.recording import RecordListener, RunOutcome, RunRecorder
from vivant.engine.reply_cache import ReplyCache, is_cacheable
from vivant.engine.request_building import build_record, build_request
from vivant.engine.retry import RetryPolicy
from vivant.engine.runner import Runner
from vivant.engine.waiting import is_set_within
from vivant.models.base import Model, ModelError, TransientError
from vivant.models.batch.base import BatchApi
from vivant.models.server_errors import RequestRefusedError
from vivant.runs.log import LogWriter

logger = logging.getLogger("vivant")
_AT_ONCE = 16
_PILOT_FROM = 50
"""From so many requests on, the first few are asked directly: they cost the usual price, and a batch takes hours."""
_FIRST_POLL, _LONGEST_POLL = 1.0, 300.0
_P = ParamSpec("_P")
_T = TypeVar("_T")


def check_batches(model: Model, *, ray: bool, rated: bool) -> None:
    """Raise where a model has no batch endpoint, or other options do not go with one."""
    model.batch_api()
    if ray:
        raise UsageError("--batch asks through the provider's own queue; leave out --executor ray")
    if model.capabilities.video:
        raise UsageError("--batch sends videos as frames; leave out --video-as native")
    if rated:
        raise UsageError("--batch hands everything over at once; leave out --rpm, --tpm and budgets")


class BatchRunner:
    """One run through batches. Call `run` once."""

    def __init__(
        self,
        *,
        model: Model,
        executor: Executor,
        log: LogWriter,
        logged: Container[str],
        cache: ReplyCache | None = None,
        retry: RetryPolicy | None = None,
        progress: RecordListener | None = None,
        pictures: PictureFolder | None = None,
        pilot: Runner | None = None,
    ) -> None:
        self._pilot = pilot
        self._cut_offs = CutOffWatch(model.thinking)
        self._api: BatchApi = model.batch_api()
        self._executor = executor
        self._logged = logged
        self._cache = cache
        self._retry = retry or RetryPolicy()
        self._folder = BatchFolder(log.path.parent)
        self._recorder = RunRecorder(log, progress, pictures)
        self._outcome = self._recorder.outcome

    async def run(self, jobs: Iterable[Job]) -> RunOutcome:
        """Hand over what was not, then wait for everything. Raises ModelError where no batch can be made."""
        self._stopping = asyncio.Event()
        jobs = iter(jobs)
        if self._pilot is not None:
            first = [] if self._folder.load() else list(islice(jobs, _PILOT_FROM))
            size = MAX_CUT_OFF if len(first) == _PILOT_FROM else 0
            jobs = chain(first[size:], jobs)
            if await self._is_stopped_by_first(self._pilot, first[:size]):
                return self._outcome
        await self._executor.open()
        try:
            under_way = await self._recover()
            awaited = {record.key for batch in under_way for record in self._folder.records(batch)}
            under_way += await self._submit_all(job for job in jobs if job.key not in awaited)
            await self._wait(under_way)
        except RequestRefusedError as refused:
            raise ModelError(f"The batch endpoint refuses: {refused}") from refused
        except TransientError as error:
            raise ModelError(f"{error}. Run the same command to go on") from error
        finally:
            await self._executor.close()
            if self._cache is not None:
                self._cache.flush()
        self._outcome.stopped = self._stopping.is_set()
        return self._outcome

    async def _is_stopped_by_first(self, pilot: Runner, jobs: list[Job]) -> bool:
        """Ask the first questions one by one: replies without room for an answer, and refusals of every request, show
        before thousands are handed over."""
        try:
            if not jobs:
                return False
            logger.info("Asking %d questions directly before the others are handed over.", len(jobs))
            outcome = await pilot.run(jobs)
        finally:
            self._pilot = None
        for name in RunOutcome.__struct_fields__:
            setattr(self._outcome, name, getattr(outcome, name))
        return outcome.stopped

    def stop(self, reason: str = "") -> None:
        """Wait no longer. The provider goes on; the same command collects the answers later."""
        if self._pilot is not None:
            self._pilot.stop(reason)
            return
        self._outcome.reason = reason
        logger.info("Submitted batches continue at the provider.")
        self._stopping.set()

    def abandon(self, reason: str = "") -> None:
        """Drop what is asked directly too."""
        if self._pilot is not None:
            self._pilot.abandon(reason)
        else:
            self.stop(reason)

    # ── handing over ──

    async def _recover(self) -> list[SubmittedBatch]:
        """Batches under way, also those whose id was not noted before the process died."""
        batches = self._folder.load()
        taken = {batch.id for batch in batches}
        under_way = []
        for batch in batches:
            if batch.collected:
                continue
            if not batch.id:
                ids = await self._patiently(self._api.find, batch.name, batch.submitted, batch.count)
                batch.id = next((id_ for id_ in ids if id_ not in taken), "")
                if not batch.id:
                    self._folder.forget(batch)
                    continue
                taken.add(batch.id)
                self._folder.save(batch)
            under_way.append(batch)
        if under_way:
            logger.info("Batches of this run that are under way: %d.", len(under_way))
        return under_way

    async def _submit_all(self, jobs: Iterator[Job]) -> list[SubmittedBatch]:
        batches: list[SubmittedBatch] = []
        records: list[Record] = []
        lines: list[bytes] = []
        size = 0
        while (chunk := list(islice(jobs, _AT_ONCE))) and not self._stopping.is_set():
            for prepared in await asyncio.gather(*map(self._prepare, chunk)):
                if prepared is None:
                    continue
                record, line = prepared
                full = size + len(line) > self._api.most_bytes or len(lines) >= self._api.most_requests
                if lines and full:
                    batches.append(await self._submit(records, lines))
                    records, lines, size = [], [], 0
                records.append(record)
                lines.append(line)
                size += len(line)
        if lines and not self._stopping.is_set():
            batches.append(await self._submit(records, lines))
        return batches

    async def _prepare(self, job: Job) -> tuple[Record, bytes] | None:
        """A request and its record so far; None where the record is complete without asking."""
        nowhere = build_record(job, RequestKey("", ()), Reply(), started=time.time())
        try:
            key = await self._executor.identify(job)
            reply = self._cache.get(key.fingerprint) if self._cache is not None else None
            if reply is not None:
                self._recorder.add(
                    build_record(
                        job, key, reply, started=time.time(), cached=True, server=self._executor.server
                    )
                )
                return None
            request = await self._executor.prepare(job, key)
            key = RequestKey(key.fingerprint, request.key.media)
            record = build_record(
                request.job, key, Reply(), started=time.time(), server=self._executor.server
            )
            if request.refused is not None:
                self._recorder.add(msgspec.structs.replace(record, reply=request.refused))
                return None
            line = self._api.line(make_custom_id(record), build_request(request.job, request.payload))
        except MediaError as error:
            self._recorder.add(
                msgspec.structs.replace(nowhere, reply=Reply(status="error", error=str(error)))
            )
            return None
        self._executor.release(request)
        return record, line

    async def _submit(self, records: list[Record], lines: list[bytes]) -> SubmittedBatch:
        batch = SubmittedBatch(name=f"vivant-{uuid4().hex[:12]}", submitted=time.time(), count=len(lines))
        self._folder.save(batch, records)
        batch.id = await self._hand_over(batch, lines)
        self._folder.save(batch)
        size = sum(map(len, lines)) / 1_000_000
        logger.info("Submitted %d requests (%.1f MB) as batch %s.", batch.count, size, batch.id)
        return batch

    async def _hand_over(self, batch: SubmittedBatch, lines: list[bytes]) -> str:
        """Submit. Unless the provider said that it took nothing, a try that fails may leave a batch behind: it is
        looked for before the next one."""
        taken = {known.id for known in self._folder.load()}
        uncertain = False

        async def attempt() -> str:
            nonlocal uncertain
            if uncertain:
                ids = await self._api.find(batch.name, batch.submitted, batch.count)
                # Where batches have no names, another one of this run may be of the same size.
                if left := [id_ for id_ in ids if id_ not in taken]:
                    return left[0]
            try:
                return await self._api.submit(lines, batch.name)
            except TransientError as error:
                uncertain = uncertain or not error.slow_down
                logger.warning("%s; trying again.", error)
                raise
            except (KeyError, TypeError, AttributeError, msgspec.DecodeError):
                uncertain = True
                raise

        return await self._patiently(attempt)

    # ── collecting ──

    async def _wait(self, under_way: list[SubmittedBatch]) -> None:
        pause = _FIRST_POLL
        while under_way:
            under_way = [batch for batch in under_way if not await self._collected(batch)]
            if self._outcome.cut_off and under_way:
                logger.info("Submitted batches continue at the provider.")
            if not under_way or await is_set_within(self._stopping, pause):
                return
            pause = min(_LONGEST_POLL, pause * 1.6)

    async def _collected(self, batch: SubmittedBatch) -> bool:
        """Whether a batch has ended; then its answers are in the log."""
        try:
            state = await self._patiently(self._api.state, batch.id)
        except ModelError as error:
            file = self._folder.path / f"{batch.name}.json"
            raise ModelError(
                f"{error}. Where the provider has batch {batch.id} no longer, delete {file} to hand it over again"
            ) from error
        if state.state == "running":
            return False
        if state.state == "failed":
            self._folder.forget(batch)
            raise ModelError(f"The batch {batch.id} failed: {state.note}")
        replies = dict(await self._patiently(self._api.results, batch.id))
        records = self._folder.records(batch)
        if replies and not any(make_custom_id(record) in replies for record in records):
            self._folder.forget(batch)
            logger.warning(
                "Batch %s is not of this run. Run the same command to submit its requests.", batch.id
            )
            return True
        missing = Reply(status="error", error=f"batch {batch.id} ended without an answer to it")
        for record in records:
            if record.key not in self._logged:
                reply = replies.get(make_custom_id(record), missing)
                done = msgspec.structs.replace(
                    record,
                    reply=reply,
                    seconds=round(time.time() - batch.submitted, 4),
                    extra={**record.extra, "batch": batch.id},
                )
                self._recorder.add(done)
                self._cut_offs.add(reply)
                if self._cache is not None and is_cacheable(reply):
                    self._cache.put(record.fingerprint, reply)
        batch.collected = True
        self._folder.save(batch)
        if reason := self._cut_offs.reason:
            self._outcome.cut_off = True
            self._outcome.reason = reason
            self._stopping.set()
        return True

    async def _patiently(self, call: Callable[_P, Awaitable[_T]], *args: _P.args, **named: _P.kwargs) -> _T:
        """Call, and try again what may pass."""
        began = time.monotonic()
        failures = refusals = 0
        while True:
            try:
                return await call(*args, **named)
            except TransientError as error:
                failure = error
            except (KeyError, TypeError, AttributeError, msgspec.DecodeError) as error:
                failure = TransientError(f"The batch endpoint sent something unexpected: {error!r}")
            failures += not failure.slow_down
            refusals += failure.slow_down
            pause = self._retry.wait(failures, refusals, time.monotonic() - began, failure)
            if pause is None:
                raise failure
            await asyncio.sleep(pause)
