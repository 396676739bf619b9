"""Media of rows as files: found below the data folder, or written there where the rows hold the bytes.

A picture inside a row is written to `.vivant-media/` once, under the hash of its bytes. Where the data folder cannot
be written, the cache folder holds them.
"""

from __future__ import annotations

import ast
import base64
import binascii
import hashlib
import io
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from vivant.benchmarks.declarative.rows import MEDIA
from vivant.core.errors import DataError, MediaError
from vivant.core.file_types import detect_browser_type, parse_image_header
from vivant.core.files import write_atomic
from vivant.core.paths import cache_root
from vivant.media.frame_folders import list_frames, name_frame_video, write_frame_video
from vivant.media.paths import resolve_media

FOLDER = ".vivant-media"
_SHORTEST_BASE64 = 64
_SUFFIXES = {"video/mp4": ".mp4", "video/webm": ".webm", "audio/wav": ".wav", "audio/mpeg": ".mp3"}


def media_root(root: Path) -> Path:
    """The folder that media paths are relative to."""
    folder = root if root.is_dir() else root.parent
    if (folder / FOLDER).is_dir() or os.access(folder, os.W_OK):
        return folder
    return cache_root() / "media" / hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]


class MediaFiles:
    """Turns what a media column holds into paths."""

    def __init__(self, root: Path, folder: str) -> None:
        self._data = root if root.is_dir() else root.parent
        self._root = media_root(root)
        self._folder = folder
        self._written: set[str] = set()

    def resolve(self, value: Any, kind: str) -> Iterator[str]:
        """The paths of one cell: none where it is empty, several where it holds a list.

        Raises DataError for what is no media; a path is returned whether its file exists or not.
        """
        if value is None or value == "" or value != value:
            return
        if isinstance(value, dict):
            content = value.get("bytes")
            yield from self.resolve(content if content is not None else value.get("path"), kind)
        elif isinstance(value, list | tuple):
            for entry in value:
                yield from self.resolve(entry, kind)
        elif isinstance(value, bytes):
            yield self._store(value, kind)
        elif isinstance(value, str):
            if value[:1] == "[" and value[-1:] == "]":
                yield from self.resolve(read_list(value), kind)
            elif Path(value[-12:]).suffix.lower() in MEDIA or len(value) <= _SHORTEST_BASE64:
                yield self.find(value)
            else:
                yield self._store(_decode(value), kind)
        else:
            raise DataError(
                f"the {kind} is {type(value).__name__}; it must be a path, bytes, base64 or a list"
            )

    def find(self, path: str) -> str:
        """A path below the data folder; where it does not exist, the only file of that name, if there is one."""
        named = f"{self._folder}/{path}" if self._folder else path
        if Path(path).is_absolute():
            # Tables that other tools wrote name files of their own folder in full.
            inside = Path(path).is_relative_to(self._data.resolve())
            named = Path(path).relative_to(self._data.resolve()).as_posix() if inside else path
        if (self._data / named).is_file() or (self._data / named).is_dir():
            return named
        whole = Path(named)
        kind = MEDIA.get(whole.suffix.lower())
        for suffix in (
            [whole.suffix.upper(), *(suffix for suffix in MEDIA if MEDIA[suffix] == kind)] if kind else ()
        ):
            if (self._data / whole.with_suffix(suffix)).is_file():
                return whole.with_suffix(suffix).as_posix()
        places = self._names.get(Path(path).name, ())
        return places[0] if len(places) == 1 else named

    def join_frames(self, path: str, rate: float) -> str:
        """The path itself; for a folder of pictures, that of a video file which holds them as its frames."""
        folder = self._data / path
        if not folder.is_dir():
            return path
        if not rate:
            raise DataError(
                f"the video {path} is a folder; say how many of its pictures make a second: `frame_rate`"
            )
        frames = list_frames(folder)
        video = f"{FOLDER}/frames/{name_frame_video(frames, rate, path)}"
        if not (self._root / video).is_file():
            write_frame_video(frames, self._root / video, rate)
        return video

    def exists(self, path: str) -> bool:
        """Whether a file is there. Raises DataError for a path that leads out of the folder."""
        if path in self._written:
            return True
        try:
            resolve_media(self._root, path)
        except MediaError as error:
            if "is missing" in str(error):
                return False
            raise DataError(str(error)) from None
        return True

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        """All media files by name: archives are unpacked in more than one layout."""
        names: dict[str, list[str]] = {}
        for folder, folders, files in os.walk(self._data):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in files:
                path = Path(folder, name)
                if path.suffix.lower() in (*MEDIA, ".srt", ".vtt", ".json"):
                    names.setdefault(name, []).append(path.relative_to(self._data).as_posix())
        return names

    def _store(self, data: bytes, kind: str) -> str:
        digest = hashlib.sha256(data).hexdigest()
        path = f"{FOLDER}/{digest[:2]}/{digest[:32]}{_suffix(data, kind)}"
        if path not in self._written:
            file = self._root / path
            if not file.is_file():
                file.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(file, data, durable=False)
            self._written.add(path)
        return path


def read_list(text: str) -> list[Any]:
    """A list that a table holds as text: a Python literal or JSON."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise DataError(f"'{text[:40]}…' is no list") from None
    return list(value) if isinstance(value, list | tuple) else [value]


def _decode(text: str) -> bytes:
    head, comma, rest = text.partition(",")
    try:
        return base64.b64decode(rest if comma and head.startswith("data:") else text, validate=True)
    except (binascii.Error, ValueError):
        raise DataError(f"'{text[:40]}…' is neither the path of a media file nor base64") from None


def _suffix(data: bytes, kind: str) -> str:
    if kind == "image":
        header = parse_image_header(data)
        if header is None:
            _check_picture(data)
            return ".img"
        return "." + header.media_type.rpartition("/")[2].replace("jpeg", "jpg")
    return _SUFFIXES.get(detect_browser_type(kind, data[:4096], "the file"), ".bin")


def _check_picture(data: bytes) -> None:
    """Raise DataError for bytes that no reader of pictures knows."""
    from PIL import Image, UnidentifiedImageError

    try:
        Image.open(io.BytesIO(data)).close()
    except (UnidentifiedImageError, OSError):
        raise DataError(f"the image's {len(data):,} bytes are no picture of a known format") from None
