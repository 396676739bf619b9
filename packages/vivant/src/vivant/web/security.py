"""What protects the servers: headers on every response, Host checks, and comparing secrets."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from ipaddress import ip_address

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'self'; script-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""On every response. Pages load nothing from elsewhere and run no inline script."""


def is_local_host(header: str) -> bool:
    """Whether a Host header names this machine, with or without a port."""
    host = header if header.endswith("]") else header.rsplit(":", 1)[0]
    try:
        return ip_address(host[1:-1] if host.startswith("[") else host).is_loopback
    except ValueError:
        return host.casefold() == "localhost"


class LocalHostOnly:
    """Refuses requests under another host's name: a page can give its own name this machine's address."""

    def __init__(self, app: ASGIApp, refusal: ASGIApp) -> None:
        """`refusal`: the response to whoever is not let through."""
        self._app, self._refusal = app, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        names = [value for name, value in scope.get("headers", ()) if name == b"host"]
        is_local = len(names) == 1 and is_local_host(names[0].decode("latin-1"))
        refused = scope["type"] in ("http", "websocket") and not is_local
        await (self._refusal if refused else self._app)(scope, receive, send)


def same_secret(first: str, second: str) -> bool:
    """Compare in a time that tells nothing about where the two differ."""
    return hmac.compare_digest(first.encode("utf-8", "replace"), second.encode("utf-8", "replace"))


class SecurityHeaders:
    """Adds headers to responses, in place of any of the same name."""

    def __init__(self, headers: Mapping[str, str], cache_control: Callable[[str], str]) -> None:
        """`cache_control`: from a path to the header of a response that has none; empty for no header."""
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self._names = frozenset(name for name, _ in self._headers)
        self._cache_control = cache_control

    def wrap(self, send: Send, path: str) -> Send:
        """A `send` that adds the headers to the response of a path."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [header for header in message["headers"] if header[0] not in self._names]
                if all(name != b"cache-control" for name, _ in headers) and (
                    value := self._cache_control(path)
                ):
                    headers.append((b"cache-control", value.encode()))
                message["headers"] = headers + self._headers
            await send(message)

        return send_with_headers
