"""Is a recording that of a person? T-poses are cut off its ends; what no person has or does is refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from vivant.core.errors import DataError
from vivant_build.mime.bad_frames import Mask
from vivant_build.mime.bvh import Bvh
from vivant_build.mime.reference_pose import ReferencePose
from vivant_build.mime.rotation import Array, unit
from vivant_build.mime.skeleton import HIP_HEIGHT, STATURE

UNITS = (
    ("metres", 0.9, 2.6),
    ("feet", 3.0, 8.5),
    ("decimetres", 9.0, 22.0),
    ("CMU units (5.64 cm)", 22.0, 38.0),
    ("inches", 38.0, 99.0),
    ("centimetres", 100.0, 260.0),
    ("millimetres", 900.0, 2600.0),
)
"""Units with the statures that people have in them."""
_JUMP, _HELD = 40.0, 2.0
"""Degrees between two frames: an added T-pose leaps by more, and is held within less."""
_BLEND = 0.2
"""Seconds in which a tool may blend an added T-pose into the motion."""
_STRETCHED = 0.85
"""Cosine from which a part of an arm lies along the line of both."""
_HELD_FOR, _LOWER = 0.2, 3.0
"""Seconds for which an actor holds a T-pose at least, and until both arms are down at most."""
_LOWERED = 0.6
"""Cosine from which an upper arm points down along the trunk."""
_LYING = 0.4
"""Share of the trunk's length that is height in somebody who lies."""
_LONG = 1.2
"""Lengths of a leg that no person's trunk has, from the hips to the head's joint; an animal's has."""
_ALIKE, _ACROSS = 0.7, 0.7
"""Cosines between arms and legs that carry a body together, and between those and its trunk."""


def tell_unit(stature: float) -> str:
    """The unit in which a person is so tall; empty where there is none."""
    return next((name for name, low, high in UNITS if low <= stature <= high), "")


def cut_calibration(bvh: Bvh, joint_map: dict[str, int]) -> tuple[Bvh, tuple[int, int]]:
    """The file without a T-pose that was put before or behind the motion, and how many good frames that cuts."""
    limit = len(bvh.values) // 4
    if limit < 1:
        return bvh, (0, 0)
    limbs = [index for joint, index in joint_map.items() if joint.startswith(("Left", "Right"))]
    positions, turned = bvh.globals()
    steps = np.einsum("fjab,fjab->fj", turned[1:, limbs], turned[:-1, limbs])
    change = np.degrees(np.arccos(np.clip((steps - 1) / 2, -1.0, 1.0))).max(axis=1)
    usual = float(np.quantile(change, 0.9))

    blend = max(1, round(_BLEND / bvh.frame_time))
    spread, lowered = _spread_arms(positions, joint_map)

    def count(changes: Array, t_pose: bool) -> int:
        leap = int(np.argmax(changes[:limit] > _HELD))
        # A pose that is blended in leaves in several quick steps; only from a true T-pose they are taken for that.
        quick = changes[leap : min(leap + blend, limit)] > max(3 * usual, _HELD)
        steps = int(np.argmin(quick)) if not quick.all() else len(quick)
        if not t_pose:
            steps = min(steps, 1)
        return leap + steps if changes[leap : leap + steps].sum() > _JUMP else 0

    def count_performed(spread: Mask, lowered: Mask) -> int:
        """Frames in which the actor holds a T-pose and lowers the arms out of it."""
        held = spread[: max(1, round(_HELD_FOR / bvh.frame_time))].all()
        down = int(np.argmax(lowered))
        return down if held and down <= min(limit, round(_LOWER / bvh.frame_time)) else 0

    start = count(change, bool(spread[0])) or count_performed(spread, lowered)
    end = count(change[::-1], bool(spread[-1])) or count_performed(spread[::-1], lowered[::-1])
    if not start and _zero_root(bvh):
        start = 1
    kept = slice(start, len(bvh.values) - end)
    if bvh.bad is None:
        return replace(bvh, values=bvh.values[kept], first=start + 1), (start, end)
    dropped = (int((~bvh.bad[:start]).sum()), int((~bvh.bad[kept.stop :]).sum()))
    return replace(bvh, values=bvh.values[kept], bad=bvh.bad[kept], first=start + 1), dropped


def _spread_arms(positions: Array, joint_map: dict[str, int]) -> tuple[Mask, Mask]:
    """Frames that are T-poses (both arms stretched, along one line across the trunk), and those with both arms down."""

    def bone(start: str, end: str) -> Array:
        return unit(positions[:, joint_map[end]] - positions[:, joint_map[start]])

    sides = ("Left", "Right")
    upper = [bone(side + "Arm", side + "ForeArm") for side in sides]
    lower = [
        bone(side + "ForeArm", side + "Hand") if side + "Hand" in joint_map else upper[number]
        for number, side in enumerate(sides)
    ]
    line = unit(upper[0] - upper[1])
    trunk = bone("Hips", "Head")
    along = [np.abs((direction * line).sum(axis=-1)) > _STRETCHED for direction in (*upper, *lower)]
    spread = np.all(along, axis=0) & (np.abs((trunk * line).sum(axis=-1)) < 1 - _STRETCHED)
    lowered = np.all([(direction * trunk).sum(axis=-1) < -_LOWERED for direction in upper], axis=0)
    return spread, lowered


def _zero_root(bvh: Bvh) -> bool:
    """Whether row 0 has a root turned by exactly nothing and row 1 has not: an added pose, however near."""
    root = [index for index, name in enumerate(bvh.joints[0].channels) if name.endswith("rotation")]
    if len(root) < 3 or len(bvh.values) < 8:
        return False
    rows = bvh.values[:3][:, root]
    return bool(not rows[0].any() and np.abs(rows[1]).max() > _HELD and np.abs(rows[2]).max() > _HELD)


def refuse_inhuman(
    bvh: Bvh, joint_map: dict[str, int], reference: ReferencePose, stature: float, positions: Array
) -> None:
    """Refuse a body that no person has, and one that lies at the height of somebody who stands."""
    rest = reference.positions

    def length(*joints: str) -> float:
        indices = [joint_map[joint] for joint in joints]
        return float(sum(np.linalg.norm(rest[b] - rest[a]) for a, b in pairwise(indices)))

    trunk, thigh = (
        length("Hips", "Head"),
        [length(side + "UpLeg", side + "Leg") for side in ("Left", "Right")],
    )
    arms = [length(side + "Arm", side + "ForeArm") for side in ("Left", "Right")]
    ratios = (
        ("trunk to thigh", trunk / max(thigh[0], 1e-9), 0.6, 3.5),
        ("upper arm to thigh", arms[0] / max(thigh[0], 1e-9), 0.3, 1.5),
        ("left to right thigh", thigh[0] / max(thigh[1], 1e-9), 0.7, 1.4),
        ("left to right upper arm", arms[0] / max(arms[1], 1e-9), 0.7, 1.4),
    )
    for name, value, low, high in ratios:
        if not low <= value <= high:
            raise DataError(
                f"{bvh.source}: the lengths are not a person's ({name} is {value:.2g}, and {low:g} to {high:g} is "
                "human); state its joints with --joints"
            )
    _refuse_animal(bvh, joint_map, positions)
    if not tell_unit(stature):
        raise DataError(
            f"{bvh.source}: the figure is {stature:.4g} units tall, which is a person's height in no unit (metres, "
            f"feet, inches, centimetres …); if it is a person, state the unit (--unit {STATURE / stature:.2g} makes it "
            f"{STATURE:g} m), else its joints (--joints)"
        )
    ours = positions @ reference.axes.T
    upright = np.median(unit(ours[:, joint_map["Head"]] - ours[:, joint_map["Hips"]])[:, 1])
    feet = [joint_map.get(side + "Foot", joint_map[side + "Leg"]) for side in ("Left", "Right")]
    hips = float(np.median(ours[:, joint_map["Hips"], 1])) * STATURE / stature
    lowest = float(np.median(ours[:, feet, 1].min(axis=1))) * STATURE / stature
    if abs(upright) < _LYING and 0.7 * HIP_HEIGHT < hips < 1.4 * HIP_HEIGHT and lowest > 0.5 * HIP_HEIGHT:
        raise DataError(
            f"{bvh.source}: the figure lies in the air, {hips:.2f} m above the floor; its rotations or its up axis do "
            "not fit its offsets; export the file again with Y up and the skeleton's own rest pose"
        )


def _refuse_animal(bvh: Bvh, joint_map: dict[str, int], positions: Array) -> None:
    """Refuse who goes on all fours on legs shorter than the trunk. People who crawl have longer legs."""

    def way(start: str, end: str) -> Array:
        return np.asarray(positions[:, joint_map[end]] - positions[:, joint_map[start]])

    def limb(start: str, middle: str, end: str) -> tuple[Array, float]:
        """Where both limbs point on average, and how long one is; a foot or hand may be missing."""
        last = end if {"Left" + end, "Right" + end} <= joint_map.keys() else middle
        ways = [way(side + start, side + last) for side in ("Left", "Right")]
        bones = way("Left" + start, "Left" + middle), way("Left" + middle, "Left" + last)
        return unit(sum(ways)), sum(float(np.linalg.norm(bone, axis=-1).mean()) for bone in bones)

    trunk = way("Hips", "Head")
    legs, length = limb("UpLeg", "Leg", "Foot")
    arms, _ = limb("Arm", "ForeArm", "Hand")
    alike = float(np.median((legs * arms).sum(axis=-1)))
    across = [abs(float(np.median((part * unit(trunk)).sum(axis=-1)))) for part in (legs, arms)]
    long = float(np.linalg.norm(trunk, axis=-1).mean()) / max(length, 1e-9)
    if long > _LONG and alike > _ALIKE and max(across) < _ACROSS:
        raise DataError(
            f"{bvh.source}: it goes on all fours, and its trunk is {long:.1f} times as long as its legs: an animal is "
            "no person"
        )
