"""WebDataset shards: tar files in which `key.json` says what is asked about `key.mp4`.

A `key.json` holds `video`, a line of `videos.jsonl` (docs/mimic.md), and `items`, its lines of `items.jsonl`.
Shards are unpacked once into the cache as a folder that the benchmark reads.
"""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.benchmarks.mimic.format import ITEMS, VIDEOS, MimicItem, MimicVideo
from vivant.core.errors import DataError
from vivant.core.files import atomic_path, write_jsonl
from vivant.core.paths import cache_root

_VIDEO_SUFFIXES = (".mp4", ".webm", ".mkv", ".mov")


class ShardEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """What a `key.json` holds."""

    video: MimicVideo
    items: tuple[MimicItem, ...] = ()


def unpack_shards(pattern: str, base: Path) -> Path:
    """Unpack shards into the cache, where they are not there yet, and return the folder."""
    path = base / Path(pattern).expanduser()
    files = sorted(path.parent.glob(path.name))
    if not files:
        raise DataError(f"No shard is called {path}")
    digest = hashlib.sha256()
    for file in files:
        status = file.stat()
        digest.update(f"{file.resolve()}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    folder = cache_root() / "shards" / digest.hexdigest()[:24]
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with atomic_path(folder) as temporary:
            _unpack(files, temporary)
    except OSError:
        if not folder.is_dir():  # else another process was quicker
            raise
    return folder


def _unpack(files: list[Path], folder: Path) -> None:
    (folder / "videos").mkdir(parents=True)
    videos: list[MimicVideo] = []
    items: list[MimicItem] = []
    for file in files:
        clips: dict[str, str] = {}
        entries: dict[str, ShardEntry] = {}
        for key, suffix, data in _iter_members(file):
            if suffix == ".json":
                entries[key] = _decode_entry(data, file, key)
            elif suffix in _VIDEO_SUFFIXES:
                name = hashlib.sha256(f"{file.name}/{key}".encode()).hexdigest()[:16] + suffix
                (folder / "videos" / name).write_bytes(data)
                clips[key] = f"videos/{name}"
        for key, entry in entries.items():
            if key not in clips:
                raise DataError(f"{file}: {key}.json has no video beside it")
            videos.append(msgspec.structs.replace(entry.video, file=clips[key]))
            items += entry.items
    if not videos:
        raise DataError(f"{files[0]} holds no pairs of key.json and key.mp4")
    write_jsonl(folder / VIDEOS, videos)
    if items:
        write_jsonl(folder / ITEMS, items)


def _iter_members(file: Path) -> Iterator[tuple[str, str, bytes]]:
    try:
        with tarfile.open(file) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None:
                    # As WebDataset cuts names: the key ends at the first dot of the last part.
                    folder, _, last = member.name.rpartition("/")
                    stem, dot, suffix = last.partition(".")
                    yield f"{folder}/{stem}", f"{dot}{suffix}".lower(), content.read()
    except (tarfile.TarError, OSError, EOFError) as error:
        raise DataError(f"The shard {file} cannot be read: {error}") from error


def _decode_entry(data: bytes, file: Path, key: str) -> ShardEntry:
    try:
        return msgspec.json.decode(data, type=ShardEntry)
    except msgspec.DecodeError as error:
        raise DataError(f"{file}: {key}.json is not what docs/train.md describes: {error}") from error
