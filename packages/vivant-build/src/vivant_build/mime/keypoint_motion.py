"""A pose estimator's keypoints as a motion: gaps filled, trembling smoothed, bones turned where the points lie.

Keypoints are places without turns and, for most estimators, without a place on the floor. So turns are worked out
from neighbouring points (elbows, knees, shoulders, hips, ears), and the way over the floor from the foot that
stands: it stays where it is, and the lower foot is on the ground. Then standing feet are locked (`foot_locking`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vivant.core.errors import DataError
from vivant_build.mime.bad_frames import GAP, find_stretch, format_count
from vivant_build.mime.foot_locking import lock_feet, stand
from vivant_build.mime.keypoint_jumps import SURE, find_jumps
from vivant_build.mime.keypoint_layouts import BLAZEPOSE
from vivant_build.mime.keypoint_repair import fill_unseen, restore_sides, smooth_points
from vivant_build.mime.keypoints import Keypoints
from vivant_build.mime.motion import Motion
from vivant_build.mime.retarget import Retargeted
from vivant_build.mime.rotation import Array, about, basis, unit
from vivant_build.mime.skeleton import (
    INDEX,
    JOINTS,
    OFFSETS,
    STATURE,
    Skeleton,
    local_rotations,
)

_NEEDED = tuple(f"{side}_{name}" for name in ("shoulder", "elbow", "hip") for side in ("left", "right"))
_STRAIGHT = 0.15
"""How bent a limb must be (sine) before its bend tells its twist as strongly as the usual one."""
_LENGTHS = {"shoulder-elbow": 0.28, "elbow-wrist": 0.255, "hip-knee": 0.42, "knee-ankle": 0.41}
"""Bones of the reference skeleton in metres, for depth from foreshortening."""
_CHEST = OFFSETS[INDEX["Spine"]] + OFFSETS[INDEX["Chest"]] + OFFSETS[INDEX["LeftShoulder"]]
_TRUNK = float(_CHEST[1] - OFFSETS[INDEX["LeftUpLeg"], 1])
_SHOULDERS = float(2 * (_CHEST[0] + OFFSETS[INDEX["LeftArm"], 0]))
"""The reference skeleton's height from hips to shoulders, and its width there."""
_LEGS = ("knee", "ankle")
_TILT = (4.0, 20.0)
"""Degrees by which a body is out of balance towards or away from the camera: less is how people stand, more is no
standing."""
_BALANCE = 2.3
"""Degrees by which the middle of a body's weight is ahead of its ankles."""
_DEPTH = 0.5
"""How much movement along the line of sight says of a foot's speed: depth is what estimators know least."""
_TAKE_OFF = 1.1
"""Metres a second with which hips rise into a jump of 6 cm."""
_STRETCHED = 0.85
"""Share of a leg's length that hip and ankle of somebody who stands are apart."""


def lift_keypoints(keypoints: Keypoints, name: str, *, hold_feet: bool = True) -> Retargeted:
    """The motion of keypoints on our skeleton, with notes on what was filled in, cut or held.

    Args:
        keypoints: Of one person over time.
        name: Of the motion.
        hold_feet: Lock standing feet.
    """
    missing = [point for point in (*_NEEDED, "left_wrist", "right_wrist") if point not in keypoints.names]
    if missing:
        raise DataError(f"{keypoints.source}: the layout has no {', '.join(missing)}")
    keypoints, notes = _cut(keypoints)
    points = _place(keypoints, notes)
    if len(next(iter(points.values()))) < 2:
        raise DataError(f"{keypoints.source}: a body is seen in one frame only, so nothing moves")
    scale = _measure(keypoints.source, points)
    if not keypoints.flat:
        notes.extend(_level(points, scale))
    if keypoints.flat:
        _add_depth(points, scale)
        notes.append("the keypoints have no depth: limbs come forward as far as they look shortened")
    turned = _turn(points, keypoints)
    motion = stand(Motion(name, keypoints.fps, np.zeros((len(turned), 3)), local_rotations(turned)))
    lift, jump_notes = _lift(keypoints, scale, motion.root)
    motion.root[:, 1] += lift
    if hold_feet:
        motion, held = lock_feet(motion, _DEPTH)
        notes.extend(held)
    notes.extend(jump_notes)
    upright = motion.joints(Skeleton())[0][:, INDEX["Head"], 1] - motion.root[:, 1]
    if float(np.median(upright)) < 0:
        raise DataError(
            f"{keypoints.source}: the head is below the hips in most frames; turn the video upright first"
        )
    unit = "pixels" if keypoints.flat or keypoints.size else ""
    return Retargeted(
        motion,
        {},
        (),
        STATURE * scale,
        notes=(*keypoints.notes, *notes),
        unit=unit,
        feet_held=hold_feet,
    )


# ── places ───────────────────────────────────────────────────────────────────────────────────────


def _cut(keypoints: Keypoints) -> tuple[Keypoints, list[str]]:
    """The longest stretch in which a body is seen, and notes; points without a place have no confidence."""
    seen = np.isfinite(keypoints.positions[..., :2]).all(axis=-1)
    confidence = np.where(seen, keypoints.confidence, 0.0)
    needed = [keypoints.names.index(point) for point in _NEEDED]
    body = confidence[:, needed].mean(axis=1) >= SURE
    if not body.any():
        raise DataError(f"{keypoints.source}: shoulders, elbows and hips are never seen together")
    start, end = find_stretch(body, round(GAP * keypoints.fps))
    notes = []
    if (start, end) != (0, len(body)):
        notes.append(
            f"kept frames {start + 1} to {end} of {len(body)}: beyond them nobody is seen for more than {GAP:g} s"
        )
    empty = int((~body[start:end]).sum())
    if empty:
        notes.append(f"filled {format_count(empty, 'frame')} in which nobody is seen")
    heights = None if keypoints.heights is None else keypoints.heights[start:end]
    positions = keypoints.positions[start:end]
    return replace(keypoints, positions=positions, confidence=confidence[start:end], heights=heights), notes


def _lift(keypoints: Keypoints, scale: float, root: Array) -> tuple[Array, list[str]]:
    """Metres by which the lower foot is over the floor in each frame, and notes; `root` is over the lower foot."""
    heights = keypoints.heights
    if heights is None and (keypoints.flat or keypoints.size):
        heights = -keypoints.positions[..., 1]
    if heights is None:
        # Nobody leaves the floor unless the hips rise from the feet quickly.
        rising = np.gradient(root[:, 1]) * keypoints.fps
        remedy = "; save pose_landmarks beside the world landmarks" if keypoints.names == BLAZEPOSE else ""
        note = f"the hips rise as in a jump, which cannot be told without their height in the picture{remedy}"
        return np.zeros(len(root)), [note] if rising.max() > _TAKE_OFF else []
    seen = np.where(keypoints.confidence >= SURE, heights, np.nan) / scale
    lift, jumps = find_jumps(seen, keypoints.names, keypoints.fps)
    if not jumps:
        return lift, []
    return lift, [
        f"both feet leave the floor: {format_count(jumps, 'jump')}, up to {100 * lift.max():.0f} cm high"
    ]


def _place(keypoints: Keypoints, notes: list[str]) -> dict[str, Array]:
    """Every point in our axes, without gaps, smoothed; what was filled in is added to the notes."""
    positions, confidence = keypoints.positions.copy(), keypoints.confidence
    if keypoints.flat:
        positions[..., 2] = 0.0
    # A picture's axes (right, down, away) or MMPose's (left, away, up) to ours: left of who faces us, up, towards us.
    positions = (
        np.stack([-positions[..., 0], positions[..., 2], -positions[..., 1]], axis=-1)
        if keypoints.z_up
        else positions * [1.0, -1.0, -1.0]
    )
    points: dict[str, Array] = {}
    weights: dict[str, Array] = {}
    hidden = []
    for index, point in enumerate(keypoints.names):
        sure = confidence[:, index] >= SURE
        if sure.mean() < 0.2:
            hidden.append(point)
            continue
        points[point] = fill_unseen(positions[:, index], sure)
        weights[point] = np.where(sure, confidence[:, index], 0.05)
    if {"left_hip", "right_hip"} <= set(hidden) and not {"left_shoulder", "right_shoulder"} & set(hidden):
        _add_hips(points, weights)
        hidden = [point for point in hidden if not point.endswith("_hip")]
        notes.append("hips are hardly ever seen: the trunk is upright below the shoulders, and stays there")
    lost = [point for point in _NEEDED if point in hidden]
    if lost:
        raise DataError(f"{keypoints.source}: {', '.join(lost)} is seen in less than a fifth of the frames")
    legs = [point for point in hidden if point.endswith(_LEGS)]
    if legs:
        notes.append(f"{', '.join(legs)} is hardly ever seen: the leg stands straight")
    notes += restore_sides(points, weights, keypoints.fps, _measure(keypoints.source, points))
    points = {point: smooth_points(place, weights[point], keypoints.fps) for point, place in points.items()}
    if keypoints.z_up and _mirrored(points):
        points = {point: place * [1.0, 1.0, -1.0] for point, place in points.items()}
    return points


def _add_hips(points: dict[str, Array], weights: dict[str, Array]) -> None:
    """Hips below the shoulders, where a picture ends above them: as far as a body's proportions say."""
    across = points["left_shoulder"] - points["right_shoulder"]
    width = float(np.quantile(np.linalg.norm(across, axis=-1), 0.9))
    middle = np.median(_middle(points, "shoulder"), axis=0) - [0.0, _TRUNK / _SHOULDERS * width, 0.0]
    half = np.median(across, axis=0) * OFFSETS[INDEX["LeftUpLeg"], 0] / _SHOULDERS
    for side, sign in (("left", 1.0), ("right", -1.0)):
        points[f"{side}_hip"] = np.repeat((middle + sign * half)[None], len(across), axis=0)
        weights[f"{side}_hip"] = np.ones(len(across))


def _middle(points: dict[str, Array], name: str) -> Array:
    return np.asarray((points["left_" + name] + points["right_" + name]) / 2)


def _mirrored(points: dict[str, Array]) -> bool:
    """Whether left and right are those of a mirror: knees bend, and faces look, to the back."""
    up = unit(_middle(points, "shoulder") - _middle(points, "hip"))
    ahead = np.cross(unit(points["left_shoulder"] - points["right_shoulder"]), up)
    cues = [
        2 * points[f"{side}_knee"] - points[f"{side}_hip"] - points[f"{side}_ankle"]
        for side in ("left", "right")
        if f"{side}_knee" in points and f"{side}_ankle" in points
    ]
    if "nose" in points:
        cues.append(points["nose"] - _middle(points, "shoulder"))
    return bool(cues) and float(np.sum([np.sum(cue * ahead, axis=-1).mean() for cue in cues])) < 0


def _measure(source: str, points: dict[str, Array]) -> float:
    """The file's units in a metre of the reference skeleton, by trunk and limbs as long as they ever look."""

    def length(start: Array, end: Array) -> float:
        return float(np.quantile(np.linalg.norm(end - start, axis=-1), 0.9))

    ratios = [length(_middle(points, "hip"), _middle(points, "shoulder")) / _TRUNK]
    for bone, ours in _LENGTHS.items():
        for side in ("left", "right"):
            start, end = (f"{side}_{name}" for name in bone.split("-"))
            if start in points and end in points:
                ratios.append(length(points[start], points[end]) / ours)
    scale = float(np.median(ratios))
    if not scale > 0 or max(ratios) > 4 * scale:
        raise DataError(
            f"{source}: the lengths between the points are not a person's; is the layout another one?"
        )
    return scale


def _level(points: dict[str, Array], scale: float) -> list[str]:
    """Take the tilt of a camera, or of an estimator's depth, out: who stands is in balance over the feet on average."""
    if not {f"{side}_{name}" for side in ("left", "right") for name in _LEGS} <= points.keys():
        return []
    shoulder, elbow, hip, knee, ankle = (
        _middle(points, name) for name in ("shoulder", "elbow", "hip", "knee", "ankle")
    )
    length = scale * (_LENGTHS["hip-knee"] + _LENGTHS["knee-ankle"])
    standing = np.linalg.norm(hip - ankle, axis=-1) > _STRETCHED * length
    if standing.mean() < 0.5:
        return []
    # Shares of a body's weight: head and half of the trunk at the shoulders, arms, the rest of the trunk, the legs.
    weight = 0.33 * shoulder + 0.1 * elbow + 0.25 * hip + 0.1 * (hip + knee) + 0.06 * (knee + ankle)
    up = (weight - ankle)[standing].mean(axis=0)
    tilt = float(np.degrees(np.arctan2(up[2], up[1]))) - _BALANCE
    least, most = _TILT
    if not least < abs(tilt) < most:
        return []
    level = about("X", -tilt).T
    for name, place in points.items():
        points[name] = place @ level
    return [
        f"turned by {abs(tilt):.0f}°: seen so, who stands would lean {'towards' if tilt > 0 else 'away from'} us"
    ]


def _add_depth(points: dict[str, Array], scale: float) -> None:
    """Depth from foreshortening: arms and knees come forward, shins go back."""
    for side in ("left", "right"):
        for bone, ours in _LENGTHS.items():
            start, end = (f"{side}_{name}" for name in bone.split("-"))
            if start not in points or end not in points:
                continue
            flat = np.linalg.norm((points[end] - points[start])[:, :2], axis=-1)
            hidden = np.sqrt(np.maximum((0.97 * ours * scale) ** 2 - flat**2, 0.0))
            points[end][:, 2] = points[start][:, 2] + (-hidden if bone == "knee-ankle" else hidden)


# ── turns ────────────────────────────────────────────────────────────────────────────────────────


def _turn(points: dict[str, Array], keypoints: Keypoints) -> Array:
    """Global rotations (frames, joints, 3, 3) of our joints."""
    hips, shoulders = _middle(points, "hip"), _middle(points, "shoulder")
    up = unit(shoulders - hips)
    upright = basis([0.0, 1.0, 0.0], [1.0, 0.0, 0.0]).T
    turned = np.empty((len(hips), len(JOINTS), 3, 3))
    pelvis = basis(up, points["left_hip"] - points["right_hip"]) @ upright
    chest = basis(up, points["left_shoulder"] - points["right_shoulder"]) @ upright
    turned[:, INDEX["Hips"]] = turned[:, INDEX["Spine"]] = pelvis
    turned[:, INDEX["Chest"]] = chest
    turned[:, INDEX["Head"]] = _turn_head(points, chest, flat=keypoints.flat)
    turned[:, INDEX["Neck"]] = chest
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        _turn_arm(points, side, sign, chest, turned)
        _turn_leg(points, side, pelvis, turned, flat=keypoints.flat)
    return turned


def _turn_head(points: dict[str, Array], chest: Array, *, flat: bool) -> Array:
    if flat or not {"left_ear", "right_ear", "nose"} <= points.keys():
        return chest
    left = unit(points["left_ear"] - points["right_ear"])
    ahead = unit(points["nose"] - _middle(points, "ear"))
    # A nose is lower than ears: so much is no nod.
    face = basis(left, np.cross(ahead, left)) @ basis([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]).T
    return np.asarray(face @ about("X", -12.0))


def _turn_arm(points: dict[str, Array], side: str, sign: float, chest: Array, turned: Array) -> None:
    shoulder, elbow, wrist = (points.get(f"{side.lower()}_{name}") for name in ("shoulder", "elbow", "wrist"))
    assert shoulder is not None and elbow is not None
    upper = unit(elbow - shoulder)
    fore = upper if wrist is None else unit(wrist - elbow)
    pole = chest @ np.array([sign * 0.4, -0.5, -0.8])
    hinge = np.cross(fore, upper) + _STRAIGHT * np.cross(upper, pole)
    rest = np.array([sign, 0.0, 0.0])
    upright = basis(rest, [0.0, sign, 0.0]).T
    turned[:, INDEX[side + "Shoulder"]] = chest
    turned[:, INDEX[side + "Arm"]] = basis(upper, hinge) @ upright
    turned[:, INDEX[side + "ForeArm"]] = hand = basis(fore, hinge) @ upright
    index, pinky = (points.get(f"{side.lower()}_{name}") for name in ("index", "pinky"))
    if wrist is not None and index is not None and pinky is not None:
        # Noisy, so the forearm has a say in where a hand points.
        fingers = unit(unit((index + pinky) / 2 - wrist) + fore)
        palm = -sign * np.cross(unit(index - wrist), unit(pinky - wrist)) + 0.2 * (
            hand @ np.array([0.0, -1.0, 0.0])
        )
        hand = basis(fingers, palm) @ basis(rest, [0.0, -1.0, 0.0]).T
    turned[:, INDEX[side + "Hand"]] = hand
    turned[:, INDEX[side + "Fingers"]] = hand @ about("Z", -sign * 30.0)


def _turn_leg(points: dict[str, Array], side: str, pelvis: Array, turned: Array, *, flat: bool) -> None:
    hip, knee, ankle = (points.get(f"{side.lower()}_{name}") for name in ("hip", "knee", "ankle"))
    assert hip is not None
    down = np.broadcast_to([0.0, -1.0, 0.0], hip.shape)
    thigh = down if knee is None else unit(knee - hip)
    shin = thigh if knee is None or ankle is None else unit(ankle - knee)
    ahead = pelvis @ np.array([0.0, 0.0, 1.0])
    hinge = np.cross(shin, thigh) + _STRAIGHT * np.cross(thigh, ahead)
    rest = basis([0.0, -1.0, 0.0], [-1.0, 0.0, 0.0]).T
    turned[:, INDEX[side + "UpLeg"]] = basis(thigh, hinge) @ rest
    turned[:, INDEX[side + "Leg"]] = basis(shin, hinge) @ rest
    heel, toe = (points.get(f"{side.lower()}_{name}") for name in ("heel", "foot_index"))
    # A foot in a picture points towards us, mostly: its heading is not seen.
    sole = unit(ahead * [1.0, 0.0, 1.0]) if flat or heel is None or toe is None else unit(toe - heel)
    left = np.cross([0.0, 1.0, 0.0], sole)
    foot = basis(sole, left) @ basis([0.0, 0.0, 1.0], [1.0, 0.0, 0.0]).T
    turned[:, INDEX[side + "Foot"]] = turned[:, INDEX[side + "Toe"]] = foot
