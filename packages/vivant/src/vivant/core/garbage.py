"""How often Python looks for objects that refer to each other in a circle."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_ALLOCATIONS = 50_000
"""New objects between two searches; Python's default is 700."""


@contextmanager
def collect_garbage_rarely() -> Iterator[None]:
    """Search less often: requests and records hold few circles, and the searches take a tenth of a run's CPU."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], _ALLOCATIONS) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
