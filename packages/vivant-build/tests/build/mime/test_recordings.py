"""Recordings in the forms of AMASS, glTF and VRM give back the motion that they were written from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.helpers import vivant
from tests.support.recordings import GltfWriter, smpl_arrays
from vivant.core.errors import DataError, UsageError, VivantError
from vivant_build.mime import ACTIONS, Motion, perform
from vivant_build.mime.bvh import write_bvh
from vivant_build.mime.joint_map import map_joints
from vivant_build.mime.recording import build_bvh, list_animations, read_motion, read_recording
from vivant_build.mime.rotation import about
from vivant_build.mime.skeleton import INDEX, JOINTS, PARENTS, Skeleton


@pytest.fixture(scope="module")
def motion() -> Motion:
    return perform(ACTIONS["Soccer003"], 30.0).turned(25.0)


def _apart(result: Motion, motion: Motion) -> Any:
    """Metres between the joints of the two, each around where its hips are in frame 0."""
    body = [INDEX[joint] for joint in JOINTS if not joint.endswith("Fingers")]
    ours, theirs = (m.joints(Skeleton())[0][:, body] for m in (motion, result))
    gap = theirs - ours
    return np.linalg.norm(gap - gap[0, 0], axis=-1)


# ── AMASS ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("width", [72, 156, 165])
def test_amass_is_read_upright_with_its_sides(width: int, motion: Motion, tmp_path: Path) -> None:
    np.savez(tmp_path / "kick_poses.npz", **smpl_arrays(motion, width))
    result = read_recording(tmp_path / "kick_poses.npz")
    assert result.motion.fps == 30.0 and len(result.motion) == len(motion)
    # The mean body's bones slant a little otherwise than ours.
    assert _apart(result.motion, motion).mean() < 0.04
    # Told by its legs, whose joints lie lower than ours.
    assert result.stature == pytest.approx(1.72, abs=0.08)
    assert not result.ignored or set(result.ignored) == {"spine2"}


def test_the_newer_edition_spells_its_fields_otherwise(motion: Motion, tmp_path: Path) -> None:
    arrays = smpl_arrays(motion, 165)
    poses = arrays["poses"]
    newer = {
        "root_orient": poses[:, :3],
        "pose_body": poses[:, 3:66],
        "pose_hand": poses[:, 66:156],
        "trans": arrays["trans"],
        "mocap_frame_rate": np.array(30.0),
        "gender": np.array("neutral"),
        "surface_model_type": np.array("smplx"),
    }
    np.savez(tmp_path / "kick_stageii.npz", **newer)
    assert _apart(read_motion(tmp_path / "kick_stageii.npz"), motion).mean() < 0.04


def test_smpl_with_y_up_and_no_rate_is_read_once_the_rate_is_stated(motion: Motion, tmp_path: Path) -> None:
    upright = smpl_arrays(_tilted(motion), 72)["poses"]
    np.savez(tmp_path / "a.npz", poses=upright, trans=motion.root)
    with pytest.raises(DataError, match="states no frame rate; give it with --source-fps"):
        read_motion(tmp_path / "a.npz")
    result = read_recording(tmp_path / "a.npz", source_fps=30.0).motion
    assert _apart(result, motion).mean() < 0.04


def _tilted(motion: Motion) -> Motion:
    """The motion whose AMASS form, with Z up, is this one's form with Y up."""
    rotations = motion.rotations.copy()
    rotations[:, 0] = about("X", -90.0) @ rotations[:, 0]
    return replace(motion, rotations=rotations)


@pytest.mark.parametrize(
    "spoil,words",
    [
        (lambda a: {"betas": a["betas"], "gender": a["gender"]}, "a body's shape and no motion"),
        (
            lambda a: {**a, "poses": a["poses"][:, :100]},
            r"poses are \(\d+, 100\); a row has 72 \(SMPL\), 156",
        ),
        (lambda a: {**a, "trans": a["trans"][:-1]}, r"trans is \(\d+, 3\) and poses have"),
        (lambda a: {**a, "poses": a["poses"][:0], "trans": a["trans"][:0]}, "the file has no frames"),
        (lambda a: {**a, "mocap_framerate": np.array(0.0)}, "0 frames a second is not from 1 to 1000"),
        (
            lambda a: {**a, "trans": np.full_like(a["trans"], np.nan)},
            "frames cannot be used, more than 25%; mend them or export the file again: row 1 of trans",
        ),
        (lambda a: {"vertices": a["trans"]}, "it has no poses; it holds vertices"),
    ],
)
def test_faults_of_amass_files_are_one_line(spoil: Any, words: str, motion: Motion, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **spoil(smpl_arrays(motion)))
    with pytest.raises(DataError, match=words) as caught:
        read_motion(tmp_path / "a.npz")
    assert str(tmp_path / "a.npz") in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_no_archive_of_arrays_is_refused_and_nothing_is_unpickled(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(DataError, match="is not a file of plain NumPy arrays"):
        read_motion(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", poses=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DataError, match="it holds pickled Python objects"):
        read_motion(tmp_path / "b.npz")
    with pytest.raises(DataError, match="no such file"):
        read_motion(tmp_path / "c.npz")


# ── glTF ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
@pytest.mark.parametrize("interpolation", ["LINEAR", "CUBICSPLINE"])
def test_gltf_gives_its_motion_back(suffix: str, interpolation: str, motion: Motion, tmp_path: Path) -> None:
    writer = GltfWriter(motion)
    file = writer.write(tmp_path / f"a{suffix}", writer.document(interpolation=interpolation))
    result = read_recording(file)
    assert result.motion.fps == 30.0 and len(result.motion) == len(motion)
    assert _apart(result.motion, motion).max() < 0.003
    assert result.stature == pytest.approx(1.75, abs=0.02)


def test_the_bind_pose_is_the_rest_where_nodes_stand_in_another(motion: Motion, tmp_path: Path) -> None:
    writer = GltfWriter(motion)
    file = writer.write(tmp_path / "a.glb", writer.document(posed=True))
    assert _apart(read_motion(file), motion).max() < 0.003


def test_a_frame_of_the_motion_that_stands_for_the_rest_pose_bends_and_shrinks_nobody(
    motion: Motion, tmp_path: Path
) -> None:
    # Files of an animation alone have no bind pose, and their nodes stand in whichever frame was shown: here a kick.
    legs = motion.joints(Skeleton())[0][:, [INDEX["LeftFoot"], INDEX["RightFoot"]]]
    kick = int(np.argmax(np.abs(legs[:, 0, 2] - legs[:, 1, 2])))
    kicked = replace(motion, root=motion.root[kick:], rotations=motion.rotations[kick:])
    writer = GltfWriter(kicked)
    document = writer.document(posed=True)
    del document["skins"]
    result = read_recording(writer.write(tmp_path / "a.glb", document))
    assert result.stature == pytest.approx(1.75, abs=0.04)
    assert _apart(result.motion, kicked).max() < 0.12


def test_a_skin_of_the_head_alone_leaves_the_body_its_bones(motion: Motion, tmp_path: Path) -> None:
    writer = GltfWriter(motion)
    document = writer.document()
    skin = document["skins"][0]
    skin["joints"] = [INDEX["Neck"], INDEX["Head"]]
    del skin["inverseBindMatrices"]
    result = read_recording(writer.write(tmp_path / "a.glb", document))
    assert _apart(result.motion, motion).max() < 0.003


def test_animations_that_are_refused_for_one_reason_share_a_line(motion: Motion, tmp_path: Path) -> None:
    writer = GltfWriter(motion)
    document = writer.document(animations=("Walk", "Run", "Kick"))
    for animation in document["animations"][:2]:
        animation["channels"] = []
    writer.write(tmp_path / "person.glb", document)
    done = vivant("build", "mime", "clean", "person.glb", "out", "--no-sheet", cwd=tmp_path)
    lines = [line for line in done.stderr.splitlines() if line.startswith("refused")]
    assert done.returncode == 1 and "2 of 3 recordings were refused" in done.stderr
    assert len(lines) == 1 and "person.glb, 2 animations (Walk, Run): the animation moves no node" in lines[0]


def test_tables_beside_skeletons_are_passed_over_and_broken_keypoints_are_not(
    motion: Motion, tmp_path: Path
) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    write_bvh(motion, raw / "kick_001.bvh")
    (raw / "kick_001.json").write_text('{"content": 3, "style": 1}')
    (raw / "cuts.csv").write_text("style,start,stop\nkick,10,90\n")
    done = vivant("build", "mime", "clean", "raw", "out", "--no-sheet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "passed over, since it holds no motion: cuts.csv, kick_001.json (2 files)" in done.stderr
    (raw / "phone.json").write_text('{"fps": 30, "frames": [')
    done = vivant("build", "mime", "clean", "raw", "out", "--no-sheet", cwd=tmp_path)
    assert done.returncode == 1 and "phone.json, line 1: is not JSON" in done.stderr


def test_one_of_several_animations_is_chosen_by_name(motion: Motion, tmp_path: Path) -> None:
    writer = GltfWriter(motion)
    file = writer.write(tmp_path / "a.glb", writer.document(animations=("Idle", "Kick")))
    with pytest.raises(UsageError, match=r"2 animations \(Idle, Kick\); choose one with .* --animation"):
        read_motion(file)
    with pytest.raises(VivantError, match="did you mean 'Kick'"):
        read_recording(file, animation="Kck")
    assert len(read_recording(file, animation="Kick").motion) == len(motion)
    done = vivant("build", "mime", "clean", "a.glb", "b.bvh", "--animation", "Kick", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"a.glb", "b.bvh", "b.jpg"}


def test_a_folder_gets_each_animation_of_a_file(motion: Motion, tmp_path: Path) -> None:
    writer = GltfWriter(motion)
    document = writer.document(animations=("Idle|a", "Idle a", "Kick", ""))
    # One that moves nothing costs only itself.
    document["animations"][2]["channels"] = []
    (tmp_path / "in" / "more").mkdir(parents=True)
    writer.write(tmp_path / "in" / "more" / "person.glb", document)
    alone = GltfWriter(motion)
    alone.write(tmp_path / "in" / "alone.glb", alone.document())
    assert list_animations(tmp_path / "in" / "more" / "person.glb") == ("Idle|a", "Idle a", "Kick", "3")
    done = vivant("build", "mime", "clean", "in/more/person.glb", "out", "--no-sheet", cwd=tmp_path)
    assert done.returncode == 1 and "moves no node" in done.stderr
    assert "person.glb, animation Idle a: " in done.stderr
    assert "3 of 4 recordings written" in done.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"Idle_a.bvh", "Idle_a_2.bvh", "3.bvh"}
    assert len(read_motion(tmp_path / "out" / "Idle_a_2.bvh")) > 10
    vivant("build", "mime", "clean", "in", "all", "--no-sheet", cwd=tmp_path)
    assert {str(path.relative_to(tmp_path / "all")) for path in (tmp_path / "all").rglob("*.bvh")} == {
        "alone.bvh",
        *(f"more/person/{name}.bvh" for name in ("Idle_a", "Idle_a_2", "3")),
    }


@pytest.mark.parametrize("version", ["0.x", "1.0", "animation"])
def test_vrm_states_which_node_is_which_bone(version: str, motion: Motion, tmp_path: Path) -> None:
    writer = GltfWriter(motion, {joint: f"骨{n}" for n, joint in enumerate(JOINTS)})
    document = writer.document()
    ours = {"Hips": "hips", "Spine": "spine", "Chest": "chest", "Neck": "neck", "Head": "head"}
    for side in ("Left", "Right"):
        bones = {
            "Shoulder": "Shoulder",
            "Arm": "UpperArm",
            "ForeArm": "LowerArm",
            "Hand": "Hand",
            "UpLeg": "UpperLeg",
        }
        bones |= {"Leg": "LowerLeg", "Foot": "Foot", "Toe": "Toes", "Fingers": "MiddleProximal"}
        ours |= {side + joint: side.lower() + bone for joint, bone in bones.items()}
    nodes = {bone: INDEX[joint] for joint, bone in ours.items()}
    if version == "0.x":
        listed = [{"bone": bone, "node": node} for bone, node in nodes.items()]
        document["extensions"] = {"VRM": {"humanoid": {"humanBones": listed}}}
    else:
        name = "VRMC_vrm" if version == "1.0" else "VRMC_vrm_animation"
        table = {bone: {"node": node} for bone, node in nodes.items()}
        document["extensions"] = {name: {"humanoid": {"humanBones": table}}}
    file = writer.write(tmp_path / "a.vrma", document)
    result = read_recording(file)
    assert result.mapped["LeftForeArm"] == "leftLowerArm"
    assert _apart(result.motion, motion).max() < 0.003


@pytest.mark.parametrize(
    "spoil,words",
    [
        (lambda d: d.pop("animations"), "it holds no animation"),
        (lambda d: d["asset"].update(version="1.0"), "is glTF 1.0; only glTF 2 is read"),
        (lambda d: d["animations"][0].update(channels=[]), "moves no node"),
        (lambda d: d["accessors"][0].update(count=10**6), "the file is cut off"),
        (lambda d: d["nodes"][3]["children"].append(0), "is not whole glTF|its own ancestor|no joint"),
        (lambda d: d.pop("accessors"), "is not whole glTF"),
    ],
)
def test_faults_of_gltf_files_are_one_line(spoil: Any, words: str, motion: Motion, tmp_path: Path) -> None:
    writer = GltfWriter(motion)
    document = writer.document()
    spoil(document)
    file = writer.write(tmp_path / "a.glb", document)
    with pytest.raises(DataError, match=words) as caught:
        read_motion(file)
    assert str(file) in str(caught.value) and "\n" not in str(caught.value)


def test_a_buffer_outside_of_the_folder_is_not_read(motion: Motion, tmp_path: Path) -> None:
    writer = GltfWriter(motion)
    document = writer.document()
    document["buffers"] = [{"uri": "../secret.bin", "byteLength": 3}]
    (tmp_path / "secret.bin").write_bytes(b"abc")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.gltf").write_text(json.dumps(document))
    with pytest.raises(DataError, match="lies outside of its folder"):
        read_motion(tmp_path / "in" / "a.gltf")


def test_cut_off_files_are_refused(motion: Motion, tmp_path: Path) -> None:
    writer = GltfWriter(motion)
    whole = writer.write(tmp_path / "a.glb", writer.document()).read_bytes()
    for share in (0.0, 0.001, 0.3, 0.9):
        (tmp_path / "b.glb").write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(DataError, match=r"b\.glb"):
            read_motion(tmp_path / "b.glb")


# ── by structure ─────────────────────────────────────────────────────────────────────────────────


def _walk(motion: Motion, names: list[str]) -> Any:
    positions, turned = motion.joints(Skeleton())
    return build_bvh(names, list(PARENTS), positions, turned, motion.fps, "walk")


def test_a_side_in_the_names_wins_over_toes_that_hang_behind() -> None:
    motion = perform(ACTIONS["Running01"], 30.0)
    names = [
        f"joint_{joint[0]}_{n}" if joint.startswith(("Left", "Right")) else f"joint_{n}"
        for n, joint in enumerate(JOINTS)
    ]
    joint_map = map_joints(_walk(motion, names))
    for joint in ("LeftArm", "RightLeg", "LeftFoot"):
        assert names[joint_map[joint]] == names[INDEX[joint]]
    # Without any side, knees tell front from back.
    joint_map = map_joints(_walk(motion, [f"joint_{n}" for n in range(len(JOINTS))]))
    assert joint_map["LeftArm"] == INDEX["LeftArm"] and joint_map["RightLeg"] == INDEX["RightLeg"]


def test_other_kinds_and_options_of_other_kinds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a motion is one of \.bvh, \.fbx"):
        read_motion(tmp_path / "a.txt")
    with pytest.raises(UsageError, match="--animation chooses one of a glTF or FBX file's"):
        read_recording(tmp_path / "a.bvh", animation="x")
    with pytest.raises(UsageError, match="--source-fps is for files that state no rate"):
        read_recording(tmp_path / "a.glb", source_fps=30)
