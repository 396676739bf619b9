"""Motion capture on our skeleton: joints found by common names, bones pointed where the file's bones point.

Rotations are taken relative to a reference pose, which is the file's rest pose if a figure stands in it, and is worked
out from its bones otherwise (`reference_pose`). So the unit, the up axis and the rest pose of a file do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vivant.core.errors import DataError
from vivant_build.mime.bad_frames import SHARE, bridge_frames, describe_bad, find_leaps
from vivant_build.mime.bvh import Bvh, load_bvh
from vivant_build.mime.floor import find_floor
from vivant_build.mime.joint_map import map_joints
from vivant_build.mime.motion import Motion
from vivant_build.mime.recording_check import cut_calibration, refuse_inhuman
from vivant_build.mime.reference_pose import (
    direction,
    find_reference,
    hip_height,
    measure_stature,
    own_direction,
)
from vivant_build.mime.rotation import Array, between, slerp, unit
from vivant_build.mime.skeleton import (
    HIP_HEIGHT,
    INDEX,
    JOINTS,
    STATURE,
    Skeleton,
    forward,
    local_rotations,
)
from vivant_build.mime.world_axes import are_sides_exchanged, exchange_sides

_UPSIDE_DOWN = 0.25
"""Metres by which a head is below the hips of somebody who stands on it."""
_LYING, _STANDING = 0.5, 0.85
"""Share of the trunk's length that is height."""
_LEAP = 1.0
"""Body heights that hips can move from one frame to the next, slow recordings included."""


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
    dropped: tuple[int, int] = (0, 0)
    """Frames of a T-pose that were cut off the start and the end."""
    notes: tuple[str, ...] = ()
    """What the reader of the file mended, in sentences."""
    unit: str = ""
    """Of the stature, where it is no unit of length: a picture's."""
    feet_held: bool = False
    """Whether standing feet were locked in their places."""


def read_bvh(file: Path, name: str = "") -> Motion:
    """The motion of a BVH file on this package's skeleton, on the floor in the middle of the stage."""
    return retarget(load_bvh(file), name or file.stem).motion


def retarget(bvh: Bvh, name: str, joints: dict[str, str] | None = None) -> Retargeted:
    """Put a file's motion on our skeleton; `joints` states which of our joints the file's are."""
    joint_map = map_joints(bvh, joints)
    bvh, dropped = cut_calibration(bvh, joint_map)
    positions, turned = bvh.globals()
    # A person who states sides is believed.
    sided = any(joint.startswith(("Left", "Right")) for joint in joints or ())
    exchanged = not sided and are_sides_exchanged(bvh, joint_map, positions)
    if exchanged:
        joint_map = exchange_sides(joint_map)
    reference = find_reference(bvh, joint_map, positions, turned)
    rest_positions, rest_turned, axes = reference.positions, reference.rotations, reference.axes
    positions, turned = positions @ reference.upright.T, reference.upright @ turned
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
    stature = measure_stature(joint_map, rest_positions)
    refuse_inhuman(bvh, joint_map, reference, stature, positions)
    _refuse_fallen(bvh, motion)
    _refuse_swapped(bvh, joint_map, axes)
    motion, notes = _bridge(bvh, motion)
    if exchanged:
        notes.append("left and right are exchanged in the names; they were put right")
    if not np.array_equal(reference.upright, np.eye(3)):
        notes.append("people stand along another axis than the skeleton at rest: they are set upright")
    motion, levelled = find_floor(motion)
    used = set(joint_map.values())
    return Retargeted(
        motion,
        {joint: bvh.joints[joint_map[joint]].name for joint in JOINTS if joint in joint_map},
        tuple(joint.name for number, joint in enumerate(bvh.joints) if number not in used),
        stature,
        dropped,
        (*bvh.notes, *notes, *levelled),
    )


def _refuse_fallen(bvh: Bvh, motion: Motion) -> None:
    """Refuse somebody who stands on the head: it comes of channels in another order than stated."""
    positions, _ = forward(Skeleton(), motion.root, motion.rotations)
    upright = positions[:, INDEX["Head"], 1] - positions[:, INDEX["Hips"], 1]
    fallen = float(np.mean(upright < -_UPSIDE_DOWN))
    if fallen > 0.5:
        raise DataError(
            f"{bvh.source}: the head is below the hips in {fallen:.0%} of the frames; are the values in the "
            "order that CHANNELS states?"
        )


def _bridge(bvh: Bvh, motion: Motion) -> tuple[Motion, list[str]]:
    """The motion without frames that the reader or a leap of the hips spoils, and notes on them.

    Hips that leap again and again are refused: positions and rotations have changed places, or a file has two units.
    """
    bad = np.zeros(len(motion), dtype=bool) if bvh.bad is None else bvh.bad
    motion, start, notes = bridge_frames(motion, bad, bvh.first)
    leaps = find_leaps(motion.root, _LEAP * STATURE)
    if leaps.mean() > SHARE:
        sizes = np.linalg.norm(np.diff(motion.root, axis=0), axis=1) / STATURE
        frame = int(np.argmax(sizes)) + bvh.first + start
        raise DataError(
            f"{bvh.source}: the hips leap {sizes.max():.3g} body heights between frames {frame} and {frame + 1}, and "
            f"{leaps.mean():.0%} of the frames lie apart from the rest (at most {SHARE:.0%} may); are positions and "
            "rotations in the order that CHANNELS states, and in the unit of the offsets?"
        )
    numbers = np.flatnonzero(leaps) + bvh.first + start
    reasons = [f"frame {number}: the hips leap more than a body's height" for number in numbers]
    notes += describe_bad(bvh.source, reasons, len(motion))
    motion, _, bridged = bridge_frames(motion, leaps, bvh.first + start)
    return motion, notes + bridged


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
