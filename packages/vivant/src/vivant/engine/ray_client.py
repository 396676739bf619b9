"""A worker on another node, as this process sees it: calls go out in bundles, answers come back in bundles."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

import msgspec

from vivant.engine.ray_worker import GATHER, WorkerAnswer, WorkerCall

_STOP_SECONDS = 10.0


class WorkerLostError(Exception):
    """The worker, or its node, is gone."""


class WorkerHandle:
    """One worker."""

    def __init__(
        self,
        actor: Any,
        slot: str,
        node: str,
        *,
        on_loss: Callable[[WorkerHandle], None],
        on_answers: Callable[[], None],
    ) -> None:
        self.slot = slot
        self.node = node
        self.lost = False
        self.answered = False
        self.limit = 0
        """Its share of the requests under way, where it has one (see `ray_shares`)."""
        self.held = 0
        """How many it may still have under way: more than its share, after that has fallen."""
        self._actor = actor
        self._on_loss = on_loss
        self._on_answers = on_answers
        self._waiting: dict[tuple[int, str], asyncio.Future[WorkerAnswer]] = {}
        self._orders = count()
        self._outbox: list[WorkerCall] = []
        self._bundles = 0
        self._sending = False
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(list[WorkerAnswer])
        self._listening: asyncio.Task[None] | None = None

    @property
    def busy(self) -> int:
        """Calls under way."""
        return len(self._waiting)

    def open(self) -> None:
        """Begin to listen."""
        self._listening = asyncio.create_task(self._listen())

    async def call(self, call: WorkerCall) -> WorkerAnswer:
        """Have something done. Raises WorkerLostError where the worker is gone before it answers."""
        if self.lost:
            raise WorkerLostError(f"the worker on {self.node} was lost")
        future: asyncio.Future[WorkerAnswer] = asyncio.get_running_loop().create_future()
        name = (call.number, call.method)
        self._waiting[name] = future
        self.send(call)
        try:
            return await future
        finally:
            self._waiting.pop(name, None)

    async def call_limit(self, limit: int, cuts: int) -> None:
        """Tell its share, and wait until it has no more under way."""
        await self.call(WorkerCall(number=next(self._orders), method="limit", limit=limit, cuts=cuts))

    def send_limit(self, limit: int, cuts: int) -> None:
        """Tell its share."""
        self.send(WorkerCall(number=next(self._orders), method="limit", limit=limit, cuts=cuts))

    async def take_back(self, count: int) -> None:
        """Have calls back that it has not begun with, so many at most."""
        await self.call(WorkerCall(number=next(self._orders), method="give back", limit=count))

    def send(self, call: WorkerCall) -> None:
        """Have something done that has no answer."""
        if self.lost:
            return
        self._outbox.append(call)
        if not self._sending:
            self._sending = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        if not self._outbox or self.lost:
            self._sending = False
            return
        calls, self._outbox = self._outbox, []
        # Its outcome is not waited for: a worker that is gone shows in `_listen`.
        self._actor.submit.remote(self._bundles, self._encoder.encode(calls))
        self._bundles += 1
        asyncio.get_running_loop().call_later(GATHER, self._flush)

    async def _listen(self) -> None:
        from ray.exceptions import RayError

        while True:
            try:
                message = await self._actor.collect.remote()
            except RayError:
                self._lose()
                return
            self.answered = True
            for answer in self._decoder.decode(message):
                future = self._waiting.get((answer.number, answer.method))
                if future is not None and not future.done():
                    future.set_result(answer)
                    del self._waiting[answer.number, answer.method]
            self._on_answers()

    def _lose(self) -> None:
        import ray

        self.lost = True
        # It may only be out of reach: it must not go on asking what others ask now.
        ray.kill(self._actor)
        self._on_loss(self)
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(WorkerLostError(f"the worker on {self.node} was lost"))

    async def close(self) -> None:
        """Let the worker clean up, and end it."""
        import ray
        from ray.exceptions import RayError

        if self._listening is not None:
            self._listening.cancel()
        if self.lost:
            return
        self.lost = True
        with suppress(RayError, TimeoutError):  # what cannot clean up in time is ended all the same
            await asyncio.wait_for(self._stop(), _STOP_SECONDS)
        ray.kill(self._actor)

    async def _stop(self) -> None:
        await self._actor.stop.remote()
