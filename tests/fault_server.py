"""A loopback server that speaks chat completions and can be told to misbehave.

Each test gives it a `behave` function: (number of the request, decoded body) → what to do. It runs in a
thread of its own, so that synchronous tests and command-line runs in other processes can use it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
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


Behave = Callable[[int, dict[str, Any]], Act]


class FaultServer:
    """Counts what it sees: requests, and how many were under way together."""

    def __init__(self, behave: Behave) -> None:
        self.behave = behave
        self.requests: list[dict[str, Any]] = []
        self.in_flight = 0
        self.highest = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = msgspec.json.decode(await request.read())
        self.requests.append({**body, "authorization": request.headers.get("Authorization", "")})
        self.in_flight += 1
        self.highest = max(self.highest, self.in_flight)
        try:
            act = self.behave(len(self.requests), body)
            if act.delay:
                await asyncio.sleep(act.delay)
            if act.break_connection:
                response = web.StreamResponse(headers={"Content-Length": "1000"})
                await response.prepare(request)
                await response.write(b'{"choices": [')
                assert request.transport is not None
                request.transport.close()
                return response
            if act.body is not None or act.status != 200:
                data = act.body if act.body is not None else b'{"error": {"message": "told to fail"}}'
                return web.Response(status=act.status, body=data, headers=act.headers)
            return web.Response(body=completion(act.text, act.finish), content_type="application/json")
        finally:
            self.in_flight -= 1


def completion(text: str, finish: str = "stop") -> bytes:
    """A chat completion as servers send it."""
    return msgspec.json.encode(
        {
            "model": "stand-in",
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 1},
        }
    )


@contextmanager
def serving(behave: Behave) -> Iterator[FaultServer]:
    """A running server; it stops when the block ends."""
    server = FaultServer(behave)
    started = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def main() -> None:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", server.handle)
        app.router.add_post("/v1/images/generations", server.handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.port = runner.addresses[0][1]
        started.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()), daemon=True)
    thread.start()
    started.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()
