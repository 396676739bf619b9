"""What is done in a folder of renders: `.renders.jsonl`, one line a video.

On resuming, a file of the size and time that its line states counts at once, one of another time (copied, say) by
its hash; everything else is rendered anew.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.core.errors import DataError
from vivant.core.files import write_atomic

INDEX_FILE = ".renders.jsonl"


class RenderedVideo(Struct, frozen=True, kw_only=True, tag="video"):
    """A video that is whole; a line of the index."""

    file: str
    fingerprint: str
    frames: int
    bytes: int
    sha256: str
    least: float
    """Smallest share of a frame that the body covers, known from alpha."""
    seconds: float
    """How long it took."""
    mtime_ns: int = 0


class RenderIndexHead(Struct, frozen=True, tag="head"):
    """First line of the index."""

    root: str


class RenderIndex:
    """What is done in a folder, appended line by line; a torn last line is dropped."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._file = out / INDEX_FILE
        self.root: Path | None = None
        self._made: dict[str, RenderedVideo] = {}
        try:
            lines = self._file.read_bytes().splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            raise DataError(f"{self._file} cannot be read: {error.strerror}") from None
        for line in lines:
            try:
                entry = msgspec.json.decode(line, type=RenderedVideo | RenderIndexHead)
            except msgspec.DecodeError:
                # Torn when its writer was killed: that video is looked at as if it had no line.
                continue
            if isinstance(entry, RenderIndexHead):
                self.root = Path(entry.root)
            else:
                self._made[entry.file] = entry

    def find(self, file: str) -> RenderedVideo | None:
        """The line of a video, whether or not the video is still there."""
        return self._made.get(file)

    def holds(self, name: str, fingerprint: str) -> bool:
        """Whether this very video is there and whole: by size and time, or else by its hash."""
        entry = self._made.get(name)
        if entry is None or entry.fingerprint != fingerprint:
            return False
        file = self._out / entry.file
        try:
            facts = file.stat()
            if facts.st_size != entry.bytes:
                return False
            if facts.st_mtime_ns == entry.mtime_ns:
                return True
            return hashlib.sha256(file.read_bytes()).hexdigest() == entry.sha256
        except OSError:
            return False

    def differs(self, name: str) -> bool:
        """Whether the file is another one than was rendered, by its hash; no, where nothing was noted of it."""
        entry = self._made.get(name)
        if entry is None:
            return False
        try:
            with (self._out / name).open("rb") as content:
                return hashlib.file_digest(content, "sha256").hexdigest() != entry.sha256
        except OSError:
            return True

    def begin(self, root: Path) -> None:
        """Write the index anew with what it holds: one line a video, whole."""
        lines = [
            msgspec.json.encode(RenderIndexHead(str(root))),
            *map(msgspec.json.encode, self._made.values()),
        ]
        write_atomic(self._file, b"".join(line + b"\n" for line in lines))

    def add(self, entry: RenderedVideo) -> None:
        """Append a line and hand it to the system at once."""
        self._made[entry.file] = entry
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(entry) + b"\n")
