"""A headless Chromium, and servers to point it at."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from playwright.sync_api import expect as expect
else:

    def expect(*given: Any) -> Any:
        """Playwright's `expect`, which takes half a second to import."""
        from playwright.sync_api import expect

        return expect(*given)


P = ParamSpec("P")
T = TypeVar("T")

PATIENCE = 600_000
"""Milliseconds after which something hangs: a machine that is busy with other things is no failure."""
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str:
    """The browser's program; skips where there is none.

    The shell without windows opens a context in a quarter of the time.
    """
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
        result = shutil.which(name)
        if result:
            return result
    pytest.skip("no Chromium here; scripts/ensure-programs installs one where it may")


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser of one's own."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = chromium()
    # Only root needs to do without the sandbox, and in containers it always does.
    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    sync_api.expect.set_options(timeout=PATIENCE)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=flags, timeout=PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


def open_page(browser: Browser, **given: Any) -> Page:
    """A page in a context of its own, with the patience of a busy machine. Options are those of a context."""
    context = browser.new_context(**given)
    context.set_default_timeout(PATIENCE)
    context.set_default_navigation_timeout(PATIENCE)
    return context.new_page()


def run_apart(function: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Call a function in a thread of its own: one that runs an event loop fails in Playwright's."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *given, **named).result()


@contextmanager
def run_server(app: Any) -> Iterator[str]:
    """An application on a port of its own, in a thread; gives its address."""
    import uvicorn

    from vivant.web.server import bind

    bound = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server ended before it started"
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(600)
        bound.close()


def run_viewer(root: Path, **given: object) -> AbstractContextManager[str]:
    """A server over a folder of runs; gives its address."""
    from vivant.view.app import create_app

    return run_server(create_app(root, **given))  # type: ignore[arg-type]


def record_problems(page: Page) -> list[str]:
    """What goes wrong in a page from now on: errors of scripts, refusals of the content-security policy."""
    text: list[str] = []
    page.on("pageerror", lambda error: text.append(str(error)))
    page.on("console", lambda message: text.append(message.text) if message.type == "error" else None)
    return text
