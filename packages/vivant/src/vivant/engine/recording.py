"""What a run writes down as it goes: one log line per sample, and what happened in this process."""

from __future__ import annotations

from typing import Protocol

import msgspec
from msgspec import Struct

from vivant.core.generated_images import PictureFolder
from vivant.core.records import Record
from vivant.runs.log import LogWriter


class RecordListener(Protocol):
    """Told of every record as it is logged."""

    def update(self, record: Record) -> None: ...


class RunOutcome(Struct):
    """What happened in this process; the log has the truth."""

    done: int = 0
    errors: int = 0
    cached: int = 0
    highest_in_flight: int = 0
    stopped: bool = False
    """The user, or a budget, stopped the run before every request was sent."""
    reason: str = ""
    """Which budget, in words, or what keeps replies from answers."""
    cut_off: bool = False
    """The first replies were cut off before an answer began."""


class RunRecorder:
    """Logs records and counts them. A picture in a reply becomes a file first."""

    def __init__(
        self, log: LogWriter, progress: RecordListener | None = None, pictures: PictureFolder | None = None
    ) -> None:
        self._log = log
        self._progress = progress
        self._pictures = pictures
        self.outcome = RunOutcome()

    def add(self, record: Record) -> None:
        """Write one record and tell the listener."""
        if self._pictures is not None:
            record = msgspec.structs.replace(record, reply=self._pictures.save(record.reply))
        self._log.append(record)
        self.outcome.done += 1
        self.outcome.errors += record.reply.status == "error"
        self.outcome.cached += record.cached
        if self._progress is not None:
            self._progress.update(record)
