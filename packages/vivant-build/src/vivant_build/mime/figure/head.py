"""A head with a face, hair, a beard, hats."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vivant_build.mime.figure import texture
from vivant_build.mime.figure.body import Joints, step
from vivant_build.mime.figure.mesh import Mesh, Ring, ball, cut_faces, loft
from vivant_build.mime.figure.texture import Colour, Tile
from vivant_build.mime.rotation import Array

Piece = tuple[Mesh, Tile]

# Height over the joint, half the width, how far it reaches forwards and back: metres.
_HEAD = (
    (-0.036, 0.014, 0.074, 0.040),
    (-0.030, 0.032, 0.086, 0.020),
    (-0.016, 0.046, 0.092, -0.012),
    (0.004, 0.056, 0.093, -0.044),
    (0.028, 0.063, 0.094, -0.064),
    (0.052, 0.068, 0.095, -0.078),
    (0.076, 0.0715, 0.094, -0.088),
    (0.100, 0.0735, 0.093, -0.094),
    (0.124, 0.074, 0.096, -0.096),
    (0.146, 0.072, 0.093, -0.093),
    (0.166, 0.066, 0.083, -0.084),
    (0.184, 0.054, 0.066, -0.069),
    (0.198, 0.036, 0.044, -0.048),
    (0.205, 0.014, 0.017, -0.022),
)
_ROWS, _COLUMNS = 224, 448
_BOUND = {"Head": 1.0}


def _rings(joints: Joints, scale: float, more: float = 0.0) -> list[Ring]:
    rings = []
    for height, wide, front, back in _HEAD:
        middle, half = (front + back) / 2, (front - back) / 2
        centre = joints["Head"] + scale * np.array([0.0, height + more * (height - 0.08) / 0.11, middle])
        rings.append(
            Ring(
                centre,
                np.array([scale * (wide + more), 0.0, 0.0]),
                np.array([0.0, 0.0, scale * (half + more)]),
                _BOUND,
                square=0.06,
            )
        )
    return rings


def _height(along: Array) -> Array:
    """Height over the joint of a spot, in metres of a head of scale 1."""
    heights = np.array([row[0] for row in _HEAD])
    middles = np.array([(row[2] + row[3]) / 2 for row in _HEAD])
    length = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(heights), np.diff(middles)))])
    return np.asarray(np.interp(along, length / length[-1], heights))


def head(
    joints: Joints, scale: float, skin: Colour, hair: Colour | None, *, lips: float = 0.0
) -> Iterator[Piece]:
    """Head, nose and ears. `lips` makes them redder."""

    def brow(points: Array, spots: Array) -> Array:
        points = points.copy()
        height, turn = _height(spots[..., 1]), (spots[..., 0] - 0.5) * 2 * np.pi
        # Sockets, cheekbones and chin.
        for x in (-0.42, 0.42):
            points[..., 2] -= (
                scale * 0.006 * np.exp(-(((turn - x) / 0.22) ** 2) - (((height - 0.093) / 0.014) ** 2))
            )
        points[..., 2] += scale * 0.004 * np.exp(-((turn / 0.5) ** 2) - (((height + 0.02) / 0.016) ** 2))
        return points

    yield loft(_rings(joints, scale), 28, bend=brow), _face(skin, hair, lips)
    place = joints["Head"]
    rows = (
        (0.098, 0.091, 0.006),
        (0.085, 0.096, 0.008),
        (0.070, 0.104, 0.011),
        (0.058, 0.109, 0.015),
        (0.050, 0.105, 0.0145),
        (0.045, 0.096, 0.010),
    )
    nose = [
        Ring(
            place + scale * np.array([0.0, y, z - 0.012]),
            scale * np.array([r, 0.0, 0.0]),
            scale * np.array([0.0, 0.0, 0.012 + 0.2 * r]),
            _BOUND,
        )
        for y, z, r in rows
    ]
    tile = texture.skin(skin, (16, 16), 5)
    tile *= np.array([1.02, 0.97, 0.95], np.float32)
    yield loft(nose, 8), tile
    for side in (1.0, -1.0):
        ear = ball(
            place + scale * np.array([side * 0.074, 0.078, -0.006]),
            (0.010 * scale, 0.030 * scale, 0.017 * scale),
            _BOUND,
            around=8,
            rings=5,
        )
        yield ear, tile


def _face(skin: Colour, hair: Colour | None, lips: float) -> Tile:
    tile = texture.skin(skin, (_ROWS, _COLUMNS), 11)
    height = _height((np.arange(_ROWS) + 0.5) / _ROWS)[:, None]
    turn = (((np.arange(_COLUMNS) + 0.5) / _COLUMNS - 0.5) * 2 * np.pi)[None]
    base = np.asarray(skin, np.float32)

    def dab(
        x: float,
        y: float,
        wide: float,
        high: float,
        colour: Array | Tile,
        strength: float = 1.0,
        hard: float = 8.0,
    ) -> None:
        reach = 1.0 if hard else 2.5
        rows = slice(*np.searchsorted(height[:, 0], [y - reach * high, y + reach * high]))
        columns = slice(*np.searchsorted(turn[0], [x - reach * wide, x + reach * wide]))
        away = ((turn[:, columns] - x) / wide) ** 2 + ((height[rows] - y) / high) ** 2
        share = strength * np.clip((1.0 - away) * hard, 0.0, 1.0) if hard else strength * np.exp(-away)
        area = tile[rows, columns]
        area[:] = area * (1 - share[..., None]) + np.asarray(colour, np.float32) * share[..., None]

    shadow = base * [0.78, 0.68, 0.64]
    for side in (-1, 1):
        dab(side * 0.60, 0.055, 0.26, 0.022, base * [1.03, 0.88, 0.84], 0.5, 0)
        dab(side * 0.41, 0.094, 0.24, 0.016, shadow, 0.55, 0)
        dab(side * 0.41, 0.0915, 0.155, 0.0085, np.array([240, 236, 230]))
        dab(side * 0.40, 0.0915, 0.078, 0.0085, np.array([62, 44, 34]))
        dab(side * 0.385, 0.0945, 0.022, 0.0025, np.array([250, 250, 250]))
        dab(side * 0.41, 0.0995, 0.17, 0.0026, base * 0.34)
        lid = np.asarray(hair, np.float32) * 0.7 if hair is not None else base * 0.35
        dab(side * 0.42, 0.1135, 0.185, 0.0042, lid, 0.85, 3.0)
    dab(0.0, 0.046, 0.17, 0.006, shadow, 0.75, 0)
    rose = base * [0.86, 0.58, 0.56] * (1 - lips) + np.array([186, 62, 70]) * lips
    dab(0.0, 0.0235, 0.27, 0.0068, rose, 0.9, 2.5)
    dab(0.0, 0.0240, 0.27, 0.0016, rose * 0.5)
    dab(0.0, 0.010, 0.25, 0.006, shadow, 0.45, 0)
    # Under the chin it is dark.
    under = 1 - 0.4 * np.exp(-(((height + 0.045) / 0.022) ** 2)) + 0.0 * turn
    return texture.shade(tile, under)


def cap(
    joints: Joints,
    scale: float,
    colour: Colour,
    *,
    thick: float = 0.013,
    front: float = 0.142,
    back: float = 0.0,
    ears: float = 0.085,
    smooth: bool = False,
) -> Piece:
    """Hair that follows the head, or a hat: over a line that is `front` high at the brow and `back` behind."""

    def line(spots: Array) -> Array:
        turn = np.abs((spots[..., 0] - 0.5) * 2 * np.pi)
        high = np.interp(
            turn,
            [0.0, 0.75, 1.15, 1.5, 1.75, 2.2, np.pi],
            [front, front - 0.004, front - 0.03, ears, ears - 0.02, back + 0.02, back],
        )
        return np.asarray(high)

    def lift(points: Array, spots: Array) -> Array:
        over = _height(spots[..., 1]) - line(spots)
        middle = joints["Head"] + scale * np.array([0.0, 0.085, 0.0])
        out = points - middle
        out /= np.maximum(np.linalg.norm(out, axis=-1, keepdims=True), 1e-9)
        amount = thick * np.clip(over / 0.02 + 0.45, -0.2, 1.0)
        if not smooth:
            amount = amount * (1 + 0.12 * np.sin(spots[..., 0] * 61) * np.sin(spots[..., 1] * 17))
        return points + scale * amount[..., None] * out

    mesh = cut_faces(
        loft(_rings(joints, scale), 28, bend=lift),
        lambda _, spots: _height(spots[..., 1]) > line(spots) - (0.0 if smooth else 0.012),
    )
    tile = texture.plain(colour, (32, 32)) if smooth else texture.hair(colour, (96, 160), 21)
    return mesh, tile


def beard(joints: Joints, scale: float, colour: Colour) -> Piece:
    """Over chin and cheeks, below the mouth."""

    def lift(points: Array, spots: Array) -> Array:
        height, turn = _height(spots[..., 1]), np.abs((spots[..., 0] - 0.5) * 2 * np.pi)
        amount = 0.012 * np.clip((0.022 + 0.05 * np.clip(turn - 0.5, 0, 1) - height) / 0.012, -0.3, 1.0)
        points = points.copy()
        points[..., 1] -= scale * 0.016 * np.exp(-((turn / 0.6) ** 2)) * (height < 0.0)
        points[..., 2] += scale * amount * np.cos(np.minimum(turn, 1.5))
        points[..., 0] += (
            scale * amount * np.sign(points[..., 0] - joints["Head"][0]) * np.sin(np.minimum(turn, 1.5))
        )
        return points

    def keep(_: Array, spots: Array) -> np.typing.NDArray[np.bool_]:
        height, turn = _height(spots[..., 1]), np.abs((spots[..., 0] - 0.5) * 2 * np.pi)
        return np.asarray((turn < 1.55) & (height < 0.02 + 0.05 * np.clip(turn - 0.45, 0, 1)))

    return cut_faces(loft(_rings(joints, scale), 28, bend=lift), keep), texture.hair(colour, (64, 96), 31)


def tail(joints: Joints, scale: float, colour: Colour, length: float) -> Iterator[Piece]:
    """Long hair: a broad fall behind, and a strand before each ear."""
    place = joints["Head"]
    rows = []
    for share in np.linspace(0.0, 1.0, 9):
        y = 0.12 - share * length
        wide = 0.082 + 0.012 * np.sin(share * 2.4) - 0.035 * share**3
        deep = 0.036 - 0.014 * share
        loosely = step(float(share), 0.75, 0.8)
        rows.append(
            Ring(
                place + scale * np.array([0.0, y, -0.062 - 0.032 * min(1.0, share * 2.2)]),
                scale * np.array([wide, 0.0, 0.0]),
                scale * np.array([0.0, 0.0, deep]),
                {"Head": 1 - 0.65 * loosely, "Chest": 0.65 * loosely},
                square=0.2,
            )
        )
    tile = texture.hair(colour, (128, 128), 41)
    yield loft(rows, 16), tile
    for side in (1.0, -1.0):
        strand = []
        for share in np.linspace(0.0, 1.0, 7):
            radius = 0.026 - 0.014 * share
            centre = place + scale * np.array(
                [
                    side * (0.066 + 0.014 * np.sin(share * 2.2)),
                    0.13 - 0.85 * length * share,
                    -0.006 - 0.035 * share,
                ]
            )
            loosely = 0.5 * step(float(share), 0.8, 0.8)
            strand.append(
                Ring(
                    centre,
                    scale * np.array([0.7 * radius, 0.0, 0.0]),
                    scale * np.array([0.0, 0.0, 1.3 * radius]),
                    {"Head": 1 - loosely, "Chest": loosely},
                )
            )
        yield loft(strand, 10), tile


def knot(joints: Joints, scale: float, colour: Colour) -> Piece:
    """A knot of hair on the crown."""
    centre = joints["Head"] + scale * np.array([0.0, 0.195, -0.072])
    return ball(centre, (0.046 * scale, 0.042 * scale, 0.044 * scale), _BOUND), texture.hair(
        colour, (48, 64), 51
    )


def brim(joints: Joints, scale: float, colour: Colour) -> Piece:
    """The edge of a hard hat."""
    rows = [
        Ring(
            joints["Head"] + scale * np.array([0.0, y, z]),
            scale * np.array([wide, 0.0, 0.0]),
            scale * np.array([0.0, 0.0, deep]),
            _BOUND,
            back=0.82,
        )
        for y, z, wide, deep in (
            (0.136, 0.004, 0.098, 0.128),
            (0.131, 0.005, 0.104, 0.150),
            (0.126, 0.005, 0.102, 0.148),
        )
    ]
    return loft(rows, 24), texture.plain(colour, (8, 8))
