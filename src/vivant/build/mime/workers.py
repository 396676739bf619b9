"""Jobs on this machine: in this process, or in several that are replaced when they die."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import Generic, TypeVar

from vivant.build.mime.jobs import Failed, Job, do_job
from vivant.build.mime.render_index import Made
from vivant.build.mime.rendering import renderer_of

_DEATHS = 3
"""So many workers lost over one job make it a failure."""

Task = TypeVar("Task")
Result = TypeVar("Result")


class LocalExecutor:
    """Jobs in this process (one worker) or in worker processes."""

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers

    def run(self, jobs: Sequence[Job], out: Path) -> Generator[Made | Failed, None, None]:
        """See `Executor.run`."""
        if self._workers <= 1:
            renderer = renderer_of(jobs[0].spec) if jobs else None
            for job in jobs:
                yield do_job(job, out, renderer)
            return
        pool = Pool[tuple[Job, Path], Made | Failed](self._workers, _work)
        with closing(pool.run([(job, out) for job in jobs])) as results:
            for (job, _), result in results:
                lost = (
                    f"{job.shot.file}: {_DEATHS} workers died over it (is there memory enough for --workers?)"
                )
                yield result if result is not None else Failed(file=job.shot.file, error=lost)


def _work(task: tuple[Job, Path]) -> Made | Failed:
    return do_job(*task)


class Pool(Generic[Task, Result]):
    """A function over many tasks in processes, two tasks a worker under way, results as they come."""

    def __init__(self, workers: int, function: Callable[[Task], Result]) -> None:
        self._workers = workers
        self._function = function

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[Task, Result | None], None, None]:
        """Each task with its result, or with None where `_DEATHS` workers were lost over it."""
        waiting = deque((task, 0) for task in tasks)
        while waiting:
            yield from self._round(waiting)

    def _round(self, waiting: deque[tuple[Task, int]]) -> Generator[tuple[Task, Result | None], None, None]:
        """Work until nothing is left, or until a worker dies; what it may have died over waits again."""
        # After a death one task at a time: so only the one that kills is blamed.
        alone = any(deaths for _, deaths in waiting)
        workers = 1 if alone else min(self._workers, len(waiting))
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _prepare, (os.getpid(),))
        under_way: dict[Future[Result], tuple[Task, int]] = {}
        try:
            while waiting or under_way:
                while waiting and len(under_way) < (1 if alone else 2 * workers):
                    task, deaths = waiting.popleft()
                    under_way[pool.submit(self._function, task)] = (task, deaths)
                ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in ended:
                    task, deaths = under_way[future]
                    result = future.result()
                    del under_way[future]
                    yield task, result
                if alone and not any(deaths for _, deaths in waiting):
                    return
        except BrokenProcessPool:
            for task, deaths in reversed(under_way.values()):
                if deaths + 1 >= _DEATHS:
                    yield task, None
                else:
                    waiting.appendleft((task, deaths + 1))
        finally:
            _end(pool)


def _end(pool: ProcessPoolExecutor) -> None:
    """Stop at once: what was under way would not be used."""
    workers = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join(5)


def _prepare(parent: int) -> None:
    """In a worker: leave ^C to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
