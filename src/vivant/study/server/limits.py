"""How often one session, and everybody together, may ask. No address is looked at or kept."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

_KEPT = 10_000
"""Sessions whose buckets are remembered."""


class Bucket:
    """Fills at a rate up to a size; each request takes one."""

    def __init__(self, rate: float, size: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._size, self._clock = rate, size, clock
        self._left, self._at = size, clock()
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Whether there was one left."""
        with self._lock:
            now = self._clock()
            self._left = min(self._size, self._left + (now - self._at) * self._rate)
            self._at = now
            if self._left < 1:
                return False
            self._left -= 1
            return True


class Limits:
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
        self._sessions: OrderedDict[int, Bucket] = OrderedDict()
        self._lock = threading.Lock()
        self.together = Bucket(*together)
        self.arrivals = Bucket(*arrivals)
        self.wrong = Bucket(*wrong)

    def session(self, participant: int) -> bool:
        """Whether this participant may ask once more."""
        with self._lock:
            bucket = self._sessions.get(participant)
            if bucket is None:
                bucket = self._sessions[participant] = Bucket(*self._session)
                while len(self._sessions) > _KEPT:
                    self._sessions.popitem(last=False)
            else:
                self._sessions.move_to_end(participant)
        return bucket.take()
