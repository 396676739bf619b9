"""Start the viewer: on this machine alone, or elsewhere behind a token."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vivant import mini
from vivant.analysis.correction.people import PeopleSource
from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.core.errors import UsageError
from vivant.core.paths import cache_root
from vivant.web.server import base_url, bind, is_loopback, require_modules, run_app

if TYPE_CHECKING:
    from vivant.view.export import ExportResult


def serve(
    root: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str = "",
    protocol: Protocol | None = None,
    data: Sequence[Path] = (),
    people: PeopleSource | None = None,
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
        people: their judgements, to stand beside judges' and to correct them.
        ready: called with the address, token included, once it can be opened.
    """
    require_modules("starlette", "uvicorn", "jinja2", problem="The viewer needs a web server", extra="web")
    if not root.is_dir():
        raise UsageError(f"{root} is no folder; name the one that holds your runs")
    from vivant.view.app import create_app

    local = is_loopback(host)
    token = token or ("" if local else secrets.token_urlsafe(18))
    folders = None if local else [root, cache_root(), registry.data_root(), *_mini_roots(), *data]
    app = create_app(root, protocol=protocol, token=token, data=folders, people=people)
    listener = bind(host, port)
    ready(f"{base_url(host, listener)}/{'?token=' + token if token else ''}")
    run_app(app, listener)


def export_site(root: Path, out: Path, **settings: Any) -> ExportResult:
    """Write a static site; the settings are those of `export.py: export_site`."""
    require_modules("starlette", "jinja2", problem="The viewer needs its web libraries", extra="web")
    from vivant.view.export import export_site as write_site

    return write_site(root, out, **settings)


def _mini_roots() -> list[Path]:
    return [folder for name in mini.list_installed() if (folder := mini.root(name)) is not None]
