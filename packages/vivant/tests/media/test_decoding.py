"""Chosen frames are the frames that a full decode from the start gives, to the last pixel, on any file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.media_kit import (
    SIZE,
    Pixels,
    cut_copy,
    full_decode,
    make_video,
    number_of,
    set_edit_list,
    set_matrix,
    uneven,
)
from vivant.core.errors import MediaError
from vivant.media.decoding import decode_frames
from vivant.media.encoding import FrameEncoder
from vivant.media.frame_selection import spread_evenly
from vivant.media.scan import VideoScan, scan_video


def _hidden_vp8(folder: Path) -> Path:
    """VP8 as libvpx writes it with alternate references: packets that are decoded but never shown."""
    source = make_video(
        folder / "plain.webm", codec="libvpx", options={"b": "300k", "cpu-used": "8", "g": "20"}
    )
    target = folder / "hidden.webm"
    with av.open(str(source)) as given, av.open(str(target), "w") as out:
        stream = given.streams.video[0]
        copy = out.add_stream_from_template(stream)
        for number, packet in enumerate(given.demux(stream)):
            if not packet.size:
                continue
            data = bytearray(bytes(packet))
            if number % 10 == 5:
                data[0] &= ~0x10  # the bit that says "shown"
            altered = av.Packet(bytes(data))
            altered.pts, altered.dts, altered.time_base = packet.pts, packet.dts, packet.time_base
            altered.is_keyframe = packet.is_keyframe
            altered.stream = copy
            out.mux(altered)
    return target


def _cut(folder: Path, options: dict[str, str], suffix: str = "mp4") -> Path:
    source = make_video(folder / f"whole.{suffix}", 90, options=options)
    return cut_copy(source, folder / f"cut.{suffix}", 1.3, 2.7)


def _av1(folder: Path) -> Path:
    """Where it may, this encoder gives the thread that calls it real-time priority and leaves it so; all that the
    tests start afterwards would have it too, and starve the rest of the machine."""
    path = make_video(folder / "a.mp4", codec="libsvtav1", options={"preset": "12", "g": "20"})
    if hasattr(os, "sched_setscheduler"):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return path


_OPEN = {"g": "12", "bf": "3", "x264-params": "open-gop=1:keyint=12:min-keyint=12:scenecut=0"}

MAKERS: dict[str, Callable[[Path], Path]] = {
    "constant": lambda d: make_video(d / "a.mp4"),
    "variable": lambda d: make_video(d / "a.mp4", times=uneven()),
    "variable-mkv": lambda d: make_video(d / "a.mkv", times=uneven()),
    "edit-list": lambda d: _cut(d, {"g": "12", "bf": "2"}),
    "edit-list-open": lambda d: _cut(d, _OPEN),
    "edit-list-twice": lambda d: set_edit_list(make_video(d / "a.mp4"), [(700, 1100), (700, 250)]),
    "edit-list-short": lambda d: set_edit_list(make_video(d / "a.mp4"), [(900, 300)]),
    "cut-mkv-open": lambda d: _cut(d, _OPEN, "mkv"),
    "open-gop": lambda d: make_video(d / "a.mkv", options=_OPEN),
    "one-keyframe": lambda d: make_video(d / "a.mp4", options={"g": "999", "bf": "3", "sc_threshold": "0"}),
    "all-keyframes": lambda d: make_video(d / "a.avi", codec="mjpeg", options={}),
    "fragmented": lambda d: make_video(d / "a.mp4", container={"movflags": "frag_keyframe+empty_moov"}),
    "transport-stream": lambda d: make_video(d / "a.ts"),
    "program-stream": lambda d: make_video(
        d / "a.mpg", 90, codec="mpeg2video", options={"g": "15", "bf": "2"}
    ),
    "avi-b-frames": lambda d: make_video(d / "a.avi"),
    "no-timestamps": lambda d: make_video(d / "a.h264"),
    "sound-first": lambda d: make_video(d / "a.mp4", sound=1.0),
    "odd-size": lambda d: make_video(d / "a.mkv", size=(161, 121), codec="ffv1", options={"g": "8"}),
    "one-frame": lambda d: make_video(d / "a.mp4", 1),
    "hevc": lambda d: make_video(
        d / "a.mp4", 40, codec="libx265", options={"x265-params": "keyint=12:open-gop=1:log-level=none"}
    ),
    "vp9": lambda d: make_video(
        d / "a.webm", codec="libvpx-vp9", options={"b": "200k", "cpu-used": "8", "g": "20"}
    ),
    "av1": _av1,
    "vp8-hidden": _hidden_vp8,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, VideoScan, list[Pixels]]]:
    done: dict[str, tuple[Path, VideoScan, list[Pixels]]] = {}

    def make(kind: str) -> tuple[Path, VideoScan, list[Pixels]]:
        if kind not in done:
            if kind == "av1" and "libsvtav1" not in av.codecs_available:
                pytest.skip("this build of PyAV writes no AV1")
            path = MAKERS[kind](tmp_path_factory.mktemp(kind))
            done[kind] = path, scan_video(str(path), path.name), full_decode(path)
        return done[kind]

    return make


def decoded(path: Path, known: VideoScan, wanted: list[int]) -> dict[int, Pixels]:
    encoder = FrameEncoder()
    return {
        index: encoder.pixels(frame)
        for index, frame in decode_frames(str(path), path.name, known, wanted)
        if frame is not None
    }


@pytest.mark.parametrize("kind", MAKERS)
def test_frames_are_those_of_a_full_decode(
    kind: str, made: Callable[[str], tuple[Path, VideoScan, list[Pixels]]]
) -> None:
    path, known, reference = made(kind)
    count = known.table.info.frames
    assert count == len(reference) > 0
    for wanted in (list(range(count)), spread_evenly(count, 7), [count - 1], [count // 2], [0, count - 1]):
        got = decoded(path, known, wanted)
        assert sorted(got) == sorted(set(wanted))
        for index, pixels in got.items():
            assert np.array_equal(pixels, reference[index]), f"frame {index} when {wanted} are wanted"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["variable", "edit-list-open", "edit-list-twice", "open-gop", "program-stream"]),
    st.data(),
)
def test_any_choice_of_frames(
    made: Callable[[str], tuple[Path, VideoScan, list[Pixels]]], kind: str, data: st.DataObject
) -> None:
    path, known, reference = made(kind)
    wanted = data.draw(st.lists(st.integers(0, len(reference) - 1), min_size=1, max_size=6))
    got = decoded(path, known, wanted)
    assert sorted(got) == sorted(set(wanted))
    assert all(np.array_equal(pixels, reference[index]) for index, pixels in got.items())


def test_the_files_are_what_they_are_called(
    made: Callable[[str], tuple[Path, VideoScan, list[Pixels]]],
) -> None:
    """Without hidden packets, doubled frames and the like, the tests above would prove little."""
    _, known, reference = made("edit-list")
    assert known.packets is not None and len(known.packets.flags) > known.table.info.frames
    assert (
        number_of(reference[0]) == 39
    )  # the frame at 1.3 s, though the file starts with the keyframe before
    numbers = [number_of(pixels) for pixels in made("edit-list-twice")[2]]
    # The part from 1.1 s on, then back to 0.25 s; both two frames early, as frames wait for reordering.
    assert numbers[:21] == list(range(31, 52)) and numbers[21:41] == list(range(6, 26))
    assert made("no-timestamps")[1].table.sequential and made("avi-b-frames")[1].table.sequential
    assert not made("variable")[1].table.info.constant_rate and made("constant")[1].table.info.constant_rate
    assert made("vp8-hidden")[1].table.info.frames == 54


def test_times_are_the_files_own(made: Callable[[str], tuple[Path, VideoScan, list[Pixels]]]) -> None:
    at = uneven()
    timeline = made("variable")[1].table.timeline()
    assert [round(timeline.time(i) * 1000) for i in range(60)] == [at(i) for i in range(60)]
    for kind in ("constant", "no-timestamps", "avi-b-frames", "transport-stream", "sound-first"):
        timeline = made(kind)[1].table.timeline()
        assert [timeline.time(i) for i in (0, 15, 59)] == pytest.approx([0, 0.5, 59 / 30], abs=1e-3)
        assert timeline.duration == pytest.approx(2, abs=2e-3)


def test_what_a_video_is(made: Callable[[str], tuple[Path, VideoScan, list[Pixels]]]) -> None:
    info = made("sound-first")[1].table.info
    assert (info.frames, info.width, info.height, info.has_audio, info.codec) == (60, *SIZE, True, "h264")
    assert info.fps == pytest.approx(30) and info.note == ""
    assert made("odd-size")[1].table.info.width == 161
    assert not made("constant")[1].table.info.has_audio


@pytest.mark.parametrize(
    ("matrix", "back"),
    [
        ((0, 1, -1, 0), lambda image: np.rot90(image, 1)),
        ((0, -1, 1, 0), lambda image: np.rot90(image, -1)),
        ((-1, 0, 0, -1), lambda image: np.rot90(image, 2)),
        ((-1, 0, 0, 1), lambda image: image[:, ::-1]),
        ((0, 1, 1, 0), lambda image: image.transpose(1, 0, 2)),
    ],
)
def test_turned_videos_are_shown_upright(
    tmp_path: Path, matrix: tuple[int, int, int, int], back: Callable[[Pixels], Pixels]
) -> None:
    path = make_video(tmp_path / "a.mp4", 20)
    plain = full_decode(path)
    known = scan_video(str(set_matrix(path, *matrix)), "a.mp4")
    got = decoded(path, known, [0, 13])
    assert all(np.array_equal(back(pixels), plain[index]) for index, pixels in got.items())
    assert got[0].shape[:2] == (known.table.info.height, known.table.info.width)


def test_a_picture_track_that_starts_late_keeps_its_time(tmp_path: Path) -> None:
    path = make_video(tmp_path / "a.mkv", 30, times=lambda number: 2000 + number * 40, sound=3.0)
    timeline = scan_video(str(path), path.name).table.timeline()
    assert timeline.time(0) == pytest.approx(2.0, abs=0.05)


def test_no_video_in_it(tmp_path: Path) -> None:
    path = tmp_path / "song.wav"
    with av.open(str(path), "w") as out:
        stream = out.add_stream("pcm_s16le", rate=16_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1600), np.int16), format="s16", layout="mono")
        frame.sample_rate = 16_000
        out.mux(stream.encode(frame))
    with pytest.raises(MediaError, match=r"song\.wav has no video"):
        scan_video(str(path), path.name)
