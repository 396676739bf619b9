"""How many requests may be under way: found by asking, cut when the server complains, won back in a curve.

After a complaint the limit comes back fast to just below where the complaint came from, stays near it for a
while, and then probes further and further: a cubic in rounds of successes, as TCP does it. So a server's limit
is found within a few rounds of requests, whether it takes 4 or 400 at once, and found again when it changes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

_CUT = 0.7
_STEEPNESS = 0.4


class Admission(NamedTuple):
    """When a request was let in: after how many cuts, and as which of those under way."""

    cuts: int
    position: int


class WithdrawnError(Exception):
    """What wants its turn will get none here."""


class ConcurrencyLimit:
    """Lets so many in at once, in the order in which they ask. At 0, who asks is sent away."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.in_flight = 0
        self.highest = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def room(self) -> int:
        """How many may be in."""
        return int(self.limit)

    async def acquire(self) -> None:
        """Wait until one more may go. Raises WithdrawnError where none may any more."""
        if self._waiting or self.in_flight >= self.room:
            if not self.room:
                raise WithdrawnError
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            try:
                await future
            except asyncio.CancelledError:
                if future.done() and not future.cancelled() and future.exception() is None:
                    self.release()
                raise
        else:
            self._enter()

    def _enter(self) -> None:
        self.in_flight += 1
        self.highest = max(self.highest, self.in_flight)

    def release(self) -> None:
        """Count a request as done."""
        self.in_flight -= 1
        self._admit()

    def change(self, limit: int) -> None:
        """Set the limit. Those that are in stay in; at 0, those that wait are sent away."""
        self.limit = limit
        self._admit()
        while self._waiting and not self.room:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(WithdrawnError())

    def _admit(self) -> None:
        while self._waiting and self.in_flight < self.room:
            future = self._waiting.popleft()
            if not future.done():
                self._enter()
                future.set_result(None)


class AdaptiveLimit(ConcurrencyLimit):
    """Starts at `most` and never exceeds it."""

    def __init__(self, most: int) -> None:
        super().__init__(float(most))
        self.most = most
        self.ahead = 0
        """So many more are let in: they wait for their turn elsewhere."""
        self.cuts = 0
        self._ceiling = float(most)
        self._flat = 0.0
        self._rounds = 0.0

    @property
    def room(self) -> int:
        return int(self.limit) + self.ahead

    async def enter(self) -> Admission:
        """Wait until one more request may be sent."""
        await self.acquire()
        return Admission(self.cuts, self.in_flight)

    def note_success(self) -> None:
        """A request came back: room for a little more."""
        if self.limit < self.most:
            self._rounds += 1.0 / self.limit
            curve = self._ceiling + _STEEPNESS * (self._rounds - self._flat) ** 3
            self.limit = min(float(self.most), max(self.limit, curve))
            self._admit()

    def slow_down(self, admission: Admission) -> None:
        """The server asked for less, and refused this one: those before it were not too many.

        Requests let in before the last cut complain of the same crowd, which counts once.
        """
        if admission.cuts < self.cuts:
            return
        self.cuts += 1
        self._ceiling = float(max(1, min(admission.position - 1, int(self.limit))))
        self.limit = max(1.0, self._ceiling * _CUT)
        self._flat = ((self._ceiling - self.limit) / _STEEPNESS) ** (1 / 3)
        self._rounds = 0.0
