"""One run at a time in a folder that is being filled."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from vivant.errors import VivantError


@contextlib.contextmanager
def alone(lock: Path, busy: VivantError) -> Iterator[None]:
    """Hold the file `lock`; raise `busy` where another process holds it. A killed process holds nothing."""
    with lock.open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise busy from error
        yield
