"""Participants without a browser, servers to point them at, and a PostgreSQL for tests."""

from __future__ import annotations

import atexit
import functools
import html
import logging
import os
import re
import shutil
import signal
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from vivant.study.loading import LoadedStudy
from vivant.study.server.app import create_app
from vivant.study.server.context import ServerSettings
from vivant.study.server.limits import RateLimits
from vivant.study.store import StudyStore, open_store
from vivant.study.store.people import invite

TOKEN = "a-token-for-the-researcher"
FREE = RateLimits(
    session=(1e6, 1e6), together=(1e6, 1e6), arrivals=(1e6, 1e6), wrong=(1e6, 1e6), media=(1e6, 1e6)
)


@functools.cache
def _postgres() -> Any:
    """One PostgreSQL for all tests of a process, gone with it."""
    pgserver = pytest.importorskip("pgserver", reason="pgserver is not installed")
    folder = tempfile.mkdtemp()
    os.environ.setdefault("XDG_RUNTIME_DIR", folder)
    server = pgserver.get_server(Path(folder) / "data", cleanup_mode=None)

    def end() -> None:
        os.kill(server.get_pid(), signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.unregister(server._cleanup)
    atexit.register(end)
    return server


def fresh_postgres() -> str:
    """The URL of a new, empty database in a real PostgreSQL."""
    import psycopg

    server = _postgres()
    name = f"study_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return str(server.get_uri(name))


class Clock:
    """Time that tests turn on by hand."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def open_served_store(
    loaded: LoadedStudy, url: str | None = None, *, clock: Callable[[], float] = time.time
) -> StudyStore:
    """The store of a study that is about to be served."""
    store = open_store(loaded.path, url, clock=clock)
    store.raise_target(loaded.study.judgements_per_item)
    return store


@contextmanager
def recorded_warnings() -> Iterator[list[str]]:
    """The lines that are logged for the operator meanwhile."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("vivant")
    logger.addHandler(handler)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)


def build_app(loaded: LoadedStudy, store: StudyStore, **given: Any) -> ASGIApp:
    """The application, with no limits on rates unless they are named."""
    limits = given.pop("limits", FREE)
    return create_app(loaded, store, ServerSettings(admin_token=TOKEN, **given), limits=limits)


class Walker:
    """A participant who answers by plain forms and by the script's requests."""

    def __init__(self, app: ASGIApp, root: str = "", *, seen: list[Any] | None = None) -> None:
        self.client = TestClient(app, base_url="http://testserver", raise_server_exceptions=True)
        self.root = root
        self.answer: Any = None
        self.seen = seen if seen is not None else []
        """Every response, redirects included."""

    def _keep(self, answer: Any) -> Any:
        self.seen += [*answer.history, answer]
        self.answer = answer
        return answer

    def get(self, path: str, **given: Any) -> Any:
        """Open an address."""
        return self._keep(self.client.get(self.root + path, **given))

    def post(self, path: str, **fields: str) -> Any:
        """Send a form; names with a dot are passed in a mapping by `send`."""
        return self.send(path, fields)

    def send(self, path: str, fields: dict[str, str], **given: Any) -> Any:
        """Send a form of this page's."""
        return self._keep(self.client.post(self.root + path, data={"form": self.form, **fields}, **given))

    def script(self, path: str, **sent: Any) -> Any:
        """What the page's script sends."""
        body = {"form": self.form, "page": self.page, **sent}
        accept = {"accept": "application/json"}
        answer = self.client.post(self.root + path, json=body, headers=accept)
        self.seen.append(answer)
        return answer

    @property
    def text(self) -> str:
        """The page, as it is read."""
        return html.unescape(self.answer.text)

    def field(self, name: str) -> str:
        """A hidden field of the page; empty where it has none."""
        result = re.search(rf'name="{name}" value="([^"]*)"', self.answer.text)
        return result.group(1) if result else ""

    @property
    def form(self) -> str:
        """The token of the page's forms."""
        return self.field("form")

    @property
    def page(self) -> str:
        """The name of the page."""
        return self.field("page")

    @property
    def names(self) -> list[str]:
        """Fields that are to be answered."""
        result = re.findall(
            r'name="((?:choice|text|best|worst|spans|scale\.[\w-]+\.\d+|verdict\.\d+))"', self.answer.text
        )
        return list(dict.fromkeys(result))

    @property
    def media(self) -> list[str]:
        """Addresses of the page's media."""
        return re.findall(r'src="([^"]*/m/[^"]*)"', self.answer.text)

    def options(self) -> list[str]:
        """The texts of the options, in the order of the page."""
        result = re.findall(r'<label class="choice">.*?<span dir="auto">(.*?)</span>', self.answer.text)
        return [html.unescape(text) for text in result]

    def some_answer(self, value: str = "1") -> dict[str, str]:
        """An answer to everything on the page."""
        kinds = {"text": "a made-up deed", "verdict": "human", "spans": "0.2-0.6", "worst": "2"}
        return {name: kinds.get(name.partition(".")[0], value) for name in self.names}

    def begin(self, token: str, language: str = "") -> Walker:
        """From the personal link to the first item."""
        if language:
            self.client.headers["accept-language"] = language
        self.get(f"/join/{token}")
        return self.agree()

    def agree(self) -> Walker:
        """From consent to the first item."""
        self.post("/study/consent", agree="yes")
        if 'action="' + self.root + '/study/about"' in self.answer.text:
            self.send("/study/about", {"about.age": "1"})
        self.post("/study/begin")
        return self

    def next(self, value: str = "1") -> Any:
        """Answer the page that is shown."""
        return self.send("/study/answer", {"page": self.page, **self.some_answer(value)})

    def walk(self, most: int = 100) -> int:
        """Answer all that is left; how many pages that were."""
        count = 0
        while self.page and count < most:
            before = self.page
            self.next()
            assert self.page != before, self.text
            count += 1
        return count


def invite_walker(app: ASGIApp, store: StudyStore, root: str = "") -> Walker:
    """A participant with a link of their own, at the first item."""
    return Walker(app, root).begin(invite(store, 1)[0])
