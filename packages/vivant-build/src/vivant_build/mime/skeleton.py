"""The skeleton that every motion, body and BVH file of this package speaks of.

Metres; Y is up, the figure faces +Z, its left is +X. At rest it stands with its arms spread, palms down
(a T-pose), and every joint's rotation is the identity.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from vivant_build.mime.rotation import Array

_CENTRE: tuple[tuple[str, str, tuple[float, float, float]], ...] = (
    ("Hips", "", (0.0, 0.95, 0.0)),
    ("Spine", "Hips", (0.0, 0.10, 0.0)),
    ("Chest", "Spine", (0.0, 0.16, 0.0)),
    ("Neck", "Chest", (0.0, 0.25, -0.005)),
    ("Head", "Neck", (0.0, 0.09, 0.015)),
)
_SIDE: tuple[tuple[str, str, tuple[float, float, float]], ...] = (
    ("Shoulder", "Chest", (0.03, 0.19, 0.0)),
    ("Arm", "Shoulder", (0.145, 0.0, -0.005)),
    ("ForeArm", "Arm", (0.28, 0.0, 0.0)),
    ("Hand", "ForeArm", (0.255, 0.0, 0.0)),
    ("Fingers", "Hand", (0.095, 0.0, 0.0)),
    ("UpLeg", "Hips", (0.09, -0.04, 0.0)),
    ("Leg", "UpLeg", (0.0, -0.42, 0.0)),
    ("Foot", "Leg", (0.0, -0.41, 0.0)),
    ("Toe", "Foot", (0.0, -0.05, 0.13)),
)
_TIPS: dict[str, tuple[float, float, float]] = {
    "Head": (0.0, 0.20, 0.0),
    "LeftFingers": (0.08, 0.0, 0.0),
    "RightFingers": (-0.08, 0.0, 0.0),
    "LeftToe": (0.0, 0.0, 0.07),
    "RightToe": (0.0, 0.0, 0.07),
}
STATURE = 1.75
"""Height in metres of the reference skeleton, in whose measure motions are written."""
HIP_HEIGHT = 0.95
ANKLE_HEIGHT = 0.08


def _table() -> tuple[tuple[str, ...], tuple[int, ...], Array, dict[str, Array]]:
    rows = list(_CENTRE)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        for name, parent, (x, y, z) in _SIDE:
            above = parent if parent in {"Chest", "Hips"} else side + parent
            rows.append((side + name, above, (sign * x, y, z)))
    names = tuple(row[0] for row in rows)
    parents = tuple(names.index(row[1]) if row[1] else -1 for row in rows)
    return names, parents, np.array([row[2] for row in rows]), {n: np.array(v) for n, v in _TIPS.items()}


JOINTS, PARENTS, OFFSETS, TIPS = _table()
INDEX = {name: place for place, name in enumerate(JOINTS)}


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Bone lengths of one body: the offset of every joint from its parent, and of the end of each chain."""

    offsets: Array = field(default_factory=lambda: OFFSETS.copy())
    tips: dict[str, Array] = field(default_factory=lambda: dict(TIPS))

    @property
    def scale(self) -> float:
        """What a motion's hip positions are multiplied by, so that this body's feet stay on the ground."""
        return float(self.offsets[0, 1] / HIP_HEIGHT)


def make_skeleton(
    size: float = 1.0, *, shoulders: float = 1.0, hips: float = 1.0, arms: float = 1.0, head: float = 1.0
) -> Skeleton:
    """A body of `size` × the reference stature; the others widen or lengthen one measure more."""
    offsets = OFFSETS * size
    tips = {name: tip * size for name, tip in TIPS.items()}
    for side in ("Left", "Right"):
        offsets[INDEX[side + "Arm"]] *= shoulders
        offsets[INDEX[side + "UpLeg"], 0] *= hips
        for bone in ("ForeArm", "Hand"):
            offsets[INDEX[side + bone]] *= arms
    tips["Head"] = tips["Head"] * head
    return Skeleton(offsets, tips)


def forward(skeleton: Skeleton, root: Array, rotations: Array) -> tuple[Array, Array]:
    """Forward kinematics: where every joint is (frames, joints, 3), and how it is turned.

    `root` (frames, 3) is the position of the hips in the reference skeleton's measure, `rotations` are local.
    """
    frames = len(root)
    positions = np.empty((frames, len(JOINTS), 3))
    turned = np.empty((frames, len(JOINTS), 3, 3))
    positions[:, 0] = root * skeleton.scale
    turned[:, 0] = rotations[:, 0]
    for joint in range(1, len(JOINTS)):
        parent = PARENTS[joint]
        positions[:, joint] = positions[:, parent] + turned[:, parent] @ skeleton.offsets[joint]
        turned[:, joint] = turned[:, parent] @ rotations[:, joint]
    return positions, turned


def local_rotations(turned: Array) -> Array:
    """Global rotations (frames, joints, 3, 3) relative to each parent: the inverse of `forward`."""
    local = turned.copy()
    for joint in range(1, len(JOINTS)):
        local[:, joint] = np.swapaxes(turned[:, PARENTS[joint]], -1, -2) @ turned[:, joint]
    return local
