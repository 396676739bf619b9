"""Frames over a background, encoded as H.264 without sound; and pictures of videos at a glance."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.container import OutputContainer
from av.video.reformatter import Interpolation, VideoReformatter
from PIL import Image, ImageDraw, ImageFont

from vivant.core.errors import MediaError, UsageError
from vivant.core.files import atomic_path
from vivant.media.encoding import FrameEncoder
from vivant.media.scan import open_media, video_stream
from vivant_build.mime.bundled_characters import make_character
from vivant_build.mime.camera import Camera, fit
from vivant_build.mime.characters import Character, Shapes
from vivant_build.mime.motion import Motion
from vivant_build.mime.rasterizer import Picture, Plane, to_picture
from vivant_build.mime.renderers import Performance, find_renderer
from vivant_build.mime.scenes import draw_background

_EXACT = Interpolation.BILINEAR | Interpolation.ACCURATE_RND | Interpolation.BITEXACT
_GAP = 2
"""White pixels between the pictures of a sheet."""


def frame_motion(shapes: Shapes, size: tuple[int, int]) -> Camera:
    """The camera for a posed motion: one distance for all angles, so that only the angle differs.

    Of a wide picture its middle, 4:3, holds the whole motion, so that a crop to that shape loses nobody.
    """
    points = np.concatenate([shapes.a.reshape(-1, 3), shapes.b.reshape(-1, 3)])
    return replace(fit(points, size=(min(size[0], size[1] * 4 // 3), size[1])), width=size[0])


def render_frames(
    performance: Performance, camera: Camera, background: Plane, renderer: str = "built-in"
) -> Iterator[Picture]:
    """RGB pictures (height, width, 3) of a motion before a background, one at a time."""
    if background.shape != (3, camera.height, camera.width):
        raise UsageError(
            f"The background is {background.shape[2]}×{background.shape[1]} and the camera's picture "
            f"{camera.width}×{camera.height}; they must be of one size"
        )
    still = to_picture(background)
    for layer in find_renderer(renderer).layers(performance, camera):
        yield layer.over(background, still)


def crop_centre(picture: Picture, size: tuple[int, int]) -> Picture:
    """The largest window of a size's shape around the middle of a picture, scaled to that size."""
    height, width = picture.shape[:2]
    scale = min(width / size[0], height / size[1])
    wide, high = min(width, round(size[0] * scale)), min(height, round(size[1] * scale))
    left, top = (width - wide) // 2, (height - high) // 2
    cut = picture[top : top + high, left : left + wide]
    if (wide, high) == size:
        return np.ascontiguousarray(cut)
    return np.asarray(Image.fromarray(cut).resize(size, Image.Resampling.LANCZOS))


class VideoWriter:
    """An H.264 stream of a container, the same on every processor: its bytes follow from the pictures alone.

    x264 and the conversion to yuv420p choose instructions, and with them roundings, by processor unless told not to.
    Other versions of these libraries may write other bytes.
    """

    def __init__(
        self,
        container: OutputContainer,
        size: tuple[int, int],
        rate: Fraction,
        *,
        crf: int,
        preset: str,
        seconds_between_keys: float = 10.0,
    ) -> None:
        self._container, self._rate = container, rate
        self._stream = container.add_stream("libx264", rate=rate)
        self._stream.width, self._stream.height, self._stream.pix_fmt = *size, "yuv420p"
        # More threads would divide the work, and so the bits, otherwise on machines with other core counts.
        self._stream.codec_context.thread_count = 1
        self._stream.options = {
            "crf": str(crf),
            "preset": preset,
            "g": str(max(1, round(seconds_between_keys * rate))),
            "x264-params": "cpu-independent=1",
        }
        self._reformatter = VideoReformatter()
        self._count = 0

    def write(self, picture: Picture) -> None:
        """Append an RGB picture."""
        frame = self._reformatter.reformat(
            av.VideoFrame.from_ndarray(picture, format="rgb24"),
            format="yuv420p",
            interpolation=_EXACT,
            threads=1,
        )
        frame.pts = self._count
        # Not the stream's own: writing the file's head changes that one.
        frame.time_base = 1 / self._rate
        self._container.mux(self._stream.encode(frame))
        self._count += 1

    def finish(self) -> None:
        """Write what the encoder holds back."""
        self._container.mux(self._stream.encode(None))


class FullDiskError(MediaError):
    """A video did not fit on the disk: the next one will not either."""


def encode(
    frames: Iterable[Picture],
    out: Path,
    fps: float,
    *,
    crf: int = 23,
    preset: str = "medium",
    examine: Callable[[Path], None] | None = None,
) -> int:
    """Write frames as an MP4 at a constant rate and return their number.

    The file appears under its name only when it is whole, so a killed run leaves no half video. `examine` sees
    it before that, and what it raises leaves nothing behind.
    """
    rate = Fraction(fps).limit_denominator(100_000)
    count = 0
    try:
        with atomic_path(out, keep_suffix=False) as temporary:
            with av.open(str(temporary), "w", format="mp4", options={"movflags": "+faststart"}) as container:
                stream = None
                for picture in frames:
                    height, width = picture.shape[:2]
                    if stream is None:
                        if width % 2 or height % 2:
                            raise UsageError(
                                f"A video of {width}×{height} cannot be yuv420p; use an even width and height"
                            )
                        stream = VideoWriter(container, (width, height), rate, crf=crf, preset=preset)
                    stream.write(picture)
                    count += 1
                if stream is None:
                    raise UsageError(f"{out}: there are no frames to encode")
                stream.finish()
            if examine is not None:
                examine(temporary)
    except OSError as error:
        kind = FullDiskError if error.errno == errno.ENOSPC else MediaError
        raise kind(f"{out}: the video cannot be written ({error.strerror or error})") from None
    return count


def render_video(
    motion: Motion,
    avatar: str | Character,
    background: str | Plane,
    angle: float,
    size: tuple[int, int],
    fps: float,
    out: Path,
    *,
    camera: Camera | None = None,
    renderer: str = "built-in",
    crf: int = 23,
    preset: str = "medium",
) -> int:
    """Put a motion on a body before a background, seen from an angle, as a video; returns the frame count.

    `background` is a scene's name, `blank`, or planes of one's own (`read_background`). Without a `camera`
    (whose angle and size are replaced) the framing is worked out from the motion.
    """
    body = make_character(avatar) if isinstance(avatar, str) else avatar
    performance = Performance(motion.resampled(fps), body)
    found = camera or frame_motion(body.pose(performance.motion), size)
    view = replace(found, angle=angle, width=size[0], height=size[1])
    planes = background
    if isinstance(planes, str):
        planes = draw_background(planes, view, flat=renderer == "capsules")
    return encode(render_frames(performance, view, planes, renderer), out, fps, crf=crf, preset=preset)


def read_frames(video: Path, count: int | None = None) -> list[Picture]:
    """All frames of a short video, or `count` of them spread evenly from the first to the last."""
    encoder = FrameEncoder()
    try:
        with open_media(str(video), str(video)) as container:
            stream = video_stream(container, str(video))
            frames = [encoder.pixels(frame) for frame in container.decode(stream)]
    except OSError as error:
        raise MediaError(f"{video}: cannot be read ({error.strerror or error})") from None
    if not frames:
        raise MediaError(f"{video}: holds no frames")
    if count is None:
        return frames
    return [frames[int(n)] for n in np.rint(np.linspace(0, len(frames) - 1, count))]


def strip(frames: Sequence[Picture], height: int, *, crop: float = 1.0) -> Image.Image:
    """Frames side by side at one height; `crop` keeps that share of each frame's width, around its middle."""
    cells = []
    for picture in frames:
        cut = round(picture.shape[1] * (1 - crop) / 2)
        cell = Image.fromarray(picture[:, cut : picture.shape[1] - cut] if cut else picture)
        cells.append(
            cell.resize((round(height * cell.width / cell.height), height), Image.Resampling.LANCZOS)
        )
    sheet = Image.new("RGB", (sum(cell.width + _GAP for cell in cells) - _GAP, height), (255, 255, 255))
    x = 0
    for cell in cells:
        sheet.paste(cell, (x, 0))
        x += cell.width + _GAP
    return sheet


def draw_contact_sheet(
    videos: Sequence[Path],
    out: Path,
    *,
    titles: Sequence[str] | None = None,
    frames: int = 8,
    height: int = 110,
    crop: float = 0.8,
) -> Path:
    """One strip per video, one below the other, as a picture whose format `out` names; titles at the left."""
    if not videos:
        raise UsageError("A contact sheet needs at least one video")
    strips = [strip(read_frames(video, frames), height, crop=crop) for video in videos]
    font = ImageFont.load_default(size=max(10, height // 8))
    margin = 0
    if titles is not None:
        margin = 16 + max(round(font.getlength(line)) for title in titles for line in title.split("\n"))
    step = height + _GAP
    size = (margin + max(s.width for s in strips), step * len(strips) - _GAP)
    sheet = Image.new("RGB", size, (255, 255, 255))
    pen = ImageDraw.Draw(sheet)
    for row, picture in enumerate(strips):
        sheet.paste(picture, (margin, row * step))
        if titles is not None:
            pen.text((8, row * step + height / 2), titles[row], fill=(30, 30, 30), font=font, anchor="lm")
    try:
        sheet.save(out, quality=82, optimize=True)
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror or error}") from None
    return out
