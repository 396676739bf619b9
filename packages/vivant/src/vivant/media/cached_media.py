"""Frames and sound as the cache holds them."""

from __future__ import annotations

from msgspec import Struct

from vivant.core.errors import MediaError
from vivant.core.file_types import parse_image_header
from vivant.core.types import ClipTiming, Picture, Sound
from vivant.media.frame_cache import SILENT, FrameCache, FrameTable, flaw_name, frame_name, sound_name
from vivant.media.frame_selection import FrameSelection, select_frames, select_window

UNDECODABLE, DAMAGED, AFTER_DAMAGE = b"undecodable", b"damaged", b"after damage"


class LoadedFrames(Struct, frozen=True, eq=False):
    """The frames of a video that a policy shows, in the video's order, and what was wrong with them."""

    pictures: tuple[Picture, ...]
    timing: ClipTiming
    note: str = ""


def measure_timing(table: FrameTable, want: FrameSelection, name: str) -> ClipTiming:
    """The part of a video that `want` chooses from."""
    timeline = table.timeline()
    window = select_window(timeline, want, name)
    stop = timeline.time(window.stop) if window.stop < len(timeline.pts) else timeline.duration
    seconds = stop - timeline.time(window.start)
    start, end = want.limits
    return ClipTiming(table.info.fps, len(window), seconds, start, end)


def read_cached_frames(
    cache: FrameCache, sha256: str, want: FrameSelection, name: str
) -> LoadedFrames | None:
    """All frames that `want` asks for; None where one of them is yet to be decoded.

    Raises MediaError where the video has nothing in that window, or none of its frames can be decoded.
    """
    table = cache.table(sha256)
    if table is None:
        return None
    timeline = table.timeline()
    indices = select_frames(timeline, want, name)
    pictures, damaged, after = [], 0, 0
    for index in indices:
        data = cache.read(sha256, frame_name(want.policy, index))
        flaw = cache.read(sha256, flaw_name(want.policy, index))
        header = None if data is None else parse_image_header(data)
        if data is None or header is None:
            if flaw == UNDECODABLE:
                continue
            return None
        damaged += flaw is not None and flaw != AFTER_DAMAGE
        after += flaw == AFTER_DAMAGE
        pictures.append(Picture(data, header.media_type, header.width, header.height, timeline.time(index)))
    if not pictures:
        raise MediaError(f"{name}: none of the {len(indices)} frames wanted can be decoded; fetch it again")
    lost = len(indices) - len(pictures)
    notes = [table.info.note] if table.info.note else []
    notes += [f"{lost} of {len(indices)} frames undecodable"] if lost else []
    notes += [f"{damaged} of {len(indices)} frames damaged"] if damaged else []
    notes += [f"{after} of {len(indices)} frames follow damage and may show it"] if after else []
    cache.touch(sha256)
    return LoadedFrames(tuple(pictures), measure_timing(table, want, name), "; ".join(notes))


class SoundTrack(Struct, frozen=True, eq=False):
    """The sound of a file, if it has any."""

    sound: Sound | None
    note: str = ""


def read_cached_sound(
    cache: FrameCache, sha256: str, start: float | None, end: float | None
) -> SoundTrack | None:
    """The sound between two times; None where it is yet to be decoded."""
    entry = sound_name(start, end)
    data = cache.read(sha256, entry)
    if data is None:
        return None if cache.read(sha256, SILENT) is None else SoundTrack(None)
    cache.touch(sha256)
    return SoundTrack(Sound(data, "audio/wav"), (cache.read(sha256, f"{entry}.flaw") or b"").decode())
