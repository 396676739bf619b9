"""A drawer that needs no model: it writes the description on a card, so that the whole path runs anywhere."""

from __future__ import annotations

import hashlib
import io
import textwrap

from vivant.core.errors import UsageError
from vivant.models.base import ModelOptions
from vivant.models.image_generation.base import ImageGenerator

SIZE = (448, 336)
_MARGIN, _LINE, _FONT = 24, 26, 20
_LINES, _COLUMNS = 10, 38


class PlaceholderGenerator(ImageGenerator):
    """Cards with a frame whose colour follows from the description."""

    name = "placeholder cards"
    cacheable = True
    caveat = "illustrated by placeholder cards that bear the descriptions, not by an image model"

    async def generate_image(self, description: str, seed: int) -> bytes:  # noqa: ARG002
        return draw_card(description)


def draw_card(description: str) -> bytes:
    """A PNG with the description in it; what does not fit ends in an ellipsis."""
    from PIL import Image, ImageDraw, ImageFont

    red, green, blue = hashlib.sha256(description.encode("utf-8", "replace")).digest()[:3]
    colour = (red // 2 + 40, green // 2 + 40, blue // 2 + 40)
    picture = Image.new("RGB", SIZE, "white")
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, SIZE[0] - 1, SIZE[1] - 1), outline=colour, width=8)
    pen.rectangle((8, 8, SIZE[0] - 9, 40), fill=colour)
    pen.text((_MARGIN, 14), "placeholder", fill="white", font=ImageFont.load_default(16))
    lines = textwrap.wrap(strip_unprintable(description), _COLUMNS) or ["(no description)"]
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], lines[_LINES - 1][: _COLUMNS - 2] + " …"]
    font = ImageFont.load_default(_FONT)
    for number, line in enumerate(lines):
        pen.text((_MARGIN, 54 + number * _LINE), line, fill="black", font=font)
    encoded = io.BytesIO()
    picture.quantize(64).save(encoded, "PNG", optimize=True)
    return encoded.getvalue()


def strip_unprintable(text: str) -> str:
    """One line without control characters: fonts draw those as boxes, or break the line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def create(argument: str, options: ModelOptions) -> ImageGenerator:
    """`--image-model placeholder`."""
    options.resolve()
    if argument:
        raise UsageError(f"'placeholder' takes nothing after its name; got 'placeholder/{argument}'")
    return PlaceholderGenerator()
