"""Many pictures in one: numbered tiles in a grid, made once and cached by content."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vivant.core.errors import MediaError
from vivant.core.files import atomic_file
from vivant.core.paths import cache_root

if TYPE_CHECKING:
    from PIL import Image

GRIDS = "grids"
"""The folder of grids in a cache."""
TILE = 800
MAX_PIXELS = 80_000_000
"""Tiles shrink where a grid of full ones would be larger than what programs take for an honest picture."""
CAPTION_SIZE = 40
QUALITY = 85
_RECIPE = f"grid 1, {TILE} px, caption {CAPTION_SIZE}, quality {QUALITY}"
"""Part of every cached picture's name: change it when the drawing changes."""


def split_into_grids(pictures: int, grids: int) -> list[range]:
    """Which pictures go into which grid: at most `grids` of them, all but the last equally full."""
    if pictures == 0:
        return []
    size = math.ceil(pictures / grids)
    return [range(start, min(start + size, pictures)) for start in range(0, pictures, size)]


def grid_digest(hashes: Iterable[bytes], first: int = 1) -> str:
    """A grid's identity: from its tiles' SHA-256 hashes, without drawing it."""
    name = hashlib.sha256(f"{_RECIPE}, from {first}".encode())
    for digest in hashes:
        name.update(digest)
    return name.hexdigest()


def load_grid(pictures: Sequence[Path], first: int = 1, cache: Path | None = None) -> Path:
    """The file of a grid whose tiles are numbered from `first`; drawn where it is not cached yet."""
    hashes = []
    for picture in pictures:
        try:
            hashes.append(hashlib.sha256(picture.read_bytes()).digest())
        except OSError as error:
            raise MediaError(f"Cannot read {picture}: {error.strerror}") from error
    digest = grid_digest(hashes, first)
    path = (cache or cache_root()) / GRIDS / digest[:2] / f"{digest}.jpg"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path, durable=False) as file:
            draw_grid(pictures, first).save(file, "JPEG", quality=QUALITY)
    return path


def draw_grid(pictures: Sequence[Path], first: int = 1) -> Image.Image:
    """One picture of equal tiles, row by row, each with "Image n" at its foot. Holds one tile at a time."""
    from PIL import Image

    if not pictures:
        raise MediaError("There is no picture to make a grid of")
    columns = math.ceil(math.sqrt(len(pictures)))
    rows = math.ceil(len(pictures) / columns)
    side = min(TILE, math.isqrt(MAX_PIXELS // (columns * rows)))
    grid = Image.new("RGB", (columns * side, rows * side))
    for index, picture in enumerate(pictures):
        tile = _tile(picture, side)
        _caption(tile, f"Image {first + index}")
        grid.paste(tile, (index % columns * side, index // columns * side))
    return grid


def _tile(picture: Path, side: int) -> Image.Image:
    from PIL import Image, ImageOps

    try:
        with Image.open(picture) as opened:
            # A large JPEG is decoded at a fraction of its size, never below the tile's.
            opened.draft("RGB", (side, side))
            upright = ImageOps.exif_transpose(opened).convert("RGB")
            return upright.resize((side, side), Image.Resampling.LANCZOS)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise MediaError(f"{picture} is no picture that can be read: {error}") from error


def _caption(tile: Image.Image, text: str) -> None:
    from PIL import ImageDraw, ImageFont

    draw = ImageDraw.Draw(tile)
    font = ImageFont.load_default(CAPTION_SIZE)
    foot = (tile.width / 2, tile.height - 14)
    left, top, right, bottom = draw.textbbox(foot, text, font=font, anchor="mb")
    draw.rectangle((left - 12, top - 10, right + 12, bottom + 12), fill="black")
    draw.text(foot, text, font=font, anchor="mb", fill="white")
