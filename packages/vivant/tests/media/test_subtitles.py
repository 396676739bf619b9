"""Subtitles in published forms: SRT with tags, WebVTT, and two kinds of JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from vivant.core.errors import DataError
from vivant.core.records import MediaUse, Record
from vivant.core.types import Content, Cue, Picture, Reply, Text, Video
from vivant.media.shown_cues import list_cues, spread_cues, write_out_cues
from vivant.media.subtitles import format_cues, parse_time, read_subtitles


def test_srt_and_vtt_are_read(tmp_path: Path) -> None:
    srt = tmp_path / "a.srt"
    srt.write_bytes(
        b'\xef\xbb\xbf1\r\n00:00:01,500 --> 00:00:03,000\r\n<font color="white">Hello</font>\r\nthere\r\n\r\n'
        b"2\r\n01:00:00,000 --> 01:00:01,000\r\n\r\n"
    )
    assert read_subtitles(srt) == [Cue(1.5, 3.0, "Hello there")]
    vtt = tmp_path / "a.vtt"
    vtt.write_text("WEBVTT\n\nNOTE x\n\n00:01.000 --> 00:02.000 align:start\n<v Ann>Hi\n")
    assert read_subtitles(vtt) == [Cue(1.0, 2.0, "Hi")]


def test_both_kinds_of_json_are_read_with_their_clock(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(
        '[{"timestamp": [11.0, 12.5], "text": "one"}, {"timestamp": [13.0, null], "text": "two"}]'
    )
    assert read_subtitles(file, 10.0) == [Cue(1.0, 2.5, "one"), Cue(3.0, 3.0, "two")]
    file.write_text('[{"start": "00:00:01.000", "end": "00:00:02.000", "line": "three"}]')
    assert read_subtitles(file) == [Cue(1.0, 2.0, "three")]
    file.write_text("{")
    with pytest.raises(DataError, match="no subtitles that can be read"):
        read_subtitles(file)


def test_cues_of_a_clip_alone_are_shown() -> None:
    cues = [Cue(0, 1, "a"), Cue(1, 2, "b"), Cue(2, 3, "b"), Cue(3, 4, "c")]
    assert format_cues(cues) == "a\nb\nc"
    assert format_cues(cues, 1, 3) == "b"
    assert format_cues([Cue(-3, -2, "before the video"), Cue(0, 1, "a")]) == "a"


def test_times_in_every_form() -> None:
    assert parse_time("1:02:03,5") == 3723.5
    assert parse_time("7") == parse_time(7) == parse_time(7.0) == 7.0
    assert parse_time("") is parse_time(None) is parse_time(float("nan")) is None


def show(parts: list[Content]) -> list[float | str | None]:
    assert all(isinstance(part, Text | Picture) for part in parts)
    return [part.text.strip() if isinstance(part, Text) else getattr(part, "time", None) for part in parts]


def test_cues_stand_between_the_frames_that_they_cover() -> None:
    """The figures are those of LongVideoBench's own way of doing it, as two harnesses have it."""
    frames = [Picture(b"", "image/jpeg", 1, 1, time) for time in (0.0, 2.0, 4.0, 6.0)]
    assert show(spread_cues(frames, [])) == [0.0, 2.0, 4.0, 6.0]
    cues = [
        Cue(0.0, 1.5, "at no frame, for its ends do not count"),
        Cue(1.0, 3.0, "around one frame"),
        Cue(1.5, 6.5, "over three frames"),
        Cue(4.2, 4.3, "too short, so half a second more to each side"),
        Cue(4.6, 4.7, "too far from any"),
        Cue(9.0, 9.9, "after the last"),
    ]
    texts = [cue.text for cue in cues]
    assert show(spread_cues(frames, cues)) == [0.0, 2.0, texts[1], 4.0, texts[2], texts[3], 6.0]


def test_cues_at_the_frames_are_listed() -> None:
    video = Video("a.mp4", cues=(Cue(0.0, 2.0, "one"), Cue(2.0, 4.0, "two"), Cue(5.0, 6.0, "three")))
    assert list_cues(video, [2.0]).text.splitlines()[1:-1] == ["two"]
    assert list_cues(video, [0.0, 5.9]).text.splitlines()[1:-1] == ["one", "three"]
    assert list_cues(video, None).text.splitlines()[1:-1] == ["one", "two", "three"]
    assert "no subtitles" in list_cues(video, [9.0]).text


def test_what_was_shown_is_written_out_for_readers() -> None:
    video = Video("a.mp4", cues=(Cue(0.0, 2.0, "one"), Cue(2.0, 4.0, "two")))
    record = Record(
        key="k",
        task="t/t",
        id="1",
        media=(MediaUse("video", "a.mp4", "0", times=(2.5,)),),
        reply=Reply(text="A"),
    )
    parts = write_out_cues([video, Text("What?")], record)
    assert [type(part) for part in parts] == [Video, Text, Text]
    assert "two" in str(parts[1])
    assert "one" not in str(parts[1])
    assert write_out_cues([Video("b.mp4")], record) == [Video("b.mp4")]
