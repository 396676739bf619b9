"""Pixels and sound: frame policies, decoding, encoding, the cache of frames.

`Preparer` turns the jobs of a run into turns that hold their media. `probe` and `verify` look at one file.
libav is loaded in worker processes only; the names below are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vivant.media.cache_size import trim as trim
    from vivant.media.cache_size import usage as usage
    from vivant.media.frame_cache import CacheUse as CacheUse
    from vivant.media.frame_cache import Store as Store
    from vivant.media.frame_cache import VideoInfo as VideoInfo
    from vivant.media.inspection import probe as probe
    from vivant.media.inspection import verify as verify
    from vivant.media.loading import Prepared as Prepared
    from vivant.media.loading import Preparer as Preparer
    from vivant.media.paths import resolve as resolve

_HOMES = {
    "CacheUse": "frame_cache",
    "Prepared": "loading",
    "Preparer": "loading",
    "Store": "frame_cache",
    "VideoInfo": "frame_cache",
    "probe": "inspection",
    "resolve": "paths",
    "trim": "cache_size",
    "usage": "cache_size",
    "verify": "inspection",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'vivant.media' has no attribute '{name}'")
    return getattr(import_module(f"vivant.media.{_HOMES[name]}"), name)
