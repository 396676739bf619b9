"""Put frames and sound of a file into the cache, decoding it once for all who ask. Runs in a worker."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

from vivant.core.types import FramePolicy
from vivant.media.audio import write_wav
from vivant.media.cached_media import AFTER_DAMAGE, DAMAGED, UNDECODABLE
from vivant.media.decoding import decode_frames, find_frames_after_damage
from vivant.media.encoding import FrameEncoder
from vivant.media.frame_cache import SILENT, FrameCache, encoding_key, flaw_name, frame_name, sound_name
from vivant.media.frame_selection import FrameSelection, select_frames
from vivant.media.scan import VideoScan, scan_video


def load_scan(cache: FrameCache, sha256: str, path: str, name: str, threads: int = 0) -> VideoScan:
    """A video's table: from the cache, or made and put there."""
    table = cache.table(sha256)
    if table is not None:
        packets = None if table.sequential else cache.packets(sha256)
        if table.sequential or packets is not None:
            return VideoScan(table, packets)
    result = scan_video(path, name, threads)
    cache.write_table(sha256, result.table, result.packets)
    return result


def extract_frames(
    cache: FrameCache, sha256: str, path: str, name: str, wants: Iterable[FrameSelection], threads: int = 0
) -> int:
    """Bring the frames of all `wants` into the cache and return how many had to be decoded.

    Frames that several policies share, and frames already there, are not decoded again; each frame is
    encoded and written as it comes, so memory does not grow with their number.
    """
    scan = load_scan(cache, sha256, path, name, threads)
    timeline = scan.table.timeline()
    todo: dict[int, dict[str, FramePolicy]] = {}
    for want in wants:
        for index in select_frames(timeline, want, name):
            if not _has(cache, sha256, want.policy, index):
                todo.setdefault(index, {})[encoding_key(want.policy)] = want.policy
    encoder = FrameEncoder()
    damages: list[bool] = []
    flawed: set[int] = set()
    for index, frame in decode_frames(path, name, scan, todo, threads, lambda: damages.append(True)):
        if frame is None or frame.is_corrupt:
            flawed.add(index)
        for policy in todo[index].values():
            if frame is None or frame.is_corrupt:
                flaw = UNDECODABLE if frame is None else DAMAGED
                cache.write(sha256, flaw_name(policy, index), flaw)
            if frame is not None:
                cache.write(sha256, frame_name(policy, index), encoder.encode(frame, policy))
    if damages:
        for index in find_frames_after_damage(path, name, scan, todo) - flawed:
            for policy in todo[index].values():
                cache.write(sha256, flaw_name(policy, index), AFTER_DAMAGE)
    return len(todo)


def _has(cache: FrameCache, sha256: str, policy: FramePolicy, index: int) -> bool:
    if cache.read(sha256, frame_name(policy, index)) is not None:
        return True
    return cache.read(sha256, flaw_name(policy, index)) == UNDECODABLE


def extract_sound(
    cache: FrameCache,
    sha256: str,
    path: str,
    name: str,
    start: float | None,
    end: float | None,
    with_pictures: bool,
) -> bool:
    """Bring a file's sound into the cache; False where it has none."""
    origin = None
    if with_pictures:
        table = load_scan(cache, sha256, path, name).table
        origin = float(table.origin * Fraction(*table.base))
    entry = sound_name(start, end)
    temporary = cache.temporary_path(sha256, entry)
    try:
        has_sound, damaged = write_wav(path, name, Path(temporary), start, end, origin)
        if damaged:
            cache.write(sha256, f"{entry}.flaw", f"{damaged} packets of sound undecodable".encode())
        if has_sound:
            cache.publish(sha256, entry, temporary)
        else:
            cache.write(sha256, SILENT, b"no sound track")
    finally:
        Path(temporary).unlink(missing_ok=True)
    return has_sound
