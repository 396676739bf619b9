"""Served studies, for browser tests that name this module in `pytest_plugins`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser_kit import run_server
from tests.support.study_kit import tiny_study
from tests.support.study_web import build_app, open_served_store
from vivant_study.design import Kind
from vivant_study.store import StudyStore


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Any]:
    """Studies served from a thread, with their stores."""
    with ExitStack() as opened:
        count = 0

        def start(kind: Kind = "mcq", **given: Any) -> tuple[str, StudyStore]:
            nonlocal count
            count += 1
            clock = given.pop("clock", time.time)
            loaded = tiny_study(tmp_path / f"study{count}", kind, **given)
            store = open_served_store(loaded, clock=clock)
            return opened.enter_context(run_server(build_app(loaded, store))), store

        yield start
