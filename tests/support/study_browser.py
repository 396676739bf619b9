"""A browser and served studies, for test modules that name this one in `pytest_plugins`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser_kit import open_browser, run_server
from tests.support.study_kit import tiny_study
from tests.support.study_visitor import PATIENCE
from tests.support.study_web import build_app, open_served_store
from vivant.study.design import Kind
from vivant.study.store import StudyStore


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium for the tests of one file."""
    expect.set_options(timeout=PATIENCE)
    with open_browser() as result:
        yield result
    expect.set_options(timeout=5_000)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Any]:
    """Studies served from a thread, with their stores."""
    with ExitStack() as opened:
        count = 0

        def start(kind: Kind = "mcq", **given: Any) -> tuple[str, StudyStore]:
            nonlocal count
            count += 1
            loaded = tiny_study(tmp_path / f"study{count}", kind, **given)
            store = open_served_store(loaded)
            return opened.enter_context(run_server(build_app(loaded, store))), store

        yield start
