"""A few worker processes, started when first needed, killed and replaced when they hang or crash.

Plain pipes and msgpack: nothing is pickled, and the user's own script is not imported again, as
`multiprocessing` would do. `run` blocks and may be called from any number of threads.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import weakref
from functools import cache
from typing import Any

import msgspec

from vivant.core.errors import MediaError, UsageError
from vivant.media.worker_protocol import Task, TaskResult, receive, send

_START_LIMIT = 60.0
_ENDING = "was not decoded: the run was ending"


class LostWorkerError(MediaError):
    """A file hung or crashed its worker, and would do so again."""


class MediaWorkerPool:
    """At most `workers` processes; a task may take `time_limit` seconds once a worker has it."""

    def __init__(self, workers: int = 2, time_limit: float = 120.0) -> None:
        if workers < 1 or not time_limit > 0:
            raise UsageError(f"{workers} media workers with {time_limit:g} s each cannot do anything")
        self.time_limit = time_limit
        # Last in, first out: the second process is started only when the first is busy.
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        for _ in range(workers):
            self._idle.put(None)
        self._alive: set[_Worker] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._at_exit = weakref.finalize(self, _kill_all, self._alive)

    def run(self, task: Task) -> Any:
        """Have a task done and return its result. Raises the error that it met, under the file's name."""
        worker = self._idle.get()
        keep: _Worker | None = None
        try:
            if worker is None:
                worker = self._start(task.name)
            answer = worker.ask(task, self.time_limit)
            if answer is None:
                raise LostWorkerError(f"{task.name} {self._epitaph(worker)}")
            keep = worker
        finally:
            if keep is None and worker is not None:
                self._bury(worker)
            self._idle.put(keep)
        if answer.error:
            raise (UsageError if answer.kind == "usage" else MediaError)(answer.error)
        return answer.result

    def close(self) -> None:
        """Kill all workers; tasks under way end with an error."""
        with self._lock:
            self._closed = True
            alive = list(self._alive)
        for worker in alive:
            self._bury(worker)

    def _start(self, name: str) -> _Worker:
        with self._lock:
            if self._closed:
                raise MediaError(f"{name} {_ENDING}")
            worker = _Worker()
            self._alive.add(worker)
        try:
            worker.greet()
        except UsageError:
            self._bury(worker)
            if self._closed:
                raise MediaError(f"{name} {_ENDING}") from None
            raise
        return worker

    def _bury(self, worker: _Worker) -> None:
        worker.kill()
        with self._lock:
            self._alive.discard(worker)

    def _epitaph(self, worker: _Worker) -> str:
        if self._closed:
            return _ENDING
        if worker.expired:
            return f"could not be decoded within {self.time_limit:g} s; it may be damaged"
        code = worker.kill()
        if code < 0:
            cause = f"signal {signal.Signals(-code).name}"
            if code == -signal.SIGKILL:
                cause += ", perhaps out of memory"
        else:
            cause = f"exit code {code}"
        return f"crashed the decoder ({cause}); it may be damaged"


class _Worker:
    """One process and the pipes to it."""

    def __init__(self) -> None:
        # The same modules must be found as here; `-P` keeps the current folder out.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "vivant.media.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the run, which then ends its workers
        )
        self.expired = False

    def greet(self) -> None:
        """Wait until the process is ready."""
        answer = self._hear(_START_LIMIT)
        if answer is None:
            raise UsageError(f"The media worker does not start; try {sys.executable} -m vivant.media.worker")
        if answer.error:
            raise UsageError(answer.error)

    def ask(self, task: Task, limit: float) -> TaskResult | None:
        """Have a task done; None where the process died over it or was killed for taking too long."""
        assert self._process.stdin is not None
        try:
            send(self._process.stdin, task)
        except (BrokenPipeError, ValueError):
            # Dead, or closed meanwhile.
            return None
        return self._hear(limit)

    def _hear(self, limit: float) -> TaskResult | None:
        assert self._process.stdout is not None
        timer = threading.Timer(limit, self._expire)
        timer.daemon = True
        timer.start()
        try:
            message = receive(self._process.stdout)
        except ValueError:
            # Closed by `kill` while waiting.
            message = None
        finally:
            timer.cancel()
        return None if message is None else msgspec.msgpack.decode(message, type=TaskResult)

    def _expire(self) -> None:
        self.expired = True
        self._process.kill()

    def kill(self) -> int:
        """End the process, if it still runs, and return how it ended."""
        self._process.kill()
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue
        return code


def _kill_all(workers: set[_Worker]) -> None:
    for worker in list(workers):
        worker.kill()
    workers.clear()


@cache
def get_shared_pool() -> MediaWorkerPool:
    """The pool of functions that are called without a MediaLoader; ended when the program ends."""
    return MediaWorkerPool()
