"""Start the viewer: on this machine alone, or elsewhere behind a token."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from vivant import mini
from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.core.errors import UsageError
from vivant.core.paths import cache_root
from vivant.web.server import bind, is_loopback


def serve(
    root: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str = "",
    protocol: Protocol | None = None,
    data: Sequence[Path] = (),
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until stopped. `ready` is told the address, token included, once it can be opened."""
    if find_spec("fastapi") is None or find_spec("uvicorn") is None or find_spec("jinja2") is None:
        raise UsageError("The viewer needs a web server: pip install 'vivant[web]'")
    if not root.is_dir():
        raise UsageError(f"{root} is no folder; name the one that holds your runs")
    import uvicorn

    from vivant.view.app import create_app

    local = is_loopback(host)
    token = token or ("" if local else secrets.token_urlsafe(18))
    folders = None if local else [root, cache_root(), registry.data_root(), *_bundled(), *data]
    app = create_app(root, protocol=protocol, token=token, data=folders)
    bound = bind(host, port)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    shown = f"[{host}]" if ":" in host else host
    ready(f"http://{shown}:{bound.getsockname()[1]}/{'?token=' + token if token else ''}")
    try:
        server.run(sockets=[bound])
    finally:
        bound.close()


def _bundled() -> list[Path]:
    return [folder for name in mini.installed() if (folder := mini.root(name)) is not None]
