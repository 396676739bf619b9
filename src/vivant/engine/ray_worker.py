"""The actor on a Ray node: reads media and asks the model there, on behalf of the process that keeps the log.

Many small calls and answers travel as few messages: `submit` brings calls, `collect` waits for answers and
returns all there are. Messages are msgpack; nothing of ours is pickled. This file does not import Ray, so its tests
need none.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from vivant.core.errors import MediaError, VivantError
from vivant.core.generated_images import inline_images
from vivant.core.types import Image, Job, MediaUse, Reply, Text
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
    """`identify`, `prepare` and `preload` name what they make by it; the others refer to what was made under it.
    `preload` begins to prepare and has no answer; `ask` sends what was preloaded, and releases what was answered."""
    what: Literal["identify", "prepare", "preload", "ask", "send", "release"]
    job: Job | None = None


class TransientFailure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A TransientError on its way."""

    message: str
    retry_after: float | None = None
    slow_down: bool = False
    unreachable: bool = False

    def error(self) -> TransientError:
        """As the runner knows it."""
        return TransientError(
            self.message, retry_after=self.retry_after, slow_down=self.slow_down, unreachable=self.unreachable
        )


class WorkerAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a call."""

    number: int
    what: Literal["identify", "prepare", "ask", "send"]
    fingerprint: str = ""
    media: tuple[MediaUse, ...] = ()
    notes: tuple[str, ...] = ()
    size: RequestSize = RequestSize()
    refused: Reply | None = None
    reply: Reply | None = None
    failure: TransientFailure | None = None
    error: str = ""
    kind: Literal["", "media", "no data", "denied", "fatal"] = ""
    """Of the error: one sample's; this node does not see the folder; perhaps or surely no request can succeed."""


_GATHER = 0.001
"""Seconds that answers wait for others to travel with."""
_PRELOADS = 4
"""Preloaded at once. More at once would end together, and so would be sent in bursts, with pauses between."""


class _NoDataError(Exception):
    """This node does not see the job's folder."""


class RayWorker:
    """One per node, or one per accelerator. Its methods are called through Ray."""

    def __init__(self) -> None:
        self._executor: LocalExecutor | None = None
        self._preparer: Any = None
        self._prepared: dict[int, PreparedRequest] = {}
        self._preloading: dict[int, asyncio.Task[PreparedRequest]] = {}
        self._preload_slots = asyncio.Semaphore(_PRELOADS)
        self._answers: list[WorkerAnswer] = []
        self._arrived = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._bundles: dict[int, list[WorkerCall]] = {}
        self._next_bundle = 0
        self._waiting: deque[WorkerCall] = deque()
        self._beginning: asyncio.Task[None] | None = None
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
            self._waiting.extend(calls)
        if self._beginning is None or self._beginning.done():
            self._beginning = asyncio.create_task(self._begin_calls())

    async def _begin_calls(self) -> None:
        """One at a time: a bundle begun at once is sent at once, answered at once, and becomes a burst for good."""
        while self._waiting:
            self._begin_call(self._waiting.popleft())
            await asyncio.sleep(0)

    def _begin_call(self, call: WorkerCall) -> None:
        if call.what == "release":
            self._prepared.pop(call.number, None)
            if (preload := self._preloading.pop(call.number, None)) is not None:
                preload.cancel()
        elif call.what == "preload":
            assert call.job is not None
            preload = asyncio.create_task(self._preload(call.job))
            self._preloading[call.number] = preload
            # `ask` tells what went wrong; what is released before is not missed.
            preload.add_done_callback(lambda task: task.cancelled() or task.exception())
        else:
            task = asyncio.create_task(self._handle(call))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def collect(self) -> bytes:
        """All answers there are, when there is one."""
        while not self._answers:
            self._arrived.clear()
            await self._arrived.wait()
            await asyncio.sleep(_GATHER)
        answers, self._answers = self._answers, []
        return self._encoder.encode(answers)

    async def stop(self) -> None:
        """Let the model clean up after itself."""
        self._waiting.clear()
        for task in (*self._tasks, *self._preloading.values()):
            task.cancel()
        if self._executor is not None:
            await self._executor.close()
        if self._preparer is not None:
            self._preparer.close()

    async def _handle(self, call: WorkerCall) -> None:
        assert call.what != "release" and call.what != "preload"
        try:
            answer = await self._answer(call)
        except _NoDataError as error:
            answer = WorkerAnswer(number=call.number, what=call.what, error=str(error), kind="no data")
        except MediaError as error:
            kind: Literal["media", "fatal"] = "media"
            answer = WorkerAnswer(number=call.number, what=call.what, error=str(error), kind=kind)
        except DeniedError as error:
            answer = WorkerAnswer(number=call.number, what=call.what, error=str(error), kind="denied")
        except VivantError as error:
            answer = WorkerAnswer(number=call.number, what=call.what, error=str(error), kind="fatal")
        except Exception as error:
            # A defect. The run ends with it: a call without an answer would wait for ever.
            logger.exception("The worker failed over a call")
            reason = f"a worker failed: {type(error).__name__}: {error}"
            answer = WorkerAnswer(number=call.number, what=call.what, error=reason, kind="fatal")
        self._answers.append(answer)
        self._arrived.set()

    async def _answer(self, call: WorkerCall) -> WorkerAnswer:
        assert self._executor is not None, "start() first"
        if call.what == "send":
            return await self._send(call.number)
        if call.what == "identify":
            assert call.job is not None
            self._check_data(call.job)
            key = await self._executor.identify(call.job)
            return WorkerAnswer(
                number=call.number, what="identify", fingerprint=key.fingerprint, media=key.media
            )
        sent = WorkerAnswer(number=call.number, what="send")
        if call.what == "ask":
            request = self._prepared[call.number] = await self._preloading.pop(call.number)
            if request.refused is None:
                sent = await self._send(call.number)
                if sent.reply is not None:
                    self._prepared.pop(call.number, None)
        else:
            assert call.what == "prepare" and call.job is not None
            request = self._prepared[call.number] = await self._prepare(call.job)
        return WorkerAnswer(
            number=call.number,
            what=call.what,
            reply=sent.reply,
            failure=sent.failure,
            fingerprint=request.key.fingerprint,
            media=request.key.media,
            notes=request.job.notes,
            size=request.size,
            refused=request.refused,
        )

    async def _preload(self, job: Job) -> PreparedRequest:
        async with self._preload_slots:
            return await self._prepare(job)

    async def _prepare(self, job: Job) -> PreparedRequest:
        assert self._executor is not None
        self._check_data(job)
        return await self._executor.prepare(job, await self._executor.identify(job))

    async def _send(self, number: int) -> WorkerAnswer:
        assert self._executor is not None
        outcome = await self._executor.send(self._prepared[number])
        if isinstance(outcome, Reply):
            if any(isinstance(part, Image) for part in outcome.parts):
                outcome = inline_images(outcome)
            return WorkerAnswer(number=number, what="send", reply=outcome)
        failure = TransientFailure(
            message=str(outcome),
            retry_after=outcome.retry_after,
            slow_down=outcome.slow_down,
            unreachable=outcome.unreachable,
        )
        return WorkerAnswer(number=number, what="send", failure=failure)

    def _check_data(self, job: Job) -> None:
        """Raise _NoDataError where the job's media cannot be here at all."""
        if job.root in self._roots or all(
            isinstance(part, Text) for message in job.messages for part in message.parts
        ):
            return
        if not Path(job.root).is_dir():
            raise _NoDataError(job.root)
        self._roots.add(job.root)


def request_key(answer: WorkerAnswer) -> RequestKey:
    """What a worker saw."""
    return RequestKey(answer.fingerprint, answer.media)
