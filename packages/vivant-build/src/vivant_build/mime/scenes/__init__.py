"""Backgrounds: drawn scenes that come with the project, the blank one, and any picture file.

A drawn scene is a YAML file: what it shows (`description`), what people do there (`fits`), and how it is drawn.
`draw` is a list of steps, in order, from the back to the front:

- a method of `Canvas` with its arguments: `board: [2.4, -9, 9, 0, 6, [238, 232, 216]]`; formulas (see
  `formulas.py`) may stand for numbers. `floor` has its arguments by name, and a `pattern`.
- `set: {tone: 66 + 14 * row}`: a variable for the steps that follow.
- `each: x, in: [-1, 1], draw: […]`: the steps in `draw` for each value; `in: 5` counts from 0 to 4, `each: [x, y]`
  takes pairs, `count: step` numbers the rounds.
- `when: step % 2, draw: […], else: […]`: one list of steps or the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from PIL import Image, UnidentifiedImageError

from vivant.core.errors import DataError, MediaError, unknown_name_error
from vivant_build.mime.camera import Camera
from vivant_build.mime.catalog import YamlFolder
from vivant_build.mime.formulas import Formulas
from vivant_build.mime.rasterizer import Plane
from vivant_build.mime.scenes.canvas import Canvas, ellipse, plain, planks, stripes, tiles
from vivant_build.mime.scenes.photograph import develop

BLANK = "blank"
_GREY = (182, 184, 188)
_SHAPES = frozenset({"sky", "floor", "shape", "board", "disc", "line", "ground", "tree"})
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "arange": np.arange,
    "linspace": np.linspace,
    "geomspace": np.geomspace,
    "sin": np.sin,
    "ellipse": ellipse,
    "plain": plain,
    "planks": planks,
    "stripes": stripes,
    "tiles": tiles,
}
_FIRST = (
    *("archery_range", "basketball_court", "bowling_alley", "boxing_gym", "concert_hall", "fishing_pier"),
    *("golf_course", "gym", "house_front", "lake_shore", "living_room", "playground", "road", "soccer_field"),
    *("street", "swimming_pool", "tennis_court"),
)
"""The scenes of the first edition. Their order counts where two scenes fit an action equally well."""


class BackgroundScene(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A drawn background. `fits` names what people do there, all of it: meaning is measured on these phrases."""

    name: str = ""
    description: str
    fits: tuple[str, ...]
    draw: tuple[dict[str, Any], ...]


SCENES = YamlFolder(Path(__file__).parent, BackgroundScene, _FIRST)
"""Every drawn background, read when it is used."""


def draw_background(name: str, camera: Camera, *, flat: bool = False) -> Plane:
    """A background by name as planes (3, height, width) from 0 to 1; `blank` is an even grey.

    `flat` leaves it in plain colours, without textures, light and depth of field.
    """
    if name == BLANK:
        grey = np.asarray(_GREY, np.float32)[:, None, None] / np.float32(255)
        return np.ascontiguousarray(np.broadcast_to(grey, (3, camera.height, camera.width)))
    if name not in SCENES:
        raise unknown_name_error("background", name, [BLANK, *SCENES])
    canvas = Canvas(camera)
    try:
        _draw(canvas, SCENES[name].draw, Formulas({}, _FUNCTIONS))
    except DataError as error:
        raise DataError(f"Scene {name}: {error}") from None
    return _planes(canvas.finished() if flat else develop(canvas))


def _draw(canvas: Canvas, steps: Sequence[dict[str, Any]], formulas: Formulas) -> None:
    for step in steps:
        match step:
            case {"set": values}:
                formulas.names.update({name: formulas.compute(value) for name, value in values.items()})
            case {"each": target, "in": values, "draw": inner}:
                rounds = formulas.compute(values)
                for number, value in enumerate(range(rounds) if isinstance(rounds, int) else rounds):
                    names = (
                        {target: value} if isinstance(target, str) else dict(zip(target, value, strict=True))
                    )
                    formulas.names.update(names, **({step["count"]: number} if "count" in step else {}))
                    _draw(canvas, inner, formulas)
            case {"when": test, "draw": inner}:
                _draw(canvas, inner if formulas.compute(test) else step.get("else", []), formulas)
            case _:
                _draw_shape(canvas, step, formulas)


def _draw_shape(canvas: Canvas, step: dict[str, Any], formulas: Formulas) -> None:
    (shape, arguments), *more = step.items()
    if more or shape not in _SHAPES:
        raise DataError(
            f"a step is set, each, when or one of {', '.join(sorted(_SHAPES))}, not {', '.join(step)}"
        )
    try:
        if isinstance(arguments, dict):
            getattr(canvas, shape)(**{name: formulas.compute(value) for name, value in arguments.items()})
        else:
            getattr(canvas, shape)(*formulas.compute(arguments))
    except (TypeError, ValueError) as error:
        raise DataError(f"{shape} cannot be drawn: {error}") from None


def read_background(file: Path, size: tuple[int, int]) -> Plane:
    """A picture file as a background: scaled to cover `size` (width, height) and cut around its middle."""
    try:
        with Image.open(file) as opened:
            picture = opened.convert("RGB")
    except FileNotFoundError:
        raise MediaError(f"{file}: there is no such background picture") from None
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise MediaError(f"{file}: not a picture that can be read ({error}); use PNG or JPEG") from None
    scale = max(size[0] / picture.width, size[1] / picture.height)
    wide, high = max(size[0], round(picture.width * scale)), max(size[1], round(picture.height * scale))
    picture = picture.resize((wide, high), Image.Resampling.LANCZOS)
    left, top = (wide - size[0]) // 2, (high - size[1]) // 2
    return _planes(np.asarray(picture.crop((left, top, left + size[0], top + size[1]))))


def _planes(picture: np.typing.NDArray[np.uint8]) -> Plane:
    return np.ascontiguousarray(picture.transpose(2, 0, 1), dtype=np.float32) / np.float32(255)
