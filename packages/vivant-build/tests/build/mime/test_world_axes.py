"""Which way is up: files whose axes are not those of their skeleton, and figures that go on all fours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.mocap import Z_UP, Tool, write_tool_bvh
from tests.support.recordings import trc_text
from vivant.core.errors import DataError
from vivant_build.mime import ACTIONS, Motion, perform
from vivant_build.mime.bvh import Bvh, parse_bvh
from vivant_build.mime.recording import build_bvh, read_recording
from vivant_build.mime.retarget import Retargeted, retarget
from vivant_build.mime.rotation import Array, about
from vivant_build.mime.skeleton import INDEX, JOINTS, PARENTS, Skeleton

TOOL = Tool({joint: joint for joint in JOINTS if not joint.endswith("Fingers")})


@pytest.fixture(scope="module")
def motion() -> Motion:
    return perform(ACTIONS["Soccer003"], 30.0).turned(25.0)


def _heading(motion: Motion) -> float:
    _, turned = motion.joints(Skeleton())
    ahead = turned[:, INDEX["Chest"], :, 2].mean(axis=0)
    return float(np.degrees(np.arctan2(ahead[0], ahead[2])))


def _apart(result: Motion, motion: Motion) -> float:
    """Metres between the joints around the hips, on average, once both face the same way."""
    body = [INDEX[joint] for joint in JOINTS if not joint.endswith("Fingers")]
    same = result.turned(_heading(motion) - _heading(result))
    ours, theirs = (m.joints(Skeleton())[0][:, body] for m in (motion, same))
    return float(np.linalg.norm((theirs - theirs[:, :1]) - (ours - ours[:, :1]), axis=-1).mean())


def _studio(motion: Motion, axes: Array) -> Bvh:
    """A file whose skeleton stands along Y at rest while its motion is recorded in other axes."""
    bvh = parse_bvh(write_tool_bvh(motion, TOOL))
    positions, turned = bvh.globals()
    names, parents = [joint.name for joint in bvh.joints], [joint.parent for joint in bvh.joints]
    return build_bvh(names, parents, positions @ axes.T, axes @ turned, 30.0, "studio.bvh")


@pytest.mark.parametrize("axes", [Z_UP, about("Z", -90.0), about("X", -90.0)])
def test_who_stands_along_another_axis_than_the_rest_pose_is_set_upright(axes: Array, motion: Motion) -> None:
    result = retarget(_studio(motion, axes), "x")
    assert _apart(result.motion, motion) < 0.002
    assert "they are set upright" in result.notes[-1]
    # The way over the floor stays one over the floor.
    assert np.ptp(result.motion.root[:, 1]) == pytest.approx(np.ptp(motion.root[:, 1]), abs=0.002)


def test_who_lies_on_the_floor_stays_there(motion: Motion) -> None:
    lying = replace(motion, root=motion.root * 0.1 + [0.0, 0.1, 0.0], rotations=motion.rotations.copy())
    lying.rotations[:] = lying.rotations[:1]
    lying.rotations[:, 0] = about("X", -90.0)
    # Their feet are where the floor would be if they stood.
    lying.root[:, 2] = -0.9
    result = retarget(parse_bvh(write_tool_bvh(lying, TOOL)), "x")
    positions, _ = result.motion.joints(Skeleton())
    assert np.ptp(positions[0, :, 1]) < 0.5 and not result.notes


@pytest.mark.parametrize("up", [1.0, -1.0])
def test_a_room_whose_first_axis_is_up_or_down_is_read(up: float, tmp_path: Path) -> None:
    boxing = perform(ACTIONS["Boxing001"], 30.0)
    # The axes of a board that leans, 20° from upright.
    axes = about("Z", -90.0 * up) @ about("X", 20.0)
    file = tmp_path / "room.trc"
    file.write_text(trc_text(boxing, axes))
    assert _apart(read_recording(file).motion, boxing) < 0.06


def _crawl(motion: Motion, legs: float) -> Bvh:
    """Our skeleton on all fours, arms and legs down, as a file with legs of another length."""
    sizes = np.array([legs if JOINTS[n][4:] in ("Leg", "Foot") or JOINTS[n][5:] in ("Leg", "Foot") else 1.0
                      for n in range(len(JOINTS))])  # fmt: skip
    turned = np.broadcast_to(np.eye(3), (len(motion), len(JOINTS), 3, 3)).copy()
    sway = about("X", 15.0 * np.sin(np.arange(len(motion)) / 3))
    for index, joint in enumerate(JOINTS):
        if "Arm" in joint or "Hand" in joint or "Fingers" in joint:
            turned[:, index] = sway @ about("Z", -90.0 if joint.startswith("Left") else 90.0)
        elif "Leg" in joint or "Foot" in joint or "Toe" in joint:
            turned[:, index] = sway
        else:
            turned[:, index] = about("X", 80.0)
    positions = np.zeros((len(motion), len(JOINTS), 3))
    positions[:, 0] = [0.0, 0.83 * legs, 0.0]
    for index in range(1, len(JOINTS)):
        offset = Skeleton().offsets[index] * sizes[index]
        positions[:, index] = positions[:, PARENTS[index]] + turned[:, PARENTS[index]] @ offset
    return build_bvh(list(JOINTS), list(PARENTS), positions, turned, 30.0, "fours.bvh")


def test_an_animal_is_refused_and_a_person_on_all_fours_is_not(motion: Motion) -> None:
    with pytest.raises(DataError, match=r"on all fours, and its trunk is 1\.\d times as long as its legs"):
        retarget(_crawl(motion, 0.5), "x")
    result: Retargeted = retarget(_crawl(motion, 1.0), "x")
    positions, _ = result.motion.joints(Skeleton())
    hands = positions[:, [INDEX["LeftHand"], INDEX["RightHand"]], 1]
    assert np.median(hands) < 0.5


def _rename(motion: Motion, bones: tuple[str, ...]) -> str:
    """A file in which these bones of both sides have each other's names."""
    other = {"Left": "Right", "Right": "Left"}

    def name(joint: str) -> str:
        side = next((side for side in other if joint.startswith(side)), "")
        return other[side] + joint.removeprefix(side) if side and joint.removeprefix(side) in bones else joint

    return write_tool_bvh(motion, Tool({joint: name(joint) for joint in TOOL.names}))


LEGS, ARMS = ("UpLeg", "Leg", "Foot", "Toe"), ("Shoulder", "Arm", "ForeArm", "Hand")


@pytest.mark.parametrize("name", ["Soccer003", "PushUps01", "Sawing01", "Boxing001"])
def test_exchanged_names_of_sides_are_put_right(name: str) -> None:
    motion = perform(ACTIONS[name], 30.0)
    plain = retarget(parse_bvh(write_tool_bvh(motion, TOOL)), "x")
    result = retarget(parse_bvh(_rename(motion, (*LEGS, *ARMS))), "x")
    assert plain.notes == ()
    assert result.notes == ("left and right are exchanged in the names; they were put right",)
    assert np.allclose(result.motion.rotations, plain.motion.rotations)


def test_sides_that_contradict_each_other_are_refused_and_a_table_is_believed(motion: Motion) -> None:
    bvh = parse_bvh(_rename(motion, LEGS))
    with pytest.raises(DataError, match=r"both feet point backwards.*--joints"):
        retarget(bvh, "x")
    table = {
        f"{side}{bone}": f"{other}{bone}"
        for side, other in (("Left", "Right"), ("Right", "Left"))
        for bone in LEGS
    }
    assert _apart(retarget(bvh, "x", table).motion, motion) < 0.002
