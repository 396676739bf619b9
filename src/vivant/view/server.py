"""Start the viewer: on this machine alone, or elsewhere behind a token."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from vivant import mini
from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.core.errors import UsageError
from vivant.core.paths import cache_root
from vivant.web.server import base_url, bind, is_loopback, require_modules, run_app


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
    """Serve until stopped.

    Args:
        root: the folder of runs.
        host: where to listen; another host than this machine needs a token.
        port: where to listen.
        token: default: a new one where others can reach the server, else none.
        protocol: whose scores are shown.
        data: folders that media may come from, beside the usual ones.
        ready: called with the address, token included, once it can be opened.
    """
    require_modules("starlette", "uvicorn", "jinja2", what="The viewer needs a web server", extra="web")
    if not root.is_dir():
        raise UsageError(f"{root} is no folder; name the one that holds your runs")
    from vivant.view.app import create_app

    local = is_loopback(host)
    token = token or ("" if local else secrets.token_urlsafe(18))
    folders = None if local else [root, cache_root(), registry.data_root(), *_mini_roots(), *data]
    app = create_app(root, protocol=protocol, token=token, data=folders)
    listener = bind(host, port)
    ready(f"{base_url(host, listener)}/{'?token=' + token if token else ''}")
    run_app(app, listener)


def _mini_roots() -> list[Path]:
    return [folder for name in mini.list_installed() if (folder := mini.root(name)) is not None]
