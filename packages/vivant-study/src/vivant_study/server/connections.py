"""Connections that cost the server something: half-sent requests are ended, and there is always room for the next one.

A request's headers and its body must each arrive in time. When there are too many connections, the one that has waited
longest for the rest of a request is closed first, then the one that has been idle longest; somebody who sends a whole
request at once is not in anybody's way. No address is looked at or kept.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

from msgspec import Struct

from vivant.web.server import raise_open_file_limit

_RESERVED = 200
"""Files that the database, the logs and the program itself need."""
_MOST = 8192
AT_ONCE = 100
"""Connections that are taken at one turn of the event loop. The guard sees them after it, so they need spare files."""


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """How long a request may take to arrive, and how many connections there may be."""

    header_seconds: float = 15.0
    body_seconds: float = 30.0
    connections: int = 0
    """0: as many as this process may open files for."""


def count_connections() -> int:
    """How many connections this process can hold, after the limit on open files was raised as far as it may be.

    Each may need a second file, the video that it is sent.
    """
    return max(16, min(_MOST, (raise_open_file_limit(_MOST * 2 + _RESERVED) - _RESERVED) // 2))


class ConnectionGuard:
    """All connections of one server. Used from the event loop alone."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._most = limits.connections or count_connections()
        self._open: set[Any] = set()
        self._waiting: OrderedDict[Any, float] = OrderedDict()
        """Connections that owe the rest of a request, with when their time is up, the earliest first."""
        self._bodies: OrderedDict[Any, float] = OrderedDict()
        """The same for those that owe a body."""
        self._idle: OrderedDict[Any, None] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, connection: Any) -> None:
        """A new connection; where there are too many, another one goes."""
        self._open.add(connection)
        self.expect_headers(connection)
        if len(self._open) > self._most:
            victims = self._waiting if len(self._waiting) > 1 else self._idle or self._bodies or self._waiting
            self._end(next(iter(victims)))

    def remove(self, connection: Any) -> None:
        """A connection that has ended."""
        self._open.discard(connection)
        self.settle(connection)

    def settle(self, connection: Any) -> None:
        """A connection that owes nothing: its request is there."""
        self._waiting.pop(connection, None)
        self._bodies.pop(connection, None)
        self._idle.pop(connection, None)

    def expect_headers(self, connection: Any) -> None:
        """A connection that has begun a request, or has sent nothing since it was opened."""
        if connection not in self._waiting:
            self.settle(connection)
            self._expect(self._waiting, connection, self._limits.header_seconds)

    def expect_body(self, connection: Any) -> None:
        """A connection that has sent a request's headers."""
        if connection not in self._bodies:
            self.settle(connection)
            self._expect(self._bodies, connection, self._limits.body_seconds)

    def rest(self, connection: Any) -> None:
        """A connection between two requests. It is closed by the server's own time-out."""
        self.settle(connection)
        if connection in self._open:
            self._idle[connection] = None

    def _expect(self, queue: OrderedDict[Any, float], connection: Any, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        queue[connection] = loop.time() + seconds
        if self._timer is None:
            self._timer = loop.call_later(1.0, self._sweep)

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        for queue in (self._waiting, self._bodies):
            for connection in [c for c, until in queue.items() if until < loop.time()]:
                self._end(connection)
        busy = self._waiting or self._bodies
        self._timer = loop.call_later(1.0, self._sweep) if busy else None

    def _end(self, connection: Any) -> None:
        """Close a connection without waiting for the other side."""
        self.remove(connection)
        connection.transport.abort()


def make_protocol(limits: ConnectionLimits) -> type[asyncio.Protocol]:
    """The HTTP protocol that the server takes by default, with connections watched."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    # Whichever of its two parsers is installed; both have the same shape.
    base: Any = AutoHTTPProtocol
    guard = ConnectionGuard(limits)

    class GuardedProtocol(base):  # type: ignore[misc]
        """Tells the guard what each connection owes."""

        is_ahead = False

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            guard.add(self)

        def connection_lost(self, exc: Exception | None) -> None:
            guard.remove(self)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            # What comes while an answer is made is the beginning of the next request.
            self.is_ahead = before is not None and not (before.response_complete or before.more_body)
            super().data_received(data)
            if self.transport.is_closing():
                return
            cycle = self.cycle
            if cycle is None or cycle.response_complete:
                guard.expect_headers(self)
            elif cycle.more_body:
                guard.expect_body(self)
            else:
                guard.settle(self)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.is_ahead and not self.transport.is_closing():
                guard.expect_headers(self)
            else:
                guard.rest(self)

    return GuardedProtocol
