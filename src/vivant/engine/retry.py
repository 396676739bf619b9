"""When to try again, and how long to wait before."""

from __future__ import annotations

import random

from msgspec import Struct

from vivant.models.base import TransientError


class RetryPolicy(Struct, frozen=True):
    """Exponential back-off with full jitter; a server's own Retry-After is the least that is waited."""

    attempts: int = 6
    first: float = 1.0
    most: float = 60.0
    patience: float = 600.0
    """A Retry-After above this is not waited for."""

    def wait(self, attempt: int, error: TransientError) -> float | None:
        """Seconds before the attempt after number `attempt` (from 1); None means: give up."""
        if attempt >= self.attempts:
            return None
        if error.retry_after is not None and error.retry_after > self.patience:
            return None
        # Jitter only spreads requests in time; it has no part in any result, so a global generator is right.
        backoff = random.uniform(0.5, 1.0) * min(self.most, self.first * 2.0 ** (attempt - 1))
        return max(backoff, error.retry_after or 0.0)
