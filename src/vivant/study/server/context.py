"""What all pages of one served study share: the study, its store, the texts, and how a page is made."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from msgspec import Struct

from vivant.study.design import StudyItem, Words
from vivant.study.loading import LoadedStudy
from vivant.study.server.interface import Interface, interfaces, preferred
from vivant.study.server.limits import Limits
from vivant.study.server.tokens import COOKIE, Marks
from vivant.study.store import Store

_QUIET = 10.0
"""Seconds between two equal lines to the operator."""


class Serving(Struct, frozen=True, kw_only=True):
    """How a study is served."""

    root: str = ""
    """Path prefix behind a reverse proxy, such as /study."""
    origin: str = ""
    """Scheme and host of the public address, where a proxy changes the Host header."""
    secure: bool = False
    """Whether cookies travel over HTTPS alone."""
    preview: bool = False
    anonymous: bool = False
    """Whether the open link lets people in who bring no identifiers of a platform."""
    admin_token: str = ""


class Desk:
    """Shared by all requests."""

    def __init__(
        self,
        loaded: LoadedStudy,
        store: Store,
        serving: Serving,
        limits: Limits,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.loaded, self.study, self.store, self.serving, self.limits = (
            loaded,
            loaded.study,
            store,
            serving,
            limits,
        )
        self.items: Mapping[str, StudyItem] = loaded.by_id
        self.marks = Marks(store.secret)
        self.texts = interfaces(loaded.path, loaded.study.languages)
        self._tell = tell or (lambda line: print(line, file=sys.stderr, flush=True))
        self._told: dict[str, float] = {}
        self._telling = threading.Lock()
        self._templates = Environment(
            loader=PackageLoader("vivant.study.server"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, auto_reload=False,
        )  # fmt: skip
        # Raw HTML in a text is shown, not obeyed; links lead only where a browser may safely go.
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        self._rendered: dict[str, Markup] = {}

    # ── operator ──

    def tell(self, line: str) -> None:
        """A line for the operator; the same one not too often."""
        with self._telling:
            now = time.monotonic()
            if now - self._told.get(line, -_QUIET) < _QUIET:
                return
            self._told[line] = now
            if len(self._told) > 100:
                self._told.clear()
        self._tell(line)

    # ── participants' pages ──

    def markdown(self, text: str) -> Markup:
        """A text of the study's as HTML."""
        if text not in self._rendered:
            self._rendered[text] = Markup(self._markdown.render(text))
        return self._rendered[text]

    def language(self, request: Request, chosen: str = "") -> str:
        """The language to speak: the chosen one, else the browser's, else the study's first."""
        if chosen in self.texts:
            return chosen
        return preferred(request.headers.get("accept-language", ""), self.study.languages)

    def page(
        self, request: Request, template: str, *, language: str = "", status: int = 200, **given: Any
    ) -> Response:
        """A page in a language."""
        t = self.texts[self.language(request, language)]
        html = self._templates.get_template(template).render(
            t=t, root=self.serving.root, title=said(self.study.title, t), preview=self.serving.preview,
            languages=[self.texts[name] for name in self.study.languages], said=lambda words: said(words, t),
            **{"form": "", "can_withdraw": False, "done": None, "total": 0, **given},
        )  # fmt: skip
        return HTMLResponse(html, status)

    def notice(
        self,
        request: Request,
        what: str,
        status: int = 200,
        *,
        text: str = "",
        language: str = "",
        **given: Any,
    ) -> Response:
        """A page that says one thing. `what` names its title and text among the interface's texts."""
        t = self.texts[self.language(request, language)]
        return self.page(
            request, "notice.html", language=language, status=status, heading=t(f"{what}_title"),
            text=t(f"{text or what}_text"), **{"link": "", "link_text": "", **given},
        )  # fmt: skip

    def render(self, template: str, **given: Any) -> str:
        """A page of the researcher's."""
        return self._templates.get_template(template).render(
            root=self.serving.root, preview=self.serving.preview, **given
        )

    # ── sessions ──

    def participant(self, request: Request) -> int | None:
        """Whose session a request belongs to."""
        return self.marks.participant(request.cookies.get(COOKIE, ""))

    def set_session(self, response: Response, participant: int) -> None:
        """Let a browser be this participant's."""
        response.set_cookie(
            COOKIE, self.marks.cookie(participant), max_age=60 * 86400, path=self.serving.root or "/",
            httponly=True, samesite="lax", secure=self.serving.secure,
        )  # fmt: skip


def said(words: Words, t: Interface) -> str:
    """A study's text in the page's language."""
    return words.get(t.language) or next(iter(words.values()), "")
