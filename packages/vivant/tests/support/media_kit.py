"""Small media files made on the spot, with each frame's number drawn into it, and a reference decoder."""

from __future__ import annotations

import asyncio
import io
import struct
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from PIL import Image as Pillow

from vivant.core.types import Clip, Job, Message, Part, Picture, Text
from vivant.media import LoadedMedia, MediaLoader
from vivant.media.encoding import FrameEncoder

Pixels = npt.NDArray[np.uint8]
_BITS = 10
SIZE = (160, 120)


def numbered(number: int, size: tuple[int, int] = SIZE) -> Pixels:
    """A picture that says its number in ten black or white bars, over a band whose colour moves."""
    width, height = size
    image = np.zeros((height, width, 3), np.uint8)
    for bit in range(_BITS):
        if number >> bit & 1:
            image[: height // 2, bit * width // _BITS : (bit + 1) * width // _BITS] = 255
    image[height // 2 :, :, 0] = (np.arange(width) * 2 + number * 7) % 256
    image[height // 2 :, :, 1] = (number * 11) % 256
    return image


def number_of(picture: bytes | Pixels) -> int:
    """What `numbered` drew, read back through any lossy coding."""
    image = (
        np.asarray(Pillow.open(io.BytesIO(picture)).convert("RGB")) if isinstance(picture, bytes) else picture
    )
    height, width = image.shape[:2]
    number = 0
    for bit in range(_BITS):
        middle = int((bit + 0.5) * width / _BITS)
        number |= int(image[height // 8 : height * 3 // 8, middle - 1 : middle + 2].mean() > 127) << bit
    return number


def make_video(
    path: Path,
    frames: int = 60,
    *,
    size: tuple[int, int] = SIZE,
    codec: str = "libx264",
    options: dict[str, str] | None = None,
    times: Callable[[int], int] | None = None,
    container: dict[str, str] | None = None,
    sound: float = 0.0,
    draw: Callable[[int, tuple[int, int]], Pixels] = numbered,
) -> Path:
    """Numbered frames at 30 a second, or at `times` in milliseconds; `sound` seconds of a tone come first."""
    with av.open(str(path), "w", options=container or {}) as out:
        audio = out.add_stream("aac", rate=48_000, layout="mono") if sound else None
        stream: Any = out.add_stream(codec, rate=30)
        stream.width, stream.height = size
        stream.pix_fmt = {"ffv1": "yuv444p", "mjpeg": "yuvj420p"}.get(codec, "yuv420p")
        stream.options = {"g": "12", "bf": "2", "crf": "20"} if options is None else options
        base = Fraction(1, 1000) if times else Fraction(1, 30)
        stream.codec_context.time_base = base
        if audio is not None:
            tone = (np.sin(np.arange(int(48_000 * sound)) * 2 * np.pi * 440 / 48_000) * 9000).astype(np.int16)
            for start in range(0, len(tone) - 1023, 1024):
                block = av.AudioFrame.from_ndarray(
                    tone[None, start : start + 1024], format="s16", layout="mono"
                )
                block.sample_rate, block.pts = 48_000, start
                out.mux(audio.encode(block))
            out.mux(audio.encode(None))
        for number in range(frames):
            frame = av.VideoFrame.from_ndarray(draw(number, size), format="rgb24")
            frame.pts, frame.time_base = (times(number) if times else number), base
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


def cut_copy(source: Path, target: Path, start: float, end: float) -> Path:
    """Cut without re-encoding: packets from the keyframe before `start`, whose time becomes zero.

    MP4 then hides the frames before zero with an edit list.
    """
    with av.open(str(source)) as given, av.open(str(target), "w") as out:
        stream = given.streams.video[0]
        copy = out.add_stream_from_template(stream)
        assert stream.time_base is not None
        shift = int(start / stream.time_base)
        given.seek(shift, stream=stream)
        for packet in given.demux(stream):
            if packet.dts is None or packet.pts is None or packet.dts * stream.time_base >= end:
                continue
            packet.pts -= shift
            packet.dts -= shift
            packet.stream = copy
            out.mux(packet)
    return target


def uneven(seed: int = 1) -> Callable[[int], int]:
    """Times in milliseconds at a rate that changes all the time."""
    steps = np.random.default_rng(seed).choice([10, 20, 33, 50, 100, 400], 2000)
    return lambda number: int(steps[:number].sum())


# ── MP4 boxes ──


def _box(data: bytes, *names: bytes) -> list[tuple[int, int]]:
    """Start and size of a box and of those it lies in, outermost first."""
    found, start, end = [], 0, len(data)
    for name in names:
        while start < end:
            size, kind = struct.unpack_from(">I4s", data, start)
            if kind == name:
                break
            start += size
        found.append((start, size))
        start, end = start + 8, start + size
    return found


def set_edit_list(path: Path, edits: list[tuple[int, int]]) -> Path:
    """Replace an MP4's edit list by pairs of duration and media time, both in milliseconds; rate 1."""
    data = path.read_bytes()
    with av.open(str(path)) as container:
        base = container.streams.video[0].time_base
        assert base is not None
    nest = _box(data, b"moov", b"trak", b"edts", b"elst")
    start, size = nest[-1]
    entries = b"".join(struct.pack(">IiI", length, round(at / 1000 / base), 0x10000) for length, at in edits)
    new = struct.pack(">I4sII", 16 + len(entries), b"elst", 0, len(edits)) + entries
    changed = bytearray(data[:start] + new + data[start + size :])
    for place, old in nest[:-1]:
        struct.pack_into(">I", changed, place, old + len(new) - size)
    path.write_bytes(changed)
    return path


def set_matrix(path: Path, a: int, b: int, c: int, d: int) -> Path:
    """Set an MP4's display matrix: (0, 1, -1, 0) turns the picture a quarter clockwise."""
    data = bytearray(path.read_bytes())
    start, _ = _box(bytes(data), b"moov", b"trak", b"tkhd")[-1]
    one = 0x10000
    values = (a * one, b * one, 0, c * one, d * one, 0, 0, 0, 0x40000000)
    struct.pack_into(">9i", data, start + 48, *values)
    path.write_bytes(data)
    return path


# ── reference ──


def full_decode(path: Path) -> list[Pixels]:
    """Every frame, from the first packet to the last, with no seek: what all frames are measured against."""
    encoder = FrameEncoder()
    frames = []
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        for packet in container.demux(stream):
            try:
                frames += [encoder.pixels(frame) for frame in packet.decode()]
            except av.FFmpegError:
                continue
    return frames


def job(root: Path, *parts: Part, **settings: Any) -> Job:
    """A job of one message."""
    return Job(
        key="t/1",
        task="t",
        id="1",
        messages=(Message("user", (Text("Look:"), *parts)),),
        root=str(root),
        **settings,
    )


def load(loader: MediaLoader, job: Job, **settings: Any) -> LoadedMedia:
    """What a model is shown of a job."""
    return asyncio.run(loader.load(job, **settings))


def numbers(loaded: LoadedMedia) -> list[int]:
    """The numbers drawn into all pictures and frames, in the order shown."""
    pictures: list[Picture] = []
    for turn in loaded.turns:
        for part in turn.parts:
            pictures += part.frames if isinstance(part, Clip) else [part] if isinstance(part, Picture) else []
    return [number_of(picture.data) for picture in pictures]
