"""A headless WebKit (WPE's `cog`), spoken to by WebDriver."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.firefox_kit import PATIENCE, BrowserTab

if TYPE_CHECKING:
    import aiohttp


class WebKitTab(BrowserTab):
    """One tab."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session, self._address = session, address

    async def send(self, path: str, **body: Any) -> Any:
        """Send a command and wait for its result."""
        async with self._session.post(f"{self._address}{path}", json=body) as answer:
            value = (await answer.json())["value"]
            assert answer.status == 200, value
            return value

    async def open(self, program: str) -> None:
        """Begin a session with one tab."""
        options = {"binary": program, "args": ["--automation", "--platform=headless"]}
        wanted = {"alwaysMatch": {"wpe:browserOptions": options}}
        self._address += f"/session/{(await self.send('/session', capabilities=wanted))['sessionId']}"

    async def close(self) -> None:
        """End the session, and the browser with it."""
        async with self._session.delete(self._address) as answer:
            assert answer.status == 200, await answer.text()

    async def goto(self, address: str) -> None:
        """Open an address."""
        await self.send("/url", url=address)

    async def run(self, code: str) -> Any:
        """The value of an expression in the page."""
        return await self.send("/execute/sync", script=f"return {code}", args=[])

    async def press(self, key: str) -> None:
        """Press a key."""
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        await self.send("/actions", actions=[{"type": "key", "id": "keys", "actions": actions}])


@asynccontextmanager
async def open_webkit() -> AsyncIterator[WebKitTab]:
    """A tab in a WebKit of its own; skips where there is none."""
    import aiohttp

    driver, program = shutil.which("WPEWebDriver"), shutil.which("cog")
    if driver is None or program is None:
        pytest.skip("no WebKit here; scripts/ensure-programs installs one where it may")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        quiet = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            driver,
            f"--port={port}",
            env={**os.environ, "XDG_RUNTIME_DIR": folder},
            stdout=quiet,
            stderr=quiet,
        )
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE)) as session:
                while True:
                    try:
                        async with session.get(f"http://127.0.0.1:{port}/status"):
                            break
                    except aiohttp.ClientError:
                        assert process.returncode is None, "WPEWebDriver has ended"
                        await asyncio.sleep(0.2)
                tab = WebKitTab(session, f"http://127.0.0.1:{port}")
                await tab.open(program)
                try:
                    yield tab
                finally:
                    await tab.close()
        finally:
            process.kill()
            await process.wait()
