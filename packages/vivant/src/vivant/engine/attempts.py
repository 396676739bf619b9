"""What failures of requests mean: another attempt after a pause, a lost sample, or the end of the run."""

from __future__ import annotations

import logging
import time

from msgspec import Struct

from vivant.core.types import Reply
from vivant.engine.retry import RetryPolicy
from vivant.models.base import DeniedError, ModelError, TransientError

logger = logging.getLogger("vivant")
_MAX_GIVEN_UP = 20
"""So many samples given up in a row, or twice as many as are under way at once, end the run."""
_MAX_DENIED = 10
"""So many requests denied in a row end the run; before the first success, `_MAX_DENIED_FIRST`."""
_MAX_DENIED_FIRST = 2


class Attempts(Struct):
    """What has happened to one sample so far."""

    started: float
    since: float
    count: int = 0
    failures: int = 0
    refusals: int = 0
    absences: int = 0
    seconds: float = 0.0


class FailureWatch:
    """Counts what fails in a row over all samples of a run. Raises ModelError where going on makes no sense."""

    def __init__(self, retry: RetryPolicy, concurrency: int, *, has_answers: bool) -> None:
        self._retry = retry
        self._concurrency = concurrency
        self._given_up = 0
        self._denied = 0
        self._succeeded = has_answers
        self._reached = False
        self._gone_since: float | None = None

    def note_reached(self) -> None:
        """The server answers, perhaps after an absence."""
        self._reached = True
        if self._gone_since is not None:
            self._gone_since = None
            logger.info("The server answers again.")

    def note_reply(self, reply: Reply) -> None:
        """A sample has its reply."""
        self._given_up = 0
        if reply.status != "error":
            self._succeeded = True
            self._denied = 0

    def note_denied(self, error: DeniedError) -> Reply:
        """A request that is denied costs its sample, unless all are denied."""
        self._denied += 1
        if self._denied < (_MAX_DENIED if self._succeeded else _MAX_DENIED_FIRST):
            return Reply(status="error", error=str(error))
        message = (
            f"{self._denied} requests were denied in a row"
            if self._succeeded
            else f"{self._denied} requests were denied, and none was answered. Check key, model and address"
        )
        raise ModelError(f"{error}: {message}. Run the same command to go on") from error

    def pause(self, error: TransientError, attempts: Attempts) -> float | None:
        """Seconds to wait before the sample is tried again; None: it is given up."""
        now = time.monotonic()
        if error.unreachable:
            return self._wait_for_server(error, attempts, now)
        if error.slow_down:
            attempts.refusals += 1
        else:
            attempts.failures += 1
        pause = self._retry.wait(attempts.failures, attempts.refusals, now - attempts.since, error)
        if pause is None:
            self._given_up += 1
            if self._given_up >= max(_MAX_GIVEN_UP, 2 * self._concurrency):
                raise ModelError(
                    f"{error}: {self._given_up} samples in a row were given up. Run the same command to go on"
                )
        return pause

    def _wait_for_server(self, error: TransientError, attempts: Attempts, now: float) -> float:
        """No server at all: it may be starting again."""
        attempts.absences += 1
        if not self._reached:
            if attempts.absences >= 3:
                raise ModelError(f"{error}. Start it, or give its address with --base-url")
            return self._retry.compute_probe_delay(attempts.absences)
        if self._gone_since is None:
            self._gone_since = now
            logger.warning("%s; waiting up to %g s for it to come back.", error, self._retry.outage)
        if now - self._gone_since > self._retry.outage:
            raise ModelError(f"{error}, for {self._retry.outage:g} s. Run the same command to go on")
        return self._retry.compute_probe_delay(attempts.absences)
