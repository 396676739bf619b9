"""The server itself: two endpoints of the chat-completions protocol around one model."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from vivant.errors import MediaError, UsageError, VivantError
from vivant.models.base import Model, ModelOptions, TransientError
from vivant.models.registry import create
from vivant.serve.wire import WireError, check_reply, completion, pieces, read_body, to_request
from vivant.types import Clip, FramePolicy, Job, Message, Video
from vivant.view.serve import bind, is_loopback

_LARGEST = 256 * 2**20
"""Bytes of one request."""


def spec_of(place: str) -> str:
    """The model that `vivant serve` was given: a folder that says itself what it holds, or a model's name."""
    folder = Path(place).expanduser()
    if not folder.is_dir():
        return place
    from vivant.models.embedded import SETTINGS

    if (folder / SETTINGS).is_file():
        return f"onnx/{folder.resolve()}"
    try:
        kind = msgspec.json.decode((folder / "config.json").read_bytes(), type=dict[str, Any]).get(
            "model_type"
        )
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"{place} holds no model: neither {SETTINGS} nor a readable config.json") from error
    return f"{'mimic-chat' if kind == 'mimic_chat' else 'transformers'}/{folder.resolve()}"


def create_app(model: Model, *, frames: FramePolicy = FramePolicy(), key: str = "") -> Any:  # noqa: B008 (frozen)
    """An ASGI application that opens the model when it starts. `frames` says how videos are shown to it."""
    from fastapi import FastAPI, Request
    from fastapi.responses import JSONResponse, Response, StreamingResponse

    from vivant.media import Preparer

    @asynccontextmanager
    async def alive(app: FastAPI) -> AsyncIterator[None]:
        with tempfile.TemporaryDirectory(prefix="vivant-serve-") as folder:
            app.state.folder = Path(folder)
            with Preparer(Path(folder) / "frames") as app.state.preparer:
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
            prepared = await app.state.preparer.prepare(job)
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
            ready = await to_request(asked, decode, sound=model.takes.audio)
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


async def _body(request: Any) -> bytes:
    # A page in a browser can send other types to this machine without asking; JSON it cannot.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise WireError(415, "Send JSON: Content-Type: application/json")
    held = bytearray()
    async for chunk in request.stream():
        held += chunk
        if len(held) > _LARGEST:
            raise WireError(413, f"The request is larger than {_LARGEST // 2**20} MiB")
    return bytes(held)


def serve(
    place: str,
    *,
    options: ModelOptions = ModelOptions(),  # noqa: B008 (frozen)
    frames: FramePolicy = FramePolicy(),  # noqa: B008 (frozen)
    host: str = "127.0.0.1",
    port: int = 8000,
    key: str = "",
    ready: Callable[[str, str, str], None] = lambda _address, _model, _key: None,
) -> None:
    """Serve until stopped. `ready` is told the address, the model's name and the key once it can be asked."""
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise UsageError("vivant serve needs a web server: pip install 'vivant[web]'")
    import uvicorn

    model = create(spec_of(place), options)
    key = key or ("" if is_loopback(host) else secrets.token_urlsafe(18))
    app = create_app(model, frames=frames, key=key)
    bound = bind(host, port)

    class Server(uvicorn.Server):
        """Says that it is ready when the model is loaded, and fails in our words where it cannot be."""

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                shown = f"[{host}]" if ":" in host else host
                ready(f"http://{shown}:{bound.getsockname()[1]}/v1", model.name, key)

    server = Server(uvicorn.Config(app, log_level="critical", access_log=False))
    failed: list[VivantError] = []
    opened = model.open

    async def open_model() -> None:
        try:
            await opened()
        except VivantError as error:
            failed.append(error)
            raise

    model.open = open_model  # type: ignore[method-assign]
    try:
        server.run(sockets=[bound])
    except SystemExit:  # how uvicorn says that the application did not start
        if not failed:
            raise
    finally:
        bound.close()
    if failed:
        raise failed[0]
