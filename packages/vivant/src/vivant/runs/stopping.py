"""A run that may stop early: which samples are asked together and in which order, kept in the run's `stopping.json`.

Only units that are answered whole, from the first on without a gap, count in a run's figures. A reply that came sooner
than its turn waits: quick replies would otherwise be counted more often than slow ones. Without that file, nothing here
changes anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec
from msgspec import Struct, field

from vivant.benchmarks.sample_units import StoppedOrder, TaskOrder
from vivant.core.files import write_atomic
from vivant.runs.directory import RunDir, RunError


class Stopping(Struct, kw_only=True):
    """What `stopping.json` holds."""

    tasks: dict[str, TaskOrder]
    outcomes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By task, what was found when the run stopped: sentences for the table."""
    enough: int = 0
    """Size of the log when the run's targets were met; 0 where it was interrupted before."""


def read_stopping(directory: RunDir) -> Stopping | None:
    """The order and the targets of a run; None where it was not made to stop early."""
    path = directory.path / "stopping.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Stopping)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise RunError(f"{path} cannot be read: {error}") from error


def write_stopping(directory: RunDir, stopping: Stopping) -> None:
    """Replace the file."""
    path = directory.path / "stopping.json"
    try:
        write_atomic(path, msgspec.json.encode(stopping))
    except OSError as error:
        raise RunError(f"Cannot write {path}: {error.strerror}") from error


def find_stopped_order(stopping: Stopping, task: str, ids: Iterable[str]) -> StoppedOrder | None:
    """What counts of a task; None where all of it does. `ids` are those of the records, repeats included."""
    order = stopping.tasks.get(task)
    if order is None:
        return None
    complete = order.count_complete(Counter(ids))
    return StoppedOrder(order, complete) if complete < len(order.units) else None
