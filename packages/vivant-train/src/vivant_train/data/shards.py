"""WebDataset shards as streams: tar files in which `key.json` says what is asked about `key.mp4`.

A `key.json` holds `video`, a line of `videos.jsonl` (docs/mimic.md), and `items`, its lines of `items.jsonl`. A shard
is read when it is needed, from a disk or through fsspec from an object store, member by member, and becomes a folder
in the cache that the benchmark reads. A pair that cannot be used, or the end of a torn shard, is left out and counted.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import logging
import re
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vivant.benchmarks.mimic.format import ITEMS, VIDEOS, MimicItem, MimicVideo
from vivant.core.errors import DataError
from vivant.core.files import atomic_path, write_jsonl
from vivant.core.paths import cache_root

logger = logging.getLogger("vivant")
_VIDEO_SUFFIXES = frozenset(
    [
        ".mp4",
        ".webm",
        ".mkv",
        ".mov",
        ".m4v",
        ".avi",
        ".flv",
        ".f4v",
        ".wmv",
        ".asf",
        ".mpg",
        ".mpeg",
        ".m2v",
        ".ts",
        ".mts",
        ".m2ts",
        ".3gp",
        ".3g2",
        ".ogv",
        ".qt",
        ".gif",
    ]
)
"""Videos as crawls hold them; `vivant build mimic` writes a video under the suffix that it has."""
_RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")
_TORN = (tarfile.TarError, EOFError)
_UNREACHABLE = (OSError, ValueError, ImportError, asyncio.TimeoutError)
"""What disks and the file systems of fsspec raise."""
_ATTEMPTS = 3
_VERSION_KEYS = {"size", "etag", "mtime", "lastmodified", "last-modified", "last_modified", "updated"}
"""What file systems of fsspec say of a file that changes with its content."""


class ShardEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """What a `key.json` holds."""

    video: MimicVideo
    items: tuple[MimicItem, ...] = ()


class Shard(Struct, frozen=True):
    """One tar file, not read yet."""

    address: str
    """A path or a URL."""
    digest: str
    """What tells its content from another's."""

    def unpack(self) -> Path:
        """Read it into the cache, where it is not there yet; processes of one machine read it once."""
        folder = cache_root() / "shards" / self.digest
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not folder.is_dir():
            with (folder.parent / f"{self.digest}.lock").open("ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not folder.is_dir():
                    _read_into(self.address, folder)
        return folder


def list_shards(pattern: str, base: Path) -> list[Shard]:
    """The shards that a pattern names: `train-*.tar`, `{0000..0099}` for a range of numbers, or a URL with either."""
    shards: list[Shard] = []
    for each in _expand_ranges(pattern):
        shards += _list_remote(each) if "://" in each else _list_local(each, base)
    return shards


def _list_local(pattern: str, base: Path) -> Iterator[Shard]:
    path = base / Path(pattern).expanduser()
    files = sorted(path.parent.glob(path.name))
    if not files:
        raise DataError(f"No shard is called {path}")
    for file in files:
        status = file.stat()
        yield Shard(str(file), _hash(f"{file.resolve()}\0{status.st_size}\0{status.st_mtime_ns}"))


def _list_remote(pattern: str) -> Iterator[Shard]:
    import fsspec

    try:
        system, path = fsspec.url_to_fs(pattern)
        names = sorted(system.glob(path)) if "*" in pattern else [path]
    except _UNREACHABLE as error:
        raise DataError(f"The shards {pattern} cannot be listed: {_describe(error)}") from error
    if not names:
        raise DataError(f"No shard is called {pattern}")
    for name in names:
        address = str(system.unstrip_protocol(name)) if "*" in pattern else pattern
        try:
            status = system.info(name)
        except _UNREACHABLE as error:
            raise DataError(f"The shard {address} cannot be read: {_describe(error)}") from error
        versions = [f"{key}={status[key]}" for key in sorted(status) if key.lower() in _VERSION_KEYS]
        yield Shard(address, _hash("\0".join([address, *versions])))


def _expand_ranges(pattern: str) -> Iterator[str]:
    match = _RANGE.search(pattern)
    if match is None:
        yield pattern
        return
    first, last = match.groups()
    for number in range(int(first), int(last) + 1):
        yield from _expand_ranges(
            f"{pattern[: match.start()]}{number:0{len(first)}d}{pattern[match.end() :]}"
        )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _describe(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _read_into(address: str, folder: Path) -> None:
    """Read a shard; a connection that breaks is tried again, so that all machines see the same pairs."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with atomic_path(folder) as temporary:
                _unpack(address, temporary)
            return
        except _UNREACHABLE as error:
            final = "://" not in address or attempt == _ATTEMPTS
            if final or isinstance(error, ImportError | FileNotFoundError | ValueError):
                raise DataError(f"The shard {address} cannot be read: {_describe(error)}") from error
            time.sleep(attempt)


def _unpack(address: str, folder: Path) -> None:
    (folder / "videos").mkdir(parents=True)
    clips: dict[str, str] = {}
    entries: dict[str, ShardEntry] = {}
    lost: list[str] = []
    try:
        for key, suffix, data in _iter_members(address):
            if suffix == ".json":
                try:
                    entries[key] = msgspec.json.decode(data, type=ShardEntry)
                except msgspec.DecodeError as error:
                    lost.append(f"{key}.json is not what docs/train.md describes: {error}")
            elif suffix in _VIDEO_SUFFIXES:
                clips[key] = f"videos/{_hash(key)[:16]}{suffix}"
                (folder / clips[key]).write_bytes(data)
    except _TORN as error:
        if not clips:
            raise DataError(f"The shard {address} cannot be read: {_describe(error)}") from error
        lost.append(f"it ends too early: {_describe(error)}")
    lost += [f"{key}.json has no video beside it" for key in entries.keys() - clips.keys()]
    pairs = {key: entry for key, entry in entries.items() if key in clips}
    if not pairs:
        reason = f": {lost[0]}" if lost else ""
        raise DataError(f"The shard {address} holds no pairs of key.json and key.mp4{reason}")
    if lost:
        logger.warning("Left out of the shard %s (%d in all): %s", address, len(lost), min(lost))
    write_jsonl(
        folder / VIDEOS,
        [msgspec.structs.replace(entry.video, file=clips[key]) for key, entry in pairs.items()],
    )
    items = [item for entry in pairs.values() for item in entry.items]
    if items:
        write_jsonl(folder / ITEMS, items)


def _iter_members(address: str) -> Iterator[tuple[str, str, bytes]]:
    with _open(address) as stream, tarfile.open(fileobj=stream, mode="r|*") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                # As WebDataset cuts names: the key ends at the first dot of the last part.
                folder, _, last = member.name.rpartition("/")
                stem, dot, suffix = last.partition(".")
                yield f"{folder}/{stem}" if folder else stem, f"{dot}{suffix}".lower(), content.read()


def _open(address: str) -> Any:
    if "://" not in address:
        return Path(address).open("rb")
    import fsspec

    return fsspec.open(address, "rb").open()
