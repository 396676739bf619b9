"""Pictures go out as they came in, unless they must be changed; what is no picture is refused by name."""

from __future__ import annotations

import asyncio
import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow
from PIL import ImageOps

from tests.support.media_kit import job, numbered
from vivant.core import file_types as sniff
from vivant.core.errors import MediaError
from vivant.core.records import MediaUse
from vivant.core.types import FramePolicy, Image, Picture
from vivant.media import MediaLoader, verify
from vivant.media.image_grid import load_grid


def drawn(size: tuple[int, int] = (90, 60)) -> Pillow.Image:
    return Pillow.fromarray(numbered(0b1100101, size))


def encoded(kind: str, image: Pillow.Image | None = None, orientation: int = 1, **settings: object) -> bytes:
    buffer = io.BytesIO()
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    if orientation != 1:
        settings["exif"] = exif
    (image or drawn()).save(buffer, kind, **settings)
    return buffer.getvalue()


def shown(
    path: Path, data: bytes, policy: FramePolicy | None = None, times: int = 1
) -> tuple[Picture, MediaUse]:
    path.write_bytes(data)
    made = job(path.parent, Image(path.name), frames=policy or FramePolicy())
    with MediaLoader(path.parent / "cache") as loader:
        for _ in range(times):
            loaded = asyncio.run(loader.load(made))
    picture = loaded.turns[0].parts[1]
    assert isinstance(picture, Picture)
    return picture, loaded.media[0]


def pixels(data: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    return np.asarray(Pillow.open(io.BytesIO(data)).convert("RGB")).astype(np.int16)


# ── unchanged ──


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
def test_bytes_are_sent_as_they_are(tmp_path: Path, kind: str) -> None:
    data = encoded(kind)
    # The name lies about the type: the content decides.
    picture, use = shown(tmp_path / "a.bin", data)
    assert picture.data == data
    assert (picture.media_type, picture.width, picture.height) == (f"image/{kind.lower()}", 90, 60)
    assert use.note == "" and use.times == ()


def test_a_policy_that_does_not_shrink_changes_nothing(tmp_path: Path) -> None:
    data = encoded("JPEG")
    policy = FramePolicy(longest_side=90, format="png", quality=10)
    assert shown(tmp_path / "a.jpg", data, policy)[0].data == data


def test_large_files_take_the_same_way(tmp_path: Path) -> None:
    noise = Pillow.fromarray(np.random.default_rng(0).integers(0, 255, (900, 900, 3), np.uint8))
    data = encoded("PNG", noise)
    assert len(data) > 1 << 20
    assert shown(tmp_path / "a.png", data)[0].data == data
    small, use = shown(tmp_path / "a.png", data, FramePolicy(longest_side=300))
    assert (small.width, small.height, use.note) == (300, 300, "resized")


def test_a_picture_cut_short_is_sent_with_a_note(tmp_path: Path) -> None:
    for kind in ("JPEG", "PNG", "WEBP", "GIF"):
        data = encoded(kind)[:-40]
        picture, use = shown(tmp_path / "a.x", data)
        assert picture.data == data and use.note == "cut short", kind
        assert "cut short" in (verify(tmp_path / "a.x") or ""), kind


# ── changed ──


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_shrunk_in_its_own_format(tmp_path: Path, kind: str) -> None:
    data = encoded(kind, drawn((400, 300)))
    picture, use = shown(tmp_path / "a.x", data, FramePolicy(longest_side=100, quality=95), times=2)
    assert (picture.media_type, picture.width, picture.height) == (f"image/{kind.lower()}", 100, 75)
    assert use.note == "resized"
    expected = np.asarray(drawn((400, 300)).resize((100, 75), Pillow.Resampling.LANCZOS)).astype(np.int16)
    assert np.abs(pixels(picture.data) - expected).mean() < 6


@pytest.mark.parametrize("orientation", range(2, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_turned_upright_by_exif(tmp_path: Path, kind: str, orientation: int) -> None:
    data = encoded(kind, orientation=orientation, quality=95)
    picture, use = shown(tmp_path / "a.x", data)
    upright = ImageOps.exif_transpose(Pillow.open(io.BytesIO(data))).convert("RGB")
    assert (picture.width, picture.height) == upright.size
    assert np.abs(pixels(picture.data) - np.asarray(upright).astype(np.int16)).mean() < 6
    assert picture.media_type == f"image/{kind.lower()}" and use.note == "rotated"
    assert sniff.parse_image_header(picture.data) == sniff.ImageHeader(picture.media_type, *upright.size)


def test_turned_and_shrunk(tmp_path: Path) -> None:
    data = encoded("JPEG", drawn((400, 200)), orientation=6)
    picture, use = shown(tmp_path / "a.jpg", data, FramePolicy(longest_side=100))
    assert (picture.width, picture.height) == (50, 100)
    assert use.note == "rotated, resized"


@pytest.mark.parametrize("kind", ["BMP", "TIFF", "PPM"])
def test_formats_that_servers_do_not_take_become_png(tmp_path: Path, kind: str) -> None:
    picture, use = shown(tmp_path / "a.x", encoded(kind), times=2)
    assert picture.media_type == "image/png" and use.note == "converted to PNG"
    assert np.array_equal(pixels(picture.data), pixels(encoded("PNG")))


def test_a_turned_tiff(tmp_path: Path) -> None:
    picture, use = shown(tmp_path / "a.tif", encoded("TIFF", orientation=8))
    assert (picture.width, picture.height) == (60, 90)
    assert use.note == "rotated, converted to PNG"


@pytest.mark.parametrize("mode", ["L", "LA", "P", "1", "CMYK", "RGBA", "I;16"])
def test_every_pixel_format_can_be_shrunk(tmp_path: Path, mode: str) -> None:
    kind = "TIFF" if mode == "CMYK" else "PNG"
    source = (
        drawn((200, 100)).convert("L").convert("I;16") if mode == "I;16" else drawn((200, 100)).convert(mode)
    )
    picture, _ = shown(tmp_path / "a.x", encoded(kind, source), FramePolicy(longest_side=50))
    assert (picture.width, picture.height, picture.media_type) == (50, 25, "image/png")


def test_an_animation_is_shrunk_to_its_first_frame(tmp_path: Path) -> None:
    frames = [Pillow.new("RGB", (100, 100), colour) for colour in ("red", "blue")]
    data = encoded("GIF", frames[0], save_all=True, append_images=frames[1:])
    assert shown(tmp_path / "a.gif", data)[0].data == data
    picture, use = shown(tmp_path / "a.gif", data, FramePolicy(longest_side=10))
    assert picture.media_type == "image/png" and pixels(picture.data)[5, 5].tolist() == [255, 0, 0]
    assert "first frame" in use.note


def test_the_colour_profile_stays(tmp_path: Path) -> None:
    profile = b"a colour profile, as far as anyone here knows"
    picture, _ = shown(tmp_path / "a.png", encoded("PNG", icc_profile=profile), FramePolicy(longest_side=20))
    assert Pillow.open(io.BytesIO(picture.data)).info["icc_profile"] == profile


def test_a_damaged_copy_in_the_cache_is_made_again(tmp_path: Path) -> None:
    data, policy = encoded("JPEG"), FramePolicy(longest_side=30)
    first = shown(tmp_path / "a.jpg", data, policy)[0].data
    (entry,) = (tmp_path / "cache" / "frames").rglob("image-*.jpg")
    for content in (b"", first[:100]):
        entry.write_bytes(content)
        assert shown(tmp_path / "a.jpg", data, policy)[0].data == first


def test_a_grid_of_pictures(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.jpg").write_bytes(encoded("JPEG"))
    made = job(tmp_path, Image("grid of 3", tiles=("0.jpg", "1.jpg", "2.jpg"), first=4))
    with MediaLoader(tmp_path / "cache") as loader:
        described = loader.describe(made)
        loaded = asyncio.run(loader.load(made))
        (tmp_path / "1.jpg").write_bytes(encoded("JPEG", drawn((91, 61))))
        changed = loader.describe(made)
    picture = loaded.turns[0].parts[1]
    assert isinstance(picture, Picture)
    assert (picture.width, picture.height) == (1600, 1600)
    expected = load_grid([tmp_path / f"{n}.jpg" for n in (0, 1, 2)], 4, tmp_path / "other")
    assert expected.stem == changed[0].sha256 != described[0].sha256 == loaded.media[0].sha256


# ── refused ──


def bomb() -> bytes:
    """A PNG of a few bytes that claims 50,000 × 50,000 pixels."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b""))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "is empty"),
        (b"<!doctype html><p>no", "HTML page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        (b"not a picture at all" * 9, "no picture that can be read"),
        (bomb(), "decompression bomb"),
        (
            b"BM"
            + struct.pack("<IHHIIiiHHIIiiII", 70, 0, 0, 54, 40, 40_000, 40_000, 1, 24, 0, 0, 0, 0, 0, 0),
            "bomb",
        ),
        (encoded("BMP")[:400], "damaged picture"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "no picture that can be read"),
    ],
)
def test_what_is_no_picture_is_refused_by_name(tmp_path: Path, data: bytes, word: str) -> None:
    with pytest.raises(MediaError, match=r"^a\.jpg ") as caught:
        shown(tmp_path / "a.jpg", data)
    assert word in str(caught.value) and "\n" not in str(caught.value)
    line = verify(tmp_path / "a.jpg")
    assert line is not None and "\n" not in line and "a.jpg" not in line


def test_a_picture_that_is_fine_passes(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(encoded("PNG"))
    assert verify(tmp_path / "a.png") is None


# ── headers ──


@given(st.binary(max_size=300))
def test_no_bytes_upset_the_header_reader(data: bytes) -> None:
    for start in (b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"RIFF\x10\0\0\0WEBP", b"GIF89a"):
        look = sniff.parse_image_header(start + data)
        assert look is None or (look.width > 0 and look.height > 0 and 1 <= look.orientation <= 8)


@given(
    st.sampled_from(["JPEG", "PNG", "WEBP", "GIF"]),
    st.integers(1, 300),
    st.integers(1, 300),
    st.integers(1, 8),
    st.booleans(),
)
def test_headers_agree_with_pillow(kind: str, width: int, height: int, orientation: int, flag: bool) -> None:
    settings = {"JPEG": {"progressive": flag}, "WEBP": {"lossless": flag}}.get(kind, {})
    turn = 1 if kind == "GIF" else orientation
    data = encoded(kind, Pillow.new("RGB", (width, height), "green"), turn, **settings)
    assert sniff.parse_image_header(data) == sniff.ImageHeader(f"image/{kind.lower()}", width, height, turn)
    for cut in (len(data) // 2, len(data) // 4):
        look = sniff.parse_image_header(data[:cut])
        assert look is None or not look.complete or kind == "GIF"


def test_the_thumbnail_inside_a_jpeg_is_not_the_picture() -> None:
    exif = b"Exif\0\0II*\0\x08\0\0\0\0\0" + encoded("JPEG", drawn((16, 16)))
    whole = encoded("JPEG", drawn((90, 60)))
    data = whole[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + whole[2:]
    assert sniff.parse_image_header(data) == sniff.ImageHeader("image/jpeg", 90, 60)
    cut = sniff.parse_image_header(data[: len(exif) + 400])
    assert cut is not None and not cut.complete


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\0\0\0\x20ftypisom", "video/mp4"),
        (b"\0\0\0\x14ftypqt  ", "video/quicktime"),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm", "video/webm"),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x82\x88matroska", "video/x-matroska"),
        (b"RIFF\0\0\0\0AVI LIST", "video/x-msvideo"),
        (b"G" + bytes(187) + b"G", "video/mp2t"),
    ],
)
def test_video_types(head: bytes, kind: str) -> None:
    assert sniff.detect_video_type(head) == kind
