"""The viewer's server: pages, media and progress, for whoever holds the key."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles

from vivant.benchmarks.base import Protocol
from vivant.core.errors import MediaError, VivantError
from vivant.view.catalog import Shelved
from vivant.view.context import BusyError, Desk
from vivant.view.media import Files, Seen, parts_of
from vivant.view.pages import Pages
from vivant.view.query import one

POLICY = (
    "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_COOKIE = "vivant-view"
_LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]", "testserver"})


class NotFoundError(VivantError):
    """No such run or sample."""


def create_app(
    root: Path, *, protocol: Protocol | None = None, token: str = "", data: Sequence[Path] | None = None
) -> FastAPI:
    """An application over the runs in `root`.

    With a token, nothing is shown without it. Without one, requests that name another host than this
    machine are refused, so that no page of somebody else's can read along. `data` are the folders that media
    may come from; None for wherever the runs say.
    """
    desk = Desk(root, protocol)
    media = Files(data)
    seen = Seen(media)
    pages = Pages(desk)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        seen.close()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=life)
    app.mount("/static", StaticFiles(directory=str(files("vivant.view") / "static")), name="static")

    @app.middleware("http")
    async def guard(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        refusal = _refusal(request, token)
        response = refusal if refusal is not None else await call_next(request)
        for name, value in _HEADERS.items():
            response.headers[name] = value
        if not request.url.path.startswith(("/static", "/media", "/seen")):
            response.headers["Cache-Control"] = "no-store"
        return response

    @app.exception_handler(VivantError)
    async def explain(_: Request, error: VivantError) -> Response:
        if isinstance(error, BusyError):
            return HTMLResponse(pages.busy(error.share), 202)
        status = 404 if isinstance(error, NotFoundError | MediaError) else 500
        return HTMLResponse(pages.problem(str(error)), status)

    def found(rid: str) -> Shelved:
        run = desk.shelf.get(rid)
        if run is None:
            raise NotFoundError(f"There is no run {rid} in {root}")
        return run

    @app.get("/", response_class=HTMLResponse)
    def list_runs(request: Request) -> str:
        return pages.runs(dict(request.query_params))

    @app.get("/leaderboard", response_class=HTMLResponse)
    def show_leaderboard(request: Request) -> str:
        return pages.leaderboard(dict(request.query_params))

    @app.get("/run/{rid}", response_class=HTMLResponse)
    def list_samples(rid: str, request: Request) -> str:
        return pages.samples(found(rid), dict(request.query_params))

    @app.get("/run/{rid}/sample", response_class=HTMLResponse)
    def show_sample(rid: str, request: Request) -> str:
        return pages.sample(found(rid), dict(request.query_params))

    @app.get("/run/{rid}/progress")
    def tell_progress(rid: str) -> JSONResponse:
        progress = desk.shelf.progress(found(rid))
        return JSONResponse(
            {
                "done": progress.done,
                "planned": progress.planned,
                "share": progress.share,
                "live": progress.under_way,
            }
        )

    @app.get("/compare", response_class=HTMLResponse)
    def show_compare(request: Request) -> str:
        given = dict(request.query_params)
        return pages.compare(found(given.get("a", "")), found(given.get("b", "")), given)

    @app.get("/compare/sample", response_class=HTMLResponse)
    def show_both(request: Request) -> str:
        given = dict(request.query_params)
        return pages.both(found(given.get("a", "")), found(given.get("b", "")), given)

    @app.get("/run/{rid}/text")
    def whole_text(rid: str, key: str, part: str = "reply") -> PlainTextResponse:
        return PlainTextResponse(pages.whole_text(found(rid), key, part))

    @app.get("/media/{rid}/{number}")
    def send_media(rid: str, number: int, key: str) -> FileResponse:
        run = found(rid)
        full = _full(desk, run, key)
        parts = parts_of(full.sample, full.record)
        if not 0 <= number < len(parts):
            raise MediaError(f"{key} names {len(parts)} files; there is none at place {number}")
        file = media.find(run, full.row["task"], parts[number])
        return FileResponse(file.path, media_type=file.media_type, content_disposition_type="inline")

    @app.get("/seen/{rid}/{number}")
    async def send_seen(rid: str, number: int, key: str) -> Response:
        run = found(rid)
        full = _full(desk, run, key)
        if full.record is None:
            raise MediaError(f"{key} has no record, so no model has seen anything of it")
        picture = await seen.picture(run, full.record, number)
        return Response(picture.data, media_type=picture.media_type, headers={"Cache-Control": "max-age=600"})

    return app


def _full(desk: Desk, run: Shelved, key: str) -> Any:
    with desk.open(run) as db:
        row = one(db, key)
        if row is None:
            raise NotFoundError(f"{run.name} has no sample {key}")
        return desk.full(run, row)


def _refusal(request: Request, token: str) -> Response | None:
    """What to answer whoever may not look; None for whoever may."""
    if not token:
        host = request.headers.get("host", "")
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        return None if name in _LOCAL else PlainTextResponse("Only for this machine.", 403)
    given = request.query_params.get("token", "")
    if given and secrets.compare_digest(given.encode(), token.encode()):
        rest = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
        answer = RedirectResponse(f"{request.url.path}{'?' + urlencode(rest) if rest else ''}", 303)
        answer.set_cookie(_COOKIE, token, httponly=True, samesite="strict")
        return answer
    held = request.cookies.get(_COOKIE, "")
    if held and secrets.compare_digest(held.encode(), token.encode()):
        return None
    return PlainTextResponse("Open the address with the token that `vivant view` printed.", 403)
