"""Motion capture on our skeleton: joints found by common names, bones pointed where the file's bones point.

Rotations are taken relative to a reference pose, which is the file's rest pose if a figure stands in it, and
its first frame otherwise. So the unit, the up axis, the heading and the rest pose of a file do not matter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vivant.build.mime.bvh import Bvh, load_bvh
from vivant.build.mime.motion import Motion
from vivant.build.mime.rotation import Array, between, slerp, unit
from vivant.build.mime.skeleton import (
    ANKLE_HEIGHT,
    HIP_HEIGHT,
    INDEX,
    JOINTS,
    OFFSETS,
    STATURE,
    TIPS,
    Skeleton,
    forward,
    local_rotations,
)
from vivant.core.errors import DataError

_SIDED: dict[str, tuple[str, ...]] = {
    "Shoulder": ("collar", "clavicle", "clavicula", "collarbone", "shoulder"),
    "Arm": ("arm", "upperarm", "uparm", "humerus", "shldr", "shoulder"),
    "ForeArm": ("forearm", "lowerarm", "lowarm", "elbow", "radius"),
    "Hand": ("hand", "wrist"),
    "Fingers": ("fingers", "handmiddle1", "middle1", "handindex1", "index1", "fingerbase", "finger0"),
    "UpLeg": ("upleg", "upperleg", "thigh", "femur", "hip"),
    "Leg": ("leg", "lowerleg", "lowleg", "shin", "calf", "knee", "tibia"),
    "Foot": ("foot", "ankle"),
    "Toe": ("toe", "toebase", "toes", "ball", "toe0"),
}
"""Names after the side is taken away, most telling first."""
_UPSIDE_DOWN = 0.25
"""Metres by which a head is below the hips of somebody who stands on it."""
_LYING, _STANDING = 0.5, 0.85
"""Share of the trunk's length that is height."""
_LEAP = 1.0
"""Body heights that hips can move from one frame to the next, slow recordings included."""
_NEEDED = ("Arm", "ForeArm", "UpLeg", "Leg")
_SIDES = (
    re.compile(r"(?P<side>left|right|l|r)(?P<bone>.+)"),
    re.compile(r"(?P<bone>.+?)(?P<side>left|right|l|r)$"),
)


@dataclass(frozen=True, eq=False)
class Retargeted:
    """A file's motion on this package's skeleton, and what became of the file's joints."""

    motion: Motion
    mapped: dict[str, str]
    """Our joint → the file's."""
    ignored: tuple[str, ...]
    """Joints of the file that this skeleton has no place for (single fingers, twist bones, props)."""
    stature: float = 0.0
    """Height of the figure in the file's unit, from the soles to the top of the head."""


def read_bvh(file: Path, name: str = "") -> Motion:
    """The motion of a BVH file on this package's skeleton, on the floor in the middle of the stage."""
    return retarget(load_bvh(file), name or file.stem).motion


def map_joints(bvh: Bvh) -> dict[str, int]:
    """Our joints → places in the file's list. Raises a DataError naming the joints that cannot be found."""
    sided: dict[tuple[str, str], int] = {}
    plain: dict[str, int] = {}
    for index, joint in enumerate(bvh.joints):
        word = re.sub(r"[^a-z0-9]", "", joint.name.rsplit(":", 1)[-1].lower())
        plain.setdefault(word, index)
        # "legl" begins and ends with a letter of a side; the reading that makes no bone finds no use.
        for match in filter(None, (pattern.match(word) for pattern in _SIDES)):
            side = "Left" if match["side"].startswith("l") else "Right"
            sided.setdefault((side, match["bone"]), index)
    joint_map: dict[str, int] = {}
    for side in ("Left", "Right"):
        for bone, words in _SIDED.items():
            matches = [sided[side, word] for word in words if (side, word) in sided]
            if matches:
                joint_map[side + bone] = matches[0]
        # "Shoulder" names the collarbone in some files and the upper arm in others.
        if joint_map.get(side + "Shoulder") == joint_map.get(side + "Arm"):
            joint_map.pop(side + "Shoulder", None)
    head = next((plain[word] for word in ("head", "headbase", "skull") if word in plain), None)
    missing = [side + bone for bone in _NEEDED for side in ("Left", "Right") if side + bone not in joint_map]
    missing += ["Head"] if head is None else []
    if missing or head is None:
        names = ", ".join(joint.name for joint in bvh.joints[:10]) + (" …" if len(bvh.joints) > 10 else "")
        raise DataError(
            f"{bvh.source}: no joint can be taken for {', '.join(missing)}; the file has {names}; rename its "
            "joints to common names (LeftArm, LeftForeArm, LeftUpLeg, LeftLeg, Head …)"
        )
    _map_trunk(bvh, joint_map, head)
    return joint_map


def _map_trunk(bvh: Bvh, joint_map: dict[str, int], head: int) -> None:
    """Trunk joints by their place between legs, arms and head, because their names mean different things."""

    def line(index: int) -> list[int]:
        path = [index]
        while path[-1] >= 0:
            path.append(bvh.joints[path[-1]].parent)
        return path[-2::-1]

    def fork(first: int, other: int) -> int:
        shared = [a for a, b in zip(line(first), line(other), strict=False) if a == b]
        return shared[-1]

    hips, chest = (
        fork(joint_map["LeftUpLeg"], joint_map["RightUpLeg"]),
        fork(joint_map["LeftArm"], joint_map["RightArm"]),
    )
    spine, neck = line(chest), line(head)
    if hips not in spine or chest not in neck:
        raise DataError(f"{bvh.source}: arms and head do not hang on a trunk that begins at the hips")
    joint_map["Hips"], joint_map["Head"] = hips, head
    if chest != hips:
        joint_map["Chest"] = chest
        if spine.index(chest) > spine.index(hips) + 1:
            joint_map["Spine"] = spine[spine.index(hips) + 1]
    if len(neck) > neck.index(chest) + 2:
        joint_map["Neck"] = neck[neck.index(chest) + 1]


def retarget(bvh: Bvh, name: str) -> Retargeted:
    """Put a file's motion on our skeleton."""
    joint_map = map_joints(bvh)
    positions, turned = bvh.globals()
    rest_positions, rest_turned = _reference(bvh, joint_map, positions, turned)
    axes = alignment(bvh, joint_map, rest_positions)
    # Joint by joint: how far it has turned from the reference pose, in our axes.
    delta = axes @ (turned @ np.swapaxes(rest_turned, -1, -2)) @ axes.T
    frames = len(positions)
    ours = np.empty((frames, len(JOINTS), 3, 3))
    parent_of = {"Spine": ("Hips", "Chest"), "Neck": ("Chest", "Head")}
    for joint in ("Hips", "Chest", "Head"):
        ours[:, INDEX[joint]] = delta[:, joint_map.get(joint, joint_map["Hips"])]
    for joint, (below, above) in parent_of.items():
        if joint in joint_map:
            ours[:, INDEX[joint]] = delta[:, joint_map[joint]]
        else:
            half = np.full(frames, 0.5)
            ours[:, INDEX[joint]] = slerp(ours[:, INDEX[below]], ours[:, INDEX[above]], half)
    for side in ("Left", "Right"):
        for chain, base in (
            (("Shoulder", "Arm", "ForeArm", "Hand", "Fingers"), "Chest"),
            (("UpLeg", "Leg", "Foot", "Toe"), "Hips"),
        ):
            last, correction = INDEX[base], np.eye(3)
            for bone in chain:
                here = INDEX[side + bone]
                if side + bone in joint_map:
                    theirs = direction(bvh, side + bone, joint_map, rest_positions, rest_turned)
                    # A bone without an end of its own lies as the one before it does.
                    correction = (
                        correction if theirs is None else between(own_direction(side + bone), axes @ theirs)
                    )
                    ours[:, here] = delta[:, joint_map[side + bone]] @ correction
                else:
                    ours[:, here] = ours[:, last]
                last = here
    scale = HIP_HEIGHT / hip_height(bvh, joint_map, rest_positions, axes)
    root = positions[:, joint_map["Hips"]] @ axes.T * scale
    motion = Motion(name, _rate(bvh.frame_time), root, local_rotations(ours))
    _refuse_nonsense(bvh, motion)
    _refuse_swapped(bvh, joint_map, axes)
    used = set(joint_map.values())
    return Retargeted(
        _settle(motion),
        {joint: bvh.joints[joint_map[joint]].name for joint in JOINTS if joint in joint_map},
        tuple(joint.name for number, joint in enumerate(bvh.joints) if number not in used),
        STATURE / scale,
    )


def _refuse_nonsense(bvh: Bvh, motion: Motion) -> None:
    """Refuse what no person does: it comes of channels in another order than stated, or of two units in one file."""
    positions, _ = forward(Skeleton(), motion.root, motion.rotations)
    upright = positions[:, INDEX["Head"], 1] - positions[:, INDEX["Hips"], 1]
    fallen = float(np.mean(upright < -_UPSIDE_DOWN))
    if fallen > 0.5:
        raise DataError(
            f"{bvh.source}: the head is below the hips in {fallen:.0%} of the frames; are the values in the "
            "order that CHANNELS states?"
        )
    leaps = np.linalg.norm(np.diff(motion.root, axis=0), axis=1) / STATURE
    if len(leaps) and leaps.max() > _LEAP:
        frame = int(np.argmax(leaps)) + 1
        raise DataError(
            f"{bvh.source}: the hips leap {leaps.max():.3g} body heights between frames {frame} and {frame + 1}; "
            "are positions and rotations in the order that CHANNELS states, and in the unit of the offsets?"
        )


def _refuse_swapped(bvh: Bvh, joint_map: dict[str, int], axes: Array) -> None:
    """Refuse a root that states rotations first where its values only make sense with positions first."""
    root = bvh.joints[0]
    usual = tuple(sorted(root.channels, key=lambda name: name.endswith("rotation")))
    if len(usual) != 6 or usual == root.channels:
        return

    def upright(file: Bvh) -> float:
        positions, _ = file.globals()
        trunk = unit(positions[:, joint_map["Head"]] - positions[:, joint_map["Hips"]]) @ axes.T
        return float(np.median(trunk[:, 1]))

    other = replace(bvh, joints=(replace(root, channels=usual), *bvh.joints[1:]))
    if upright(bvh) < _LYING and upright(other) > _STANDING:
        raise DataError(
            f"{bvh.source}: the figure lies in most frames, and stands if the root's values are taken as "
            f"{' '.join(usual)}; are they in the order that CHANNELS states?"
        )


def _rate(frame_time: float) -> float:
    """Frames a second. Files state the time of a frame in few digits: 0.0333 is meant to be 30 a second."""
    fps = 1 / frame_time
    return float(round(fps)) if abs(fps - round(fps)) < 2e-3 * fps else fps


def _reference(bvh: Bvh, joint_map: dict[str, int], positions: Array, turned: Array) -> tuple[Array, Array]:
    """Positions (joints, 3) and rotations of the pose that rotations are taken from."""
    rest = np.zeros((len(bvh.joints), 3))
    for number, joint in enumerate(bvh.joints):
        if joint.parent >= 0:
            rest[number] = rest[joint.parent] + joint.offset
    up = rest[joint_map["Head"]] - rest[joint_map["Hips"]]
    down = rest[joint_map["LeftLeg"]] + rest[joint_map["RightLeg"]] - 2 * rest[joint_map["Hips"]]
    across = rest[joint_map["LeftUpLeg"]] - rest[joint_map["RightUpLeg"]]
    standing = np.dot(unit(up), unit(down)) < -0.8 and abs(np.dot(unit(up), unit(across))) < 0.5
    if standing and np.linalg.norm(across) > 0:
        return rest, np.broadcast_to(np.eye(3), (len(rest), 3, 3))
    return positions[0], turned[0]


def alignment(bvh: Bvh, joint_map: dict[str, int], rest: Array) -> Array:
    """The rotation from the file's axes to ours: up to +Y, the figure's left to +X."""

    def snapped(vector: Array) -> Array:
        """The coordinate axis that a direction nearly follows, or the direction itself."""
        axis = np.eye(3)[int(np.argmax(np.abs(vector)))] * np.sign(vector[int(np.argmax(np.abs(vector)))])
        return axis if np.dot(axis, unit(vector)) > 0.9 else unit(vector)

    up = snapped(rest[joint_map["Head"]] - rest[joint_map["Hips"]])
    across = rest[joint_map["LeftUpLeg"]] - rest[joint_map["RightUpLeg"]]
    left = snapped(across - up * np.dot(across, up))
    left = unit(left - up * np.dot(left, up))
    if not np.linalg.norm(left):
        raise DataError(f"{bvh.source}: left and right legs start at one point, so no side can be told")
    return np.stack([left, up, np.cross(left, up)])


def direction(bvh: Bvh, joint: str, joint_map: dict[str, int], rest: Array, turned: Array) -> Array | None:
    """Where a bone of the file points in the reference pose: to its chain's next joint, or to its end."""
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
    """How high the hips are in the reference pose, with the ankles' own height in proportion."""
    heights = rest @ axes.T[:, 1]
    feet = [joint_map.get(side + "Foot", joint_map[side + "Leg"]) for side in ("Left", "Right")]
    above = float(heights[joint_map["Hips"]] - np.mean(heights[feet]))
    if above <= 0:
        raise DataError(f"{bvh.source}: the hips are not above the feet, so the figure's size cannot be told")
    ours = HIP_HEIGHT - ANKLE_HEIGHT
    if "LeftFoot" not in joint_map or "RightFoot" not in joint_map:
        ours = -float(OFFSETS[INDEX["LeftUpLeg"], 1] + OFFSETS[INDEX["LeftLeg"], 1])
    return above * HIP_HEIGHT / ours


def _settle(motion: Motion) -> Motion:
    """Stand the motion on the floor, its path around the middle of the stage."""
    positions, _ = forward(Skeleton(), motion.root, motion.rotations)
    ankles = positions[:, [INDEX["LeftFoot"], INDEX["RightFoot"]], 1].min() - ANKLE_HEIGHT
    toes = positions[:, [INDEX["LeftToe"], INDEX["RightToe"]], 1].min() - (
        ANKLE_HEIGHT + OFFSETS[INDEX["LeftToe"], 1]
    )
    middle = (motion.root.min(axis=0) + motion.root.max(axis=0)) / 2
    shift = np.array([middle[0], min(ankles, toes), middle[2]])
    return Motion(motion.name, motion.fps, motion.root - shift, motion.rotations)
