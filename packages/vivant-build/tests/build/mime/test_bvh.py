"""BVH: our motions come back exactly, other people's files are understood, broken ones refused by line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vivant.core.errors import DataError, UsageError
from vivant_build.mime import ACTIONS, Motion, make_character, perform, read_bvh, write_bvh
from vivant_build.mime.bvh import load_bvh, parse_bvh
from vivant_build.mime.clean import clean_file
from vivant_build.mime.joint_map import map_joints
from vivant_build.mime.recording import read_recording
from vivant_build.mime.retarget import retarget
from vivant_build.mime.rotation import unit
from vivant_build.mime.skeleton import INDEX, JOINTS, Skeleton

# A figure in other people's habits: inches, Z up, facing -Y, arms hanging at rest, prefixed names, ZYX turns.
FOREIGN = """HIERARCHY
ROOT m:Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
  JOINT m:Spine
  {
    OFFSET 0 0 4
    CHANNELS 3 Zrotation Yrotation Xrotation
    JOINT m:Spine1
    {
      OFFSET 0 0 4
      CHANNELS 3 Zrotation Yrotation Xrotation
      JOINT m:Spine2
      {
        OFFSET 0 0 4
        CHANNELS 3 Zrotation Yrotation Xrotation
        JOINT m:Neck
        {
          OFFSET 0 0 8
          CHANNELS 3 Zrotation Yrotation Xrotation
          JOINT m:Head
          {
            OFFSET 0 0 4
            CHANNELS 3 Zrotation Yrotation Xrotation
            End Site
            {
              OFFSET 0 0 8
            }
          }
        }
        ARMS
      }
    }
  }
  LEGS
}
MOTION
Frames: 2
Frame Time: 0.0083333
ZERO
TURN
"""


def _chain(names: list[str], offsets: list[tuple[float, float, float]]) -> str:
    """Nested joints; the last offset is the end of the chain."""
    offset = " ".join(f"{value:g}" for value in offsets[0])
    if not names:
        return f"End Site {{ OFFSET {offset} }}"
    inner = _chain(names[1:], offsets[1:])
    turns = "CHANNELS 3 Zrotation Yrotation Xrotation"
    return f"JOINT {names[0]} {{ OFFSET {offset} {turns} {inner} }}"


def foreign(turn: dict[int, tuple[float, float, float]] | None = None) -> str:
    """The file above; `turn` gives a joint (by its number) angles in the second frame."""
    arms = legs = ""
    for side, x in (("Left", 1.0), ("Right", -1.0)):
        arm = [f"m:{side}{bone}" for bone in ("Shoulder", "Arm", "ForeArm", "Hand")]
        arms += _chain(arm, [(x, 0, 7), (x * 6, 0, 0), (0, 0, -11), (0, 0, -10), (0, 0, -4)])
        leg = [f"m:{side}{bone}" for bone in ("UpLeg", "Leg", "Foot", "ToeBase")]
        legs += _chain(leg, [(x * 3.5, 0, -1), (0, 0, -17), (0, 0, -16), (0, -5, -2), (0, -3, 0)])
    zero = np.zeros(6 + 21 * 3)
    zero[2] = 38.0
    second = zero.copy()
    for joint, angles in (turn or {}).items():
        second[3 + 3 * joint : 6 + 3 * joint] = angles
    text = FOREIGN.replace("ARMS", arms).replace("LEGS", legs)
    rows = [" ".join(f"{value:g}" for value in row) for row in (zero, second)]
    return text.replace("ZERO", rows[0]).replace("TURN", rows[1])


def _bone(motion: Motion, frame: int, start: str, end: str) -> list[float]:
    place, _ = motion.joints(Skeleton())
    direction = unit(place[frame, INDEX[end]] - place[frame, INDEX[start]])
    return [round(float(value), 3) + 0.0 for value in direction]


@pytest.mark.parametrize("name", ["Soccer003", "Violin002", "Weightlifting001"])
def test_our_motions_come_back_as_they_were(name: str, tmp_path: Path) -> None:
    motion = perform(ACTIONS[name], 30.0)
    write_bvh(motion, tmp_path / "a.bvh")
    found = retarget(load_bvh(tmp_path / "a.bvh"), name)
    assert found.ignored == () and set(found.mapped) == set(JOINTS)
    assert found.motion.fps == 30.0
    assert np.allclose(found.motion.rotations, motion.rotations, atol=1e-6)
    # The place on the stage may shift; the path may not change.
    assert np.ptp(found.motion.root - motion.root, axis=0).max() < 1e-6


def test_a_body_of_another_size_comes_back_the_same(tmp_path: Path) -> None:
    motion = perform(ACTIONS["Bowling003"], 20.0)
    write_bvh(motion, tmp_path / "w.bvh", make_character("woman").skeleton)
    again = read_bvh(tmp_path / "w.bvh")
    assert np.allclose(again.rotations, motion.rotations, atol=1e-5)
    assert np.ptp(again.root - motion.root, axis=0).max() < 0.01


def test_foreign_axes_units_names_and_rest_poses_do_not_matter() -> None:
    found = retarget(parse_bvh(foreign()), "still")
    motion = found.motion
    assert motion.fps == 120.0
    assert found.mapped["Chest"] == "m:Spine2" and found.mapped["Spine"] == "m:Spine"
    assert found.mapped["LeftToe"] == "m:LeftToeBase"
    assert found.ignored == ("m:Spine1",)
    assert _bone(motion, 0, "Hips", "Head")[1] > 0.99
    assert _bone(motion, 0, "LeftArm", "LeftForeArm") == [0.0, -1.0, 0.0], "the arms hang"
    assert _bone(motion, 0, "RightForeArm", "RightHand") == [0.0, -1.0, 0.0]
    assert _bone(motion, 0, "RightArm", "LeftArm") == [1.0, 0.0, 0.0]
    assert _bone(motion, 0, "LeftFoot", "LeftToe")[2] > 0.9, "the toes look where the figure faces"
    place, _ = motion.joints(Skeleton())
    assert place[0, INDEX["LeftFoot"], 1] == pytest.approx(0.08, abs=0.02)
    assert place[0, INDEX["Hips"], 1] == pytest.approx(0.95, abs=0.05)


def test_a_turn_in_foreign_axes_is_the_same_turn_here() -> None:
    # Joint 7 is the left upper arm. The file's figure faces -Y: a quarter turn about -X lifts it forward,
    # one about -Y to the figure's left.
    left_arm = 7
    assert parse_bvh(foreign()).joints[left_arm].name == "m:LeftArm"
    ahead = retarget(parse_bvh(foreign({left_arm: (0, 0, -90)})), "ahead").motion
    assert _bone(ahead, 1, "LeftArm", "LeftForeArm") == [0.0, 0.0, 1.0]
    assert _bone(ahead, 1, "LeftForeArm", "LeftHand") == [0.0, 0.0, 1.0]
    assert _bone(ahead, 1, "RightArm", "RightForeArm") == [0.0, -1.0, 0.0]
    aside = retarget(parse_bvh(foreign({left_arm: (0, -90, 0)})), "aside").motion
    assert _bone(aside, 1, "LeftArm", "LeftForeArm") == [1.0, 0.0, 0.0]


def test_channels_are_applied_in_the_order_stated() -> None:
    turn = {7: (30.0, -60.0, 20.0)}
    stated = foreign(turn)
    other = stated.replace(
        "CHANNELS 3 Zrotation Yrotation Xrotation", "CHANNELS 3 Xrotation Yrotation Zrotation"
    )
    bones = [
        _bone(retarget(parse_bvh(text), "t").motion, 1, "LeftArm", "LeftHand") for text in (stated, other)
    ]
    assert bones[0] != bones[1]


def test_hips_below_another_root_carry_the_path() -> None:
    text = foreign()
    text = text.replace("ROOT m:Hips\n{", "ROOT Reference\n{\n OFFSET 0 0 0\n CHANNELS 0\n JOINT m:Hips\n{")
    text = text.replace("}\nMOTION", "}\n}\nMOTION")
    lines = text.rstrip().split("\n")
    values = lines[-1].split()
    lines[-1] = " ".join(["10", *values[1:]])
    motion = retarget(parse_bvh("\n".join(lines)), "moved").motion
    moved = motion.root[1] - motion.root[0]
    # Ten inches to the file's +X, its figure's left, in a body whose hips are 38 - 2 inches above its soles.
    assert moved[0] == pytest.approx(10 * 0.95 / 36, rel=0.1)
    assert np.allclose(moved[1:], 0, atol=1e-9)


def test_a_rest_pose_that_is_no_figure_is_replaced_by_the_first_frame() -> None:
    # All bones lie along +Z at rest; the first frame stands the figure up by turning the thighs.
    text = foreign({7: (0, 0, -90)})
    text = re.sub(r"OFFSET 0 0 -1([67])", r"OFFSET 0 0 1\1", text)
    # Feet, too, so that they point ahead once the legs are turned.
    text = text.replace("OFFSET 0 -5 -2", "OFFSET 0 5 2").replace("OFFSET 0 -3 0", "OFFSET 0 3 0")
    lines = text.rstrip().split("\n")
    bvh = parse_bvh(text)
    column = {"m:LeftUpLeg": 0, "m:RightUpLeg": 0}
    start = 0
    for joint in bvh.joints:
        if joint.name in column:
            column[joint.name] = start + 2
        start += len(joint.channels)
    for row in (-2, -1):
        values = lines[row].split()
        for place in column.values():
            values[place] = "180"
        lines[row] = " ".join(values)
    motion = retarget(parse_bvh("\n".join(lines)), "standing").motion
    assert _bone(motion, 0, "LeftUpLeg", "LeftLeg") == [0.0, -1.0, 0.0]
    assert _bone(motion, 1, "LeftArm", "LeftForeArm") == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "arm,names",
    [
        ("Collar Shoulder Elbow Wrist", {"LeftShoulder": "LeftCollar", "LeftArm": "LeftShoulder"}),
        ("Clavicle UpperArm LowerArm Hand", {"LeftShoulder": "LeftClavicle", "LeftForeArm": "LeftLowerArm"}),
    ],
)
def test_arms_are_known_by_several_names(arm: str, names: dict[str, str]) -> None:
    text = foreign().replace("m:", "")
    for side in ("Left", "Right"):
        for old, new in zip(("Shoulder", "Arm", "ForeArm", "Hand"), arm.split(), strict=True):
            text = re.sub(rf"JOINT {side}{old}\b", f"JOINT {side}_{new}_", text)
    text = re.sub(r"(Left|Right)_(\w+)_", r"\1\2", text)
    mapped = retarget(parse_bvh(text), "n").mapped
    assert names.items() <= mapped.items()


def test_sides_are_known_by_letters_before_and_behind() -> None:
    text = foreign().replace("m:Left", "l").replace("m:Right", "r")
    assert map_joints(parse_bvh(text))["LeftUpLeg"] == map_joints(parse_bvh(foreign()))["LeftUpLeg"]
    text = re.sub(r"m:(Left|Right)(\w+)", lambda m: f"{m[2]}_{m[1][0]}", foreign())
    assert map_joints(parse_bvh(text)) == map_joints(parse_bvh(foreign()))


def _line_of(text: str, words: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if words in line)


@pytest.mark.parametrize(
    "old,new,words",
    [
        ("HIERARCHY", "HIERACHY", "'HIERARCHY' is expected"),
        ("OFFSET 0 0 8\n          CH", "OFFSET 0 zero 8\n          CH", "must be a number"),
        ("OFFSET 0 0 8\n          CH", "OFFSET 0 nan 8\n          CH", "not a finite number"),
        ("CHANNELS 6 X", "CHANNELS 7 X", "0 to 6"),
        ("CHANNELS 6 Xposition", "CHANNELS 6 Wposition", "unknown channel 'Wposition'"),
        ("CHANNELS 6 Xposition", "CHANNELS 6 Yposition", "twice"),
        ("JOINT m:Spine1", "JOINT m:Spine", "occurs twice"),
        ("JOINT m:Spine1\n", "JOINT \n", "no name"),
        ("Frames: 2", "Frames: two", "followed by a number"),
        ("Frames: 2", "Frames: 0", "no frames"),
        ("Frame Time: 0.0083333", "Frame Time: 0", "positive"),
        ("Frame Time: 0.0083333", "Frame Time: nan", "positive"),
        ("Frame Time: 0.0083333\n", "", "'Frame Time: <number>' is expected"),
        ("MOTION", "", "MOTION"),
        ("}\nMOTION", "}\nROOT other { }\nMOTION", "one ROOT"),
        ("}\nMOTION", "\nMOTION", "the file ends"),
    ],
)
def test_faults_are_refused_with_file_and_line(old: str, new: str, words: str, tmp_path: Path) -> None:
    text = foreign()
    assert old in text
    (tmp_path / "bad.bvh").write_text(text.replace(old, new, 1))
    with pytest.raises(DataError, match=re.escape(words)) as caught:
        read_bvh(tmp_path / "bad.bvh")
    assert re.match(rf"{re.escape(str(tmp_path))}/bad\.bvh, line \d+: ", str(caught.value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("  ", "\t").replace("Frames: ", "Frames:\t"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("End Site", "End Site "),
        lambda text: text.replace("Frame Time: 0.0083333", "Frame Time:\t.0083333"),
        lambda text: text.replace(" 38 ", " 3.8e+01 ").replace(" 0 0 0 0", " -0 0 1e-17 0"),
        lambda text: text.replace("CHANNELS 6 X", "channels 6 x").replace("End Site", "END SITE"),
        lambda text: text.replace("m:Left", "Actor 1:Left").replace("m:Right", "Actor 1:Right"),
        lambda text: text.replace("m:Spine2", "背骨.002"),
    ],
)
def test_habits_of_writers_change_nothing(change: Callable[[str], str], tmp_path: Path) -> None:
    text = foreign({9: (0.0, 90.0, 0.0)})
    (tmp_path / "a.bvh").write_bytes(change(text).encode())
    plain, motion = retarget(parse_bvh(text), "x").motion, read_bvh(tmp_path / "a.bvh", "x")
    assert motion.fps == plain.fps == 120.0
    assert np.allclose(motion.rotations, plain.rotations) and np.allclose(motion.root, plain.root)


def test_names_in_an_older_encoding_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.bvh").write_bytes(foreign().replace("m:Spine2", "脊椎").encode("shift_jis"))
    assert len(read_bvh(tmp_path / "a.bvh")) == 2


def test_joints_with_other_orders_and_fewer_channels_are_read() -> None:
    text = foreign({12: (0.0, 0.0, 0.0)})
    # Motive's root turns ZYX and its joints ZXY; the ends of limbs may have one channel or none.
    hips, rest = text.split("JOINT m:Spine\n", 1)
    both = (
        hips
        + "JOINT m:Spine\n"
        + rest.replace("Zrotation Yrotation Xrotation", "Zrotation Xrotation Yrotation")
    )
    assert np.allclose(
        retarget(parse_bvh(both), "x").motion.rotations, retarget(parse_bvh(text), "x").motion.rotations
    )
    fewer = text.replace(
        "OFFSET 0 0 4\n            CHANNELS 3 Zrotation Yrotation Xrotation",
        "OFFSET 0 0 4\n            CHANNELS 0",
    )
    lines = fewer.split("\n")
    fewer = "\n".join(" ".join(line.split()[:-3]) if len(line.split()) == 69 else line for line in lines)
    assert len(retarget(parse_bvh(fewer), "x").motion) == 2


def test_a_recording_that_was_cut_short_is_read_as_far_as_it_is_whole(tmp_path: Path) -> None:
    text = foreign().rstrip()
    longer = text.replace("Frames: 2", "Frames: 9") + "\n" + text.splitlines()[-1][:20]
    result = retarget(parse_bvh(longer), "x")
    assert len(result.motion) == 2
    last, stated = len(longer.splitlines()), _line_of(longer, "Frames:")
    assert re.fullmatch(
        rf"line {last}, the last, is cut off \(\d+ of 69 values\) and set aside", result.notes[0]
    )
    assert result.notes[1] == f"line {stated} states 9 frames and 2 are there, which are read"
    (tmp_path / "a.bvh").write_text(longer)
    assert "the last, is cut off" in "\n".join(
        clean_file(tmp_path / "a.bvh", tmp_path / "b.bvh", ends=False).lines()
    )


@pytest.mark.parametrize(
    "line", ["Frame Time: 0\n", "Frame Time: nan\n", "Frame Time: 0,0083\n", "Frame Time:\n", ""]
)
def test_the_rate_of_a_file_that_states_none_is_given(line: str, tmp_path: Path) -> None:
    file = tmp_path / "a.bvh"
    file.write_text(foreign())
    with pytest.raises(UsageError, match="for files that state no rate; this one states 120"):
        read_recording(file, source_fps=30)
    plain = read_recording(file).motion
    file.write_text(foreign().replace("Frame Time: 0.0083333\n", line))
    with pytest.raises(DataError, match=r"a\.bvh, line \d+: .*give the recording's rate with --source-fps"):
        read_recording(file)
    motion = read_recording(file, source_fps=30).motion
    assert motion.fps == 30 and np.array_equal(motion.rotations, plain.rotations)
    with pytest.raises(UsageError, match="above 0, not 0"):
        read_recording(file, source_fps=0)


def test_the_line_named_is_the_line_at_fault() -> None:
    text = foreign().replace("0 0 38 0", "0 nan 38 0", 1)
    with pytest.raises(DataError, match=f"1 of 2 frames .* line {_line_of(text, 'nan')}: it holds nan"):
        parse_bvh(text)
    text = foreign().replace("OFFSET 0 0 8\n          CH", "OFFSET 0 zero 8\n          CH", 1)
    with pytest.raises(DataError, match=f"line {_line_of(text, 'zero')}: "):
        parse_bvh(text)


def test_missing_bones_are_named_with_what_the_file_has() -> None:
    text = foreign().replace("m:LeftForeArm", "m:Tentacle").replace("m:Head", "m:Lantern")
    # The shape of the tree tells the joints, unless legs end at the knee.
    assert retarget(parse_bvh(text), "x").mapped["LeftForeArm"] == "m:Tentacle"
    text = re.sub(r"(Foot\s*\{\s*OFFSET|Toe\w*\s*\{\s*OFFSET) \S+ \S+ \S+", r"\1 0 0 0", text)
    with pytest.raises(DataError, match=r"LeftForeArm, Head; the file has m:Hips"):
        retarget(parse_bvh(text), "x")


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.bvh: cannot be read"):
        read_bvh(tmp_path / "gone.bvh")
    (tmp_path / "bin.bvh").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(DataError, match="not a text file"):
        read_bvh(tmp_path / "bin.bvh")
    with pytest.raises(DataError, match="cannot be written"):
        write_bvh(perform(ACTIONS["Waving01"], 5.0), tmp_path / "gone" / "a.bvh")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_damage_gives_a_motion_or_one_line(data: st.DataObject) -> None:
    text = foreign()
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 40)))
        text = text[:start] + data.draw(st.text("{}0123456789.- \nXnaeJOINT", max_size=12)) + text[end:]
    try:
        motion = retarget(parse_bvh(text), "damaged").motion
    except DataError as error:
        assert "\n" not in str(error)
    else:
        assert np.all(np.isfinite(motion.rotations))


@given(st.text(max_size=200))
def test_no_text_breaks_the_parser(text: str) -> None:
    with pytest.raises(DataError):
        parse_bvh(text)
