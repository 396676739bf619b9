"""Standing feet are held where they stand, and what an estimator exchanged is put back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.helpers import vivant
from tests.support.recordings import world_landmarks
from vivant_build.mime import ACTIONS, Motion, perform
from vivant_build.mime.bvh import write_bvh
from vivant_build.mime.foot_locking import lock_feet
from vivant_build.mime.foot_sliding import measure_sliding
from vivant_build.mime.keypoint_layouts import BLAZEPOSE
from vivant_build.mime.recording import read_recording
from vivant_build.mime.rotation import Array, about
from vivant_build.mime.skeleton import INDEX, Skeleton

SEEN = Path(__file__).parent / "data" / "mediapipe-jumping-jacks.csv"
"""World landmarks of MediaPipe 0.10.21 on every second frame of jumping jacks."""
ENDS = [INDEX[side + joint] for side in ("Left", "Right") for joint in ("ForeArm", "Hand", "Leg", "Foot")]


def _places(motion: Motion) -> Array:
    return motion.joints(Skeleton())[0]


def _apart(one: Motion, other: Motion) -> float:
    """Metres around the hips between hands, elbows, knees and feet of the two, on average."""
    ours, theirs = (place[:, ENDS] - place[:, :1] for place in map(_places, (one, other)))
    return float(np.linalg.norm(theirs - ours, axis=-1).mean())


def _glide(motion: Motion, way: float = 0.1) -> Motion:
    """The motion with thighs that swing slowly to and fro, as estimated depth does: feet glide."""
    rotations = motion.rotations.copy()
    seconds = np.arange(len(motion)) / motion.fps
    for side, phase in (("Left", 0.0), ("Right", 2.0)):
        angle = np.degrees(way / 0.83) * np.sin(2.0 * seconds + phase)
        rotations[:, INDEX[side + "UpLeg"]] = about("X", angle) @ rotations[:, INDEX[side + "UpLeg"]]
    return Motion(motion.name, motion.fps, motion.root, rotations)


@pytest.mark.parametrize("name", ["Drinking01", "Violin002", "Waving01"])
def test_gliding_feet_are_held_and_the_rest_stays(name: str) -> None:
    motion = perform(ACTIONS[name], 30.0)
    gliding = _glide(motion)
    assert measure_sliding(gliding).worst > 0.1
    held, notes = lock_feet(gliding)
    sliding = measure_sliding(held)
    assert sliding.worst < 0.01 and sliding.standing > 0.9
    assert "held standing feet in their places" in notes[0] and "--keep-feet" in notes[0]
    assert _apart(held, motion) < _apart(gliding, motion)
    upper = [n for name, n in INDEX.items() if not name.endswith(("Leg", "Foot", "Toe"))]
    before, after = (m.joints(Skeleton())[1][:, upper] for m in (gliding, held))
    assert np.allclose(before, after, atol=1e-9), "only legs are bent"
    legs = [n for n in range(len(INDEX)) if n not in upper]
    assert np.linalg.norm(np.diff(_places(held)[:, legs], n=2, axis=0), axis=-1).max() * 30**2 < 15, "no jerk"


@pytest.mark.parametrize("name", ["Boxing001", "Digging01", "GolfSwing001", "Running01", "Rowing01"])
def test_feet_that_stand_well_are_left_as_they_are(name: str) -> None:
    motion = perform(ACTIONS[name], 30.0)
    held, notes = lock_feet(motion)
    assert not notes and _apart(held, motion) < 0.02


def test_what_mediapipe_saw_stands_without_losing_the_pose() -> None:
    loose = read_recording(SEEN, hold_feet=False).motion
    result = read_recording(SEEN)
    assert measure_sliding(loose).worst > 0.5
    assert not measure_sliding(result.motion).slides
    assert _apart(result.motion, loose) < 0.06
    toes = _places(result.motion)[:, [INDEX["LeftToe"], INDEX["RightToe"]], 1]
    assert toes.min() > 0.02, "nobody sinks into the floor"


def test_who_jumps_aside_is_in_the_air_between_two_stands(tmp_path: Path) -> None:
    points = world_landmarks(perform(ACTIONS["JumpingJacks01"], 30.0))
    file = tmp_path / "phone.json"
    file.write_text(json.dumps({"fps": 30, "frames": points.tolist()}))
    toes = _places(read_recording(file).motion)[:, [INDEX["LeftToe"], INDEX["RightToe"]], 1].min(axis=1)
    assert toes.max() > 0.06 and 0.3 < np.mean(toes < 0.035) < 0.8


def test_exchanged_legs_are_put_back_and_said(tmp_path: Path) -> None:
    motion = perform(ACTIONS["Boxing001"], 30.0)
    points = world_landmarks(motion)
    legs = [[BLAZEPOSE.index(f"{side}_{name}") for name in ("knee", "ankle", "heel", "foot_index")]
            for side in ("left", "right")]  # fmt: skip
    frames = np.r_[20:26, 40:44]
    points[np.ix_(frames, legs[0] + legs[1])] = points[np.ix_(frames, legs[1] + legs[0])]
    file = tmp_path / "phone.json"
    file.write_text(json.dumps({"fps": 30, "frames": points.tolist()}))
    result = read_recording(file)
    assert result.notes == (f"left and right legs were exchanged in 10 of {len(motion)} frames: put back",)
    assert _apart(result.motion, motion) < 0.03


@pytest.mark.parametrize("name", ["Running01", "Soccer003", "JumpRope01", "Clapping01"])
def test_limbs_that_pass_each_other_are_not_exchanged(name: str, tmp_path: Path) -> None:
    file = tmp_path / "phone.json"
    points = world_landmarks(perform(ACTIONS[name], 15.0))
    points += np.random.default_rng(4).normal(0.0, 0.02, points.shape)
    file.write_text(json.dumps({"fps": 15, "frames": points.tolist()}))
    assert not any("exchanged" in note for note in read_recording(file).notes)


def test_the_command_holds_or_keeps_feet_as_asked(tmp_path: Path) -> None:
    write_bvh(_glide(perform(ACTIONS["Drinking01"], 30.0)), tmp_path / "drift.bvh")
    for option, slides in (("--keep-feet", True), ("--lock-feet", False)):
        done = vivant(
            "build", "mime", "clean", "drift.bvh", "out.bvh", option, "--no-trim", "--no-sheet", cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert ("more than a viewer overlooks; --lock-feet holds them" in done.stderr) is slides
