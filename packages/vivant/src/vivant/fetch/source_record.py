"""What was fetched into a folder, written beside it: the commit, and each file with its checksum.

A file whose size and time of change are still those in the note was checked before and is not read again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct, field

from vivant.core.errors import DataError
from vivant.core.files import write_atomic

NAME = ".vivant-source.json"
_CHUNK = 1 << 20


class HubFile(Struct, frozen=True, kw_only=True):
    """A file as the hub describes it."""

    repo: str
    name: str
    """In the repository."""
    path: str
    """Below the folder that everything goes to."""
    size: int
    sha256: str = ""
    """Of large files."""
    blob: str = ""
    """Git's own checksum, of the others."""

    def fits(self, file: Path) -> bool:
        """Whether a file's content is this one's. Reads all of it."""
        if not file.is_file() or file.stat().st_size != self.size:
            return False
        hashed = hashlib.sha256() if self.sha256 else hashlib.sha1(b"blob %d\0" % self.size)
        with file.open("rb") as content:
            while chunk := content.read(_CHUNK):
                hashed.update(chunk)
        return hashed.hexdigest() == (self.sha256 or self.blob)


class CheckedFile(Struct, frozen=True):
    """A file that was found whole."""

    size: int
    mtime_ns: int
    checksum: str


class SourceRecord(Struct, kw_only=True):
    """Beside the data."""

    source: str
    revisions: dict[str, str] = field(default_factory=dict)
    """Commit of each repository."""
    licences: dict[str, str] = field(default_factory=dict)
    files: dict[str, CheckedFile] = field(default_factory=dict)

    def knows(self, hub_file: HubFile, file: Path) -> bool:
        """Whether the file was checked before and has not changed since."""
        checked = self.files.get(hub_file.path)
        if checked is None or not file.is_file():
            return False
        status = file.stat()
        return checked == CheckedFile(status.st_size, status.st_mtime_ns, hub_file.sha256 or hub_file.blob)

    def learn(self, hub_file: HubFile, file: Path) -> None:
        """Remember that the file is whole."""
        status = file.stat()
        self.files[hub_file.path] = CheckedFile(
            status.st_size, status.st_mtime_ns, hub_file.sha256 or hub_file.blob
        )


def read_source_record(folder: Path, source: str) -> SourceRecord:
    """The note in a folder, or an empty one."""
    file = folder / NAME
    if not file.is_file():
        return SourceRecord(source=source)
    try:
        return msgspec.json.decode(file.read_bytes(), type=SourceRecord)
    except (msgspec.MsgspecError, OSError) as error:
        raise DataError(
            f"{file} cannot be read ({error}); remove it to have all files checked anew"
        ) from error


def write_source_record(folder: Path, note: SourceRecord) -> None:
    """Keep it."""
    write_atomic(folder / NAME, msgspec.json.format(msgspec.json.encode(note), indent=1))
