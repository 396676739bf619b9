"""A bundled video beside one that was made again."""

from __future__ import annotations

import re
from pathlib import Path

import av
import numpy as np

_TOLERANCE = 2.0
"""Mean difference of pixels (of 255) between what two versions of an encoder write."""


def assert_rebuilt(made: Path, bundled: Path) -> None:
    """The same bytes where the same libraries wrote both, on whatever processor; else pictures that look the same."""
    if _encoders(made) == _encoders(bundled):
        assert made.read_bytes() == bundled.read_bytes(), (
            f"{bundled.name} is not what its builder makes; build the mini-edition again"
        )
    drawn, stored = _decode(made), _decode(bundled)
    assert drawn.shape == stored.shape
    assert np.abs(drawn.astype(np.int16) - stored).mean() < _TOLERANCE


def _encoders(video: Path) -> list[bytes]:
    """The versions of libavformat and x264 that a file states."""
    return sorted(set(re.findall(rb"Lavf[\d.]+|x264 - core \d+(?: r\d+ \w+)?", video.read_bytes())))


def _decode(video: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    with av.open(str(video)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    return np.asarray(frames, dtype=np.uint8)
