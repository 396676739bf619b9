"""What a file is, told from its first bytes: cheap enough to be done for every request."""

from __future__ import annotations

import struct

from msgspec import Struct

from vivant.core.errors import MediaError

MAX_PIXELS = 89_478_485
"""A larger picture is taken for an attack on memory: Pillow's own limit."""


class ImageHeader(Struct, frozen=True):
    """A picture's header."""

    media_type: str
    width: int
    height: int
    orientation: int = 1
    """EXIF orientation, 1 to 8; 1 is upright."""
    complete: bool = True
    """False where the end of the file is missing."""


def detect_impostor(head: bytes) -> str | None:
    """What a file is that was meant to be media but is text, with the remedy; None where it is not text."""
    start = head[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not head:
        return "is empty; fetch it again"
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "is an HTML page (a login or error page saved under this name?); fetch it again"
    if start.startswith(b"version https://git-lfs"):
        return "is a Git LFS pointer, not the file itself; run 'git lfs pull'"
    if start.startswith((b"<?xml", b"<error", b"{", b"#extm3u", b"ffconcat")):
        return "is a text file, not media; fetch it again"
    return None


_SOUNDS = ((b"RIFF", "audio/wav"), (b"ID3", "audio/mpeg"), (b"\xff\xfb", "audio/mpeg"), (b"OggS", "audio/ogg"),
           (b"fLaC", "audio/flac"))  # fmt: skip


def detect_browser_type(kind: str, head: bytes, name: str) -> str:
    """The type under which an image, video or audio file is sent to a browser, whatever the file's name.

    Raises MediaError for what is no media, or no picture that a browser shows.
    """
    wrong = detect_impostor(head)
    if wrong is not None:
        raise MediaError(f"{name} {wrong}")
    if kind == "video":
        return detect_video_type(head)
    if kind == "image":
        header = parse_image_header(head)
        if header is None:
            raise MediaError(f"{name} is no picture that a browser shows")
        return header.media_type
    return next(
        (media_type for start, media_type in _SOUNDS if head.startswith(start)), detect_video_type(head)
    )


def parse_image_header(data: bytes) -> ImageHeader | None:
    """Type, size and orientation of a JPEG, PNG, WebP or GIF; None for anything else or a broken header."""
    try:
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return _png(data)
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return _webp(data)
        if data.startswith((b"GIF87a", b"GIF89a")):
            width, height = struct.unpack_from("<HH", data, 6)
            return _header("image/gif", width, height, 1, data.rstrip(b"\0").endswith(b";"))
    except (struct.error, IndexError):
        # The header itself is cut off.
        return None
    return None


def _header(media_type: str, width: int, height: int, orientation: int, complete: bool) -> ImageHeader | None:
    return ImageHeader(media_type, width, height, orientation, complete) if width and height else None


# Start-of-frame markers; C4, C8 and CC lie between them and mean other things.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def _jpeg(data: bytes) -> ImageHeader | None:
    offset, orientation, size = 2, 1, len(data)
    while offset + 4 <= size:
        if data[offset] != 0xFF:
            return None
        marker = data[offset + 1]
        if marker == 0xFF:  # fill byte
            offset += 1
            continue
        if marker == 0x01 or 0xD0 <= marker <= 0xD8:  # markers without a length
            offset += 2
            continue
        if marker in (0xD9, 0xDA):  # pixels before any size
            return None
        length = data[offset + 2] << 8 | data[offset + 3]
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, offset + 5)
            # Searched from here, so that the end of an embedded thumbnail does not count.
            complete = data.rfind(b"\xff\xd9", offset) >= 0
            return _header("image/jpeg", width, height, orientation, complete)
        if marker == 0xE1 and data[offset + 4 : offset + 10] == b"Exif\0\0":
            orientation = _orientation(data[offset + 10 : offset + 2 + length])
        offset += 2 + length
    return None


def _png(data: bytes) -> ImageHeader | None:
    width, height = struct.unpack_from(">II", data, 16)
    orientation, offset, complete = 1, 8, False
    while offset + 8 <= len(data):
        (length,) = struct.unpack_from(">I", data, offset)
        kind = data[offset + 4 : offset + 8]
        if kind == b"eXIf":
            orientation = _orientation(data[offset + 8 : offset + 8 + length])
        if kind == b"IEND":
            complete = True
            break
        offset += 12 + length
    return _header("image/png", width, height, orientation, complete)


def _webp(data: bytes) -> ImageHeader | None:
    width = height = 0
    orientation, offset = 1, 12
    while offset + 8 <= len(data):
        kind = data[offset : offset + 4]
        (length,) = struct.unpack_from("<I", data, offset + 4)
        body = offset + 8
        if kind == b"VP8X":
            width = 1 + int.from_bytes(data[body + 4 : body + 7], "little")
            height = 1 + int.from_bytes(data[body + 7 : body + 10], "little")
        elif kind == b"VP8 " and not width:
            width, height = (value & 0x3FFF for value in struct.unpack_from("<HH", data, body + 6))
        elif kind == b"VP8L" and not width:
            (bits,) = struct.unpack_from("<I", data, body + 1)
            width, height = 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        elif kind == b"EXIF":
            block = data[body : body + length]
            orientation = _orientation(block[6:] if block.startswith(b"Exif\0\0") else block)
        offset = body + length + length % 2
    (declared,) = struct.unpack_from("<I", data, 4)
    return _header("image/webp", width, height, orientation, len(data) >= declared + 8)


def _orientation(tiff: bytes) -> int:
    """The orientation in an EXIF block; 1 where there is none or the block is broken."""
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None:
        return 1
    try:
        (offset,) = struct.unpack_from(order + "I", tiff, 4)
        (count,) = struct.unpack_from(order + "H", tiff, offset)
        for entry in range(count):
            tag, kind = struct.unpack_from(order + "HH", tiff, offset + 2 + 12 * entry)
            if tag == 0x0112 and kind == 3:
                (value,) = struct.unpack_from(order + "H", tiff, offset + 10 + 12 * entry)
                return value if 1 <= value <= 8 else 1
    except struct.error:
        return 1
    return 1


def detect_video_type(head: bytes) -> str:
    """The media type of a video file, from its first bytes; `video/mp4` where they do not tell."""
    if head[4:8] == b"ftyp":
        return "video/quicktime" if head[8:12] == b"qt  " else "video/mp4"
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        return "video/webm" if b"webm" in head[:64] else "video/x-matroska"
    if head.startswith(b"RIFF") and head[8:12] == b"AVI ":
        return "video/x-msvideo"
    if head.startswith(b"FLV"):
        return "video/x-flv"
    if head.startswith(b"\x00\x00\x01\xba"):
        return "video/mpeg"
    if head[:1] == b"G" and head[188:189] == b"G":
        return "video/mp2t"
    return "video/mp4"
