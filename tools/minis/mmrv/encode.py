"""A story drawn frame by frame and written as H.264, with its notes as an AAC track where it has some."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.audio.stream import AudioStream
from PIL import Image

from minis.mmrv.stage import Story, StoryStage
from vivant_build.mime.video import VideoWriter
from vivant_build.mimic.world.drawings.canvas import HEIGHT, WIDTH

FPS = 12
RATE = 22050
_BLOCK = 1024  # samples in a packet of AAC


def frames(story: Story) -> Iterator[Image.Image]:
    """All pictures of a story, in order."""
    for scene in story.scenes:
        count = round(scene.seconds * FPS)
        for number in range(count):
            stage = StoryStage(scene.sky, scene.ground, scene.horizon)
            scene.draw(stage, number / max(count - 1, 1))
            yield stage.picture()


def tune(notes: tuple[float, ...], seconds: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The notes one after the other, each with a soft start and end."""
    times = np.arange(int(seconds * RATE)) / RATE
    length = seconds / len(notes)
    place = np.minimum((times / length).astype(int), len(notes) - 1)
    pitch = np.array(notes)[place]
    inside = times / length - place
    envelope = np.minimum(np.minimum(inside * 12, (1 - inside) * 4), 1).clip(0)
    phase = 2 * np.pi * pitch * times
    wave = np.sin(phase) + 0.3 * np.sin(2 * phase)
    heard: np.ndarray[tuple[int], np.dtype[np.float32]] = (0.25 * envelope * wave).astype(np.float32)
    return heard


def encode(story: Story, path: Path) -> None:
    """Write a story. The same libraries write the same bytes on any processor, but for the few with sound.

    The AAC encoder's arithmetic follows the processor.
    """
    pictures = list(frames(story))
    with av.open(str(path), "w", options={"movflags": "faststart"}) as container:
        video = VideoWriter(
            container,
            (WIDTH, HEIGHT),
            Fraction(FPS),
            crf=story.quality,
            preset="slow",
            seconds_between_keys=2.0,
        )
        audio = container.add_stream("aac", rate=RATE, layout="mono") if story.notes else None
        for picture in pictures:
            video.write(np.asarray(picture))
        video.finish()
        if isinstance(audio, AudioStream):
            audio.bit_rate = 32000
            sound = tune(story.notes, len(pictures) / FPS)
            for start in range(0, len(sound), _BLOCK):
                block = sound[start : start + _BLOCK].reshape(1, -1)
                heard = av.AudioFrame.from_ndarray(block, format="fltp", layout="mono")
                heard.sample_rate = RATE
                heard.pts = start
                heard.time_base = Fraction(1, RATE)
                container.mux(audio.encode(heard))
            container.mux(audio.encode(None))
