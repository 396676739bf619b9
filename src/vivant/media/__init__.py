"""Pixels and sound: frame policies, decoding, encoding, the cache of frames.

`Preparer` turns the jobs of a run into turns that hold their media. `probe` and `verify` look at one file.
libav is loaded in worker processes only; the names below are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vivant.media.inspection import probe as probe
    from vivant.media.inspection import verify as verify
    from vivant.media.paths import resolve as resolve
    from vivant.media.prepare import Prepared as Prepared
    from vivant.media.prepare import Preparer as Preparer
    from vivant.media.store import CacheUse as CacheUse
    from vivant.media.store import Store as Store
    from vivant.media.store import VideoInfo as VideoInfo
    from vivant.media.upkeep import trim as trim
    from vivant.media.upkeep import usage as usage

_HOMES = {
    "CacheUse": "store",
    "Prepared": "prepare",
    "Preparer": "prepare",
    "Store": "store",
    "VideoInfo": "store",
    "probe": "inspection",
    "resolve": "paths",
    "trim": "upkeep",
    "usage": "upkeep",
    "verify": "inspection",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'vivant.media' has no attribute '{name}'")
    return getattr(import_module(f"vivant.media.{_HOMES[name]}"), name)
