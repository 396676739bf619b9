"""The pose that a file's rotations are measured from, whichever convention its offsets follow.

In one convention the skeleton stands in a figure's pose when every rotation is zero; that pose is the reference. In
the other every offset lies along the parent's own bone axis and the zero pose is a heap. There the reference is worked
out: our T-pose, with each joint's axes read from its bones (where children lie, which way elbows and feet point).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from vivant.core.errors import DataError
from vivant_build.mime.bvh import Bvh
from vivant_build.mime.rotation import Array, basis, between, unit
from vivant_build.mime.skeleton import HIP_HEIGHT, INDEX, JOINTS, OFFSETS, STATURE, TIPS
from vivant_build.mime.world_axes import alignment, find_axes, find_turn_upright, snap

_LIMBS = (
    (("Shoulder", "Arm", "ForeArm", "Hand", "Fingers"), "Chest"),
    (("UpLeg", "Leg", "Foot", "Toe"), "Hips"),
)
_HINT = 0.03
"""Share of a bone's length by which the next one must lie aside to tell its twist."""
_EVEN = 0.87
"""Cosine of the angle (30°) by which a limb of a rest pose may differ from the other side's."""
_NODDING = 0.7
"""Cosine of the angle by which a neck or head may be bent against the bone below it on average."""


@dataclass(frozen=True, eq=False)
class ReferencePose:
    """Positions (joints, 3) and rotations (joints, 3, 3) in the file's axes, and the rotation from those to ours."""

    positions: Array
    rotations: Array
    axes: Array
    stands: bool
    """Whether it is the file's own zero pose."""
    upright: Array = field(default_factory=lambda: np.eye(3))
    """Turns the frames to the axis along which that pose stands, where the motion has another one for up."""


def find_reference(bvh: Bvh, joint_map: dict[str, int], positions: Array, turned: Array) -> ReferencePose:
    """The reference pose of a file; `positions` and `turned` are those of its frames."""
    rest = np.zeros((len(bvh.joints), 3))
    for number, joint in enumerate(bvh.joints):
        if joint.parent >= 0:
            rest[number] = rest[joint.parent] + _beside(bvh, number, positions, turned)
    if _stands(joint_map, rest):
        axes = alignment(bvh, joint_map, rest)
        upright = find_turn_upright(joint_map, positions, axes, measure_stature(joint_map, rest))
        return ReferencePose(rest, np.broadcast_to(np.eye(3), (len(rest), 3, 3)), axes, True, upright)
    return _calibrate(bvh, joint_map, positions, turned)


def _beside(bvh: Bvh, number: int, positions: Array, turned: Array) -> Array:
    """Where a joint lies in its parent's axes: position channels replace the offset."""
    joint = bvh.joints[number]
    if not any(name.endswith("position") for name in joint.channels):
        return np.asarray(joint.offset)
    return _local(joint.parent, number, positions, turned)


def _local(start: int, end: int, positions: Array, turned: Array, origin: int | None = None) -> Array:
    """The way from `start` (or `origin`) to `end` in the axes of joint `start`, on average."""
    way = positions[:, end] - positions[:, start if origin is None else origin]
    return np.asarray(np.einsum("fji,fj->fi", turned[:, start], way).mean(axis=0))


def _stands(joint_map: dict[str, int], rest: Array) -> bool:
    up = unit(rest[joint_map["Head"]] - rest[joint_map["Hips"]])
    across = rest[joint_map["LeftUpLeg"]] - rest[joint_map["RightUpLeg"]]
    legs = [rest[joint_map[side + "Leg"]] - rest[joint_map[side + "UpLeg"]] for side in ("Left", "Right")]
    hanging = all(np.dot(up, unit(leg)) < -0.6 for leg in legs)
    if not hanging or not np.linalg.norm(across) or abs(np.dot(up, unit(across))) > 0.5:
        return False
    return _is_even(joint_map, rest, unit(across))


def _is_even(joint_map: dict[str, int], rest: Array, across: Array) -> bool:
    """Whether left limbs mirror the right ones. Who walks or runs does not: some files state such a frame as rest."""
    for start, end in (("UpLeg", "Leg"), ("Leg", "Foot"), ("Arm", "ForeArm"), ("ForeArm", "Hand")):
        if not all(side + bone in joint_map for side in ("Left", "Right") for bone in (start, end)):
            continue
        left, right = (
            unit(rest[joint_map[side + end]] - rest[joint_map[side + start]]) for side in ("Left", "Right")
        )
        if np.dot(left, right - 2 * np.dot(right, across) * across) < _EVEN:
            return False
    return True


def _calibrate(bvh: Bvh, joint_map: dict[str, int], positions: Array, turned: Array) -> ReferencePose:
    """Our T-pose on the file's skeleton. `bases[j]` turns our axes into those of the file's joint at rest."""
    axes = find_axes(joint_map, positions)
    bases: dict[str, Array] = {}

    def local(start: str, end: str, origin: str | None = None) -> Array:
        begin = None if origin is None else joint_map[origin]
        return _local(joint_map[start], joint_map[end], positions, turned, begin)

    def first_of(*names: str) -> str:
        return next(name for name in names if name in joint_map)

    def fork(joint: str, above: str, limb: str) -> Array:
        across = local(joint, "Left" + limb) - local(joint, "Right" + limb)
        if not np.linalg.norm(across):
            raise DataError(f"{bvh.source}: left and right limbs start at one point, so no side can be told")
        return np.asarray(basis(snap(local(joint, above)), snap(across)) @ basis([0, 1.0, 0], [1.0, 0, 0]).T)

    def follow(joint: str, before: str, own_before: Array) -> Array:
        """Zero rotation continues the bone before; then the bone is pointed where it points."""
        own = own_direction(joint)
        base = bases[before] @ between(own, own_before)
        pointed = _bone(bvh, joint, joint_map, positions, turned)
        return np.asarray(base if pointed is None else between(base @ unit(own), unit(pointed)) @ base)

    bases["Hips"] = fork("Hips", first_of("Spine", "Chest", "Neck", "Head"), "UpLeg")
    if "Chest" in joint_map:
        shoulder = "Shoulder" if {"LeftShoulder", "RightShoulder"} <= joint_map.keys() else "Arm"
        apart = local("Chest", "Left" + shoulder) - local("Chest", "Right" + shoulder)
        bases["Chest"] = fork(
            "Chest", first_of("Neck", "Head"), shoulder if np.linalg.norm(apart) > 1e-6 else "Arm"
        )
    up = np.array([0.0, 1.0, 0.0])
    trunk = bases.get("Chest", bases["Hips"])
    if "Spine" in joint_map:
        ahead = unit(local("Spine", "Chest"))
        base = _mean_relative(bases["Hips"], joint_map["Hips"], joint_map["Spine"], turned)
        bases["Spine"] = between(base @ up, ahead) @ base
    for joint, before in (("Neck", "Chest"), ("Head", "Neck")):
        if joint in joint_map:
            last = first_of(*[name for name in (before, "Chest", "Hips") if name in bases])
            base = _mean_relative(bases[last], joint_map[last], joint_map[joint], turned)
            own = own_direction(joint)
            pointed = _bone(bvh, joint, joint_map, positions, turned)
            # Nobody's head lies on its side all the time: there the end of the chain says nothing of the head.
            if pointed is not None and np.dot(base @ unit(own), unit(pointed)) > _NODDING:
                base = between(base @ unit(own), unit(pointed)) @ base
            bases[joint] = base
    for side in ("Left", "Right"):
        for chain, anchor in _LIMBS:
            names = [side + bone for bone in chain if side + bone in joint_map]
            last = ""
            for joint in names:
                if joint[len(side) :] in ("Shoulder", "Arm", "UpLeg"):
                    bases[joint] = _limb_root(
                        bvh, joint, side, joint_map, positions, turned, bases.get(anchor, trunk)
                    )
                else:
                    bases[joint] = follow(joint, last, own_direction(last))
                last = joint
    rotations = np.broadcast_to(np.eye(3), (len(bvh.joints), 3, 3)).copy()
    rest = np.zeros((len(bvh.joints), 3))
    ours = {index: joint for joint, index in joint_map.items()}
    for number, entry in enumerate(bvh.joints):
        parent = entry.parent
        if parent >= 0:
            rotations[number] = rotations[parent]
            rest[number] = rest[parent] + rotations[parent] @ _beside(bvh, number, positions, turned)
        if number in ours:
            rotations[number] = axes.T @ bases[ours[number]].T
    return ReferencePose(rest, rotations, axes, False)


def _limb_root(
    bvh: Bvh, joint: str, side: str, joint_map: dict[str, int], positions: Array, turned: Array, trunk: Array
) -> Array:
    """The axes of a limb's first bone: its twist by where the elbow bends to, or where the toes point."""
    index, own = joint_map[joint], own_direction(joint)
    anchor = joint_map["Hips"] if joint.endswith("UpLeg") else joint_map.get("Chest", joint_map["Hips"])
    pointed = _bone(bvh, joint, joint_map, positions, turned)
    base = _mean_relative(trunk, anchor, index, turned)
    if pointed is None:
        return base
    ends = {"Arm": ("ForeArm", "Hand"), "UpLeg": ("Foot", "Toe")}.get(joint[len(side) :], ("", ""))
    if side + ends[0] in joint_map and side + ends[1] in joint_map:
        start, end = (joint_map[side + name] for name in ends)
        ahead = _local(index, end, positions, turned, start)
        aside = ahead - unit(pointed) * np.dot(ahead, unit(pointed))
        if np.linalg.norm(aside) > _HINT * np.linalg.norm(pointed):
            return np.asarray(basis(unit(pointed), unit(aside)) @ basis(unit(own), [0.0, 0.0, 1.0]).T)
    return np.asarray(between(base @ unit(own), unit(pointed)) @ base)


def _mean_relative(base: Array, parent: int, child: int, turned: Array) -> Array:
    """The child's axes if it is, on average, not turned against its parent."""
    relative = np.einsum("fji,fjk->ik", turned[:, child], turned[:, parent]) / len(turned)
    left, _, right = np.linalg.svd(relative @ base)
    flip = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
    return np.asarray(left @ flip @ right)


def _bone(bvh: Bvh, joint: str, joint_map: dict[str, int], positions: Array, turned: Array) -> Array | None:
    """Where a bone points in its own joint's axes."""
    if joint == "Neck":
        return _local(joint_map["Neck"], joint_map["Head"], positions, turned)
    index = joint_map[joint]
    inverse = np.swapaxes(turned, -1, -2)[:, index]
    ends = [
        direction(bvh, joint, joint_map, positions[n], turned[n])
        for n in range(0, len(turned), max(1, len(turned) // 50))
    ]
    steps = range(0, len(turned), max(1, len(turned) // 50))
    known = [inverse[n] @ end for n, end in zip(steps, ends, strict=True) if end is not None]
    return np.mean(known, axis=0) if known else None


def direction(bvh: Bvh, joint: str, joint_map: dict[str, int], rest: Array, turned: Array) -> Array | None:
    """Where a bone of the file points in a pose: to its chain's next joint, or to its end."""
    chain = [name for name in JOINTS if name.startswith(joint[:4])]
    index = joint_map[joint]
    after = [joint_map[name] for name in chain[chain.index(joint) + 1 :] if name in joint_map]
    ends = [rest[other] - rest[index] for other in after if _below(bvh, other, index)]
    tip = bvh.joints[index].tip
    if not ends and tip is not None:
        ends = [turned[index] @ np.asarray(tip)]
    return ends[0] if ends and np.linalg.norm(ends[0]) > 1e-9 else None


def own_direction(joint: str) -> Array:
    """Where the bone points at rest in our skeleton."""
    return TIPS[joint] if joint in TIPS else np.asarray(OFFSETS[INDEX[joint] + 1])


def _below(bvh: Bvh, index: int, ancestor: int) -> bool:
    while index > ancestor:
        index = bvh.joints[index].parent
    return index == ancestor


def hip_height(bvh: Bvh, joint_map: dict[str, int], rest: Array, axes: Array) -> float:
    """How high the hips of somebody who stands are: by the lengths of legs, since a rest pose may spread or bend them.

    The ankles' own height is added in proportion.
    """
    theirs, ours = _leg_lengths(joint_map, rest)
    heights = rest @ axes.T[:, 1]
    thighs = [heights[joint_map[side + "UpLeg"]] for side in ("Left", "Right")]
    above = float(heights[joint_map["Hips"]] - np.mean(thighs)) + theirs
    if above <= 0:
        raise DataError(f"{bvh.source}: the hips are not above the feet, so the figure's size cannot be told")
    return above * HIP_HEIGHT / (ours - float(OFFSETS[INDEX["LeftUpLeg"], 1]))


def measure_stature(joint_map: dict[str, int], rest: Array) -> float:
    """The figure's height in the file's unit, told by its legs alone: where hips are between them differs by tool."""
    theirs, ours = _leg_lengths(joint_map, rest)
    return STATURE * theirs / ours


def _leg_lengths(joint_map: dict[str, int], rest: Array) -> tuple[float, float]:
    """From the thigh's joint to the ankle, or to the knee where there are no feet: the file's on average, and ours."""
    sides = ("Left", "Right")
    bones = (
        ["UpLeg", "Leg", "Foot"] if all(side + "Foot" in joint_map for side in sides) else ["UpLeg", "Leg"]
    )
    lengths = [
        float(np.linalg.norm(rest[joint_map[side + end]] - rest[joint_map[side + start]]))
        for side in sides
        for start, end in pairwise(bones)
    ]
    ours = sum(float(np.linalg.norm(OFFSETS[INDEX["Left" + bone]])) for bone in bones[1:])
    return sum(lengths) / 2, ours
