"""Progress of a run: a live bar on a terminal, one changing line in a notebook, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

from vivant.core.records import Record


class _Counts:
    """Samples done, errors, cached replies, and the rate of those really asked."""

    def __init__(self, total: int, done: int) -> None:
        self.total = total
        self.done = done
        self.errors = 0
        self.cached = 0
        self.asked = 0
        self.began = time.monotonic()

    def add(self, record: Record) -> None:
        self.done += 1
        self.errors += record.reply.status not in ("ok", "truncated")
        self.cached += record.cached
        self.asked += not record.cached

    @property
    def rate(self) -> float:
        return self.asked / max(1e-9, time.monotonic() - self.began)

    @property
    def left(self) -> str:
        if not self.asked:
            return "–"
        seconds = int((self.total - self.done) / self.rate)
        hours, rest = divmod(seconds, 3600)
        return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


class LineProgress:
    """One line at the start, every `every` seconds, and at the end."""

    def __init__(self, total: int, done: int, out: TextIO, every: float = 10.0) -> None:
        self._counts = _Counts(total, done)
        self._out = out
        self._every = every
        self._next = time.monotonic() + every

    def update(self, record: Record) -> None:
        """Count a record; print where it is time."""
        self._counts.add(record)
        if time.monotonic() >= self._next:
            self._print()

    def _print(self) -> None:
        self._next = time.monotonic() + self._every
        c = self._counts
        print(
            f"{c.done}/{c.total} samples, {c.rate:.1f}/s, {c.errors} errors, {c.cached} cached,"
            f" {c.left} left",
            file=self._out,
            flush=True,
        )

    def __enter__(self) -> LineProgress:
        return self

    def __exit__(self, *exception: object) -> None:
        self._print()


class BarProgress:
    """A Rich bar with rate, errors and time left."""

    def __init__(self, total: int, done: int, console: Any) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._counts = _Counts(total, done)
        self._bar = RichProgress(
            TextColumn("[bold]running"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]:.1f}/s"),
            TextColumn("[red]{task.fields[errors]} errors"),
            TextColumn("{task.fields[cached]} cached"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]} left"),
            console=console,
        )
        self._task = self._bar.add_task(
            "", total=total, completed=done, rate=0.0, errors=0, cached=0, left="–"
        )

    def update(self, record: Record) -> None:
        """Count a record."""
        c = self._counts
        c.add(record)
        self._bar.update(
            self._task, completed=c.done, rate=c.rate, errors=c.errors, cached=c.cached, left=c.left
        )

    def __enter__(self) -> BarProgress:
        self._bar.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()


def is_notebook() -> bool:
    """Whether this is a kernel of Jupyter, Colab or VS Code, whose output can be changed after it was shown."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


class NotebookProgress:
    """One line in a cell's output, which changes at most every `every` seconds and stays with the final figures."""

    def __init__(self, total: int, done: int, every: float = 0.25) -> None:
        self._counts = _Counts(total, done)
        self._every = every
        self._next = 0.0
        self._handle: Any = None

    def update(self, record: Record) -> None:
        """Count a record; show it where it is time."""
        self._counts.add(record)
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._every
            self._show(f"{self._counts.left} left")

    def _show(self, end: str) -> None:
        c = self._counts
        text = f"{c.done}/{c.total} samples, {c.rate:.1f}/s, {c.errors} errors, {c.cached} cached, {end}"
        bar = f'<progress value="{c.done}" max="{c.total}" style="width:16em"></progress>'
        self._handle.update({"text/plain": text, "text/html": f"{bar} {text}"}, raw=True)

    def __enter__(self) -> NotebookProgress:
        from IPython.display import display

        self._handle = display({"text/plain": "starting …"}, raw=True, display_id=True)
        return self

    def __exit__(self, *exception: object) -> None:
        seconds = time.monotonic() - self._counts.began
        self._show(f"{seconds:.1f} s")
