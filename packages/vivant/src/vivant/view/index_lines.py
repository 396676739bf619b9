"""Lines of a run's files as an index reads them: the fields it needs, where each line lies, no more."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

_T = TypeVar("_T")
_BATCH_BYTES = 1 << 16
"""Lines that are read at once: with what is made of them, they fit the processor's cache."""


class PartLine(Struct, gc=False):
    """Of a question's part: its text, or the file it names."""

    text: str = ""
    path: str = ""


class OptionLine(Struct, gc=False):
    """Of an option: its name."""

    name: str = ""


class SampleLine(Struct, gc=False):
    """A line of samples.jsonl."""

    id: str
    task: str
    question: tuple[PartLine, ...] = ()
    options: tuple[OptionLine, ...] = ()
    key: int | None = None
    facets: msgspec.Raw = msgspec.Raw()
    """As written: most lines have the facets of another."""
    cluster: str = ""


class ReplyLine(Struct, gc=False):
    """What the index keeps of a record's reply; other fields are not decoded."""

    status: str = "ok"
    text: str = ""
    error: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None


class MediaLine(Struct, gc=False):
    """Of a file that a model was shown."""

    kind: str = ""
    times: tuple[float, ...] = ()
    fps: float | None = None


class RecordLine(Struct, gc=False):
    """A line of log.jsonl."""

    key: str
    task: str
    id: str
    reply: ReplyLine
    repeat: int = 0
    options: tuple[OptionLine, ...] = ()
    order: tuple[int, ...] = ()
    media: tuple[MediaLine, ...] = ()
    started: float = 0.0
    seconds: float = 0.0
    cached: bool = False
    extra: msgspec.Raw = msgspec.Raw()

    @property
    def frames(self) -> int:
        """How many pictures the model was shown."""
        return sum(1 if use.kind == "image" else len(use.times) for use in self.media)

    @property
    def video_seconds(self) -> float | None:
        """The length of its videos, as far as the frames shown tell."""
        lengths = [
            len(use.times) / use.fps if use.fps else max(use.times)
            for use in self.media
            if use.kind == "video" and use.times
        ]
        return sum(lengths) if lengths else None


class ScoreLine(Struct, gc=False):
    """A line of scores/<protocol>.jsonl."""

    key: str
    status: str = "scored"
    value: float | None = None
    answer: str = ""
    rule: str = ""


class LineBatch(Struct, Generic[_T], gc=False):
    """Whole lines that follow each other in a file, with what they hold; None where a line holds no such value."""

    number: int
    """Of the first line, from 1."""
    starts: list[int]
    lines: list[bytes]
    values: Sequence[_T | None]

    @property
    def end(self) -> int:
        """Where the next line begins."""
        return self.starts[-1] + len(self.lines[-1])

    def list_bad(self) -> list[int]:
        """Numbers of the lines without a value."""
        return [number for number, value in enumerate(self.values, self.number) if value is None]


def read_batches(path: Path, kind: type[_T], start: int = 0) -> Iterator[LineBatch[_T]]:
    """The lines from `start` on, some at a time. A torn last line, as of a run under way, is passed over."""
    if not path.exists():
        return
    decode = msgspec.json.Decoder(kind).decode
    number = 1
    with path.open("rb", buffering=1 << 20) as file:
        file.seek(start)
        while lines := file.readlines(_BATCH_BYTES):
            is_torn = not lines[-1].endswith(b"\n")
            if is_torn and not (lines := lines[:-1]):
                return
            try:
                values: list[_T | None] = list(map(decode, lines))
            except (msgspec.MsgspecError, UnicodeDecodeError):
                values = [_decode_or_none(decode, line) for line in lines]
            starts = list(accumulate(map(len, lines), initial=start))
            start = starts.pop()
            yield LineBatch(number, starts, lines, values)
            if is_torn:  # its other half may be there by now
                return
            number += len(lines)


def _decode_or_none(decode: Callable[[bytes], _T], line: bytes) -> _T | None:
    try:
        return decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def stamp_file(path: Path) -> str:
    """What changes whenever a file does."""
    try:
        status = path.stat()
    except OSError:
        return "absent"
    return f"{status.st_ino}-{status.st_size}-{status.st_mtime_ns}"


def digest_tail(path: Path, end: int) -> str:
    """What stands just before an offset: tells a log that grew from one that was edited."""
    if not path.exists() or end == 0:
        return ""
    with path.open("rb") as file:
        file.seek(max(0, end - 256))
        return hashlib.sha256(file.read(min(256, end))).hexdigest()[:16]


def list_numbers(numbers: list[int]) -> str:
    """The first of them, and how many more there are."""
    first = ", ".join(map(str, numbers[:5]))
    return first + (f" and {len(numbers) - 5:,} more" if len(numbers) > 5 else "")
