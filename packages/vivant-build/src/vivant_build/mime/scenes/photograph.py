"""From a scene in plain colours to one that looks photographed: textures, light, shadows, depth of field.

What a surface is made of is read from its colour: brown is wood, green has leaves or grass, a blue sky has clouds.
Everything is drawn from fixed noise, so the same scene is the same picture on every machine.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from vivant_build.mime.rotation import Array
from vivant_build.mime.scenes.canvas import Canvas

Floats = NDArray[np.float32]
_NOISE = 512
_FAR = 12.0
"""Metres behind the figure from which on things look equally far."""
_LIT = (0.32, 0.10)
"""Where the light falls strongest: shares of width and height."""


def develop(canvas: Canvas) -> NDArray[np.uint8]:
    """The finished picture (height, width, 3) of a canvas."""
    width, height = canvas.size
    picture = np.asarray(canvas.finished(), np.float32) / np.float32(255)
    number = canvas.numbers()
    depth, x, y = _measure(canvas, number)
    sky = np.isinf(depth)
    deep = np.where(sky, np.float32(_FAR), np.minimum(depth, np.float32(_FAR)))
    floor = np.isin(
        number, np.flatnonzero([np.isnan(s.depth) or n == 1 for n, s in enumerate(canvas.surfaces)])
    )
    shade = _texture(picture, number, x, y, sky, floor)
    shade *= _volume(canvas, number, width, height)
    shade *= _shadows(deep, sky)
    picture *= shade[..., None]
    if canvas.end < 30:
        picture = _mirror(picture, floor)
    picture = _clouds(picture, sky)
    picture = _focus(picture, np.where(sky, np.float32(_FAR), deep))
    return _print(picture)


def _measure(canvas: Canvas, number: NDArray[np.int32]) -> tuple[Floats, Floats, Floats]:
    """Metres behind the figure, and two coordinates on the surface, of every pixel; the sky is infinitely far."""
    width, height = canvas.size
    camera = canvas.camera
    floor_x, floor_z = camera.floor(camera.width // width)
    known = np.array([s.depth for s in canvas.surfaces])
    depth = known[number]
    flat = np.isnan(depth) | (number == 1)
    depth = np.where(flat, np.clip(-np.nan_to_num(floor_z, nan=-200.0), -3.0, 200.0), depth)
    scale = (camera.distance + np.minimum(depth, 60.0)) / (camera.focal * width / camera.width)
    across = (np.arange(width) - width / 2)[None] * scale
    up = (height / 2 - np.arange(height))[:, None] * scale
    x = np.where(flat, np.nan_to_num(floor_x), across)
    y = np.where(flat, -depth, up)
    return depth.astype(np.float32), x.astype(np.float32), y.astype(np.float32)


@lru_cache(maxsize=1)
def _noise() -> Floats:
    """Noise that joins at all edges, from about -1 to 1, with lumps of several sizes: (3, size, size)."""
    generator = np.random.default_rng(20)
    layers = []
    for cells in ((4, 8), (16, 32, 64), (128, 256)):
        total = np.zeros((_NOISE, _NOISE), np.float32)
        for rank, count in enumerate(cells):
            lumps = generator.uniform(-1, 1, (count, count)).astype(np.float32)
            lumps = np.pad(lumps, 2, mode="wrap")
            made = Image.fromarray(lumps).resize(
                (_NOISE, _NOISE), Image.Resampling.BICUBIC, box=(2, 2, count + 2, count + 2)
            )
            total += np.asarray(made) * np.float32(0.6**rank)
        layers.append(total / np.abs(total).max())
    return np.stack(layers)


def _sample(layer: int, x: Floats, y: Floats) -> Floats:
    """Noise at places in units of its whole size."""
    column = (x * np.float32(_NOISE)).astype(np.int64) % _NOISE
    row = (y * np.float32(_NOISE)).astype(np.int64) % _NOISE
    return np.asarray(_noise()[layer].ravel()[row * _NOISE + column])


def _texture(
    picture: Floats,
    number: NDArray[np.int32],
    x: Floats,
    y: Floats,
    sky: NDArray[np.bool_],
    floor: NDArray[np.bool_],
) -> Floats:
    """How much lighter or darker each pixel is than its surface."""
    red, green, blue = picture[..., 0], picture[..., 1], picture[..., 2]
    other = number.astype(np.float32) * np.float32(0.37)
    x, y = x + other, y + other
    broad = _sample(0, x * np.float32(0.16), y * np.float32(0.16))
    middle = _sample(1, x * np.float32(0.45), y * np.float32(0.45))
    grain = _sample(2, x * np.float32(0.9), y * np.float32(0.9))
    paint = 0.05 * broad + 0.03 * middle + 0.02 * grain
    brown = (red > green * 1.12) & (green > blue * 1.12) & (red - blue > 0.12)
    along = np.where(
        floor,
        _sample(1, x * np.float32(2.2), y * np.float32(0.12)),
        _sample(1, x * np.float32(0.2), y * np.float32(1.6)),
    )
    wood = 0.04 * broad + 0.12 * along + 0.03 * grain
    leafy = (green > red * 1.06) & (green > blue * 1.12)
    leaves = 0.12 * broad + 0.20 * middle + 0.16 * grain
    stone = 0.07 * broad + 0.07 * middle + 0.06 * grain
    amount = np.where(brown, wood, np.where(leafy, leaves, np.where(floor, stone, paint)))
    return np.where(sky, np.float32(1), np.float32(1) + amount.astype(np.float32))


def _volume(canvas: Canvas, number: NDArray[np.int32], width: int, height: int) -> Floats:
    """Light on shapes: balls and rods are round, boards are brighter above; the room is brighter at the left."""
    boxes = np.array([s.box for s in canvas.surfaces], np.float32)
    rounded = np.array([s.rounded for s in canvas.surfaces])
    wide, high = np.maximum(boxes[:, 2] - boxes[:, 0], 1), np.maximum(boxes[:, 3] - boxes[:, 1], 1)
    column, row = np.arange(width, dtype=np.float32)[None], np.arange(height, dtype=np.float32)[:, None]
    u = np.clip((column - boxes[number, 0]) / wide[number], 0, 1)
    v = np.clip((row - boxes[number, 1]) / high[number], 0, 1)
    shape = number > 1
    ball = (rounded & (wide < 0.4 * width))[number]
    post = ((high > 5 * wide) & (wide < 0.06 * width))[number]
    rail = ((wide > 5 * high) & (high < 0.06 * height))[number]
    light = np.where(shape, 1.03 - 0.08 * v, 1.0)
    light = np.where(ball, 1.12 - 0.9 * ((u - 0.40) ** 2 + (v - 0.36) ** 2), light)
    light = np.where(post & ~ball, 1.10 - 1.1 * (u - 0.38) ** 2, light)
    light = np.where(rail & ~ball & ~post, 1.10 - 1.0 * (v - 0.32) ** 2, light)
    away = (column / width - _LIT[0]) ** 2 + (row / height - _LIT[1]) ** 2 * 0.8
    return (light * (1.10 - 0.15 * away)).astype(np.float32)


def _shadows(depth: Floats, sky: NDArray[np.bool_]) -> Floats:
    """Things darken what is behind them and close, more on their right; corners are dark."""
    lit = np.ones_like(depth)
    for radius, strength, shift in ((3, 0.16, 2), (14, 0.20, 6)):
        soft = _blur(depth / np.float32(_FAR), radius) * np.float32(_FAR)
        soft = np.roll(soft, (shift, shift), (0, 1))
        soft[:shift], soft[:, :shift] = depth[:shift], depth[:, :shift]
        behind = np.clip(depth - soft, 0, 1.2)
        lit *= np.where(sky, 1, 1 - strength * behind / 1.2 * 2).astype(np.float32).clip(0.5, 1)
    return lit


def _mirror(picture: Floats, floor: NDArray[np.bool_]) -> Floats:
    """A polished floor shows, faintly, what stands at its end."""
    rows = np.flatnonzero(floor.any(axis=1))
    if not len(rows):
        return picture
    first = int(rows[0])
    count = min(picture.shape[0] - first, first)
    image = picture.copy()
    image[first : first + count] = picture[first - count : first][::-1]
    soft = np.stack([_blur(image[..., n], 5) for n in range(3)], -1)
    fade = 0.22 * np.exp(-(np.arange(picture.shape[0]) - first).clip(0) / (0.30 * picture.shape[0]))
    share = (floor * fade[:, None])[..., None].astype(np.float32)
    return np.asarray(picture * (1 - share) + soft * share)


def _clouds(picture: Floats, sky: NDArray[np.bool_]) -> Floats:
    """Clouds in a blue sky."""
    height, width = sky.shape
    blue = sky & (picture[..., 2] > picture[..., 0] * 1.08) & (picture[..., 2] > 0.5)
    if not blue.any():
        return picture
    row, column = np.mgrid[0:height, 0:width].astype(np.float32)
    low = _sample(0, column / np.float32(1.6 * width), row / np.float32(0.9 * height) + np.float32(0.2))
    fine = _sample(1, column / np.float32(0.9 * width), row / np.float32(0.5 * height))
    cover = np.clip(low * 1.3 + 0.55 * fine - 0.05, 0, 1) * 0.75
    share = (_blur(cover.astype(np.float32), 2) * blue)[..., None]
    return picture * (1 - share) + np.float32(0.97) * share


def _focus(picture: Floats, depth: Floats) -> Floats:
    """What is behind the figure is less sharp, the farther the softer."""
    height = picture.shape[0]
    blur = 3.4 * height / 480 * np.clip((depth - 0.5) / (depth + 2.5), 0, 1)
    levels = [0.0, 1.2 * height / 480, 3.0 * height / 480]
    result = np.zeros_like(picture)
    blurred = [
        picture,
        *(np.stack([_blur(picture[..., n], level) for n in range(3)], -1) for level in levels[1:]),
    ]
    edges = _blur(blur.astype(np.float32) / 4, 1.0) * 4
    for n, image in enumerate(blurred):
        weight = np.interp(edges, levels, np.eye(3)[n])
        result += image * weight[..., None].astype(np.float32)
    return result


def _print(picture: Floats) -> NDArray[np.uint8]:
    """A soft curve, darker corners and a little grain."""
    height, width = picture.shape[:2]
    row, column = np.linspace(-1, 1, height)[:, None], np.linspace(-1, 1, width)[None]
    corners = (1 - 0.07 * (row**2 + column**2)).astype(np.float32)
    tone = np.clip(picture * corners[..., None], 0, 1)
    tone = tone + np.float32(0.10) * tone * (1 - tone) * (2 * tone - 1)
    grain = np.random.default_rng(7).normal(0, 0.008, (height, width)).astype(np.float32)
    return np.asarray(np.clip((tone + grain[..., None]) * 255 + 0.5, 0, 255), np.uint8)


def _blur(plane: Array | Floats, radius: float) -> Floats:
    """A plane from 0 to 1, blurred."""
    image = Image.fromarray(np.clip(plane * 255 + 0.5, 0, 255).astype(np.uint8))
    return np.asarray(image.filter(ImageFilter.GaussianBlur(radius)), np.float32) / np.float32(255)
