"""Which way is up in a file, and which way is left: the rotation from its axes to ours, and whether names mean it."""

from __future__ import annotations

import numpy as np

from vivant.core.errors import DataError
from vivant_build.mime.bvh import Bvh
from vivant_build.mime.rotation import Array, between, unit
from vivant_build.mime.skeleton import STATURE

_LYING, _STANDING = 0.4, 0.85
"""Share of the length from feet to head that is height in somebody who lies, and who stands."""
_FLOOR = (-0.15, 0.3)
"""Metres from the floor at which ankles of somebody who stands are."""
_ON_FLOOR = (0.02, 0.4)
"""Metres over the floor at which the joints of somebody who lies on it are."""
_OPPOSITE, _BENT = -0.5, 0.03
"""Cosine below which a direction is clearly against another; share of a leg by which a knee is clearly bent."""


def find_axes(joint_map: dict[str, int], positions: Array) -> Array:
    """The rotation from the file's axes to ours, by the axis along which people of the frames stand."""
    upright = unit(positions[:, joint_map["Head"]] - positions[:, _feet(joint_map)].mean(axis=1)).mean(axis=0)
    main = int(np.argmax(np.abs(upright)))
    up = np.eye(3)[main] * np.sign(upright[main])
    left = np.array([0.0, -1.0, 0.0]) if main == 0 else np.array([1.0, 0.0, 0.0])
    return np.stack([left, up, np.cross(left, up)])


def snap(vector: Array) -> Array:
    """The coordinate axis that a direction nearly follows, or the direction itself."""
    main = int(np.argmax(np.abs(vector)))
    axis = np.eye(3)[main] * np.sign(vector[main])
    return axis if np.dot(axis, unit(vector)) > 0.9 else unit(vector)


def alignment(bvh: Bvh, joint_map: dict[str, int], rest: Array) -> Array:
    """The rotation from the file's axes to ours: up to +Y, the figure's left to +X."""
    up = snap(rest[joint_map["Head"]] - rest[joint_map["Hips"]])
    across = rest[joint_map["LeftUpLeg"]] - rest[joint_map["RightUpLeg"]]
    left = snap(across - up * np.dot(across, up))
    left = unit(left - up * np.dot(left, up))
    if not np.linalg.norm(left):
        raise DataError(f"{bvh.source}: left and right legs start at one point, so no side can be told")
    return np.stack([left, up, np.cross(left, up)])


def are_sides_exchanged(bvh: Bvh, joint_map: dict[str, int], positions: Array) -> bool:
    """Whether names call the right limbs left: both feet point backwards, by the way from the right hip to the left.

    Each foot is compared with its own shin, so it does not matter whether somebody stands, kneels, kicks or lies.
    Raises where arms do not agree with legs, so that no exchange puts both right.
    """

    def apart(bone: str) -> Array:
        return unit(positions[:, joint_map["Left" + bone]] - positions[:, joint_map["Right" + bone]])

    left = apart("UpLeg")
    for side in ("Left", "Right"):
        if not {side + "Foot", side + "Toe"} <= joint_map.keys():
            return False
        hip, knee, ankle, toe = (
            positions[:, joint_map[side + bone]] for bone in ("UpLeg", "Leg", "Foot", "Toe")
        )
        pointing = np.sum(unit(toe - ankle) * unit(np.cross(left, knee - ankle)), axis=-1)
        bend = np.sum((2 * knee - hip - ankle) * unit(np.cross(left, hip - ankle)), axis=-1)
        leg = np.linalg.norm(knee - hip, axis=-1) + np.linalg.norm(ankle - knee, axis=-1)
        if np.median(pointing) > _OPPOSITE or np.mean(bend / leg) > _BENT:
            return False
    if np.median(np.sum(left * apart("Arm"), axis=-1)) < -_OPPOSITE:
        raise DataError(
            f"{bvh.source}: both feet point backwards, as if left and right were exchanged in the names, but the arms "
            "do not agree with the legs; state which are which with --joints"
        )
    return True


def exchange_sides(joint_map: dict[str, int]) -> dict[str, int]:
    """The same joints with left called right."""
    other = {"Left": "Right", "Right": "Left"}
    return {
        next(
            (other[side] + joint.removeprefix(side) for side in other if joint.startswith(side)), joint
        ): index
        for joint, index in joint_map.items()
    }


def find_turn_upright(joint_map: dict[str, int], positions: Array, axes: Array, stature: float) -> Array:
    """The rotation of the file's frames that sets people upright; the identity unless they stand along another axis.

    Some tools keep a rest pose along Y and record in a studio whose Z is up. There people seem to lie all the time, and
    have their feet on the floor of another axis. Who lies on the floor of the rest pose's own axis is left there.
    """
    metre = stature / STATURE
    feet = positions[:, _feet(joint_map)]
    head = positions[:, joint_map["Head"]]
    body = unit(head - feet.mean(axis=1))
    own = axes[1]
    main = int(np.argmax(np.abs(body.mean(axis=0))))
    up = np.eye(3)[main] * np.sign(body.mean(axis=0)[main])
    lies = abs(float(np.median(body @ own))) < _LYING and float(np.median(body @ up)) > _STANDING
    lowest = float(np.median((feet @ up).min(axis=1))) / metre
    if not lies or not _FLOOR[0] < lowest < _FLOOR[1]:
        return np.eye(3)
    heights = [
        np.median(place @ own) / metre
        for place in (head, positions[:, joint_map["Hips"]], *feet.swapaxes(0, 1))
    ]
    if all(_ON_FLOOR[0] < height < _ON_FLOOR[1] for height in heights):
        return np.eye(3)
    return np.asarray(between(up, own))


def _feet(joint_map: dict[str, int]) -> list[int]:
    return [joint_map.get(side + "Foot", joint_map[side + "Leg"]) for side in ("Left", "Right")]
