"""Frames and sound as the cache holds them."""

from __future__ import annotations

from msgspec import Struct

from vivant.core.errors import MediaError
from vivant.core.file_types import parse_image_header as look_at
from vivant.core.types import Picture, Sound
from vivant.media.frame_cache import SILENT, Store, flaw_name, frame_name, sound_name
from vivant.media.frame_selection import Want, select

UNDECODABLE, DAMAGED = b"undecodable", b"damaged"


class Frames(Struct, frozen=True, eq=False):
    """The frames of a video that a policy shows, in the video's order, and what was wrong with them."""

    pictures: tuple[Picture, ...]
    note: str = ""


def cached_frames(store: Store, sha256: str, want: Want, name: str) -> Frames | None:
    """All frames that `want` asks for; None where one of them is yet to be decoded.

    Raises MediaError where the video has nothing in that window, or none of its frames can be decoded.
    """
    table = store.table(sha256)
    if table is None:
        return None
    timeline = table.timeline()
    indices = select(timeline, want, name)
    pictures, damaged = [], 0
    for index in indices:
        data = store.read(sha256, frame_name(want.policy, index))
        flaw = store.read(sha256, flaw_name(want.policy, index))
        look = None if data is None else look_at(data)
        if data is None or look is None:
            if flaw == UNDECODABLE:
                continue
            return None
        damaged += flaw is not None
        pictures.append(Picture(data, look.media_type, look.width, look.height, timeline.time(index)))
    if not pictures:
        raise MediaError(f"{name}: none of the {len(indices)} frames wanted can be decoded; fetch it again")
    lost = len(indices) - len(pictures)
    notes = [table.info.note] if table.info.note else []
    notes += [f"{lost} of {len(indices)} frames undecodable"] if lost else []
    notes += [f"{damaged} of {len(indices)} frames damaged"] if damaged else []
    store.touch(sha256)
    return Frames(tuple(pictures), "; ".join(notes))


class Track(Struct, frozen=True, eq=False):
    """The sound of a file, if it has any."""

    sound: Sound | None
    note: str = ""


def cached_sound(store: Store, sha256: str, start: float | None, end: float | None) -> Track | None:
    """The sound between two times; None where it is yet to be decoded."""
    entry = sound_name(start, end)
    data = store.read(sha256, entry)
    if data is None:
        return None if store.read(sha256, SILENT) is None else Track(None)
    store.touch(sha256)
    return Track(Sound(data, "audio/wav"), (store.read(sha256, f"{entry}.flaw") or b"").decode())
