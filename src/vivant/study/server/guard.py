"""What every request passes first: the path's prefix, the size of its body, where it comes from; and what every answer
carries. Plain ASGI, so that nothing is read twice."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY = 256 * 1024
"""Bytes of a request. No form of ours comes near."""
_DRAINED = 32 * 1024 * 1024
"""Bytes of a request too large that are read and dropped, so that the browser gets to see the answer."""
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'self'; script-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "X-Robots-Tag": "noindex, nofollow",
}
_SEALED = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
_NAMES = frozenset(name for name, _ in _SEALED)
_STILL, _FRESH = (b"cache-control", b"public, max-age=3600"), (b"cache-control", b"no-store")


class Guard:
    """The outermost layer. `refuse` makes the page for whoever is not let through."""

    def __init__(
        self, app: ASGIApp, *, root: str, origin: str, refuse: Callable[[Scope, str, int], ASGIApp]
    ) -> None:
        """`root`: path prefix; `origin`: scheme and host of the public address, empty for whatever Host says."""
        self._app, self._root, self._origin, self._refuse = app, root, origin, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = self._with_prefix(scope)
        path = scope["path"].removeprefix(self._root)

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [header for header in message["headers"] if header[0] not in _NAMES]
                if all(name != b"cache-control" for name, _ in own):
                    own.append(_STILL if path.startswith("/static/") else _FRESH)
                message["headers"] = own + _SEALED
            await send(message)

        headers = Headers(scope=scope)
        body, whole = await _read(headers, receive)
        if not whole:
            await self._refuse(scope, "too_large", 413)(scope, receive, sealed)
        elif scope["method"] not in ("GET", "HEAD") and not self._from_here(headers):
            await self._refuse(scope, "cross_site", 403)(scope, receive, sealed)
        else:
            await self._app(scope, _replay(body, receive), sealed)

    def _with_prefix(self, scope: Scope) -> Scope:
        """Works behind proxies that strip the prefix and behind those that leave it."""
        path = scope["path"]
        if self._root and not path.startswith(f"{self._root}/") and path != self._root:
            path = self._root + path
        return {**scope, "path": path, "root_path": self._root}

    def _from_here(self, headers: Headers) -> bool:
        """Whether a writing request comes from a page of ours, as far as the browser says."""
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return False
        origin = headers.get("origin")
        if origin is None:
            return True
        if self._origin:
            return origin == self._origin
        return urlsplit(origin).netloc == headers.get("host", "")


async def _read(headers: Headers, receive: Receive) -> tuple[bytes, bool]:
    """The body, and whether it is small enough to be one of ours."""
    parts: list[bytes] = []
    size = 0
    # Whoever announces more than we would drop is not read at all.
    announced = headers.get("content-length", "0")
    if not announced.isdecimal() or int(announced) > _DRAINED:
        return b"", False
    more = announced != "0" or "transfer-encoding" in headers
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        piece = message.get("body", b"")
        size += len(piece)
        if size <= BODY:
            parts.append(piece)
        elif size > _DRAINED:
            break
        more = message.get("more_body", False)
    return b"".join(parts), size <= BODY


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
