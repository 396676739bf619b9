"""Where the servers listen, who can reach them, and how they run."""

from __future__ import annotations

import errno
import socket
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from vivant.core.errors import UsageError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_QUEUE = 1024
"""Connections that may wait to be taken: a class arrives at once."""


def require_modules(*names: str, problem: str, extra: str) -> None:
    """Raise UsageError with what to install where a library is missing."""
    if any(find_spec(name) is None for name in names):
        raise UsageError(f"{problem}: pip install 'vivant[{extra}]'")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def bind(host: str, port: int) -> socket.socket:
    """Open a listening socket, or say in one line why that is impossible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP: only then does asyncio send small answers at once, and not 40 ms later.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(f"Port {port} is in use; choose another: --port {port + 1}") from error
        raise UsageError(f"Cannot listen on {host}, port {port}: {error.strerror or error}") from error
    except OverflowError as error:
        listener.close()
        raise UsageError(f"{port} is no port; ports go to 65535") from error
    return listener


def base_url(host: str, listener: socket.socket) -> str:
    """The address of a server that listens on a host."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}"


def run_app(app: ASGIApp, listener: socket.socket, **config: Any) -> None:
    """Serve an application until the process is told to stop, then close the socket.

    Args:
        app: the application.
        listener: from `bind`.
        config: uvicorn's settings beside quiet logs.
    """
    import uvicorn

    class Server(uvicorn.Server):
        """Lets many connections wait, however few are taken at one turn of the event loop (`backlog`)."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            listener.listen(_QUEUE)

    settings = {"log_level": "warning", "access_log": False, **config}
    try:
        Server(uvicorn.Config(app, **settings)).run(sockets=[listener])
    finally:
        listener.close()


def raise_open_file_limit(count: int) -> int:
    """Let this process open so many files, as far as the system allows; how many it may open then."""
    try:
        import resource
    except ImportError:
        # Windows has no such limit on sockets.
        return count
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    endless = resource.RLIM_INFINITY
    most = count if hard == endless else min(count, hard)
    if soft == endless or soft >= most:
        return count if soft == endless else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most
