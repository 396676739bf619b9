"""What the servers share: where they listen, and who can reach them."""

from __future__ import annotations

import errno
import socket
from ipaddress import ip_address

from vivant.core.errors import UsageError


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, or a clear line on why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP: only then does asyncio send small answers at once, and not 40 ms later.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(128)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(f"Port {port} is in use; choose another: --port {port + 1}") from error
        raise UsageError(f"Cannot listen on {host}, port {port}: {error.strerror or error}") from error
    except OverflowError as error:
        bound.close()
        raise UsageError(f"{port} is no port; ports go to 65535") from error
    return bound
