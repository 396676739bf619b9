"""The world's videos as files: a topic's clip, seen a little differently each time.

Each clip is drawn once, densely; a video is then a choice of those pictures with a seeded look: mirrored, tinted,
cropped and shifted, faster or slower, noisy. A topic that is a clip backwards has the same pictures in the other
order, under looks drawn from the same distribution, so that no single frame tells the two apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from PIL import Image

from vivant.build.mimic.world.phrases import Topic
from vivant.build.mimic.world.platform import array_generator
from vivant.core.errors import unknown_name_error

Pixels = NDArray[np.uint8]
_DENSE = 33
"""Pictures drawn of each clip."""


class ClipVariation(Struct, frozen=True):
    """How one video differs from another of its topic."""

    mirror: bool
    gains: tuple[float, float, float]
    zoom: float
    """Share of the picture that is kept."""
    shift: tuple[float, float]
    """Where the kept part lies, from 0 to 1 each way."""
    start: float
    end: float
    """The stretch of the clip that is shown."""
    noise: float


def draw_variation(seed: int) -> ClipVariation:
    """A look drawn from a video's own seed."""
    rng = array_generator(seed, "look")
    bright = rng.uniform(0.8, 1.15)
    gains = rng.uniform(0.88, 1.12, 3) * bright
    return ClipVariation(
        mirror=bool(rng.random() < 0.5),
        gains=(float(gains[0]), float(gains[1]), float(gains[2])),
        zoom=float(rng.uniform(0.8, 1.0)),
        shift=(float(rng.random()), float(rng.random())),
        start=float(rng.uniform(0.0, 0.12)),
        end=float(rng.uniform(0.88, 1.0)),
        noise=float(rng.uniform(0, 6)),
    )


def render_video(
    topic: Topic,
    seed: int,
    out: Path,
    *,
    size: tuple[int, int] = (128, 96),
    seconds: float = 2.0,
    fps: int = 8,
) -> int:
    """Write one video as MP4 and return its number of frames."""
    from vivant.build.mime.video import encode

    out.parent.mkdir(parents=True, exist_ok=True)
    return encode(draw_frames(topic, seed, size, round(seconds * fps)), out, fps, crf=26, preset="veryfast")


def draw_frames(topic: Topic, seed: int, size: tuple[int, int], count: int) -> Iterator[Pixels]:
    """The pictures of one video, in order."""
    variation = draw_variation(seed)
    pictures = _draw_densely(topic.clip)
    times = np.linspace(variation.start, variation.end, count)
    if topic.motion == "reverse":
        # The stretch shown is mirrored in time as well, so that its ends tell nothing about the direction.
        times = 1.0 - times
    grain = array_generator(seed, "grain")
    for time in times:
        yield _vary_picture(pictures[round(float(time) * (_DENSE - 1))], variation, size, grain)


def _vary_picture(
    picture: Image.Image, variation: ClipVariation, size: tuple[int, int], grain: np.random.Generator
) -> Pixels:
    width, height = picture.width * variation.zoom, picture.height * variation.zoom
    left, top = (picture.width - width) * variation.shift[0], (picture.height - height) * variation.shift[1]
    box = (left, top, left + width, top + height)
    small = np.asarray(picture.resize(size, Image.Resampling.BILINEAR, box=box), np.float32)
    if variation.mirror:
        small = small[:, ::-1]
    toned = small * np.array(variation.gains, np.float32)
    toned = toned + grain.normal(0, variation.noise, small.shape[:2]).astype(np.float32)[..., None]
    return np.ascontiguousarray(np.clip(toned, 0, 255).astype(np.uint8))


@lru_cache(maxsize=64)
def _draw_densely(clip: str) -> Sequence[Image.Image]:
    from vivant.build.mimic.world.drawings.clips import draw_clip, load_clips

    clips = load_clips()
    if clip not in clips:
        raise unknown_name_error("clip", clip, clips)
    return [Image.fromarray(draw_clip(clips[clip], n / (_DENSE - 1))) for n in range(_DENSE)]
