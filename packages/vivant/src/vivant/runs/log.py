"""The append-only log: one JSON line per sample, written whole and at once.

Invariants, in the order in which they are kept:
1. Only one process writes a run's log (an exclusive lock on the file, dropped by the kernel at death).
2. A line is one `write` call; if the disk takes only a part of it, the part is cut off again.
3. A torn last line, which a kill may leave, is cut off on opening, and its sample is asked again.
4. A key stands in the log once. Lines that are to be asked again are removed before the run goes on.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from vivant.core.closing import Closeable
from vivant.core.errors import VivantError
from vivant.core.records import Record
from vivant.core.stored_lines import KeySet

logger = logging.getLogger("vivant")
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Record)


class LogError(VivantError):
    """The log cannot be read or written."""


def read_log(path: Path) -> Iterator[Record]:
    """All records in the order written. A torn last line is passed over.

    Another line that is not a record is set aside with a warning: its sample counts as not asked.
    """
    return (record for record, _ in _read_lines(path) if record is not None)


def iter_places(path: Path) -> Iterator[tuple[int, int, Record]]:
    """Start and length of each record's line, and the record."""
    start = 0
    for record, size in _read_lines(path):
        if record is not None:
            yield start, size, record
        start += size


def _read_lines(path: Path) -> Iterator[tuple[Record | None, int]]:
    """One value per line that is there whole, and the line's length; None for a line that is not a record."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                record = _DECODER.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                logger.warning(
                    "%s, line %d is not a record (%s). It is left out; resume the run to ask its sample again.",
                    path,
                    number,
                    error,
                )
                record = None
            yield record, len(line)


class LogWriter(Closeable):
    """Holds the lock and appends. Open it once per run and process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _open_locked(path)
        self._end = self._cut_torn_line()

    def _cut_torn_line(self) -> int:
        size = os.fstat(self._file).st_size
        end = size
        while end > 0:
            start = max(0, end - 65536)
            block = os.pread(self._file, end - start, start)
            newline = block.rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end != size:
            os.ftruncate(self._file, end)
        return end

    def append(self, record: Record) -> None:
        """Write one record. When this returns, a kill of this process cannot lose it."""
        line = _ENCODER.encode(record) + b"\n"
        try:
            written = os.pwrite(self._file, line, self._end)
        except OSError as error:
            os.ftruncate(self._file, self._end)
            raise LogError(
                f"Cannot write {self.path}: {error.strerror}; the log is whole up to here"
            ) from error
        if written != len(line):
            os.ftruncate(self._file, self._end)
            raise LogError(f"Cannot write {self.path}: the disk is full; the log is whole up to here")
        self._end += written

    def drop(
        self, unwanted: Callable[[Record], bool], on_kept: Callable[[Record], None] | None = None
    ) -> KeySet:
        """Remove records that are to be asked again. A kill leaves the old or the new log.

        Returns the keys that stay; `on_kept` is told of their records one by one, so that none is held.
        """
        keys = KeySet()
        dropped: set[int] = set()
        for number, (record, _) in enumerate(_read_lines(self.path)):
            if record is None or unwanted(record):
                dropped.add(number)
                continue
            keys.add(record.key)
            if on_kept is not None:
                on_kept(record)
        if dropped:
            try:
                self._rewrite_without(dropped)
            except OSError as error:
                raise LogError(f"Cannot write {self.path}: {error.strerror}; the log is as it was") from error
        return keys

    def _rewrite_without(self, dropped: set[int]) -> None:
        temporary = self.path.with_suffix(".rewrite")
        try:
            with self.path.open("rb") as old, temporary.open("wb") as new:
                for number, line in enumerate(old):
                    if number not in dropped:
                        new.write(line)
                new.flush()
                os.fsync(new.fileno())
            replacement = os.open(temporary, os.O_RDWR)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        fcntl.flock(replacement, fcntl.LOCK_EX | fcntl.LOCK_NB)
        temporary.replace(self.path)
        os.close(self._file)
        self._file = replacement
        self._end = os.fstat(replacement).st_size

    def close(self) -> None:
        """Let the lock go. Safe to call twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _open_locked(path: Path) -> int:
    """The file, opened and locked. Whoever rewrites a log puts another file in its place: then once more."""
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise LogError(f"Cannot write {path}: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        except FileNotFoundError:
            pass  # replaced between the two looks at it
        except OSError as error:
            os.close(file)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise LogError(
                    f"Another process is writing {path}; wait for it, or choose another --out"
                ) from error
            raise LogError(f"Cannot lock {path}: {error.strerror}") from error
        os.close(file)
