"""Files that were split for download: the order of the pieces, what is wrong with them, one stream of all."""

from __future__ import annotations

import hashlib
import io
import re
import string
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

from msgspec import Struct

from vivant.core.file_types import detect_impostor


class FilePart(Struct, frozen=True):
    """One file of an archive, as it was read."""

    name: str
    size: int
    sha256: str
    """Empty where reading stopped before the end of the piece."""


def find_parts(folder: Path, stem: str) -> list[Path]:
    """Pieces `<stem>aa`, `<stem>ab` … (or `<stem>00` …) in the order in which they join."""
    pattern = re.compile(re.escape(stem) + r"(?:[a-z]+|[0-9]+)")
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_file() and pattern.fullmatch(path.name))


def check_parts(pieces: Sequence[Path], stem: str) -> tuple[list[Path], list[str]]:
    """The pieces that may be joined from the start, and a line for every fault that ends them.

    `split` makes all pieces but the last equally long, so a shorter one in between has been cut.
    """
    problems: list[str] = []
    sound: list[Path] = []
    sizes = [path.stat().st_size for path in pieces]
    expected = max(sizes, default=0)
    for path, expected_suffix in zip(pieces, _suffixes(pieces[0].name.removeprefix(stem)), strict=False):
        suffix = path.name.removeprefix(stem)
        size = path.stat().st_size
        if suffix != expected_suffix:
            gap = list(_between(expected_suffix, suffix))
            missing = ", ".join(stem + name for name in gap[:6]) + (" …" if len(gap) > 6 else "")
            problems.append(
                f"{path.parent}: {len(gap)} piece(s) missing before {path.name}: {missing}; fetch them"
            )
            break
        if disguise := detect_impostor(read_head(path)):
            problems.append(f"{path}: {disguise}")
            break
        sound.append(path)
        if path != pieces[-1] and size < expected:
            problems.append(f"{path}: truncated, {size:,} of {expected:,} bytes; fetch it again")
            break
    return sound, problems


def _suffixes(example: str) -> Iterator[str]:
    """aa, ab … or 00, 01 …: the sequence that a suffix of this kind belongs to."""
    alphabet = string.digits if example.isdigit() else string.ascii_lowercase
    for number in range(len(alphabet) ** len(example)):
        digits = ""
        for _ in example:
            number, digit = divmod(number, len(alphabet))
            digits = alphabet[digit] + digits
        yield digits


def _between(first: str, last: str) -> Iterator[str]:
    """Suffixes from `first` up to, and without, `last`."""
    return (suffix for suffix in _suffixes(first) if first <= suffix < last)


def read_head(path: Path) -> bytes:
    """The first bytes of a file, enough to tell what it is."""
    with path.open("rb") as file:
        return file.read(512)


class JoinedFile(io.RawIOBase):
    """Several files as one stream, each hashed as it passes."""

    def __init__(self, paths: Sequence[Path], on_read: Callable[[int], None]) -> None:
        super().__init__()
        self._waiting = list(paths)
        self._file: IO[bytes] | None = None
        self._path = Path()
        self._hash = hashlib.sha256()
        self._on_read = on_read
        self.pieces: list[FilePart] = []

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        while True:
            if self._file is None:
                if not self._waiting:
                    return 0
                self._path = self._waiting.pop(0)
                self._file = self._path.open("rb")
                self._hash = hashlib.sha256()
            count = cast(io.BufferedReader, self._file).readinto(view)
            if count:
                self._hash.update(view[:count])
                self._on_read(count)
                return count
            self.pieces.append(FilePart(self._path.name, self._file.tell(), self._hash.hexdigest()))
            self._file.close()
            self._file = None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        super().close()
