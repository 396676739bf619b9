"""The trunk of a body at rest, modelled from rings around the bones of a skeleton; and a skirt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vivant_build.mime.figure.mesh import Mesh, Ring, Weights, loft
from vivant_build.mime.rotation import Array

SIDES = (("Left", 1.0), ("Right", -1.0))
_X, _Y, _Z = np.eye(3)


@dataclass(frozen=True)
class Build:
    """The measures of a body: all but `size`, `belly` and `bust` are relative to the man's."""

    size: float = 1.0
    girth: float = 1.0
    hands: float = 1.0
    shoulders: float = 1.0
    chest: float = 1.0
    waist: float = 1.0
    hips: float = 1.0
    belly: float = 0.0
    """Metres by which the belly stands out."""
    bust: float = 0.0
    loose: float = 0.012
    """Metres between limbs and clothes."""


Joints = dict[str, Array]
"""Where every joint is at rest."""

# Height in metres, half the width, depth before and behind the middle.
_TRUNK = (
    (0.965, 0.168, 0.108, 0.112),
    (1.00, 0.164, 0.106, 0.110),
    (1.05, 0.152, 0.102, 0.098),
    (1.10, 0.146, 0.102, 0.090),
    (1.15, 0.149, 0.107, 0.090),
    (1.20, 0.157, 0.114, 0.095),
    (1.25, 0.164, 0.121, 0.102),
    (1.30, 0.169, 0.124, 0.107),
    (1.345, 0.171, 0.119, 0.107),
    (1.385, 0.171, 0.106, 0.101),
    (1.415, 0.160, 0.090, 0.091),
    (1.437, 0.131, 0.074, 0.080),
    (1.455, 0.096, 0.062, 0.070),
    (1.468, 0.066, 0.054, 0.062),
)
_PELVIS = (
    (0.815, 0.03, 0.03, 0.03),
    (0.835, 0.10, 0.072, 0.078),
    (0.865, 0.150, 0.094, 0.106),
    (0.90, 0.166, 0.102, 0.118),
    (0.94, 0.168, 0.103, 0.116),
    (0.98, 0.160, 0.101, 0.107),
    (1.02, 0.149, 0.098, 0.096),
    (1.04, 0.146, 0.097, 0.093),
)


def step(value: float, middle: float, width: float) -> float:
    """0 well before the middle, 1 well behind it, smooth between."""
    share = min(max((value - middle) / width + 0.5, 0.0), 1.0)
    return share * share * (3 - 2 * share)


def spine_weights(height: float) -> Weights:
    """What a part of the trunk at a height (metres in the reference body) follows."""
    spine, chest, neck = step(height, 1.03, 0.12), step(height, 1.18, 0.14), step(height, 1.465, 0.05)
    return {
        "Hips": 1 - spine,
        "Spine": spine * (1 - chest),
        "Chest": chest * (1 - neck),
        "Neck": chest * neck,
    }


def trunk(build: Build, low: float, high: float, loose: float, *, flare: float = 0.0) -> Mesh:
    """The upper body between two heights (of the reference body); `flare` widens its lower edge."""
    rings = []
    for height in marks_between([row[0] for row in _TRUNK], low, high):
        wide, front, back = read_table(_TRUNK, height)
        top, waist, hip = (
            step(height, 1.27, 0.16),
            1 - step(abs(height - 1.12), 0.1, 0.12),
            1 - step(height, 1.05, 0.1),
        )
        factor = build.girth ** (0.8 * (1 - step(height, 1.45, 0.06)))
        width = (
            factor
            * (1 + (build.chest * build.shoulders - 1) * top)
            * (1 + (build.waist - 1) * waist)
            * (1 + (build.hips - 1) * hip)
        )
        depth = (
            factor
            * (1 + (build.chest - 1) * top)
            * (1 + (build.waist - 1) * waist)
            * (1 + (build.hips - 1) * hip)
        )
        belly = build.belly * np.exp(-(((height - 1.07) / 0.11) ** 2))
        edge = flare * (1 - step(height, low + 0.05, 0.1))
        s = build.size
        rings.append(
            Ring(
                s * np.array([0.0, height, 0.0]),
                s * (wide * width + loose + edge + 0.35 * belly) * _X,
                s * (front * depth + loose + edge + belly) * _Z,
                spine_weights(height),
                back=(back * depth + loose + edge) / (front * depth + loose + edge + belly),
                square=0.22,
            )
        )

    def shape(points: Array, _: Array) -> Array:
        if not build.bust:
            return points
        points = points.copy()
        for side in (1.0, -1.0):
            away = ((points[..., 0] / build.size - side * 0.075) / 0.07) ** 2 + (
                (points[..., 1] / build.size - 1.285) / 0.06
            ) ** 2
            points[..., 2] += np.where(points[..., 2] > 0, build.size * build.bust * np.exp(-away), 0.0)
        return points

    return loft(rings, 26, start=flare > 0, end=False, bend=shape)


def pelvis(build: Build, loose: float) -> Mesh:
    """From the crotch to the waist."""
    rings = []
    for height, wide, front, back in _PELVIS:
        factor = build.girth**0.8 * (1 + (build.hips - 1) * (1 - step(height, 1.02, 0.1)))
        s, slack = build.size, loose * step(height, 0.83, 0.06)
        rings.append(
            Ring(
                s * np.array([0.0, height, 0.0]),
                s * (wide * factor + slack) * _X,
                s * (front * factor + slack) * _Z,
                spine_weights(height),
                back=(back * factor + slack) / (front * factor + slack),
                square=0.15,
            )
        )
    return loft(rings, 24, end=False)


def neck(build: Build) -> Mesh:
    """From the collar into the head."""
    s = build.size
    rows = (
        (1.43, 0.068, 0.0),
        (1.455, 0.060, 0.002),
        (1.48, 0.055, 0.006),
        (1.51, 0.054, 0.010),
        (1.545, 0.054, 0.012),
    )
    rings = [
        Ring(
            s * np.array([0.0, y, z]),
            s * r * build.girth**0.5 * _X,
            s * r * build.girth**0.5 * _Z,
            {
                "Chest": 1 - step(y, 1.46, 0.06),
                "Neck": step(y, 1.46, 0.06) * (1 - step(y, 1.525, 0.06)),
                "Head": step(y, 1.525, 0.06),
            },
        )
        for y, r, z in rows
    ]
    return loft(rings, 16, start=False, end=False)


def skirt(build: Build, joints: Joints, length: float, wide: float) -> Mesh:
    """From the waist over the thighs; `length` is a share of the thigh, `wide` metres that its edge stands off."""
    top, knee = 1.03 * build.size, float(joints["LeftLeg"][1])
    hip = float(joints["LeftUpLeg"][1])
    bottom = hip + (knee - hip) * length
    rings = []
    for share in np.linspace(0.0, 1.0, 12):
        y = top + (bottom - top) * share
        waist, front, back = read_table(_PELVIS, max(y / build.size, 0.90))
        spread = wide * share**1.2
        s, g = build.size, build.girth**0.8 * build.hips
        rings.append(
            Ring(
                np.array([0.0, y, 0.0]),
                (s * (waist * g + 0.008) + spread) * _X,
                (s * (front * g + 0.008) + 0.8 * spread) * _Z,
                spine_weights(y / s),
                back=back / front,
                square=0.1,
            )
        )
    around = 30

    def folds(points: Array, spots: Array) -> Array:
        middle = points.mean(axis=1, keepdims=True)
        wave = 1 + 0.06 * spots[..., 1:] ** 1.5 * np.sin(spots[..., :1] * 2 * np.pi * 9)
        return np.asarray(middle + (points - middle) * np.concatenate([wave, np.ones_like(wave), wave], -1))

    mesh = loft(rings, around, start=False, bend=folds)
    # Below the hips a skirt follows both thighs, each on its side.
    weights = []
    for point, bound in zip(mesh.points, mesh.weights, strict=True):
        down = min(max((hip + 0.04 - point[1]) / 0.22, 0.0), 0.85)
        left = step(float(point[0]), 0.0, 0.26 * build.size)
        weights.append(
            {
                **{joint: share * (1 - down) for joint, share in bound.items()},
                "LeftUpLeg": down * left,
                "RightUpLeg": down * (1 - left),
            }
        )
    return Mesh(mesh.points, mesh.normals, mesh.spots, tuple(weights), mesh.faces)


def marks_between(marks: Sequence[float], low: float, high: float) -> list[float]:
    return [low, *(mark for mark in marks if low + 0.004 < mark < high - 0.004), high]


def read_table(table: Sequence[tuple[float, ...]], place: float) -> tuple[float, ...]:
    rows = np.array(table)
    return tuple(float(np.interp(place, rows[:, 0], column)) for column in rows[:, 1:].T)
