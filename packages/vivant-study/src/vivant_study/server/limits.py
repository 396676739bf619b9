"""How often one session, and everybody together, may ask. No address is looked at or kept."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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


class SessionBuckets:
    """A bucket for each session, for as many as are remembered."""

    def __init__(self, rate: float, size: float) -> None:
        self._rate, self._size = rate, size
        self._buckets: OrderedDict[int, TokenBucket] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, participant: int) -> bool:
        """Whether this session had one left."""
        with self._lock:
            bucket = self._buckets.get(participant)
            if bucket is None:
                bucket = self._buckets[participant] = TokenBucket(self._rate, self._size)
                while len(self._buckets) > _MOST_SESSIONS:
                    self._buckets.popitem(last=False)
            else:
                self._buckets.move_to_end(participant)
        return bucket.take()


class RateLimits:
    """The limits of one server."""

    def __init__(
        self,
        *,
        session: tuple[float, float] = (10, 120),
        together: tuple[float, float] = (2000, 4000),
        arrivals: tuple[float, float] = (20, 400),
        wrong: tuple[float, float] = (5, 50),
        media: tuple[float, float] = (20, 400),
        downloads: int = 64,
    ) -> None:
        """Each as requests a second and how many at once. `wrong` counts links and tokens that open nothing: whoever
        has a right one is never kept out by somebody else's guessing. `media` counts the files that one session asks
        for, `downloads` those that are under way to it."""
        self._session = SessionBuckets(*session)
        self._media = SessionBuckets(*media)
        self._most_downloads = downloads
        self._downloads: Counter[int] = Counter()
        self.together = TokenBucket(*together)
        self.arrivals = TokenBucket(*arrivals)
        self.wrong = TokenBucket(*wrong)

    def session(self, participant: int) -> bool:
        """Whether this participant may ask once more."""
        return self._session.take(participant)

    def media(self, participant: int) -> bool:
        """Whether this participant may ask for one more file."""
        return self._media.take(participant) and self._downloads[participant] < self._most_downloads

    @contextmanager
    def downloading(self, participant: int) -> Iterator[None]:
        """While a file is sent."""
        self._downloads[participant] += 1
        try:
            yield
        finally:
            self._downloads[participant] -= 1
            if not self._downloads[participant]:
                del self._downloads[participant]
