"""Taking data that are there already: from a folder, or from an object store through fsspec."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from vivant.core.disk_space import check_free_space, format_size
from vivant.core.errors import DataError, UsageError


def is_url(origin: str) -> bool:
    """Whether a place is named the way fsspec does: `s3://bucket/folder`."""
    return "://" in origin


def take(
    origin: str, place: Path, say: Callable[[str], None], *, link: bool = False, dry_run: bool = False
) -> None:
    """Bring everything in `origin` to `place`; what is there with the same size stays. Never asks the hub."""
    if is_url(origin):
        if link:
            raise UsageError(f"--link: {origin} is not a folder on this machine")
        _bring(_remote_files(origin, place), place, say, dry_run)
        return
    folder = Path(origin).expanduser()
    if not folder.is_dir():
        raise DataError(f"--from {origin}: no such folder")
    if folder.resolve() == place.resolve():
        say(f"{place} is that folder already.")
        return
    if link:
        say(f"{place} → {folder.resolve()}")
        if not dry_run:
            _link(folder, place)
        return
    _bring(_local_files(folder, place), place, say, dry_run)


class _File(Struct, frozen=True):
    name: str
    goal: Path
    size: int
    copy: Callable[[Path], object]

    def is_there(self) -> bool:
        return self.goal.is_file() and self.goal.stat().st_size == self.size


def _link(folder: Path, place: Path) -> None:
    if place.is_symlink():
        place.unlink()
    elif place.exists():
        raise DataError(f"{place} exists already; move it away to put a link to {folder} there")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(folder.resolve(), target_is_directory=True)


def _local_files(folder: Path, place: Path) -> list[_File]:
    if place.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"--from {folder}: {place} lies inside it")

    def copier(path: Path) -> Callable[[Path], object]:
        return lambda goal: shutil.copy2(path, goal)

    return [
        _File(str(path), place / path.relative_to(folder), path.stat().st_size, copier(path))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]


def _remote_files(origin: str, place: Path) -> list[_File]:
    import fsspec

    try:
        system, root = fsspec.url_to_fs(origin)
        found: dict[str, Any] = system.find(root, detail=True)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{origin} cannot be read: {error}") from error
    except Exception as error:  # each store has errors of its own, which share no base
        raise DataError(f"{origin} cannot be read: {_line(error)}") from error
    if not found:
        raise DataError(f"{origin}: nothing is there")

    def copier(name: str) -> Callable[[Path], object]:
        return lambda goal: system.get_file(name, str(goal))

    files = []
    for name, entry in sorted(found.items()):
        relative = PurePosixPath(name).relative_to(PurePosixPath(root))
        if ".." in relative.parts:
            raise DataError(f"{origin}: {name} leaves its folder")
        files.append(_File(name, place / relative, entry["size"] or 0, copier(name)))
    return files


def _bring(files: list[_File], place: Path, say: Callable[[str], None], dry_run: bool) -> None:
    wanted = [file for file in files if not file.is_there()]
    size = sum(file.size for file in wanted)
    say(f"{len(wanted)} of {len(files)} files, {format_size(size)} → {place}")
    if dry_run or not wanted:
        return
    check_free_space(place, size)
    for file in wanted:
        # Written aside first: whatever stops this, a file under its own name is whole.
        aside = file.goal.with_name(f".{file.goal.name}.{os.getpid()}.part")
        try:
            file.goal.parent.mkdir(parents=True, exist_ok=True)
            file.copy(aside)
            aside.replace(file.goal)
        except Exception as error:  # see above
            raise DataError(
                f"{file.name} → {place}: {_line(error)}; run the same command to go on"
            ) from error
        finally:
            aside.unlink(missing_ok=True)


def _line(error: Exception) -> str:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(said.split())[:240] or type(error).__name__
