"""A real PostgreSQL for tests."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

_PATIENCE = 600
"""Seconds in which the server starts, however busy the machine is."""


@contextmanager
def run_postgres() -> Iterator[Callable[..., str]]:
    """Run a server; gives a function that makes a database and returns its URL."""
    folder = Path(tempfile.mkdtemp())
    server = None
    try:
        server = _start(folder)
        yield _make_creator(server)
    finally:
        if server is not None:
            os.kill(server.get_pid(), signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)


def _start(folder: Path) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        if "XDG_RUNTIME_DIR" not in os.environ:
            # Where pgserver keeps its lock.
            patch.setenv("XDG_RUNTIME_DIR", str(folder))
        postgres_server = pytest.importorskip("pgserver.postgres_server", reason="pgserver is not installed")
        pg_ctl = postgres_server.pg_ctl
        patch.setenv("PGCTLTIMEOUT", str(_PATIENCE))
        patch.setattr(postgres_server, "pg_ctl", lambda *a, **k: pg_ctl(*a, **{**k, "timeout": _PATIENCE}))
        server = postgres_server.get_server(folder / "data", cleanup_mode=None)
    atexit.unregister(server._cleanup)
    return server


def _make_creator(server: Any) -> Callable[..., str]:
    import psycopg

    from vivant_study.store import schema
    from vivant_study.store.database import Database, database_url

    def execute(*statements: str) -> None:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    # No test stops this server: nothing needs to survive on its disk.
    execute(
        *(f"ALTER SYSTEM SET {name} = off" for name in ("fsync", "full_page_writes")),
        "SELECT pg_reload_conf()",
        "CREATE DATABASE study_template",
    )
    database = Database(database_url(Path(), str(server.get_uri("study_template"))))
    schema.upgrade(database)
    database.close()
    numbers = count()

    def create(*, tables: bool = True) -> str:
        name = f"study_{next(numbers)}"
        execute(f"CREATE DATABASE {name} TEMPLATE {'study_template' if tables else 'template1'}")
        return str(server.get_uri(name))

    return create
