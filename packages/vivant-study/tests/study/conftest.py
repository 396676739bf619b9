"""What the tests of studies share: chance that is the same each time, an event loop, and a PostgreSQL."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterator

import pytest


@pytest.fixture(autouse=True)
def _same_secrets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test draw the same secrets in every run: who gets which items, and in which order, follows from them."""
    generator = random.Random(request.node.nodeid)
    monkeypatch.setattr(secrets, "token_bytes", lambda count=32: generator.randbytes(count or 32))


@pytest.fixture(scope="session", autouse=True)
def _one_loop() -> Iterator[None]:
    """Run the requests of all walkers in one event loop."""
    from anyio.from_thread import start_blocking_portal

    from tests.support.study_web import Walker

    with start_blocking_portal() as Walker.portal:
        yield
    Walker.portal = None


@pytest.fixture(scope="session")
def fresh_postgres() -> Iterator[Callable[..., str]]:
    """Make a database in the session's PostgreSQL and return its URL.

    It has a study's tables, as a copy of a migrated database; with `tables=False` it is empty.
    """
    from tests.support.study_postgres import run_postgres

    with run_postgres() as create:
        yield create


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str | None:
    """A database: the study's own file, and a new one in PostgreSQL."""
    if request.param == "sqlite":
        return None
    new: str = request.getfixturevalue("fresh_postgres")()
    return new
