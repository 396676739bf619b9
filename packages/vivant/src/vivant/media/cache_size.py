"""How large the media cache is, and how to make it smaller."""

from __future__ import annotations

import time
from pathlib import Path

from vivant.media.file_hashes import FileHashes
from vivant.media.frame_cache import CacheUsage, FrameCache
from vivant.media.image_grid import GRIDS


def measure_cache(cache: Path) -> CacheUsage:
    """What a cache folder holds of media."""
    frames = FrameCache(cache).usage()
    sizes = [path.stat().st_size for path in _grids(cache)]
    return CacheUsage(frames.media + len(sizes), frames.files + len(sizes), frames.bytes + sum(sizes))


def trim_cache(cache: Path, older_than: float) -> CacheUsage:
    """Remove what was made from media not used for so many seconds; returns what was removed.

    Safe beside running processes: what they miss they make again.
    """
    before = time.time() - older_than
    removed = FrameCache(cache).trim(older_than)
    sizes = []
    for path in _grids(cache):
        status = path.stat()
        if status.st_mtime < before:
            path.unlink(missing_ok=True)
            sizes.append(status.st_size)
    identities = FileHashes(cache)
    identities.forget(before)
    identities.close()
    return CacheUsage(removed.media + len(sizes), removed.files + len(sizes), removed.bytes + sum(sizes))


def _grids(cache: Path) -> list[Path]:
    return sorted(path for path in (cache / GRIDS).glob("*/*") if path.is_file())
