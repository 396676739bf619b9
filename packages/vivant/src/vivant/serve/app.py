"""The server itself: two endpoints of the chat-completions protocol around one model."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from vivant.core.errors import MediaError, VivantError
from vivant.core.types import Clip, FramePolicy, Job, Message, Video
from vivant.media import MediaLoader
from vivant.models.base import Model, TransientError
from vivant.serve.wire import WireError, build_completion, check_reply, read_body, stream_events, to_request
from vivant.web.security import LocalHostOnly, same_secret

_LARGEST = 256 * 2**20
"""Bytes of one request."""


def create_app(model: Model, *, frames: FramePolicy = FramePolicy(), key: str = "") -> Starlette:  # noqa: B008 (frozen)
    """Make an application that opens the model when it starts.

    Args:
        model: what answers.
        frames: how videos are shown to it.
        key: what clients must send. Without one, requests that name another host than this machine are refused, so
            that no page of somebody else's can ask the model.
    """
    endpoints = _Endpoints(model, frames, key)
    return Starlette(
        routes=[
            Route("/health", endpoints.report_health),
            Route("/v1/models", endpoints.list_models),
            Route("/v1/chat/completions", endpoints.complete, methods=["POST"]),
        ],
        middleware=[] if key else [Middleware(LocalHostOnly, refusal=_refuse_host())],
        exception_handlers={WireError: _refuse, HTTPException: _refuse},
        lifespan=endpoints.lifespan,
    )


def _refuse_host() -> JSONResponse:
    error = WireError(403, "Only for this machine. For other hosts, start it with --api-key", "forbidden")
    return JSONResponse(error.body, error.status)


class _Endpoints:
    def __init__(self, model: Model, frames: FramePolicy, key: str) -> None:
        self._model, self._frames, self._key = model, frames, key
        self._folder = Path()
        self._loader: MediaLoader | None = None

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        with tempfile.TemporaryDirectory(prefix="vivant-serve-") as folder:
            self._folder = Path(folder)
            with MediaLoader(self._folder / "frames") as self._loader:
                await self._model.open()
                try:
                    yield
                finally:
                    await self._model.close()

    async def report_health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def list_models(self, request: Request) -> Response:
        self._check_key(request)
        entry = {"id": self._model.name, "object": "model", "created": 0, "owned_by": "vivant"}
        return JSONResponse({"object": "list", "data": [entry]})

    async def complete(self, request: Request) -> Response:
        self._check_key(request)
        body = read_body(await _receive(request))
        name = self._model.name
        if body.model not in ("", name):
            raise WireError(404, f"'{body.model}' is not served here; {name} is", "model_not_found")
        try:
            model_request = await to_request(body, self._decode, sound=self._model.capabilities.audio)
            reply = check_reply(await self._model.generate(model_request))
        except MediaError as error:
            raise WireError(400, f"video_url: {error}") from error
        except TransientError as error:
            raise WireError(503, str(error), "unavailable") from error
        except VivantError as error:
            raise WireError(500, str(error), "model_failed") from error
        if not body.stream:
            return JSONResponse(build_completion(reply, name))
        with_usage = body.stream_options is not None and body.stream_options.include_usage
        return StreamingResponse(
            stream_events(reply, name, with_usage=with_usage), media_type="text/event-stream"
        )

    def _check_key(self, request: Request) -> None:
        sent = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if self._key and not same_secret(sent, self._key):
            raise WireError(401, "The key is missing or wrong: Authorization: Bearer …", "invalid_api_key")

    async def _decode(self, data: bytes, media_type: str) -> Clip:
        assert self._loader is not None
        with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".video") as file:
            await asyncio.to_thread(file.write, data)
            file.flush()
            job = Job(
                key=file.name,
                task="serve",
                id=file.name,
                messages=(Message("user", (Video(Path(file.name).name),)),),
                root=str(self._folder),
                frames=self._frames,
            )
            prepared = await self._loader.load(job)
        clips = [part for turn in prepared.turns for part in turn.parts if isinstance(part, Clip)]
        return Clip(clips[0].frames, "", media_type, clips[0].timing)


async def _refuse(_: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        error = WireError(error.status_code, error.detail, "not_found")
    assert isinstance(error, WireError)
    return JSONResponse(error.body, error.status)


async def _receive(request: Request) -> bytes:
    # A page in a browser can send other types to this machine without asking; JSON it cannot.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise WireError(415, "Send JSON: Content-Type: application/json")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST:
            raise WireError(413, f"The request is larger than {_LARGEST // 2**20} MiB")
    return bytes(body)
