"""Jobs become turns: files found and kept inside their folder, controls, native video, sound."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import subprocess
import sys
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from PIL import Image as Pillow

from tests.support.helpers import logged_messages
from tests.support.media_kit import job, make_video, number_of, numbered
from vivant.core.errors import MediaError, UsageError
from vivant.core.types import (
    Audio,
    Clip,
    FramePolicy,
    Image,
    Job,
    Message,
    Picture,
    Sound,
    Text,
    Video,
    VideoInput,
)
from vivant.media import LoadedMedia, MediaLoader, resolve_media
from vivant.media.worker_pool import MediaWorkerPool


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    make_video(root / "talk.mp4", 90, sound=3.0)
    make_video(root / "mute.mp4", 60)
    for number in range(5):
        Pillow.fromarray(numbered(number)).save(root / f"{number}.png")
    return root


@pytest.fixture(scope="module")
def loader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MediaLoader]:
    with MediaLoader(tmp_path_factory.mktemp("cache")) as made:
        yield made


def numbers(loaded: LoadedMedia) -> list[int]:
    """The numbers drawn into all pictures and frames, in the order shown."""
    pictures: list[Picture] = []
    for turn in loaded.turns:
        for part in turn.parts:
            pictures += part.frames if isinstance(part, Clip) else [part] if isinstance(part, Picture) else []
    return [number_of(picture.data) for picture in pictures]


def load(loader: MediaLoader, made: Job, **settings: Any) -> LoadedMedia:
    return asyncio.run(loader.load(made, **settings))


# ── text and structure ──


def test_text_alone_passes_straight_through(loader: MediaLoader) -> None:
    messages = (Message("system", (Text("Be brief."),)), Message("user", (Text("Why?"), Text("How?"))))
    made = Job(key="k", task="t", id="1", messages=messages)
    coroutine = loader.load(made)
    # It finishes without giving way to the event loop once.
    with pytest.raises(StopIteration) as ended:
        coroutine.send(None)
    loaded = ended.value.value
    assert [turn.role for turn in loaded.turns] == ["system", "user"]
    assert [turn.parts for turn in loaded.turns] == [message.parts for message in messages]
    assert loaded.media == () == loader.describe(made)


def test_a_small_picture_needs_no_thread_either(loader: MediaLoader, data: Path) -> None:
    coroutine = loader.load(job(data, Image("3.png")))
    with pytest.raises(StopIteration) as ended:
        coroutine.send(None)
    assert numbers(ended.value.value) == [3]
    assert repr(ended.value.value) == "LoadedMedia(1 turns, 1 media)"


def test_parts_stay_in_their_order(loader: MediaLoader, data: Path) -> None:
    made = Job(
        key="k",
        task="t",
        id="1",
        root=str(data),
        frames=FramePolicy(count=2),
        messages=(
            Message("user", (Image("1.png"), Text("then"), Video("mute.mp4"), Text("?"))),
            Message("assistant", (Text("A"),)),
            Message("user", (Text("and"), Image("2.png"))),
        ),
    )
    loaded = load(loader, made)
    kinds = [[type(part).__name__ for part in turn.parts] for turn in loaded.turns]
    assert kinds == [["Picture", "Text", "Clip", "Text"], ["Text"], ["Text", "Picture"]]
    assert numbers(loaded) == [1, 0, 59, 2]
    assert [(use.kind, use.path) for use in loaded.media] == [
        ("image", "1.png"),
        ("video", "mute.mp4"),
        ("image", "2.png"),
    ]


def test_what_is_described_is_what_is_used(loader: MediaLoader, data: Path) -> None:
    made = job(data, Image("1.png"), Video("talk.mp4"), Audio("talk.mp4"), frames=FramePolicy(count=3))
    described = loader.describe(made)
    used = load(loader, made).media
    assert [(use.kind, use.path, use.sha256) for use in described] == [
        (use.kind, use.path, use.sha256) for use in used
    ]
    assert described[1].sha256 == hashlib.sha256((data / "talk.mp4").read_bytes()).hexdigest()
    assert asyncio.run(loader.identify(made)) == described
    assert used[1].times == pytest.approx((0, 44 / 30, 89 / 30), abs=1e-3)


def test_the_policy_and_the_part_choose_the_frames(loader: MediaLoader, data: Path) -> None:
    second = FramePolicy(select="fps", fps=10, start=1.0)
    assert numbers(load(loader, job(data, Video("mute.mp4", end=1.5), frames=second))) == [
        30,
        33,
        36,
        39,
        42,
    ]
    with pytest.raises(MediaError, match=r"mute\.mp4.*starts at 9 s"):
        load(loader, job(data, Video("mute.mp4", start=9)))
    with pytest.raises(UsageError, match="count"):
        load(loader, job(data, Video("mute.mp4"), frames=FramePolicy(count=0)))


def test_two_questions_about_one_video_decode_it_once(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[int] = []
    run = MediaWorkerPool.run

    def counting(self: MediaWorkerPool, task: Any) -> Any:
        result = run(self, task)
        decoded.append(result)
        return result

    monkeypatch.setattr(MediaWorkerPool, "run", counting)

    async def ask() -> None:
        with MediaLoader(tmp_path) as loader:
            jobs = [job(data, Video("mute.mp4"), frames=FramePolicy(count=4)) for _ in range(6)]
            for loaded in await asyncio.gather(*map(loader.load, jobs)):
                assert numbers(loaded) == [0, 19, 39, 59]

    asyncio.run(ask())
    assert decoded == [4]


# ── controls ──


def test_controls_on_a_video(loader: MediaLoader, data: Path) -> None:
    def under(control: str, seed: int = 1) -> LoadedMedia:
        made = job(data, Video("mute.mp4"), frames=FramePolicy(count=8), control=control, seed=seed)
        return load(loader, made)

    plain = numbers(under("none"))
    assert plain == [0, 8, 16, 25, 33, 42, 50, 59]
    assert numbers(under("one-frame")) == [29]
    assert numbers(under("reversed")) == plain[::-1]
    shuffled = under("shuffled")
    assert sorted(numbers(shuffled)) == plain != numbers(shuffled)
    assert numbers(under("shuffled")) == numbers(shuffled) != numbers(under("shuffled", seed=2))
    # The record says in which order they were shown.
    assert [round(time * 30) for time in shuffled.media[0].times] == numbers(shuffled)
    blind = under("blind")
    assert blind.media == () and blind.turns[0].parts == (Text("Look:"),)
    assert loader.describe(job(data, Video("none.mp4"), control="blind")) == ()


def test_controls_on_pictures_of_one_message(loader: MediaLoader, data: Path) -> None:
    parts = (
        Image("0.png"),
        Text("a"),
        Image("1.png"),
        Image("2.png"),
        Text("b"),
        Image("3.png"),
        Image("4.png"),
    )

    def under(control: str) -> LoadedMedia:
        return load(loader, job(data, *parts, control=control, seed=3))

    assert numbers(under("reversed")) == [4, 3, 2, 1, 0]
    shuffled = under("shuffled")
    assert sorted(numbers(shuffled)) == [0, 1, 2, 3, 4] != numbers(shuffled)
    # Texts keep their places.
    kinds = [type(part).__name__ for part in shuffled.turns[0].parts]
    assert kinds == ["Text", "Picture", "Text", "Picture", "Picture", "Text", "Picture", "Picture"]
    one = under("one-frame")
    assert numbers(one) == [2] and [p.text for p in one.turns[0].parts if isinstance(p, Text)] == [
        "Look:",
        "a",
        "b",
    ]
    assert [use.path for use in one.media] == ["2.png"]
    described = loader.describe(job(data, *parts, control="shuffled", seed=3))
    assert [use.path for use in described] == [use.path for use in shuffled.media]


# ── the file itself, and sound ──


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


# ── paths ──


def test_paths_stay_inside_the_root(tmp_path: Path) -> None:
    root = tmp_path / "data"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "a.png").write_bytes(b"x")
    (tmp_path / "secret").write_bytes(b"x")
    (tmp_path / "data-other").mkdir()
    (tmp_path / "data-other" / "a").write_bytes(b"x")
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "in").symlink_to(root / "sub" / "a.png")
    (root / "folder").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    real = str(root / "sub" / "a.png")
    assert (
        resolve_media(root, "sub/a.png")
        == resolve_media(root, "in")
        == resolve_media(str(root), "sub/../sub/a.png")
        == real
    )
    (tmp_path / "link").symlink_to(root)
    assert resolve_media(tmp_path / "link", "sub/a.png") == real
    for path in ("../secret", "sub/../../secret", str(tmp_path / "secret"), real, "out", "folder/secret"):
        with pytest.raises(MediaError, match="data folder"):
            resolve_media(root, path)
    with pytest.raises(MediaError, match="leads out"):
        resolve_media(root, "../data-other/a")
    for path in ("", "a\0b"):
        with pytest.raises(MediaError, match="no path"):
            resolve_media(root, path)
    for path in ("sub", "pipe"):
        with pytest.raises(MediaError, match="not a file"):
            resolve_media(root, path)
    for path in ("none.png", "sub/a.png/b"):
        with pytest.raises(MediaError, match="is missing from"):
            resolve_media(root, path)


def test_a_relative_root_follows_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(name)
        monkeypatch.chdir(tmp_path / name)
        assert Path(resolve_media("", "a")).read_text() == name


def test_a_file_that_goes_away_is_an_error_of_its_sample(loader: MediaLoader, tmp_path: Path) -> None:
    made = job(tmp_path, Image("a.png"))
    Pillow.fromarray(numbered(1)).save(tmp_path / "a.png")
    assert numbers(load(loader, made)) == [1]
    (tmp_path / "a.png").unlink()
    with pytest.raises(MediaError, match=r"a\.png is missing"):
        load(loader, made)
    with pytest.raises(MediaError, match=r"a\.png is missing"):
        loader.describe(made)


def test_a_runs_own_pictures(loader: MediaLoader, data: Path, tmp_path: Path) -> None:
    Pillow.fromarray(numbered(77)).save(tmp_path / "made.png")
    loaded = load(loader, job(data, Image("run:made.png"), Image("1.png"), run=str(tmp_path)))
    assert numbers(loaded) == [77, 1]
    assert loaded.media[0].path == "run:made.png"
    with pytest.raises(MediaError, match="leads out"):
        load(loader, job(data, Image("run:../1.png"), run=str(tmp_path)))


# ── a cache that cannot be written ──


def test_without_a_usable_cache_a_temporary_folder_serves_with_one_warning(
    data: Path, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    made = job(data, Video("mute.mp4"), frames=FramePolicy(count=3))
    with logged_messages() as messages:
        for _ in range(2):  # a run and its judge
            with MediaLoader(blocked / "cache", workers=1) as own:
                assert numbers(load(own, made)) == [0, 29, 59]
    assert len(messages) == 1 and f"The media cache {blocked}/cache cannot be written" in messages[0]


def test_a_cache_that_can_only_be_read_is_read(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = job(data, Video("mute.mp4"), frames=FramePolicy(count=3))
    with MediaLoader(tmp_path, workers=1) as own:
        load(own, made)

    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    monkeypatch.setattr(MediaWorkerPool, "run", lambda *_: pytest.fail("decoded again"))
    with logged_messages() as messages, MediaLoader(tmp_path, workers=1) as own:
        assert numbers(load(own, made)) == [0, 29, 59]
    assert "(Permission denied)" in messages[0]


def test_the_temporary_folder_is_removed_at_exit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    code = (
        "from pathlib import Path; from vivant.media.frame_cache import find_writable_cache as find\n"
        f"print(find(Path({str(tmp_path)!r}, 'file', 'cache')))"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout.strip()
    assert printed.startswith(str(tmp_path)) and not Path(printed).exists()


def test_importing_loads_no_decoder() -> None:
    code = (
        "import sys, vivant, vivant.media\n"
        "assert not [m for m in ('sqlite3', 'subprocess') if m in sys.modules and m not in before]\n"
        "from vivant.media import MediaLoader, probe, resolve_media, verify, trim_cache, measure_cache\n"
        "print([m for m in ('av', 'PIL', 'simplejpeg', 'numpy') if m in sys.modules])\n"
    )
    code = "import sys; before = set(sys.modules)\n" + code
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
