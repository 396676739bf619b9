"""When the hub is asked again, and after how long: passing faults only, and as long as the hub itself says."""

from __future__ import annotations

import email.utils
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from vivant.core.errors import is_connection_fault

TRIES = 5
"""In a row without one byte."""
PATIENCE = 1.0
"""Seconds before the first of them is repeated; doubled each time."""
LONGEST = 900.0
"""Seconds: a hub that asks for more is not waited for."""
_PASSING = (408, 429, 500, 502, 503, 504)
_T = TypeVar("_T")

logger = logging.getLogger("vivant")


def is_passing(error: Exception) -> bool:
    """Whether the same request may succeed a little later."""
    return is_connection_fault(error) or _status(error) in _PASSING


def find_wait(error: Exception, failures: int) -> float | None:
    """Seconds to wait after so many failures in a row; None where that is no use.

    A Retry-After header counts where it asks for longer than the usual pause.
    """
    if failures >= TRIES or not is_passing(error):
        return None
    stated = _read_retry_after(error)
    if stated > LONGEST:
        return None
    return max(PATIENCE * 2.0 ** (failures - 1), stated)


def retry(call: Callable[[], _T]) -> _T:
    """What `call` returns, tried again where a fault is passing."""
    failures = 0
    while True:
        try:
            return call()
        except Exception as error:
            failures += 1
            seconds = find_wait(error, failures)
            if seconds is None:
                raise
            announce_wait(seconds)
            time.sleep(seconds)


def announce_wait(seconds: float) -> None:
    """Say why nothing happens, where it lasts."""
    if seconds >= 5:
        logger.info("The hub does not answer now. Trying again in %.0f s.", seconds)


def _read_retry_after(error: Exception) -> float:
    """Seconds that the hub asks to wait: a number, or a date; 0 where it does not say."""
    response: Any = getattr(error, "response", None)
    text = "" if response is None else str(response.headers.get("Retry-After", "")).strip()
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _status(error: Exception) -> int | None:
    response: Any = getattr(error, "response", None)
    return response.status_code if response is not None else None
