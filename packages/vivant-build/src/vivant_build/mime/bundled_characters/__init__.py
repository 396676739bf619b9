"""The characters that come with the project: one YAML file each, built of capsules on a skeleton.

A file has the colours of the `clothes`, a `size` and the proportions of the `skeleton`, the colours and girth of the
`limbs`, how much larger than life the `head` is, and further `parts` (capsules), in the reference skeleton's metres.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct, field

from vivant.core.errors import DataError, unknown_name_error
from vivant_build.mime.catalog import YamlFolder
from vivant_build.mime.characters import Capsule, Character, Colour, Point
from vivant_build.mime.figure.body import Build
from vivant_build.mime.figure.dress import CharacterFigure, Outfit
from vivant_build.mime.skeleton import make_skeleton

_SIDES = (("Left", 1.0), ("Right", -1.0))


class CharacterLimbs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arms and legs: `girth` × as thick as the man's, `hands` × that for the hands; clothes by name."""

    girth: float
    hands: float = 1.0
    sleeves: str
    skin: str
    gloves: str = ""
    trousers: str
    shoes: str


class CharacterPart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One capsule. `colour` names a piece of clothing or is a colour itself."""

    start: Point = field(name="from")
    end: Point = field(name="to")
    radii: tuple[float, float]
    colour: str | Colour
    shadow: bool = True
    scale: float = 1.0
    """Enlarges it about its joint."""
    both: bool = False
    """Whether it is on the left and, mirrored, on the right."""


class CharacterFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One character as its file states it."""

    name: str = ""
    clothes: dict[str, Colour]
    size: float = 1.0
    skeleton: dict[str, float] = field(default_factory=dict)
    limbs: CharacterLimbs
    head: float | None = None
    """Heads are a little larger than life: they read better in a small picture. None under a helmet."""
    parts: tuple[CharacterPart, ...]
    outfit: Outfit


_MIME = ("man", "woman", "spacesuit")
CHARACTERS = YamlFolder(
    Path(__file__).parent, CharacterFile, (*_MIME, "child", "elder", "worker", "dancer", "heavyweight")
)
"""Every bundled character; the first three are MIME's."""


def make_character(
    name: str, stature: float = 1.0, *, build: float = 1.0, clothes: Mapping[str, Colour] | None = None
) -> Character:
    """A bundled character by name.

    Args:
        name: One of `CHARACTERS`.
        stature: Its height, relative to its usual one.
        build: Its girth, relative to its usual one; the head stays.
        clothes: Other colours for pieces of its clothes.
    """
    if name not in CHARACTERS:
        raise unknown_name_error("avatar", name, CHARACTERS)
    file = CHARACTERS[name]
    for piece in clothes or {}:
        if piece not in file.clothes:
            raise unknown_name_error(f"clothes of '{name}'", piece, file.clothes)
    size = file.size * stature
    colours = {**file.clothes, **(clothes or {})}
    parts = [
        *_limbs(file.limbs),
        *(_face(colours[file.limbs.skin], file.head) if file.head else ()),
        *file.parts,
    ]
    capsules = [capsule for part in parts for capsule in _capsules(part, size, colours)]
    if build != 1.0:
        capsules = [_stouter(capsule, build) for capsule in capsules]
    figure = _figure(file, size, build, colours)
    return Character(name, make_skeleton(size, **file.skeleton), tuple(capsules), figure)


def _figure(file: CharacterFile, size: float, build: float, colours: Mapping[str, Colour]) -> CharacterFigure:
    limbs, outfit = file.limbs, file.outfit
    measures = Build(
        size=size,
        girth=limbs.girth * build,
        hands=limbs.hands,
        shoulders=file.skeleton.get("shoulders", 1.0),
        chest=outfit.chest,
        waist=outfit.waist,
        hips=outfit.hips,
        belly=outfit.belly,
        bust=outfit.bust,
        loose=outfit.loose,
    )
    return CharacterFigure(
        measures,
        outfit,
        file.head or 0.0,
        tuple(colours.items()),
        sleeves=limbs.sleeves,
        skin=limbs.skin,
        gloves=limbs.gloves,
        trousers=limbs.trousers,
        shoes=limbs.shoes,
    )


def _capsules(part: CharacterPart, size: float, colours: Mapping[str, Colour]) -> Iterable[Capsule]:
    if isinstance(part.colour, str) and part.colour not in colours:
        raise DataError(f"A part of a character has the colour '{part.colour}', which its clothes lack")
    colour = colours[part.colour] if isinstance(part.colour, str) else part.colour
    s = size * part.scale
    for side in (1.0, -1.0) if part.both else (1.0,):
        start, end = ((joint, side * x * s, y * s, z * s) for joint, x, y, z in (part.start, part.end))
        yield Capsule(start, end, part.radii[0] * s, part.radii[1] * s, colour, part.shadow)


def _part(
    start: Point,
    end: Point,
    r1: float,
    r2: float,
    colour: str | Colour,
    *,
    shadow: bool = True,
    scale: float = 1.0,
    both: bool = False,
) -> CharacterPart:
    return CharacterPart(
        start=start, end=end, radii=(r1, r2), colour=colour, shadow=shadow, scale=scale, both=both
    )


def _limbs(limbs: CharacterLimbs) -> Iterable[CharacterPart]:
    """Arms and legs."""
    g, h = limbs.girth, limbs.girth * limbs.hands
    palms = limbs.gloves or limbs.skin
    for side, x in _SIDES:
        shoulder, arm, fore, hand, fingers = (
            side + n for n in ("Shoulder", "Arm", "ForeArm", "Hand", "Fingers")
        )
        yield _part((shoulder, 0, -0.012, 0), (arm, 0, 0, 0), 0.066 * g, 0.062 * g, limbs.sleeves)
        yield _part((arm, 0, 0, 0), (fore, 0, 0, 0), 0.06 * g, 0.046 * g, limbs.sleeves)
        yield _part((fore, 0, 0, 0), (hand, 0, 0, 0), 0.043 * g, 0.031 * g, limbs.skin)
        palm, tip = (hand, x * 0.02, 0.0, 0.0), (fingers, x * 0.08, 0.0, 0.0)
        yield _part(palm, (fingers, 0, 0, 0), 0.037 * h, 0.042 * h, palms, shadow=False)
        yield _part((fingers, 0, 0, 0), tip, 0.038 * h, 0.029 * h, palms, shadow=False)
        root, thumb = (hand, x * 0.035, 0.0, 0.025), (hand, x * 0.095, -0.02, 0.06)
        yield _part(root, thumb, 0.02 * h, 0.018 * h, palms, shadow=False)
        thigh, shin, foot, toe = (side + n for n in ("UpLeg", "Leg", "Foot", "Toe"))
        yield _part((thigh, 0, 0, 0), (shin, 0, 0, 0), 0.088 * g, 0.061 * g, limbs.trousers)
        yield _part((shin, 0, 0, 0), (foot, 0, 0, 0), 0.06 * g, 0.043 * g, limbs.trousers)
        yield _part((foot, 0, -0.03, -0.035), (toe, 0, 0.015, 0), 0.047 * g, 0.042 * g, limbs.shoes)
        yield _part((toe, 0, 0.015, 0), (toe, 0, 0, 0.07), 0.042 * g, 0.03 * g, limbs.shoes)


def _face(skin: Colour, head: float) -> Iterable[CharacterPart]:
    """Head and neck with eyes and nose, so that one sees where the character looks."""
    nose: Colour = (skin[0] - 16, skin[1] - 22, skin[2] - 22)
    yield _part(("Neck", 0, -0.02, 0), ("Head", 0, 0.02, 0), 0.056, 0.054, skin, shadow=False)
    yield _part(("Head", 0, 0.115, 0), ("Head", 0, 0.05, 0.025), 0.096, 0.072, skin, scale=head)
    yield _part(
        ("Head", 0, 0.085, 0.09), ("Head", 0, 0.06, 0.104), 0.013, 0.018, nose, shadow=False, scale=head
    )
    eye, lid = ("Head", 0.036, 0.1, 0.088), ("Head", 0.036, 0.108, 0.088)
    yield _part(eye, lid, 0.013, 0.013, (38, 30, 30), shadow=False, scale=head, both=True)


def _stouter(capsule: Capsule, build: float) -> Capsule:
    if capsule.a[0] == "Head":
        return capsule
    return Capsule(
        capsule.a, capsule.b, capsule.r1 * build, capsule.r2 * build, capsule.colour, capsule.shadow
    )
