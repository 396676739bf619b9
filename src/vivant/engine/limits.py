"""How many requests may be under way: additive increase, multiplicative decrease."""

from __future__ import annotations

import asyncio
from collections import deque


class AdaptiveLimit:
    """Starts at `most`, halves when the server asks for less, grows back by one per round of successes."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(most)
        self.in_flight = 0
        self.highest = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._last_cut = float("-inf")

    async def acquire(self) -> None:
        """Wait for a place."""
        if self.in_flight >= int(self.limit):
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
            return
        self._enter()

    def _enter(self) -> None:
        self.in_flight += 1
        self.highest = max(self.highest, self.in_flight)

    def release(self) -> None:
        """Give the place back."""
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.in_flight < int(self.limit):
            future = self._waiting.popleft()
            if not future.done():
                self._enter()
                future.set_result(None)

    def succeeded(self) -> None:
        """A request came back: room for a little more."""
        if self.limit < self.most:
            self.limit = min(float(self.most), self.limit + 1.0 / max(1.0, self.limit))
            self._admit()

    def slow_down(self) -> None:
        """The server asked for less. Requests that were under way together count as one complaint."""
        now = asyncio.get_running_loop().time()
        if now - self._last_cut >= 1.0:
            self._last_cut = now
            self.limit = max(1.0, self.limit / 2)
