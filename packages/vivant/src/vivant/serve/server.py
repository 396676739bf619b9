"""Start the server: on this machine alone, or elsewhere behind a key."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from vivant.core.errors import UsageError, VivantError
from vivant.core.types import FramePolicy
from vivant.models.base import ModelOptions
from vivant.models.registry import ONNX_SETTINGS, create
from vivant.web.server import base_url, bind, is_loopback, require_modules


def resolve_spec(name: str) -> str:
    """The model that `vivant serve` was given: a folder that says itself what it holds, or a model's name."""
    folder = Path(name).expanduser()
    if not folder.is_dir():
        return name
    if (folder / ONNX_SETTINGS).is_file():
        return f"onnx/{folder.resolve()}"
    try:
        kind = msgspec.json.decode((folder / "config.json").read_bytes(), type=dict[str, Any]).get(
            "model_type"
        )
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(
            f"{name} holds no model: neither {ONNX_SETTINGS} nor a readable config.json"
        ) from error
    return f"{'mimic-chat' if kind == 'mimic_chat' else 'transformers'}/{folder.resolve()}"


def serve(
    name: str,
    *,
    options: ModelOptions = ModelOptions(),  # noqa: B008 (frozen)
    frames: FramePolicy = FramePolicy(),  # noqa: B008 (frozen)
    host: str = "127.0.0.1",
    port: int = 8000,
    key: str = "",
    ready: Callable[[str, str, str], None] = lambda _address, _model, _key: None,
) -> None:
    """Serve a model until stopped.

    Args:
        name: a model's name, or a folder that holds one.
        options: how the model is loaded.
        frames: how videos are shown to it.
        host: where to listen; another host than this machine needs a key.
        port: where to listen.
        key: default: a new one where others can reach the server, else none.
        ready: called with the address, the model's name and the key once it can be asked.
    """
    require_modules("starlette", "uvicorn", problem="vivant serve needs a web server", extra="web")
    import uvicorn

    from vivant.serve.app import create_app

    model = create(resolve_spec(name), options)
    key = key or ("" if is_loopback(host) else secrets.token_urlsafe(18))
    app = create_app(model, frames=frames, key=key)
    listener = bind(host, port)

    class Server(uvicorn.Server):
        """Says that it is ready when the model is loaded, and fails in our words where it cannot be."""

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready(f"{base_url(host, listener)}/v1", model.name, key)

    server = Server(uvicorn.Config(app, log_level="critical", access_log=False))
    failures: list[VivantError] = []
    open_unguarded = model.open

    async def open_model() -> None:
        try:
            await open_unguarded()
        except VivantError as error:
            failures.append(error)
            raise

    model.open = open_model  # type: ignore[method-assign]
    try:
        server.run(sockets=[listener])
    except SystemExit:  # how uvicorn says that the application did not start
        if not failures:
            raise
    finally:
        listener.close()
    if failures:
        raise failures[0]
