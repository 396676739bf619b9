"""Keypoints and SMPL's turns as arrays, in the shapes that lifters and estimators of bodies save."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.recordings import coco_pixels, human36m_points, smpl_arrays, world_landmarks
from vivant.core.errors import DataError, UsageError
from vivant_build.mime import ACTIONS, Motion, perform
from vivant_build.mime.clean import clean_file
from vivant_build.mime.foot_sliding import measure_sliding
from vivant_build.mime.recording import read_recording
from vivant_build.mime.recording_folder import clean_folder
from vivant_build.mime.rotation import Array, about
from vivant_build.mime.skeleton import INDEX, Skeleton
from vivant_build.mime.smpl import from_axis_angle

ENDS = [INDEX[side + joint] for side in ("Left", "Right") for joint in ("ForeArm", "Hand", "Leg", "Foot")]


@pytest.fixture(scope="module")
def motion() -> Motion:
    return perform(ACTIONS["Boxing001"], 30.0)


def _apart(result: Motion, motion: Motion) -> float:
    """Metres around the hips between hands, elbows, knees and feet of the two, on average."""
    ours, theirs = (m.joints(Skeleton())[0] for m in (motion, result))
    return float(np.linalg.norm((theirs - theirs[:, :1] - ours + ours[:, :1])[:, ENDS], axis=-1).mean())


def _camera(motion: Motion) -> Array:
    """Human3.6M's 17 points as a lifter gives them: right, down, away, in metres around the hips."""
    points = human36m_points(motion, inferencer=False)
    picture = world_landmarks(motion)
    # The same body in both: the axes that bring MMPose's points to the picture's.
    left, up, away = -points[..., 0], -points[..., 2], points[..., 1]
    turned = np.stack([left, up, away], axis=-1)
    turned -= turned[:, :1]
    wrist = picture[:, 15] - picture[:, 23:25].mean(axis=1)
    for sign in ([1, 1, 1], [-1, 1, 1], [1, 1, -1], [-1, 1, -1]):
        if np.abs(turned[:, 13] * sign - wrist).mean() < 0.08:
            return np.asarray(turned * sign)
    raise AssertionError("the two kits disagree")


SHAPES: dict[str, Callable[[Motion], Array]] = {
    "MotionBERT, VideoPose3D": _camera,
    "one of several people": lambda m: _camera(m)[None],
    "not around the hips": lambda m: _camera(m) + np.array([0.2, 0.1, 3.0]),
    "Y up": lambda m: _camera(m) * [1.0, -1.0, -1.0],
    "Z up": lambda m: _camera(m) @ about("X", 90.0).T,
    "MediaPipe": world_landmarks,
    "MediaPipe in rows": lambda m: np.concatenate(
        [world_landmarks(m), np.ones((len(m), 33, 1))], axis=-1).reshape(len(m), -1),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_of_points_are_read_whichever_axis_is_up(shape: str, motion: Motion, tmp_path: Path) -> None:
    file = tmp_path / "X3D.npy"
    np.save(file, SHAPES[shape](motion))
    with pytest.raises(DataError, match="give the video's with --source-fps"):
        read_recording(file)
    result = read_recording(file, source_fps=30)
    assert result.motion.fps == 30.0 and len(result.motion) == len(motion)
    assert _apart(result.motion, motion) < 0.05


def test_pixels_with_scores_are_no_depth(tmp_path: Path) -> None:
    motion = perform(ACTIONS["JumpingJacks01"], 30.0)
    points = coco_pixels(motion)
    np.savez(tmp_path / "a.npz", keypoints=np.dstack([points, np.full(points.shape[:2], 0.9)]), fps=30)
    result = read_recording(tmp_path / "a.npz")
    assert "no depth" in result.notes[0] and _apart(result.motion, motion) < 0.15


def _matrices(angles: Array) -> Array:
    return from_axis_angle(angles.reshape(len(angles), -1, 3))


BODIES: dict[str, Callable[[Array, Array], dict[str, Any]]] = {
    "WHAM": lambda pose, path: {"pose_world": pose, "trans_world": path, "betas": np.zeros((len(pose), 10))},
    "GVHMR": lambda pose, path: {"global_orient": pose[:, :3], "body_pose": pose[:, 3:66], "transl": path},
    "4D-Humans": lambda pose, path: {
        "global_orient": _matrices(pose[:, :3]), "body_pose": _matrices(pose[:, 3:]), "transl": path},
    "ROMP": lambda pose, path: {"smpl_thetas": pose, "trans": path},
}  # fmt: skip


@pytest.mark.parametrize("tool", BODIES)
@pytest.mark.parametrize("down", [False, True])
def test_bodies_of_estimators_are_read_under_their_names(
    tool: str, down: bool, motion: Motion, tmp_path: Path
) -> None:
    arrays = smpl_arrays(motion, 72)
    # From AMASS' axes (Z up) to a world with Y up, or to a camera's with Y down.
    axes = about("X", 90.0 if down else -90.0)
    poses = arrays["poses"].copy()
    root = axes @ from_axis_angle(poses[:, :3])
    file = tmp_path / "body.npz"
    content = BODIES[tool](poses, arrays["trans"] @ axes.T)
    turned = _angles(root)
    for name in ("pose_world", "smpl_thetas", "global_orient"):
        if name in content:
            matrices = content[name].ndim > 2
            content[name] = content[name].copy()
            content[name][..., :3] = root[:, None] if matrices else turned
    np.savez(file, **content)
    result = read_recording(file, source_fps=30)
    assert not any("lies" in note for note in result.notes)
    head = result.motion.joints(Skeleton())[0][:, INDEX["Head"], 1]
    assert head.min() > 1.2, "upright"
    assert _apart(result.motion, read_recording(_amass(arrays, tmp_path)).motion) < 0.01


def _amass(arrays: dict[str, Any], tmp_path: Path) -> Path:
    np.savez(tmp_path / "amass.npz", **arrays)
    return tmp_path / "amass.npz"


def _angles(matrices: Array) -> Array:
    from vivant_build.mime.rotation import to_quaternion, unit

    q = to_quaternion(matrices)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    return np.asarray(unit(q[..., 1:]) * 2 * np.arctan2(sine, q[..., :1]))


def test_bodies_without_a_path_stand_on_the_floor(tmp_path: Path) -> None:
    motion = perform(ACTIONS["Weightlifting001"], 30.0)
    poses = smpl_arrays(motion, 72)["poses"]
    np.savez(tmp_path / "vibe.npz", pose=poses, betas=np.zeros((len(motion), 10)))
    result = read_recording(tmp_path / "vibe.npz", source_fps=30)
    assert any("no path of the hips is recorded" in note for note in result.notes)
    assert not measure_sliding(result.motion).slides
    height = result.motion.joints(Skeleton())[0][:, :, 1].min(axis=1)
    assert np.mean(height < 0.035) > 0.9, "but for the split of the legs under the weight"
    assert np.corrcoef(result.motion.root[:, 1], motion.root[:, 1])[0, 1] > 0.9


def test_pickles_are_not_loaded(motion: Motion, tmp_path: Path) -> None:
    (tmp_path / "wham_output.pkl").write_bytes(pickle.dumps({0: {"pose_world": [1.0]}}))
    np.savez(tmp_path / "romp.npz", results=np.array({"a.jpg": 1}, dtype=object))
    with pytest.raises(UsageError, match=r"wham_output\.pkl: a pickle can run any program .* numpy\.savez"):
        read_recording(tmp_path / "wham_output.pkl")
    with pytest.raises(DataError, match=r"romp\.npz: it holds pickled Python objects"):
        read_recording(tmp_path / "romp.npz")
    np.save(tmp_path / "good.npy", world_landmarks(motion))

    outcome = clean_folder(
        tmp_path, tmp_path / "out", lambda file, out, _: clean_file(file, out, source_fps=30)
    )
    assert [file.name for file in outcome.cleaned] == ["good.bvh"]
    assert len(outcome.refused) == 2 and not outcome.others, "none is passed over in silence"


@pytest.mark.parametrize(
    "array,words",
    [
        (np.zeros((5, 7, 3)), "7 points a frame, and layouts of"),
        (np.zeros((5, 50)), r"the shape \(5, 50\); \(frames, points, 3\) is expected"),
        (np.full((5, 17, 3), np.nan), "shoulders and hips are never seen"),
        (np.array(["a", "b"]), "must be numbers"),
    ],
)
def test_other_arrays_are_one_line(array: Any, words: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(DataError, match=words) as caught:
        read_recording(tmp_path / "x.npy", source_fps=30)
    assert "x.npy" in str(caught.value) and "\n" not in str(caught.value)
