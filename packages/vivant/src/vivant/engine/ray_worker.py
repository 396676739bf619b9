"""The actor on a Ray node: reads media and asks the model there, on behalf of the process that keeps the log.

Many small calls and answers travel as few messages: `submit` brings calls, `collect` waits for answers and
returns all there are. More requests are here than may be under way (`ask`): when one is answered the next is sent at
once, without a word from afar. Messages are msgpack; nothing of ours is pickled. This file does not import Ray, so its
tests need none.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from vivant.core.errors import MediaError, VivantError
from vivant.core.generated_images import inline_images
from vivant.core.records import MediaUse
from vivant.core.types import Image, Job, Reply, Text
from vivant.engine.concurrency import ConcurrencyLimit, WithdrawnError
from vivant.engine.executor import LocalExecutor, PreparedRequest, RequestKey
from vivant.engine.tokens import RequestSize
from vivant.models.base import DeniedError, TransientError

logger = logging.getLogger("vivant")


class WorkerSetup(Struct, frozen=True, kw_only=True):
    """What a worker is told when it starts."""

    options: bytes
    """The run's `RunOptions`, as JSON."""
    version: str
    threads: int
    """For each process that decodes: what the node has given to this worker, no more."""
    folder: str
    """Where the user stands: relative paths mean the same here, if the node sees that folder."""


class WorkerStarted(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How that went."""

    error: str = ""


class WorkerCall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing to do."""

    number: int
    """`identify`, `prepare` and `ask` name what they make by it; `send` and `release` refer to what was made under it.
    `ask` prepares, sends when it is its turn, and releases what was answered; `release` has no answer."""
    method: Literal["identify", "prepare", "ask", "send", "release", "limit", "give back"]
    job: Job | None = None
    limit: int = 0
    """How many requests may be under way here from now on, answered when no more are; or how many to give back of those
    that have not begun."""
    cuts: int = 0
    """How often the limit was cut before."""


class TransientFailure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A TransientError on its way."""

    message: str
    retry_after: float | None = None
    slow_down: bool = False
    unreachable: bool = False
    cuts: int = 0
    """How often the limit had been cut when the request was sent, as far as the worker knew."""
    position: int = 0
    """As which of those under way here it was sent."""

    def error(self) -> TransientError:
        """As the runner knows it."""
        return TransientError(
            self.message, retry_after=self.retry_after, slow_down=self.slow_down, unreachable=self.unreachable
        )


class WorkerAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a call."""

    number: int
    method: Literal["identify", "prepare", "ask", "send", "limit", "give back"]
    fingerprint: str = ""
    media: tuple[MediaUse, ...] = ()
    notes: tuple[str, ...] = ()
    size: RequestSize = RequestSize()
    refused: Reply | None = None
    reply: Reply | None = None
    failure: TransientFailure | None = None
    seconds: float = 0.0
    """That the attempt took, here."""
    error: str = ""
    kind: Literal["", "media", "no data", "withdrawn", "denied", "fatal"] = ""
    """Of the error: one sample's; this node does not see the folder; given back before it was sent; perhaps or surely
    no request can succeed."""


GATHER = 0.005
"""Seconds that calls and answers wait for others to travel with. A message costs as much CPU as a request."""
_PREPARING = 4
"""Prepared at once, or twice as many as there are processes that decode; in the order in which they will be sent."""


class _NoDataError(Exception):
    """This node does not see the job's folder."""


class RayWorker:
    """One per node, or one per accelerator. Its methods are called through Ray."""

    def __init__(self) -> None:
        self._executor: LocalExecutor | None = None
        self._preparer: Any = None
        self._prepared: dict[int, PreparedRequest] = {}
        self._preparing = asyncio.Semaphore(_PREPARING)
        self._limit = ConcurrencyLimit(1 << 30)
        self._cuts = 0
        self._drained: list[WorkerAnswer] = []
        self._unsent: dict[int, asyncio.Task[None]] = {}
        self._answers: list[WorkerAnswer] = []
        self._arrived = asyncio.Event()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._bundles: dict[int, list[WorkerCall]] = {}
        self._next_bundle = 0
        self._calls = msgspec.msgpack.Decoder(list[WorkerCall])
        self._encoder = msgspec.msgpack.Encoder()
        self._roots: set[str] = set()

    async def start(self, message: bytes, environment: Mapping[str, str]) -> bytes:
        """Create the model and open it. Keys come along here, where nothing records them."""
        setup = msgspec.msgpack.decode(message, type=WorkerSetup)
        for name, value in environment.items():
            os.environ.setdefault(name, value)
        error = ""
        if (here := version("vivant")) != setup.version:
            error = f"it has Vivant {here}, and the run was started with {setup.version}"
        else:
            try:
                await self._open(setup)
            except VivantError as failed:
                error = str(failed)
        return self._encoder.encode(WorkerStarted(error=error))

    async def _open(self, setup: WorkerSetup) -> None:
        from vivant.core.paths import cache_root
        from vivant.engine.options import RunOptions
        from vivant.engine.run_planning import create_model
        from vivant.media import MediaLoader

        if os.access(setup.folder, os.X_OK):
            os.chdir(setup.folder)
        options = msgspec.json.decode(setup.options, type=RunOptions)
        preparer = MediaLoader(cache_root(), workers=options.workers, threads=setup.threads)
        self._preparer = preparer
        self._preparing = asyncio.Semaphore(max(_PREPARING, 2 * options.workers))
        self._executor = LocalExecutor(
            create_model(options), preparer, audio=options.audio, on_too_large=options.on_too_large
        )
        await self._executor.open()

    async def submit(self, index: int, message: bytes) -> None:
        """Begin with some calls; their answers are given later.

        Bundles are numbered: Ray does not promise that an asynchronous actor gets them in order.
        """
        self._bundles[index] = self._calls.decode(message)
        while (calls := self._bundles.pop(self._next_bundle, None)) is not None:
            self._next_bundle += 1
            for call in calls:
                self._begin_call(call)

    def _begin_call(self, call: WorkerCall) -> None:
        if call.method == "release":
            self._prepared.pop(call.number, None)
            if (task := self._tasks.pop(call.number, None)) is not None:
                task.cancel()
        elif call.method == "limit":
            self._cuts = call.cuts
            if not call.limit:  # before the change, which sends away what waits: each call is answered once
                self._give_back(len(self._unsent))
            self._limit.change(call.limit)
            self._drained.append(WorkerAnswer(number=call.number, method="limit"))
            self._note_drained()
        elif call.method == "give back":
            self._give_back(call.limit)
            self._give(WorkerAnswer(number=call.number, method="give back"))
        else:
            task = self._tasks[call.number] = asyncio.create_task(self._handle(call))
            task.add_done_callback(lambda _: self._end_call(call.number))

    def _end_call(self, number: int) -> None:
        self._tasks.pop(number, None)
        self._note_drained()  # one that was withdrawn as its turn came leaves its place only now

    def _give_back(self, count: int) -> None:
        """Withdraw what waits to be prepared or sent, the last first."""
        for number in list(reversed(self._unsent))[:count]:
            self._unsent.pop(number).cancel()
            self._prepared.pop(number, None)
            self._give(WorkerAnswer(number=number, method="ask", kind="withdrawn"))

    def _note_drained(self) -> None:
        """Answer those that wait until no more requests are under way than may be."""
        if self._drained and self._limit.in_flight <= self._limit.room:
            for answer in self._drained:
                self._give(answer)
            self._drained.clear()

    def _give(self, answer: WorkerAnswer) -> None:
        self._answers.append(answer)
        self._arrived.set()

    async def collect(self) -> bytes:
        """All answers there are, when there is one."""
        while not self._answers:
            self._arrived.clear()
            await self._arrived.wait()
            await asyncio.sleep(GATHER)
        answers, self._answers = self._answers, []
        return self._encoder.encode(answers)

    async def stop(self) -> None:
        """Let the model clean up after itself."""
        for task in self._tasks.values():
            task.cancel()
        if self._executor is not None:
            await self._executor.close()
        if self._preparer is not None:
            self._preparer.close()

    async def _handle(self, call: WorkerCall) -> None:
        assert call.method != "release"
        kind: Literal["media", "no data", "withdrawn", "denied", "fatal"]
        try:
            self._give(await self._answer(call))
            return
        except _NoDataError as error:
            kind, reason = "no data", str(error)
        except WithdrawnError:
            self._prepared.pop(call.number, None)
            kind, reason = "withdrawn", ""
        except MediaError as error:
            kind, reason = "media", str(error)
        except DeniedError as error:
            kind, reason = "denied", str(error)
        except VivantError as error:
            kind, reason = "fatal", str(error)
        except Exception as error:
            # A defect. The run ends with it: a call without an answer would wait for ever.
            logger.exception("The worker failed over a call")
            kind, reason = "fatal", f"a worker failed: {type(error).__name__}: {error}"
        self._give(WorkerAnswer(number=call.number, method=call.method, error=reason, kind=kind))

    async def _answer(self, call: WorkerCall) -> WorkerAnswer:
        assert self._executor is not None, "start() first"
        if call.method == "send":
            return await self._send(call, self._prepared[call.number])
        assert call.job is not None
        if call.method == "identify":
            self._check_data(call.job)
            key = await self._executor.identify(call.job)
            return WorkerAnswer(
                number=call.number, method="identify", fingerprint=key.fingerprint, media=key.media
            )
        if call.method == "ask":
            self._unsent[call.number] = self._tasks[call.number]
            try:
                async with self._preparing:
                    task = self._unsent.pop(call.number)
                    request = await self._prepare(call.job)
                if request.refused is None:
                    self._unsent[call.number] = task
                    self._prepared[call.number] = request
                    return await self._send(call, request)
            finally:
                self._unsent.pop(call.number, None)
        else:
            request = self._prepared[call.number] = await self._prepare(call.job)
        return _describe(call, request, size=request.size, refused=request.refused)

    async def _prepare(self, job: Job) -> PreparedRequest:
        assert self._executor is not None
        self._check_data(job)
        return await self._executor.prepare(job, await self._executor.identify(job))

    async def _send(self, call: WorkerCall, request: PreparedRequest) -> WorkerAnswer:
        """One attempt, when it is its turn."""
        assert self._executor is not None
        await self._limit.acquire()
        self._unsent.pop(call.number, None)
        cuts, position = self._cuts, self._limit.in_flight
        outcome: Reply | TransientError | None = None
        try:
            outcome = await self._executor.send(request)
        finally:
            if isinstance(outcome, TransientError) and outcome.slow_down and self._limit.limit:
                # Nothing takes its place until the limit is told anew, which a complaint always brings about.
                self._limit.limit = max(1, min(self._limit.room, self._limit.in_flight - 1))
            self._limit.release()
            self._note_drained()
        if isinstance(outcome, Reply):
            self._prepared.pop(call.number, None)
            if any(isinstance(part, Image) for part in outcome.parts):
                outcome = inline_images(outcome)
            return _describe(call, request, reply=outcome, seconds=request.seconds)
        failure = TransientFailure(
            message=str(outcome),
            retry_after=outcome.retry_after,
            slow_down=outcome.slow_down,
            unreachable=outcome.unreachable,
            cuts=cuts,
            position=position,
        )
        return _describe(call, request, failure=failure, seconds=request.seconds)

    def _check_data(self, job: Job) -> None:
        """Raise _NoDataError where the job's media cannot be here at all."""
        if job.root in self._roots or all(
            isinstance(part, Text) for message in job.messages for part in message.parts
        ):
            return
        if not Path(job.root).is_dir():
            raise _NoDataError(job.root)
        self._roots.add(job.root)


def _describe(call: WorkerCall, request: PreparedRequest, **outcome: Any) -> WorkerAnswer:
    """An answer with what the log records of a request; `send` has nothing new to say of it."""
    assert call.method != "release"
    if call.method != "send":
        outcome |= {
            "fingerprint": request.key.fingerprint,
            "media": request.key.media,
            "notes": request.job.notes,
        }
    return WorkerAnswer(number=call.number, method=call.method, **outcome)


def request_key(answer: WorkerAnswer) -> RequestKey:
    """What a worker saw."""
    return RequestKey(answer.fingerprint, answer.media)
