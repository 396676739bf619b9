"""People in frames, as MMPose, AlphaPose, YOLO, MoveNet and OpenPose write them: layouts, gaps, and who is followed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.helpers import vivant
from tests.support.recordings import coco_pixels
from vivant.core.errors import DataError
from vivant_build.mime import ACTIONS, Motion, perform
from vivant_build.mime.clean import clean_file
from vivant_build.mime.keypoint_layouts import COCO, HALPE, MPII, OPENPOSE_COCO, WHOLEBODY
from vivant_build.mime.recording import read_recording
from vivant_build.mime.recording_folder import clean_folder
from vivant_build.mime.retarget import Retargeted
from vivant_build.mime.rotation import Array
from vivant_build.mime.skeleton import INDEX, Skeleton

ENDS = [INDEX[side + joint] for side in ("Left", "Right") for joint in ("ForeArm", "Hand", "Leg", "Foot")]


def _apart(result: Retargeted, motion: Motion) -> float:
    """Metres around the hips between hands, elbows, knees and feet of the two, on average."""
    ours, theirs = (m.joints(Skeleton())[0] for m in (motion, result.motion))
    return float(np.linalg.norm((theirs - theirs[:, :1] - ours + ours[:, :1])[:, ENDS], axis=-1).mean())


def _write(tmp_path: Path, document: Any) -> Path:
    (tmp_path / "people.json").write_text(json.dumps(document), encoding="utf-8")
    return tmp_path / "people.json"


def _coco_frames(motion: Motion) -> list[list[dict[str, Any]]]:
    return [[{"keypoints": p.tolist(), "keypoint_scores": [0.9] * 17, "bbox": [[1, 2, 3, 4]], "bbox_score": 0.9}]
            for p in coco_pixels(motion)]  # fmt: skip


PEOPLE: dict[str, Callable[[Motion], Any]] = {
    "a result of MMPose's inferencer a frame": lambda m: [
        {"visualization": [], "predictions": [people]} for people in _coco_frames(m)],
    "MMPose's predictions together": lambda m: {"fps": 30, "predictions": _coco_frames(m)},
    "AlphaPose": lambda m: [
        {"image_id": f"{n:06d}.jpg", "category_id": 1, "score": 2.9,
         "keypoints": np.column_stack([p, np.full(17, 0.9)]).ravel().tolist()} for n, p in enumerate(coco_pixels(m))],
    "YOLO": lambda m: [
        [{"name": "person", "class": 0, "confidence": 0.9, "keypoints": {
            "x": p[:, 0].tolist(), "y": p[:, 1].tolist(), "visible": [0.9] * 17}}] for p in coco_pixels(m)],
    "MoveNet": lambda m: [
        {"score": 0.8, "keypoints": [{"x": x, "y": y, "score": 0.9, "name": name}
                                     for (x, y), name in zip(p.tolist(), COCO, strict=True)]} for p in coco_pixels(m)],
}  # fmt: skip


@pytest.mark.parametrize("form", PEOPLE)
def test_people_in_frames_are_read_as_estimators_write_them(form: str, tmp_path: Path) -> None:
    motion = perform(ACTIONS["JumpingJacks01"], 30.0)
    result = read_recording(_write(tmp_path, PEOPLE[form](motion)), source_fps=30)
    assert len(result.motion) == len(motion) and _apart(result, motion) < 0.15
    assert len(result.notes) == 1 and "no depth" in result.notes[0]


def test_rows_of_people_leave_gaps_where_no_row_names_a_frame(tmp_path: Path) -> None:
    motion = perform(ACTIONS["JumpingJacks01"], 30.0)
    rows = [row for n, row in enumerate(PEOPLE["AlphaPose"](motion)) if not 20 <= n < 26]
    rows[3]["keypoints"] = rows[3]["keypoints"][:50]
    result = read_recording(_write(tmp_path, rows), source_fps=30)
    assert len(result.motion) == len(motion)
    assert result.notes[0].startswith("set aside 1 that cannot be read, the first: frame 4: ")
    assert result.notes[1] == "filled 7 frames in which nobody is seen"


OPENPOSE_25 = (0, None, 6, 8, 10, 5, 7, 9, None, 12, 14, 16, 11, 13, 15, 2, 1, 4, 3, *[None] * 6)
"""Where OpenPose's 25 points are among COCO's 17."""


def _write_openpose(motion: Motion, folder: Path) -> None:
    folder.mkdir()
    for number, points in enumerate(coco_pixels(motion)):
        rows = [[0.0, 0.0, 0.0] if n is None else [*points[n].tolist(), 0.9] for n in OPENPOSE_25]
        person = {"person_id": [-1], "pose_keypoints_2d": [value for row in rows for value in row]}
        document = {"version": 1.3, "people": [person]}
        (folder / f"phone_{number:012d}_keypoints.json").write_text(json.dumps(document))


def test_a_folder_of_openpose_is_one_recording(tmp_path: Path) -> None:
    motion = perform(ACTIONS["JumpingJacks01"], 30.0)
    folder = tmp_path / "phone"
    _write_openpose(motion, folder)
    (folder / "phone_000000000007_keypoints.json").write_text('{"people": [{"pose_key')
    (folder / "phone_000000000012_keypoints.json").unlink()
    result = read_recording(folder, source_fps=30)
    assert len(result.motion) == len(motion) and _apart(result, motion) < 0.15
    assert any("phone_000000000007_keypoints.json, line 1: is not JSON" in note for note in result.notes)
    with pytest.raises(DataError, match="give the video's with --source-fps"):
        read_recording(folder)
    said = vivant(
        "build", "mime", "clean", "phone", "out.bvh", "--source-fps", "30", "--no-sheet", cwd=tmp_path
    )
    assert said.returncode == 0, said.stderr
    assert (tmp_path / "out.bvh").is_file()


def test_a_folder_of_openposes_folders_is_a_recording_each(tmp_path: Path) -> None:
    motion = perform(ACTIONS["JumpingJacks01"], 30.0)
    (tmp_path / "raw").mkdir()
    for name in ("take.1", "take.2"):
        _write_openpose(motion, tmp_path / "raw" / name)
    outcome = clean_folder(
        tmp_path / "raw", tmp_path / "out", lambda file, out, _: clean_file(file, out, source_fps=30)
    )
    assert [file.name for file in outcome.cleaned] == ["take.1.bvh", "take.2.bvh"] and not outcome.refused


NAMES = {17: COCO, 26: HALPE, 133: WHOLEBODY, 16: MPII, 18: OPENPOSE_COCO}
FLAT: dict[str, Callable[[Array], Any]] = {
    "MMPose's inferencer": lambda p: [
        {"frame_id": n, "instances": [{"keypoints": f.tolist(), "keypoint_scores": [0.9] * len(f)}]}
        for n, f in enumerate(p)],
    "AlphaPose": lambda p: [
        {"image_id": f"{n}.jpg", "idx": 1, "keypoints": np.column_stack([f, np.full(len(f), 0.9)]).ravel().tolist()}
        for n, f in enumerate(p)],
    "AlphaPose as OpenPose": lambda p: {
        f"{n}.jpg": {"version": "AlphaPose v0.3", "people": [
            {"pose_keypoints_2d": np.column_stack([f, np.full(len(f), 0.9)]).ravel().tolist()}]}
        for n, f in enumerate(p)},
    "AlphaPose as CMU": lambda p: {
        f"{n}.jpg": {"version": "AlphaPose v0.3", "bodies": [
            {"joints": np.column_stack([f, np.full(len(f), 0.9)]).ravel().tolist()}]} for n, f in enumerate(p)},
}  # fmt: skip


@pytest.mark.parametrize("count", NAMES)
@pytest.mark.parametrize("form", FLAT)
def test_the_number_of_points_tells_the_layout(form: str, count: int, tmp_path: Path) -> None:
    motion = perform(ACTIONS["JumpingJacks01"], 30.0)
    coco = coco_pixels(motion)
    points = np.full((len(motion), count, 2), 300.0)
    for n, name in enumerate(NAMES[count]):
        if name in COCO:
            points[:, n] = coco[:, COCO.index(name)]
    result = read_recording(_write(tmp_path, FLAT[form](points)), source_fps=30)
    assert len(result.motion) == len(motion) and _apart(result, motion) < 0.15


def test_an_unknown_layout_says_what_to_do(tmp_path: Path) -> None:
    frames = [{"instances": [{"keypoints": [[1, 2]] * 21, "keypoint_scores": [1.0] * 21}]}] * 3
    with pytest.raises(DataError, match=r"people have 21 points, and layouts of 16, .* \{\"meta_info\""):
        read_recording(_write(tmp_path, frames), source_fps=30)


def test_somebody_else_is_not_followed(tmp_path: Path) -> None:
    motion = perform(ACTIONS["JumpingJacks01"], 30.0)
    points = coco_pixels(motion)
    passer = points + np.array([2.5 * np.ptp(points[..., 1]), 0.0])
    frames = [
        {"instances": [{"keypoints": each.tolist(), "keypoint_scores": [0.9] * 17}
                       for each in ((passer[n],) if 20 <= n < 26 else (points[n], passer[n]))]}
        for n in range(len(points))
    ]  # fmt: skip
    frames[0]["instances"].pop()
    result = read_recording(_write(tmp_path, frames), source_fps=30)
    assert "filled 6 frames in which nobody is seen" in result.notes
    assert _apart(result, motion) < 0.2
