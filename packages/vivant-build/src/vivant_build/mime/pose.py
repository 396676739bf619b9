"""What a choreography controls, frame by frame, and how that becomes rotations of joints.

Hands and feet are given as places, and arms and legs are solved as two-bone chains, because a mimed object
stays where it is while the body moves around it. Units are the reference skeleton's metres, and degrees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from vivant_build.mime.motion import Motion
from vivant_build.mime.rotation import Array, about, basis, unit
from vivant_build.mime.skeleton import (
    ANKLE_HEIGHT,
    HIP_HEIGHT,
    INDEX,
    JOINTS,
    OFFSETS,
    PARENTS,
    local_rotations,
)
from vivant_build.mime.take import Take

Frame = Literal["chest", "stage"]
REACH = 0.998
"""How much of its length a limb may use: a fully straight one would snap."""


@dataclass
class Arm:
    """One arm. All vectors are in `frame`: fixed to the chest, or to the stage."""

    wrist: Array
    elbow: Array
    """The direction in which the elbow points away from the line shoulder–wrist."""
    palm: Array
    """Where the palm faces."""
    fingers: Array | None = None
    """Where the fingers point; along the forearm where None."""
    curl: Array | float = 35.0
    """How far the fingers are bent: 0 flat, 90 a fist."""
    frame: Frame = "chest"


@dataclass
class Leg:
    """One leg: the ankle on the stage, and the foot's own turns."""

    ankle: Array
    yaw: Array
    """Degrees by which the toes point to the figure's left."""
    pitch: Array
    """Degrees by which the toes point down."""
    knee: Array
    """Degrees by which the knee points to the left of the toes."""


@dataclass
class Pose:
    """All controls of one performance, each with one row per frame."""

    hips: Array
    turn: Array
    """Hips: degrees to the left, forward, and leaning to the left."""
    bend: Array
    """Torso over the hips: degrees forward, to the left, and twisted to the left."""
    head: Array
    """Head over the chest: degrees of nod down, tilt to the left, turn to the left."""
    left: Arm
    right: Arm
    left_leg: Leg
    right_leg: Leg


def stand(take: Take, *, apart: float = 0.2, crouch: float = 0.0) -> Pose:
    """A figure that stands at ease with its arms down: the pose that choreographies change."""
    half = apart / 2
    hips = take.hold(0.0, HIP_HEIGHT - 0.012 - crouch - half * half * 0.5, 0.0) + take.drift(0.006)

    def arm(sign: float) -> Arm:
        return Arm(
            wrist=take.hold(sign * 0.27, -0.28, 0.06) + take.drift(0.008),
            elbow=take.hold(sign * 0.5, -0.2, -1.0),
            palm=take.hold(-sign * 1.0, 0.0, -0.1),
        )

    def leg(sign: float) -> Leg:
        return Leg(
            ankle=take.hold(sign * half, ANKLE_HEIGHT, -0.02),
            yaw=take.hold(sign * 8.0),
            pitch=take.hold(0.0),
            knee=take.hold(0.0),
        )

    return Pose(
        hips=hips,
        turn=take.hold(0.0, 0.0, 0.0),
        bend=take.drift(1.0),
        head=take.drift(2.0),
        left=arm(1.0),
        right=arm(-1.0),
        left_leg=leg(1.0),
        right_leg=leg(-1.0),
    )


def sit(take: Take, height: float = 0.48, *, apart: float = 0.3) -> Pose:
    """On a seat that is not there: hips `height` above the floor, shins upright, feet flat."""
    pose = stand(take)
    pose.hips = take.hold(0.0, height, -0.25) + take.drift(0.004)
    for sign, leg in ((1.0, pose.left_leg), (-1.0, pose.right_leg)):
        leg.ankle = take.hold(sign * apart / 2, ANKLE_HEIGHT, 0.17)
        leg.yaw = take.hold(sign * 10.0)
    return pose


def solve(pose: Pose, name: str, fps: float) -> Motion:
    """The motion that puts hands and feet where the figure says, as far as limbs reach."""
    frames = len(pose.hips)
    turned = np.empty((frames, len(JOINTS), 3, 3))
    positions = np.empty((frames, len(JOINTS), 3))

    def attach(joint: str, local: Array) -> None:
        """Set a joint whose parent is solved."""
        here = INDEX[joint]
        above = PARENTS[here]
        positions[:, here] = positions[:, above] + turned[:, above] @ OFFSETS[here]
        turned[:, here] = turned[:, above] @ local

    positions[:, 0] = pose.hips
    turned[:, 0] = about("Y", pose.turn[:, 0]) @ _tilt(pose.turn[:, 1], pose.turn[:, 2])
    forward, left, twist = pose.bend.T
    for joint, share in (("Spine", 0.45), ("Chest", 0.55)):
        attach(joint, about("Y", share * twist) @ _tilt(share * forward, share * left))
    nod, tilt, yaw = pose.head.T
    for joint, share in (("Neck", 0.4), ("Head", 0.6)):
        attach(joint, about("Y", share * yaw) @ _tilt(share * nod, share * tilt))
    chest = INDEX["Chest"]
    for side, sign, arm in (("Left", 1.0, pose.left), ("Right", -1.0, pose.right)):
        if arm.frame == "chest":
            base, origin = turned[:, chest], positions[:, chest]
        else:
            base, origin = np.broadcast_to(np.eye(3), (frames, 3, 3)), np.zeros((frames, 3))
        wrist = origin + _apply(base, arm.wrist)
        attach(side + "Shoulder", _collarbone(sign, wrist, positions[:, chest], turned[:, chest]))
        attach(side + "Arm", np.broadcast_to(np.eye(3), (frames, 3, 3)))
        _solve_arm(side, sign, arm, wrist, base, positions, turned)
    for side, leg in (("Left", pose.left_leg), ("Right", pose.right_leg)):
        attach(side + "UpLeg", np.broadcast_to(np.eye(3), (frames, 3, 3)))
        _solve_leg(side, leg, positions, turned)
    return Motion(name, fps, pose.hips.copy(), local_rotations(turned))


def _tilt(forward: Array, left: Array) -> Array:
    return about("X", forward) @ about("Z", -left)


def _apply(matrices: Array, vectors: Array) -> Array:
    return np.asarray(np.einsum("fij,fj->fi", matrices, np.broadcast_to(vectors, (len(matrices), 3))))


def _collarbone(sign: float, wrist: Array, chest: Array, turned: Array) -> Array:
    """The shoulder rises with a raised arm and comes forward with one that reaches forward or across."""
    shoulder = OFFSETS[INDEX["LeftShoulder"]] + OFFSETS[INDEX["LeftArm"]]
    reach = np.einsum("fji,fj->fi", turned, wrist - chest) - shoulder * [sign, 1.0, 1.0]
    up = np.clip(reach[:, 1] / 0.5, 0.0, 1.0)
    ahead = np.clip(reach[:, 2] / 0.5 - 0.3, 0.0, 1.0) + np.clip(-sign * reach[:, 0] / 0.4, 0.0, 0.6)
    return about("Z", sign * 24.0 * up**1.5) @ about("Y", -sign * 16.0 * ahead)


def bend_chain(
    start: Array, target: Array, pole: Array, upper: float, lower: float
) -> tuple[Array, Array, Array]:
    """Middle joint, end and hinge axis of a two-bone chain that reaches for `target`, bent towards `pole`."""
    line = target - start
    length = np.clip(np.linalg.norm(line, axis=-1), abs(upper - lower) * 1.02 + 1e-3, (upper + lower) * REACH)
    frame = basis(line, pole)
    along = (upper**2 - lower**2 + length**2) / (2 * length)
    aside = np.sqrt(np.maximum(upper**2 - along**2, 0.0))
    middle = start + frame[..., 0] * along[:, None] + frame[..., 1] * aside[:, None]
    return middle, start + frame[..., 0] * length[:, None], frame[..., 2]


def _solve_arm(
    side: str, sign: float, arm: Arm, wrist: Array, base: Array, positions: Array, turned: Array
) -> None:
    upper, fore, hand, fingers = (INDEX[side + bone] for bone in ("Arm", "ForeArm", "Hand", "Fingers"))
    lengths = (float(np.linalg.norm(OFFSETS[fore])), float(np.linalg.norm(OFFSETS[hand])))
    pole = _apply(base, arm.elbow)
    elbow, end, hinge = bend_chain(positions[:, upper], wrist, pole, *lengths)
    rest = np.array([sign, 0.0, 0.0])
    # Both bones turn with the hinge, which is upright at rest, where bending brings the hand forward.
    upright = basis(rest, [0.0, sign, 0.0]).T
    turned[:, upper] = basis(elbow - positions[:, upper], hinge) @ upright
    turned[:, fore] = basis(end - elbow, hinge) @ upright
    positions[:, fore], positions[:, hand] = elbow, end
    palm = _apply(base, arm.palm)
    pointing = end - elbow if arm.fingers is None else _apply(base, arm.fingers)
    turned[:, hand] = basis(pointing, palm) @ basis(rest, [0.0, -1.0, 0.0]).T
    curl = np.broadcast_to(np.asarray(arm.curl, dtype=float), (len(positions),))
    turned[:, fingers] = turned[:, hand] @ about("Z", -sign * curl)


def _solve_leg(side: str, leg: Leg, positions: Array, turned: Array) -> None:
    upper, lower, foot, toe = (INDEX[side + bone] for bone in ("UpLeg", "Leg", "Foot", "Toe"))
    lengths = (-float(OFFSETS[lower][1]), -float(OFFSETS[foot][1]))
    ahead = np.array([0.0, 0.0, 1.0])
    pole = about("Y", leg.yaw + leg.knee) @ ahead
    # A raised thigh turns the pole with it: a knee at the chest still points away from the body.
    sole = about("Y", leg.yaw) @ about("X", leg.pitch)
    # A foot that points down stands on its toes, so the ankle rises as far as they would sink.
    sunk = ANKLE_HEIGHT + OFFSETS[toe][1] - (leg.ankle[:, 1] + (sole @ OFFSETS[toe])[:, 1])
    ankle = leg.ankle + np.maximum(sunk, 0.0)[:, None] * [0.0, 1.0, 0.0]
    reach = unit(ankle - positions[:, upper])
    pole = unit(pole + np.array([0.0, 0.6, 0.0]) * np.maximum(reach[:, 2:3], 0.0))
    knee, end, hinge = bend_chain(positions[:, upper], ankle, pole, *lengths)
    rest = basis([0.0, -1.0, 0.0], [-1.0, 0.0, 0.0]).T
    turned[:, upper] = basis(knee - positions[:, upper], hinge) @ rest
    turned[:, lower] = basis(end - knee, hinge) @ rest
    positions[:, lower], positions[:, foot] = knee, end
    turned[:, foot] = sole
    # Toes stay flat on the floor under a lifted heel.
    turned[:, toe] = turned[:, foot] @ about("X", -np.clip(leg.pitch, 0.0, 45.0) * 0.8)
