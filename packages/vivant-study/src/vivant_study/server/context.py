"""What all pages of one served study share: the study, its store, the texts, and how a page is made."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from markdown_it import MarkdownIt
from markupsafe import Markup
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from vivant.web.pages import page_environment
from vivant_study.design import LocalizedText, StudyItem
from vivant_study.loading import LoadedStudy
from vivant_study.platforms import PlatformIds
from vivant_study.server.fixed_texts import make_fixed_environment
from vivant_study.server.interface import AdminTexts, InterfaceTexts, choose_language, load_interfaces
from vivant_study.server.limits import RateLimits
from vivant_study.server.tokens import Tokens
from vivant_study.store import StudyStore

logger = logging.getLogger("vivant")

_PACKAGE = "vivant_study.server"
_QUIET = 10.0
"""Seconds between two equal lines to the operator."""


class ServerSettings(Struct, frozen=True, kw_only=True):
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


class StudyContext:
    """Shared by all requests."""

    def __init__(
        self, loaded: LoadedStudy, store: StudyStore, settings: ServerSettings, limits: RateLimits
    ) -> None:
        self.loaded, self.study = loaded, loaded.study
        self.store, self.settings, self.limits = store, settings, limits
        self.items: Mapping[str, StudyItem] = loaded.by_id
        self.tokens = Tokens(store.secret)
        self.texts = load_interfaces(loaded.path, loaded.study.languages)
        self._admin_texts = AdminTexts(loaded.path)
        self._warned: dict[str, float] = {}
        self._warning = threading.Lock()
        self._templates = page_environment(_PACKAGE)
        self._page_templates = {
            name: make_fixed_environment(
                _PACKAGE,
                t,
                {
                    "root": settings.root,
                    "title": translate(loaded.study.title, t),
                    "too_long": t("too_long", limit=loaded.study.free_text_limit),
                    "free_help": t("free_help", limit=loaded.study.free_text_limit),
                },
            )
            for name, t in self.texts.items()
        }
        for environment in self._page_templates.values():
            # The first participant is not to wait for it.
            environment.get_template("item.html")
        self._languages = [self.texts[name] for name in loaded.study.languages]
        # Raw HTML in a text is shown, not obeyed; links lead only where a browser may safely go.
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        self._rendered: dict[str, Markup] = {}

    # ── operator ──

    def warn(self, line: str) -> None:
        """Log a line for the operator; the same one not too often."""
        with self._warning:
            now = time.monotonic()
            if now - self._warned.get(line, -_QUIET) < _QUIET:
                return
            self._warned[line] = now
            if len(self._warned) > 100:
                self._warned.clear()
        logger.warning("%s", line)

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
        return choose_language(request.headers.get("accept-language", ""), self.study.languages)

    def page(
        self, request: Request, template: str, *, language: str = "", status: int = 200, **values: Any
    ) -> Response:
        """A page in a language."""
        t = self.texts[self.language(request, language)]
        html = self._page_templates[t.language].get_template(template).render(
            {
                "t": t, "root": self.settings.root, "preview": self.settings.preview, "languages": self._languages,
                "translate": lambda text: translate(text, t), "form": "", "can_withdraw": False, "done": None,
                "total": 0, **values,
            }
        )  # fmt: skip
        return HTMLResponse(html, status)

    def notice(
        self,
        request: Request,
        name: str,
        status: int = 200,
        *,
        text: str = "",
        language: str = "",
        **values: Any,
    ) -> Response:
        """A page that says one thing. `name` names its title and text among the interface's texts."""
        t = self.texts[self.language(request, language)]
        return self.page(
            request, "notice.html", language=language, status=status, heading=t(f"{name}_title"),
            text=t(f"{text or name}_text"), **{"link": "", "link_text": "", "code": "", "advice": "", **values},
        )  # fmt: skip

    def render(self, request: Request, template: str, **values: Any) -> str:
        """A page of the researcher's, in the browser's language."""
        language = self._admin_texts.choose(request.headers.get("accept-language", ""))
        return self._templates.get_template(template).render(
            root=self.settings.root, preview=self.settings.preview, language=language,
            a=lambda text: self._admin_texts.translate(language, text), **values,
        )  # fmt: skip

    # ── sessions ──

    def participant(self, request: Request) -> int | None:
        """Whose session a request belongs to."""
        return self.tokens.participant(request.cookies.get(self.tokens.session_cookie, ""))

    def set_platform_ids(self, response: Response, ids: PlatformIds) -> None:
        """Let the browser keep what the platform's return links need; the server keeps hashes alone."""
        value = urlencode({"p": ids.participant, "s": ids.study, "v": ids.session})
        response.set_cookie(
            self.tokens.ids_cookie, value, max_age=60 * 86400, path=self.settings.root or "/",
            httponly=True, samesite="lax", secure=self.settings.secure,
        )  # fmt: skip

    def platform_ids(self, request: Request) -> PlatformIds:
        """The identifiers that this browser came with; empty ones where it came with none."""
        values = dict(parse_qsl(request.cookies.get(self.tokens.ids_cookie, "")[:2000]))
        return PlatformIds(values.get("p", ""), values.get("s", ""), values.get("v", ""))

    def set_session(self, response: Response, participant: int) -> None:
        """Let a browser be this participant's."""
        response.set_cookie(
            self.tokens.session_cookie, self.tokens.cookie(participant), max_age=60 * 86400,
            path=self.settings.root or "/", httponly=True, samesite="lax", secure=self.settings.secure,
        )  # fmt: skip


def translate(text: LocalizedText, t: InterfaceTexts) -> str:
    """A study's text in the page's language."""
    return text.get(t.language) or next(iter(text.values()), "")
