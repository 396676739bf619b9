"""What surfaces look like close up: pictures that are wrapped around the pieces of a body."""

from __future__ import annotations

import numpy as np
from PIL import Image

from vivant_build.mime.rotation import Array

Tile = np.typing.NDArray[np.float32]
"""(height, width, 3) from 0 to 255. Across: around a piece from its back; down: along it."""
Colour = tuple[int, int, int]


def noise(shape: tuple[int, int], cells: tuple[int, int], seed: int) -> Array:
    """Smooth noise from -1 to 1, with so many lumps down and across; it joins at its left and right edges."""
    generator = np.random.default_rng(seed)
    lumps = generator.uniform(-1, 1, (cells[0] + 4, cells[1])).astype(np.float32)
    lumps = np.concatenate([lumps[:, -2:], lumps, lumps[:, :2]], 1)
    high, wide = shape
    box = (2.0, 2.0, lumps.shape[1] - 2.0, lumps.shape[0] - 2.0)
    return np.asarray(
        Image.fromarray(lumps).resize((wide, high), Image.Resampling.BICUBIC, box=box), dtype=float
    )


def plain(colour: Colour, size: tuple[int, int] = (16, 16)) -> Tile:
    """One colour."""
    return np.broadcast_to(np.asarray(colour, np.float32), (*size, 3)).copy()


def cloth(
    colour: Colour, size: tuple[int, int], seed: int, *, folds: float = 0.10, along: bool = True
) -> Tile:
    """Woven stuff with soft folds that run along the piece or around it."""
    high, wide = size
    weave = noise(size, (max(high // 2, 4), max(wide // 2, 4)), seed) * 0.035
    cells = (4, 14) if along else (12, 4)
    crease = noise(size, cells, seed + 1) + 0.6 * noise(size, (cells[0] * 2, cells[1] * 2), seed + 2)
    wear = noise(size, (5, 5), seed + 3) * 0.03
    return shade(plain(colour, size), 1 + weave + folds * 0.6 * crease + wear)


def skin(colour: Colour, size: tuple[int, int], seed: int) -> Tile:
    """Skin: hardly any pattern, a little redder here and there."""
    tile = shade(plain(colour, size), 1 + 0.025 * noise(size, (8, 8), seed))
    blush = 0.03 * noise(size, (4, 4), seed + 1)
    tile[..., 0] *= (1 + 0.5 * blush).astype(np.float32)
    tile[..., 1:] *= (1 - blush).astype(np.float32)[..., None]
    return tile


def hair(colour: Colour, size: tuple[int, int], seed: int) -> Tile:
    """Strands along the piece."""
    wide = size[1]
    strands = noise(size, (5, wide // 3), seed) * 0.22 + noise(size, (3, 10), seed + 1) * 0.12
    return shade(plain(colour, size), 1 + strands)


def shade(tile: Tile, factor: Array) -> Tile:
    """The tile made lighter or darker, by a factor for each of its points."""
    return (tile * np.asarray(factor, np.float32)[..., None]).astype(np.float32)


def band(
    tile: Tile, low: float, high: float, colour: Colour, *, around: tuple[float, float] = (0.0, 1.0)
) -> None:
    """Paint a part of a tile, from `low` to `high` along it."""
    rows, columns = tile.shape[:2]
    area = tile[
        round(low * rows) : max(round(high * rows), round(low * rows) + 1),
        round(around[0] * columns) : round(around[1] * columns),
    ]
    area[:] = np.asarray(colour, np.float32) * (
        area.mean(axis=2, keepdims=True) / max(float(area.mean()), 1.0)
    )


def edge(tile: Tile, place: float, width: float, factor: float) -> None:
    """A seam or a shadow around the piece: soft, darkest at `place` along it."""
    rows = (np.arange(tile.shape[0]) + 0.5) / tile.shape[0]
    tile *= (1 - (1 - factor) * np.exp(-(((rows - place) / width) ** 2))).astype(np.float32)[:, None, None]
