"""Skeletons whose names say nothing are told by their shape: nonsense names, other scripts, bones in the way."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.mocap import Tool, write_tool_bvh
from vivant.core.errors import DataError
from vivant_build.mime import ACTIONS, Motion, perform
from vivant_build.mime.bvh import Bvh
from vivant_build.mime.clean import clean_file
from vivant_build.mime.recording import build_bvh, read_recording
from vivant_build.mime.retarget import retarget
from vivant_build.mime.rotation import Array, about
from vivant_build.mime.skeleton import INDEX, JOINTS, OFFSETS, PARENTS, Skeleton

SIDES = ("Left", "Right")
TWISTS = {
    f"{side}{bone}Twist": (side + bone, 0.5 * OFFSETS[INDEX[side + bone] + 1])
    for side in SIDES
    for bone in ("Arm", "ForeArm", "UpLeg", "Leg")
}
HAND = {
    f"{side}Finger{finger}{part}": (
        f"{side}Finger{finger}{part - 1}" if part else side + "Hand",
        np.array([(1.0 if side == "Left" else -1.0) * (0.03 if part else 0.08), 0.0, 0.02 * (finger - 2)]),
    )
    for side in SIDES
    for finger in range(5)
    for part in range(3)
}
TAIL = {
    "tail": ("Hips", np.array([0.0, -0.05, -0.1])),
    "tail2": ("tail", np.array([0.0, -0.2, -0.1])),
    "tail3": ("tail2", np.array([0.0, -0.3, 0.0])),
    "spear": ("RightHand", np.array([-0.1, 0.0, 0.4])),
    "spear2": ("spear", np.array([0.0, 0.0, 0.9])),
}
FACE = {
    "jaw": ("Head", np.array([0.0, 0.03, 0.05])),
    "eye": ("Head", np.array([0.03, 0.08, 0.08])),
    "hair": ("Head", np.array([0.0, 0.15, -0.05])),
    "hair2": ("hair", np.array([0.0, -0.3, -0.05])),
    "hair3": ("hair2", np.array([0.0, -0.5, 0.0])),
}
PELVIS = {"Pelvis": ("Hips", np.zeros(3))}
FINGERS = ("LeftFingers", "RightFingers")
TOES = ("LeftToe", "RightToe")


def _skeleton(
    motion: Motion,
    name: Callable[[str], str],
    extra: dict[str, tuple[str, Array]],
    drop: tuple[str, ...],
) -> tuple[Bvh, dict[str, str]]:
    """A file of the motion with further joints, some of ours left out, and legs on a pelvis if there is one."""
    places, turns = motion.joints(Skeleton())
    parent: dict[str, str] = {}
    for joint in JOINTS:
        if joint not in drop and joint != "Hips":
            above = JOINTS[PARENTS[INDEX[joint]]]
            parent[joint] = "Pelvis" if joint.endswith("UpLeg") and "Pelvis" in extra else above
    place = {joint: places[:, INDEX[joint]] for joint in ("Hips", *parent)}
    turned = {joint: turns[:, INDEX[joint]] for joint in ("Hips", *parent)}
    for joint, (above, offset) in extra.items():
        parent[joint], turned[joint] = above, turned[above]
        place[joint] = place[above] + turned[above] @ offset
    order = ["Hips"]
    for joint in order:
        order[order.index(joint) + 1 : order.index(joint) + 1] = [
            j for j, above in parent.items() if above == joint
        ]
    bvh = build_bvh(
        [name(joint) for joint in order],
        [order.index(parent[joint]) if joint in parent else -1 for joint in order],
        100 * np.stack([place[joint] for joint in order], axis=1),
        np.stack([turned[joint] for joint in order], axis=1),
        motion.fps,
        "odd.bvh",
    )
    return bvh, {joint: name(joint) for joint in order if joint in JOINTS}


def _numbered(joint: str) -> str:
    return f"bone_{zlib.crc32(joint.encode())}"


def _japanese(joint: str) -> str:
    """As MikuMikuDance names bones, where センター is above both halves of the body."""
    names = {
        "Hips": "センター", "Pelvis": "下半身", "Spine": "上半身", "Chest": "上半身2", "Neck": "首", "Head": "頭",
        "Shoulder": "肩", "Arm": "腕", "ForeArm": "ひじ", "Hand": "手首", "Fingers": "中指１",
        "UpLeg": "足", "Leg": "ひざ", "Foot": "足首", "Toe": "つま先",
    }  # fmt: skip
    for side, sign in (("Left", "左"), ("Right", "右")):
        if joint.startswith(side):
            return sign + names[joint.removeprefix(side)]
    return names[joint]


@pytest.mark.parametrize("action", ["Soccer003", "Driving002", "Running01", "PushUps01"])
@pytest.mark.parametrize(
    ("name", "extra", "drop"),
    [
        (_numbered, TWISTS | HAND, FINGERS),
        (_numbered, TAIL | FACE, FINGERS),
        (_numbered, PELVIS, TOES),
        (_japanese, PELVIS, TOES),
    ],
    ids=["twists and fingers", "tail, spear and hair", "pelvis without toes", "japanese"],
)
def test_shape_tells_the_joints(
    name: Callable[[str], str], extra: dict[str, tuple[str, Array]], drop: tuple[str, ...], action: str
) -> None:
    motion = perform(ACTIONS[action], 30.0)
    bvh, names = _skeleton(motion, name, extra, drop)
    assert len({joint.name for joint in bvh.joints}) == len(bvh.joints)
    result = retarget(bvh, "x")
    assert result.mapped == {joint: given for joint, given in names.items() if joint in result.mapped}
    assert set(names) - set(result.mapped) == set()
    body = [INDEX[joint] for joint in JOINTS if not joint.endswith(("Fingers", "Toe", "Hand"))]
    ours, theirs = (m.joints(Skeleton())[0][:, body] for m in (motion, result.motion))
    gap = (theirs - theirs[:, :1]) - (ours - ours[:, :1])
    assert np.linalg.norm(gap, axis=-1).max() < 0.02


def test_who_bends_down_keeps_the_sides() -> None:
    motion = perform(ACTIONS["Soccer003"], 30.0)
    motion.rotations[:, INDEX["Spine"]] = about("X", 110.0)
    bvh, names = _skeleton(motion, _numbered, {}, ())
    assert retarget(bvh, "x").mapped == names


def test_straight_legs_without_toes_tell_no_side() -> None:
    still = perform(ACTIONS["Soccer003"], 30.0)
    still.rotations[:] = np.eye(3)
    bvh, _ = _skeleton(still, _numbered, {}, TOES)
    with pytest.raises(DataError, match="no joint can be taken for LeftArm"):
        retarget(bvh, "x")


def test_a_table_names_joints_in_other_letters(tmp_path: Path) -> None:
    motion = perform(ACTIONS["Soccer003"], 30.0)
    # Without feet the shape says nothing.
    kept = [joint for joint in JOINTS if not joint.endswith(("Foot", "Toe", "Fingers"))]
    names = {joint: _japanese(joint).replace("左", "甲").replace("右", "乙") for joint in kept}
    source, table, out = tmp_path / "踊り.bvh", tmp_path / "関節.yaml", tmp_path / "out.bvh"
    source.write_text(write_tool_bvh(motion, Tool(names)), encoding="utf-8")
    with pytest.raises(DataError, match="no joint can be taken for"):
        clean_file(source, out)
    table.write_text("".join(f"{joint}: {name}\n" for joint, name in names.items()), encoding="utf-8")
    clean_file(source, out, joints=table)
    result = read_recording(source, joints=names)
    assert result.mapped == names
