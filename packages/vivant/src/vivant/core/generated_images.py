"""Pictures that models write: the marks by which a text asks for one, and the folder that keeps them.

A model hands a picture over as `Image("data:image/png;base64,…")` among the parts of its `Reply`, or as the
path of a file that it wrote. The engine saves it as `media/<hash>.png` in the run's folder and logs the path
as `run:media/<hash>.png`: pixels never stand in a log.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.core.errors import MediaError
from vivant.core.files import write_atomic
from vivant.core.types import Image, Part, Reply, Text

PREFIX = "run:"
FOLDER = "media"
_DATA = "data:"
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp", "image/gif": ".gif"}
_OPEN, _CLOSE = "<picture>", "</picture>"
_MARKED = re.compile(r"<picture>(.*?)</picture>", re.DOTALL | re.IGNORECASE)


class PictureDescription(Struct, frozen=True):
    """A place in a text where a picture is wanted, with what it should show."""

    text: str


def mark_picture(description: str) -> str:
    """How a text asks for a picture."""
    return f"{_OPEN}{description}{_CLOSE}"


def split_marks(text: str) -> list[str | PictureDescription]:
    """Texts and wanted pictures in order. A mark that is not closed, or describes nothing, stays text."""
    pieces: list[str | PictureDescription] = []
    position = 0
    for match in _MARKED.finditer(text):
        description = " ".join(match[1].split())
        if not description:
            continue
        if match.start() > position:
            pieces.append(text[position : match.start()])
        pieces.append(PictureDescription(description))
        position = match.end()
    if position < len(text):
        pieces.append(text[position:])
    return pieces


def encode_image(data: bytes) -> Image:
    """Encoded bytes as a part of a reply."""
    return Image(f"{_DATA}{detect_media_type(data)};base64,{b64encode(data).decode('ascii')}")


def detect_media_type(data: bytes) -> str:
    """By the first bytes; what is no picture is said to be none."""
    from vivant.core.file_types import parse_image_header

    header = parse_image_header(data)
    return header.media_type if header else "application/octet-stream"


def is_self_contained(reply: Reply) -> bool:
    """Whether a reply may be kept apart from the files that a model left on disk."""
    return all(part.path.startswith(_DATA) for part in reply.parts if isinstance(part, Image))


def inline_images(reply: Reply) -> Reply:
    """The reply with the pictures that a model left on disk inside it, to travel to another machine."""
    return msgspec.structs.replace(
        reply,
        parts=tuple(
            encode_image(_bytes(part.path))
            if isinstance(part, Image) and not part.path.startswith(_DATA)
            else part
            for part in reply.parts
        ),
    )


class PictureFolder:
    """Keeps the pictures of one run by content: equal ones are one file."""

    def __init__(self, run: Path) -> None:
        self._folder = run / FOLDER

    def save(self, reply: Reply) -> Reply:
        """The reply with paths of saved files in place of pictures. One that cannot be saved is an error."""
        if not any(isinstance(part, Image) for part in reply.parts):
            return reply
        try:
            parts = tuple(self._save_image(part) if isinstance(part, Image) else part for part in reply.parts)
        except MediaError as error:
            return msgspec.structs.replace(reply, status="error", error=str(error), parts=_texts(reply.parts))
        return msgspec.structs.replace(reply, parts=parts)

    def _save_image(self, image: Image) -> Image:
        if image.path.startswith(PREFIX):
            return image
        data = _bytes(image.path)
        name = hashlib.sha256(data).hexdigest()[:24] + _SUFFIXES.get(detect_media_type(data), ".bin")
        path = self._folder / name
        if not path.exists():
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                write_atomic(path, data, durable=False)
            except OSError as error:
                raise MediaError(
                    f"A picture of the reply cannot be saved in {path}: {error.strerror}"
                ) from error
        return Image(f"{PREFIX}{FOLDER}/{name}")


def _bytes(path: str) -> bytes:
    if not path.startswith(_DATA):
        try:
            return Path(path).read_bytes()
        except OSError as error:
            raise MediaError(
                f"The reply names a picture {path} that cannot be read: {error.strerror}"
            ) from error
    head, comma, body = path.partition(",")
    if not comma or not head.endswith(";base64"):
        raise MediaError("The reply holds a picture that is no base64 data URL")
    try:
        return b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MediaError(f"The reply holds a picture that is no base64: {error}") from error


def _texts(parts: Sequence[Part]) -> tuple[Part, ...]:
    return tuple(part for part in parts if isinstance(part, Text))
