"""One Chromium for all browser tests that follow one another, for modules that name this one in `pytest_plugins`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.support.browser_kit import open_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_opened = ExitStack()
_shared: list[Browser] = []


@pytest.fixture
def browser() -> Iterator[Browser]:
    """A Chromium. Its contexts and pages are closed after the test; the next browser test gets it again."""
    if not (_shared and _shared[0].is_connected()):
        _close()
        _shared.append(_opened.enter_context(open_browser()))
    opened = _shared[0]
    yield opened
    if opened.is_connected():
        for context in opened.contexts:
            context.close()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Close the browser before a test that has none: Playwright keeps an event loop going in this thread."""
    if "browser" not in getattr(nextitem, "fixturenames", ()):
        _close()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Close the browser where the tests were stopped."""
    _close()


def _close() -> None:
    _shared.clear()
    _opened.close()
