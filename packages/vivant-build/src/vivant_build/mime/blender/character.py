"""A character's skeleton driven by one of our motions: bones found by their names, turned as our joints turn.

Everything is worked out here; Blender only sets the numbers. With D the turn of a bone away from its rest, in the
skeleton's own space, and P that of its parent, a pose bone's own rotation is rest⁻¹ · P⁻¹ · D · rest.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from vivant.core.errors import DataError
from vivant.core.files import write_atomic
from vivant.core.paths import cache_root
from vivant_build.mime.blender.process import find_blender, job_folder, run_blender, time_limit
from vivant_build.mime.bvh import Bvh, BvhJoint
from vivant_build.mime.joint_map import map_joints
from vivant_build.mime.motion import Motion
from vivant_build.mime.reference_pose import direction, hip_height, own_direction
from vivant_build.mime.rotation import Array, between, to_quaternion
from vivant_build.mime.skeleton import HIP_HEIGHT, INDEX, Skeleton
from vivant_build.mime.world_axes import alignment

_LIMIT = 300.0
TO_BLENDER: Array = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""From our axes (Y up, facing +Z) to Blender's (Z up, facing -Y)."""


class Bone(Struct, frozen=True):
    """A bone at rest, in the skeleton's own space."""

    name: str
    parent: int
    head: tuple[float, float, float]
    tail: tuple[float, float, float]
    rest: tuple[tuple[float, float, float], ...]


class Bones(Struct, frozen=True):
    """A character's skeleton, parents before children, and where its space lies in the world."""

    world: tuple[tuple[float, float, float, float], ...]
    bones: tuple[Bone, ...]


def read_bones(file: Path) -> Bones:
    """The skeleton of a character's file, as Blender reads it; asked for once, then kept by content."""
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()[:24]
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}") from None
    cached = cache_root() / "mime" / "characters" / f"{digest}.json"
    try:
        return msgspec.json.decode(cached.read_bytes(), type=Bones)
    except (OSError, msgspec.DecodeError):
        pass  # not asked for yet, or torn: ask
    with job_folder() as folder:
        job = {"task": "bones", "file": str(file.resolve())}
        answer = run_blender(find_blender(), job, folder, limit=time_limit(_LIMIT), name=str(file))
    bones = msgspec.convert(answer, Bones)
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(cached, msgspec.json.encode(bones), durable=False)
    except OSError as error:
        raise DataError(f"{cached} cannot be written: {error.strerror}") from None
    return bones


@dataclass(frozen=True, eq=False)
class Driven:
    """What Blender sets: a rotation for every bone, a place for the hips, and the size of the whole."""

    names: tuple[str, ...]
    hips: str
    turns: Array
    """(frames, bones, 4): quaternions, real part first."""
    places: Array
    """(frames, 3): the hips' location beside their rest, in the bone's own axes."""
    scale: float


def drive(bones: Bones, motion: Motion, size: float, source: str) -> Driven:
    """Put a motion on a character of `size` × the usual stature. Raises where a bone that is needed is missing."""
    world = np.array(bones.world)
    unit = float(np.cbrt(abs(np.linalg.det(world[:3, :3]))))
    if unit < 1e-9:
        raise DataError(f"{source}: the skeleton is scaled to nothing; apply its scale before exporting")
    space = world[:3, :3] / unit
    heads = np.array([bone.head for bone in bones.bones]) @ world[:3, :3].T + world[:3, 3]
    tails = np.array([bone.tail for bone in bones.bones]) @ world[:3, :3].T + world[:3, 3]
    bvh = _as_figure(bones, heads, tails, source)
    joint_map = map_joints(bvh)
    axes = alignment(bvh, joint_map, heads)
    turned = _turns(bvh, joint_map, heads, axes, motion)
    still = np.broadcast_to(np.eye(3), (len(motion), 3, 3))
    deltas: list[Array] = []
    turns = np.empty((len(motion), len(bones.bones), 4))
    for number, bone in enumerate(bones.bones):
        above = deltas[bone.parent] if bone.parent >= 0 else still
        if number in turned:
            delta = space.T @ TO_BLENDER @ turned[number] @ axes @ space
        else:
            delta = above
        deltas.append(delta)
        rest = np.array(bone.rest)
        turns[:, number] = to_quaternion(rest.T @ np.swapaxes(above, -1, -2) @ delta @ rest)
    scale = HIP_HEIGHT * size / hip_height(bvh, joint_map, heads, axes)
    hips = bones.bones[joint_map["Hips"]]
    target = motion.root * size @ TO_BLENDER.T / scale
    beside = (target - world[:3, 3]) @ np.linalg.inv(world[:3, :3]).T - np.array(hips.head)
    return Driven(
        tuple(bone.name for bone in bones.bones), hips.name, turns, beside @ np.array(hips.rest), scale
    )


def _as_figure(bones: Bones, heads: Array, tails: Array, source: str) -> Bvh:
    """The skeleton in the form in which recordings are read: joints are found in the same way."""
    joints = []
    for number, bone in enumerate(bones.bones):
        start = heads[bone.parent] if bone.parent >= 0 else np.zeros(3)
        x, y, z = (float(value) for value in heads[number] - start)
        tx, ty, tz = (float(value) for value in tails[number] - heads[number])
        joints.append(BvhJoint(bone.name, bone.parent, (x, y, z), (), (tx, ty, tz)))
    return Bvh(tuple(joints), 1.0, np.zeros((1, 0)), source)


def _turns(
    bvh: Bvh, joint_map: dict[str, int], heads: Array, axes: Array, motion: Motion
) -> dict[int, Array]:
    """For each bone that has a joint of ours: its turn (frames, 3, 3) from rest, seen in our axes."""
    _, ours = motion.joints(Skeleton())
    flat = np.broadcast_to(np.eye(3), (len(heads), 3, 3))
    turned: dict[int, Array] = {}
    for joint, index in joint_map.items():
        correction: Array = np.eye(3)
        if joint.startswith(("Left", "Right")):
            theirs = direction(bvh, joint, joint_map, heads, flat)
            if theirs is not None:
                correction = between(axes @ theirs, own_direction(joint))
        turned[index] = ours[:, INDEX[joint]] @ correction
    for side in ("Left", "Right"):
        hand, fingers = joint_map.get(side + "Hand"), joint_map.get(side + "Fingers")
        if hand is None or fingers is None:
            continue
        # One finger stands for all; the thumb stays with the hand.
        for index, bone in enumerate(bvh.joints):
            if bone.parent == hand and index not in turned and "thumb" not in bone.name.lower():
                turned[index] = turned[fingers]
    return turned
