"""One file from the hub, byte by byte: what arrived stays when the connection or the process dies.

The hub's own client removes the part of a file that it had when it stops, and these files are gigabytes. So its
session, headers and errors are used here, and the part is kept beside the file's place, named by the checksum that
the whole must have: a later call asks for the rest of it, and a part of another version is never continued.
"""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import Any, BinaryIO

from vivant.core.errors import DataError, is_connection_fault
from vivant.core.progress import ProgressCallback
from vivant.fetch.source_record import HubFile

_PIECE = 1 << 20
_TRIES = 5
"""In a row without one byte."""
_PATIENCE = 1.0
"""Seconds before the first of them is repeated; doubled each time."""
_PASSING = (408, 429, 500, 502, 503, 504)


def download(url: str, hub_file: HubFile, path: Path, progress: ProgressCallback | None = None) -> None:
    """Bring a file to `goal`, going on from what an earlier call left; only a whole and right one gets there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _part(hub_file, path)
    failures = 0
    while (arrived := _size(part)) < hub_file.size or not part.exists():
        trouble: Exception = DataError(
            f"{path}: the hub sent {arrived} of {hub_file.size} bytes; run the command again"
        )
        try:
            _continue_download(url, hub_file, part, progress)
        except Exception as error:
            if not (is_connection_fault(error) or _status(error) in _PASSING):
                raise
            trouble = error
        failures = 0 if _size(part) > arrived else failures + 1
        if failures >= _TRIES:
            raise trouble
        if failures:
            time.sleep(_PATIENCE * 2 ** (failures - 1))
    if not hub_file.fits(part):
        part.unlink()
        raise DataError(
            f"{path} arrived damaged (its checksum is wrong) and was removed; run the command again"
        )
    part.replace(path)


def count_arrived_bytes(hub_file: HubFile, path: Path) -> int:
    """Bytes of a file that an earlier call left."""
    return _size(_part(hub_file, path))


def _part(hub_file: HubFile, path: Path) -> Path:
    return path.with_name(f".{path.name}.{(hub_file.sha256 or hub_file.blob)[:12]}.part")


def _continue_download(url: str, hub_file: HubFile, part: Path, progress: ProgressCallback | None) -> None:
    from huggingface_hub import constants, get_session
    from huggingface_hub.utils import (  # type: ignore[attr-defined]  # documented there, yet not in `__all__`
        build_hf_headers,
        hf_raise_for_status,
    )

    arrived = _size(part)
    # As it is: a range of what a server compresses on the way is not a range of the file.
    headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
    if arrived:
        headers["Range"] = f"bytes={arrived}-"
    seconds = float(constants.HF_HUB_DOWNLOAD_TIMEOUT)
    with get_session().stream("GET", url, headers=headers, timeout=seconds, follow_redirects=True) as answer:
        if answer.is_error:
            answer.read()
        hf_raise_for_status(answer)
        continued = arrived > 0 and answer.status_code == 206
        with part.open("ab") as file:
            _reserve(file, part)
            if not continued:
                file.truncate(0)
            for piece in answer.iter_bytes(_PIECE):
                file.write(piece)
                if progress is not None:
                    progress(file.tell(), hub_file.size, hub_file.path)


def _reserve(file: BinaryIO, part: Path) -> None:
    """Two processes that append to one part would spoil it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise DataError(f"{part.parent}: another process is fetching into it; wait for it") from error


def _status(error: Exception) -> int | None:
    response: Any = getattr(error, "response", None)
    return response.status_code if response is not None else None


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0
