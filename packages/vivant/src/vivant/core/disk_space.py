"""Room on a disk: how much there is, and whether what is to be written fits."""

from __future__ import annotations

import shutil
from pathlib import Path

from vivant.core.errors import DataError

_SPARE = 100_000_000
"""Bytes that are left free."""


def check_free_space(path: Path, needed: int) -> None:
    """Refuse to begin what the disk cannot hold."""
    folder = path.absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE:
        raise DataError(
            f"{path}: {format_size(needed)} are needed, unpacking included, and {format_size(free)} are free; "
            "make room, or set VIVANT_DATA or VIVANT_CACHE to another disk"
        )


def format_size(size: int) -> str:
    """Bytes for people."""
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError(size)
