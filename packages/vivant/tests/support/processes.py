"""Processes that tests start and kill: which are there, and waiting for what they do."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value")


def list_children(parent: int) -> set[int]:
    """Processes that another one started and that still run."""
    children = set()
    for task in Path(f"/proc/{parent}/task").iterdir():
        try:
            children |= {int(pid) for pid in (task / "children").read_text().split()}
        except FileNotFoundError:
            # A thread that has ended meanwhile.
            continue
    return children


def is_alive(process: int) -> bool:
    """Whether a process runs; one that has ended and waits to be fetched does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until(check: Callable[[], Value], seconds: float = 600.0) -> Value:
    """What `check` returns as soon as it is true."""
    end = time.monotonic() + seconds
    while not (value := check()):
        assert time.monotonic() < end, f"it did not happen in {seconds:g} s"
        time.sleep(0.02)
    return value
