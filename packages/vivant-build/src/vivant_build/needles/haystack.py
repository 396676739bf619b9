"""Hay: drawn landscapes, harmless sentences, and keys that no one has seen before. All from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING

from vivant.core.randomness import derive_generator

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

SIZE = (320, 240)

_SKIES = ((186, 217, 245), (247, 214, 178), (203, 224, 214), (214, 205, 232), (238, 238, 226))
_LANDS = ((126, 160, 92), (160, 143, 96), (98, 138, 121), (176, 166, 120), (120, 128, 150))
_PAINTS = ((196, 76, 62), (62, 104, 168), (222, 178, 70), (92, 148, 98), (146, 96, 150), (70, 70, 78))

_WHO = (
    "baker",
    "gardener",
    "sailor",
    "teacher",
    "painter",
    "doctor",
    "farmer",
    "clerk",
    "driver",
    "pupil",
    "neighbour",
    "cook",
)
_DOES = (
    "counts the {thing} before noon",
    "carries the {adjective} {thing} to the market",
    "looks for a {thing} behind the house",
    "writes a letter about the {adjective} {thing}",
    "puts the {thing} back on the shelf",
    "cleans the {adjective} {thing} every evening",
    "shows the {thing} to a friend",
    "leaves the {thing} beside the door",
)
_THING = (
    "basket",
    "lamp",
    "ladder",
    "kettle",
    "book",
    "chair",
    "bell",
    "rope",
    "map",
    "jar",
    "clock",
    "blanket",
    "mirror",
    "broom",
)
_ADJECTIVE = ("old", "heavy", "small", "broken", "bright", "plain", "round", "dusty", "narrow", "quiet")

_STARTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"


def new_key(seed: int, *names: str) -> str:
    """A made-up word of three syllables, so that it can neither be guessed nor remembered."""
    rng = derive_generator(seed, "key", *names)
    syllables = (rng.choice(_STARTS) + rng.choice(_VOWELS) for _ in range(3))
    return "".join(syllables) + rng.choice("nrlst")


def generate_sentences(rng: Random) -> Iterator[str]:
    """Sentences without end, none of which answers anything."""
    while True:
        what = rng.choice(_DOES).format(thing=rng.choice(_THING), adjective=rng.choice(_ADJECTIVE))
        yield f"The {rng.choice(_WHO)} {what}."


def draw_landscape(rng: Random, size: tuple[int, int] = SIZE) -> Image:
    """A drawn view: sky, hills, and some of sun, trees, houses, boats."""
    from PIL import Image, ImageDraw

    width, height = size
    picture = Image.new("RGB", size, rng.choice(_SKIES))
    draw = ImageDraw.Draw(picture)
    if rng.random() < 0.7:
        left, top, wide = rng.randrange(width), rng.randrange(height // 4), height // 5
        draw.ellipse((left, top, left + wide, top + wide), fill=(250, 226, 120))
    horizon = height * rng.uniform(0.45, 0.6)
    for layer in range(3):
        land = rng.choice(_LANDS)
        crest = horizon + layer * height * 0.13
        points = [(0.0, float(height))]
        points += [(width * i / 6, crest + rng.uniform(-0.08, 0.08) * height) for i in range(7)]
        draw.polygon([*points, (float(width), float(height))], fill=land)
    for _ in range(rng.randint(2, 5)):
        x, y = rng.uniform(0.1, 0.9) * width, rng.uniform(0.62, 0.92) * height
        rng.choice((_draw_tree, _draw_house, _draw_boat))(draw, rng, x, y, height * rng.uniform(0.1, 0.2))
    return picture


def _draw_tree(draw: ImageDraw, rng: Random, x: float, y: float, size: float) -> None:
    draw.rectangle((x - size / 10, y - size / 2, x + size / 10, y), fill=(110, 82, 60))
    green = (rng.randint(50, 100), rng.randint(110, 150), rng.randint(60, 90))
    draw.ellipse((x - size / 2, y - size * 1.4, x + size / 2, y - size * 0.4), fill=green)


def _draw_house(draw: ImageDraw, rng: Random, x: float, y: float, size: float) -> None:
    draw.rectangle((x - size / 2, y - size * 0.7, x + size / 2, y), fill=(236, 226, 206))
    draw.polygon(
        [(x - size * 0.6, y - size * 0.7), (x, y - size * 1.2), (x + size * 0.6, y - size * 0.7)],
        fill=rng.choice(_PAINTS),
    )
    draw.rectangle((x - size / 9, y - size * 0.4, x + size / 9, y), fill=(104, 84, 70))


def _draw_boat(draw: ImageDraw, rng: Random, x: float, y: float, size: float) -> None:
    hull = [(x - size * 0.6, y - size * 0.2), (x + size * 0.6, y - size * 0.2)]
    draw.polygon([*hull, (x + size * 0.35, y), (x - size * 0.35, y)], fill=(112, 86, 66))
    sail = [(x, y - size * 1.1), (x, y - size * 0.25), (x + size * 0.5, y - size * 0.25)]
    draw.polygon(sail, fill=rng.choice(_PAINTS))


def write_on_picture(picture: Image, text: str, rng: Random) -> Image:
    """The picture with a plate on it that says `text`, where the chance puts it."""
    from PIL import ImageDraw, ImageFont

    copy = picture.convert("RGB")
    draw = ImageDraw.Draw(copy)
    size = max(12, round(copy.height / 14))
    font = ImageFont.load_default(size)
    while size > 8 and draw.textlength(text, font=font) > copy.width * 0.9:
        size -= 1
        font = ImageFont.load_default(size)
    left, top, right, bottom = draw.textbbox((0, 0), text, font=font)
    wide, high = right - left + size, bottom - top + size
    x = rng.uniform(0, max(0.0, copy.width - wide))
    y = rng.uniform(0, max(0.0, copy.height - high))
    draw.rectangle((x, y, x + wide, y + high), fill=(255, 252, 235), outline=(60, 60, 60))
    draw.text((x + size / 2 - left, y + size / 2 - top), text, font=font, fill=(24, 24, 30))
    return copy
