"""Files in the form of each motion-capture tool give back the motion that they were written from."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from tests.support.mocap import Z_UP, Tool, sided, write_tool_bvh
from vivant.core.errors import DataError, UsageError, VivantError
from vivant_build.cli.mime_data import app
from vivant_build.mime import ACTIONS, Motion, perform, reference_pose
from vivant_build.mime.bvh import parse_bvh
from vivant_build.mime.clean import clean_file
from vivant_build.mime.joint_map import _sources
from vivant_build.mime.recording import read_recording
from vivant_build.mime.retarget import retarget
from vivant_build.mime.rotation import slerp
from vivant_build.mime.skeleton import INDEX, JOINTS, Skeleton

HIK = sided(
    Shoulder="{S}Shoulder", Arm="{S}Arm", ForeArm="{S}ForeArm", Hand="{S}Hand", UpLeg="{S}UpLeg", Leg="{S}Leg"
)
HIK |= sided(Foot="{S}Foot", Toe="{S}ToeBase")
TRUNK = {"Hips": "Hips", "Spine": "Spine", "Chest": "Spine1", "Neck": "Neck", "Head": "Head"}
BANDAI = {"Hips": "Hips", "Spine": "Spine", "Chest": "Chest", "Neck": "Neck", "Head": "Head"} | sided(
    Shoulder="Shoulder_{L}", Arm="UpperArm_{L}", ForeArm="LowerArm_{L}", Hand="Hand_{L}",
    UpLeg="UpperLeg_{L}", Leg="LowerLeg_{L}", Foot="Foot_{L}", Toe="Toes_{L}",
)  # fmt: skip
XSENS = {"Hips": "Hips", "Spine": "Chest", "Chest": "Chest4", "Neck": "Neck", "Head": "Head"} | sided(
    Shoulder="{S}Collar", Arm="{S}Shoulder", ForeArm="{S}Elbow", Hand="{S}Wrist",
    UpLeg="{S}Hip", Leg="{S}Knee", Foot="{S}Ankle", Toe="{S}Toe",
)  # fmt: skip
BIPED = {j: f"Bip001 {n}" for j, n in (TRUNK | {"Hips": "Pelvis", "Chest": "Spine2"}).items()} | sided(
    Shoulder="Bip001 {L} Clavicle", Arm="Bip001 {L} UpperArm", ForeArm="Bip001 {L} Forearm", Hand="Bip001 {L} Hand",
    UpLeg="Bip001 {L} Thigh", Leg="Bip001 {L} Calf", Foot="Bip001 {L} Foot", Toe="Bip001 {L} Toe0",
)  # fmt: skip
RIGIFY = {"Hips": "DEF-spine", "Spine": "DEF-spine.001", "Chest": "DEF-spine.003", "Neck": "DEF-spine.004"}
RIGIFY |= {"Head": "DEF-spine.006"} | sided(
    Shoulder="DEF-shoulder.{L}", Arm="DEF-upper_arm.{L}", ForeArm="DEF-forearm.{L}", Hand="DEF-hand.{L}",
    UpLeg="DEF-thigh.{L}", Leg="DEF-shin.{L}", Foot="DEF-foot.{L}", Toe="DEF-toe.{L}",
)  # fmt: skip
ARP = {"Hips": "root.x", "Spine": "spine_01.x", "Chest": "spine_02.x", "Neck": "neck.x", "Head": "head.x"} | sided(
    Shoulder="shoulder.{l}", Arm="arm_stretch.{l}", ForeArm="forearm_stretch.{l}", Hand="hand.{l}",
    UpLeg="thigh_stretch.{l}", Leg="leg_stretch.{l}", Foot="foot.{l}", Toe="toes_01.{l}",
)  # fmt: skip
DAZ = {"Hips": "hip", "Spine": "abdomenLower", "Chest": "chestUpper", "Neck": "neckLower", "Head": "head"} | sided(
    Shoulder="{l}Collar", Arm="{l}ShldrBend", ForeArm="{l}ForearmBend", Hand="{l}Hand",
    UpLeg="{l}ThighBend", Leg="{l}Shin", Foot="{l}Foot", Toe="{l}Toe",
)  # fmt: skip
MOTIVE = {"Hips": "Hip", "Spine": "Ab", "Chest": "Chest", "Neck": "Neck", "Head": "Head"} | sided(
    Shoulder="{L}Shoulder", Arm="{L}UArm", ForeArm="{L}FArm", Hand="{L}Hand",
    UpLeg="{L}Thigh", Leg="{L}Shin", Foot="{L}Foot", Toe="{L}Toe",
)  # fmt: skip
ROKOKO = {"Hips": "hip", "Spine": "spine", "Chest": "chest", "Neck": "neck", "Head": "head"} | sided(
    Shoulder="{s}Shoulder", Arm="{s}UpperArm", ForeArm="{s}LowerArm", Hand="{s}Hand",
    UpLeg="{s}UpLeg", Leg="{s}Leg", Foot="{s}Foot", Toe="{s}Toe",
)  # fmt: skip
VROID = {j: f"J_Bip_C_{j}" for j in TRUNK} | sided(
    Shoulder="J_Bip_{L}_Shoulder", Arm="J_Bip_{L}_UpperArm", ForeArm="J_Bip_{L}_LowerArm", Hand="J_Bip_{L}_Hand",
    UpLeg="J_Bip_{L}_UpperLeg", Leg="J_Bip_{L}_LowerLeg", Foot="J_Bip_{L}_Foot", Toe="J_Bip_{L}_ToeBase",
)  # fmt: skip
MAKEHUMAN = {"Hips": "root", "Spine": "spine05", "Chest": "spine01", "Neck": "neck01", "Head": "head"} | sided(
    Shoulder="clavicle.{L}", Arm="upperarm01.{L}", ForeArm="lowerarm01.{L}", Hand="wrist.{L}",
    UpLeg="upperleg01.{L}", Leg="lowerleg01.{L}", Foot="foot.{L}", Toe="toe1-1.{L}",
)  # fmt: skip
BITMOJI = {"Hips": "C_spine0001_bind_JNT", "Spine": "C_spine0002_bind_JNT", "Chest": "C_spine0006_bind_JNT"}
BITMOJI |= {"Neck": "C_neck0001_bind_JNT", "Head": "C_head0001_bind_JNT"} | sided(
    Shoulder="{L}_clavicle_bind_JNT", Arm="{L}_armUpper0001_bind_JNT", ForeArm="{L}_armLower0001_bind_JNT",
    Hand="{L}_hand0001_bind_JNT", UpLeg="{L}_legUpper0001_bind_JNT", Leg="{L}_legLower0001_bind_JNT",
    Foot="{L}_foot0001_bind_JNT", Toe="{L}_foot0002_bind_JNT",
)  # fmt: skip

TOOLS = {
    "cmu": Tool(TRUNK | HIK, unit=1 / 0.056444, t_pose=1),
    "mixamo": Tool({j: f"mixamorig9:{n}" for j, n in (TRUNK | HIK).items()}),
    "motionbuilder": Tool(
        {j: f"Character1_{n}" for j, n in (TRUNK | HIK).items()}, root="Reference", order="XYZ"
    ),
    "lafan": Tool(TRUNK | HIK | sided(Toe="{S}Toe"), bone_axes=True, tips=False),
    "bandai": Tool(
        BANDAI, "ZXY", bone_axes=True, mirrored=True, positions=True, root="joint_Root", tips=False
    ),
    "xsens": Tool(XSENS, "YXZ", t_pose=5),
    "biped": Tool(BIPED, unit=39.3701, axes=Z_UP, bone_axes=True),
    "rigify": Tool(RIGIFY, "XYZ", unit=1.0, axes=Z_UP),
    "auto-rig-pro": Tool(ARP, "XYZ", unit=1.0, axes=Z_UP),
    "daz": Tool(DAZ, "YZX"),
    "motive": Tool(MOTIVE, "ZXY", unit=1000.0),
    "rokoko": Tool(ROKOKO, "YXZ"),
    "vroid": Tool(VROID, "ZXY", unit=1.0),
    "makehuman": Tool(MAKEHUMAN, "XYZ", unit=10.0, axes=Z_UP, added=True),
    "bitmoji": Tool(BITMOJI, unit=1.0),
}


@pytest.fixture(scope="module")
def motion() -> Motion:
    return perform(ACTIONS["Soccer003"], 30.0).turned(25.0)


def _apart(text: str, motion: Motion) -> float:
    """Metres by which any joint of the file, read back, is elsewhere than in the motion; the path is centred."""
    result = retarget(parse_bvh(text), "x").motion
    assert len(result) == len(motion)
    ours, theirs = (m.joints(Skeleton())[0] for m in (motion, result))
    # Fingers are in none of these files; they follow the hand.
    body = [INDEX[joint] for joint in JOINTS if not joint.endswith("Fingers")]
    gap = theirs[:, body] - ours[:, body]
    gap -= gap[0, 0]
    return float(np.linalg.norm(gap, axis=-1).max())


@pytest.mark.parametrize("name", TOOLS)
def test_each_tools_file_gives_its_motion_back_within_millimetres(name: str, motion: Motion) -> None:
    assert _apart(write_tool_bvh(motion, TOOLS[name]), motion) < 0.002


@pytest.mark.parametrize("name", ["lafan", "bandai", "biped"])
def test_bone_axis_offsets_read_as_a_standing_pose_would_be_wrong(
    name: str, motion: Motion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference_pose, "_stands", lambda *_: True)
    try:
        apart = _apart(write_tool_bvh(motion, TOOLS[name]), motion)
    except DataError:
        return
    assert apart > 0.1


def test_a_standing_pose_read_as_bone_axes_would_turn_no_joint_away(
    motion: Motion, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The calibration needs no zero pose, so it also reads files that have one.
    monkeypatch.setattr(reference_pose, "_stands", lambda *_: False)
    assert _apart(write_tool_bvh(motion, TOOLS["mixamo"]), motion) < 0.05


def test_the_end_of_a_head_that_lies_aside_tips_no_head(motion: Motion) -> None:
    text = write_tool_bvh(motion, replace(TOOLS["lafan"], tips=True))
    head = text.index("JOINT Head")
    end = re.compile(r"(End Site\s*\{\s*OFFSET) \S+ \S+ \S+")
    aside = text[:head] + end.sub(r"\1 0 20 0", text[head:], count=1)
    tips = {
        name: retarget(parse_bvh(file), "x").motion.joints(Skeleton())[1][:, INDEX["Head"], 1, 1]
        for name, file in (("whole", text), ("aside", aside))
    }
    assert np.abs(tips["whole"] - tips["aside"]).max() < 0.15, "as upright as before"


def test_missing_toes_and_hands_are_borne(motion: Motion) -> None:
    names = {j: n for j, n in TOOLS["lafan"].names.items() if not j.endswith(("Toe", "Hand"))}
    result = retarget(parse_bvh(write_tool_bvh(motion, Tool(names))), "x")
    assert "LeftToe" not in result.mapped and "LeftFoot" in result.mapped
    ours, theirs = (m.joints(Skeleton())[0] for m in (motion, result.motion))
    knees = [INDEX["LeftLeg"], INDEX["RightLeg"]]
    gap = (theirs - theirs[:1, :1])[:, knees] - (ours - ours[:1, :1])[:, knees]
    assert np.abs(gap).max() < 0.002


def test_t_pose_rows_are_cut_and_reported(motion: Motion) -> None:
    result = retarget(parse_bvh(write_tool_bvh(motion, TOOLS["xsens"])), "x")
    assert result.dropped == (5, 0) and len(result.motion) == len(motion)
    assert retarget(parse_bvh(write_tool_bvh(motion, TOOLS["daz"])), "x").dropped == (0, 0)


@pytest.mark.parametrize("held", [1, 6])
@pytest.mark.parametrize("t_pose", [True, False])
def test_only_a_t_pose_is_cut_with_its_blend_into_the_motion(held: int, t_pose: bool, motion: Motion) -> None:
    played = perform(ACTIONS["Violin002"], 30.0)
    share = np.concatenate([np.zeros(held), [0.2, 0.4, 0.6, 0.8]])[:, None].repeat(len(JOINTS), axis=1)
    # Somebody whose arms hang may raise them as quickly.
    pose = np.broadcast_to(np.eye(3) if t_pose else motion.rotations[0], (len(share), len(JOINTS), 3, 3))
    blend = slerp(pose, np.broadcast_to(played.rotations[0], pose.shape), share)
    longer = replace(
        played,
        root=np.concatenate([played.root[:1].repeat(len(share), axis=0), played.root]),
        rotations=np.concatenate([blend, played.rotations]),
    )
    result = retarget(parse_bvh(write_tool_bvh(longer, TOOLS["daz"])), "x")
    assert result.dropped == ((held + 4, 0) if t_pose else (0, 0))


@pytest.mark.parametrize("moving", [False, True])
def test_a_t_pose_that_the_actor_holds_is_cut_until_the_arms_are_down(moving: bool, motion: Motion) -> None:
    still, lowering, frames = 12, 15, len(motion)
    # Somebody whose arms swing through a T-pose does not hold one.
    share = np.concatenate(
        [np.zeros(0 if moving else still), np.linspace(0.02, 1, 10 if moving else lowering)]
    )
    turns = slerp(
        np.broadcast_to(np.eye(3), (len(share), len(JOINTS), 3, 3)),
        np.broadcast_to(motion.rotations[0], (len(share), len(JOINTS), 3, 3)),
        share[:, None].repeat(len(JOINTS), axis=1),
    )
    repeats = 3
    longer = replace(
        motion,
        root=np.concatenate([motion.root[:1].repeat(len(share), axis=0), *[motion.root] * repeats]),
        rotations=np.concatenate([turns, *[motion.rotations] * repeats]),
    )
    cut, end = retarget(parse_bvh(write_tool_bvh(longer, TOOLS["daz"])), "x").dropped
    assert end == 0 and frames * repeats > 4 * len(share)
    assert cut == 0 if moving else still < cut < still + lowering


def test_legs_that_a_rest_pose_spreads_make_nobody_smaller(motion: Motion) -> None:
    text = write_tool_bvh(motion, TOOLS["daz"])
    for joint, sign in (("lShin", 1), ("lFoot", 1), ("rShin", -1), ("rFoot", -1)):
        found = re.search(rf"JOINT {joint}\s*\{{\s*OFFSET (\S+) (\S+) (\S+)", text)
        assert found is not None
        length = float(np.linalg.norm([float(value) for value in found.groups()]))
        aside = f"OFFSET {sign * 0.34 * length:.6f} {-0.94 * length:.6f} 0"
        text = text[: found.start()] + re.sub(r"OFFSET .*", aside, found[0]) + text[found.end() :]
    assert retarget(parse_bvh(text), "x").stature == pytest.approx(175.0, abs=2.0)


def test_a_root_that_is_turned_by_exactly_nothing_is_an_added_pose(motion: Motion) -> None:
    text = write_tool_bvh(motion, TOOLS["cmu"])
    head, _, rows = text.partition("Frame Time:")
    lines = rows.splitlines()
    # An added pose that is near to the first real one leaps by too little to be told by its leap.
    values = lines[2].split()
    values[3:6] = ["0.0", "0.0", "0.0"]
    lines[1] = " ".join(values)
    text = head + "Frame Time:" + "\n".join(lines)
    assert retarget(parse_bvh(text), "x").dropped == (1, 0)


@pytest.mark.parametrize("bone_axes", [False, True])
def test_unknown_names_are_told_by_structure(bone_axes: bool, motion: Motion) -> None:
    names = {joint: f"骨{index}" for index, joint in enumerate(TOOLS["daz"].names)}
    text = write_tool_bvh(motion, Tool(names, bone_axes=bone_axes))
    mapped = retarget(parse_bvh(text), "x").mapped
    assert {joint: mapped[joint] for joint in names} == names


def test_joints_that_a_person_states_are_taken(motion: Motion, tmp_path: Path) -> None:
    # No feet: nothing tells where knees are, nor what is ahead.
    kept = [j for j in TOOLS["daz"].names if not j.endswith(("Foot", "Toe"))]
    names = {j: f"b{i}" for i, j in enumerate(kept)}
    source, table = tmp_path / "odd.bvh", tmp_path / "joints.yaml"
    source.write_text(write_tool_bvh(motion, Tool(names)))
    command = ["clean", str(source), str(tmp_path / "out.bvh")]
    failed = CliRunner().invoke(app, command)
    assert failed.exit_code != 0
    table.write_text("".join(f"{joint}: {name}\n" for joint, name in names.items()))
    result = CliRunner().invoke(app, [*command, "--joints", str(table)])
    assert result.exit_code == 0, result.output
    with Image.open(tmp_path / "out.jpg") as sheet:
        assert sheet.width > 3 * sheet.height
    table.write_text("LeftArn: b3\n")
    with pytest.raises(VivantError, match="LeftArm"):
        clean_file(source, tmp_path / "out.bvh", joints=table)
    table.write_text("LeftArm: nobody\n")
    with pytest.raises(VivantError, match="nobody"):
        clean_file(source, tmp_path / "out.bvh", joints=table)


def test_a_stature_that_is_no_persons_is_refused_until_its_unit_is_stated(
    motion: Motion, tmp_path: Path
) -> None:
    small = tmp_path / "small.bvh"
    small.write_text(write_tool_bvh(motion, replace(TOOLS["daz"], unit=0.2)))
    with pytest.raises(
        DataError, match=r"person's height in no unit .* state the unit \(--unit (\S+) makes"
    ) as caught:
        read_recording(small)
    stated = re.search(r"--unit (\S+)", str(caught.value))
    assert stated is not None
    report = clean_file(small, tmp_path / "out.bvh", unit=float(stated[1]))
    assert report.unit == "metres" and report.stature == pytest.approx(1.75, abs=0.1)
    whole = clean_file(small, tmp_path / "same.bvh", unit=1.01 * float(stated[1]))
    assert np.allclose(whole.result.rotations, report.result.rotations), "a length turns nothing"
    with pytest.raises(UsageError, match="--unit is a length in metres, above 0"):
        read_recording(small, unit=-1.0)
    text = write_tool_bvh(motion, TOOLS["daz"])
    longer = re.sub(r"(JOINT lShin\s*\{\s*OFFSET) \S+ \S+ \S+", r"\1 0 -90 0", text)
    with pytest.raises(DataError, match="left to right thigh"):
        retarget(parse_bvh(longer), "x")


def test_a_figure_that_lies_in_the_air_is_refused(motion: Motion) -> None:
    lines = write_tool_bvh(motion, TOOLS["mixamo"]).splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("Frame Time")) + 1
    for number in range(start, len(lines)):
        values = lines[number].split()
        lines[number] = " ".join([*values[:3], "0", "0", "90", *values[6:]])
    with pytest.raises(DataError, match="lies in the air"):
        retarget(parse_bvh("\n".join(lines)), "x")


def test_every_source_names_the_joints_that_are_needed() -> None:
    for source, (_, names) in _sources().items():
        assert set(names) <= set(JOINTS), source
        assert len(set(names.values())) == len(names), source
