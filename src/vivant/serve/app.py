"""The server itself: two endpoints of the chat-completions protocol around one model."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from vivant.core.errors import MediaError, VivantError
from vivant.core.types import Clip, FramePolicy, Job, Message, Video
from vivant.media import MediaLoader
from vivant.models.base import Model, TransientError
from vivant.serve.wire import WireError, check_reply, completion, pieces, read_body, to_request

_LARGEST = 256 * 2**20
"""Bytes of one request."""


def create_app(model: Model, *, frames: FramePolicy = FramePolicy(), key: str = "") -> FastAPI:  # noqa: B008 (frozen)
    """An ASGI application that opens the model when it starts. `frames` says how videos are shown to it."""

    @asynccontextmanager
    async def alive(app: FastAPI) -> AsyncIterator[None]:
        with tempfile.TemporaryDirectory(prefix="vivant-serve-") as folder:
            app.state.folder = Path(folder)
            with MediaLoader(Path(folder) / "frames") as app.state.loader:
                await model.open()
                try:
                    yield
                finally:
                    await model.close()

    app = FastAPI(title="vivant serve", lifespan=alive, docs_url=None, redoc_url=None, openapi_url=None)

    async def decode(data: bytes, media_type: str) -> Clip:
        with tempfile.NamedTemporaryFile(dir=app.state.folder, suffix=".video") as file:
            await asyncio.to_thread(file.write, data)
            file.flush()
            job = Job(
                key=file.name,
                task="serve",
                id=file.name,
                messages=(Message("user", (Video(Path(file.name).name),)),),
                root=str(app.state.folder),
                frames=frames,
            )
            prepared = await app.state.loader.load(job)
        shown = [part for turn in prepared.turns for part in turn.parts if isinstance(part, Clip)]
        return Clip(shown[0].frames, "", media_type)

    @app.exception_handler(WireError)
    async def refuse(_: Request, error: WireError) -> Response:
        return JSONResponse(error.body, error.status)

    def admit(request: Request) -> None:
        given = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if key and not secrets.compare_digest(given.encode(), key.encode()):
            raise WireError(401, "The key is missing or wrong: Authorization: Bearer …", "invalid_api_key")

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/v1/models")
    async def models(request: Request) -> dict[str, Any]:
        admit(request)
        return {
            "object": "list",
            "data": [{"id": model.name, "object": "model", "created": 0, "owned_by": "vivant"}],
        }

    @app.post("/v1/chat/completions")
    async def answer(request: Request) -> Response:
        admit(request)
        asked = read_body(await _body(request))
        if asked.model not in ("", model.name):
            raise WireError(404, f"'{asked.model}' is not served here; {model.name} is", "model_not_found")
        try:
            ready = await to_request(asked, decode, sound=model.capabilities.audio)
            reply = check_reply(await model.generate(ready))
        except MediaError as error:
            raise WireError(400, f"video_url: {error}") from error
        except TransientError as error:
            raise WireError(503, str(error), "unavailable") from error
        except VivantError as error:
            raise WireError(500, str(error), "model_failed") from error
        if not asked.stream:
            return JSONResponse(completion(reply, model.name))
        with_usage = asked.stream_options is not None and asked.stream_options.include_usage
        return StreamingResponse(
            pieces(reply, model.name, with_usage=with_usage), media_type="text/event-stream"
        )

    return app


async def _body(request: Request) -> bytes:
    # A page in a browser can send other types to this machine without asking; JSON it cannot.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise WireError(415, "Send JSON: Content-Type: application/json")
    held = bytearray()
    async for chunk in request.stream():
        held += chunk
        if len(held) > _LARGEST:
            raise WireError(413, f"The request is larger than {_LARGEST // 2**20} MiB")
    return bytes(held)
