"""A story drawn frame by frame and written as H.264, with its notes as an AAC track where it has some."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.audio.stream import AudioStream
from av.video.stream import VideoStream
from PIL import Image

from minis.mmrv.stage import Story, StoryStage
from vivant.build.mimic.world.drawings.canvas import HEIGHT, WIDTH

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
    """Write a story; one thread and no choices by processor, so that the same library writes the same bytes."""
    pictures = list(frames(story))
    with av.open(str(path), "w", options={"movflags": "faststart"}) as container:
        video = container.add_stream("libx264", rate=FPS)
        assert isinstance(video, VideoStream)
        video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        video.time_base = Fraction(1, FPS)
        video.codec_context.thread_count = 1
        video.options = {
            "crf": str(story.quality),
            "preset": "slow",
            "g": str(2 * FPS),
            "threads": "1",
            "x264-params": "cpu-independent=1",
        }
        audio = container.add_stream("aac", rate=RATE, layout="mono") if story.notes else None
        for number, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(np.asarray(picture), format="rgb24")
            frame.pts = number
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
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
