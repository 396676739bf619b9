"""Start the server: on this machine alone, or elsewhere behind a key."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from vivant.core.errors import UsageError, VivantError
from vivant.core.types import FramePolicy
from vivant.models.base import ModelOptions
from vivant.models.registry import ONNX_SETTINGS, create
from vivant.web.server import bind, is_loopback


def spec_of(place: str) -> str:
    """The model that `vivant serve` was given: a folder that says itself what it holds, or a model's name."""
    folder = Path(place).expanduser()
    if not folder.is_dir():
        return place
    if (folder / ONNX_SETTINGS).is_file():
        return f"onnx/{folder.resolve()}"
    try:
        kind = msgspec.json.decode((folder / "config.json").read_bytes(), type=dict[str, Any]).get(
            "model_type"
        )
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(
            f"{place} holds no model: neither {ONNX_SETTINGS} nor a readable config.json"
        ) from error
    return f"{'mimic-chat' if kind == 'mimic_chat' else 'transformers'}/{folder.resolve()}"


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

    from vivant.serve.app import create_app

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
