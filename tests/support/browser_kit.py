"""A headless Chromium, and servers to point it at."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright

from vivant.view.app import create_app
from vivant.web.server import bind

FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str:
    """The browser's program; skips where there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        result = shutil.which(name)
        if result:
            return result
    pytest.skip("no Chromium here; scripts/ensure-programs installs one where it may")


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser for the tests of one file."""
    program = chromium()
    # Only root needs to do without the sandbox, and in containers it always does.
    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    # The default of five seconds is short where other tests have the processor.
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=flags)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def run_server(app: Any) -> Iterator[str]:
    """An application on a port of its own, in a thread; gives its address."""
    bound = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        bound.close()


def run_viewer(root: Path, **given: object) -> AbstractContextManager[str]:
    """A server over a folder of runs; gives its address."""
    return run_server(create_app(root, **given))  # type: ignore[arg-type]


def record_problems(page: Page) -> list[str]:
    """What goes wrong in a page from now on: errors of scripts, refusals of the content-security policy."""
    text: list[str] = []
    page.on("pageerror", lambda error: text.append(str(error)))
    page.on("console", lambda message: text.append(message.text) if message.type == "error" else None)
    return text
