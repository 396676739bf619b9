"""The sound of a file as WAV: 16 kHz, one channel, 16 bits, what listening models take. Runs in a worker."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import av
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.packet import Packet

from vivant.core.errors import MediaError
from vivant.media.scan import iter_packets, open_media

RATE = 16_000
_SILENCE = bytes(2 * RATE)
# Decoders need a little run-up after a seek.
_RUN_UP = 1.0


def write_wav(
    path: str, name: str, target: Path, start: float | None, end: float | None, origin: float | None
) -> tuple[bool, int]:
    """Write the sound between two times to `target`.

    `origin` is the timestamp of second zero, for sound that goes with pictures; by default the file's start.
    Returns whether there is any sound track, and how many of its packets were damaged. The sound's length
    is not bounded by memory: it is written as it is decoded.
    """
    with open_media(path, name) as container:
        stream = next((s for s in container.streams.audio if s.codec_context is not None), None)
        if stream is None:
            return False, 0
        zero = (container.start_time or 0) / 1_000_000 if origin is None else origin
        with target.open("wb") as out:
            out.write(bytes(44))
            cutter = _Cutter(out, zero + (start or 0.0), None if end is None else zero + end)
            _seek(container, stream, zero + (start or 0.0))
            damaged = _decode(container, stream, cutter)
            if not cutter.written:
                where = "" if start is None and end is None else " between these times"
                raise MediaError(f"{name} has a sound track, but nothing in it can be decoded{where}")
            out.seek(0)
            out.write(_header(cutter.written))
    return True, damaged


def _decode(container: InputContainer, stream: AudioStream, cutter: _Cutter) -> int:
    damaged = 0
    resampler, previous = _resampler(), None
    packets: Iterator[Packet[AudioStream] | None] = chain(iter_packets(container, stream), (None,))
    while True:
        try:
            frames = stream.codec_context.decode(next(packets))
        except StopIteration:
            break
        except (av.FFmpegError, EOFError):
            damaged += 1
            continue
        for frame in frames:
            kind = (frame.format.name, frame.layout.name, frame.sample_rate)
            if previous not in (None, kind):
                # Broadcasts change from stereo to mono and back in the middle.
                cutter.rest(_resample(resampler, None))
                resampler = _resampler()
            previous = kind
            if not cutter.take(frame, _resample(resampler, frame)):
                return damaged
    if previous is not None:
        cutter.rest(_resample(resampler, None))
    return damaged


def _resampler() -> AudioResampler:
    return AudioResampler(format="s16", layout="mono", rate=RATE)


def _resample(resampler: AudioResampler, frame: AudioFrame | None) -> Iterator[bytes]:
    for part in resampler.resample(frame):
        yield bytes(part.planes[0])[: 2 * part.samples]


class _Cutter:
    """Keeps the samples between two timestamps; sound that starts late is preceded by silence."""

    def __init__(self, out: BinaryIO, start: float, end: float | None) -> None:
        self._out = out
        self._start = start
        self._limit = None if end is None else max(0, round((end - start) * RATE))
        self._position: int | None = None
        """Where the next sample belongs, counted from `start`; negative before it."""
        self.written = 0

    def take(self, frame: AudioFrame, parts: Iterator[bytes]) -> bool:
        """Add what a frame became; False once the end is reached."""
        if self._position is None:
            time = self._start if frame.time is None else frame.time
            self._position = round((time - self._start) * RATE)
            silence = self._position if self._limit is None else min(self._position, self._limit)
            while silence > 0:
                block = _SILENCE[: 2 * silence]
                self._out.write(block)
                self.written += len(block)
                silence -= len(block) // 2
        self.rest(parts)
        return self._limit is None or self._position < self._limit

    def rest(self, parts: Iterator[bytes]) -> None:
        """Add samples that follow on those before."""
        for data in parts:
            position = self._position or 0
            keep = data[2 * max(0, -position) :]
            if self._limit is not None:
                keep = keep[: max(0, 2 * (self._limit - max(position, 0)))]
            self._out.write(keep)
            self.written += len(keep)
            self._position = position + len(data) // 2


def _seek(container: InputContainer, stream: AudioStream, time: float) -> None:
    base = stream.time_base or Fraction(1, 1000)
    if time > 5:
        try:
            container.seek(int((time - _RUN_UP) / base), stream=stream)
        except av.FFmpegError:
            # Not seekable: decoded from the start, and cut by timestamps all the same.
            return


def _header(size: int) -> bytes:
    return (
        b"RIFF"
        + struct.pack("<I", 36 + size)
        + b"WAVEfmt "
        + struct.pack("<IHHIIHH", 16, 1, 1, RATE, 2 * RATE, 2, 16)
        + b"data"
        + struct.pack("<I", size)
    )
