"""The folder of a board's site: only files that a board wrote are ever replaced or removed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.core.errors import UsageError
from vivant.core.files import write_atomic

MARKER = ".vivant-board.json"
"""Marks a folder as a board's, and lists the files that the board wrote."""


class _Marker(Struct, frozen=True):
    files: tuple[str, ...] = ()


def check_folder(out: Path, inputs: Iterable[Path]) -> None:
    """Refuse a folder that holds inputs of the board, or files of other origin and no earlier board."""
    root = out.resolve()
    for path in inputs:
        if path.resolve().is_relative_to(root):
            raise UsageError(f"{out} holds {path}, which is to go on the board; name another folder")
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; name a folder")
    if out.exists() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise UsageError(f"{out} is not empty and no earlier board; name another folder")


def prepare_folder(out: Path, names: Sequence[str]) -> None:
    """Remove the files that an earlier board wrote, and note the names of those that come.

    Args:
        out: The folder of the site, already checked.
        names: The files that will be written, relative to it.
    """
    root = out.resolve()
    earlier = _read_marker(out)
    for name in {*earlier, *names}:
        file = root / name
        # A link in between, or a changed list, could name a file elsewhere.
        if file.parent.resolve() != file.parent or not file.is_relative_to(root):
            raise UsageError(f"{out / name} leads out of the board's folder; name another folder")
    for name in set(names).difference(earlier):
        if os.path.lexists(root / name):
            raise UsageError(f"{out / name} was not written by a board; move it, or name another folder")
    for name in earlier:
        (root / name).unlink(missing_ok=True)
    folders = {folder for name in earlier for folder in (root / name).parents if folder != root}
    for folder in sorted(folders, reverse=True):
        if folder.is_relative_to(root):
            with suppress(OSError):  # other files are in it
                folder.rmdir()
    root.mkdir(parents=True, exist_ok=True)
    write_atomic(root / MARKER, msgspec.json.encode(_Marker(tuple(names))) + b"\n", durable=False)
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)


def _read_marker(out: Path) -> tuple[str, ...]:
    file = out / MARKER
    if not file.exists():
        return ()
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Marker).files
    except msgspec.MsgspecError as error:
        raise UsageError(f"{file} cannot be read: {error}. Name another folder") from error
