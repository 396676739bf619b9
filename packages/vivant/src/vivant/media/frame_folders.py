"""Videos that are published as folders of pictures, one per frame, made into files that hold the pictures unchanged."""

from __future__ import annotations

import hashlib
import os
from fractions import Fraction
from pathlib import Path

from vivant.core.errors import DataError
from vivant.core.file_types import parse_image_header

_CODECS = {".jpg": "mjpeg", ".jpeg": "mjpeg", ".png": "png"}


def list_frames(folder: Path) -> list[Path]:
    """The pictures of a folder by name. Raises DataError where they are none, or of more than one kind."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    codecs = {_CODECS.get(path.suffix.lower()) for path in files}
    if len(codecs) != 1 or None in codecs:
        raise DataError(f"the folder {folder} is no video; it must hold JPEG pictures or PNG pictures alone")
    return files


def name_frame_video(frames: list[Path], rate: float, path: str) -> str:
    """A name that follows from the folder's path in the data, the pictures' names and sizes, and the rate."""
    listed = [f"{path} {rate:g}", *(f"{frame.name} {frame.stat().st_size}" for frame in frames)]
    return hashlib.sha256("\n".join(listed).encode()).hexdigest()[:32] + ".mov"


def write_frame_video(frames: list[Path], target: Path, rate: float) -> None:
    """Write pictures as the frames of a video, `rate` a second. They are copied, not encoded again.

    Raises DataError for a picture that is none.
    """
    import av

    head = parse_image_header(frames[0].read_bytes())
    if head is None:
        raise DataError(f"{frames[0]} is no picture")
    tick = 1 / Fraction(rate).limit_denominator(1000)
    part = target.with_name(f".{os.getpid()}-{target.name}")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with av.open(str(part), "w", format="mov", options={"fflags": "+bitexact"}) as container:
            stream = container.add_mux_stream(
                _CODECS[frames[0].suffix.lower()], rate=1 / tick, width=head.width, height=head.height
            )
            for number, frame in enumerate(frames):
                packet = av.Packet(frame.read_bytes())
                packet.stream, packet.time_base = stream, tick
                packet.pts = packet.dts = number
                packet.duration, packet.is_keyframe = 1, True
                container.mux(packet)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
