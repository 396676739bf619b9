"""Pixels and sound: frame policies, decoding, encoding, the cache of frames.

`MediaLoader` turns the jobs of a run into turns that hold their media. `probe` and `verify` look at one file.
libav is loaded in worker processes only; the names below are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vivant.media.cache_size import measure_cache as measure_cache
    from vivant.media.cache_size import trim_cache as trim_cache
    from vivant.media.frame_cache import CacheUsage as CacheUsage
    from vivant.media.frame_cache import FrameCache as FrameCache
    from vivant.media.frame_cache import VideoInfo as VideoInfo
    from vivant.media.inspection import probe as probe
    from vivant.media.inspection import verify as verify
    from vivant.media.loading import LoadedMedia as LoadedMedia
    from vivant.media.loading import MediaLoader as MediaLoader
    from vivant.media.paths import resolve_media as resolve_media

_HOMES = {
    "CacheUsage": "frame_cache",
    "FrameCache": "frame_cache",
    "LoadedMedia": "loading",
    "MediaLoader": "loading",
    "VideoInfo": "frame_cache",
    "measure_cache": "cache_size",
    "probe": "inspection",
    "resolve_media": "paths",
    "trim_cache": "cache_size",
    "verify": "inspection",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'vivant.media' has no attribute '{name}'")
    return getattr(import_module(f"vivant.media.{_HOMES[name]}"), name)
