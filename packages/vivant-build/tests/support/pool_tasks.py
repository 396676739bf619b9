"""What tests of process pools let workers do: a module that each of them imports in no time."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def square(number: int) -> int:
    """The first takes longest."""
    time.sleep(0.05 if number == 0 else 0.0)
    return number * number


def kill_worker(task: tuple[int, str]) -> int:
    """Kill the worker over one task always, over another the first time."""
    number, folder = task
    met = Path(folder) / str(number)
    if number == 3 or (number == 5 and not met.exists()):
        met.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def kill_worker_later(task: tuple[int, str]) -> int:
    """Kill the worker of the second task once, after the first result was received."""
    number, folder = task
    met = Path(folder) / "met"
    if number == 1 and not met.exists():
        while not (Path(folder) / "received").exists():
            time.sleep(0.02)
        met.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number
