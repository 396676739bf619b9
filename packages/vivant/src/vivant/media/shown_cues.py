"""Subtitles beside the frames that are shown: listed, or between the frames at their times."""

from __future__ import annotations

from collections.abc import Sequence

from vivant.core.records import Record
from vivant.core.types import Content, Cue, Part, Picture, Text, Video

HEADING = "Subtitles of the video:"
NONE = "(This video has no subtitles.)"
_SHORTEST = 1.0
"""Between frames, a cue covers at least so many seconds around its middle."""


def list_cues(video: Video, times: Sequence[float] | None) -> Text:
    """The cues that are shown beside frames of these times, a line each under a heading; all where none are known."""
    shown = [cue.text for cue in video.cues if times is None or _is_shown(cue, times, video.cues_between)]
    return Text("\n".join((HEADING, *(shown or (NONE,)))) + "\n\n")


def spread_cues(pictures: Sequence[Picture], cues: Sequence[Cue]) -> list[Content]:
    """Frames with cues between them: a cue follows the frames up to its middle. Cues without a frame are left out."""
    times = [picture.time or 0.0 for picture in pictures]
    spread: list[Content] = []
    placed = 0
    for cue in cues:
        while placed < len(pictures) and times[placed] <= (cue.start + cue.end) / 2:
            spread.append(pictures[placed])
            placed += 1
        if _is_shown(cue, times, between=True):
            spread.append(Text(f"{cue.text}\n"))
    return [*spread, *pictures[placed:]]


def _is_shown(cue: Cue, times: Sequence[float], between: bool) -> bool:
    """Whether a frame falls into a cue: lmms-eval's rules for Video-MME and, between frames, for LongVideoBench."""
    if not between:
        return any(cue.start <= time < cue.end for time in times)
    middle = (cue.start + cue.end) / 2
    short = cue.end - cue.start < _SHORTEST
    start, end = (middle - _SHORTEST / 2, middle + _SHORTEST / 2) if short else (cue.start, cue.end)
    return any(start < time < end for time in times)


def write_out_cues(parts: Sequence[Part], record: Record | None) -> list[Part]:
    """Parts as a reader is shown them: after each video, the subtitles at the frames that the record names."""
    shown: list[Part] = []
    for part in parts:
        shown.append(part)
        if isinstance(part, Video) and part.cues:
            uses = record.media if record is not None else ()
            times = [time for use in uses if use.path == part.path for time in use.times]
            shown.append(list_cues(part, times or None))
    return shown
