"""A small copy of a video for pages: few pixels, few frames, no sound, the same timeline."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from vivant.core.errors import MediaError
from vivant.media.encoding import FrameEncoder
from vivant.media.scan import iter_frames, open_media, video_stream

_FRAMES = 480
"""Of a whole copy: long videos have fewer a second."""
_LONG = 120.0
"""Seconds; of longer videos only key frames are decoded."""
_CLOCK = 1000


def write_preview(source: str, name: str, target: Path, *, side: int, fps: float) -> None:
    """Write a thinned copy of a video as MP4. Raises MediaError where it cannot be read.

    Args:
        source: The file.
        name: What messages call it.
        target: The copy.
        side: Pixels of its longer side.
        fps: The most frames a second.
    """
    encoder = FrameEncoder()
    with open_media(source, name) as reader:
        stream = video_stream(reader, name)
        seconds = (reader.duration or 0) / 1_000_000
        if seconds > _LONG:
            stream.codec_context.skip_frame = "NONKEY"
        step = max(1 / fps, seconds / _FRAMES)
        last = -1
        video = None
        with av.open(str(target), "w", format="mp4", options={"movflags": "+faststart"}) as writer:
            start: float | None = None
            for frame in iter_frames(reader, stream):
                if frame is None or frame.pts is None or stream.time_base is None:
                    continue
                time = float(frame.pts * stream.time_base)
                start = time if start is None else start
                number = int((time - start) / step + 0.001)
                if number <= last:
                    continue
                last = number
                pixels = encoder.pixels(frame, side)
                if video is None:
                    video = writer.add_stream("libx264", rate=round(max(1.0, 1 / step)))
                    video.height, video.width = (length // 2 * 2 for length in pixels.shape[:2])
                    video.pix_fmt = "yuv420p"
                    video.time_base = video.codec_context.time_base = Fraction(1, _CLOCK)
                    video.options = {"crf": "30", "preset": "veryfast"}
                picture = av.VideoFrame.from_ndarray(
                    np.ascontiguousarray(pixels[: video.height, : video.width]), "rgb24"
                )
                picture.pts, picture.time_base = round((time - start) * _CLOCK), Fraction(1, _CLOCK)
                writer.mux(video.encode(picture))
            if video is None:
                raise MediaError(f"{name} has no frame that can be decoded")
            writer.mux(video.encode(None))
