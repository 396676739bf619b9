"""Taking data that are there already: from a folder, or from an object store through fsspec."""

from __future__ import annotations

import filecmp
import hashlib
import logging
import os
import re
import shutil
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from vivant.core.disk_space import check_free_space, format_size
from vivant.core.errors import DataError, UsageError
from vivant.core.files import atomic_path

logger = logging.getLogger("vivant")


def is_url(origin: str) -> bool:
    """Whether a place is named the way fsspec does: `s3://bucket/folder`."""
    return "://" in origin


def copy_data(origin: str, target: Path, *, link: bool = False, dry_run: bool = False) -> None:
    """Bring everything in `origin` to `target`; what is there unchanged stays. Never asks the hub."""
    if is_url(origin):
        if link:
            raise UsageError(f"--link: {origin} is not a folder on this machine")
        _copy_missing(_remote_files(origin, target), target, dry_run)
        return
    folder = Path(origin).expanduser()
    if not folder.is_dir():
        raise DataError(f"--from {origin}: no such folder")
    if folder.resolve() == target.resolve():
        logger.info("%s is that folder already.", target)
        return
    if link:
        logger.info("%s → %s", target, folder.resolve())
        if not dry_run:
            _link(folder, target)
        return
    _copy_missing(_local_files(folder, target), target, dry_run)


class _File(Struct, frozen=True):
    name: str
    goal: Path
    size: int
    copy: Callable[[Path], object]
    original: Path | None = None
    """None in an object store."""
    changed_ns: int | None = None
    """When it was last written, where an object store says so. The copy bears that time."""
    md5: str = ""
    """Of its content, where an object store says so."""

    def is_there(self) -> bool:
        if not self.goal.is_file() or (status := self.goal.stat()).st_size != self.size:
            return False
        if self.original is not None:
            # A copy by other means has a time of its own.
            is_same_time = self.original.stat().st_mtime_ns == status.st_mtime_ns
            return is_same_time or filecmp.cmp(self.original, self.goal, shallow=False)
        if self.changed_ns is not None and status.st_mtime_ns >= self.changed_ns:
            return True
        if self.md5:
            with self.goal.open("rb") as content:
                return hashlib.file_digest(content, "md5").hexdigest() == self.md5
        return self.changed_ns is None


def _link(folder: Path, target: Path) -> None:
    if target.is_symlink():
        target.unlink()
    elif target.exists():
        raise DataError(f"{target} exists already; move it away to put a link to {folder} there")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(folder.resolve(), target_is_directory=True)


def _local_files(folder: Path, target: Path) -> list[_File]:
    if target.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"--from {folder}: {target} lies inside it")

    def copier(path: Path) -> Callable[[Path], object]:
        return lambda goal: shutil.copy2(path, goal)

    return [
        _File(str(path), target / path.relative_to(folder), path.stat().st_size, copier(path), path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]


def _remote_files(origin: str, target: Path) -> list[_File]:
    import fsspec

    try:
        system, root = fsspec.url_to_fs(origin)
        entries: dict[str, Any] = system.find(root, detail=True)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{origin} cannot be read: {error}") from error
    except Exception as error:  # each store has errors of its own, which share no base
        raise DataError(f"{origin} cannot be read: {_line(error)}") from error
    if not entries:
        raise DataError(f"{origin}: nothing is there")

    def copier(name: str) -> Callable[[Path], object]:
        return lambda goal: system.get_file(name, str(goal))

    files = []
    for name, entry in sorted(entries.items()):
        relative = PurePosixPath(name).relative_to(PurePosixPath(root))
        if ".." in relative.parts:
            raise DataError(f"{origin}: {name} leaves its folder")
        files.append(
            _File(
                name,
                target / relative,
                entry["size"] or 0,
                copier(name),
                changed_ns=_read_time(entry),
                md5=_read_md5(entry),
            )
        )
    if all(file.changed_ns is None and not file.md5 for file in files):
        logger.warning(
            "%s tells neither times nor checksums: a file of the same size counts as the same.", origin
        )
    return files


def _read_time(entry: Mapping[str, Any]) -> int | None:
    """When an object was last written, in nanoseconds, under whichever name a store says so."""
    names = ("LastModified", "last_modified", "updated", "mtime", "created")
    time = next((entry[name] for name in names if entry.get(name)), None)
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time)
        except ValueError:
            return None
    if isinstance(time, datetime):
        time = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    return round(time * 1e6) * 1000 if isinstance(time, int | float) else None


def _read_md5(entry: Mapping[str, Any]) -> str:
    """The MD5 of an object in hex, where its ETag or a field of its own is one; of encrypted parts it never fits."""
    if encoded := entry.get("md5Hash"):
        return b64decode(str(encoded)).hex()
    etag = str(entry.get("ETag") or entry.get("etag") or "").strip('"').lower()
    return etag if re.fullmatch("[0-9a-f]{32}", etag) else ""


def _copy_missing(files: list[_File], target: Path, dry_run: bool) -> None:
    wanted = [file for file in files if not file.is_there()]
    size = sum(file.size for file in wanted)
    logger.info("%d of %d files, %s → %s", len(wanted), len(files), format_size(size), target)
    if dry_run or not wanted:
        return
    check_free_space(target, size)
    for file in wanted:
        try:
            file.goal.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(file.goal, keep_suffix=False) as temporary:
                file.copy(temporary)
                if file.changed_ns is not None:
                    os.utime(temporary, ns=(file.changed_ns, file.changed_ns))
        except Exception as error:  # see above
            raise DataError(
                f"{file.name} → {target}: {_line(error)}; run the same command to go on"
            ) from error


def _line(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())[:240] or type(error).__name__
