"""Floors: a studio's that slopes a little is levelled, ramps and stairs are not, and one bad frame lifts nobody."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.mocap import Tool, write_tool_bvh
from vivant_build.mime import Motion
from vivant_build.mime.bad_frames import Mask
from vivant_build.mime.bvh import parse_bvh
from vivant_build.mime.retarget import Retargeted, retarget
from vivant_build.mime.rotation import Array, about
from vivant_build.mime.skeleton import INDEX, JOINTS, Skeleton

TOOL = Tool({joint: joint for joint in JOINTS if not joint.endswith("Fingers")})
PLACES = 5


def _stations() -> tuple[Motion, Mask]:
    """Somebody who waves at five places a metre apart, and which frames are on the way between them."""
    turns = np.broadcast_to(np.eye(3), (30 * PLACES, len(JOINTS), 3, 3)).copy()
    wave = 40 * np.sin(np.arange(len(turns)) / 4)
    turns[:, INDEX["LeftArm"]] = about("Z", wave)
    turns[:, INDEX["RightArm"]] = about("Z", 60.0)
    root = np.zeros((len(turns), 3))
    number, share = np.divmod(np.arange(len(turns)) / 30, 1.0)
    step = np.clip((share - 0.7) / 0.3, 0.0, 1.0)
    root[:, 0] = number + np.where(number < PLACES - 1, step, 0.0)
    root[:, 1] = 0.925
    return Motion("walk", 30.0, root, turns), (step > 0) & (number < PLACES - 1)


def _read(motion: Motion) -> Retargeted:
    return retarget(parse_bvh(write_tool_bvh(motion, TOOL)), "x")


def _toes(result: Motion) -> Array:
    positions, _ = result.joints(Skeleton())
    return np.asarray(positions[:, [INDEX["LeftToe"], INDEX["RightToe"]], 1].min(axis=1))


@pytest.mark.parametrize("heading", [0.0, 40.0])
def test_a_floor_that_slopes_a_little_is_levelled(heading: float) -> None:
    motion, moving = _stations()
    even = _toes(_read(motion).motion)
    motion.root[:, 1] += 0.02 * motion.root[:, 0]
    result = _read(motion.turned(heading))
    assert np.abs(_toes(result.motion) - even)[~moving].max() < 0.005
    assert result.notes == ("the floor rises by 1.1° along the way: levelled",)


@pytest.mark.parametrize("case", ["level", "ramp", "stairs", "jump"])
def test_level_floors_ramps_stairs_and_jumps_stay(case: str) -> None:
    motion, moving = _stations()
    before = motion.root[:, 1].copy()
    if case == "ramp":
        motion.root[:, 1] += 0.09 * motion.root[:, 0]
    elif case == "stairs":
        motion.root[:, 1] += 0.17 * np.floor(motion.root[:, 0] + 0.5)
    elif case == "jump":
        motion.root[:, 1] += np.where(moving, 0.3, 0.0)
    result = _read(motion)
    rise = result.motion.root[:, 1] - result.motion.root[0, 1]
    assert rise == pytest.approx(motion.root[:, 1] - before[0], abs=0.002)
    assert not result.notes


def test_a_foot_that_goes_through_the_floor_once_lifts_nobody() -> None:
    motion, _ = _stations()
    even = _toes(_read(motion).motion)
    motion.root[70:72, 1] -= 0.09
    toes = _toes(_read(motion).motion)
    assert np.median(toes) == pytest.approx(np.median(even), abs=0.002)
