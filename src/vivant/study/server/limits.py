"""How often one session, and everybody together, may ask. No address is looked at or kept."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

_MOST_SESSIONS = 10_000
"""Sessions whose buckets are remembered."""


class TokenBucket:
    """Fills at a rate up to a size; each request takes one."""

    def __init__(self, rate: float, size: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._size, self._clock = rate, size, clock
        self._tokens, self._at = size, clock()
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Whether there was one left."""
        with self._lock:
            now = self._clock()
            self._tokens = min(self._size, self._tokens + (now - self._at) * self._rate)
            self._at = now
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True


class RateLimits:
    """The limits of one server."""

    def __init__(
        self,
        *,
        session: tuple[float, float] = (10, 120),
        together: tuple[float, float] = (2000, 4000),
        arrivals: tuple[float, float] = (20, 400),
        wrong: tuple[float, float] = (5, 50),
    ) -> None:
        """Each as requests a second and how many at once. `wrong` counts links and tokens that open nothing: whoever
        has a right one is never kept out by somebody else's guessing."""
        self._session = session
        self._sessions: OrderedDict[int, TokenBucket] = OrderedDict()
        self._lock = threading.Lock()
        self.together = TokenBucket(*together)
        self.arrivals = TokenBucket(*arrivals)
        self.wrong = TokenBucket(*wrong)

    def session(self, participant: int) -> bool:
        """Whether this participant may ask once more."""
        with self._lock:
            bucket = self._sessions.get(participant)
            if bucket is None:
                bucket = self._sessions[participant] = TokenBucket(*self._session)
                while len(self._sessions) > _MOST_SESSIONS:
                    self._sessions.popitem(last=False)
            else:
                self._sessions.move_to_end(participant)
        return bucket.take()
