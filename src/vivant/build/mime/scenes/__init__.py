"""Backgrounds: drawn scenes that come with the project, the blank one, and any picture file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from vivant.build.mime.camera import Camera
from vivant.build.mime.rasterizer import Plane
from vivant.build.mime.scenes import country, indoor, outdoor, rooms
from vivant.build.mime.scenes.canvas import Canvas
from vivant.core.errors import MediaError, unknown

BLANK = "blank"
_GREY = (182, 184, 188)


@dataclass(frozen=True)
class BackgroundScene:
    """A drawn background. `fits` names what people do there, all of it: meaning is measured on these phrases."""

    name: str
    description: str
    fits: tuple[str, ...]
    draw: Callable[[Canvas], None]


SCENES: dict[str, BackgroundScene] = {
    scene.name: scene
    for scene in (
        BackgroundScene(
            "archery_range",
            "a meadow with round targets before trees",
            ("shooting arrows with a bow",),
            outdoor.archery_range,
        ),
        BackgroundScene(
            "basketball_court",
            "a parquet court with a hoop and seats",
            ("playing basketball", "jumping rope"),
            indoor.basketball_court,
        ),
        BackgroundScene(
            "bowling_alley", "bowling lanes with pins at the end", ("bowling",), indoor.bowling_alley
        ),
        BackgroundScene(
            "boxing_gym",
            "the inside of a boxing ring",
            ("boxing", "punching", "jumping rope"),
            indoor.boxing_gym,
        ),
        BackgroundScene(
            "concert_hall",
            "a stage with red curtains and lights",
            ("playing piano", "playing guitar", "playing violin", "playing drums"),
            indoor.concert_hall,
        ),
        BackgroundScene(
            "fishing_pier",
            "a wooden pier on a lake",
            ("fishing", "swimming in a lake", "rowing a boat"),
            outdoor.fishing_pier,
        ),
        BackgroundScene(
            "golf_course", "a fairway with a bunker and a flag", ("playing golf",), outdoor.golf_course
        ),
        BackgroundScene(
            "gym",
            "a weight room with dumb-bells and a mirror",
            ("lifting weights", "boxing", "jumping rope", "using a rowing machine"),
            indoor.gym,
        ),
        BackgroundScene(
            "house_front",
            "a brick house with a ladder against it",
            ("climbing a ladder", "hammering a nail", "sweeping the pavement"),
            outdoor.house_front,
        ),
        BackgroundScene(
            "lake_shore",
            "the shore of a lake with a boat",
            ("rowing a boat", "swimming in a lake", "fishing"),
            outdoor.lake_shore,
        ),
        BackgroundScene(
            "living_room",
            "a room with a sofa, a rug and a window",
            ("sweeping the floor", "drinking coffee", "playing piano", "playing guitar", "playing violin"),
            indoor.living_room,
        ),
        BackgroundScene(
            "playground",
            "a playground with a swing and a slide",
            ("jumping rope", "climbing", "playing soccer", "playing basketball"),
            outdoor.playground,
        ),
        BackgroundScene("road", "a road to the horizon with cars on it", ("driving a car",), outdoor.road),
        BackgroundScene(
            "soccer_field",
            "a football pitch with a goal",
            ("playing soccer", "kicking a ball"),
            outdoor.soccer_field,
        ),
        BackgroundScene(
            "street",
            "a pavement before a row of houses",
            ("waving hello", "driving a car", "sweeping the pavement"),
            outdoor.street,
        ),
        BackgroundScene(
            "swimming_pool", "an indoor pool with lane ropes", ("swimming",), indoor.swimming_pool
        ),
        BackgroundScene(
            "tennis_court", "a tennis court with its net", ("playing tennis",), outdoor.tennis_court
        ),
        BackgroundScene(
            "auditorium",
            "the rows of seats of a theatre",
            ("clapping", "applauding", "watching a play"),
            rooms.auditorium,
        ),
        BackgroundScene(
            "baseball_field",
            "a baseball diamond with its bases",
            ("playing baseball", "swinging a baseball bat"),
            country.baseball_field,
        ),
        BackgroundScene(
            "bathroom",
            "a bathroom with a basin, a mirror and a bath",
            ("brushing teeth", "washing hands", "combing hair", "cleaning"),
            rooms.bathroom,
        ),
        BackgroundScene(
            "forest",
            "a clearing in a wood with logs and a chopping block",
            ("chopping wood", "sawing wood", "climbing a tree", "running"),
            country.forest,
        ),
        BackgroundScene(
            "garden",
            "a kitchen garden with beds, a fence and a shed",
            ("digging a hole", "gardening", "sweeping the path", "sawing wood"),
            country.garden,
        ),
        BackgroundScene(
            "harbour",
            "a quay with a moored ship",
            ("pulling a rope", "fishing", "rowing a boat"),
            country.harbour,
        ),
        BackgroundScene(
            "kitchen",
            "a kitchen with a stove and cupboards",
            ("cooking", "stirring a pot", "drinking coffee", "sweeping the floor", "cleaning"),
            rooms.kitchen,
        ),
        BackgroundScene(
            "office",
            "an office with desks, screens and shelves",
            ("talking on the phone", "typing", "drinking coffee", "cleaning a window"),
            rooms.office,
        ),
        BackgroundScene(
            "parade_ground",
            "a square before barracks with a flag",
            ("saluting", "marching", "running"),
            country.parade_ground,
        ),
        BackgroundScene(
            "park",
            "a path between lawns and trees with a bench",
            (
                "running",
                "riding a bicycle",
                "doing jumping jacks",
                "doing push-ups",
                "taking a photograph",
                "talking on the phone",
            ),
            country.park,
        ),
        BackgroundScene(
            "sports_hall",
            "a hall with a fencing strip and wall bars",
            ("fencing", "doing push-ups", "doing jumping jacks", "jumping rope", "running"),
            rooms.sports_hall,
        ),
        BackgroundScene(
            "viewpoint",
            "a terrace with a railing before snowy mountains",
            ("taking a photograph", "waving", "drinking coffee"),
            country.viewpoint,
        ),
        BackgroundScene(
            "workshop",
            "a workbench with tools on the wall and planks",
            ("sawing wood", "hammering a nail", "carpentry"),
            rooms.workshop,
        ),
    )
}


def draw_background(name: str, camera: Camera) -> Plane:
    """A background by name as planes (3, height, width) from 0 to 1; `blank` is an even grey."""
    if name == BLANK:
        grey = np.asarray(_GREY, np.float32)[:, None, None] / np.float32(255)
        return np.ascontiguousarray(np.broadcast_to(grey, (3, camera.height, camera.width)))
    if name not in SCENES:
        raise unknown("background", name, [BLANK, *SCENES])
    canvas = Canvas(camera)
    SCENES[name].draw(canvas)
    return _planes(canvas.finished())


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
