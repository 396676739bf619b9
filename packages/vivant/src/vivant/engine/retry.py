"""When to try again, how long to wait before, and how long a request takes."""

from __future__ import annotations

import random

from msgspec import Struct

from vivant.models.base import TransientError


class RetryPolicy(Struct, frozen=True):
    """Exponential back-off with jitter; a server's own Retry-After is the least that is waited."""

    attempts: int = 6
    """Failures (5xx, time-outs, broken connections) after which a sample is given up."""
    first: float = 1.0
    most: float = 60.0
    patience: float = 600.0
    """A server that asks for less traffic is obeyed, and asked again, for so many seconds a sample. It did not
    fail, so this does not count as an attempt. A Retry-After above this is not waited for."""
    outage: float = 300.0
    """A server that answered before and cannot be reached is waited for so long. Then the run ends, and
    what was not answered is asked when it is resumed."""
    probe: float = 5.0
    """The longest pause between two looks whether it is back."""

    def wait(self, failures: int, refusals: int, waited: float, error: TransientError) -> float | None:
        """Seconds before the next attempt; None means: give up.

        `failures` and `refusals` count what happened to this sample so far, this error included: attempts that
        failed, and requests for less. `waited` are the seconds since its first attempt.
        """
        if error.retry_after is not None and error.retry_after > self.patience:
            return None
        if failures >= self.attempts:
            return None
        pause = max(self._backoff(failures + refusals), error.retry_after or 0.0)
        if error.slow_down and waited + pause > self.patience:
            return None
        return pause

    def compute_probe_delay(self, tries: int) -> float:
        """Seconds before a server that does not answer is looked for again."""
        return min(self.probe, self._backoff(tries))

    def _backoff(self, number: int) -> float:
        # Jitter only spreads requests in time; it has no part in any result, so a global generator is right.
        return random.uniform(0.5, 1.0) * min(self.most, self.first * 2.0 ** min(16, number - 1))


class TypicalDuration:
    """How long a request takes, with room for most of those that take longer."""

    def __init__(self) -> None:
        self._mean = 0.0
        self._spread = 0.0
        self._seen = False

    def add(self, seconds: float) -> None:
        """One more."""
        if not self._seen:
            self._seen = True
            self._mean, self._spread = seconds, seconds / 2
            return
        self._spread += 0.1 * (abs(seconds - self._mean) - self._spread)
        self._mean += 0.1 * (seconds - self._mean)

    @property
    def longest(self) -> float:
        """Most take no longer than this."""
        return self._mean + 4 * self._spread
