"""The application: participants' pages, media, the researcher's pages, and a plain answer to everything that fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Scope

from vivant.core.errors import MediaError
from vivant.study.loading import LoadedStudy
from vivant.study.server import admin, participant
from vivant.study.server.context import Desk, Serving
from vivant.study.server.errors import RefusedError
from vivant.study.server.guard import Guard
from vivant.study.server.limits import Limits
from vivant.study.store import Store, StoreTroubleError


def create_app(
    loaded: LoadedStudy,
    store: Store,
    serving: Serving | None = None,
    *,
    limits: Limits | None = None,
    tell: Callable[[str], None] | None = None,
) -> ASGIApp:
    """An application that serves a study. The store is closed with it; `tell` gets lines for the operator."""
    serving = serving or Serving()
    desk = Desk(loaded, store, serving, limits or Limits(), tell)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        store.close()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=life)
    app.mount("/static", StaticFiles(directory=str(files("vivant.study.server") / "static")), name="static")
    app.router.routes.extend(participant.routes(desk))
    if serving.admin_token:
        app.include_router(admin.router(desk))

    @app.exception_handler(RefusedError)
    async def refuse(request: Request, error: RefusedError) -> Response:
        return refused(desk, request, error.what, error.status, error.text)

    @app.exception_handler(StoreTroubleError)
    async def trouble(request: Request, error: StoreTroubleError) -> Response:
        desk.tell(str(error))
        return refused(desk, request, "trouble", 503)

    @app.exception_handler(MediaError)
    async def no_media(request: Request, error: MediaError) -> Response:
        desk.tell(str(error))
        return refused(desk, request, "not_found", 404)

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        return refused(
            desk,
            request,
            "not_found" if error.status_code in (404, 405) else "bad_request",
            error.status_code,
        )

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, _: RequestValidationError) -> Response:
        return refused(desk, request, "bad_request", 400)

    def page(scope: Scope, what: str, status: int) -> ASGIApp:
        return refused(desk, Request(scope), "bad_request", status, what)

    return Guard(app, root=serving.root, origin=serving.origin, refuse=page)


def refused(desk: Desk, request: Request, what: str, status: int, text: str = "") -> Response:
    """A friendly page, or for a script a word that it understands."""
    if request.headers.get("accept", "").startswith("application/json"):
        return JSONResponse({"saved": False, "why": text or what}, status)
    known = status not in (404, 405) and desk.participant(request) is not None
    t = desk.texts[desk.language(request)]
    link_text = t("try_again" if status in (429, 503) else "go_on") if known else ""
    headers = {"Retry-After": "10"} if status in (429, 503) else {}
    answer = desk.notice(
        request,
        what,
        status,
        text=text,
        link=f"{desk.serving.root}/study" if known else "",
        link_text=link_text,
    )
    answer.headers.update(headers)
    return answer
