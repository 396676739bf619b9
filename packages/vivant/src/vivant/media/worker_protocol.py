"""What is asked of a worker process, and what it answers: msgpack, each message after its length."""

from __future__ import annotations

from typing import IO, Any, Literal

import msgspec
from msgspec import Struct

from vivant.media.frame_selection import FrameSelection


class FramesTask(Struct, frozen=True, kw_only=True, tag="frames"):
    """Bring frames into the cache; the result is how many had to be decoded."""

    cache: str
    sha256: str
    path: str
    name: str
    wants: tuple[FrameSelection, ...]
    threads: int = 0


class SoundTask(Struct, frozen=True, kw_only=True, tag="sound"):
    """Bring sound into the cache; the result is whether there is any."""

    cache: str
    sha256: str
    path: str
    name: str
    start: float | None = None
    end: float | None = None
    with_pictures: bool = False
    """It goes with the frames of the same file: second zero is theirs."""


class ProbeTask(Struct, frozen=True, kw_only=True, tag="probe"):
    """Say what a video is; the result is a VideoInfo."""

    path: str
    name: str


class VerifyTask(Struct, frozen=True, kw_only=True, tag="verify"):
    """Open a video or sound and decode its ends; the result is a problem in one line, or nothing."""

    path: str
    name: str


Task = FramesTask | SoundTask | ProbeTask | VerifyTask


class TaskResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a task ended."""

    result: Any = None
    error: str = ""
    kind: Literal["media", "usage", "bug"] = "media"
    """Of the error: one file's, the user's settings', or ours."""


def send(stream: IO[bytes], message: Struct) -> None:
    """Write one message."""
    data = msgspec.msgpack.encode(message)
    stream.write(len(data).to_bytes(4, "big") + data)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """Read one message; None where the other side is gone."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    size = int.from_bytes(head, "big")
    data = stream.read(size)
    return data if len(data) == size else None
