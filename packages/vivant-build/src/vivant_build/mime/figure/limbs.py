"""Arms, hands, legs and shoes of a body at rest, from rings around its bones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vivant_build.mime.figure.body import SIDES, Build, Joints, marks_between, read_table, step
from vivant_build.mime.figure.mesh import Mesh, Ring, loft
from vivant_build.mime.rotation import Array

_X, _Y, _Z = np.eye(3)

# Share of the way from hip to ankle, radius, how far it lies behind the bone.
_LEG = (
    (-0.05, 0.070, 0.0),
    (0.0, 0.089, 0.0),
    (0.06, 0.092, 0.0),
    (0.14, 0.088, 0.0),
    (0.25, 0.080, -0.002),
    (0.36, 0.070, -0.002),
    (0.44, 0.062, 0.0),
    (0.48, 0.059, 0.004),
    (0.52, 0.058, 0.005),
    (0.56, 0.056, 0.0),
    (0.62, 0.058, -0.010),
    (0.68, 0.059, -0.013),
    (0.76, 0.053, -0.011),
    (0.86, 0.044, -0.006),
    (0.95, 0.040, -0.002),
    (1.0, 0.040, 0.0),
)
# Share of the way from shoulder to wrist (the elbow is at 0.523), radius.
_ARM = (
    (-0.10, 0.024),
    (-0.075, 0.042),
    (-0.03, 0.054),
    (0.02, 0.057),
    (0.08, 0.056),
    (0.16, 0.053),
    (0.26, 0.050),
    (0.36, 0.047),
    (0.45, 0.0435),
    (0.50, 0.042),
    (0.545, 0.042),
    (0.60, 0.0435),
    (0.68, 0.042),
    (0.78, 0.037),
    (0.88, 0.031),
    (0.95, 0.028),
    (1.0, 0.027),
)


def arm(
    build: Build, joints: Joints, side: str, low: float, high: float, loose: float, *, cuff: float = 0.0
) -> Mesh:
    """A sleeve or the bare arm: the part between two shares of the way from shoulder to wrist."""
    shoulder, wrist = joints[side + "Arm"], joints[side + "Hand"]
    reach = wrist - shoulder
    elbow = float(np.linalg.norm(joints[side + "ForeArm"] - shoulder) / np.linalg.norm(reach))
    rings = []
    for share in marks_between([row[0] for row in _ARM], low, high):
        (radius,) = read_table(_ARM, share)
        thick = build.size * (radius * build.girth + loose + cuff * (share - low) / (high - low))
        upper, fore, hand = step(share, 0.0, 0.15), step(share, elbow, 0.14), step(share, 1.0, 0.05)
        weights = {
            side + "Shoulder": 1 - upper,
            side + "Arm": upper * (1 - fore),
            side + "ForeArm": fore * (1 - hand),
            side + "Hand": hand,
        }
        rings.append(
            Ring(shoulder + share * reach, thick * _Z, thick * (0.94 if share > 0.6 else 1.0) * _Y, weights)
        )
    return loft(rings, 14)


def hand(build: Build, joints: Joints, side: str) -> Iterator[Mesh]:
    """A palm, four fingers that bend twice, and a thumb."""
    sign = dict(SIDES)[side]
    wrist, knuckles = joints[side + "Hand"], joints[side + "Fingers"]
    s = build.size * build.hands * build.girth**0.5
    reach = knuckles - wrist
    rings = []
    for share, wide, thick in (
        (-0.1, 0.024, 0.022),
        (0.1, 0.027, 0.021),
        (0.4, 0.037, 0.019),
        (0.75, 0.042, 0.018),
        (0.98, 0.041, 0.016),
        (1.06, 0.036, 0.012),
    ):
        weights = {side + "Hand": 1 - step(share, 1.0, 0.2), side + "Fingers": step(share, 1.0, 0.2)}
        if share < 0.0:
            weights = {side + "ForeArm": 0.5, side + "Hand": 0.5}
        rings.append(Ring(wrist + share * reach, s * wide * _Z, s * thick * _Y, weights, square=0.25))
    yield loft(rings, 14)
    tip = sign * s * 0.088
    for across, length, thick in (
        (0.030, 0.92, 0.0098),
        (0.0105, 1.0, 0.0102),
        (-0.0095, 0.95, 0.0098),
        (-0.0285, 0.78, 0.0088),
    ):
        start = knuckles + np.array([-sign * 0.012 * s, 0.0, across * s])
        rows = []
        for share, radius in (
            (0.0, 1.0),
            (0.3, 1.02),
            (0.5, 1.0),
            (0.62, 0.98),
            (0.85, 0.9),
            (0.97, 0.72),
            (1.02, 0.35),
        ):
            bent = step(share, 0.52, 0.24)
            weights = {side + "Fingers": 1 - bent, side + "FingerTips": bent}
            rows.append(
                Ring(
                    start + np.array([share * length * tip, 0.0, 0.0]),
                    s * thick * radius * _Z,
                    s * thick * radius * _Y,
                    weights,
                )
            )
        yield loft(rows, 7)
    root = wrist + s * np.array([sign * 0.022, -0.004, 0.022])
    point = wrist + s * np.array([sign * 0.092, -0.016, 0.066])
    line = point - root
    beside = np.array([-line[2], 0.0, line[0]]) / np.linalg.norm(line[[0, 2]])
    rows = [
        Ring(root + share * line, s * radius * beside, s * radius * _Y, {side + "Hand": 1.0})
        for share, radius in ((0.0, 0.016), (0.35, 0.0155), (0.6, 0.0125), (0.85, 0.0115), (0.98, 0.008))
    ]
    yield loft(rows, 8)


def leg(
    build: Build, joints: Joints, side: str, low: float, high: float, loose: float, *, cuff: float = 0.0
) -> Mesh:
    """A trouser leg or the bare leg: the part between two shares of the way from hip to ankle."""
    hip, knee, ankle = (joints[side + name] for name in ("UpLeg", "Leg", "Foot"))
    reach = ankle - hip
    bend = float(np.linalg.norm(knee - hip) / np.linalg.norm(reach))
    rings = []
    for share in marks_between([row[0] for row in _LEG], low, high):
        radius, behind = read_table(_LEG, share)
        thick = build.size * (radius * build.girth + loose + cuff * step(share, 0.75, 0.5))
        shin, foot, up = step(share, bend, 0.12), step(share, 1.0, 0.05), step(share, 0.02, 0.16)
        weights = {
            "Hips": 1 - up,
            side + "UpLeg": up * (1 - shin),
            side + "Leg": up * shin * (1 - foot),
            side + "Foot": up * shin * foot,
        }
        centre = hip + share * reach + np.array([0.0, 0.0, behind * build.size * (1 - 0.5 * (loose > 0.005))])
        rings.append(Ring(centre, thick * _X, thick * _Z, weights))
    return loft(rings, 16)


def shoe(build: Build, joints: Joints, side: str) -> Mesh:
    """A shoe with a flat sole, which bends before the ball of the foot."""
    ankle = joints[side + "Foot"]
    s = build.size
    wider = build.girth**0.5
    rings = []
    # How far before the ankle, half the width, height of the upper side.
    rows = (
        (-0.078, 0.016, 0.045),
        (-0.070, 0.029, 0.070),
        (-0.050, 0.037, 0.096),
        (-0.015, 0.040, 0.108),
        (0.020, 0.041, 0.104),
        (0.055, 0.042, 0.088),
        (0.09, 0.045, 0.072),
        (0.13, 0.047, 0.058),
        (0.165, 0.044, 0.048),
        (0.19, 0.034, 0.038),
        (0.203, 0.018, 0.026),
    )
    for ahead, wide, high in rows:
        bent = step(ahead, 0.135, 0.06)
        weights = {side + "Foot": 1 - bent, side + "Toe": bent}
        low = 0.004
        centre = np.array([ankle[0], s * (high + low) / 2, ankle[2] + s * ahead])
        rings.append(Ring(centre, s * wide * wider * _X, s * (high - low) / 2 * _Y, weights, square=0.3))

    def flatten(points: Array, _: Array) -> Array:
        points = points.copy()
        middle = points[..., 1].mean(axis=1, keepdims=True)
        points[..., 0] = ankle[0] + (points[..., 0] - ankle[0]) * np.where(
            points[..., 1] > middle, 1 - 0.35 * np.clip((points[..., 1] - middle) / (0.05 * s), 0, 1), 1.0
        )
        return points

    return loft(rings, 14, bend=flatten)
