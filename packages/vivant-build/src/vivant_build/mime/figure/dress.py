"""From a character's file to a dressed body: its pieces, each with the picture that is wrapped around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from msgspec import Struct

from vivant.core.errors import DataError, unknown_name_error
from vivant_build.mime.figure import body, head, limbs, texture
from vivant_build.mime.figure.body import SIDES, Build, Joints
from vivant_build.mime.figure.head import Piece
from vivant_build.mime.figure.mesh import ball
from vivant_build.mime.figure.texture import Colour, Tile

HAIR = ("short", "long", "knot", "beard", "crown", "hard hat")
PATTERNS = ("plain", "striped", "buttons", "braces", "cardigan", "bands")


class Solid(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that is carried: an ellipsoid of half-measures `size`, the more a box the nearer `square` is to 1."""

    at: tuple[str, float, float, float]
    size: tuple[float, float, float]
    colour: str | Colour
    square: float = 0.0
    glass: bool = False
    """Whether it mirrors a bright sky."""


class Outfit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the built-in look models a character; colours are names of the character's clothes."""

    chest: float = 1.0
    waist: float = 1.0
    hips: float = 1.0
    belly: float = 0.0
    bust: float = 0.0
    loose: float = 0.012
    """Metres between limbs and clothes."""
    hem: float = 0.955
    """How high the top ends, in the reference body."""
    sleeves: float = 0.42
    """The share of the arm that they cover; 1 reaches the wrist."""
    legs: float = 0.985
    skirt: str = ""
    skirt_length: float = 0.82
    pattern: str = "plain"
    accent: str = ""
    """The colour of stripes, braces, bands, or what is under a cardigan."""
    lips: float = 0.0
    hair: tuple[str, ...] = ()
    hair_colour: str = "hair"
    solids: tuple[Solid, ...] = ()

    def __post_init__(self) -> None:
        if self.pattern not in PATTERNS:
            raise unknown_name_error("pattern", self.pattern, PATTERNS)
        for style in self.hair:
            if style not in HAIR:
                raise unknown_name_error("hair", style, HAIR)


@dataclass(frozen=True)
class CharacterFigure:
    """A character to be modelled: its measures, its clothes and their colours."""

    build: Build
    outfit: Outfit
    head: float
    """How large the head is; 0 under a helmet."""
    colours: tuple[tuple[str, Colour], ...]
    sleeves: str
    skin: str
    gloves: str
    trousers: str
    shoes: str

    def colour(self, name: str | Colour) -> Colour:
        """A colour by the name of a piece of clothing."""
        if not isinstance(name, str):
            return name
        for piece, colour in self.colours:
            if piece == name:
                return colour
        raise DataError(f"An outfit has the colour '{name}', which the clothes lack")


def dress(figure: CharacterFigure, joints: Joints) -> Iterator[Piece]:
    """All pieces of a dressed body at rest."""
    build, outfit = figure.build, figure.outfit
    skin = figure.colour(figure.skin)
    yield from _trunk(figure)
    if outfit.skirt:
        tile = texture.cloth(figure.colour(outfit.skirt), (96, 384), 61, folds=0.16)
        texture.edge(tile, 0.0, 0.04, 0.75)
        yield body.skirt(build, joints, outfit.skirt_length, 0.11 * build.size), tile
    for side, _ in SIDES:
        yield from _arm(figure, joints, side)
        for piece in limbs.hand(build, joints, side):
            yield piece, texture.skin(figure.colour(figure.gloves or figure.skin), (24, 24), 71)
        yield from _leg(figure, joints, side)
        yield limbs.shoe(build, joints, side), _shoe(figure.colour(figure.shoes))
    if figure.head:
        scale = build.size * figure.head
        tile = texture.skin(skin, (48, 96), 81)
        texture.edge(tile, 1.0, 0.55, 0.62)
        yield body.neck(build), tile
        strands = figure.colour(outfit.hair_colour) if outfit.hair else None
        yield from head.head(
            joints, scale, skin, strands if "hard hat" not in outfit.hair else None, lips=outfit.lips
        )
        if strands is not None:
            yield from _hair(outfit, joints, scale, strands)
    for solid in outfit.solids:
        joint, x, y, z = solid.at
        wide, high, deep = (v * build.size for v in solid.size)
        tile = (
            _glass(figure.colour(solid.colour)) if solid.glass else texture.plain(figure.colour(solid.colour))
        )
        middle = joints[joint] + build.size * np.array([x, y, z])
        yield ball(middle, (wide, high, deep), {joint: 1.0}, square=solid.square, around=20, rings=13), tile


def _trunk(figure: CharacterFigure) -> Iterator[Piece]:
    build, outfit = figure.build, figure.outfit
    shirt, trousers = figure.colour(figure.sleeves), figure.colour(figure.trousers)
    tile = texture.cloth(shirt, (192, 384), 91, folds=0.10, along=False)
    _decorate(tile, figure)
    # Under the arms and at the hem it is darker.
    texture.edge(tile, 0.0, 0.02, 0.6)
    across = (np.arange(384) + 0.5) / 384
    under = (
        np.exp(-(((np.abs(across - 0.5) - 0.25) / 0.05) ** 2))[None]
        * np.exp(-((((np.arange(192) + 0.5) / 192 - 0.62) / 0.2) ** 2))[:, None]
    )
    tile = texture.shade(tile, 1 - 0.22 * under)
    texture.edge(tile, 0.985, 0.012, 0.72)
    yield body.trunk(build, outfit.hem, 1.468, outfit.loose, flare=0.010), tile
    tile = texture.cloth(trousers, (96, 256), 101)
    texture.edge(tile, 0.0, 0.3, 0.6)
    yield body.pelvis(build, outfit.loose * 0.8), tile


def _decorate(tile: Tile, figure: CharacterFigure) -> None:
    outfit = figure.outfit
    rows, columns = tile.shape[:2]
    accent = figure.colour(outfit.accent) if outfit.accent else (0, 0, 0)
    match outfit.pattern:
        case "striped":
            for start in np.arange(0.06, 0.92, 0.11):
                texture.band(tile, float(start), float(start) + 0.045, accent)
        case "buttons" | "cardigan":
            if outfit.pattern == "cardigan":
                for n in range(rows // 3, rows):
                    half = 0.002 + 0.085 * (n / rows - 0.33)
                    texture.band(tile, n / rows, (n + 1) / rows, accent, around=(0.5 - half, 0.5 + half))
            column = columns // 2
            tile[:, column - 9] *= 0.82
            tile[:, column + 8] *= 0.86
            for n in range(8, round(rows * (0.33 if outfit.pattern == "cardigan" else 0.95)), 24):
                tile[n : n + 4, column - 2 : column + 2] = 232
        case "braces":
            texture.band(tile, 0.0, 0.36, accent)
            texture.band(tile, 0.36, 0.60, accent, around=(0.40, 0.60))
            for middle in (0.425, 0.575):
                texture.band(tile, 0.55, 1.0, accent, around=(middle - 0.022, middle + 0.022))
                texture.band(
                    tile, 0.36, 1.0, accent, around=((middle + 0.5) % 1 - 0.022, (middle + 0.5) % 1 + 0.022)
                )
            texture.band(tile, 0.44, 0.53, tuple(round(0.82 * v) for v in accent), around=(0.46, 0.54))  # type: ignore[arg-type]
        case "bands":
            texture.band(tile, 0.13, 0.19, accent)


def _arm(figure: CharacterFigure, joints: Joints, side: str) -> Iterator[Piece]:
    build, outfit = figure.build, figure.outfit
    tile = texture.cloth(figure.colour(figure.sleeves), (128, 96), 111, along=False, folds=0.12)
    texture.edge(tile, 0.985, 0.03, 0.7)
    if outfit.pattern == "bands":
        accent = figure.colour(outfit.accent)
        texture.band(tile, 0.24, 0.31, (206, 74, 44))
        texture.band(tile, 0.53, 0.62, accent)
        texture.band(tile, 0.94, 1.0, accent)
    if outfit.pattern == "striped":
        for start in np.arange(0.2, 0.92, 0.3 * 0.42 / outfit.sleeves):
            texture.band(
                tile, float(start), float(start) + 0.12 * 0.42 / outfit.sleeves, figure.colour(outfit.accent)
            )
    end = min(outfit.sleeves, 0.985)
    yield limbs.arm(build, joints, side, -0.10, end, outfit.loose * 0.75, cuff=0.004), tile
    if end < 0.9:
        tile = texture.skin(figure.colour(figure.skin), (96, 64), 121)
        texture.edge(tile, 0.0, 0.12, 0.55)
        yield limbs.arm(build, joints, side, end - 0.06, 1.01, 0.0), tile


def _leg(figure: CharacterFigure, joints: Joints, side: str) -> Iterator[Piece]:
    build, outfit = figure.build, figure.outfit
    bare = bool(outfit.skirt)
    if bare:
        yield (
            limbs.leg(build, joints, side, 0.0, 1.0, 0.0),
            texture.skin(figure.colour(figure.trousers), (96, 64), 131),
        )
        return
    tile = texture.cloth(figure.colour(figure.trousers), (192, 128), 141, folds=0.13)
    texture.edge(tile, 0.5, 0.03, 0.9)
    texture.edge(tile, 0.99, 0.015, 0.7)
    if outfit.pattern == "bands":
        texture.band(tile, 0.49, 0.57, figure.colour(outfit.accent))
        texture.band(tile, 0.93, 1.0, figure.colour(outfit.accent))
    yield limbs.leg(build, joints, side, -0.05, outfit.legs, outfit.loose * 0.8, cuff=0.010), tile


def _shoe(colour: Colour) -> Tile:
    """The tile runs from heel to toe; its columns go round, the sole at the seam."""
    tile = texture.plain(colour, (48, 64))
    light = sum(colour) > 420
    sole = (120, 112, 104) if light else (206, 200, 192)
    tile[:, :13] = tile[:, -13:] = np.asarray(sole, np.float32)
    tile[:, 13:15] *= 0.7
    tile[:, -15:-13] *= 0.7
    for n in range(20, 34, 4):
        tile[n : n + 1, 27:37] = 235 if not light else 150
    return tile


def _glass(colour: Colour) -> Tile:
    tile = texture.plain(colour, (96, 128))
    rows, columns = np.arange(96)[:, None] / 96, np.arange(128)[None] / 128
    sky = np.clip((rows - 0.52) * 3, 0, 1) * 0.5 * np.ones_like(columns)
    flash = np.exp(-(((columns - 0.58) / 0.035) ** 2) - (((rows - 0.66) / 0.12) ** 2))
    share = np.clip(sky + flash, 0, 1)[..., None]
    return (tile * (1 - share) + np.array([236, 214, 150], np.float32) * share).astype(np.float32)


def _hair(outfit: Outfit, joints: Joints, scale: float, colour: Colour) -> Iterator[Piece]:
    for style in outfit.hair:
        match style:
            case "short":
                yield head.cap(joints, scale, colour)
            case "crown":
                # What grey hair leaves: the back and the sides.
                yield head.cap(joints, scale, colour, front=0.172, ears=0.07, thick=0.010)
            case "long":
                yield head.cap(joints, scale, colour, thick=0.017, front=0.138, ears=0.05, back=-0.02)
                yield from head.tail(joints, scale, colour, 0.30)
            case "knot":
                yield head.cap(joints, scale, colour, thick=0.012, front=0.146, back=0.01)
                yield head.knot(joints, scale, colour)
            case "beard":
                yield head.beard(joints, scale, colour)
            case "hard hat":
                yield head.cap(
                    joints, scale, colour, thick=0.026, front=0.128, ears=0.128, back=0.118, smooth=True
                )
                yield head.brim(joints, scale, colour)
