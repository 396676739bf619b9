"""Videos that no browser plays are found before participants meet them, and can be converted."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from tests.support.media_kit import full_decode, make_video, set_matrix
from tests.support.study_kit import tiny_study
from vivant_study.check import check_study
from vivant_study.make import StudySpec, make_study
from vivant_study.playback import find_playback_fault, read_playback_facts, transcode_video


@pytest.mark.parametrize(
    ("name", "codec", "options", "fault"),
    [
        ("a.mp4", "libx264", None, None),
        ("a.webm", "libvpx-vp9", {"deadline": "realtime"}, None),
        ("a.mp4", "libx265", {"x265-params": "log-level=none"}, "is hevc"),
        ("a.mp4", "mpeg4", {}, "is mpeg4"),
        ("a.mkv", "libx264", None, "is MATROSKA"),
        ("a.avi", "libx264", {"bf": "0"}, "is AVI"),
    ],
)
def test_what_browsers_play(
    tmp_path: Path, name: str, codec: str, options: dict[str, str] | None, fault: str | None
) -> None:
    path = make_video(tmp_path / name, 5, codec=codec, options=options)
    result = find_playback_fault(path, "video")
    assert result is None if fault is None else (result or "").startswith(fault)


def test_a_converted_video_plays_and_keeps_its_times_and_sound(tmp_path: Path) -> None:
    source = make_video(
        tmp_path / "a.mp4", 20, codec="mpeg4", options={}, times=lambda n: n * 40 + n * n, sound=0.5
    )
    transcode_video(source, tmp_path / "b.mp4")
    assert find_playback_fault(tmp_path / "b.mp4", "video") is None
    before, after = (read_playback_facts(str(tmp_path / name)) for name in ("a.mp4", "b.mp4"))
    assert (after.video, after.pixels, after.audio) == ("h264", "yuv420p", "aac")
    assert after.seconds == pytest.approx(before.seconds, abs=0.1)


@pytest.mark.parametrize("matrix", [(0, 1, -1, 0), (0, -1, 1, 0), (-1, 0, 0, -1), (1, 0, 0, 1)])
def test_a_converted_video_is_shown_the_way_up_that_it_was(tmp_path: Path, matrix: tuple[int, ...]) -> None:
    """As phones write it, which turn no pictures but say how they are to be shown."""
    source = make_video(tmp_path / "a.mp4", 6, size=(96, 64), codec="mpeg4", options={})
    set_matrix(source, *matrix)
    transcode_video(source, tmp_path / "b.mp4")
    before, after = full_decode(source), full_decode(tmp_path / "b.mp4")
    assert len(before) == len(after) == 6
    for first, second in zip(before, after, strict=True):
        assert first.shape == second.shape
        assert np.abs(first.astype(int) - second).mean() < 6


def test_a_converted_video_keeps_the_shape_of_its_pixels(tmp_path: Path) -> None:
    with av.open(str(tmp_path / "a.mp4"), "w") as writer:
        stream = writer.add_stream("mpeg4", rate=30)
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
        stream.codec_context.sample_aspect_ratio = Fraction(4, 3)
        for _ in range(3):
            frame = av.VideoFrame.from_ndarray(np.zeros((64, 96, 3), np.uint8), format="rgb24")
            writer.mux(stream.encode(frame))
        writer.mux(stream.encode(None))
    transcode_video(tmp_path / "a.mp4", tmp_path / "b.mp4")
    with av.open(str(tmp_path / "b.mp4")) as copy:
        assert copy.streams.video[0].sample_aspect_ratio == Fraction(4, 3)


def test_a_study_of_videos_that_browsers_do_not_play(tmp_path: Path) -> None:
    make_video(tmp_path / "old.mp4", 5, codec="mpeg4", options={})
    line = {"id": "1", "question": "What?", "choices": ["a", "b"], "answer": "A", "video": "old.mp4"}
    (tmp_path / "mine.jsonl").write_text(json.dumps(line))
    spec = StudySpec(kind="mcq", origin=(str(tmp_path / "mine.jsonl"),), judgements_per_item=1)
    made = make_study(tmp_path / "plain", spec)
    assert any("old.mp4, which is mpeg4" in note and "--transcode" in note for note in made.notes)
    (fault,) = check_study(tmp_path / "plain").faults
    assert "mpeg4" in fault and "--transcode" in fault
    converted = StudySpec(kind="mcq", origin=spec.origin, judgements_per_item=1, transcode=True)
    make_study(tmp_path / "converted", converted)
    assert check_study(tmp_path / "converted").faults == ()


def test_a_time_limit_that_nobody_can_keep(tmp_path: Path) -> None:
    tiny_study(tmp_path / "short", time_limit=5)
    (fault,) = check_study(tmp_path / "short").faults
    assert "time_limit is 5 seconds" in fault and "6 of 6 items" in fault and "set time_limit to 11" in fault
    tiny_study(tmp_path / "broken", time_limit=5)
    (tmp_path / "broken" / "media" / "m0.mp4").write_bytes(b"no video")
    *broken, fault = check_study(tmp_path / "broken").faults
    assert len(broken) == 1 and "m0.mp4" in broken[0]
    assert "4 of 6 items" in fault and "(item-1, item-2, item-4, item-5;" in fault, "told beside other faults"
    tiny_study(tmp_path / "fine", time_limit=11)
    assert check_study(tmp_path / "fine").faults == ()
