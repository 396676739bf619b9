"""Processes for the parts of a step. They begin afresh (Arrow's threads do not survive a fork) and end with us."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")
_LOOK = 1.0


@contextlib.contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """A pool that drops what has not begun when something goes wrong, in place of doing it first."""
    pool = ProcessPoolExecutor(
        count, mp_context=get_context("spawn"), initializer=_watch, initargs=(os.getpid(),)
    )
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _watch(parent: int) -> None:
    """A worker whose parent was killed would go on, and write into a folder that a new run has begun."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


@contextlib.contextmanager
def crew(count: int) -> Iterator[ProcessPoolExecutor | None]:
    """Processes for `run_all`; none where one is enough, for that is this one."""
    if count < 2:
        yield None
        return
    with processes(count) as pool:
        yield pool


def run_all(
    work: Callable[[_T], _R], todo: Sequence[_T], pool: ProcessPoolExecutor | None, done: Callable[[_T], None]
) -> list[_R]:
    """The results in the order of what was to do; `done` hears of each as it ends."""
    if pool is None:
        results = []
        for one in todo:
            results.append(work(one))
            done(one)
        return results
    futures = {pool.submit(work, one): one for one in todo}
    for future in as_completed(futures):
        future.result()
        done(futures[future])
    return [future.result() for future in futures]
