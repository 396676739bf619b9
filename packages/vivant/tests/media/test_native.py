"""Media as files: videos for models that take them, sound."""

from __future__ import annotations

import io
import wave
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from tests.support.media_kit import job, load, make_video, numbers
from vivant.core.errors import MediaError
from vivant.core.types import (
    Audio,
    Clip,
    FramePolicy,
    Sound,
    Text,
    Video,
    VideoInput,
)
from vivant.media import MediaLoader


def test_native_video_is_the_file(loader: MediaLoader, data: Path) -> None:
    loaded = load(loader, job(data, Video("mute.mp4")), video=VideoInput("file"))
    clip = loaded.turns[0].parts[1]
    assert isinstance(clip, Clip)
    assert (clip.frames, clip.path, clip.media_type) == ((), str(data / "mute.mp4"), "video/mp4")
    assert clip.fps is None
    (use,) = loaded.media
    assert (use.times, use.shown_as, use.fps) == ((), "file", None)
    assert use.note == "the server chooses the frames"


@pytest.mark.parametrize(
    ("policy", "fps"),
    [
        (FramePolicy(count=8), 4.0),
        (FramePolicy(select="fps", fps=2), 2.0),
        (FramePolicy(select="fps", fps=10, cap=4), 2.0),
        (FramePolicy(select="every", every=15), 2.0),
        (FramePolicy(select="all"), 30.0),
        (FramePolicy(count=999), 30.0),
    ],
)
def test_a_server_that_can_be_told_is_told_the_policy_as_a_rate(
    loader: MediaLoader, data: Path, policy: FramePolicy, fps: float
) -> None:
    asked = job(data, Video("mute.mp4"), frames=policy)
    loaded = load(loader, asked, video=VideoInput("file", sampling=True))
    clip = loaded.turns[0].parts[1]
    assert isinstance(clip, Clip) and clip.timing is not None
    assert (clip.timing.rate, clip.timing.total, clip.timing.duration) == (30.0, 60, 2.0)
    assert clip.policy == policy
    assert clip.fps == pytest.approx(fps)
    assert loaded.media[0].fps == pytest.approx(fps)
    assert loaded.media[0].note == ""


def test_a_part_goes_as_a_file_to_a_server_that_takes_offsets(loader: MediaLoader, data: Path) -> None:
    asked = job(data, Video("mute.mp4", 0.5, 1.5), frames=FramePolicy(count=4))
    video = VideoInput("file", sampling=True, windows=True)
    clip = load(loader, asked, video=video).turns[0].parts[1]
    assert isinstance(clip, Clip) and clip.timing is not None
    assert (clip.frames, clip.timing.start, clip.timing.end) == ((), 0.5, 1.5)
    assert clip.timing.total == 30
    assert clip.fps == pytest.approx(4.0)


@pytest.mark.parametrize("form", ["images", "video"])
def test_frames_are_recorded_with_their_rate_and_size(
    loader: MediaLoader, data: Path, form: Literal["images", "video"]
) -> None:
    asked = job(data, Video("mute.mp4", 1.0), frames=FramePolicy(count=4, longest_side=80))
    (use,) = load(loader, asked, video=VideoInput(form)).media
    assert (use.shown_as, use.fps, use.size, len(use.times)) == (form, 4.0, (80, 60), 4)


@pytest.mark.parametrize(
    ("part", "settings"),
    [
        (Video("mute.mp4", 0.5, 1.0), {}),
        (Video("mute.mp4"), {"control": "reversed"}),
        (Video("mute.mp4"), {"frames": FramePolicy(end=1.0)}),
    ],
)
def test_what_a_file_cannot_honour_is_shown_as_frames(
    loader: MediaLoader, data: Path, part: Video, settings: dict[str, Any]
) -> None:
    loaded = load(loader, job(data, part, **settings), video=VideoInput("file"))
    assert numbers(loaded) == numbers(load(loader, job(data, part, **settings)))
    assert loaded.media[0].note == "shown as frames, not as a file"


def heard(sound: object) -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    assert isinstance(sound, Sound) and sound.media_type == "audio/wav"
    with wave.open(io.BytesIO(sound.data)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16_000, 1, 2)
        return np.frombuffer(file.readframes(file.getnframes()), np.int16)


def pitch(samples: np.ndarray[tuple[int, ...], np.dtype[np.int16]]) -> float:
    spectrum = np.abs(np.fft.rfft(samples.astype(float)))
    return float(np.argmax(spectrum) * 16_000 / len(samples))


def test_sound_follows_its_video(loader: MediaLoader, data: Path) -> None:
    loaded = load(loader, job(data, Video("talk.mp4"), Text("?"), Video("mute.mp4")), audio=True)
    assert [type(p).__name__ for p in loaded.turns[0].parts] == ["Text", "Clip", "Sound", "Text", "Clip"]
    assert [use.kind for use in loaded.media] == ["video", "audio", "video"]
    samples = heard(loaded.turns[0].parts[2])
    assert len(samples) == pytest.approx(3 * 16_000, abs=1600)
    assert pitch(samples) == pytest.approx(440, abs=2)


def test_sound_of_a_part(loader: MediaLoader, data: Path) -> None:
    loaded = load(loader, job(data, Video("talk.mp4", 1.0, 1.75)), audio=True)
    samples = heard(loaded.turns[0].parts[2])
    assert len(samples) == 12_000
    assert np.abs(samples).max() > 5000 and pitch(samples) == pytest.approx(440, abs=3)


def test_sound_that_starts_late_is_preceded_by_silence(loader: MediaLoader, tmp_path: Path) -> None:
    import av

    make_video(tmp_path / "plain.mkv", 60, sound=1.0)
    with av.open(str(tmp_path / "plain.mkv")) as given, av.open(str(tmp_path / "late.mkv"), "w") as out:
        copies = {stream.index: out.add_stream_from_template(stream) for stream in given.streams}
        for packet in given.demux():
            if packet.dts is None or packet.pts is None:
                continue
            if packet.stream.type == "audio":
                packet.pts += 1000
                packet.dts += 1000
            packet.stream = copies[packet.stream.index]
            out.mux(packet)
    samples = heard(load(loader, job(tmp_path, Video("late.mkv")), audio=True).turns[0].parts[2])
    # The muxer moves all by the few frames that wait for reordering, so the second is not exact.
    assert len(samples) == pytest.approx(2 * 16_000, abs=3200)
    assert np.abs(samples[:12_000]).max() < 200 < 5000 < np.abs(samples[17_000:]).max()


def test_sound_files(loader: MediaLoader, data: Path, tmp_path: Path) -> None:
    tone = (np.sin(np.arange(44_100) * 2 * np.pi * 880 / 44_100) * 8000).astype(np.int16)
    with wave.open(str(tmp_path / "tone.wav"), "wb") as file:
        file.setparams((2, 2, 44_100, 0, "NONE", ""))
        file.writeframes(np.repeat(tone, 2).tobytes())
    samples = heard(load(loader, job(tmp_path, Audio("tone.wav"))).turns[0].parts[1])
    assert len(samples) == pytest.approx(16_000, abs=16) and pitch(samples) == pytest.approx(880, abs=2)
    with pytest.raises(MediaError, match=r"mute\.mp4 has no sound"):
        load(loader, job(data, Audio("mute.mp4")))
    (tmp_path / "page.mp3").write_text("<html>")
    with pytest.raises(MediaError, match=r"page\.mp3 is an HTML page"):
        load(loader, job(tmp_path, Audio("page.mp3")))
