"""One file from the hub, byte by byte: what arrived stays when the connection or the process dies.

The hub's own client removes the part of a file that it had when it stops, and these files are gigabytes. So its
session, headers and errors are used here, and the part is kept beside the file's place, named by the checksum that
the whole must have: a later call asks for the rest of it, and a part of another version is never continued. Large files
that are not begun yet come through the hub's chunk store (xet), where the client has it.
"""

from __future__ import annotations

import fcntl
import threading
from pathlib import Path
from typing import BinaryIO

from vivant.core.errors import DataError
from vivant.core.progress import ProgressCallback
from vivant.fetch.hub_client import build_headers, fetch_with_xet
from vivant.fetch.retrying import TRIES, announce_wait, find_wait
from vivant.fetch.source_record import HubFile

_PIECE = 1 << 20
_XET_FROM = 10 << 20
"""Bytes from which the chunk store is worth asking."""


class FetchStoppedError(Exception):
    """Another file failed, so that this one is not fetched on."""


def download(
    url: str,
    hub_file: HubFile,
    path: Path,
    progress: ProgressCallback | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Bring a file to `path`, going on from what an earlier call left; only a whole and right one gets there.

    Args:
        url: Where the hub has it.
        hub_file: Its size and checksum.
        path: Where it goes.
        progress: Told how many bytes of the file are there.
        stop: Ends the download between two pieces, with `FetchStoppedError`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _part(hub_file, path)
    stop = stop or threading.Event()
    if not part.exists() and hub_file.sha256 and hub_file.size >= _XET_FROM:
        _try_xet(url, hub_file, part, progress)
    failures = 0
    while (arrived := _size(part)) < hub_file.size or not part.exists():
        trouble: Exception = DataError(
            f"{path}: the hub sent {arrived} of {hub_file.size} bytes; run the command again"
        )
        seconds: float | None = 0.0
        try:
            _continue_download(url, hub_file, part, progress, stop)
        except FetchStoppedError:
            raise
        except Exception as error:
            trouble = error
            failures = 1 if _size(part) > arrived else failures + 1
            seconds = find_wait(error, failures)
        else:
            failures = 0 if _size(part) > arrived else failures + 1
            seconds = None if failures >= TRIES else 0.0
        if seconds is None:
            raise trouble
        announce_wait(seconds)
        if stop.wait(seconds):
            raise FetchStoppedError
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


def _try_xet(url: str, hub_file: HubFile, part: Path, progress: ProgressCallback | None) -> None:
    """The whole file at once into a place of its own: what is begun there does not grow from the front."""

    def report(arrived: int) -> None:
        if progress is not None:
            progress(arrived, hub_file.size, hub_file.path)

    whole = part.with_suffix(".xet")
    with whole.open("ab") as file:
        _reserve(file, part)
        if fetch_with_xet(url, whole, hub_file.size, report):
            whole.replace(part)
            report(hub_file.size)
        else:
            whole.unlink(missing_ok=True)


def _continue_download(
    url: str, hub_file: HubFile, part: Path, progress: ProgressCallback | None, stop: threading.Event
) -> None:
    from huggingface_hub import constants, get_session
    from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # documented, not in `__all__`

    arrived = _size(part)
    # As it is: a range of what a server compresses on the way is not a range of the file.
    headers = {**build_headers(), "Accept-Encoding": "identity"}
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
                if stop.is_set():
                    raise FetchStoppedError
                file.write(piece)
                if progress is not None:
                    progress(file.tell(), hub_file.size, hub_file.path)


def _reserve(file: BinaryIO, part: Path) -> None:
    """Two processes that append to one part would spoil it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise DataError(f"{part.parent}: another process is fetching into it; wait for it") from error


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0
