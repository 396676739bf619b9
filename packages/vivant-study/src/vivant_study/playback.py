"""Whether browsers play a study's videos and sounds, how long they take, and copies that every browser plays."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from vivant.core.errors import MediaError
from vivant.core.files import atomic_path

_VIDEO_CODECS = frozenset({"h264", "vp8", "vp9", "av1"})
_AUDIO_CODECS = frozenset({"aac", "mp3", "opus", "vorbis", "flac"})
_SOUND_FILES = frozenset({*_AUDIO_CODECS, "pcm_s16le", "pcm_u8", "pcm_f32le", "pcm_s24le"})
_PIXELS = frozenset({"yuv420p", "yuvj420p"})
"""Eight bits, colour at half size: what every browser decodes."""
_CONTAINERS = frozenset({"mp4", "mov", "m4a", "webm", "ogg", "mp3", "wav", "flac", "aac"})


class PlaybackFacts(Struct, frozen=True, kw_only=True):
    """What a media file says of itself. Codecs are empty where it has no such stream."""

    seconds: float
    containers: frozenset[str]
    video: str = ""
    profile: str = ""
    pixels: str = ""
    audio: str = ""


@lru_cache(maxsize=4096)
def read_playback_facts(path: str) -> PlaybackFacts:
    """What a file says of itself. Raises MediaError where it cannot be opened."""
    import av

    try:
        with av.open(path) as container:
            containers = frozenset(container.format.name.split(","))
            if containers == {"matroska", "webm"}:
                with open(path, "rb") as file:
                    containers = frozenset({"webm" if b"webm" in file.read(4096) else "matroska"})
            video = next(iter(container.streams.video), None)
            audio = next(iter(container.streams.audio), None)
            return PlaybackFacts(
                seconds=float(container.duration or 0) / av.time_base,
                containers=containers,
                video=video.codec_context.name if video else "",
                profile=(video.profile or "") if video else "",
                pixels=(video.pix_fmt or "") if video else "",
                audio=audio.codec_context.name if audio else "",
            )
    except (av.FFmpegError, OSError) as error:
        raise MediaError(f"{Path(path).name} cannot be played: {error}") from error


def media_duration(path: str) -> float:
    """How long a file plays, in seconds; 0 where it does not say."""
    return read_playback_facts(path).seconds


def find_playback_fault(path: Path, kind: str) -> str | None:
    """Why some browsers do not play a video or sound, as the end of a sentence; None where all do."""
    facts = read_playback_facts(str(path))
    if kind == "audio":
        if facts.audio in _SOUND_FILES and facts.containers & _CONTAINERS:
            return None
        return f"is {facts.audio or 'no sound'} in {'/'.join(sorted(facts.containers))}"
    # Decoders are named after their library where FFmpeg has several.
    codec = facts.video.removeprefix("lib").replace("dav1d", "av1").replace("vpx-", "")
    if not facts.containers & _CONTAINERS:
        return f"is {'/'.join(sorted(facts.containers)).upper()}"
    if codec not in _VIDEO_CODECS:
        return f"is {codec or 'no video'}"
    if facts.pixels and facts.pixels not in _PIXELS:
        return f"is {codec} {facts.profile} with {facts.pixels} pixels"
    if facts.audio and facts.audio.removeprefix("lib") not in _AUDIO_CODECS | {"mp3float"}:
        return f"has {facts.audio} sound"
    return None


def transcode_video(source: Path, target: Path) -> None:
    """Write an MP4 that every browser plays: H.264 with eight bits at half colour size, sound as AAC.

    Frames keep their times, so a video of variable frame rate stays as it is. The target is whole or absent.
    """
    import av

    try:
        turned, exchanged = _read_orientation(source)
        with atomic_path(target) as temporary:
            options = {"movflags": "faststart"}
            with (
                av.open(str(source)) as reader,
                av.open(str(temporary), "w", "mp4", options=options) as writer,
            ):
                _copy_streams(reader, writer, turned=turned, exchanged=exchanged)
    except (av.FFmpegError, ValueError) as error:
        raise MediaError(f"{source} cannot be converted: {error}") from error


def _read_orientation(path: Path) -> tuple[bool, bool]:
    """Whether a video's pictures are to be turned before they are shown, and whether that exchanges their sides."""
    import av

    from vivant.media.scan import frame_orientation

    with av.open(str(path)) as reader:
        orientation = next(map(frame_orientation, reader.decode(video=0)), (False, False, False))
    return any(orientation), orientation[0]


def _copy_streams(reader: Any, writer: Any, *, turned: bool, exchanged: bool) -> None:
    from vivant.media.encoding import FrameEncoder

    source = reader.streams.video[0]
    sound = next(iter(reader.streams.audio), None)
    width, height = (source.height, source.width) if exchanged else (source.width, source.height)
    video = writer.add_stream("libx264", rate=Fraction(source.average_rate or 30), options={"crf": "18"})
    # H.264 with colour at half size needs even sides.
    video.width, video.height, video.pix_fmt = width // 2 * 2, height // 2 * 2, "yuv420p"
    video.time_base = video.codec_context.time_base = source.time_base
    if aspect := source.sample_aspect_ratio:
        video.codec_context.sample_aspect_ratio = 1 / aspect if exchanged else aspect
    audio = writer.add_stream("aac", rate=sound.rate) if sound else None
    encoder = FrameEncoder()
    for packet in reader.demux([stream for stream in (source, sound) if stream is not None]):
        for frame in packet.decode():
            if packet.stream is source:
                # A phone held upright writes turned pictures, and says so in the file; the copy has them upright.
                upright = _turn_frame(frame, encoder) if turned else frame
                upright = upright.reformat(video.width, video.height, "yuv420p")
                upright.pict_type = 0
                writer.mux(video.encode(upright))
            elif audio is not None:
                writer.mux(audio.encode(frame))
    for stream in (video, audio):
        if stream is not None:
            writer.mux(stream.encode(None))


def _turn_frame(frame: Any, encoder: Any) -> Any:
    import av

    turned = av.VideoFrame.from_ndarray(encoder.pixels(frame), format="rgb24")
    turned.pts, turned.time_base = frame.pts, frame.time_base
    return turned
