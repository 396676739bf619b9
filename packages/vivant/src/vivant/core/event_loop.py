"""Coroutines from ordinary code, wherever it runs: a script, a thread, a notebook whose own event loop is running.

Where no event loop runs, this is `asyncio.run`. Under a running loop (Jupyter, an asynchronous application) the
coroutine gets a thread and a loop of its own. An interruption of the caller, by Ctrl-C or by cancelling an awaiting
task, reaches the coroutine through `on_interrupt`, so that it can finish what is under way.
"""

from __future__ import annotations

import asyncio
import contextvars
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _Interrupts:
    """Carries interruptions from the thread that waits to the loop that works."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._handler: Callable[[], object] | None = None
        self.missed = 0
        """Those that came while nothing listened."""

    def listen(self, handler: Callable[[], object] | None) -> None:
        with self._lock:
            self._loop = asyncio.get_running_loop() if handler is not None else None
            self._handler = handler
            missed, self.missed = (self.missed, 0) if handler is not None else (0, self.missed)
        for _ in range(missed):
            assert handler is not None
            handler()

    def send(self) -> None:
        """Call the handler in its loop; where nothing listens yet, as soon as something does."""
        with self._lock:
            if self._loop is not None and self._handler is not None:
                self._loop.call_soon_threadsafe(self._handler)
            else:
                self.missed += 1


_current: contextvars.ContextVar[_Interrupts | None] = contextvars.ContextVar(
    "vivant_interrupts", default=None
)


def run_coroutine(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end and return its result, also where an event loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    interrupts, future, thread = _start(asyncio.run, coroutine)
    with _relay_signal(interrupts):
        wait([future])
    thread.join()
    if interrupts.missed:
        raise KeyboardInterrupt
    return future.result()


@contextmanager
def _relay_signal(interrupts: _Interrupts) -> Iterator[None]:
    """Send each Ctrl-C on, in place of the handler of a loop that stands still while its thread waits here."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: interrupts.send())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.default_int_handler)


async def run_in_thread(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Await a function that blocks. Cancelling the task interrupts the function and waits until it has ended."""
    interrupts, future, thread = _start(function, *args, **kwargs)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    future.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await ended.wait()
        except asyncio.CancelledError as error:
            cancelled = error
            for _ in range(2):  # as Ctrl-C twice: who cancels does not wait for what is under way
                interrupts.send()
    thread.join()
    if cancelled is not None:
        raise cancelled
    return future.result()


def _start(
    function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs
) -> tuple[_Interrupts, Future[_T], threading.Thread]:
    """Call a function in a thread of its own, in a copy of this context: a notebook's output stays with its cell."""
    interrupts, future = _Interrupts(), Future[_T]()
    context = contextvars.copy_context()
    context.run(_current.set, interrupts)

    def work() -> None:
        try:
            result = context.run(function, *args, **kwargs)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    thread = threading.Thread(target=work, name="vivant", daemon=True)
    thread.start()
    return interrupts, future, thread


@contextmanager
def on_interrupt(handler: Callable[[], object]) -> Iterator[bool]:
    """Call the handler, in the running loop, when whoever waits for this thread is interrupted.

    Gives False where nobody waits: then the signals of the process are the caller's to handle.
    """
    interrupts = _current.get()
    if interrupts is None:
        yield False
        return
    interrupts.listen(handler)
    try:
        yield True
    finally:
        interrupts.listen(None)
