"""Keypoints of pose estimators, in the layouts that they are saved in, become the motion that was seen."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.helpers import vivant
from tests.support.recordings import coco_pixels, human36m_points, trc_text, world_landmarks
from vivant.core.errors import DataError
from vivant.core.randomness import derive_seed
from vivant_build.mime import ACTIONS, Motion, perform
from vivant_build.mime.foot_sliding import measure_sliding
from vivant_build.mime.keypoint_layouts import (
    BLAZEPOSE,
    COCO,
    HUMAN36M,
    KINECT,
)
from vivant_build.mime.keypoints import load_keypoints
from vivant_build.mime.recording import read_recording
from vivant_build.mime.retarget import Retargeted
from vivant_build.mime.rotation import Array, about
from vivant_build.mime.skeleton import INDEX, Skeleton
from vivant_build.mime.take import vary

ENDS = [INDEX[side + joint] for side in ("Left", "Right") for joint in ("ForeArm", "Hand", "Leg", "Foot")]


@pytest.fixture(scope="module")
def motion() -> Motion:
    return perform(ACTIONS["Boxing001"], 30.0)


def _apart(result: Retargeted, motion: Motion) -> float:
    """Metres around the hips between hands, elbows, knees and feet of the two, on average."""
    ours, theirs = (m.joints(Skeleton())[0] for m in (motion, result.motion))
    gap = (theirs[:, ENDS] - theirs[:, :1]) - (ours[:, ENDS] - ours[:, :1])
    return float(np.linalg.norm(gap, axis=-1).mean())


def _marks(points: Array, seen: float = 0.97) -> list[dict[str, float]]:
    return [{"x": float(x), "y": float(y), "z": float(z), "visibility": seen} for x, y, z in points]


def _write(tmp_path: Path, document: Any, name: str = "phone.json") -> Path:
    file = tmp_path / name
    file.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return file


def _table(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


FORMS: dict[str, Callable[[Array], Any]] = {
    "frames with a rate": lambda w: {
        "fps": 30, "frames": [{"frame": n, "pose_world_landmarks": _marks(p)} for n, p in enumerate(w)]},
    "a list with times": lambda w: [
        {"timestamp_ms": round(1000 * n / 30), "worldLandmarks": [_marks(p)], "landmarks": [_marks(p * 0 + 0.5)]}
        for n, p in enumerate(w)],
    "javascript": lambda w: {"metadata": {"fps": 30}, "results": [{"poseWorldLandmarks": _marks(p)} for p in w]},
    "protobuf": lambda w: {"frameRate": 30, "data": [{"pose_world_landmarks": {"landmark": _marks(p)}} for p in w]},
    "bare lists": lambda w: {"fps": 30, "poses": np.concatenate([w, np.ones((*w.shape[:2], 1))], axis=-1).tolist()},
    "by number": lambda w: {f"frame_{n}": {"time": n / 30, "landmarks": _marks(p)} for n, p in enumerate(w)},
    "by name": lambda w: {"fps": 30, "frames": [
        {"landmarks": {name.upper(): mark for name, mark in zip(BLAZEPOSE, _marks(p), strict=True)}} for p in w]},
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_mediapipes_world_landmarks_are_read_in_the_forms_people_write(
    form: str, motion: Motion, tmp_path: Path
) -> None:
    result = read_recording(_write(tmp_path, FORMS[form](world_landmarks(motion))))
    assert result.motion.fps == 30.0 and len(result.motion) == len(motion)
    assert _apart(result, motion) < 0.03
    assert result.stature == pytest.approx(1.75, abs=0.05) and not result.notes


TABLES = {
    "x0": lambda n: [f"{axis}{n}" for axis in "xyzv"],
    "x1": lambda n: [f"{axis}{n + 1}" for axis in "xyzv"],
    "nose_x": lambda n: [f"{BLAZEPOSE[n]}_{axis}" for axis in ("x", "y", "z", "visibility")],
    "landmark_0_x": lambda n: [f"landmark_{n}_{axis}" for axis in ("x", "y", "z", "visibility")],
}


@pytest.mark.parametrize("form", TABLES)
def test_tables_with_a_row_a_frame(form: str, motion: Motion, tmp_path: Path) -> None:
    rows = []
    for number, points in enumerate(world_landmarks(motion)):
        row: dict[str, Any] = {"frame": number, "time": number / 30}
        for n, place in enumerate(points):
            row |= dict(zip(TABLES[form](n), (*place, 0.9), strict=True))
        rows.append(row)
    result = read_recording(_write(tmp_path, _table(rows), "phone.csv"))
    assert result.motion.fps == 30.0 and _apart(result, motion) < 0.03


def test_a_table_with_a_row_a_landmark_prefers_world_columns(motion: Motion, tmp_path: Path) -> None:
    rows = [
        {
            "frame": number,
            "timestamp_ms": 1000 * number / 30,
            "landmark_id": n,
            "x_px": 5,
            "y_px": 6,
            "z_norm": 0,
            "visibility": 0.9,
            "world_x": x,
            "world_y": y,
            "world_z": z,
        }
        for number, points in enumerate(world_landmarks(motion))
        for n, (x, y, z) in enumerate(points)
    ]
    result = read_recording(_write(tmp_path, _table(rows), "phone.csv"))
    assert result.motion.fps == 30.0 and _apart(result, motion) < 0.03


@pytest.mark.parametrize("inferencer", [True, False])
def test_mmpose_in_3d_is_told_from_its_mirror(inferencer: bool, motion: Motion, tmp_path: Path) -> None:
    points = human36m_points(motion, inferencer=inferencer)
    instances = [
        {"frame_id": n + 1, "instances": [{"keypoints": p.tolist(), "keypoint_scores": [1.0] * 17}]}
        for n, p in enumerate(points)
    ]
    file = _write(tmp_path, {"meta_info": {"dataset_name": "h36m"}, "instance_info": instances})
    with pytest.raises(
        DataError, match="states neither a rate nor times; give the video's with --source-fps"
    ):
        read_recording(file)
    result = read_recording(file, source_fps=30)
    assert _apart(result, motion) < 0.04, "mirrored, it is the other arm that strikes"


def test_mmposes_own_names_are_used_where_it_states_them(motion: Motion, tmp_path: Path) -> None:
    points = human36m_points(motion)[:, ::-1]
    names = [name.replace("ankle", "foot") for name in HUMAN36M[::-1]]
    meta = {"keypoint_id2name": {str(n): name for n, name in enumerate(names)}}
    instances = [{"frame_id": n, "instances": [{"keypoints": [p.tolist()]}]} for n, p in enumerate(points)]
    file = _write(tmp_path, {"meta_info": meta, "instance_info": instances, "fps": 30})
    assert _apart(read_recording(file), motion) < 0.04


def test_coco_in_a_picture_has_no_depth_and_says_so(tmp_path: Path) -> None:
    motion = perform(ACTIONS["JumpingJacks01"], 30.0)
    people = [{"keypoints": p.tolist(), "keypoint_scores": [0.9] * 17} for p in coco_pixels(motion)]
    stranger = {"keypoints": (coco_pixels(motion)[0] * 0.3 + 50).tolist(), "keypoint_scores": [0.8] * 17}
    frames = [
        {"frame_id": n, "instances": [stranger, each] if n % 3 else [each]} for n, each in enumerate(people)
    ]
    result = read_recording(_write(tmp_path, frames), source_fps=30)
    assert _apart(result, motion) < 0.15
    assert "no depth" in result.notes[-1] and "several people in" in result.notes[0]
    assert "nearest" in result.notes[0]


def test_trc_and_a_kinects_skeleton_are_read(motion: Motion, tmp_path: Path) -> None:
    text = trc_text(motion)
    result = read_recording(_write(tmp_path, text, "a.trc"))
    assert result.motion.fps == 30.0 and _apart(result, motion) < 0.04
    with pytest.raises(DataError, match=r"no marker is called .*left_shoulder.* export its motion as BVH"):
        read_recording(_write(tmp_path, text.replace("LShoulder", "LSHO"), "b.trc"))
    place = {name: world_landmarks(motion)[:, n] * [1.0, -1.0, -1.0] for n, name in enumerate(BLAZEPOSE)}
    lines = [str(len(motion))]
    for n in range(len(motion)):
        lines += ["1", "72057594037944738 0 1 1 0 0 0 0.02 -0.2 2", "25"]
        for name in KINECT:
            x, y, z = place.get(name, np.zeros((len(motion), 3)))[n]
            lines.append(f"{-x:.6f} {y:.6f} {2.5 - z:.6f} 250 170 900 450 0 0 0 0 2")
    result = read_recording(_write(tmp_path, "\n".join(lines) + "\n", "S001C001P001R001A001.skeleton"))
    assert result.motion.fps == 30.0 and _apart(result, motion) < 0.06


def test_a_frame_a_line_goes_on_after_a_torn_one(motion: Motion, tmp_path: Path) -> None:
    lines = [json.dumps({"t": n / 30, "pose_world_landmarks": _marks(p)})
             for n, p in enumerate(world_landmarks(motion))]  # fmt: skip
    lines[12] = lines[12][:400]
    result = read_recording(_write(tmp_path, "\n".join(lines) + "\n", "phone.jsonl"))
    assert result.motion.fps == 30.0 and _apart(result, motion) < 0.03
    assert result.notes[0].startswith("set aside 1 that cannot be read, the first: line 13: is not JSON")
    with pytest.raises(DataError, match=r"phone\.jsonl, line 1: is not JSON"):
        read_recording(_write(tmp_path, "{\n{\n", "phone.jsonl"))


def test_what_mediapipe_saw_in_a_rendered_video_is_the_motion_that_was_rendered() -> None:
    """World landmarks of MediaPipe 0.10.21 on every second frame of an actor's jumping jacks."""
    action = ACTIONS["JumpingJacks01"]
    rendered = perform(
        action, 15.0, vary(29, "j", action.name, may_mirror=action.may_mirror), seed=derive_seed(29, "j")
    )
    result = read_recording(Path(__file__).parent / "data" / "mediapipe-jumping-jacks.csv")
    assert result.motion.fps == 15.0 and len(result.motion) == len(rendered)
    assert "who stands would lean towards us" in result.notes[0]
    assert _apart(result, rendered) < 0.11, "14 cm before its lean is taken out"
    hands = [INDEX["LeftHand"], INDEX["RightHand"]]
    seen, true = (m.joints(Skeleton())[0][:, hands, 1].mean(axis=1) for m in (result.motion, rendered))
    assert np.corrcoef(seen, true)[0, 1] > 0.97


def test_the_tilt_of_a_camera_is_taken_out_of_who_stands(motion: Motion, tmp_path: Path) -> None:
    tilted = world_landmarks(motion) @ about("X", 12.0).T
    result = read_recording(_write(tmp_path, FORMS["frames with a rate"](tilted)))
    assert _apart(result, motion) < 0.05
    assert any("turned by 1" in note for note in result.notes)


@pytest.mark.parametrize("name", ["Driving002", "Rowing01", "PushUps01", "Swimming001"])
def test_who_does_not_stand_is_not_turned(name: str, tmp_path: Path) -> None:
    motion = perform(ACTIONS[name], 30.0)
    result = read_recording(_write(tmp_path, FORMS["frames with a rate"](world_landmarks(motion))))
    assert not result.notes and _apart(result, motion) < 0.06


def test_trembling_is_smoothed_and_gaps_are_filled_and_counted(motion: Motion, tmp_path: Path) -> None:
    noise = np.random.default_rng(1).normal(0.0, 0.02, (len(motion), 33, 3))
    frames: list[Any] = [{"pose_world_landmarks": _marks(p)} for p in world_landmarks(motion) + noise]
    for number in range(20, 26):
        frames[number] = {"pose_world_landmarks": None}
    # A wrist behind the back: guessed anywhere, and not believed.
    for number in range(40, 46):
        frames[number]["pose_world_landmarks"][15] |= {"x": 3.0, "visibility": 0.1}
    result = read_recording(_write(tmp_path, {"fps": 30, "frames": frames}))
    assert len(result.motion) == len(motion) and result.notes == ("filled 6 frames in which nobody is seen",)
    assert _apart(result, motion) < 0.06
    speed = np.linalg.norm(np.diff(result.motion.joints(Skeleton())[0][:, ENDS], axis=0), axis=-1) * 30
    usual = np.linalg.norm(np.diff(motion.joints(Skeleton())[0][:, ENDS], axis=0), axis=-1) * 30
    assert speed.max() < 1.3 * usual.max()


def test_a_long_absence_cuts_and_is_said(motion: Motion, tmp_path: Path) -> None:
    frames: list[Any] = [_marks(p) for p in world_landmarks(motion)]
    frames = [*frames[:10], *[None] * 30, *frames[10:]]
    result = read_recording(_write(tmp_path, {"fps": 30, "frames": frames}))
    assert len(result.motion) == len(motion) - 10
    assert result.notes == (
        f"kept frames 41 to {len(frames)} of {len(frames)}: beyond them nobody is seen for more than 0.5 s",
    )


def test_legs_outside_of_the_picture_stand(motion: Motion, tmp_path: Path) -> None:
    frames = []
    for points in world_landmarks(motion):
        marks = _marks(points)
        for n in range(BLAZEPOSE.index("left_knee"), 33):
            marks[n]["visibility"] = 0.05
        frames.append(marks)
    result = read_recording(_write(tmp_path, {"fps": 30, "frames": frames}))
    assert "left_knee, right_knee, left_ankle, right_ankle is hardly ever seen" in result.notes[0]
    place = result.motion.joints(Skeleton())[0]
    assert np.allclose(place[:, INDEX["LeftFoot"], 1], 0.08, atol=0.03)


def test_named_points_of_another_layout_are_read(motion: Motion, tmp_path: Path) -> None:
    names = [name for name in BLAZEPOSE if name.split("_")[-1] in ("nose", "ear", "shoulder", "elbow", "wrist", "hip",
                                                                  "knee", "ankle")]  # fmt: skip
    frames = {
        f"frame_{n:04d}": {"person_0": {
            (name[0].upper() + name.split("_")[1].title() if "_" in name else name.title()): mark
            for name, mark in zip(BLAZEPOSE, _marks(points), strict=True) if name in names}}
        for n, points in enumerate(world_landmarks(motion))
    }  # fmt: skip
    assert "RShoulder" in frames["frame_0000"]["person_0"]
    assert _apart(read_recording(_write(tmp_path, frames), source_fps=30), motion) < 0.06


def test_a_picture_that_ends_above_the_hips_shows_a_trunk(motion: Motion, tmp_path: Path) -> None:
    frames = []
    for points in world_landmarks(motion):
        marks = _marks(points)
        for n in range(BLAZEPOSE.index("left_hip"), 33):
            marks[n]["visibility"] = 0.05
        frames.append(marks)
    result = read_recording(_write(tmp_path, {"fps": 30, "frames": frames}))
    assert any("hips are hardly ever seen" in note for note in result.notes)
    place, true = (m.joints(Skeleton())[0] for m in (result.motion, motion))
    arms = [INDEX[side + joint] for side in ("Left", "Right") for joint in ("ForeArm", "Hand")]
    shoulders = [INDEX["LeftArm"], INDEX["RightArm"]]
    ours, theirs = (each[:, arms] - each[:, shoulders].mean(axis=1, keepdims=True) for each in (true, place))
    assert np.linalg.norm(theirs - ours, axis=-1).mean() < 0.1
    assert place[:, INDEX["Head"], 1].min() > 1.4 and place[:, INDEX["LeftFoot"], 1].max() < 0.12


def test_the_foot_that_stands_stays(tmp_path: Path) -> None:
    motion = perform(ACTIONS["Digging01"], 30.0)
    result = read_recording(_write(tmp_path, FORMS["frames with a rate"](world_landmarks(motion))))
    assert not measure_sliding(result.motion).slides
    place = result.motion.joints(Skeleton())[0]
    assert place[:, [INDEX["LeftFoot"], INDEX["RightFoot"]], 1].min(axis=1).max() < 0.09


def test_one_bad_frame_is_set_aside_and_named(motion: Motion, tmp_path: Path) -> None:
    document = FORMS["frames with a rate"](world_landmarks(motion))
    document["frames"][7]["pose_world_landmarks"] = document["frames"][7]["pose_world_landmarks"][:20]
    document["frames"][9]["pose_world_landmarks"][3]["x"] = "left"
    notes = read_recording(_write(tmp_path, document)).notes
    assert notes[0].startswith("set aside 2 that cannot be read, the first: frame 8: 20 landmarks, and 33")
    rows = [
        {"frame": f, "time": f / 30, "landmark": BLAZEPOSE[n], "x": x, "y": y, "z": z}
        for f, points in enumerate(world_landmarks(motion))
        for n, (x, y, z) in enumerate(points)
    ]
    rows[5]["x"] = "?"
    notes = read_recording(_write(tmp_path, _table(rows), "phone.csv")).notes
    assert notes == ("set aside 1 that cannot be read, the first: line 7",)


def test_a_table_without_a_head_and_one_with_a_face_behind_the_body(motion: Motion, tmp_path: Path) -> None:
    world = world_landmarks(motion)
    rows = np.concatenate([world, np.ones((*world.shape[:2], 1))], axis=-1).reshape(len(world), -1)
    bare = "\n".join(",".join(f"{v:.6f}" for v in row) for row in rows)
    assert _apart(read_recording(_write(tmp_path, bare, "bare.csv"), source_fps=30), motion) < 0.03
    head = ",".join(["class", *(f"{axis}{n}" for n in range(1, 502) for axis in "xyzv")])
    face = ["0.1"] * 468 * 4
    lines = [",".join(["boxing", *(f"{v:.6f}" for v in row), *face]) for row in rows]
    file = _write(tmp_path, "\n".join([head, *lines]), "class.csv")
    assert _apart(read_recording(file, source_fps=30), motion) < 0.03


def test_shares_of_a_picture_need_its_size(motion: Motion, tmp_path: Path) -> None:
    pixels = world_landmarks(motion) * 200 + [320, 240, 0]
    document: dict[str, Any] = {"fps": 30, "frames": [_marks(p / [640, 480, 640]) for p in pixels]}
    with pytest.raises(
        DataError,
        match="its size is not stated; save world landmarks, or give the video's size: --video-size",
    ):
        read_recording(_write(tmp_path, document))
    assert _apart(read_recording(tmp_path / "phone.json", video_size=(640, 480)), motion) < 0.03
    result = read_recording(_write(tmp_path, {**document, "width": 640, "height": 480}))
    assert _apart(result, motion) < 0.03
    assert result.unit == "pixels"
    done = vivant("build", "mime", "clean", "phone.json", "a.bvh", "--video-size", "640", cwd=tmp_path)
    assert done.returncode == 1 and "--video-size is WIDTHxHEIGHT in pixels" in done.stderr


@pytest.mark.parametrize(
    "text,words",
    [
        ("{", "line 1: is not JSON"),
        ("[]", "holds no frames"),
        ('{"version": 1}', "holds no frames"),
        ('{"fps": 30, "frames": [null, null]}', "nobody is seen in any of its 2 frames"),
        (
            '{"fps": 30, "frames": [[[0, 0, 0]]]}',
            r"nobody is seen in any of its 1 frames \(frame 1: 1 landmarks",
        ),
    ],
)
def test_files_without_people_are_one_line(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=words) as caught:
        load_keypoints(_write(tmp_path, text))
    assert "phone.json" in str(caught.value) and "\n" not in str(caught.value)


def test_the_command_makes_a_mime_of_a_phone_recording(motion: Motion, tmp_path: Path) -> None:
    _write(tmp_path, FORMS["javascript"](world_landmarks(motion)))
    done = vivant("build", "mime", "clean", "phone.json", "boxing.bvh", "--fps", "20", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "frames at 30 a second; the skeleton is 1.7" in " ".join(done.stderr.split())
    assert (tmp_path / "boxing.jpg").is_file()
    _write(tmp_path, "x,y\n1,2\n", "other.csv")
    done = vivant("build", "mime", "clean", "other.csv", "o.bvh", cwd=tmp_path)
    assert done.returncode == 1 and "no column is known" in done.stderr and not (tmp_path / "o.bvh").exists()


def test_layouts_have_the_published_sizes() -> None:
    assert (len(BLAZEPOSE), len(COCO), len(HUMAN36M)) == (33, 17, 17)
    assert BLAZEPOSE[11] == "left_shoulder" and COCO[9] == "left_wrist" and HUMAN36M[16] == "right_wrist"
