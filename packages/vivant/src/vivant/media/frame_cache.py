"""The cache of frames, kept by content: `frames/<sha[:2]>/<sha>/` holds all that was made from one file.

    table                  when each frame is shown, and what the file is
    packets                where its packets lie, for seeking
    jpeg-90-512/17.jpg     frame 17, encoded so
    jpeg-90-512/18.flaw    why frame 18 could not be decoded, or only in part
    sound-0.000-end.wav    its sound; or `silent`
    image-90-512.jpg       a picture, turned, shrunk or converted

Files appear whole (written aside, then renamed), so any number of processes may share a cache; whatever is
found empty, cut short or unreadable all the same is dropped and made again. Where a cache cannot be written,
`find_writable_cache` gives a temporary folder, and the cache is still read.
"""

from __future__ import annotations

import atexit
import functools
import logging
import os
import secrets
import shutil
import tempfile
import threading
import time
import zlib
from array import array
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from vivant.core.errors import UsageError
from vivant.core.files import write_atomic
from vivant.core.types import FramePolicy
from vivant.media.frame_selection import Timeline

logger = logging.getLogger("vivant")
_MAKING = threading.Lock()
_VERSION = 1
"""Of tables: a change makes old ones unknown. If frames are made otherwise, change `encoding_key`."""

_Entry = TypeVar("_Entry", bound=Struct)


class VideoInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a video file is."""

    frames: int
    duration: float
    fps: float
    """Frames over seconds, for a variable rate too."""
    width: int
    height: int
    """As shown: turned where the file says so."""
    has_audio: bool
    constant_rate: bool
    codec: str
    container: str
    note: str = ""
    """What is wrong with it, where it can be used all the same."""


class FrameTable(Struct, frozen=True, kw_only=True):
    """When each frame of a video is shown."""

    base: tuple[int, int]
    origin: int
    end: int
    pts: bytes
    """64-bit timestamps of the frames, ascending."""
    sequential: bool
    """Timestamps do not identify frames (missing, doubled, misleading): only counting from the start does."""
    info: VideoInfo

    def timeline(self) -> Timeline:
        """The part of it that policies select from."""
        return Timeline(array("q", self.pts), Fraction(*self.base), self.origin, self.end)


class PacketTable(Struct, frozen=True, kw_only=True):
    """A video's packets in the order of decoding, as arrays of 64-bit numbers."""

    pts: bytes
    dts: bytes
    positions: bytes = msgspec.field(name="places")
    """Byte offsets in the file: with the timestamp, a packet's identity."""
    flags: bytes
    """One byte each: KEY, HIDDEN."""


KEY, HIDDEN = 1, 2


class CacheUsage(Struct, frozen=True):
    """How much a cache holds, or how much was removed from it."""

    media: int
    files: int
    bytes: int


def encoding_key(policy: FramePolicy) -> str:
    """The part of a policy that decides a frame's bytes: policies that agree on it share frames."""
    quality = f"-{policy.quality}" if policy.format == "jpeg" else ""
    return f"{policy.format}{quality}-{policy.longest_side or 'full'}"


def frame_name(policy: FramePolicy, index: int) -> str:
    """Where a frame lies among a file's entries."""
    return f"{encoding_key(policy)}/{index}.{'jpg' if policy.format == 'jpeg' else 'png'}"


def flaw_name(policy: FramePolicy, index: int) -> str:
    """Where the reason lies, for a frame that is missing or damaged."""
    return f"{encoding_key(policy)}/{index}.flaw"


def sound_name(start: float | None, end: float | None) -> str:
    """Where the sound between two times lies."""
    return f"sound-{start or 0:.3f}-{'end' if end is None else f'{end:.3f}'}.wav"


SILENT = "silent"
"""The entry of a file that has no sound."""


def find_writable_cache(cache: Path) -> Path:
    """The folder to write to: the cache, or where that cannot be written a temporary folder, with one warning."""
    frames = cache / "frames"
    try:
        frames.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=frames):
            return cache
    except OSError as error:
        with _MAKING:
            return _make_temporary_cache(cache, error.strerror or str(error))


@functools.cache
def _make_temporary_cache(cache: Path, reason: str) -> Path:
    """One folder for the whole process, however many loaders use it; removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="vivant-media-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    logger.warning(
        "The media cache %s cannot be written (%s); frames go to a temporary folder. "
        "Set VIVANT_CACHE to a folder that can be written to keep them.",
        cache,
        reason,
    )
    return Path(folder)


class FrameCache:
    """Entries of one cache folder; `also` is a second one that is only read."""

    def __init__(self, cache: Path, also: Path | None = None) -> None:
        self._root = cache / "frames"
        self._frames = str(self._root)
        self._also = None if also is None or also == cache else FrameCache(also)

    def path(self, sha256: str, name: str) -> str:
        """Where an entry lies, whether it exists or not."""
        return f"{self._frames}/{sha256[:2]}/{sha256}/{name}"

    def read(self, sha256: str, name: str) -> bytes | None:
        """An entry, if it is there and whole; one that is not whole is removed."""
        path = self.path(sha256, name)
        try:
            with open(path, "rb", buffering=0) as file:
                data = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None if self._also is None else self._also._read_only(sha256, name)
        except OSError as error:
            raise _unusable(path, error) from None
        if _whole(name, data):
            return data
        Path(path).unlink(missing_ok=True)
        return None

    def _read_only(self, sha256: str, name: str) -> bytes | None:
        """An entry of a cache that cannot be written; one that cannot be read is none."""
        with suppress(OSError, UsageError):
            return self.read(sha256, name)
        return None

    def write(self, sha256: str, name: str, data: bytes) -> None:
        """Add or replace an entry; nobody ever sees half of it."""
        path = Path(self.path(sha256, name))
        try:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(path, data, durable=False)
            except FileNotFoundError:
                # Trimmed away by another process since the folder was made.
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(path, data, durable=False)
        except OSError as error:
            raise _unusable(str(path), error) from None

    def temporary_path(self, sha256: str, name: str) -> str:
        """A fresh path beside an entry's own, to write to before `publish`."""
        path = self.path(sha256, name)
        folder, file = os.path.split(path)
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unusable(path, error) from None
        return f"{folder}/.{file}.{os.getpid()}.{secrets.token_hex(4)}"

    def publish(self, sha256: str, name: str, temporary: str) -> None:
        """Give a file at a temporary path its own name."""
        try:
            Path(temporary).replace(self.path(sha256, name))
        except OSError as error:
            raise _unusable(temporary, error) from None

    def table(self, sha256: str) -> FrameTable | None:
        """A video's table; None where it is not there, from another version, or damaged."""
        return _unpack(self.read(sha256, "table"), FrameTable)

    def packets(self, sha256: str) -> PacketTable | None:
        """A video's packets; None as for `table`."""
        return _unpack(self.read(sha256, "packets"), PacketTable)

    def write_table(self, sha256: str, table: FrameTable, packets: PacketTable | None) -> None:
        """Packets first: whoever sees the table may rely on them."""
        if packets is not None:
            self.write(sha256, "packets", _pack(packets))
        self.write(sha256, "table", _pack(table))

    def touch(self, sha256: str) -> None:
        """Mark a file's entries as used just now, for `trim`."""
        try:
            os.utime(f"{self._frames}/{sha256[:2]}/{sha256}")
        except OSError:
            # Trimmed meanwhile, or a cache that may only be read: neither changes what was read from it.
            return

    def usage(self) -> CacheUsage:
        """What the cache holds."""
        return _total(self._folders())

    def trim(self, older_than: float) -> CacheUsage:
        """Remove all that was made from files not used for that many seconds; returns what was removed."""
        before = time.time() - older_than
        doomed = []
        for folder in self._folders():
            try:
                if folder.stat().st_mtime > before:
                    continue
                # Renamed first, so that a reader finds all of it or nothing.
                doomed.append(folder.rename(folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")))
            except FileNotFoundError:
                continue
        removed = _total(doomed)
        for folder in doomed:
            shutil.rmtree(folder, ignore_errors=True)
        return removed

    def _folders(self) -> list[Path]:
        return sorted(path for path in self._root.glob("*/*") if path.is_dir())


def _whole(name: str, data: bytes) -> bool:
    if name.endswith(".jpg"):
        return data.startswith(b"\xff\xd8") and data.endswith(b"\xff\xd9")
    if name.endswith(".png"):
        return data.startswith(b"\x89PNG") and data.endswith(b"IEND\xaeB`\x82")
    if name.endswith((".wav", ".webp")):
        return data.startswith(b"RIFF") and len(data) == 8 + int.from_bytes(data[4:8], "little")
    return bool(data)


def _pack(value: Struct) -> bytes:
    # zlib brings a checksum along, so damage shows.
    return zlib.compress(msgspec.msgpack.encode((_VERSION, value)), 1)


def _unpack(data: bytes | None, kind: type[_Entry]) -> _Entry | None:
    if data is None:
        return None
    try:
        version, value = msgspec.msgpack.decode(zlib.decompress(data), type=tuple[int, msgspec.Raw])
        return msgspec.msgpack.decode(value, type=kind) if version == _VERSION else None
    except (zlib.error, msgspec.MsgspecError):
        return None


def _total(folders: list[Path]) -> CacheUsage:
    sizes = [
        (Path(folder) / file).stat().st_size
        for top in folders
        for folder, _, files in os.walk(top)
        for file in files
        if (Path(folder) / file).exists()
    ]
    return CacheUsage(len(folders), len(sizes), sum(sizes))


def _unusable(path: str, error: OSError) -> UsageError:
    return UsageError(
        f"The media cache cannot be used at {path}: {error.strerror}; free space, or set VIVANT_CACHE to another folder"
    )
