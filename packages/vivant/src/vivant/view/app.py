"""The viewer's server: pages, media and progress, for whoever holds the token."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from vivant.analysis.correction.people import PeopleSource
from vivant.benchmarks.base import Protocol
from vivant.core.errors import MediaError, VivantError
from vivant.view.catalog import RunEntry
from vivant.view.context import BusyError, NotFoundError, SampleDetails, ViewerContext
from vivant.view.media import MediaAccess, RequestImages, list_media
from vivant.view.pages import ViewerPages
from vivant.web.pages import static_route
from vivant.web.security import HEADERS, SecurityHeaders, is_local_host, same_secret

_HEADERS = SecurityHeaders(
    {**HEADERS, "Referrer-Policy": "no-referrer"},
    lambda path: "" if path.startswith(("/static", "/media", "/seen")) else "no-store",
)
_COOKIE = "vivant-view"


def create_app(
    root: Path,
    *,
    protocol: Protocol | None = None,
    token: str = "",
    data: Sequence[Path] | None = None,
    people: PeopleSource | None = None,
) -> Starlette:
    """Make an application over the runs in `root`.

    Args:
        root: the folder of runs.
        protocol: whose scores are shown; by default the first of each run's benchmark.
        token: nothing is shown without it. Without a token, requests that name another host than this machine
            are refused, so that no page of somebody else's can read along.
        data: the folders that media may come from; None for wherever the runs say.
        people: their judgements, to stand beside judges' and to correct them.
    """
    views = _Views(ViewerContext(root, protocol, people), MediaAccess(data))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        views.close()

    return Starlette(
        routes=[
            static_route("vivant.view"),
            Route("/", views.show_home),
            Route("/runs", views.list_runs),
            Route("/state", views.report_state),
            Route("/run/{rid}", views.list_samples),
            Route("/run/{rid}/sample", views.show_sample),
            Route("/run/{rid}/breakdown", views.show_breakdown),
            Route("/run/{rid}/text", views.send_text),
            Route("/compare", views.compare_runs),
            Route("/compare/sample", views.compare_sample),
            Route("/media/{rid}/{number:int}", views.send_media),
            Route("/seen/{rid}/{number:int}", views.send_image),
        ],
        middleware=[Middleware(_Guard, token=token)],
        exception_handlers={VivantError: views.explain},
        lifespan=lifespan,
    )


class _Guard:
    """Refuses whoever may not look, and adds the headers."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = _refuse(Request(scope), self._token)
        await (refusal or self._app)(scope, receive, _HEADERS.wrap(send, scope["path"]))


class _Views:
    """The endpoints. Those that are no coroutines run in threads."""

    def __init__(self, context: ViewerContext, media: MediaAccess) -> None:
        self._context, self._media = context, media
        self._pages = ViewerPages(context)
        self.images = RequestImages(media)

    def close(self) -> None:
        """End workers and threads."""
        self.images.close()
        self._context.close()

    def explain(self, _: Request, error: Exception) -> Response:
        if isinstance(error, BusyError):
            return HTMLResponse(self._pages.busy(error.share), 202)
        status = 404 if isinstance(error, NotFoundError | MediaError) else 500
        return HTMLResponse(self._pages.problem(str(error)), status)

    def show_home(self, request: Request) -> Response:
        return HTMLResponse(self._pages.home(request.query_params))

    def report_state(self, request: Request) -> Response:
        return JSONResponse({"version": self._pages.version(request.query_params.getlist("run"))})

    def list_runs(self, request: Request) -> Response:
        return HTMLResponse(self._pages.runs(request.query_params))

    def list_samples(self, request: Request) -> Response:
        return HTMLResponse(self._pages.samples(self._run(request), request.query_params))

    def show_sample(self, request: Request) -> Response:
        return HTMLResponse(self._pages.sample(self._run(request), request.query_params))

    def show_breakdown(self, request: Request) -> Response:
        return HTMLResponse(self._pages.breakdown(self._run(request), request.query_params))

    def compare_runs(self, request: Request) -> Response:
        runs, task = self._several_runs(request)
        return HTMLResponse(self._pages.compare(runs, {"task": task, **request.query_params}))

    def compare_sample(self, request: Request) -> Response:
        key = request.query_params.get("key", "")
        return HTMLResponse(self._pages.compare_sample(self._several_runs(request)[0], key))

    def send_text(self, request: Request) -> Response:
        key, part = request.query_params.get("key", ""), request.query_params.get("part", "reply")
        return PlainTextResponse(self._pages.full_text(self._run(request), key, part))

    def send_media(self, request: Request) -> Response:
        run, number = self._run(request), request.path_params["number"]
        details = self._details(run, request)
        parts = list_media(details.sample, details.record)
        if number >= len(parts):
            key = details.row["key"]
            raise MediaError(f"{key} names {len(parts)} files; there is none at place {number}")
        file = self._media.find(run, details.row["task"], parts[number])
        return FileResponse(file.path, media_type=file.media_type, content_disposition_type="inline")

    async def send_image(self, request: Request) -> Response:
        run = self._run(request)
        details = self._details(run, request)
        if details.record is None:
            raise MediaError(f"{details.row['key']} has no record, so no model has seen anything of it")
        image = await self.images.load(run, details.record, request.path_params["number"])
        return Response(image.data, media_type=image.media_type, headers={"Cache-Control": "max-age=600"})

    def _run(self, request: Request) -> RunEntry:
        return self._context.find_run(request.path_params["rid"])

    def _several_runs(self, request: Request) -> tuple[list[RunEntry], str]:
        """The runs that an address names, and the task where it names cells of the matrix that all have one."""
        cells = [cell.rpartition("|") for cell in request.query_params.getlist("cell")]
        rids = dict.fromkeys((*request.query_params.getlist("run"), *(rid for rid, _, _ in cells)))
        tasks = {task for _, _, task in cells}
        return [self._context.find_run(rid) for rid in rids], tasks.pop() if len(tasks) == 1 else ""

    def _details(self, run: RunEntry, request: Request) -> SampleDetails:
        return self._context.find_details(run, request.query_params.get("key", ""))


def _refuse(request: Request, token: str) -> Response | None:
    """What to answer whoever may not look; None for whoever may."""
    if not token:
        if is_local_host(request.headers.get("host", "")):
            return None
        return PlainTextResponse("Only for this machine.", 403)
    if same_secret(request.query_params.get("token", ""), token):
        rest = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
        response = RedirectResponse(f"{request.url.path}{'?' + urlencode(rest) if rest else ''}", 303)
        response.set_cookie(_COOKIE, token, httponly=True, samesite="strict")
        return response
    if same_secret(request.cookies.get(_COOKIE, ""), token):
        return None
    return PlainTextResponse("Open the address with the token that `vivant view` printed.", 403)
