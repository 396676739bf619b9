"""The application: participants' pages, media, the researcher's pages, and a plain answer to everything that fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Scope

from vivant.core.errors import MediaError
from vivant.core.structs import learn_structs
from vivant.web.pages import static_route
from vivant_study.loading import LoadedStudy
from vivant_study.server import admin, participant
from vivant_study.server.context import ServerSettings, StudyContext
from vivant_study.server.errors import PageRefusedError
from vivant_study.server.guard import RequestGuard
from vivant_study.server.limits import RateLimits
from vivant_study.store import StoreUnavailableError, StudyStore
from vivant_study.store.removal import delete_expired

_HOUR = 3600.0
logger = logging.getLogger("vivant")


def create_app(
    loaded: LoadedStudy,
    store: StudyStore,
    settings: ServerSettings | None = None,
    *,
    limits: RateLimits | None = None,
) -> ASGIApp:
    """Make an application that serves a study. It closes the store when it ends.

    Args:
        loaded: the study.
        store: its people and answers.
        settings: how it is served.
        limits: how often it may be asked.
    """
    learn_structs()
    settings = settings or ServerSettings()
    context = StudyContext(loaded, store, settings, limits or RateLimits())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        keeper = asyncio.create_task(_delete_expired(context)) if loaded.study.retention_days else None
        yield
        if keeper is not None:
            keeper.cancel()
        store.close()

    app = Starlette(
        routes=[
            *participant.routes(context),
            static_route("vivant_study.server"),
            *(admin.routes(context) if settings.admin_token else ()),
        ],
        exception_handlers=_exception_handlers(context),
        lifespan=lifespan,
    )

    def refuse(scope: Scope, text: str, status: int) -> ASGIApp:
        return _render_refusal(context, Request(scope), "bad_request", status, text)

    return RequestGuard(app, root=settings.root, origin=settings.origin, refuse=refuse)


async def _delete_expired(context: StudyContext) -> None:
    """Delete what is older than the study keeps it, at the start and every hour."""
    days = context.study.retention_days
    assert days is not None
    while True:
        try:
            names = await run_in_threadpool(delete_expired, context.store, days)
            if names:
                logger.info("%d people were deleted, %d days after their last sign of life", len(names), days)
        except StoreUnavailableError as error:
            context.warn(str(error))
        await asyncio.sleep(_HOUR)


Handler = Callable[[Request, Exception], Awaitable[Response]]


def _exception_handlers(context: StudyContext) -> dict[type[Exception], Handler]:
    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, PageRefusedError)
        return _render_refusal(context, request, error.notice, error.status, error.text)

    async def report_store(request: Request, error: Exception) -> Response:
        context.warn(str(error))
        return _render_refusal(context, request, "trouble", 503)

    async def report_media(request: Request, error: Exception) -> Response:
        context.warn(str(error))
        return _render_refusal(context, request, "not_found", 404)

    async def refuse_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        what = "not_found" if error.status_code in (404, 405) else "bad_request"
        return _render_refusal(context, request, what, error.status_code)

    return {
        PageRefusedError: refuse,
        StoreUnavailableError: report_store,
        MediaError: report_media,
        HTTPException: refuse_http,
    }


def _render_refusal(
    context: StudyContext, request: Request, notice: str, status: int, text: str = ""
) -> Response:
    """A friendly page, or for a script a word that it understands."""
    if request.headers.get("accept", "").startswith("application/json"):
        return JSONResponse({"saved": False, "why": text or notice}, status)
    has_session = status not in (404, 405) and context.participant(request) is not None
    t = context.texts[context.language(request)]
    response = context.notice(
        request,
        notice,
        status,
        text=text,
        link=f"{context.settings.root}/study" if has_session else "",
        link_text=t("try_again" if status in (429, 503) else "go_on") if has_session else "",
    )
    if status in (429, 503):
        response.headers["Retry-After"] = "10"
    return response
