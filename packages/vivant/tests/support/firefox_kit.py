"""A headless Firefox, spoken to by WebDriver BiDi, which it speaks itself: no driver program is needed."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import aiohttp

PATIENCE = 600.0
"""Seconds after which something hangs."""


class BrowserTab(ABC):
    """One tab of a browser other than Chromium."""

    @abstractmethod
    async def goto(self, address: str) -> None:
        """Open an address."""

    @abstractmethod
    async def run(self, code: str) -> Any:
        """The value of an expression in the page."""

    @abstractmethod
    async def press(self, key: str) -> None:
        """Press a key."""

    async def wait(self, code: str) -> None:
        """Wait until an expression is true, over page loads."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if await self.run(code):
                    return
            except AssertionError:
                # The page is being replaced.
                pass
            await asyncio.sleep(0.2)
        raise AssertionError(f"It never became true: {code}")


class FirefoxTab(BrowserTab):
    """One tab."""

    def __init__(self, connection: aiohttp.ClientWebSocketResponse) -> None:
        self._connection = connection
        self._number = 0
        self._context = ""

    async def call(self, method: str, **params: Any) -> Any:
        """Send a command and wait for its result."""
        self._number += 1
        await self._connection.send_json({"id": self._number, "method": method, "params": params})
        while True:
            message = json.loads((await self._connection.receive(timeout=PATIENCE)).data)
            if message.get("id") == self._number:
                assert message["type"] == "success", message
                return message["result"]

    async def open(self) -> None:
        """Begin a session with one tab."""
        await self.call("session.new", capabilities={})
        self._context = (await self.call("browsingContext.create", type="tab"))["context"]

    async def goto(self, address: str) -> None:
        """Open an address."""
        await self.call("browsingContext.navigate", context=self._context, url=address, wait="complete")

    async def run(self, code: str) -> Any:
        """The value of an expression in the page."""
        result = await self.call(
            "script.evaluate", expression=code, target={"context": self._context}, awaitPromise=True
        )
        assert result["type"] == "success", result
        return result["result"].get("value")

    async def press(self, key: str) -> None:
        """Press a key."""
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        source = {"type": "key", "id": "keys", "actions": actions}
        await self.call("input.performActions", context=self._context, actions=[source])


@asynccontextmanager
async def open_firefox() -> AsyncIterator[FirefoxTab]:
    """A tab in a Firefox of its own; skips where there is none."""
    import aiohttp

    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("no Firefox here; scripts/ensure-programs installs one where it may")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    profile = tempfile.mkdtemp()
    command = [
        program,
        "--headless",
        "--no-remote",
        "--profile",
        profile,
        "--remote-debugging-port",
        str(port),
    ]
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdout=quiet, stderr=quiet)
    try:
        async with aiohttp.ClientSession() as session:
            while True:
                try:
                    connection = await session.ws_connect(f"http://127.0.0.1:{port}/session")
                    break
                except aiohttp.ClientError:
                    assert process.returncode is None, "Firefox has ended"
                    await asyncio.sleep(0.2)
            tab = FirefoxTab(connection)
            await tab.open()
            yield tab
            await connection.close()
    finally:
        process.kill()
        await process.wait()
        shutil.rmtree(profile, ignore_errors=True)
