"""Looking at an encoded video: is it what was ordered, and does every picture show something."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from vivant.core.errors import MediaError
from vivant.media.scan import open_media, video_stream
from vivant_build.mime.rasterizer import Picture

_STEP = 4
"""Every so many pixels are looked at."""
_CHANGED = 36
"""Tones by which a pixel differs from its background where something stands before it: encoding blurs less."""
_LEAST, _MOST = 0.004, 0.7
"""Share of the picture that a person covers, at least and at most."""
_FLAT = 2.0
"""Standard deviation below which a picture shows nothing at all."""
_LATE = 0.0015
"""Seconds by which a time stamp may be off: files count in thousandths at worst."""


def examine_video(
    file: Path, *, frames: int, fps: float, size: tuple[int, int], background: Picture | None = None
) -> list[str]:
    """Decode a video and list what is wrong with it; nothing where it is as ordered.

    With the `background` that it was made before, a person must stand out from it in every frame.
    """
    faults: list[str] = []
    times: list[float] = []
    blank = absent = crowded = 0
    try:
        with open_media(str(file), file.name) as container:
            if container.streams.audio:
                faults.append("it has sound")
            stream = video_stream(container, file.name, threads=1)
            actual = (stream.codec_context.width, stream.codec_context.height)
            if actual != size:
                faults.append(f"it is {actual[0]}×{actual[1]}, planned {size[0]}×{size[1]}")
                background = None
            rate = stream.average_rate
            if rate is None or abs(float(rate) - fps) > 1e-3 * fps:
                faults.append(f"it has {float(rate or 0):g} frames a second, planned {fps:g}")
            still = None if background is None else background[::_STEP, ::_STEP].astype(np.int16)
            for frame in container.decode(stream):
                times.append(-1.0 if frame.time is None else frame.time)
                pixels = np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)[::_STEP, ::_STEP]
                if pixels.std() < _FLAT:
                    blank += 1
                elif still is not None:
                    share = person_share(pixels, still)
                    absent += share < _LEAST
                    crowded += share > _MOST
    except MediaError as error:
        return [*faults, str(error)]
    except (OSError, av.FFmpegError) as error:
        return [*faults, f"it cannot be read: {error}"]
    if len(times) != frames:
        faults.append(f"it has {len(times)} frames, planned {frames}")
    uneven = [n for n, at in enumerate(times) if abs(at - n / fps) > _LATE]
    if uneven:
        faults.append(f"time stamps are uneven from frame {uneven[0]} on")
    for count, what in (
        (blank, "blank"),
        (absent, "without a person before the background"),
        (crowded, "not before the background that was planned"),
    ):
        if count:
            faults.append(f"{count} of {len(times)} frames are {what}")
    return faults


def person_share(pixels: Picture, still: NDArray[np.int16]) -> float:
    """The share of a picture that differs clearly from its background."""
    return float(np.mean(np.abs(pixels.astype(np.int16) - still).max(axis=-1) > _CHANGED))
