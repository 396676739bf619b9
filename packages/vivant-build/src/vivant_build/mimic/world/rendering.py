"""The world's videos as files: a topic's clip, seen differently each time.

Each clip is drawn once, densely, apart from what is behind it; a video is then a choice of those pictures with a seeded
look: before a backdrop of its own, smaller or larger, elsewhere, mirrored, tilted, tinted, faster or slower, noisy. So
neither mean colour nor layout names a topic. A topic that is a clip backwards has the same pictures in the other
order, under looks drawn from the same distribution, so that no single frame tells the two apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from PIL import Image

from vivant.core.errors import unknown_name_error
from vivant_build.mimic.world.backdrops import PATTERNS, Backdrop, draw_backdrop, paint_backdrop
from vivant_build.mimic.world.phrases import WorldTopic
from vivant_build.mimic.world.platform import array_generator

Pixels = NDArray[np.uint8]
_DENSE = 33
"""Pictures drawn of each clip."""
_SCALES = (0.6, 1.1)
_BLACK, _WHITE = "(0, 0, 0)", "(255, 255, 255)"


class ClipVariation(Struct, frozen=True):
    """How one video differs from another of its topic."""

    mirror: bool
    gains: tuple[float, float, float]
    scale: float
    """Size of the drawing; at 1 it fills the picture."""
    shift: tuple[float, float]
    """Where the drawing lies in what its scale leaves free, or is cut, from 0 to 1 each way."""
    tilt: float
    """In degrees."""
    start: float
    end: float
    """The stretch of the clip that is shown."""
    noise: float
    backdrop: Backdrop


def draw_variation(seed: int, patterns: Sequence[str] = tuple(PATTERNS)) -> ClipVariation:
    """A look drawn from a video's own seed, before a backdrop of one of these patterns."""
    rng = array_generator(seed, "look")
    bright = rng.uniform(0.8, 1.15)
    gains = rng.uniform(0.85, 1.15, 3) * bright
    return ClipVariation(
        mirror=bool(rng.random() < 0.5),
        gains=(float(gains[0]), float(gains[1]), float(gains[2])),
        scale=float(rng.uniform(*_SCALES)),
        shift=(float(rng.random()), float(rng.random())),
        tilt=float(rng.uniform(-8, 8)),
        start=float(rng.uniform(0.0, 0.12)),
        end=float(rng.uniform(0.88, 1.0)),
        noise=float(rng.uniform(0, 5)),
        backdrop=draw_backdrop(rng, tuple(patterns)),
    )


def render_video(
    topic: WorldTopic,
    seed: int,
    out: Path,
    *,
    size: tuple[int, int] = (128, 96),
    seconds: float = 2.0,
    fps: int = 8,
    patterns: Sequence[str] = tuple(PATTERNS),
) -> int:
    """Write one video as MP4 and return its number of frames."""
    from vivant_build.mime.video import encode

    out.parent.mkdir(parents=True, exist_ok=True)
    frames = draw_frames(topic, seed, size, round(seconds * fps), patterns)
    return encode(frames, out, fps, crf=26, preset="veryfast")


def draw_frames(
    topic: WorldTopic,
    seed: int,
    size: tuple[int, int],
    count: int,
    patterns: Sequence[str] = tuple(PATTERNS),
) -> Iterator[Pixels]:
    """The pictures of one video, in order."""
    variation = draw_variation(seed, patterns)
    pictures = _draw_densely(topic.clip)
    times = np.linspace(variation.start, variation.end, count)
    if topic.motion == "reverse":
        # The stretch shown is mirrored in time as well, so that its ends tell nothing about the direction.
        times = 1.0 - times
    grain = array_generator(seed, "grain")
    backdrop = paint_backdrop(variation.backdrop, size)
    for time in times:
        drawing = pictures[round(float(time) * (_DENSE - 1))]
        yield _compose(drawing, backdrop, variation, size, grain)


def _compose(
    drawing: Image.Image,
    backdrop: NDArray[np.float32],
    variation: ClipVariation,
    size: tuple[int, int],
    grain: np.random.Generator,
) -> Pixels:
    """The drawing before the backdrop, mirrored together, toned and with grain."""
    placed = drawing.transform(
        size, Image.Transform.AFFINE, _placement(drawing.size, variation, size), Image.Resampling.BILINEAR
    )
    layer = np.asarray(placed, np.float32)
    covered = layer[..., 3:] / 255
    small = layer[..., :3] * np.array(variation.gains, np.float32) + backdrop * (1 - covered)
    if variation.mirror:
        small = small[:, ::-1]
    small = small + grain.normal(0, variation.noise, small.shape[:2]).astype(np.float32)[..., None]
    return np.ascontiguousarray(np.clip(small, 0, 255).astype(np.uint8))


def _placement(
    drawn: tuple[int, int], variation: ClipVariation, size: tuple[int, int]
) -> tuple[float, float, float, float, float, float]:
    """From a pixel of the picture to one of the drawing, as PIL wants it."""
    step = drawn[0] / (size[0] * variation.scale), drawn[1] / (size[1] * variation.scale)
    cos, sin = math.cos(math.radians(variation.tilt)), math.sin(math.radians(variation.tilt))
    centre = [
        side * (0.5 + (free - 0.5) * (1 - variation.scale))
        for side, free in zip(size, variation.shift, strict=True)
    ]
    a, b = step[0] * cos, step[0] * sin
    d, e = -step[1] * sin, step[1] * cos
    return (
        *(a, b, drawn[0] / 2 - a * centre[0] - b * centre[1]),
        *(d, e, drawn[1] / 2 - d * centre[0] - e * centre[1]),
    )


@lru_cache(maxsize=64)
def _draw_densely(clip: str) -> Sequence[Image.Image]:
    """A clip's pictures without what is behind it: colours times how much they cover, and how much they cover."""
    from vivant_build.mimic.world.drawings.clips import draw_clip, load_clips

    clips = load_clips()
    if clip not in clips:
        raise unknown_name_error("clip", clip, clips)
    ground = clips[clip].ground
    dark, light = (
        msgspec.structs.replace(clips[clip], sky=colour, ground=colour if ground else None)
        for colour in (_BLACK, _WHITE)
    )
    pictures = []
    for number in range(_DENSE):
        on_dark, on_light = (draw_clip(each, number / (_DENSE - 1)) for each in (dark, light))
        behind = (on_light.astype(np.int16) - on_dark).max(axis=-1, keepdims=True)
        layers = np.concatenate([on_dark, (255 - behind).clip(0, 255).astype(np.uint8)], axis=-1)
        pictures.append(Image.fromarray(layers, "RGBA"))
    return pictures
