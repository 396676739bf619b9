"""Files and folders: replaced at once or not at all, JSON lines, one writer at a time.

Invariants: a reader sees the old content or the new one, never a part; a temporary file is removed when writing
fails; a lock is free as soon as its process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from vivant.core.errors import DataError, VivantError

_T = TypeVar("_T")


@contextmanager
def atomic_file(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path` that replaces it when the block ends without an error.

    Args:
        path: the file to write; its folder must exist.
        durable: wait until the content is on the disk before the file is replaced.
    """
    temporary = _temporary_path(path, ".tmp")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_atomic(path: Path, data: bytes | str, *, durable: bool = True) -> None:
    """Replace a file's content at once; text is written as UTF-8."""
    with atomic_file(path, durable=durable) as file:
        file.write(data.encode() if isinstance(data, str) else data)


@contextmanager
def atomic_path(path: Path, *, keep_suffix: bool = True) -> Iterator[Path]:
    """Give the path of a temporary file or folder beside `path`, for a library that writes by name.

    What is there when the block ends replaces `path`; a folder replaces only a folder that does not exist or is
    empty. Nothing is left when the block fails.

    Args:
        path: the file or folder to write.
        keep_suffix: end the temporary name like `path`, for libraries that choose the format by it. Without it,
            what a killed process leaves is not taken for a finished file by its suffix.
    """
    temporary = _temporary_path(path, f".tmp{path.suffix}" if keep_suffix else ".tmp")
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        remove(temporary)
        raise


def _temporary_path(path: Path, ending: str) -> Path:
    """A fresh name beside `path`: several processes and threads may write the same file."""
    return path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}{ending}")


def is_temporary(path: Path) -> bool:
    """Whether the name is that of a temporary file, which a killed process leaves behind."""
    return path.name.startswith(".") and (".tmp" in path.suffixes or path.suffix == ".part")


def remove(path: Path) -> None:
    """Remove a file or a whole folder; it need not exist."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_jsonl(path: Path, values: Iterable[Any]) -> int:
    """Replace a file with one JSON line per value, written as they come; returns how many there are."""
    encoder = msgspec.json.Encoder()
    count = 0
    with atomic_file(path) as file:
        for count, value in enumerate(values, 1):  # noqa: B007
            file.write(encoder.encode(value) + b"\n")
    return count


def iter_jsonl(path: Path, kind: type[_T], error: type[VivantError] = DataError) -> Iterator[_T]:
    """Read one value per line, as they are asked for; `error` names file and line of what cannot be read."""
    decoder = msgspec.json.Decoder(kind)
    try:
        file = path.open("rb")
    except OSError as problem:
        raise error(f"Cannot read {path}: {problem.strerror}") from problem
    with file:
        for number, line in enumerate(file, 1):
            try:
                yield decoder.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
                raise error(f"{path}, line {number}: {problem}") from problem


def read_jsonl(path: Path, kind: type[_T], error: type[VivantError] = DataError) -> list[_T]:
    """Read one value per line; `error` names file and line of what cannot be read."""
    return list(iter_jsonl(path, kind, error))


@contextmanager
def lock_file(path: Path, busy: VivantError) -> Iterator[None]:
    """Hold a lock; raise `busy` where another process holds it."""
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise busy from problem
        yield
