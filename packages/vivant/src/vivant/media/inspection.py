"""Look at a media file without a run: what it is, and whether it can be used."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from vivant.core.errors import MediaError
from vivant.core.types import Audio, Image, Part, Video
from vivant.media.frame_cache import VideoInfo
from vivant.media.images import check_picture, is_picture
from vivant.media.paths import resolve_media, stat_file
from vivant.media.worker_pool import MediaWorkerPool, get_shared_pool
from vivant.media.worker_protocol import ProbeTask, VerifyTask


def probe(path: str | os.PathLike[str], pool: MediaWorkerPool | None = None) -> VideoInfo:
    """Frames, duration, rate and size of a video, by reading all its packets. Raises MediaError naming it."""
    real = os.path.realpath(path)
    stat_file(real, str(path))
    task = ProbeTask(path=real, name=str(path))
    return msgspec.convert((pool or get_shared_pool()).run(task), VideoInfo)


def verify(path: str | os.PathLike[str], pool: MediaWorkerPool | None = None) -> str | None:
    """What is wrong with a picture, video or sound, in one line without its name; None where it is fine.

    A video's first and last frames are decoded, within the pool's time limit.
    """
    real = os.path.realpath(path)
    # Under no name, so that the line is the reason alone.
    try:
        stat_file(real, "")
        with open(real, "rb") as file:
            head = file.read(4096)
        if is_picture(head, Path(real).suffix):
            check_picture(Path(real).read_bytes(), "")
            return None
        line: str | None = (pool or get_shared_pool()).run(VerifyTask(path=real, name=""))
    except MediaError as error:
        return str(error).strip(" :")
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return line


def find_problem(root: Path, part: Part) -> str | None:
    """Why a media file cannot be used; None where it can."""
    if not isinstance(part, Image | Video | Audio):
        return None
    try:
        return verify(resolve_media(root, part.path))
    except MediaError as error:
        return str(error)
