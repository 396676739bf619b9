"""A loopback server that speaks chat completions and can be told to misbehave.

Each test gives it a `behave` function: (number of the request, decoded body) → what to do. It runs in a
thread of its own, so that synchronous tests and command-line runs in other processes can use it.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import warnings
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import web


@dataclass
class Act:
    """One answer. `text` is what the model says; the other fields are what goes wrong."""

    text: str = "A"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    body: bytes | None = None
    finish: str = "stop"
    break_connection: bool = False
    half_stream: bool = False
    """Half of the answer as a stream, which then ends without its end."""
    stall: bool = False
    """Half of the answer, and then nothing for as long as the client waits."""
    hang: bool = False
    """Nothing at all."""
    tokens: tuple[int, int] | None = (10, 1)
    """As reported: in and out; None for a server that does not say."""


Behave = Callable[[int, dict[str, Any]], Act]


class FaultServer:
    """Counts what it sees: requests, when they came, and how many were under way together."""

    def __init__(self, behave: Behave) -> None:
        self.behave = behave
        self.requests: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.in_flight = 0
        self.highest = 0
        self.port = 0
        self.limit: int | None = None
        """More requests at once than this are answered with 429. May be changed while it runs."""
        self.refused = 0
        self.served: list[tuple[float, int]] = []
        """When an answer was given, and how many were under way then."""
        self.spent = 0
        """Tokens reported so far."""
        self._loop = asyncio.new_event_loop()
        self._runner: web.AppRunner | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    # ── from other threads ──

    def start(self) -> None:
        """Begin to listen, on the port of the last time if there was one."""
        if not self._thread.is_alive():
            self._thread.start()
        self._do(self._listen())

    def die(self) -> None:
        """Break all connections and listen no more; `start` brings it back."""
        self._do(self._fall_silent())

    def end(self) -> None:
        """For good."""
        self.die()
        self._do(self._forget())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(600)
        self._loop.close()
        # A connection that arrived while the server died belongs to nobody; it is collected here, not in a test.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(600)

    # ── in its own thread ──

    async def _listen(self) -> None:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self.handle)
        app.router.add_post("/v1/images/generations", self.handle)
        # Whoever waits no longer is not counted as under way.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True).start()
        self.port = self._runner.addresses[0][1]

    async def _fall_silent(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _forget(self) -> None:
        """What still hangs is let go."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = msgspec.json.decode(await request.read())
        self.requests.append({**body, "authorization": request.headers.get("Authorization", "")})
        self.times.append(time.monotonic())
        if self.limit is not None and self.in_flight >= self.limit:
            self.refused += 1
            return web.Response(status=429, body=b'{"error": {"message": "too many at once"}}')
        self.in_flight += 1
        self.highest = max(self.highest, self.in_flight)
        try:
            return await self._act(request, self.behave(len(self.requests), body))
        finally:
            self.in_flight -= 1

    async def _act(self, request: web.Request, act: Act) -> web.StreamResponse:
        if act.delay:
            await asyncio.sleep(act.delay)
        if act.hang:
            await asyncio.sleep(3600)
        if act.break_connection:
            response = web.StreamResponse(headers={"Content-Length": "1000"})
            await response.prepare(request)
            await response.write(b'{"choices": [')
            return _cut(request, response)
        if act.body is not None or act.status != 200:
            data = act.body if act.body is not None else b'{"error": {"message": "told to fail"}}'
            return web.Response(status=act.status, body=data, headers=act.headers)
        answer = completion(act.text, act.finish, act.tokens)
        if act.half_stream or act.stall:
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            response.enable_chunked_encoding()
            await response.prepare(request)
            await response.write(answer[: len(answer) // 2])
            if act.stall:
                await asyncio.sleep(3600)
            return _cut(request, response)
        self.served.append((time.monotonic(), self.in_flight))
        self.spent += sum(act.tokens or ())
        return web.Response(body=answer, content_type="application/json")


def _cut(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return response


def completion(text: str, finish: str = "stop", tokens: tuple[int, int] | None = (10, 1)) -> bytes:
    """A chat completion as servers send it."""
    usage = {} if tokens is None else {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return msgspec.json.encode(
        {
            "model": "stand-in",
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}],
            "usage": usage,
        }
    )


@contextmanager
def serving(behave: Behave) -> Iterator[FaultServer]:
    """A running server; it stops when the block ends."""
    server = FaultServer(behave)
    server.start()
    try:
        yield server
    finally:
        server.end()
