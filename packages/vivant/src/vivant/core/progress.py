"""Progress of work that takes long, and how it is told to whoever runs it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

ProgressCallback = Callable[[int, int, str], None]
"""(done, of how many, label): called now and then by whatever takes long."""

logger = logging.getLogger("vivant")


def ignore_progress(done: int, total: int, label: str) -> None:
    """Report nothing."""


def log_progress(every: float = 2.0) -> ProgressCallback:
    """A callback that logs how far the work is, at most once in `every` seconds."""
    last = time.monotonic()

    def report(done: int, total: int, label: str) -> None:
        nonlocal last
        if time.monotonic() - last >= every:
            last = time.monotonic()
            share = f" ({done / total:.0%})" if total else ""
            logger.info("%s of %s%s: %s", f"{done:,}", f"{total:,}", share, label)

    return report
