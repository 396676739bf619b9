"""Pictures: sent as they are, unless they must be shrunk, turned upright or converted for servers to take."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from vivant.core.errors import MediaError
from vivant.core.file_types import MAX_PIXELS, ImageHeader, detect_impostor, parse_image_header
from vivant.core.types import FramePolicy, Picture
from vivant.media.frame_cache import FrameCache

if TYPE_CHECKING:
    from PIL import Image

# Formats that hold pixels and nothing else: no PostScript, no stubs that run other programs.
_FORMATS = (
    "JPEG",
    "PNG",
    "WEBP",
    "GIF",
    "BMP",
    "DIB",
    "TIFF",
    "AVIF",
    "PPM",
    "ICO",
    "TGA",
    "JPEG2000",
    "QOI",
)
_SUFFIXES = frozenset(
    (".bmp", ".dib", ".tif", ".tiff", ".avif", ".ppm", ".pgm", ".pbm", ".ico", ".tga", ".jp2", ".qoi")
)
_FAMILIES = {"image/jpeg": ("jpg", "JPEG"), "image/png": ("png", "PNG"), "image/webp": ("webp", "WEBP")}


class LoadedPicture(Struct, frozen=True):
    """A picture as it is sent, and what was done to it."""

    picture: Picture
    note: str = ""


def load_unchanged(data: bytes, policy: FramePolicy, name: str) -> LoadedPicture | None:
    """The picture with its bytes untouched; None where the policy or the picture itself calls for a change.

    Reads the header only. Raises MediaError for what claims more pixels than can be handled.
    """
    header = parse_image_header(data)
    if header is None:
        return None
    _refuse_bomb(header.width, header.height, name)
    if header.orientation != 1 or (policy.longest_side or MAX_PIXELS) < max(header.width, header.height):
        return None
    return LoadedPicture(
        Picture(data, header.media_type, header.width, header.height), "" if header.complete else "cut short"
    )


def convert_picture(
    cache: FrameCache, sha256: str, data: bytes, policy: FramePolicy, name: str
) -> LoadedPicture:
    """The picture shrunk, turned or converted, in its own format where servers take that; made once."""
    header = parse_image_header(data)
    suffix, _ = _FAMILIES.get(header.media_type if header else "", _FAMILIES["image/png"])
    # PNG has no quality; the others are encoded at the policy's.
    quality = "" if suffix == "png" else f"-{policy.quality}"
    entry = f"image{quality}-{policy.longest_side or 'full'}.{suffix}"
    converted = cache.read(sha256, entry)
    note = cache.read(sha256, f"{entry}.note")
    if converted is None or note is None:
        converted, text = _convert(data, header, policy, name)
        note = text.encode()
        cache.write(sha256, f"{entry}.note", note)
        cache.write(sha256, entry, converted)
    header = parse_image_header(converted)
    if header is None:
        raise MediaError(f"{name} cannot be converted: the result is no picture")
    return LoadedPicture(Picture(converted, header.media_type, header.width, header.height), note.decode())


def scale_picture(picture: Picture, longest_side: int, name: str, *, png: bool = False) -> Picture:
    """The picture with its longer side at most so long, in its own format where servers take that, or as PNG.

    For limits that are known only after a picture was read; nothing is cached.
    """
    from PIL import Image

    _, kind = _FAMILIES["image/png"] if png else _FAMILIES.get(picture.media_type, _FAMILIES["image/png"])
    buffer = io.BytesIO()
    with _open_image(picture.data, name) as image:
        result: Image.Image = image
        if max(image.size) > longest_side:
            if image.mode in ("P", "1"):
                result = image.convert("RGBA" if "transparency" in image.info else "RGB")
            result.thumbnail((longest_side, longest_side), Image.Resampling.LANCZOS, reducing_gap=3.0)
        settings = {} if kind == "PNG" else {"quality": FramePolicy().quality}
        _in_mode_for(kind, result).save(buffer, kind, icc_profile=image.info.get("icc_profile"), **settings)
        width, height = result.size
    return Picture(buffer.getvalue(), f"image/{kind.lower()}", width, height, picture.time)


def is_picture(head: bytes, suffix: str) -> bool:
    """Whether a file is to be read as a picture: by its first bytes, or else by its name."""
    magic = head.startswith((b"\xff\xd8", b"\x89PNG", b"GIF8", b"BM", b"II*\0", b"MM\0*")) or (
        head.startswith(b"RIFF") and head[8:12] == b"WEBP"
    )
    return magic or suffix.lower() in _SUFFIXES | {".jpg", ".jpeg", ".png", ".webp", ".gif"}


def check_picture(data: bytes, name: str) -> None:
    """Decode a picture whole. Raises MediaError where that fails."""
    header = parse_image_header(data)
    if header is not None and not header.complete:
        raise MediaError(f"{name} is cut short; fetch it again")
    with _open_image(data, name) as image:
        image.load()


def _convert(data: bytes, header: ImageHeader | None, policy: FramePolicy, name: str) -> tuple[bytes, str]:
    from PIL import Image

    _, kind = _FAMILIES.get(header.media_type if header else "", _FAMILIES["image/png"])
    notes = []
    buffer = io.BytesIO()
    with _open_image(data, name) as image:
        if getattr(image, "is_animated", False):
            notes.append("first frame")
        orientation = header.orientation if header else image.getexif().get(_ORIENTATION, 1)
        if orientation != 1:
            notes.append("rotated")
        if header is None:
            # Pillow turns TIFFs by itself as it loads them, and then forgets that they were turned.
            image.load()
            orientation = image.getexif().get(_ORIENTATION, 1)
        profile = image.info.get("icc_profile")
        side = policy.longest_side
        result: Image.Image = image
        if side is not None and max(image.size) > side:
            notes.append("resized")
            if image.mode in ("P", "1"):
                result = image.convert("RGBA" if "transparency" in image.info else "RGB")
            # A large JPEG is decoded at a fraction of its size. A square box: turning may come after.
            result.thumbnail((side, side), Image.Resampling.LANCZOS, reducing_gap=3.0)
        if orientation in _TURNS:
            result = result.transpose(Image.Transpose[_TURNS[orientation]])
        if header is None or header.media_type not in _FAMILIES:
            notes.append("converted to PNG")
        settings = {} if kind == "PNG" else {"quality": policy.quality}
        _in_mode_for(kind, result).save(buffer, kind, icc_profile=profile, **settings)
    return buffer.getvalue(), ", ".join(notes)


_ORIENTATION = 0x0112
_TURNS = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}
"""What brings each EXIF orientation upright."""


def _in_mode_for(kind: str, image: Image.Image) -> Image.Image:
    """The picture in a pixel format that the file format knows."""
    if image.mode.startswith("I;16") or image.mode in ("I", "F"):
        if kind == "PNG" and image.mode.startswith("I;16"):
            return image
        return image.convert("RGB")
    direct = {"JPEG": ("L", "RGB"), "PNG": ("1", "L", "LA", "P", "RGB", "RGBA"), "WEBP": ("RGB", "RGBA")}
    if image.mode in direct[kind]:
        return image
    alpha = kind != "JPEG" and ("A" in image.mode or "transparency" in image.info)
    return image.convert("RGBA" if alpha else "RGB")


@contextmanager
def _open_image(data: bytes, name: str) -> Iterator[Image.Image]:
    """The picture, its size checked; whatever Pillow objects to within becomes a MediaError."""
    from PIL import Image, UnidentifiedImageError

    text = detect_impostor(data[:512])
    if text is not None:
        raise MediaError(f"{name} {text}")
    Image.init()
    formats = [kind for kind in _FORMATS if kind in Image.OPEN]  # not every build reads AVIF
    try:
        with Image.open(io.BytesIO(data), formats=formats) as image:
            _refuse_bomb(*image.size, name)
            yield image
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise MediaError(
            f"{name} claims more than {MAX_PIXELS:,} pixels: refused as a decompression bomb"
        ) from None
    except UnidentifiedImageError:
        raise MediaError(
            f"{name} is no picture that can be read; fetch it again or convert it to PNG"
        ) from None
    except (OSError, SyntaxError, ValueError, EOFError, struct.error) as error:
        raise MediaError(f"{name} is a damaged picture ({error}); fetch it again") from None


def _refuse_bomb(width: int, height: int, name: str) -> None:
    if width * height > MAX_PIXELS:
        raise MediaError(f"{name} claims {width}×{height} pixels: refused as a decompression bomb")
