"""What every request passes first: the path's prefix, the size of its body, where it comes from; and what every answer
carries. Plain ASGI, so that nothing is read twice."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vivant.web.security import HEADERS, SecurityHeaders

Headers = dict[bytes, bytes]
BODY_LIMIT = 256 * 1024
"""Bytes of a request. No form of ours comes near."""
_DRAIN_LIMIT = 32 * 1024 * 1024
"""Bytes of a request too large that are read and dropped, so that the browser gets to see the answer."""
_HEADERS = SecurityHeaders(
    {
        **HEADERS,
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
        "X-Robots-Tag": "noindex, nofollow",
    },
    lambda path: "public, max-age=3600" if path.startswith("/static/") else "no-store",
)


class RequestGuard:
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
        send = _HEADERS.wrap(send, scope["path"].removeprefix(self._root))
        headers: Headers = dict(scope["headers"])
        body, is_complete = await _read_body(headers, receive)
        if not is_complete:
            await self._refuse(scope, "too_large", 413)(scope, receive, send)
        elif scope["method"] not in ("GET", "HEAD") and not self._is_same_origin(headers):
            await self._refuse(scope, "cross_site", 403)(scope, receive, send)
        else:
            await self._app(scope, _replay(body, receive), send)

    def _with_prefix(self, scope: Scope) -> Scope:
        """Works behind proxies that strip the prefix and behind those that leave it."""
        path = scope["path"]
        if self._root and not path.startswith(f"{self._root}/") and path != self._root:
            path = self._root + path
        return {**scope, "path": path, "root_path": self._root}

    def _is_same_origin(self, headers: Headers) -> bool:
        """Whether a writing request comes from a page of ours, as far as the browser says."""
        if headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
            return False
        origin = headers.get(b"origin")
        if origin is None:
            return True
        if self._origin:
            return origin == self._origin.encode()
        return urlsplit(origin).netloc == headers.get(b"host", b"")


async def _read_body(headers: Headers, receive: Receive) -> tuple[bytes, bool]:
    """The body, and whether it is small enough to be one of ours."""
    chunks: list[bytes] = []
    size = 0
    # Whoever announces more than we would drop is not read at all.
    announced = headers.get(b"content-length", b"0")
    if not announced.isdigit() or int(announced) > _DRAIN_LIMIT:
        return b"", False
    more = announced != b"0" or b"transfer-encoding" in headers
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        chunk = message.get("body", b"")
        size += len(chunk)
        if size <= BODY_LIMIT:
            chunks.append(chunk)
        elif size > _DRAIN_LIMIT:
            break
        more = message.get("more_body", False)
    return b"".join(chunks), size <= BODY_LIMIT


def _replay(body: bytes, receive: Receive) -> Receive:
    replayed = False

    async def receive_again() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
