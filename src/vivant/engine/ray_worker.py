"""The actor on a Ray node: reads media and asks the model there, on behalf of the process that keeps the log.

Many small calls and answers travel as few messages: `take` brings calls, `give` waits for answers and returns all
there are. Messages are msgpack; nothing of ours is pickled. This file does not import Ray, so it needs none to be
tested.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from vivant.core.errors import MediaError, VivantError
from vivant.core.generated_images import inline_images
from vivant.core.types import Image, Job, MediaUse, Reply, Text
from vivant.engine.executor import LocalHands, Look, Ready
from vivant.engine.tokens import Load
from vivant.models.base import TransientError

_GATHER = 0.004
"""Seconds that answers wait for others to travel with."""


class Setup(Struct, frozen=True, kw_only=True):
    """What a station is told when it starts."""

    options: bytes
    """The run's `Options`, as JSON."""
    version: str
    threads: int
    """For each process that decodes: what the node has given to this station, no more."""
    folder: str
    """Where the user stands: relative paths mean the same here, if the node sees that folder."""


class Started(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How that went."""

    error: str = ""


class Call(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing to do."""

    number: int
    """`look` and `prepare` name what they make by it; `ask` and `drop` refer to what was prepared under it."""
    what: Literal["look", "prepare", "ask", "drop"]
    job: Job | None = None


class Failure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A TransientError on its way."""

    message: str
    retry_after: float | None = None
    slow_down: bool = False
    unreachable: bool = False

    def error(self) -> TransientError:
        """As the runner knows it."""
        return TransientError(
            self.message,
            retry_after=self.retry_after,
            slow_down=self.slow_down,
            unreachable=self.unreachable,
        )


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a call."""

    number: int
    what: Literal["look", "prepare", "ask"]
    fingerprint: str = ""
    media: tuple[MediaUse, ...] = ()
    notes: tuple[str, ...] = ()
    load: Load = Load()
    refused: Reply | None = None
    reply: Reply | None = None
    failure: Failure | None = None
    error: str = ""
    kind: Literal["", "media", "unseen", "fatal"] = ""
    """Of the error: one sample's; this node does not see the folder; nobody's request can succeed."""


class Station:
    """One per node, or one per accelerator. Its methods are called through Ray."""

    def __init__(self) -> None:
        self._hands: LocalHands | None = None
        self._closing: Any = None
        self._ready: dict[int, Ready] = {}
        self._answers: list[Answer] = []
        self._arrived = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls = msgspec.msgpack.Decoder(list[Call])
        self._encoder = msgspec.msgpack.Encoder()
        self._seen: set[str] = set()

    async def start(self, message: bytes, environment: Mapping[str, str]) -> bytes:
        """Create the model and open it. Keys come along here, where nothing records them."""
        setup = msgspec.msgpack.decode(message, type=Setup)
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
        return self._encoder.encode(Started(error=error))

    async def _open(self, setup: Setup) -> None:
        from vivant.core.paths import cache_root
        from vivant.engine.evaluation import Options, create_model
        from vivant.media import MediaLoader

        if os.access(setup.folder, os.X_OK):
            os.chdir(setup.folder)
        options = msgspec.json.decode(setup.options, type=Options)
        loader = MediaLoader(cache_root(), workers=options.workers, threads=setup.threads)
        self._closing = loader
        self._hands = LocalHands(
            create_model(options), loader, audio=options.audio, on_too_large=options.on_too_large
        )
        await self._hands.open()

    async def take(self, message: bytes) -> None:
        """Begin with some calls; their answers are given later."""
        for call in self._calls.decode(message):
            if call.what == "drop":
                self._ready.pop(call.number, None)
                continue
            task = asyncio.create_task(self._do(call))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def give(self) -> bytes:
        """All answers there are, when there is one."""
        while not self._answers:
            self._arrived.clear()
            await self._arrived.wait()
            await asyncio.sleep(_GATHER)
        answers, self._answers = self._answers, []
        return self._encoder.encode(answers)

    async def stop(self) -> None:
        """Let the model clean up after itself."""
        for task in self._tasks:
            task.cancel()
        if self._hands is not None:
            await self._hands.close()
        if self._closing is not None:
            self._closing.close()

    async def _do(self, call: Call) -> None:
        assert call.what != "drop"
        try:
            answer = await self._answer(call)
        except MediaError as error:
            kind: Literal["media", "fatal"] = "media"
            answer = Answer(number=call.number, what=call.what, error=str(error), kind=kind)
        except VivantError as error:
            answer = Answer(number=call.number, what=call.what, error=str(error), kind="fatal")
        self._answers.append(answer)
        self._arrived.set()

    async def _answer(self, call: Call) -> Answer:
        assert self._hands is not None and call.what != "drop", "start() first"
        if call.what == "ask":
            return await self._ask(call.number)
        assert call.job is not None
        if not self._sees(call.job):
            return Answer(number=call.number, what=call.what, error=call.job.root, kind="unseen")
        look = await self._hands.look(call.job)
        if call.what == "look":
            return Answer(number=call.number, what="look", fingerprint=look.fingerprint, media=look.media)
        ready = await self._hands.prepare(call.job, look)
        self._ready[call.number] = ready
        return Answer(
            number=call.number,
            what="prepare",
            fingerprint=ready.look.fingerprint,
            media=ready.look.media,
            notes=ready.job.notes,
            load=ready.load,
            refused=ready.refused,
        )

    async def _ask(self, number: int) -> Answer:
        assert self._hands is not None
        outcome = await self._hands.ask(self._ready[number])
        if isinstance(outcome, Reply):
            if any(isinstance(part, Image) for part in outcome.parts):
                outcome = inline_images(outcome)
            return Answer(number=number, what="ask", reply=outcome)
        failure = Failure(
            message=str(outcome),
            retry_after=outcome.retry_after,
            slow_down=outcome.slow_down,
            unreachable=outcome.unreachable,
        )
        return Answer(number=number, what="ask", failure=failure)

    def _sees(self, job: Job) -> bool:
        """Whether the job's media can be here at all."""
        if job.root in self._seen or all(
            isinstance(part, Text) for message in job.messages for part in message.parts
        ):
            return True
        if Path(job.root).is_dir():
            self._seen.add(job.root)
            return True
        return False


def look_of(answer: Answer) -> Look:
    """What a station saw."""
    return Look(answer.fingerprint, answer.media)
