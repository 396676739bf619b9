"""Ctrl-C and requests to end, during a training."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def finish_step_when_stopped(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C or request to end finishes the step; the second is obeyed at once."""

    def handle(number: int, _: Any) -> None:
        signal.signal(number, before[number])
        stop()

    try:
        before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        for number in before:
            signal.signal(number, handle)
    except ValueError:  # not the main thread: the host program owns the signals
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
