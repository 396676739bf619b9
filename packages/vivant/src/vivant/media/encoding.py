"""A decoded frame as bytes ready to be sent."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
import simplejpeg
from av.video.frame import VideoFrame
from av.video.reformatter import Interpolation, VideoReformatter

from vivant.core.types import FramePolicy
from vivant.media.scan import frame_orientation


def fit_size(width: int, height: int, longest_side: int | None) -> tuple[int, int]:
    """The size that a picture is shown in: as it is, or scaled so that its longer side fits."""
    longer = max(width, height)
    if longest_side is None or longer <= longest_side:
        return width, height
    return max(1, round(width * longest_side / longer)), max(1, round(height * longest_side / longer))


class FrameEncoder:
    """Turns frames of one video into JPEG or PNG; keeps its scaler between frames."""

    def __init__(self) -> None:
        self._scaler = VideoReformatter()
        # Asking a frame for its display matrix ties it into a reference cycle, which would keep hundreds of
        # raw frames in memory until the collector comes; so one frame per angle is asked.
        self._turns: dict[int, tuple[bool, bool, bool]] = {}

    def pixels(self, frame: VideoFrame, longest_side: int | None = None) -> npt.NDArray[np.uint8]:
        """The frame as shown: scaled, turned and mirrored as the file says, red, green and blue."""
        width, height = fit_size(frame.width, frame.height, longest_side)
        scaled = self._scaler.reformat(
            frame, width=width, height=height, format="rgb24", interpolation=Interpolation.AREA, threads=1
        )
        rgb: npt.NDArray[Any] = scaled.to_ndarray()
        angle = frame.rotation
        if angle not in self._turns:
            self._turns[angle] = frame_orientation(frame)
        exchanged, mirrored, upended = self._turns[angle]
        if exchanged:
            rgb = rgb.transpose(1, 0, 2)
        if mirrored:
            rgb = rgb[:, ::-1]
        if upended:
            rgb = rgb[::-1]
        return np.ascontiguousarray(rgb)

    def encode(self, frame: VideoFrame, policy: FramePolicy) -> bytes:
        """The frame as a policy wants it."""
        rgb = self.pixels(frame, policy.longest_side)
        if policy.format == "jpeg":
            data: bytes = simplejpeg.encode_jpeg(rgb, policy.quality, "RGB", "420")
            return data
        from PIL import Image

        buffer = io.BytesIO()
        Image.fromarray(rgb).save(buffer, "PNG", compress_level=3)
        return buffer.getvalue()
