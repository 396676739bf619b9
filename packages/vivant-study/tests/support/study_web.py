"""Participants without a browser, and applications to point them at."""

from __future__ import annotations

import functools
import html
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest
from anyio.from_thread import BlockingPortal
from jinja2 import Environment
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from tests.support.study_kit import copy_empty_database
from vivant.web.pages import page_environment
from vivant_study.loading import LoadedStudy
from vivant_study.server import context, interface
from vivant_study.server.app import create_app
from vivant_study.server.context import ServerSettings
from vivant_study.server.fixed_texts import make_fixed_environment
from vivant_study.server.interface import InterfaceTexts
from vivant_study.server.limits import RateLimits
from vivant_study.store import StudyStore, open_store
from vivant_study.store.people import invite

TOKEN = "a-token-for-the-researcher"
FREE = RateLimits(
    session=(1e6, 1e6), together=(1e6, 1e6), arrivals=(1e6, 1e6), wrong=(1e6, 1e6), media=(1e6, 1e6)
)


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
    if url is None:
        copy_empty_database(loaded.path)
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
    """The application, with no limits on rates unless they are named.

    Templates are compiled once per language, not for each of hundreds of applications.
    """
    limits = given.pop("limits", FREE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(context, "page_environment", _page_environment)
        patch.setattr(context, "make_fixed_environment", _fixed_environment)
        patch.setattr(interface, "_load_bundled", lambda language: dict(_bundled_texts(language)))
        return create_app(loaded, store, ServerSettings(admin_token=TOKEN, **given), limits=limits)


_page_environment = functools.cache(page_environment)
_bundled_texts = functools.cache(interface._load_bundled)
_environments: dict[Any, Environment] = {}


def _fixed_environment(package: str, texts: InterfaceTexts, values: Mapping[str, str]) -> Environment:
    key = (package, texts.language, frozenset(texts._texts.items()), frozenset(values.items()))
    if key not in _environments:
        _environments[key] = make_fixed_environment(package, texts, values)
    return _environments[key]


class Walker:
    """A participant who answers by plain forms and by the script's requests."""

    portal: ClassVar[BlockingPortal | None] = None
    """The event loop of all walkers. Without one, a client starts a thread and a loop for each request."""

    def __init__(self, app: ASGIApp, root: str = "", *, seen: list[Any] | None = None) -> None:
        self.client = TestClient(app, base_url="http://testserver", raise_server_exceptions=True)
        self.client.portal = self.portal
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
