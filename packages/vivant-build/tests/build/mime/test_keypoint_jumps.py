"""A jump straight up is one in every form that tells where in the picture or the room points are; a squat is none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.recordings import body_points, coco_pixels, trc_text, world_landmarks
from vivant_build.mime import ACTIONS, Motion, perform
from vivant_build.mime.foot_sliding import measure_sliding
from vivant_build.mime.keypoint_layouts import BLAZEPOSE, KINECT
from vivant_build.mime.recording import read_recording
from vivant_build.mime.retarget import Retargeted
from vivant_build.mime.rotation import Array, about
from vivant_build.mime.skeleton import ANKLE_HEIGHT, INDEX, OFFSETS, Skeleton

FPS = 30.0
FLIGHT = 0.5
"""Seconds in the air: hips rise by 31 cm."""


def _jump(*, flies: bool = True) -> Motion:
    """Somebody who stands, crouches, jumps straight up with legs drawn up, lands in a crouch and stands again."""
    times = np.arange(0.0, 3.0, 1 / FPS)
    knots = [0.0, 0.7, 1.1, 1.25, 1.5, 1.75, 1.95, 2.5, 3.0]
    bend = np.interp(times, knots, [2.0, 2.0, 50.0, 5.0, 45.0, 5.0, 50.0, 2.0, 2.0])
    air = np.clip((times - 1.25) / FLIGHT, 0.0, 1.0)
    still = perform(ACTIONS["Boxing001"], FPS)
    turns = np.broadcast_to(np.eye(3), (len(times), still.rotations.shape[1], 3, 3)).copy()
    for side, sign in (("Left", -1.0), ("Right", 1.0)):
        turns[:, INDEX[side + "Arm"]] = about("Z", sign * 75.0)
        turns[:, INDEX[side + "UpLeg"]] = about("X", -bend)
        turns[:, INDEX[side + "Leg"]] = about("X", 2 * bend)
        turns[:, INDEX[side + "Foot"]] = about("X", -bend)
    motion = Motion("jump", FPS, np.zeros((len(times), 3)), turns)
    motion.root[:, 1] = stand = -_lowest(motion)
    if flies:
        # The body flies; the feet are drawn up to it.
        takeoff = float(stand[int(1.25 * FPS)])
        flight = takeoff + 9.81 * FLIGHT**2 / 2 * air * (1 - air)
        motion.root[:, 1] = np.where((air > 0) & (air < 1), flight, stand)
    return motion


def _lowest(motion: Motion) -> Array:
    """Metres of the lower foot over the floor."""
    positions, _ = motion.joints(Skeleton())
    toes = [INDEX["LeftToe"], INDEX["RightToe"]]
    return np.asarray(positions[:, toes, 1].min(axis=1) - ANKLE_HEIGHT - OFFSETS[toes[0], 1])


def _picture(motion: Motion, size: float = 0.4) -> Array:
    """MediaPipe's landmarks of the picture, as shares of its sides."""
    points = body_points(motion)
    return np.stack([points[name] for name in BLAZEPOSE], axis=1) * [size * 0.6, -size, -size] + [
        0.5,
        0.9,
        0.0,
    ]


def _mediapipe(motion: Motion, picture: Array, noise: float = 0.0) -> dict[str, Any]:
    rng = np.random.default_rng(7)

    def marks(points: Array, share: float) -> list[list[dict[str, float]]]:
        seen = points + rng.normal(0.0, noise * share, points.shape)
        return [
            [{"x": float(x), "y": float(y), "z": float(z), "visibility": 0.95} for x, y, z in row]
            for row in seen
        ]

    both = zip(marks(picture, 0.4), marks(world_landmarks(motion), 1.0), strict=True)
    return {
        "fps": FPS,
        "frames": [{"pose_landmarks": image, "pose_world_landmarks": world} for image, world in both],
    }


def _read(document: Any, tmp_path: Path, name: str = "phone.json", **options: Any) -> Retargeted:
    file = tmp_path / name
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return read_recording(file, **options)


def _assert_jumps(result: Retargeted, motion: Motion, within: float) -> None:
    height, true = _lowest(result.motion), _lowest(motion)
    assert height.max() == pytest.approx(true.max(), abs=within)
    assert abs(int(np.argmax(height)) - int(np.argmax(true))) <= 2
    assert np.abs(height - true).mean() < within / 2
    # On the floor before and after, and not drawn up with hips that stay low: that is a squat.
    assert np.abs(height[true < 0.01]).max() < 0.06
    top = int(np.argmax(true))
    assert result.motion.root[top, 1] == pytest.approx(motion.root[top, 1], abs=within)
    assert not measure_sliding(result.motion).slides
    assert any("both feet leave the floor: 1 jump, up to" in note for note in result.notes)


def _columns(picture: Array, world: Array) -> str:
    head = ["frame", *(f"{w}{axis}{n}" for n in range(33) for w in ("", "world_") for axis in "xyz")]
    rows = (
        f"{number},"
        + ",".join(f"{value:.6f}" for pair in zip(image, marks, strict=True) for p in pair for value in p)
        for number, (image, marks) in enumerate(zip(picture, world, strict=True))
    )
    return "\n".join([",".join(head), *rows])


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_mediapipes_picture_tells_a_jump_straight_up(noise: float, tmp_path: Path) -> None:
    motion = _jump()
    _assert_jumps(_read(_mediapipe(motion, _picture(motion), noise), tmp_path), motion, 0.05)


def test_tables_rooms_and_pixels_tell_it_too(tmp_path: Path) -> None:
    motion = _jump()
    table = _columns(_picture(motion), world_landmarks(motion))
    _assert_jumps(_read(table, tmp_path, "a.csv", source_fps=FPS), motion, 0.05)
    _assert_jumps(_read(trc_text(motion), tmp_path, "a.trc"), motion, 0.05)
    people = [[{"keypoints": row.tolist(), "keypoint_scores": [0.9] * 17}] for row in coco_pixels(motion)]
    flat = _read(people, tmp_path, "a.json", source_fps=FPS)
    assert _lowest(flat.motion).max() == pytest.approx(_lowest(motion).max(), abs=0.12)
    points = body_points(motion)
    lines = [str(len(motion))]
    for number in range(len(motion)):
        lines += ["1", "72057594037944738 0 1 1 0 0 0 0.02 -0.2 2", "25"]
        for name in KINECT:
            x, y, z = points[name][number] if name in points else np.zeros(3)
            lines.append(f"{-x:.6f} {y - 1.2:.6f} {2.5 - z:.6f} 250 170 900 450 0 0 0 0 2")
    _assert_jumps(_read("\n".join(lines) + "\n", tmp_path, "a.skeleton"), motion, 0.07)


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_who_lands_nearer_or_farther_keeps_the_height(way: float, tmp_path: Path) -> None:
    motion = _jump()
    flown = np.clip((np.arange(len(motion)) / FPS - 1.25) / FLIGHT, 0.0, 1.0)
    motion.root[:, 2] += way * flown
    points = body_points(motion)
    places = np.stack([points[name] for name in BLAZEPOSE], axis=1)
    # A camera 4.5 m away, as high as eyes.
    depth = 4.5 - places[..., 2]
    picture = np.stack(
        [0.5 + places[..., 0] / depth, 0.5 - (places[..., 1] - 1.5) / depth, 0 * depth], axis=-1
    )
    result = _read(_mediapipe(motion, picture, 0.005), tmp_path)
    assert _lowest(result.motion).max() == pytest.approx(_lowest(motion).max(), abs=0.08)
    assert any("1 jump" in note for note in result.notes)


def test_each_of_several_jumps_is_one(tmp_path: Path) -> None:
    rope = perform(ACTIONS["JumpRope01"], FPS)
    result = _read(_mediapipe(rope, _picture(rope), 0.005), tmp_path)
    assert any("both feet leave the floor: 7 jumps" in note for note in result.notes)
    assert _lowest(result.motion).max() == pytest.approx(_lowest(rope).max(), abs=0.06)


@pytest.mark.parametrize("case", ["squat", "camera", "nearer", "lunge"])
def test_squats_moving_cameras_and_steps_to_the_camera_are_no_jumps(case: str, tmp_path: Path) -> None:
    motion = _jump(flies=False)
    picture = _picture(motion)
    times = np.arange(len(motion)) / FPS
    if case == "camera":
        picture[..., 1] += 0.1 * np.sin(2 * np.pi * times / 1.5)[:, None]
    elif case == "nearer":
        size = 1.0 + 0.4 * times[:, None, None] / times[-1]
        picture = (picture - [0.5, 0.4, 0.0]) * size + [0.5, 0.4, 0.0]
    elif case == "lunge":
        # Twice a foot is set nearer to the camera, so lower in the picture.
        feet = [
            n for n, name in enumerate(BLAZEPOSE) if name in ("left_ankle", "left_heel", "left_foot_index")
        ]
        near = ((times > 0.4) & (times < 0.9)) | ((times > 1.5) & (times < 2.0))
        for foot in feet:
            picture[near, foot, 1] += 0.08
    result = _read(_mediapipe(motion, picture, 0.005), tmp_path)
    assert _lowest(result.motion).max() < 0.05
    assert not any("leave the floor" in note for note in result.notes)


def test_without_a_picture_a_jump_is_said_to_be_lost(tmp_path: Path) -> None:
    document = {"fps": FPS, "frames": world_landmarks(_jump()).tolist()}
    (note,) = (note for note in _read(document, tmp_path).notes if "jump" in note)
    assert "cannot be told" in note and "save pose_landmarks beside the world landmarks" in note
    slow = _jump(flies=False)
    slow = replace(slow, root=slow.root[:34], rotations=slow.rotations[:34])
    quiet = _read({"fps": FPS, "frames": world_landmarks(slow).tolist()}, tmp_path)
    assert not any("jump" in note for note in quiet.notes)
