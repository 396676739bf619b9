"""WebDataset shards: `key.json` (the video's line and its items) before `key.mp4`, in tar files of bounded size.

The same input gives the same bytes: members carry no time, no owner, and stand in the order of the videos.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from vivant.benchmarks.mimic.format import MimicItem, MimicVideo

_BLOCK = 512


class Shards:
    """Writes shards one after another; `close` ends the last."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        self._most = most
        self._archive: tarfile.TarFile | None = None
        self._size = 0
        self.written: list[Path] = []

    def add(self, video: MimicVideo, items: Sequence[MimicItem], media: Path) -> None:
        """One video. It goes into a new shard where the present one would grow beyond its bound."""
        entry = msgspec.json.encode({"video": video, "items": list(items)})
        key = Path(video.path).stem
        need = sum(_pad_size(size) + _BLOCK for size in (len(entry), media.stat().st_size))
        if self._archive is None or (self._size and self._size + need > self._most):
            self._next()
        assert self._archive is not None
        self._archive.addfile(_member(f"{key}.json", len(entry)), io.BytesIO(entry))
        with media.open("rb") as file:
            self._archive.addfile(_member(key + media.suffix.lower(), media.stat().st_size), file)
        self._size += need

    def close(self) -> None:
        """End the last shard."""
        if self._archive is not None:
            self._archive.close()
            self._archive = None

    def _next(self) -> None:
        self.close()
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"train-{len(self.written):06d}.tar"
        self._archive = tarfile.open(path, "w", format=tarfile.USTAR_FORMAT)  # noqa: SIM115
        self.written.append(path)
        self._size = 0


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    member.mode = 0o644
    return member


def _pad_size(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK
