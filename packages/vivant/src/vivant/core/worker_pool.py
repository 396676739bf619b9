"""One function over many tasks in spawned processes, which are replaced when they die.

    for task, result in ProcessPool(workers, function).run(tasks): …      # as they complete
    results = ProcessPool(workers, function).map(tasks, done)             # in the order of the tasks

Workers are spawned, not forked: threads of Arrow or PyAV do not survive a fork. They leave ^C to the parent
and end within a second of its death. With one worker everything happens in this process. An exception in
the function ends the run; a task over which workers died `attempts` times has the result None.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, Generic, TypeVar

from vivant.core.errors import VivantError
from vivant.core.optional_packages import require_package

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")
_RAY_AHEAD = 2
"""Tasks under way for each core of the cluster."""
_RAY_RETRIES = 3


class ProcessPool(Generic[_Task, _Result]):
    """A function over many tasks in processes; each worker has at most two tasks under way.

    Args:
        workers: The number of processes; with fewer than two, tasks run in this process.
        function: A module-level function (or a `partial` of one): workers import it by name.
        attempts: The number of workers that may die over one task before it is given up.
    """

    def __init__(self, workers: int, function: Callable[[_Task], _Result], *, attempts: int = 3) -> None:
        self._workers = workers
        self._function = function
        self._attempts = attempts

    def run(self, tasks: Sequence[_Task]) -> Generator[tuple[_Task, _Result | None], None, None]:
        """Yield each task with its result as it completes; None where its workers died."""
        for index, result in self._run_indexed(tasks):
            yield tasks[index], result

    def map(self, tasks: Sequence[_Task], done: Callable[[_Task], None] = lambda _: None) -> list[_Result]:
        """Return the results in the order of the tasks; `done` is called with each task that has ended."""
        results: dict[int, _Result] = {}
        for index, result in self._run_indexed(tasks):
            if result is None:
                raise VivantError(f"{self._attempts} worker processes died over one task; is memory short?")
            results[index] = result
            done(tasks[index])
        return [results[index] for index in range(len(tasks))]

    def _run_indexed(self, tasks: Sequence[_Task]) -> Generator[tuple[int, _Result | None], None, None]:
        if self._workers < 2:
            for index, task in enumerate(tasks):
                yield index, self._function(task)
            return
        waiting = deque((index, 0) for index in range(len(tasks)))
        while waiting:
            yield from self._run_until_death(tasks, waiting)

    def _run_until_death(
        self, tasks: Sequence[_Task], waiting: deque[tuple[int, int]]
    ) -> Generator[tuple[int, _Result | None], None, None]:
        """Work until nothing remains or a worker dies; the tasks it may have died over wait again."""
        # After a death one task at a time, so that only the task that kills is blamed.
        alone = any(deaths for _, deaths in waiting)
        workers = 1 if alone else min(self._workers, len(waiting))
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _prepare_worker, (os.getpid(),))
        under_way: dict[Future[_Result], tuple[int, int]] = {}
        try:
            while waiting or under_way:
                while waiting and len(under_way) < (1 if alone else 2 * workers):
                    # Taken off only then: a pool whose worker has died meanwhile refuses it.
                    under_way[pool.submit(self._function, tasks[waiting[0][0]])] = waiting[0]
                    waiting.popleft()
                ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in ended:
                    index, deaths = under_way[future]
                    result = future.result()
                    del under_way[future]
                    yield index, result
                if alone and not any(deaths for _, deaths in waiting):
                    return
        except BrokenProcessPool:
            for index, deaths in reversed(under_way.values()):
                if deaths + 1 >= self._attempts:
                    yield index, None
                else:
                    waiting.appendleft((index, deaths + 1))
        finally:
            _stop(pool)


class RayPool(Generic[_Task, _Result]):
    """The same on a Ray cluster: one task for each core, and a task whose node is lost begins anew.

    Tasks and results travel; files that tasks name must be where every node finds them under the same path.

    Args:
        address: The cluster's address (host:port).
        function: A module-level function, or a `partial` of one. Nodes need Vivant installed.
    """

    def __init__(self, address: str, function: Callable[[_Task], _Result]) -> None:
        self._address = address
        self._function = function

    def map(self, tasks: Sequence[_Task], done: Callable[[_Task], None] = lambda _: None) -> list[_Result]:
        """Return the results in the order of the tasks; `done` is called with each task that has ended."""
        results: dict[int, _Result] = {}
        for index, result in self._run_indexed(tasks):
            results[index] = result
            done(tasks[index])
        return [results[index] for index in range(len(tasks))]

    def run(self, tasks: Sequence[_Task]) -> Generator[tuple[_Task, _Result], None, None]:
        """Yield each task with its result as it completes."""
        for index, result in self._run_indexed(tasks):
            yield tasks[index], result

    def _run_indexed(self, tasks: Sequence[_Task]) -> Generator[tuple[int, _Result], None, None]:
        if not tasks:
            return
        require_package("ray", "ray", "--ray")
        import ray

        from vivant.core.ray_connection import connect

        mine = connect(self._address)
        try:
            remote: Any = ray.remote(max_retries=_RAY_RETRIES)(_call)
            under_way: dict[Any, int] = {}
            waiting = deque(range(len(tasks)))
            limit = _RAY_AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
            while waiting or under_way:
                while waiting and len(under_way) < limit:
                    index = waiting.popleft()
                    under_way[remote.remote(self._function, tasks[index])] = index
                ended, _ = ray.wait(list(under_way))
                for reference in ended:
                    index = under_way.pop(reference)
                    yield index, self._take(reference)
        finally:
            if mine:
                ray.shutdown()

    @staticmethod
    def _take(reference: Any) -> _Result:
        import ray

        try:
            result: _Result = ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except ray.exceptions.RayError as error:
            line = " ".join(str(error).split())[:200]
            raise VivantError(f"Ray gave a task up after {_RAY_RETRIES} retries: {line}") from error
        return result


def _call(function: Callable[[_Task], _Result], task: _Task) -> _Result:
    return function(task)


def make_pool(
    workers: int, function: Callable[[_Task], _Result], ray: str = ""
) -> ProcessPool[_Task, _Result] | RayPool[_Task, _Result]:
    """Processes of this machine, or with `ray` the cluster of that address."""
    return RayPool(ray, function) if ray else ProcessPool(workers, function)


def _stop(pool: ProcessPoolExecutor) -> None:
    """Stop at once: what was under way would not be used."""
    workers = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join(5)


def _prepare_worker(parent: int) -> None:
    """In a worker: leave ^C to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
