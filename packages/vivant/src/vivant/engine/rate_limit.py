"""Requests and tokens a minute, kept in every window of sixty seconds, as the server counts them.

A request leaves the window sixty seconds after the server must have seen it: after its reply came, or after
`_TRAVEL` seconds, whichever is first. So a delay on the way cannot bring two requests nearer together at the
server than they were here. Tokens are counted at a careful estimate until the reply says how many they were.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from msgspec import Struct

WINDOW = 60.0
_TRAVEL = 2.0


class Slot(Struct, eq=False):
    """One request in the window."""

    tokens: int
    leaves: float
    counted: bool = True


class RateLimit:
    """First come, first served. One per run, also where several machines send."""

    def __init__(self, rpm: int | None = None, tpm: int | None = None, window: float = WINDOW) -> None:
        self.rpm = rpm
        self.tpm = tpm
        self._window = window
        self._slots: deque[Slot] = deque()
        self._tokens = 0
        self._turn = asyncio.Lock()
        self._queued = 0
        self._freed = asyncio.Event()
        self._stopped = False
        self.on_wait: Callable[[float], None] | None = None
        """Told how long a request must wait."""

    def stop(self) -> None:
        """Let nobody in any more, and keep nobody waiting."""
        self._stopped = True
        self._freed.set()

    def remember(self, ago: float, requests: int, tokens: int) -> None:
        """Count what an earlier process sent so many seconds ago, oldest first."""
        if ago < self._window + _TRAVEL:
            for number in range(requests):
                leaves = time.monotonic() - ago + self._window + _TRAVEL
                self._add(Slot(0 if number else tokens, leaves))

    async def enter(self, tokens: int) -> Slot | None:
        """Wait until one more request with so many tokens keeps the limits, and count it as sent now.

        A request that is larger than a minute's tokens waits until it is alone. None where `stop` was called.
        """
        if not self._queued and not self._stopped and self._pause(tokens, time.monotonic()) == 0.0:
            return self._enter(tokens)
        self._queued += 1
        try:
            return await self._wait(tokens)
        finally:
            self._queued -= 1

    async def _wait(self, tokens: int) -> Slot | None:
        async with self._turn:
            while not self._stopped and (pause := self._pause(tokens, time.monotonic())) > 0:
                if self.on_wait is not None:
                    self.on_wait(pause)
                self._freed.clear()
                try:
                    await asyncio.wait_for(self._freed.wait(), pause)
                except TimeoutError:
                    continue
            if self._stopped:
                return None
            return self._enter(tokens)

    def _enter(self, tokens: int) -> Slot:
        slot = Slot(tokens, time.monotonic() + self._window + _TRAVEL)
        self._add(slot)
        return slot

    def note_answer(self, slot: Slot, tokens: int | None) -> None:
        """The server has answered: it saw the request by now, and took so many tokens, if it says."""
        slot.leaves = min(slot.leaves, time.monotonic() + self._window)
        if tokens is not None and slot.counted:
            self._tokens += tokens - slot.tokens
            slot.tokens = tokens
        self._freed.set()

    def _add(self, slot: Slot) -> None:
        self._slots.append(slot)
        self._tokens += slot.tokens

    def _pause(self, tokens: int, now: float) -> float:
        """Seconds until there may be room: 0 where there is. They leave in the order in which they came."""
        while self._slots and self._slots[0].leaves <= now:
            slot = self._slots.popleft()
            slot.counted = False
            self._tokens -= slot.tokens
        full = self.rpm is not None and len(self._slots) >= self.rpm
        over = self.tpm is not None and bool(self._slots) and self._tokens + tokens > self.tpm
        return max(0.001, self._slots[0].leaves - now) if full or over else 0.0
