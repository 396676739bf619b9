"""Subtitles in prompts: those of the part of the video that is asked about."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from vivant.core.types import Cue, Sample, Video
from vivant.media.paths import resolve_media
from vivant.media.shown_cues import NONE
from vivant.media.subtitles import format_cues, read_subtitles, select_cues

FIELD, OFFSET = "subtitles", "subtitles_from"
"""Where `Sample.extra` holds the file or the text, and the time of the subtitles' clock at which the video begins."""
_ENDINGS = (".srt", ".vtt", ".json")


def is_subtitle_file(value: str) -> bool:
    """Whether a value is the path of a subtitle file rather than the text itself."""
    return value.lower().endswith(_ENDINGS) and "\n" not in value


def show_subtitles(sample: Sample, folder: Path) -> str:
    """The subtitles of a sample as text, those within the clip alone.

    Args:
        sample: The question.
        folder: The folder that media paths are relative to.
    """
    value = str(sample.extra.get(FIELD, ""))
    if not value:
        return NONE
    if not is_subtitle_file(value):
        return value
    video = next((part for part in sample.question if isinstance(part, Video)), None)
    cues = _read(resolve_media(folder, value), float(sample.extra.get(OFFSET, 0.0)))
    start, end = (video.start, video.end) if video is not None else (None, None)
    return format_cues(cues, start, end) or NONE


def find_cues(sample: Sample, folder: Path) -> tuple[Cue, ...]:
    """The cues of a sample's subtitle file within its clip; none where it has a text, or no subtitles."""
    value = str(sample.extra.get(FIELD, ""))
    video = next((part for part in sample.question if isinstance(part, Video)), None)
    if video is None or not is_subtitle_file(value):
        return ()
    cues = _read(resolve_media(folder, value), float(sample.extra.get(OFFSET, 0.0)))
    return tuple(select_cues(cues, video.start, video.end))


@lru_cache(maxsize=64)
def _read(file: str, offset: float) -> tuple[Cue, ...]:
    return tuple(read_subtitles(Path(file), offset))
