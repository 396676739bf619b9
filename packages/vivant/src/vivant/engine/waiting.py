"""What a run waits for, told to the user: a rate limit, a server that fails, limits of the user's own."""

from __future__ import annotations

import asyncio
import logging
import time

from vivant.models.base import TransientError

logger = logging.getLogger("vivant")
_LONG = 5.0
"""A pause of so many seconds is worth a word."""
_SILENCE = 10.0
"""So are short pauses, where nothing was answered for so many seconds."""
_EVERY = 30.0
"""Seconds between two words."""


async def is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait so long for an event, and say whether it came."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True


class WaitNotices:
    """Says at most one sentence in `_EVERY` seconds, however many samples wait."""

    def __init__(self) -> None:
        self._answered = time.monotonic()
        self._spoken = float("-inf")
        self._rates_told = False

    def note_answer(self) -> None:
        """Something was answered."""
        self._answered = time.monotonic()

    def note_retry(self, error: TransientError, pause: float, attempts: int) -> None:
        """A sample is tried again after so many seconds, having been tried so often."""
        now = time.monotonic()
        if now - self._spoken < _EVERY or (pause < _LONG and now - self._answered < _SILENCE):
            return
        self._spoken = now
        verb = "Waiting" if error.slow_down else "Trying again"
        logger.warning("%s. %s: retry %d at %s.", error, verb, attempts, _clock(pause))

    def note_rates(self, pause: float) -> None:
        """The user's own limits hold a request back for so many seconds."""
        if pause >= _LONG and not self._rates_told:
            self._rates_told = True
            logger.info("--rpm and --tpm hold requests back; the next goes at %s.", _clock(pause))


def _clock(pause: float) -> str:
    """The time of day after so many seconds."""
    return time.strftime("%H:%M:%S", time.localtime(time.time() + pause))
