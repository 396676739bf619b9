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

from vivant.build.mimic.world.people import generator
from vivant.build.mimic.world.phrases import Topic
from vivant.core.errors import unknown_name_error

Pixels = NDArray[np.uint8]
_DENSE = 33
"""Pictures drawn of each clip."""


class Look(Struct, frozen=True):
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


def look(seed: int) -> Look:
    """A look drawn from a video's own seed."""
    chance = generator(seed, "look")
    bright = chance.uniform(0.8, 1.15)
    gains = chance.uniform(0.88, 1.12, 3) * bright
    return Look(
        mirror=bool(chance.random() < 0.5),
        gains=(float(gains[0]), float(gains[1]), float(gains[2])),
        zoom=float(chance.uniform(0.8, 1.0)),
        shift=(float(chance.random()), float(chance.random())),
        start=float(chance.uniform(0.0, 0.12)),
        end=float(chance.uniform(0.88, 1.0)),
        noise=float(chance.uniform(0, 6)),
    )


def render(
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
    return encode(frames(topic, seed, size, round(seconds * fps)), out, fps, crf=26, preset="veryfast")


def frames(topic: Topic, seed: int, size: tuple[int, int], count: int) -> Iterator[Pixels]:
    """The pictures of one video, in order."""
    seen = look(seed)
    drawn = _dense(topic.clip)
    places = np.linspace(seen.start, seen.end, count)
    if topic.motion == "reverse":
        # The stretch shown is mirrored in time as well, so that its ends tell nothing about the direction.
        places = 1.0 - places
    grain = generator(seed, "grain")
    for place in places:
        yield _seen(drawn[round(float(place) * (_DENSE - 1))], seen, size, grain)


def _seen(picture: Image.Image, seen: Look, size: tuple[int, int], grain: np.random.Generator) -> Pixels:
    width, height = picture.width * seen.zoom, picture.height * seen.zoom
    left, top = (picture.width - width) * seen.shift[0], (picture.height - height) * seen.shift[1]
    box = (left, top, left + width, top + height)
    small = np.asarray(picture.resize(size, Image.Resampling.BILINEAR, box=box), np.float32)
    if seen.mirror:
        small = small[:, ::-1]
    toned = small * np.array(seen.gains, np.float32)
    toned = toned + grain.normal(0, seen.noise, small.shape[:2]).astype(np.float32)[..., None]
    return np.ascontiguousarray(np.clip(toned, 0, 255).astype(np.uint8))


@lru_cache(maxsize=64)
def _dense(clip: str) -> Sequence[Image.Image]:
    from vivant.build.mimic.world.drawings.clips import draw, load_clips

    clips = load_clips()
    if clip not in clips:
        raise unknown_name_error("clip", clip, clips)
    return [Image.fromarray(draw(clips[clip], n / (_DENSE - 1))) for n in range(_DENSE)]
